//! Invariant 1 for tokens: each is made once, and only one that was made is revoked.

use super::{Invariant, Violation, ensure};
use crate::event::Body;
use crate::state::State;

/// Whether the event makes a token that is new, or revokes one that is there.
pub(super) fn event_applies(state: &State, body: &Body) -> Result<(), Violation> {
    let chained = |holds: bool, what: String| ensure(holds, Invariant::Chained, || what);
    match body {
        Body::TokenMinted { hash, .. } => chained(
            state.token(hash).is_none(),
            "the token was made before".into(),
        ),
        Body::TokenRevoked { hash, token } => {
            let same = state.token(hash).is_some_and(|known| known.id == *token);
            chained(same, format!("token {token} was never made"))
        }
        _ => unreachable!("only what is about tokens comes here"),
    }
}
