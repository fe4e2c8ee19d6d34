//! A large published store: entries as a person would have published them over a long time.
//!
//! The entries are decided by the rules and written by the same functions as a node's, chain, view
//! and outbox alike, but without the node: nothing is compared with its neighbours, so the store is
//! made in seconds. The node that starts on it indexes them from the outbox.

use std::collections::BTreeSet;

use rand::Rng as _;
use rand_chacha::ChaCha8Rng;
use sillok_actors::documents::document;
use sillok_builtin::HashEmbedder;
use sillok_core::citation::Citation;
use sillok_core::command::Command;
use sillok_core::entry::{Binding, Detail, Embedding, Head, Metadata, Skill, Table};
use sillok_core::event::{Body, Text};
use sillok_core::id::EntryId;
use sillok_core::limits::BATCH_COMMANDS_MAX;
use sillok_core::ports::{Embedder, IndexDoc};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::state::Change;
use sillok_core::time::Timestamp;
use sillok_store::{FjallStore, Store as _, Txn as _};

use crate::error::Error;
use crate::scribe::{Made, Scribe, command_id};
use crate::workload::{now, pick, principal};

const SUBJECTS: [&str; 24] = [
    "TimeDelta serialization",
    "the CSV reader",
    "the connection pool",
    "schema migration",
    "the retry queue",
    "path normalisation",
    "the template cache",
    "unicode folding",
    "the rate limiter",
    "session expiry",
    "the lock file",
    "float formatting",
    "the import resolver",
    "pagination",
    "webhook delivery",
    "the test fixture",
    "log rotation",
    "timezone conversion",
    "the build cache",
    "signal handling",
    "deep copy",
    "the query planner",
    "decimal rounding",
    "the plugin loader",
];
const VERBS: [&str; 16] = [
    "loses precision",
    "drops the last item",
    "returns early",
    "fails silently",
    "raises a type error",
    "deadlocks",
    "leaks a handle",
    "ignores the default",
    "reads stale data",
    "truncates the value",
    "reorders results",
    "skips validation",
    "doubles the request",
    "overflows",
    "hangs",
    "caches the error",
];
const CONDITIONS: [&str; 20] = [
    "when the input is empty",
    "under concurrent writers",
    "after a restart",
    "on Windows paths",
    "with negative offsets",
    "for nested objects",
    "when milliseconds are requested",
    "in strict mode",
    "with a custom encoder",
    "after the second retry",
    "for values above 2**53",
    "with an unset locale",
    "if the header is missing",
    "behind a proxy",
    "during daylight saving changes",
    "with symlinked folders",
    "on a read-only disk",
    "when two keys collide",
    "for generator arguments",
    "with trailing slashes",
];
const CAUSES: [&str; 20] = [
    "integer division in the base unit",
    "a shared mutable default",
    "an off-by-one in the slice",
    "the missing await",
    "a swallowed exception",
    "the wrong comparison operator",
    "an unbounded buffer",
    "a stale index",
    "rounding before scaling",
    "a missing lock",
    "the order of decorators",
    "an implicit conversion to text",
    "the early return in the guard",
    "a reused iterator",
    "a wrong default in the constructor",
    "the cached property",
    "a missing flush",
    "the inverted flag",
    "an outdated dependency",
    "the greedy pattern",
];
const REMEDIES: [&str; 16] = [
    "divide as floats and round at the end",
    "copy the default on each call",
    "hold the lock over both steps",
    "compare by value",
    "await the writer before closing",
    "raise instead of logging",
    "bound the queue",
    "rebuild the index after the move",
    "pass the unit explicitly",
    "normalise before hashing",
    "flush on exit",
    "sort by a stable key",
    "escape the separator",
    "pin the version",
    "parse once at the edge",
    "keep the offset as an integer",
];
/// How entries are spread over tables, by tenths.
const TABLES: [Table; 10] = [
    Table::Observations,
    Table::Observations,
    Table::Observations,
    Table::Observations,
    Table::Observations,
    Table::Observations,
    Table::QaReports,
    Table::Patterns,
    Table::Gotchas,
    Table::Gotchas,
];

/// The `number`-th text of a corpus: no two are equal.
pub(crate) fn text(rng: &mut ChaCha8Rng, number: u32) -> String {
    format!(
        "{} {} {}: the cause is {} in `{}_{:05x}`; {}. Seen with release {}.{}.",
        pick(rng, &SUBJECTS),
        pick(rng, &VERBS),
        pick(rng, &CONDITIONS),
        pick(rng, &CAUSES),
        pick(
            rng,
            &[
                "parse", "load", "encode", "resolve", "merge", "render", "flush", "open"
            ]
        ),
        number,
        pick(rng, &REMEDIES),
        rng.next_u32() % 30,
        rng.next_u32() % 20,
    )
}

/// A question about the same things, in its own words.
pub(crate) fn question(rng: &mut ChaCha8Rng) -> String {
    let (subject, verb) = (pick(rng, &SUBJECTS), pick(rng, &VERBS));
    format!(
        "why {subject} {verb} {}, caused by {}",
        pick(rng, &CONDITIONS),
        pick(rng, &CAUSES)
    )
}

/// Publishes an entry with a text, as a person.
pub(crate) fn put(text: &str, table: Table) -> Command {
    let user = principal(PrincipalKind::Human).actor.id;
    let embedding = Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(text),
    };
    Command::PutEntry {
        entry: Box::new(NewEntry {
            table,
            content: text.to_owned(),
            detail: Detail::Plain,
            metadata: Metadata::default(),
            claim: None,
            citations: vec![Citation::Human { user }],
            failure: false,
            binding: Binding::NoRepository,
            embedding: Some(embedding),
        }),
        verification: None,
    }
}

/// The same of a skill that hardly ever worked.
fn put_skill(text: &str, number: u32) -> Command {
    let mut command = put(text, Table::Skills);
    if let Command::PutEntry { entry, .. } = &mut command {
        entry.detail = Detail::Skill(Box::new(Skill {
            name: format!("way {number}"),
            description: text.to_owned(),
            code: "try it again".to_owned(),
            usage_count: 5,
            success_rate: 0.2,
        }));
    }
    command
}

/// Writes entries to a scope that has no events yet. Texts are numbered from `first`.
///
/// # Errors
/// What the rules or the store answered.
pub(crate) async fn write(
    store: &FjallStore,
    scope: &Scope,
    first: u32,
    entries: u32,
) -> Result<(), Error> {
    let mut writer = Writer::new(scope, first, Writes::Varied);
    let numbers: Vec<u32> = (first..first + entries).collect();
    for batch in numbers.chunks(BATCH_COMMANDS_MAX) {
        writer.write(store, batch, now()).await?;
    }
    Ok(())
}

/// What sort of entries are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// All kinds, as [`TABLES`] spreads them.
    Varied,
    /// Observations, and three of ten skills that hardly ever worked: what goes once it is old.
    Passing,
}

/// Writes the entries of one scope.
pub(crate) struct Writer {
    scribe: Scribe,
    writes: Writes,
    /// Numbers the commands, those of each seed apart.
    commands: u64,
}

impl Writer {
    /// Writes to a scope that has no events yet.
    pub(crate) fn new(scope: &Scope, seed: u32, writes: Writes) -> Self {
        Self {
            scribe: Scribe::new(scope, seed.into()),
            writes,
            commands: u64::from(seed) << 32,
        }
    }

    /// Writes entries of that sort from now on.
    pub(crate) const fn sort(&mut self, writes: Writes) {
        self.writes = writes;
    }

    /// Writes entries with texts numbered from `first` on, as of that time: what an index is told of them.
    ///
    /// # Errors
    /// What the rules or the store answered.
    pub(crate) async fn entries(
        &mut self,
        store: &FjallStore,
        first: u32,
        entries: u32,
        at: Timestamp,
    ) -> Result<Vec<IndexDoc>, Error> {
        let numbers: Vec<u32> = (first..first + entries).collect();
        let mut docs = Vec::with_capacity(numbers.len());
        for batch in numbers.chunks(BATCH_COMMANDS_MAX) {
            docs.extend(self.write(store, batch, at).await?);
        }
        Ok(docs)
    }

    fn command(&mut self, number: u32) -> Command {
        let digit = usize::try_from(self.scribe.rng.next_u32() % 10).expect("a digit fits");
        let text = text(&mut self.scribe.rng, number);
        match self.writes {
            Writes::Varied => put(&text, TABLES[digit]),
            Writes::Passing if digit < 3 => put_skill(&text, number),
            Writes::Passing => put(&text, Table::Observations),
        }
    }

    async fn write(
        &mut self,
        store: &FjallStore,
        numbers: &[u32],
        at: Timestamp,
    ) -> Result<Vec<IndexDoc>, Error> {
        let mut txn = store.begin().await?;
        let first = self.scribe.next();
        let mut written = Vec::with_capacity(numbers.len());
        for number in numbers {
            let command = self.command(*number);
            self.commands += 1;
            let id = command_id(at, self.commands);
            let made = self.scribe.carry_out(&mut txn, id, command, at)?;
            written.push(entry(made)?);
            // Every text is new: what was written before need not be at hand.
            self.scribe.forget();
        }
        let changed: BTreeSet<EntryId> = written.iter().map(|(head, _)| head.id).collect();
        self.scribe
            .end(&mut txn, first, changed.into_iter().collect());
        let stamp = txn.commit().await?.stamp;
        let docs = written.into_iter();
        Ok(docs
            .map(|(head, text)| document(&head, text, stamp))
            .collect())
    }
}

/// The entry that a command made, and what it says.
fn entry(made: Made) -> Result<(Head, Text), Error> {
    let heads = made.changes.into_iter().filter_map(|change| match change {
        Change::Head(head) => Some(Head::clone(&head)),
        _ => None,
    });
    let texts = made.bodies.into_iter().filter_map(|body| match body {
        Body::EntryCreated(created) => Some(created.text),
        _ => None,
    });
    let written = heads.last().zip(texts.last());
    written.ok_or_else(|| Error::Wrong("a text that is new made no entry".to_owned()))
}
