//! A command that a client has sent, to be sent again later.
//!
//! Owns what follows from the command alone. It must not know what came of it.

use std::sync::Arc;

use sillok_core::command::Submission;
use sillok_core::id::ReviewId;

/// A command that was sent once, to be sent again later.
#[derive(Clone, Debug)]
pub struct Sent {
    pub(super) submission: Arc<Submission>,
}

impl Sent {
    /// The question that the first write of the command raised, if it raised one.
    #[must_use]
    pub fn question(&self) -> ReviewId {
        let sent = &self.submission;
        let actor = sent.principal.actor.to_string();
        ReviewId::derived(&sent.scope, &actor, sent.id, 0)
    }
}
