//! What an erasure does to the view of a scope.
//!
//! Owns the part of `apply` that takes texts out of versions and questions, entries out of recall for good, and what they say
//! out of decisions, evidence, anchors, kinds of relations and verifications.

use super::apply::version;
use super::{Change, Stamped, State};
use crate::entry::Status;
use crate::erasure::ContentErased;
use crate::event::{Body, FixFailed};
use crate::fingerprint::ContentHash;
use crate::id::Seq;

impl State {
    pub(super) fn content_erased(&mut self, erased: &ContentErased, at: &Stamped) -> Vec<Change> {
        let mut changes = Vec::new();
        for event in &erased.events {
            match &event.rest {
                Body::EntryCreated(created) => {
                    let bare = version(created.id, 1, &created.text, &event.at);
                    changes.push(Change::Version(Box::new(bare)));
                }
                Body::EntryAmended(amended) => {
                    let bare = version(amended.id, amended.version, &amended.text, &event.at);
                    changes.push(Change::Version(Box::new(bare)));
                }
                Body::ReviewRaised { id, question } => {
                    let known = self.review(*id).cloned();
                    let mut review = known.expect("an event names questions that the state knows");
                    review.question = (**question).clone();
                    changes.push(self.set_review(review));
                }
                Body::DecisionSaved(saved) => {
                    changes.extend(self.decision_erased(saved, &event.at));
                }
                Body::EvidenceSaved(saved) => changes.push(self.evidence_erased(saved, &event.at)),
                Body::AnchorAdded(added) => changes.push(self.anchor_erased(added.id)),
                Body::RelationDeclared { name, .. } => changes.push(self.meaning_erased(*name)),
                Body::VerificationRecorded(rest) => {
                    changes.push(Change::Verification(rest.clone()));
                }
                Body::TrajectoryStored(_) => {
                    let (seq, time) = (event.at.seq, event.at.time);
                    changes.push(Change::TrajectoryErased(seq, time));
                }
                Body::FixFailed(rest) => changes.extend(self.fix_erased(rest, event.at.seq)),
                _ => {}
            }
        }
        for entry in &erased.entries {
            let known = self.head(*entry).cloned();
            let before = known.expect("an event names entries that the state knows");
            changes.extend(self.text_lost(&before));
            changes.extend(self.change_head(*entry, at, |head| {
                head.status = Status::Archived;
                head.content_hash = ContentHash::erased(head.id, head.version);
                head.binding = head.binding.rest();
            }));
            self.forget_fresh(*entry);
        }
        changes
    }

    /// What failed of a fix, as the event at a position told, of which this is left. Its error counts on.
    fn fix_erased(&mut self, rest: &FixFailed, seq: Seq) -> Vec<Change> {
        let mut changes = Vec::new();
        let known = self
            .task()
            .expect("an event names fixes of a task that the state knows");
        let mut task = known.clone();
        task.failures.fingerprint_erased(seq);
        if task != *known {
            changes.extend(self.set_task(task));
        }
        changes.extend(rest.approach.as_ref().map(|_| Change::ApproachErased(seq)));
        changes
    }
}
