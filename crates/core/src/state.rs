//! The view of one scope, and what each event does to it.
//!
//! Owns what is known of a scope, and `apply`, the only place where that changes. A state is sparse:
//! it holds what was asked for, never a fold of the scope's whole history. Each applied event says
//! which rows of the view it changed, so that storing, rebuilding and auditing all follow from the
//! same function.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::anchor::Anchor;
use crate::chain::Tip;
use crate::command::ScopeRow;
use crate::decision::{DecisionHead, RelationName};
use crate::entry::Head;
use crate::facts::HashKey;
use crate::id::{AnchorId, DecisionId, EntryId, EvidenceId, ReviewId, VerificationId};
use crate::limits::COMMAND_RETRY_MS_MAX;
use crate::promotion::Standing;
use crate::reuse::ReuseOutcome;
use crate::review::Review;
use crate::scope::Scope;
use crate::task::Task;
use crate::time::Timestamp;
use crate::token::{Token, TokenHash};

mod apply;
mod change;
mod decisions;
mod declared;
mod erased;
mod evidence;
mod governed;
mod promotions;
mod trajectory;

pub use change::{Change, Fresh, Stamped};
pub use decisions::version_saved;
use declared::KnownKind;
use evidence::KnownEvidence;
use promotions::Promotions;

/// What is known of one scope.
#[derive(Clone, Debug)]
pub struct State {
    row: ScopeRow,
    task: Option<Arc<Task>>,
    heads: BTreeMap<EntryId, Option<Arc<Head>>>,
    by_hash: BTreeMap<HashKey, Option<EntryId>>,
    tokens: BTreeMap<TokenHash, Option<Token>>,
    /// What tasks said of entries.
    reports: BTreeMap<(EntryId, Scope), Option<ReuseOutcome>>,
    reviews: BTreeMap<ReviewId, Option<Arc<Review>>>,
    decisions: BTreeMap<DecisionId, Option<Arc<DecisionHead>>>,
    evidence: BTreeMap<EvidenceId, Option<KnownEvidence>>,
    anchors: BTreeMap<AnchorId, Option<Arc<Anchor>>>,
    /// Kinds of relations that the scope has declared.
    declared: BTreeMap<RelationName, Option<KnownKind>>,
    fresh: Vec<Arc<Fresh>>,
    promotions: Promotions,
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
            reports: BTreeMap::new(),
            reviews: BTreeMap::new(),
            decisions: BTreeMap::new(),
            evidence: BTreeMap::new(),
            anchors: BTreeMap::new(),
            declared: BTreeMap::new(),
            fresh: Vec::new(),
            promotions: Promotions::default(),
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

    /// Raises the floor of command ids where it lies higher than the chain's end has it.
    pub fn raise_floor(&mut self, floor: Timestamp) {
        self.row.floor = self.row.floor.max(floor);
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

    /// The heads that are known, by their ids.
    pub fn heads(&self) -> impl Iterator<Item = &Head> {
        self.heads.values().filter_map(Option::as_deref)
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

    /// What a task said of an entry, if that is known and it said something.
    #[must_use]
    pub fn report(&self, entry: EntryId, task: &Scope) -> Option<ReuseOutcome> {
        self.reports.get(&(entry, task.clone())).copied().flatten()
    }

    /// Whether it is known what a task said of an entry.
    #[must_use]
    pub fn knows_report(&self, entry: EntryId, task: &Scope) -> bool {
        self.reports.contains_key(&(entry, task.clone()))
    }

    /// Takes in what a task said of an entry.
    pub fn learn_report(&mut self, entry: EntryId, task: Scope, said: Option<ReuseOutcome>) {
        self.reports.entry((entry, task)).or_insert(said);
    }

    /// The question with an id, if it is known and was raised.
    #[must_use]
    pub fn review(&self, id: ReviewId) -> Option<&Review> {
        self.reviews.get(&id)?.as_deref()
    }

    /// Whether it is known if a question was raised.
    #[must_use]
    pub fn knows_review(&self, id: ReviewId) -> bool {
        self.reviews.contains_key(&id)
    }

    /// Takes in what was read of a question.
    pub fn learn_review(&mut self, id: ReviewId, review: Option<Review>) {
        self.reviews
            .entry(id)
            .or_insert_with(|| review.map(Arc::new));
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
        let governed = self.reports.len() + self.reviews.len() + self.promotions.len();
        let decisions = self.decisions.len() + self.declared.len();
        let decisions = decisions + self.evidence.len() + self.anchors.len();
        self.heads.len() + self.by_hash.len() + self.tokens.len() + governed + decisions
    }

    /// Leaves the text of an entry out of what is compared.
    fn forget_fresh(&mut self, entry: EntryId) {
        self.fresh.retain(|fresh| fresh.id != entry);
    }

    /// Notes that the index has been told of everything written so far.
    pub fn index_was_told(&mut self) {
        self.fresh.clear();
    }

    /// Forgets which entry has a text, and what the index was not told of.
    pub fn forget_texts(&mut self) {
        self.by_hash.clear();
        self.fresh.clear();
    }

    /// Forgets the vectors of what the index was not told of: such is found by its very text alone.
    pub fn forget_vectors(&mut self) {
        for fresh in &mut self.fresh {
            Arc::make_mut(fresh).embedding = None;
        }
    }

    /// Forgets all but the scope's row and task.
    pub fn forget(&mut self) {
        self.heads.clear();
        self.by_hash.clear();
        self.tokens.clear();
        self.reports.clear();
        self.reviews.clear();
        self.decisions.clear();
        self.evidence.clear();
        self.anchors.clear();
        self.declared.clear();
        self.fresh.clear();
        self.promotions = Promotions::default();
    }

    /// How the task's promotions stand, where `stored` is how those stand that are committed: what was
    /// decided since counts too.
    #[must_use]
    pub fn promotions(&self, stored: &[Standing]) -> Vec<Standing> {
        self.promotions.over(stored)
    }

    /// Whether an event that this state has seen ended a promotion.
    #[must_use]
    pub fn has_ended(&self, promotion: VerificationId) -> bool {
        self.promotions.has_ended(promotion)
    }

    pub(crate) const fn denials(&mut self) -> &mut Denials {
        &mut self.denials
    }
}
