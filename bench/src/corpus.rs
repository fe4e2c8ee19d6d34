//! A large published store: entries as a person would have published them over a long time.
//!
//! The entries are decided by the rules and written by the same functions as a node's, chain, view
//! and outbox alike, but without the node: nothing is compared with its neighbours, so the store is
//! made in seconds. The node that starts on it indexes them from the outbox.

use std::collections::BTreeSet;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sillok_actors::documents::document;
use sillok_actors::rows::{self, Place};
use sillok_builtin::HashEmbedder;
use sillok_core::chain::{Origin, seal};
use sillok_core::citation::Citation;
use sillok_core::command::{Answer, Command, CommandRecord, Submission};
use sillok_core::config::RulesConfig;
use sillok_core::decide::decide;
use sillok_core::entry::{Binding, Detail, Embedding, Head, Metadata, Skill, Table};
use sillok_core::event::{Body, Text};
use sillok_core::facts::Facts;
use sillok_core::id::{CommandId, EntryId, Epoch};
use sillok_core::limits::BATCH_COMMANDS_MAX;
use sillok_core::ports::{Embedder, IndexDoc};
use sillok_core::principal::{Principal, PrincipalKind};
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::state::{Change, Stamped, State};
use sillok_core::time::Timestamp;
use sillok_store::{FjallStore, Store, Txn, keys};

use crate::error::Error;
use crate::workload::{now, pick, principal, submission};

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
    place: Place,
    person: Principal,
    rules: RulesConfig,
    state: State,
    rng: ChaCha8Rng,
    writes: Writes,
    /// Numbers the commands, those of each seed apart.
    commands: u64,
}

impl Writer {
    /// Writes to a scope that has no events yet.
    pub(crate) fn new(scope: &Scope, seed: u32, writes: Writes) -> Self {
        Self {
            place: Place::of(scope),
            person: principal(PrincipalKind::Human),
            rules: RulesConfig::default(),
            state: State::new(scope, None, None),
            rng: ChaCha8Rng::seed_from_u64(u64::from(seed)),
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
        let digit = usize::try_from(self.rng.next_u32() % 10).expect("a digit fits");
        let text = text(&mut self.rng, number);
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
        let first = self.state.row().tip.seq.next();
        let mut written = Vec::with_capacity(numbers.len());
        for number in numbers {
            let command = self.command(*number);
            self.commands += 1;
            let mut bits = [0; 10];
            bits[2..].copy_from_slice(&self.commands.to_be_bytes());
            let command = Submission {
                id: CommandId::from_parts(at, bits),
                ..submission(&self.place.scope, &self.person, command)
            };
            written.push(self.decide(&mut txn, &command, at)?);
            // Every text is new: what was written before need not be at hand.
            self.state.forget();
        }
        let changed: BTreeSet<EntryId> = written.iter().map(|(head, _)| head.id).collect();
        let row = self.state.row();
        rows::write_scope(&mut txn, &self.place, row);
        rows::write_outbox(
            &mut txn,
            &self.place,
            first,
            row.tip.seq,
            changed.into_iter().collect(),
        );
        let stamp = txn.commit().await?.stamp;
        let docs = written.into_iter();
        Ok(docs
            .map(|(head, text)| document(&head, text, stamp))
            .collect())
    }

    fn decide(
        &mut self,
        txn: &mut impl Txn,
        command: &Submission,
        now: Timestamp,
    ) -> Result<(Head, Text), Error> {
        let (mut head, mut text) = (None, None);
        let decision = decide(&self.state, command, &Facts::default(), &self.rules, now)?;
        let actor = &self.person.actor;
        let origin = Origin {
            actor: actor.clone(),
            command: command.id,
            epoch: Epoch(1),
        };
        for body in &decision.bodies {
            let mut salt = [0; 16];
            self.rng.fill_bytes(&mut salt);
            let mut tip = self.state.row().tip;
            let event = seal(&mut tip, body, &origin, now, salt);
            rows::write_event(txn, &self.place, tip.seq, &event);
            let at = Stamped {
                seq: tip.seq,
                time: tip.time,
                actor: actor.clone(),
            };
            for change in self.state.apply(body, &at) {
                if let Change::Head(changed) = &change {
                    head = Some(Head::clone(changed));
                }
                rows::write_change(txn, &self.place, &change);
            }
            self.state.advance(tip);
            if let Body::EntryCreated(created) = body {
                text = Some(created.text.clone());
            }
        }
        let tip = self.state.row().tip;
        let answer = Answer {
            seq: tip.seq,
            time: tip.time,
            result: decision.result,
        };
        let record = CommandRecord::Applied {
            digest: command.command.digest(),
            answer,
        };
        let key = keys::command::key(&self.place.key, actor, command.id);
        rows::write_command(txn, key, &record);
        let written = head.zip(text);
        written.ok_or_else(|| Error::Wrong("a text that is new made no entry".to_owned()))
    }
}
