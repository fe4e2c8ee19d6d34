//! The load: log records of 500 bytes, who writes them, and where.
//!
//! Owns forms alone. Everything drawn at random comes from a fixed seed, so that each run has the
//! same load.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sillok_core::command::{Command, Submission};
use sillok_core::entry::Metadata;
use sillok_core::id::{Attempt, CommandId};
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::staging::{LogLevel, NewRecord, RecordKind};
use sillok_core::time::Timestamp;

/// Submitters of one scope: two full batches, one in flight and one that waits.
pub(crate) const SUBMITTERS: usize = 128;
/// Bytes of a record's content.
pub(crate) const RECORD_BYTES: usize = 500;
/// Different records; they repeat after that.
const TEXTS: usize = 4_096;
const SEED: u64 = 20_260_914;
const PROJECTS: usize = 10;

const SUBJECTS: [&str; 16] = [
    "the parser",
    "the scheduler",
    "a retry",
    "the migration",
    "the cache",
    "the linker",
    "a worker",
    "the tokenizer",
    "the router",
    "the decoder",
    "a snapshot",
    "the formatter",
    "the index",
    "a lease",
    "the resolver",
    "the compiler",
];
const VERBS: [&str; 16] = [
    "skipped", "read", "reopened", "compared", "rewrote", "dropped", "checked", "moved",
    "rejected", "counted", "merged", "split", "sorted", "flushed", "loaded", "followed",
];
const OBJECTS: [&str; 16] = [
    "the last line",
    "an empty field",
    "two rows",
    "the header",
    "a stale handle",
    "the time zone",
    "a duplicate key",
    "the fixture",
    "an open file",
    "the error path",
    "a nested list",
    "the offset",
    "a missing column",
    "the checksum",
    "the suffix",
    "a long name",
];

/// The records' contents: like the log of a coding agent, neither equal nor random.
#[derive(Debug)]
pub(crate) struct Texts(Vec<String>);

impl Texts {
    /// All of them.
    pub(crate) fn new() -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        Self((0..TEXTS).map(|_| text(&mut rng)).collect())
    }

    /// One of them.
    pub(crate) fn get(&self, number: usize) -> &str {
        &self.0[number % TEXTS]
    }
}

fn text(rng: &mut ChaCha8Rng) -> String {
    let mut text = String::with_capacity(RECORD_BYTES + 96);
    while text.len() < RECORD_BYTES {
        let clause = format!(
            "step {} in module_{:04}: {} {} {} (line {}, {} us). ",
            rng.next_u32() % 400,
            rng.next_u32() % 5_000,
            pick(rng, &SUBJECTS),
            pick(rng, &VERBS),
            pick(rng, &OBJECTS),
            rng.next_u32() % 3_000,
            rng.next_u32() % 900_000,
        );
        text.push_str(&clause);
    }
    text.truncate(RECORD_BYTES);
    text
}

/// One of `words`.
pub(crate) fn pick<'a>(rng: &mut ChaCha8Rng, words: &[&'a str]) -> &'a str {
    let index =
        usize::try_from(rng.next_u32()).expect("an address has 32 bits or more") % words.len();
    words[index]
}

/// The scope of a task, in one of a few projects.
pub(crate) fn task(number: usize) -> Scope {
    let path = format!(
        "org/bench/project/p{}/worktree/main/task/t{number}",
        number % PROJECTS
    );
    scope(&path)
}

/// A scope from a path that is known to be one.
pub(crate) fn scope(path: &str) -> Scope {
    Scope::parse(path).expect("the path of a scope of the load")
}

/// Who writes.
pub(crate) fn principal(kind: PrincipalKind) -> Principal {
    let id = PrincipalId::parse("bench").expect("letters make an id");
    Principal {
        actor: Actor { kind, id },
        prefix: ScopePrefix::All,
    }
}

/// A new command id, as a client makes one: the time, and bits that no other call gives.
pub(crate) fn command_id() -> CommandId {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    let mut bits = [0; 10];
    bits[2..].copy_from_slice(&GIVEN.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    CommandId::from_parts(now(), bits)
}

/// The wall clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The first attempt at a command.
pub(crate) fn submission(scope: &Scope, principal: &Principal, command: Command) -> Submission {
    Submission {
        scope: scope.clone(),
        principal: principal.clone(),
        id: command_id(),
        attempt: Attempt::FIRST,
        command,
    }
}

/// Opens a task.
pub(crate) fn open_task() -> Command {
    Command::OpenTask {
        title: "Measure".to_owned(),
        description: "Append records.".to_owned(),
    }
}

/// Appends one log record.
pub(crate) fn append(text: &str) -> Command {
    Command::Append {
        records: vec![record(text)],
    }
}

/// One log record.
pub(crate) fn record(text: &str) -> NewRecord {
    NewRecord {
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content: text.to_owned(),
        metadata: Metadata::default(),
        time: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn records_have_the_stated_size_and_differ() {
        let texts = Texts::new();
        assert!((0..TEXTS).all(|number| texts.get(number).len() == RECORD_BYTES));
        let different: BTreeSet<&str> = (0..TEXTS).map(|number| texts.get(number)).collect();
        assert_eq!(different.len(), TEXTS);
    }

    #[test]
    fn no_record_looks_like_a_secret() {
        let texts = Texts::new();
        assert!((0..TEXTS).all(|number| sillok_core::secret::mask(texts.get(number)).count == 0));
    }

    #[test]
    fn no_command_id_is_given_twice() {
        let ids: BTreeSet<CommandId> = (0..10_000).map(|_| command_id()).collect();
        assert_eq!(ids.len(), 10_000);
    }
}
