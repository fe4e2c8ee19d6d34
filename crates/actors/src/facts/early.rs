//! A planted bug: what a command is compared with is looked up before it waits for its turn.
//!
//! Whatever is published while it waits, it does not hear of. Without the bug nothing is looked up here.

use sillok_core::command::Submission;
use sillok_core::facts::Facts;
use sillok_store::Store;

use super::gather;
use crate::commit::Shared;
use crate::protocol::{Protocol, Safeguard};

/// What a command was compared with before it began to wait; nothing without the bug.
pub(crate) type Early = Option<Box<Facts>>;

/// What a command is compared with, under the bug, and if the index answers.
pub(crate) async fn early<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    submission: &Submission,
) -> Early {
    if shared.protocol.keeps(Safeguard::ComparesInActor) {
        return None;
    }
    let (ports, rules) = (&shared.ports, &shared.config.rules);
    let gathered = gather(&shared.store, ports, rules, shared.spoken(), submission).await;
    gathered.ok().map(|(facts, _commits)| Box::new(facts))
}
