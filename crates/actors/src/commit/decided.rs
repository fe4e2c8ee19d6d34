//! What a batch would write.
//!
//! Owns the form, and what can be read off it.

use sillok_core::chain::StoredEvent;
use sillok_core::channel::Runs;
use sillok_core::command::CommandRecord;
use sillok_core::entry::Head;
use sillok_core::event::{Body, EventKind};
use sillok_core::id::{Seq, VerificationId};
use sillok_core::promotion::Job;
use sillok_core::scope::Scope;
use sillok_core::state::{Change, State};

use super::Outcome;
use super::decisions::Elsewhere;
use super::erasing::Erasing;

/// What a batch would write, and what its commands would be told.
pub(super) struct Decided {
    pub(super) state: State,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) events: Vec<(Seq, StoredEvent)>,
    /// What sort each of them is.
    pub(super) kinds: Vec<EventKind>,
    /// The same events, parted by the stream that tells of them.
    pub(super) runs: Runs,
    pub(super) changes: Vec<Change>,
    pub(super) records: Vec<(Vec<u8>, CommandRecord)>,
    /// Keys and contents of the chunks, which are written before everything else.
    pub(super) chunks: Vec<(Vec<u8>, Vec<u8>)>,
    /// What erasures destroy.
    pub(super) erasing: Erasing,
    /// What the transaction must find unchanged when it is begun anew after the chunks.
    pub(super) seen: Vec<(Vec<u8>, Option<CommandRecord>)>,
    /// What lies in other scopes that it must find unchanged as well.
    pub(super) elsewhere: Elsewhere,
}

impl Decided {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.records.is_empty()
    }

    /// The heads that the batch changed, in the order of the changes.
    pub(super) fn heads(&self) -> impl Iterator<Item = &Head> {
        heads_of(&self.changes)
    }

    /// How many of its commands it applies.
    pub(super) fn applied(&self) -> usize {
        let is_applied = |(_, record): &&(Vec<u8>, CommandRecord)| {
            matches!(record, CommandRecord::Applied { .. })
        };
        self.records.iter().filter(is_applied).count()
    }

    /// The promotions that the batch publishes: where each came from, and its verification.
    pub(super) fn published(&self) -> impl Iterator<Item = (&Scope, VerificationId)> {
        self.changes.iter().filter_map(|change| match change {
            Change::Mark {
                source,
                verification,
                ..
            } => Some((source, *verification)),
            _ => None,
        })
    }

    /// The promotions that the batch started.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.changes.iter().filter_map(|change| match change {
            Change::JobAdded(job) => Some(job),
            _ => None,
        })
    }

    /// The promotions that the batch ended, one way or the other.
    pub(super) fn ended_jobs(&self) -> impl Iterator<Item = VerificationId> {
        self.changes.iter().filter_map(|change| match change {
            Change::JobRemoved(verification) => Some(*verification),
            _ => None,
        })
    }

    /// The promotions that the batch drops.
    pub(super) fn dropped(&self) -> impl Iterator<Item = VerificationId> {
        let bodies = self.events.iter().zip(&self.kinds);
        let drops = bodies.filter(|(_, kind)| **kind == EventKind::PromotionDropped);
        drops.filter_map(|((_, event), _)| match event.decode_body() {
            Ok(Some(Body::PromotionDropped { verification, .. })) => Some(verification),
            _ => None,
        })
    }
}

pub(super) fn heads_of(changes: &[Change]) -> impl Iterator<Item = &Head> {
    changes.iter().filter_map(|change| match change {
        Change::Head(head) => Some(&**head),
        _ => None,
    })
}
