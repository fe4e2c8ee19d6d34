//! What the events of a scope say beside the rows that follow from them.
//!
//! Owns what is kept of it, for whoever compares answers, chunks, tokens and marks with it. It must not know how events are read.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::circular::ErrorJudged;
use sillok_core::decision::Act;
use sillok_core::event::Body;
use sillok_core::id::{AnchorId, CommandId, DecisionId, EvidenceId, Seq, VerificationId};
use sillok_core::staging::Content;
use sillok_core::state::State;
use sillok_core::token::TokenHash;

/// A text that lies in chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LargeText {
    /// How many chunks.
    pub(crate) count: u32,
    /// Bytes of the whole text.
    pub(crate) bytes: u64,
    /// BLAKE3 of the whole text.
    pub(crate) hash: [u8; 32],
    /// The event that names it.
    pub(crate) seq: Seq,
}

/// What the event of evidence says that its answer says as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SavedEvidence {
    /// The evidence.
    pub(crate) id: EvidenceId,
    /// BLAKE3 of its whole text.
    pub(crate) hash: [u8; 32],
    /// How many secrets were masked in it.
    pub(crate) masked: u32,
}

/// What events say.
#[derive(Default)]
pub(crate) struct Told {
    /// Every text that lies in chunks, by the owner and number of its first chunk.
    pub(crate) texts: BTreeMap<(CommandId, u32), LargeText>,
    /// Tokens that were made here.
    pub(crate) minted: Vec<TokenHash>,
    /// Versions of decisions by the events that saved them, and whether the decision applied then.
    pub(crate) versions: BTreeMap<Seq, (DecisionId, u64, bool)>,
    /// Evidence that was saved, by its event.
    pub(crate) evidence: BTreeMap<Seq, SavedEvidence>,
    /// Anchors that were added, by their events.
    pub(crate) anchors: BTreeMap<Seq, AnchorId>,
    /// Promotions that were dropped, and by which event.
    pub(crate) dropped: Vec<(VerificationId, Seq)>,
    /// What followed from the errors with which fixes failed, by the events that tell of them. Which error it was, an event that
    /// was erased does not tell, and neither does the answer any more.
    pub(crate) judged: BTreeMap<Seq, ErrorJudged>,
    /// Events that tell of trajectories.
    pub(crate) trajectories: BTreeSet<Seq>,
}

impl Told {
    /// Takes in what an event says, or what is left of it. `state` is what the events before it lead to.
    pub(super) fn note(&mut self, seq: Seq, body: &Body, state: &State) {
        if let Some(&Content::Chunked {
            command,
            first,
            count,
            bytes,
            hash,
        }) = body.content()
        {
            let text = LargeText {
                count,
                bytes,
                hash,
                seq,
            };
            self.texts.insert((command, first), text);
        }
        match body {
            Body::EvidenceSaved(saved) => {
                let saved = SavedEvidence {
                    id: saved.id,
                    hash: saved.hash,
                    masked: saved.masked,
                };
                self.evidence.insert(seq, saved);
            }
            Body::AnchorAdded(added) => drop(self.anchors.insert(seq, added.id)),
            Body::TokenMinted { hash, .. } => self.minted.push(*hash),
            Body::DecisionSaved(saved) => {
                let version = (saved.root, saved.number, saved.act != Act::Withdrawn);
                self.versions.insert(seq, version);
            }
            Body::PromotionDropped { verification, .. } => self.dropped.push((*verification, seq)),
            Body::TrajectoryStored(_) => drop(self.trajectories.insert(seq)),
            Body::FixFailed(failed) => {
                if let (Some(seen), Some(task)) = (failed.error, state.task()) {
                    self.judged.insert(seq, task.judge(seen));
                }
            }
            _ => {}
        }
    }
}
