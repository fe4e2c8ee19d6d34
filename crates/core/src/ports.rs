//! The ports: what the rules' surroundings must provide, as traits.
//!
//! Each has at least two real engines. Engines live in other crates; this file must not know any
//! of them.

use core::future::Future;
use core::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::checkpoint::ChainEnd;
use crate::command::{Answer, Submission};
use crate::commit::{CommitName, Presence};
use crate::entry::{ClaimHash, Embedding, SpaceId, Status, Table};
use crate::error::Error;
use crate::fingerprint::ContentHash;
use crate::id::EntryId;
use crate::membership::WireVersion;
use crate::promotion::{CognifyInput, Cognition, Used};
use crate::retention::Age;
use crate::retention::plan::{AgeColumns, WorthColumns};
use crate::scope::Scope;
use crate::slot::Slot;
use crate::stamp::Stamp;
use crate::time::Timestamp;
use crate::trace::TraceContext;
use crate::validity::Ancestry;

mod lost;

pub use lost::{Lost, VectorTable};

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Time. The only way in which actors learn or wait for it.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock, UTC.
    fn now(&self) -> Timestamp;

    /// Microseconds of the boot clock: it never goes back, it runs on while the machine is
    /// suspended, and its zero is arbitrary.
    fn monotonic_us(&self) -> u64;

    /// The same clock in milliseconds.
    fn monotonic_ms(&self) -> u64 {
        self.monotonic_us() / 1_000
    }

    /// Completes `ms` milliseconds from now.
    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()>;
}

/// Randomness: salts, token secrets, new ids.
pub trait Rng: Send + 'static {
    /// Fills `bytes` with random bytes.
    fn fill(&mut self, bytes: &mut [u8]);
}

/// Why an engine behind a port did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// It may answer later.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// Some of what it has stored cannot be read any more, and has to be made anew.
    #[error("damaged: {why}")]
    Damaged {
        /// What was met.
        why: String,
        /// What has to be made anew.
        lost: Lost,
    },
    /// It answered with something that cannot be used.
    #[error("unusable answer: {0}")]
    Unusable(String),
    /// The same, of a cognifier that says what the answer has used.
    #[error("unusable answer: {why}")]
    Wasted {
        /// What is wrong with it.
        why: String,
        /// What it has used; all that it may have, where no whole answer came.
        used: Used,
    },
}

/// The other nodes of a cluster, as one node reaches them.
pub trait Peers: Send + Sync + 'static {
    /// Hands a command to `node`, which carries it out if it owns the slot, or may take it. What it does
    /// belongs to `trace`.
    fn forward<'a>(
        &'a self,
        node: &'a str,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> BoxFuture<'a, Result<Forwarded, PeerError>>;

    /// Has everything that is written to them from now on be of this version, which all of them read. Before
    /// anybody says which, it is the first. Whoever hands values over as they are has no versions.
    fn speak(&self, _version: WireVersion) {}

    /// Whether the way to them is open, as far as this node can tell.
    fn is_connected(&self) -> bool;

    /// Tells all other nodes that something was committed in these slots. Nobody says whether it was
    /// heard.
    fn announce<'a>(&'a self, slots: &'a [Slot]) -> BoxFuture<'a, ()>;
}

/// What another node made of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Forwarded {
    /// It was applied, now or before.
    Answered(Answer),
    /// It was refused, and nothing was written.
    Refused(Error),
    /// Another node owns the slot: look again. Nothing was written.
    NotOwner,
}

/// Why another node gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// Nobody listens under that name. Nothing was written.
    #[error("no node of that name responds")]
    NoResponders,
    /// The command was sent and no answer came: it may have been applied.
    #[error("the node did not answer in time")]
    Silent,
}

/// Names the times at which something is done again and again.
pub trait Calendar: Send + Sync + 'static {
    /// The newest time that it names, up to and with `now`; none when there is none.
    fn latest(&self, now: Timestamp) -> Option<Timestamp>;

    /// The first time that it names behind `now`.
    fn next(&self, now: Timestamp) -> Option<Timestamp>;
}

/// Keeps checkpoints where the store is not, each signed by the key of the installation.
pub trait Checkpoints: Send + Sync + 'static {
    /// The file that a checkpoint of this time becomes.
    fn file(&self, made_at: Timestamp) -> String;

    /// Signs the ends of all chains of a generation of the store, and keeps that for good: in which file.
    fn keep(
        &self,
        made_at: Timestamp,
        generation: u32,
        ends: Vec<ChainEnd>,
    ) -> BoxFuture<'_, Result<String, PortError>>;
}

/// Turns text into vectors of one space.
pub trait Embedder: Send + Sync + 'static {
    /// The space that the vectors lie in.
    fn space(&self) -> SpaceId;

    /// Coordinates of each vector.
    fn dimensions(&self) -> usize;

    /// The thresholds at which texts of this space count as one, and as similar (cosines).
    fn thresholds(&self) -> SpaceThresholds;

    /// One vector for each text, in order, normalised to length 1.
    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>>;
}

/// Cosines that mean something in one embedding space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpaceThresholds {
    /// At or over this, two entries of one table are one.
    pub merge: f32,
    /// At or over this and under `merge`, they are linked as similar.
    pub similar: f32,
}

/// Draws knowledge from a task's records.
pub trait Cognifier: Send + Sync + 'static {
    /// Name and version of the engine, recorded in the metadata of what is published of what it proposes.
    fn name(&self) -> &str;

    /// Proposes facts, critique, decisions and a skill. It only proposes: the rules decide.
    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>>;
}

/// What a repository says of its commits, where one is at hand.
pub trait GitFacts: Send + Sync + 'static {
    /// Whether each of `commits` is `at` or an ancestor of it, in order, in the repository of the project that
    /// `scope` lies in; none where no repository is at hand for that.
    fn ancestry<'a>(
        &'a self,
        scope: &'a Scope,
        at: &'a str,
        commits: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Vec<Ancestry>>, PortError>>;

    /// Whether each of `commits` is there, in order, in the repository of the project that `scope` lies in; none where
    /// no repository is at hand for that. [`Presence::Missing`] is said only of a commit of that very
    /// repository, where the copy at hand is whole, and says what that lacks: it may have to be fetched. Whoever writes
    /// waits for the answer: it comes soon, or not at all.
    fn presence<'a>(
        &'a self,
        scope: &'a Scope,
        commits: &'a [CommitName],
    ) -> BoxFuture<'a, Result<Option<Vec<Presence>>, PortError>>;
}

/// What an index keeps of one entry: its active version and the head's filters.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDoc {
    /// Where the entry lives.
    pub scope: Scope,
    /// The entry.
    pub entry: EntryId,
    /// The active version.
    pub version: u64,
    /// Its table, and through it its kind.
    pub table: Table,
    /// Its status.
    pub status: Status,
    /// Whether it tells of a failure.
    pub failure: bool,
    /// Stored confidence, not decayed.
    pub confidence: f64,
    /// Hash of the content.
    pub content_hash: ContentHash,
    /// The text.
    pub content: String,
    /// What it claims, if it declares that.
    pub claim: Option<ClaimHash>,
    /// The vector of the text; none when no embedder answered.
    pub embedding: Option<Embedding>,
    /// When it was made.
    pub created_at: Timestamp,
    /// What runs of maintenance are planned by. Of an entry that has left recall it may say nothing.
    pub age: Age,
    /// The commit that this state of the entry was written by.
    pub stamp: Stamp,
}

impl IndexDoc {
    /// Whether the entry has left recall, so that an index forgets it. Its text and vector are not read for that: such
    /// a state may have none.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.status == Status::Archived
    }

    /// Whether the entry's content was erased, so that an index leaves nothing of it on the disk.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        self.content_hash == ContentHash::erased(self.entry, self.version)
    }
}

/// A hybrid search. All filters must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRequest {
    /// Entries of exactly these scopes, all of one organisation.
    pub scopes: Vec<Scope>,
    /// Entries of these tables; empty for all.
    pub tables: Vec<Table>,
    /// Entries of these statuses.
    pub statuses: Vec<Status>,
    /// Only entries that tell of a failure, or only entries that do not.
    pub failures: bool,
    /// Stored confidence at least this.
    pub confidence_min: f64,
    /// The query's words, for the BM25 list; empty for none.
    pub text: String,
    /// The query's vector, for the vector list.
    pub embedding: Option<Embedding>,
    /// Length of each list.
    pub limit: usize,
}

/// The two ranked lists that a search gives, best first. They are fused by
/// [`crate::recall::fuse`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchLists {
    /// By cosine.
    pub vector: Vec<Ranked>,
    /// By BM25.
    pub text: Vec<Ranked>,
    /// Whether something may be missing: a table that was asked is damaged, and not built again.
    pub partial: bool,
    /// Whether the request's vector was left out: its space is not searched any more, and nobody could make another one.
    pub by_words_alone: bool,
}

/// One place in a ranked list.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Where the entry lives.
    pub scope: Scope,
    /// The entry.
    pub entry: EntryId,
    /// Cosine or BM25 score: larger is better.
    pub score: f32,
}

/// A search for entries of one table and scope that are close to a vector, in any live status.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourRequest {
    /// The scope.
    pub scope: Scope,
    /// The table.
    pub table: Table,
    /// Whether failures or other entries are sought.
    pub failure: bool,
    /// The vector.
    pub embedding: Embedding,
    /// Cosine at least this.
    pub cosine_min: f32,
    /// At most so many, the closest first.
    pub limit: usize,
}

/// A search for entries of one scope that declare the key of a claim with another value: of any table, in any live status.
/// Those that agree with it are not sought, so that however many they are they hide no other one.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRequest {
    /// The scope.
    pub scope: Scope,
    /// Whether failures or other entries are sought.
    pub failure: bool,
    /// The claim.
    pub claim: ClaimHash,
    /// At most so many, the smallest ids first.
    pub limit: usize,
}

/// What is kept of all entries in columns, so that runs of maintenance are planned over them.
pub trait EntryColumns: Send + Sync + 'static {
    /// Hands over the columns by which it is found what is due, of every entry as it is stored, or later, batch by batch,
    /// in no order. Entries that are gone may be left out.
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>>;

    /// The same of the columns by which entries of tasks are ranked.
    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>>;
}

/// An index of the published store: a projection that can be thrown away and built again.
///
/// Two ways in: [`offer`](Self::offer) makes a commit visible at once, in memory, before it is
/// acknowledged; [`apply`](Self::apply) makes it durable later, off the write path.
///
/// Whatever reads what is stored answers [`PortError::Damaged`] once that cannot be read, and says what is lost with it:
/// that is then [forgotten](Self::forget), and all is told again. A search says so once of a table, and answers afterwards
/// from the others, with lists that are [partial](SearchLists::partial): whoever was told so may have gone, and what is
/// [passed over](Self::passed_over) is said to anybody who asks.
pub trait VectorIndex: EntryColumns {
    /// Makes these states of entries visible to searches from now on. A state older than the one
    /// that is already visible (by stamp) changes nothing.
    fn offer(&self, docs: Vec<IndexDoc>);

    /// Stores these states durably, keyed by (scope, entry), together with the cursor `through`:
    /// everything up to that stamp is now stored. Repeating it changes nothing. An entry that
    /// [is gone](IndexDoc::is_gone) is no longer stored, and no older state that comes later brings it back; a newer one
    /// does. Of one that [was erased](IndexDoc::is_erased) nothing is left on the disk by then, in no older state either.
    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>>;

    /// The cursor of the last [`apply`](Self::apply) that is stored; none when nothing is.
    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>>;

    /// The ranked lists for a query.
    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>>;

    /// Live entries close to a vector, closest first, with their cosines.
    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>>;

    /// Live entries that declare the key of a claim with another value, in rising order. Vectors have no part in it.
    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>>;

    /// Builds or refreshes what makes searches fast, and gives back what entries took that are gone. Slow; runs off the
    /// write path.
    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>>;

    /// Whether it was [noted](Self::note_whole) that every entry has its vector here, and nothing was lost since.
    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>>;

    /// Notes durably that every entry up to the cursor has a vector of the searched space here.
    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>>;

    /// Forgets everything, for a rebuild from events.
    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>>;

    /// Forgets what is lost, and with it the cursor and that it was [whole](Self::is_whole), for being told everything
    /// again. What else it has it goes on answering from, and knows when it is told.
    fn forget<'a>(&'a self, _lost: &'a Lost) -> BoxFuture<'a, Result<(), PortError>> {
        self.clear()
    }

    /// What searches pass over: it is known to be damaged, and not [forgotten](Self::forget) yet.
    fn passed_over(&self) -> Lost {
        Lost::default()
    }

    /// What the index holds, for status reports.
    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>>;
}

/// What an index holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStats {
    /// Entries stored durably, without those that are gone.
    pub stored: u64,
    /// States that are visible but not yet stored.
    pub pending: u64,
}

/// The table of vectors that an entry belongs to.
#[must_use]
pub fn vector_table(scope: &Scope, table: Table) -> VectorTable {
    (scope.org().to_owned(), table.kind())
}
