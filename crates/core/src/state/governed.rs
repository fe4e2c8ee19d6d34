//! What reports, answers of people, retention and undoing do to the view of a scope.
//!
//! Owns the part of `apply` that makes no entry and no version: it changes what entries are worth.

use std::sync::Arc;

use super::apply::key_of;
use super::{Change, Stamped, State};
use crate::entry::Status;
use crate::event::{Body, EntryRestored, ReuseReported, TrustRevised};
use crate::id::{EntryId, ReviewId};
use crate::reuse::{Report, ReuseOutcome};
use crate::review::{Question, Review, ReviewAnswer};

impl State {
    /// Applies an event that changes what entries are worth.
    pub(super) fn apply_governed(&mut self, body: &Body, at: &Stamped) -> Vec<Change> {
        match body {
            Body::ReuseReported(reported) => self.reuse_reported(reported, at),
            Body::ReviewRaised { id, question } => self.review_raised(*id, question, at),
            Body::ReviewAnswered {
                id,
                approved,
                reason,
            } => self.review_answered(*id, *approved, reason, at),
            Body::TrustRevised(revised) => self.trust_revised(revised, at),
            Body::CitationsRefreshed(refreshed) => self.change_head(refreshed.entry, at, |head| {
                head.citations.clone_from(&refreshed.citations);
            }),
            Body::EntriesRetired { entries, .. } => {
                let mut changes = Vec::with_capacity(entries.len());
                for entry in entries {
                    changes.extend(self.retired(*entry, at));
                }
                changes
            }
            Body::StateResolved { entry, reason } => self.change_head(*entry, at, |head| {
                head.status = Status::Deprecated;
                head.lifecycle.deprecated_at = Some(at.time);
                head.lifecycle.contradiction_note = Some(reason.clone());
            }),
            Body::SupersessionUndone {
                new,
                old,
                line,
                status,
            } => self.supersession_undone((*new, *old, *line), *status, at),
            Body::EntryRestored(restored) => self.entry_restored(restored, at),
            _ => unreachable!("only what changes the worth of entries comes here"),
        }
    }

    fn entry_restored(&mut self, restored: &EntryRestored, at: &Stamped) -> Vec<Change> {
        let mut changes = self.change_head(restored.entry, at, |head| {
            head.status = restored.status;
            head.trust = restored.trust.clone();
        });
        changes.extend(self.text_regained(restored.entry));
        changes
    }

    /// The text of an entry that holds again is found, unless another one has it by now: that one keeps it.
    fn text_regained(&mut self, entry: EntryId) -> Option<Change> {
        let head = self.changed_head(entry);
        match self.by_hash(&key_of(&head)) {
            None => self.text_gained(&head),
            Some(_) => None,
        }
    }

    fn reuse_reported(&mut self, reported: &ReuseReported, at: &Stamped) -> Vec<Change> {
        let mut changes = self.change_head(reported.entry, at, |head| {
            head.usage = reported.usage;
            head.reuse_count = reported.usage.helped;
            head.status = reported.status;
            if reported.outcome == ReuseOutcome::Helped {
                head.last_used = Some(head.last_used.map_or(at.time, |last| last.max(at.time)));
            }
        });
        let key = (reported.entry, reported.task.clone());
        self.reports.insert(key, Some(reported.outcome));
        changes.push(Change::Report(Box::new(Report {
            entry: reported.entry,
            task: reported.task.clone(),
            outcome: reported.outcome,
            by: at.actor.clone(),
            at: at.time,
        })));
        changes
    }

    fn review_raised(&mut self, id: ReviewId, question: &Question, at: &Stamped) -> Vec<Change> {
        let mut changes = Vec::new();
        if let Question::Wrong { entry, .. } = question {
            changes =
                self.change_head(*entry, at, |head| head.usage.wrong_asked = head.usage.wrong);
        }
        changes.push(self.set_review(Review {
            id,
            question: question.clone(),
            raised_at: at.time,
            raised_by: at.seq,
            answer: None,
        }));
        changes
    }

    fn review_answered(
        &mut self,
        id: ReviewId,
        approved: bool,
        reason: &str,
        at: &Stamped,
    ) -> Vec<Change> {
        let mut review = self
            .review(id)
            .cloned()
            .expect("an event names questions that the state knows");
        review.answer = Some(ReviewAnswer {
            approved,
            reason: reason.to_owned(),
            by: at.actor.clone(),
            at: at.time,
        });
        vec![self.set_review(review)]
    }

    pub(super) fn set_review(&mut self, review: Review) -> Change {
        let review = Arc::new(review);
        self.reviews.insert(review.id, Some(Arc::clone(&review)));
        Change::Review(review)
    }

    fn trust_revised(&mut self, revised: &TrustRevised, at: &Stamped) -> Vec<Change> {
        self.change_head(revised.entry, at, |head| {
            head.citations.clone_from(&revised.citations);
            head.status = revised.status;
            head.trust = revised.trust.clone();
        })
    }

    fn retired(&mut self, entry: EntryId, at: &Stamped) -> Vec<Change> {
        let mut changes = self.change_head(entry, at, |head| head.status = Status::Archived);
        let archived = self.changed_head(entry);
        changes.extend(self.text_lost(&archived));
        self.fresh.retain(|fresh| fresh.id != entry);
        changes
    }

    fn supersession_undone(
        &mut self,
        (new, old, line): (EntryId, EntryId, EntryId),
        status: Status,
        at: &Stamped,
    ) -> Vec<Change> {
        let mut changes = self.change_head(new, at, |head| {
            head.line = head.id;
            head.line_head = head.id;
            head.lifecycle.supersedes = None;
        });
        changes.extend(self.change_head(line, at, |head| head.line_head = old));
        changes.extend(self.change_head(old, at, |head| {
            head.status = status;
            head.lifecycle.superseded_by = None;
            head.lifecycle.deprecated_at = None;
            head.lifecycle.valid_to_commit = None;
            head.lifecycle.contradiction_note = None;
        }));
        changes.extend(self.text_regained(old));
        changes
    }
}
