//! Facts: what a rule wants to know before it decides, beyond the state at hand.
//!
//! Owns `needs`, which names them, and the form in which they are handed in. Fetching them is the
//! caller's work. A fetched fact may raise a further question (an entry's line, say), so `needs` is
//! asked again until nothing is missing, at most [`FACT_ROUNDS_MAX`] times.
//!
//! [`FACT_ROUNDS_MAX`]: crate::limits::FACT_ROUNDS_MAX

use std::collections::{BTreeMap, BTreeSet};

use crate::citation::Excerpt;
use crate::command::{Command, Replacement, Submission, VerificationRef};
use crate::commit::{CommitName, Presence};
use crate::decision::{DecisionHead, DecisionVersion, DeclaredRelation, RelationName};
use crate::entry::{Embedding, Head, Table, Version};
use crate::erasure::{KnownEvent, Texts};
use crate::fingerprint::ContentHash;
use crate::id::{
    AnchorId, DecisionId, EntryId, EvidenceId, RecordId, ReviewId, Seq, VerificationId,
};
use crate::membership::WireVersion;
use crate::ports::{ClaimRequest, NeighbourRequest, Ranked, SpaceThresholds};
use crate::promotion::{NewEntry, PublishReport, Standing};
use crate::retention::Retirement;
use crate::scope::Scope;
use crate::secret::mask;
use crate::state::State;
use crate::time::Timestamp;
use crate::token::TokenHash;
use crate::verification::Verification;

mod anchors;
mod cited;
mod decisions;
mod declared;
mod entries;
mod erasure;
mod governed;
mod promotion;
mod record;

pub(crate) use decisions::added_relations;
pub use declared::declarers;
pub(crate) use declared::nearest_declared;
pub use record::{ChunkByte, RecordFact, Stretch};

/// Names the live entry of a table that has a given text, among failures or among the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HashKey {
    /// The table.
    pub table: Table,
    /// Whether failures or other entries are meant.
    pub failure: bool,
    /// The text's hash.
    pub hash: ContentHash,
}

/// One thing that a rule wants to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// The head of an entry of the scope. Goes into the state.
    Head(EntryId),
    /// The entry that has a text. Goes into the state.
    ByHash(HashKey),
    /// The token with a hash. Goes into the state.
    Token(TokenHash),
    /// The head of an entry of another scope. It must not change before the command commits.
    HeadElsewhere(Scope, EntryId),
    /// One version of an entry of the scope.
    Version(EntryId, u64),
    /// What stands at a position.
    Record(RecordId),
    /// Whether a stretch of a text stands where it is said to.
    Excerpt(Excerpt),
    /// Whether commits are there that are cited.
    Commits(Vec<CommitName>),
    /// A recorded verification.
    Verification(VerificationRef),
    /// The mark that a promotion left in this scope's slot.
    Mark(Scope, VerificationId),
    /// What a task said of an entry of the scope. Goes into the state.
    Report(EntryId, Scope),
    /// A question of the scope. Goes into the state.
    Review(ReviewId),
    /// Into which entries a person's answer merged these ones of the scope.
    Merges(Vec<EntryId>),
    /// Whether a task was opened.
    Task(Scope),
    /// Whether a verification's promotion is under way. It must not end otherwise before the command commits.
    Job(VerificationRef),
    /// How all promotions of the command's task stand. None of them must be published before the
    /// command commits.
    Promotions,
    /// The events of the scope at positions.
    Events(Vec<Seq>),
    /// The events that hold the texts of entries of the scope. It takes reading all of its events.
    Texts(Vec<EntryId>),
    /// Why an entry of the scope was taken out of recall, which happened then.
    Retirement(EntryId, Timestamp),
    /// The neighbours of the command's entry with this number.
    Neighbours(usize, Box<NeighbourRequest>),
    /// What declares the key of the command's entry with this number, with another value.
    Claimants(usize, Box<ClaimRequest>),
    /// The head of a decision of the scope. Goes into the state.
    Decision(DecisionId),
    /// The head of a decision of another scope. It must not change before the command commits.
    DecisionElsewhere(Scope, DecisionId),
    /// One version of a decision of the scope.
    DecisionVersion(DecisionId, u64),
    /// The events that saved versions of a decision of the scope.
    DecisionSeqs(DecisionId, Vec<u64>),
    /// Evidence of the scope. Goes into the state.
    Evidence(EvidenceId),
    /// Whether another scope has evidence that was not erased. It must not be gone before the command commits.
    EvidenceElsewhere(Scope, EvidenceId),
    /// An anchor of the scope. Goes into the state.
    Anchor(AnchorId),
    /// What a scope has declared under a name of a relation. Of the command's own scope, it goes into the state. Of one around
    /// it, it must not change before the command commits.
    DeclaredRelation(Scope, RelationName),
}

/// The answers, for one command.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Versions of entries.
    pub versions: BTreeMap<EntryId, Option<Version>>,
    /// Heads of entries of other scopes.
    pub elsewhere: BTreeMap<(Scope, EntryId), Option<Head>>,
    /// Into which entries of the scope persons' answers merged others of it.
    pub merges: Option<BTreeMap<EntryId, EntryId>>,
    /// What stands at positions.
    pub records: BTreeMap<RecordId, RecordFact>,
    /// Whether stretches of texts stand where they are said to.
    pub excerpts: BTreeMap<Excerpt, bool>,
    /// Whether commits are there.
    pub commits: BTreeMap<CommitName, Presence>,
    /// Recorded verifications.
    pub verifications: BTreeMap<VerificationRef, Option<Verification>>,
    /// What promotions published before.
    pub marks: BTreeMap<(Scope, VerificationId), Option<PublishReport>>,
    /// The version that all nodes of the cluster read: what came later is not written.
    pub spoken: WireVersion,
    /// Events of the scope; none where there is none.
    pub events: BTreeMap<Seq, Option<KnownEvent>>,
    /// The events that hold the texts of the entries that are to be erased.
    pub texts: Option<Texts>,
    /// Whether tasks were opened.
    pub tasks: BTreeMap<Scope, bool>,
    /// Whether promotions are under way.
    pub jobs: BTreeMap<VerificationRef, bool>,
    /// How the task's promotions stand, in no order.
    pub promotions: Option<Vec<Standing>>,
    /// Why entries were taken out of recall; none where that is not known.
    pub retirements: BTreeMap<EntryId, Option<Retirement>>,
    /// The entry that a command brings back, as it would be written anew.
    pub returning: Option<Box<NewEntry>>,
    /// Neighbours of the command's entries, by the entry's number in the command.
    pub neighbours: BTreeMap<usize, Vec<Ranked>>,
    /// Entries that declare the keys of the command's entries with other values, by the entry's number in the command.
    pub claimants: BTreeMap<usize, Vec<EntryId>>,
    /// The thresholds of the space that the command's vectors lie in.
    pub thresholds: Option<SpaceThresholds>,
    /// The vector of what is offered by the question that the command answers, where the question has none, or one of a
    /// space that is not searched any more.
    pub offered: Option<Refitted>,
    /// Heads of decisions of other scopes.
    pub decisions_elsewhere: BTreeMap<(Scope, DecisionId), Option<DecisionHead>>,
    /// Versions of decisions of the scope.
    pub decision_versions: BTreeMap<(DecisionId, u64), Option<DecisionVersion>>,
    /// The events that saved versions of decisions of the scope; none where there is no such version.
    pub decision_seqs: BTreeMap<(DecisionId, u64), Option<Seq>>,
    /// Whether other scopes have evidence that was not erased.
    pub evidence_elsewhere: BTreeMap<(Scope, EvidenceId), bool>,
    /// What other scopes have declared under names of relations.
    pub declared: BTreeMap<(Scope, RelationName), Option<DeclaredRelation>>,
}

/// What an entry is searched by, in place of a vector of another space, or of none.
#[derive(Clone, Debug, PartialEq)]
pub struct Refitted {
    /// Its vector; none where the embedder refuses its text, or it is compared with nothing.
    pub embedding: Option<Embedding>,
}

/// What is still to be fetched before `submission` can be decided.
#[must_use]
pub fn needs(state: &State, submission: &Submission, facts: &Facts) -> Vec<Need> {
    let mut ask = Ask::of(state, &submission.scope, facts);
    match &submission.command {
        Command::RecordVerification(said) => ask.cited(&said.citations),
        Command::RecordFailure(failure) => ask.cited(&failure.said.citations),
        Command::StoreTrajectory(new) => ask.steps(&new.steps),
        Command::PutEntry {
            entry,
            verification,
        } => {
            ask.cited(&entry.citations);
            ask.verification(verification.as_ref());
            ask.entry(0, entry);
        }
        Command::AmendEntry(amend) => {
            ask.cited(&amend.citations);
            ask.verification(amend.verification.as_ref());
            ask.line(amend.entry);
            ask.by_new_text(amend.entry, &amend.content);
            ask.skill(amend.entry);
        }
        Command::Supersede(supersede) => {
            ask.verification(supersede.verification.as_ref());
            ask.line(supersede.old);
            match &supersede.new {
                Replacement::Existing(id) => ask.head_with_text(*id),
                Replacement::New(entry) => {
                    ask.cited(&entry.citations);
                    ask.by_hash(hash_key(entry));
                    ask.claimants(0, entry);
                }
            }
        }
        Command::Publish(_) | Command::NotePromoted { .. } | Command::DropPromotion { .. } => {
            ask.promotion(&submission.command);
        }
        Command::MintToken { hash, .. } | Command::RevokeToken { hash } => ask.token(*hash),
        Command::ReportReuse { .. }
        | Command::ReportGate(_)
        | Command::ResolveState { .. }
        | Command::AnswerReview(_)
        | Command::UndoPromotion { .. }
        | Command::Retire { .. }
        | Command::RestoreEntry { .. }
        | Command::Offer(_) => ask.governed(&submission.command),
        Command::Erase(order) => ask.erase(order),
        Command::EraseMemory(order) => ask.erase_memory(order),
        Command::EraseVerifications(order) => ask.erase_verifications(order),
        Command::SaveDecision(_)
        | Command::DeactivateDecision { .. }
        | Command::RestoreDecision { .. }
        | Command::DeclareRelation { .. } => ask.decision(&submission.command),
        Command::AddAnchors { anchors } => ask.anchors(anchors),
        Command::DropAnchor { anchor, .. } => ask.anchor(*anchor),
        Command::OpenTask { .. }
        | Command::Append { .. }
        | Command::AppendBound { .. }
        | Command::SaveEvidence(_)
        | Command::MarkStuck { .. }
        | Command::ClearStuck
        | Command::CloseTask { .. }
        | Command::ArchiveTask => {}
    }
    ask.needs
}

/// The key under which an entry's text is looked up: that of the text as it is stored, with its
/// secrets masked.
#[must_use]
pub fn hash_key(entry: &NewEntry) -> HashKey {
    HashKey {
        table: entry.table,
        failure: entry.failure,
        hash: ContentHash::of(&mask(&entry.content).text),
    }
}

struct Ask<'a> {
    state: &'a State,
    facts: &'a Facts,
    scope: &'a Scope,
    needs: Vec<Need>,
    /// What is among the needs already: a command may name hundreds of entries.
    heads: BTreeSet<EntryId>,
    hashes: BTreeSet<HashKey>,
}

impl<'a> Ask<'a> {
    const fn of(state: &'a State, scope: &'a Scope, facts: &'a Facts) -> Self {
        Self {
            state,
            facts,
            scope,
            needs: Vec::new(),
            heads: BTreeSet::new(),
            hashes: BTreeSet::new(),
        }
    }
}

impl Ask<'_> {
    fn verification(&mut self, verification: Option<&VerificationRef>) {
        if let Some(named) = verification
            && !self.facts.verifications.contains_key(named)
        {
            self.needs.push(Need::Verification(named.clone()));
        }
    }

    fn job(&mut self, named: &VerificationRef) {
        if !self.facts.jobs.contains_key(named) {
            self.needs.push(Need::Job(named.clone()));
        }
    }

    fn head(&mut self, id: EntryId) {
        if !self.state.knows_head(id) && self.heads.insert(id) {
            self.needs.push(Need::Head(id));
        }
    }

    fn by_hash(&mut self, key: HashKey) {
        if !self.state.knows_hash(&key) && self.hashes.insert(key) {
            self.needs.push(Need::ByHash(key));
        }
    }

    /// A head, and whether its text is the one that its table finds by hash.
    fn head_with_text(&mut self, id: EntryId) {
        self.head(id);
        if let Some(head) = self.state.head(id) {
            self.by_hash(HashKey {
                table: head.table,
                failure: head.failure,
                hash: head.content_hash,
            });
        }
    }

    fn by_new_text(&mut self, id: EntryId, content: &str) {
        if let Some(head) = self.state.head(id) {
            self.by_hash(HashKey {
                table: head.table,
                failure: head.failure,
                hash: ContentHash::of(&mask(content).text),
            });
        }
    }

    /// The active version of a skill, which says how it was used before it was written.
    fn skill(&mut self, id: EntryId) {
        let head = self.state.head(id);
        if let Some(head) = head.filter(|head| head.table == Table::Skills)
            && !self.state.is_fresh(id)
            && !self.facts.versions.contains_key(&id)
        {
            self.needs.push(Need::Version(id, head.version));
        }
    }

    /// A head, and the first entry of its line, which knows who heads the line now.
    fn line(&mut self, id: EntryId) {
        self.head_with_text(id);
        if let Some(head) = self.state.head(id) {
            self.head(head.line);
            if let Some(first) = self.state.head(head.line) {
                self.head(first.line_head);
            }
        }
    }

    fn review(&mut self, id: ReviewId) {
        if !self.state.knows_review(id) {
            self.needs.push(Need::Review(id));
        }
    }

    fn token(&mut self, hash: TokenHash) {
        if !self.state.knows_token(&hash) {
            self.needs.push(Need::Token(hash));
        }
    }
}
