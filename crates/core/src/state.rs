//! The view of one scope, and what each event does to it.
//!
//! Owns `apply`, the only place where state changes. A state is sparse: it holds what was asked
//! for, never a fold of the scope's whole history. Each applied event says which rows of the view
//! it changed, so that storing, rebuilding and auditing all follow from the same function.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chain::Tip;
use crate::command::ScopeRow;
use crate::entry::{Head, Lifecycle, Status, Version};
use crate::event::{Body, EntryAmended, EntryCreated, EntryMerged, Text};
use crate::facts::HashKey;
use crate::id::{EntryId, Seq};
use crate::limits::{COMMAND_RETRY_MS_MAX, LINKS_MAX};
use crate::promotion::Job;
use crate::scope::Scope;
use crate::task::{Closing, Task, TaskStatus};
use crate::time::Timestamp;
use crate::token::{Token, TokenHash};
use crate::verification::{Outcome, Verification};

mod change;

pub use change::{Change, Fresh, Stamped};

/// What is known of one scope.
#[derive(Clone, Debug)]
pub struct State {
    row: ScopeRow,
    task: Option<Arc<Task>>,
    heads: BTreeMap<EntryId, Option<Arc<Head>>>,
    by_hash: BTreeMap<HashKey, Option<EntryId>>,
    tokens: BTreeMap<TokenHash, Option<Token>>,
    fresh: Vec<Arc<Fresh>>,
    denials: Denials,
}

/// How denials are sampled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Denials {
    pub(crate) last: Option<Timestamp>,
    pub(crate) unsampled: u64,
}

impl State {
    /// The view of a scope whose row and task were read; a scope without a row is new.
    #[must_use]
    pub fn new(scope: &Scope, row: Option<ScopeRow>, task: Option<Task>) -> Self {
        let row = row.unwrap_or_else(|| ScopeRow {
            scope: scope.clone(),
            tip: Tip::genesis(scope),
            floor: Timestamp::EPOCH,
        });
        assert_eq!(
            row.scope, *scope,
            "a scope's row is stored under its own key"
        );
        Self {
            row,
            task: task.map(Arc::new),
            heads: BTreeMap::new(),
            by_hash: BTreeMap::new(),
            tokens: BTreeMap::new(),
            fresh: Vec::new(),
            denials: Denials::default(),
        }
    }

    /// The scope's row.
    #[must_use]
    pub const fn row(&self) -> &ScopeRow {
        &self.row
    }

    /// The scope.
    #[must_use]
    pub const fn scope(&self) -> &Scope {
        &self.row.scope
    }

    /// Moves the chain's end, and with it the floor of command ids.
    pub fn advance(&mut self, tip: Tip) {
        assert!(
            tip.seq >= self.row.tip.seq && tip.time >= self.row.tip.time,
            "a chain only grows"
        );
        self.row.tip = tip;
        self.row.floor = self.row.floor.max(tip.time.minus_ms(COMMAND_RETRY_MS_MAX));
    }

    /// The task, in a task's scope, once it is opened.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        self.task.as_deref()
    }

    /// The head of an entry, if it is known and exists.
    #[must_use]
    pub fn head(&self, id: EntryId) -> Option<&Head> {
        self.heads.get(&id)?.as_deref()
    }

    /// Whether it is known if the entry exists.
    #[must_use]
    pub fn knows_head(&self, id: EntryId) -> bool {
        self.heads.contains_key(&id)
    }

    /// Takes in what was read of a head.
    pub fn learn_head(&mut self, id: EntryId, head: Option<Head>) {
        self.heads.entry(id).or_insert_with(|| head.map(Arc::new));
    }

    /// The live entry that has a text, if that is known and there is one.
    #[must_use]
    pub fn by_hash(&self, key: &HashKey) -> Option<EntryId> {
        self.by_hash.get(key).copied().flatten()
    }

    /// Whether it is known which entry has a text.
    #[must_use]
    pub fn knows_hash(&self, key: &HashKey) -> bool {
        self.by_hash.contains_key(key)
    }

    /// Takes in which entry has a text.
    pub fn learn_hash(&mut self, key: HashKey, entry: Option<EntryId>) {
        self.by_hash.entry(key).or_insert(entry);
    }

    /// The token with a hash, if it is known and exists.
    #[must_use]
    pub fn token(&self, hash: &TokenHash) -> Option<&Token> {
        self.tokens.get(hash)?.as_ref()
    }

    /// Whether it is known if the token exists.
    #[must_use]
    pub fn knows_token(&self, hash: &TokenHash) -> bool {
        self.tokens.contains_key(hash)
    }

    /// Takes in what was read of a token.
    pub fn learn_token(&mut self, hash: TokenHash, token: Option<Token>) {
        self.tokens.entry(hash).or_insert(token);
    }

    /// Entries that were written since the index was last told.
    #[must_use]
    pub fn fresh(&self) -> &[Arc<Fresh>] {
        &self.fresh
    }

    /// Whether an entry was written since the index was last told.
    #[must_use]
    pub fn is_fresh(&self, id: EntryId) -> bool {
        self.fresh.iter().any(|fresh| fresh.id == id)
    }

    /// How many things are remembered beyond the scope's row and task.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.heads.len() + self.by_hash.len() + self.tokens.len()
    }

    /// Notes that the index has been told of everything written so far.
    pub fn index_was_told(&mut self) {
        self.fresh.clear();
    }

    /// Forgets all but the scope's row and task.
    pub fn forget(&mut self) {
        self.heads.clear();
        self.by_hash.clear();
        self.tokens.clear();
        self.fresh.clear();
    }

    pub(crate) const fn denials(&mut self) -> &mut Denials {
        &mut self.denials
    }

    /// Applies one event and returns the rows that it changed, in the order of the changes.
    ///
    /// The state must know every head and text that the event names (see [`crate::facts::needs`]);
    /// an event that was decided from this state always satisfies that.
    pub fn apply(&mut self, body: &Body, at: &Stamped) -> Vec<Change> {
        match body {
            Body::RecordAppended(_) | Body::Denied { .. } => Vec::new(),
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
            }),
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
                changes
            }
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
            Body::TokenRevoked { hash, .. } => match self.token(hash).cloned() {
                Some(token) => self.set_token(
                    *hash,
                    Token {
                        revoked_at: Some(at.time),
                        ..token
                    },
                ),
                None => Vec::new(),
            },
        }
    }

    fn set_task(&mut self, task: Task) -> Vec<Change> {
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

    fn verification_recorded(&mut self, verification: &Verification, at: &Stamped) -> Vec<Change> {
        let passed = verification.said.outcome == Outcome::Passed;
        let mut changes = self.change_task(at, |task| {
            task.promotions_pending += 1;
            if passed {
                task.status = TaskStatus::Verifying;
                task.stuck_reason = None;
                task.verified_through = verification.through;
            } else if task.status != TaskStatus::Stuck {
                // A failure opens the task again, but only a person or orchestrator clears a halt.
                task.status = TaskStatus::Open;
            }
        });
        changes.push(Change::Verification(Box::new(verification.clone())));
        changes.push(Change::JobAdded(Job {
            source: self.scope().clone(),
            verification: verification.id,
            created_at: at.time,
        }));
        changes
    }

    fn set_head(&mut self, head: Head) -> Change {
        let head = Arc::new(head);
        self.heads.insert(head.id, Some(Arc::clone(&head)));
        Change::Head(head)
    }

    fn change_head(
        &mut self,
        id: EntryId,
        at: &Stamped,
        change: impl FnOnce(&mut Head),
    ) -> Vec<Change> {
        let mut head = self
            .head(id)
            .cloned()
            .expect("an event names entries that the state knows");
        change(&mut head);
        head.updated_at = at.time;
        vec![self.set_head(head)]
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
        let deprecated = self.head(old).cloned().expect("it was changed just now");
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
    fn text_gained(&mut self, head: &Head) -> Option<Change> {
        if !head.table.merges() || !head.status.is_live() {
            return None;
        }
        let key = key_of(head);
        self.by_hash.insert(key, Some(head.id));
        Some(Change::ByHash(key, Some(head.id)))
    }

    /// The text of `head` is not found under its hash any more, unless another entry has it.
    fn text_lost(&mut self, head: &Head) -> Option<Change> {
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
        }));
    }
}

fn key_of(head: &Head) -> HashKey {
    HashKey {
        table: head.table,
        failure: head.failure,
        hash: head.content_hash,
    }
}

fn version(entry: EntryId, number: u64, text: &Text, at: &Stamped) -> Version {
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
