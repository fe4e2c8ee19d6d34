//! Revoking the tokens that a restored store knows: whoever has one learns that history changed.
//!
//! Owns the choice of tokens and the writing of the events. The rule of revoking is `core`'s.

use std::collections::BTreeMap;

use sillok_core::chain::{Origin, seal};
use sillok_core::command::{Answer, Command, CommandRecord, Submission};
use sillok_core::config::RulesConfig;
use sillok_core::decide::decide;
use sillok_core::facts::Facts;
use sillok_core::id::{Attempt, CommandId, Epoch};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::state::{Stamped, State};
use sillok_core::token::{Token, TokenHash};
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, Family};
use sillok_store::{Store, Txn};

use super::Means;
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows::{self, Place};

/// Tokens that are revoked in one transaction.
const TOKENS_AT_ONCE: usize = 64;

/// Revokes every token that may still count, by an event of its scope. How many.
///
/// Also those that have expired by some clock: clocks may go ahead.
pub(super) async fn revoke<S: Store>(store: &S, mut means: Means<'_>) -> Result<u64, Error> {
    let live = live_tokens(store).await?;
    let mut revoked = 0;
    for (scope, tokens) in live {
        let place = Place::of(&scope);
        for some in tokens.chunks(TOKENS_AT_ONCE) {
            revoke_some(store, &place, some, &mut means).await?;
            revoked += some.len() as u64;
        }
    }
    Ok(revoked)
}

async fn live_tokens<S: Store>(
    store: &S,
) -> Result<BTreeMap<Scope, Vec<(TokenHash, Token)>>, Error> {
    let mut live: BTreeMap<Scope, Vec<(TokenHash, Token)>> = BTreeMap::new();
    let mut txn = store.begin().await.map_err(|error| refusal(&error))?;
    let mut rows = RowStream::new(Family::Token.range());
    while let Some((key, value)) = rows.next(&mut txn).await.map_err(|e| refusal(&e))? {
        let hash = keys::token::parse(&key)
            .map_err(|error| refusal(&error))?
            .hash;
        let token = keys::token::decode(&key, &value).map_err(|error| refusal(&error))?;
        if token.revoked_at.is_some() {
            continue;
        }
        if let ScopePrefix::Scope(scope) = token.prefix.clone() {
            live.entry(scope).or_default().push((hash, token));
        }
    }
    Ok(live)
}

async fn revoke_some<S: Store>(
    store: &S,
    place: &Place,
    tokens: &[(TokenHash, Token)],
    means: &mut Means<'_>,
) -> Result<(), Error> {
    let failed = |error: sillok_store::Error| refusal(&error);
    let mut txn = store.begin().await.map_err(failed)?;
    let row = rows::read(&mut txn, &keys::scope::key(&place.key), keys::scope::decode).await;
    let mut state = State::new(&place.scope, row.map_err(failed)?, None);
    let epoch = epoch_of(&mut txn, place).await?;
    let first = state.row().tip.seq.next();
    for (hash, token) in tokens {
        state.learn_token(*hash, Some(token.clone()));
        revoke_one(&mut txn, place, &mut state, epoch, *hash, means)?;
    }
    rows::write_scope(&mut txn, place, state.row());
    rows::write_outbox(&mut txn, place, first, state.row().tip.seq, Vec::new());
    txn.commit().await.map_err(failed)?;
    Ok(())
}

/// The epoch of the slot that a scope lies in.
async fn epoch_of(txn: &mut impl Txn, place: &Place) -> Result<Epoch, Error> {
    let key = keys::owner::key(place.slot);
    let owner = rows::read(txn, &key, keys::owner::decode).await;
    let owner = owner.map_err(|error| refusal(&error))?;
    owner.map(|owner| owner.epoch).ok_or_else(|| {
        let what = format!("the slot of {} has events and no owner", place.scope);
        Error::new(ErrorCode::Internal, what)
    })
}

/// Decides that a token is revoked, and writes what follows.
fn revoke_one(
    txn: &mut impl Txn,
    place: &Place,
    state: &mut State,
    epoch: Epoch,
    hash: TokenHash,
    means: &mut Means<'_>,
) -> Result<(), Error> {
    // A clock that is behind must not keep a token alive.
    let now = means.now.max(state.row().tip.time);
    let (mut random, mut salt) = ([0; 10], [0; 16]);
    means.rng.fill(&mut random);
    means.rng.fill(&mut salt);
    let submission = Submission {
        scope: place.scope.clone(),
        principal: means.operator.clone(),
        id: CommandId::from_parts(now, random),
        attempt: Attempt::FIRST,
        command: Command::RevokeToken { hash },
    };
    let rules = RulesConfig::default();
    let decision = decide(state, &submission, &Facts::default(), &rules, now)?;
    let actor = &submission.principal.actor;
    let origin = Origin {
        actor: actor.clone(),
        command: submission.id,
        epoch,
    };
    assert_eq!(
        decision.bodies.len(),
        1,
        "a token that counts is revoked by one event"
    );
    for body in &decision.bodies {
        let mut tip = state.row().tip;
        let event = seal(&mut tip, body, &origin, now, salt);
        let at = Stamped {
            seq: tip.seq,
            time: tip.time,
            actor: actor.clone(),
        };
        for change in state.apply(body, &at) {
            rows::write_change(txn, place, &change);
        }
        state.advance(tip);
        rows::write_event(txn, place, tip.seq, &event);
    }
    let record = CommandRecord::Applied {
        digest: submission.command.digest(),
        answer: Answer {
            seq: state.row().tip.seq,
            time: state.row().tip.time,
            result: decision.result,
        },
    };
    let key = keys::command::key(&place.key, actor, submission.id);
    rows::write_command(txn, key, &record);
    Ok(())
}
