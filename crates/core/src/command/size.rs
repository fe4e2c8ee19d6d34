//! How much a command moves.
//!
//! Owns the estimate that batches and queues are filled by. What is refused as too large is
//! [`decide`](crate::decide)'s.

use super::{Command, GateFound, Replacement};
use crate::bound::Bound;
use crate::citation::Citation;
use crate::limits::DECISION_TEXTS_BYTES_MAX;
use crate::promotion::NewEntry;
use crate::staging::{NewBoundRecord, NewRecord};

/// Bytes of what frames a command, a record or an entry.
const FIXED_BYTES: usize = 256;

fn entry(entry: &NewEntry) -> usize {
    FIXED_BYTES
        + entry.content.len()
        + entry.metadata.as_str().len()
        + entry.embedding.as_ref().map_or(0, |v| v.values.len() * 4)
}

fn record(record: &NewRecord) -> usize {
    FIXED_BYTES + record.content.len() + record.metadata.as_str().len()
}

fn bound_record(said: &NewBoundRecord) -> usize {
    record(&said.record) + said.bound.as_ref().map_or(0, Bound::bytes)
}

impl Command {
    /// About how many bytes the command moves, for batches and queues.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        FIXED_BYTES
            + match self {
                Self::Append { records } => records.iter().map(record).sum(),
                Self::AppendBound { records } => records.iter().map(bound_record).sum(),
                Self::OpenTask { title, description } => title.len() + description.len(),
                Self::PutEntry { entry: new, .. } => entry(new),
                Self::AmendEntry(amend) => amend.content.len() + amend.metadata.as_str().len(),
                Self::Supersede(supersede) => match &supersede.new {
                    Replacement::Existing(_) => 0,
                    Replacement::New(new) => entry(new),
                },
                Self::Publish(publish) => publish.products.iter().map(entry).sum(),
                Self::Offer(offer) => entry(&offer.product),
                Self::Retire { entries, .. } => size_of_val(entries.as_slice()),
                Self::DropPromotion { reason, .. } => reason.len(),
                Self::Erase(erase) => {
                    size_of_val(erase.records.as_slice()) + size_of_val(erase.entries.as_slice())
                }
                Self::SaveDecision(save) => {
                    // The row of each relation says the title again.
                    let again = save.text.title.len() * save.text.relations.len();
                    save.text.text_bytes() + again + save.reason.len()
                }
                Self::DeactivateDecision { reason, .. } => reason.len(),
                // Its event has the text of the version that it names, which may be so long. The title in the row of each of its
                // relations is not counted, 256 KiB at most: no two of them would ever be of one batch, and the few that are
                // write far less than a transaction holds.
                Self::RestoreDecision { reason, .. } => DECISION_TEXTS_BYTES_MAX + reason.len(),
                Self::SaveEvidence(new) => new.text_bytes(),
                Self::AddAnchors { anchors } => anchors
                    .iter()
                    .map(|new| FIXED_BYTES + new.text_bytes())
                    .sum(),
                Self::DropAnchor { reason, .. } => reason.len(),
                Self::EraseMemory(erase) => {
                    size_of_val(erase.decisions.as_slice())
                        + size_of_val(erase.evidence.as_slice())
                        + size_of_val(erase.anchors.as_slice())
                        + size_of_val(erase.kinds.as_slice())
                        + erase.reason.len()
                }
                Self::DeclareRelation { meaning, .. } => meaning.len(),
                Self::ReportGate(said) => {
                    let told: usize = match &said.found {
                        GateFound::Stale => 0,
                        GateFound::Moved { citations } => {
                            citations.iter().map(Citation::text_bytes).sum()
                        }
                    };
                    said.at.repository.len() + told
                }
                Self::RecordVerification(said) => said.written_bytes(),
                Self::RecordFailure(failure) => failure.written_bytes(),
                Self::StoreTrajectory(new) => new.written_bytes(),
                Self::EraseVerifications(erase) => {
                    size_of_val(erase.verifications.as_slice()) + erase.reason.len()
                }
                _ => 0,
            }
    }
}
