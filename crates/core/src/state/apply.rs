//! What each event does to the view of a scope: the only place where state changes.
//!
//! Owns `apply`. Committing, rebuilding and auditing all go through it.

use std::sync::Arc;

use super::{Change, Fresh, Stamped, State};
use crate::circular::{FailedApproach, Failures};
use crate::entry::{Head, Lifecycle, Status, Version};
use crate::event::{Body, EntryAmended, EntryCreated, EntryMerged, FixFailed, Text};
use crate::facts::HashKey;
use crate::id::{EntryId, Seq};
use crate::limits::LINKS_MAX;
use crate::promotion::{Job, Stands};
use crate::reuse::Usage;
use crate::task::{Closing, Task, TaskStatus};
use crate::token::{Token, TokenHash};
use crate::verification::{Outcome, Verification};

impl State {
    /// Applies one event and returns the rows that it changed, in the order of the changes.
    ///
    /// The state must know every head and text that the event names (see [`crate::facts::needs`]);
    /// an event that was decided from this state always satisfies that.
    pub fn apply(&mut self, body: &Body, at: &Stamped) -> Vec<Change> {
        match body {
            Body::RecordAppended(_) | Body::BoundRecordAppended(_) | Body::Denied { .. } => vec![],
            Body::TaskOpened { title, description } => self.set_task(Task {
                title: title.clone(),
                description: description.clone(),
                status: TaskStatus::Open,
                stuck_reason: None,
                verified_through: Seq::ZERO,
                promotions_pending: 0,
                opened_by: at.actor.clone(),
                opened_at: at.time,
                updated_at: at.time,
                failures: Failures::default(),
            }),
            Body::StuckMarked { .. }
            | Body::StuckCleared
            | Body::TaskClosed { .. }
            | Body::TaskArchived
            | Body::VerificationRecorded(_)
            | Body::FixFailed(_)
            | Body::Promoted { .. }
            | Body::PromotionDropped { .. } => self.apply_to_task(body, at),
            Body::TrajectoryStored(stored) => vec![self.trajectory_stored(stored, at)],
            Body::Published {
                source,
                verification,
                report,
            } => vec![Change::Mark {
                source: source.clone(),
                verification: *verification,
                report: report.clone(),
            }],
            Body::EntryCreated(created) => self.entry_created(created, at),
            Body::EntryAmended(amended) => self.entry_amended(amended, at),
            Body::Merged(merged) => self.entry_merged(merged, at),
            Body::Superseded {
                new,
                old,
                line,
                reason,
                commit,
            } => self.superseded((*new, *old, *line), reason, commit.as_deref(), at),
            Body::Linked { entry, link } => self.change_head(*entry, at, |head| {
                if head.links.len() < LINKS_MAX {
                    head.links.push(*link);
                }
            }),
            Body::TokenMinted { hash, token } => self.set_token(*hash, (**token).clone()),
            Body::TokenRevoked { hash, .. } => self.token_revoked(*hash, at),
            Body::ReuseReported(_)
            | Body::ReviewRaised { .. }
            | Body::ReviewAnswered { .. }
            | Body::TrustRevised(_)
            | Body::CitationsRefreshed(_)
            | Body::EntriesRetired { .. }
            | Body::StateResolved { .. }
            | Body::EntryRestored(_)
            | Body::SupersessionUndone { .. } => self.apply_governed(body, at),
            Body::PromotionUndone { .. } => Vec::new(),
            Body::ContentErased(erased) => self.content_erased(erased, at),
            Body::DecisionSaved(_)
            | Body::EvidenceSaved(_)
            | Body::AnchorAdded(_)
            | Body::AnchorDropped { .. }
            | Body::RelationDeclared { .. } => self.apply_to_memory(body, at),
        }
    }

    /// Applies an event of decisions, of evidence, of anchors or of kinds of relations.
    fn apply_to_memory(&mut self, body: &Body, at: &Stamped) -> Vec<Change> {
        match body {
            Body::DecisionSaved(saved) => self.decision_saved(saved, at),
            Body::EvidenceSaved(saved) => self.evidence_saved(saved, at),
            Body::AnchorAdded(added) => self.anchor_added(added, at),
            Body::AnchorDropped { anchor, .. } => self.anchor_dropped(*anchor, at),
            Body::RelationDeclared {
                name,
                reach,
                meaning,
            } => self.relation_declared((*name, *reach), meaning, at),
            _ => unreachable!("only what is kept of decisions comes here"),
        }
    }

    /// Applies an event of a task that was opened before.
    fn apply_to_task(&mut self, body: &Body, at: &Stamped) -> Vec<Change> {
        match body {
            Body::StuckMarked { reason } => self.change_task(at, |task| {
                task.status = TaskStatus::Stuck;
                task.stuck_reason = Some(reason.clone());
            }),
            Body::StuckCleared => self.change_task(at, |task| {
                task.status = TaskStatus::Open;
                task.stuck_reason = None;
            }),
            Body::TaskClosed { closing, .. } => self.change_task(at, |task| {
                task.status = match closing {
                    Closing::Done => TaskStatus::Done,
                    Closing::Failed => TaskStatus::Failed,
                };
                task.stuck_reason = None;
            }),
            Body::TaskArchived => self.change_task(at, |task| task.status = TaskStatus::Archived),
            Body::VerificationRecorded(verification) => {
                self.verification_recorded(verification, at)
            }
            Body::FixFailed(failed) => self.fix_failed(failed, at),
            Body::Promoted {
                verification,
                status,
                ..
            } => {
                let mut changes = self.change_task(at, |task| {
                    task.status = *status;
                    task.promotions_pending = task.promotions_pending.saturating_sub(1);
                });
                changes.push(Change::JobRemoved(*verification));
                self.promotions.ended(*verification, Stands::Published);
                changes
            }
            Body::PromotionDropped {
                verification,
                status,
                verified_through,
                ..
            } => {
                let mut changes = self.change_task(at, |task| {
                    task.status = *status;
                    task.verified_through = *verified_through;
                    task.promotions_pending = task.promotions_pending.saturating_sub(1);
                });
                changes.push(Change::JobRemoved(*verification));
                self.promotions.ended(*verification, Stands::Dropped);
                changes
            }
            _ => unreachable!("only a task's own events come here"),
        }
    }

    pub(super) fn set_task(&mut self, task: Task) -> Vec<Change> {
        let task = Arc::new(task);
        self.task = Some(Arc::clone(&task));
        vec![Change::Task(task)]
    }

    fn change_task(&mut self, at: &Stamped, change: impl FnOnce(&mut Task)) -> Vec<Change> {
        let mut task = self
            .task()
            .cloned()
            .expect("a task's events come after it was opened");
        change(&mut task);
        task.updated_at = at.time;
        self.set_task(task)
    }

    fn set_token(&mut self, hash: TokenHash, token: Token) -> Vec<Change> {
        self.tokens.insert(hash, Some(token.clone()));
        vec![Change::Token(hash, Box::new(token))]
    }

    fn token_revoked(&mut self, hash: TokenHash, at: &Stamped) -> Vec<Change> {
        let Some(token) = self.token(&hash).cloned() else {
            return Vec::new();
        };
        let revoked = Token {
            revoked_at: Some(at.time),
            ..token
        };
        self.set_token(hash, revoked)
    }

    fn verification_recorded(&mut self, verification: &Verification, at: &Stamped) -> Vec<Change> {
        let passed = verification.said.outcome == Outcome::Passed;
        let mut changes = self.change_task(at, |task| {
            task.promotions_pending += 1;
            if passed {
                task.status = TaskStatus::Verifying;
                task.stuck_reason = None;
                task.verified_through = verification.through;
                task.failures.clear(at.seq);
            } else if task.status != TaskStatus::Stuck {
                // A failure opens the task again, but only a person or orchestrator clears a halt.
                task.status = TaskStatus::Open;
            }
        });
        self.promotions.recorded(verification);
        changes.push(Change::Verification(Box::new(verification.clone())));
        changes.push(Change::JobAdded(Job {
            source: self.scope().clone(),
            verification: verification.id,
            created_at: at.time,
        }));
        changes
    }

    /// Has the task remember these failures, whatever cleared them; none where no task was opened.
    pub fn keep_failures(&mut self, failures: Failures) -> Option<Change> {
        let task = Task {
            failures,
            ..self.task()?.clone()
        };
        self.set_task(task).pop()
    }

    fn fix_failed(&mut self, failed: &FixFailed, at: &Stamped) -> Vec<Change> {
        let mut changes = self.change_task(at, |task| {
            if let Some(seen) = failed.error {
                task.failures.came_up(seen, at.seq);
            }
            if failed.approach.is_some() {
                task.failures.approach_failed();
            }
        });
        if let Some(approach) = &failed.approach {
            changes.push(Change::ApproachFailed(Box::new(FailedApproach {
                task: self.scope().clone(),
                seq: at.seq,
                verification: failed.verification,
                approach: approach.clone(),
                reason: failed.reason.clone(),
                at: at.time,
                wording: failed.wording.clone(),
            })));
        }
        changes
    }

    fn set_head(&mut self, head: Head) -> Change {
        let head = Arc::new(head);
        self.heads.insert(head.id, Some(Arc::clone(&head)));
        Change::Head(head)
    }

    pub(super) fn change_head(
        &mut self,
        id: EntryId,
        at: &Stamped,
        change: impl FnOnce(&mut Head),
    ) -> Vec<Change> {
        let head = self
            .heads
            .get_mut(&id)
            .and_then(Option::as_mut)
            .expect("an event names entries that the state knows");
        // An earlier change, or another state, may hold it as it was: only then there are two of it.
        let changed = Arc::make_mut(head);
        change(changed);
        changed.updated_at = at.time;
        vec![Change::Head(Arc::clone(head))]
    }

    /// The head of an entry that an event has just changed.
    pub(super) fn changed_head(&self, id: EntryId) -> Arc<Head> {
        let head = self.heads.get(&id).cloned().flatten();
        head.expect("it was changed just now")
    }

    fn entry_created(&mut self, created: &EntryCreated, at: &Stamped) -> Vec<Change> {
        let head = Head {
            id: created.id,
            scope: self.scope().clone(),
            table: created.table,
            version: 1,
            version_seq: at.seq,
            content_hash: created.text.content_hash,
            status: created.status,
            failure: created.failure,
            trust: created.trust.clone(),
            line: created.id,
            line_head: created.id,
            lifecycle: Lifecycle {
                valid_from_commit: created.binding.commit().map(str::to_owned),
                ..Lifecycle::default()
            },
            citations: created.citations.clone(),
            binding: created.binding.clone(),
            links: Vec::new(),
            reuse_count: 0,
            last_used: None,
            promotion: created.promotion,
            author: at.actor.clone(),
            created_at: at.time,
            updated_at: at.time,
            usage: Usage::default(),
        };
        let version = version(created.id, 1, &created.text, at);
        let mut changes = vec![
            Change::Version(Box::new(version)),
            Change::Located(created.id),
        ];
        changes.extend(self.text_gained(&head));
        changes.push(self.set_head(head));
        self.freshen(created.id, &created.text);
        changes
    }

    fn entry_amended(&mut self, amended: &EntryAmended, at: &Stamped) -> Vec<Change> {
        let before = self
            .head(amended.id)
            .cloned()
            .expect("an event names entries that the state knows");
        assert_eq!(
            amended.version,
            before.version + 1,
            "versions follow one another without gaps"
        );
        let mut changes = vec![Change::Version(Box::new(version(
            amended.id,
            amended.version,
            &amended.text,
            at,
        )))];
        changes.extend(self.text_lost(&before));
        let head = Head {
            version: amended.version,
            version_seq: at.seq,
            content_hash: amended.text.content_hash,
            citations: amended.citations.clone(),
            status: amended.status,
            trust: amended.trust.clone(),
            updated_at: at.time,
            ..before
        };
        changes.extend(self.text_gained(&head));
        changes.push(self.set_head(head));
        self.freshen(amended.id, &amended.text);
        changes
    }

    fn entry_merged(&mut self, merged: &EntryMerged, at: &Stamped) -> Vec<Change> {
        self.change_head(merged.into, at, |head| {
            head.citations.clone_from(&merged.citations);
            head.status = merged.status;
            head.trust = merged.trust.clone();
            head.last_used = Some(
                head.last_used
                    .map_or(merged.used_at, |last| last.max(merged.used_at)),
            );
        })
    }

    fn superseded(
        &mut self,
        (new, old, line): (EntryId, EntryId, EntryId),
        reason: &str,
        commit: Option<&str>,
        at: &Stamped,
    ) -> Vec<Change> {
        let mut changes = self.change_head(old, at, |head| {
            head.status = Status::Deprecated;
            head.lifecycle.superseded_by = Some(new);
            head.lifecycle.deprecated_at = Some(at.time);
            head.lifecycle.valid_to_commit = commit.map(str::to_owned);
            head.lifecycle.contradiction_note = Some(reason.to_owned());
        });
        let deprecated = self.changed_head(old);
        changes.extend(self.text_lost(&deprecated));
        changes.extend(self.change_head(new, at, |head| {
            head.line = line;
            head.lifecycle.supersedes = Some(old);
            if head.lifecycle.valid_from_commit.is_none() {
                head.lifecycle.valid_from_commit = commit.map(str::to_owned);
            }
        }));
        changes.extend(self.change_head(line, at, |head| head.line_head = new));
        self.fresh.retain(|fresh| fresh.id != old);
        changes
    }

    /// The text of `head` is found under its hash from now on.
    pub(super) fn text_gained(&mut self, head: &Head) -> Option<Change> {
        if !head.table.merges() || !head.status.is_live() {
            return None;
        }
        let key = key_of(head);
        self.by_hash.insert(key, Some(head.id));
        Some(Change::ByHash(key, Some(head.id)))
    }

    /// The text of `head` is not found under its hash any more, unless another entry has it.
    pub(super) fn text_lost(&mut self, head: &Head) -> Option<Change> {
        let key = key_of(head);
        if self.by_hash(&key) != Some(head.id) {
            return None;
        }
        self.by_hash.insert(key, None);
        Some(Change::ByHash(key, None))
    }

    fn freshen(&mut self, id: EntryId, text: &Text) {
        self.fresh.retain(|fresh| fresh.id != id);
        self.fresh.push(Arc::new(Fresh {
            id,
            content: text.content.clone(),
            claim: text.claim.clone(),
            embedding: text.embedding.clone(),
            detail: text.detail.clone(),
        }));
    }
}

pub(super) fn key_of(head: &Head) -> HashKey {
    HashKey {
        table: head.table,
        failure: head.failure,
        hash: head.content_hash,
    }
}

pub(super) fn version(entry: EntryId, number: u64, text: &Text, at: &Stamped) -> Version {
    Version {
        entry,
        number,
        content: text.content.clone(),
        detail: text.detail.clone(),
        metadata: text.metadata.clone(),
        claim: text.claim.clone(),
        content_hash: text.content_hash,
        author: at.actor.clone(),
        created_at: at.time,
    }
}

#[cfg(test)]
mod tests;
