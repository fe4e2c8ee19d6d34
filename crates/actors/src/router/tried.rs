//! What is learned of a command while it is routed, and what follows for its caller.
//!
//! Owns the difference between "nothing was written" and "it may have been carried out", which nobody
//! may blur who is asked after a node that fell silent.

use std::collections::BTreeSet;

use sillok_core::command::Answer;
use sillok_core::ports::{Forwarded, PeerError};
use sillok_core::{Error, ErrorCode};

use super::ROUTE_MS_MAX;
use super::place::Elsewhere;

/// The longest that routes are tried without a way to an owner that lives, in ms: a connection that is lost for a
/// moment costs nobody an error. One that may be dead is waited for until its slot is taken over.
pub(super) const OFF_BUS_MS_MAX: u64 = 2_000;

/// Why a command was refused, and where that was decided.
#[derive(Debug)]
pub(super) enum Refused {
    /// By this node.
    Here(Error),
    /// By the node that owns its slot, which has counted it: as a refusal, or among those that it turned
    /// away. What this node gives up on after that counts here as well.
    There(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

/// What is known of a command that is being routed, from the nodes that were tried.
#[derive(Default)]
pub(super) struct Tried {
    /// A node was given it and did not answer: it may have been carried out.
    was_sent: bool,
    /// The nodes that did not answer, or do not reach the store.
    silent: BTreeSet<String>,
    /// The node that was asked last and did not answer, if the slot's row says that it is the owner and lives.
    owner: Option<String>,
    /// The node that said last that the slot is not its own.
    declined: Option<String>,
    /// How often a node, or the store behind it, was out of reach.
    pub(super) unavailable: u32,
    pub(super) last: Option<Error>,
    /// Whether this node did not reach the others when it gave the command last.
    pub(super) is_off_bus: bool,
}

impl Tried {
    /// It is looked anew who the owner is.
    pub(super) fn looks_again(&mut self) {
        self.owner = None;
    }

    /// What another node answered, if that is the command's answer.
    pub(super) fn heard(
        &mut self,
        asked: Elsewhere,
        reply: Result<Forwarded, PeerError>,
    ) -> Option<Result<Answer, Error>> {
        let Elsewhere { node, is_owner } = asked;
        self.declined = None;
        match reply {
            Ok(Forwarded::Answered(answer)) => return Some(Ok(answer)),
            Ok(Forwarded::Refused(error)) if error.code == ErrorCode::Unavailable => {
                // It may be cut off from the store, and have lost the slot without having heard of
                // it: the store says who owns it.
                self.unavailable += 1;
                self.silent.insert(node);
                self.last = Some(error);
            }
            Ok(Forwarded::Refused(error)) if self.is_untold_by(&error) => self.last = Some(error),
            Ok(Forwarded::Refused(error)) => return Some(Err(error)),
            Ok(Forwarded::NotOwner) => {
                self.silent.clear();
                self.declined = Some(node);
            }
            Err(error) => {
                self.was_sent |= error == PeerError::Silent;
                self.owner = is_owner.then(|| node.clone());
                self.silent.insert(node);
            }
        }
        None
    }

    /// Whether a node is not asked for a slot without an owner, though it belongs there. Off the bus none is: what
    /// one of them was asked in vain, the others would be.
    pub(super) fn passes_over(&self, node: &str) -> bool {
        self.is_off_bus
            || self.silent.contains(node)
            || (self.silent.is_empty() && self.declined.as_deref() == Some(node))
    }

    /// Whether nobody was asked who could know more than the store.
    pub(super) fn is_new(&self) -> bool {
        !self.was_sent && self.silent.is_empty()
    }

    /// Whether a refusal leaves open what became of the command. Who is busy, has a quota that is used up,
    /// or cannot take the slot over, has not looked whether it was carried out before.
    pub(super) fn is_untold_by(&self, error: &Error) -> bool {
        let code = error.code;
        let has_not_looked = [
            ErrorCode::Busy,
            ErrorCode::QuotaExceeded,
            ErrorCode::Unavailable,
            ErrorCode::Internal,
        ];
        self.was_sent && has_not_looked.contains(&code)
    }

    /// The owner that this node does not reach, without a way to any other: it is named to whoever asks.
    pub(super) fn owner_out_of_reach(&self) -> Option<&str> {
        self.owner.as_deref().filter(|_| self.is_off_bus)
    }

    /// Whether nothing is gained by asking on, after so many ms. `lives` says of the owner that is out of reach
    /// that it has beaten since the command came.
    pub(super) fn is_enough(&self, tried_ms: u64, lives: bool) -> bool {
        let ms_max = if lives { OFF_BUS_MS_MAX } else { ROUTE_MS_MAX };
        self.unavailable > 1 || tried_ms >= ms_max
    }

    /// What the caller is told when nobody gave an answer.
    pub(super) fn given_up(self) -> Error {
        if self.was_sent {
            let why = "a node was given the command and did not answer";
            return Error::new(ErrorCode::OutcomeUnknown, why);
        }
        if let Some(owner) = self.owner_out_of_reach() {
            let why = format!(
                "node {owner} owns the scope, and this node does not reach it: ask {owner}, or again later"
            );
            return Error::new(ErrorCode::Unavailable, why);
        }
        let why = "no node that owns the scope responds";
        let unavailable = || Error::new(ErrorCode::Unavailable, why);
        self.last.unwrap_or_else(unavailable)
    }
}
