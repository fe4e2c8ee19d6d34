//! A large published store: entries as a person would have published them over a long time.
//!
//! The entries are decided by the rules and written by the same functions as a node's, chain, view
//! and outbox alike, but without the node: nothing is compared with its neighbours, so the store is
//! made in seconds. The node that starts on it indexes them from the outbox.

use std::collections::BTreeSet;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sillok_actors::rows::{self, Place};
use sillok_builtin::HashEmbedder;
use sillok_core::chain::{Origin, seal};
use sillok_core::citation::Citation;
use sillok_core::command::{Answer, Command, CommandRecord, Submission};
use sillok_core::config::RulesConfig;
use sillok_core::decide::decide;
use sillok_core::entry::{Binding, Detail, Embedding, Metadata, Table};
use sillok_core::facts::Facts;
use sillok_core::id::{EntryId, Epoch};
use sillok_core::limits::BATCH_COMMANDS_MAX;
use sillok_core::ports::Embedder;
use sillok_core::principal::{Principal, PrincipalKind};
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::state::{Change, Stamped, State};
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
    let mut writer = Writer {
        place: Place::of(scope),
        person: principal(PrincipalKind::Human),
        rules: RulesConfig::default(),
        state: State::new(scope, None, None),
        rng: ChaCha8Rng::seed_from_u64(u64::from(first)),
    };
    let numbers: Vec<u32> = (first..first + entries).collect();
    for batch in numbers.chunks(BATCH_COMMANDS_MAX) {
        writer.write(store, batch).await?;
    }
    Ok(())
}

struct Writer {
    place: Place,
    person: Principal,
    rules: RulesConfig,
    state: State,
    rng: ChaCha8Rng,
}

impl Writer {
    async fn write(&mut self, store: &FjallStore, numbers: &[u32]) -> Result<(), Error> {
        let mut txn = store.begin().await?;
        let first = self.state.row().tip.seq.next();
        let mut entries = BTreeSet::new();
        for number in numbers {
            let table = TABLES[usize::try_from(self.rng.next_u32() % 10).expect("a digit fits")];
            let text = text(&mut self.rng, *number);
            let command = submission(&self.place.scope, &self.person, put(&text, table));
            self.decide(&mut txn, &command, &mut entries)?;
            // Every text is new: what was written before need not be at hand.
            self.state.forget();
        }
        let row = self.state.row();
        rows::write_scope(&mut txn, &self.place, row);
        rows::write_outbox(
            &mut txn,
            &self.place,
            first,
            row.tip.seq,
            entries.into_iter().collect(),
        );
        txn.commit().await?;
        Ok(())
    }

    fn decide(
        &mut self,
        txn: &mut impl Txn,
        command: &Submission,
        entries: &mut BTreeSet<EntryId>,
    ) -> Result<(), Error> {
        let now = now();
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
                if let Change::Head(head) = &change {
                    entries.insert(head.id);
                }
                rows::write_change(txn, &self.place, &change);
            }
            self.state.advance(tip);
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
        Ok(())
    }
}
