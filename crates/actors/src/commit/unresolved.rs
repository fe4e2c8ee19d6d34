//! Commands of which an earlier attempt may still commit.
//!
//! Owns the memory of them on this node. A refusal writes nothing, so it does not stop a commit that
//! is still on its way: whoever is refused for good while an earlier attempt may yet be applied has
//! been told a falsehood. Such a refusal is therefore committed, as an ABORTED record, which only one
//! of the two can write. Another owner's refusals need no memory: its claim has fenced the commit.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use sillok_core::command::{Digest, Submission};
use sillok_core::id::Attempt;
use sillok_core::ports::Clock;

use super::CommandKey;
use crate::scope_actor::Pending;

/// Commands that are remembered one by one, several times as many as a node has under way; beyond that
/// every command counts as one of them.
const COMMANDS_MAX: usize = 65_536;
/// For how long every command counts as one then, in ms: far longer than any store lets a transaction
/// live.
const ALL_MS: u64 = 600_000;

/// What is remembered of a command.
#[derive(Clone, Copy)]
struct Remembered {
    /// The latest attempt that may still commit.
    attempt: Attempt,
    /// The digest of its body.
    digest: Digest,
}

/// A command of which an attempt may still commit.
#[derive(Clone)]
pub(super) struct Doubtful {
    /// Its name.
    pub(super) key: CommandKey,
    /// The latest attempt that may still commit.
    pub(super) attempt: Attempt,
    /// The digest of its body.
    pub(super) digest: Digest,
}

/// Commands of which an earlier attempt may still commit.
#[derive(Default)]
pub(crate) struct Unresolved {
    inner: Mutex<Inner>,
    /// Whether there are any, so that the usual command need not look.
    any: AtomicBool,
}

#[derive(Default)]
struct Inner {
    commands: BTreeMap<CommandKey, Remembered>,
    /// Until when every command counts as one, in ms.
    all_until_ms: u64,
}

impl Unresolved {
    /// Whether an earlier attempt of a command may still commit.
    pub(super) fn holds(&self, named: impl FnOnce() -> CommandKey, clock: &dyn Clock) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let inner = self.inner.lock();
        inner.all_until_ms > clock.monotonic_ms() || inner.commands.contains_key(&named())
    }

    /// An attempt of a command may still commit.
    pub(super) fn add(&self, doubtful: Doubtful, now_ms: u64) {
        let Doubtful {
            key,
            attempt,
            digest,
        } = doubtful;
        let mut inner = self.inner.lock();
        if let Some(known) = inner.commands.get_mut(&key) {
            known.attempt = attempt.max(known.attempt);
        } else if inner.commands.len() < COMMANDS_MAX {
            inner.commands.insert(key, Remembered { attempt, digest });
        } else {
            inner.all_until_ms = now_ms + ALL_MS;
        }
        self.any.store(true, Ordering::Release);
    }

    /// The commands that are remembered.
    pub(super) fn list(&self) -> Vec<Doubtful> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let doubtful = |(key, known): (&CommandKey, &Remembered)| Doubtful {
            key: key.clone(),
            attempt: known.attempt,
            digest: known.digest,
        };
        self.inner.lock().commands.iter().map(doubtful).collect()
    }

    /// Whether there were too many to remember, so that any command may be one of them. Said once more
    /// when that is over.
    pub(super) fn was_full(&self, now_ms: u64) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let mut inner = self.inner.lock();
        let was_full = inner.all_until_ms > 0;
        if inner.all_until_ms <= now_ms {
            inner.all_until_ms = 0;
            self.rest(&inner);
        }
        was_full
    }

    /// Nobody needs to look while there is nothing.
    fn rest(&self, inner: &Inner) {
        if inner.commands.is_empty() && inner.all_until_ms == 0 {
            self.any.store(false, Ordering::Release);
        }
    }

    /// No attempt of a command up to this one commits any more without this node's knowing.
    pub(super) fn settled(&self, key: &CommandKey, through: Attempt) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let mut inner = self.inner.lock();
        let latest = inner.commands.get(key).map(|known| known.attempt);
        if latest.is_some_and(|latest| latest <= through) {
            inner.commands.remove(key);
        }
        self.rest(&inner);
    }

    /// Watches over a batch while it is committed: should it be lost on the way, with its actor, its
    /// commands are remembered here.
    pub(super) fn watch<'a>(&'a self, batch: &[Pending], clock: &'a dyn Clock) -> OnItsWay<'a> {
        let submissions = batch.iter().map(|pending| Arc::clone(&pending.submission));
        OnItsWay {
            unresolved: self,
            clock,
            submissions: submissions.collect(),
        }
    }
}

/// A batch on its way into the store. Dropped before it is known what became of it, it leaves its
/// commands among the unresolved.
pub(super) struct OnItsWay<'a> {
    unresolved: &'a Unresolved,
    clock: &'a dyn Clock,
    submissions: Vec<Arc<Submission>>,
}

impl OnItsWay<'_> {
    /// It is known what became of it.
    pub(super) fn ends(mut self) {
        self.submissions.clear();
    }
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        if self.submissions.is_empty() {
            return;
        }
        let now_ms = self.clock.monotonic_ms();
        for submission in &self.submissions {
            // To look at the body could be what panicked. It is looked at before all else, so that such a
            // command has no commit on its way.
            let digest = AssertUnwindSafe(|| submission.command.digest());
            if let Ok(digest) = catch_unwind(digest) {
                let doubtful = Doubtful {
                    key: name_of(submission),
                    attempt: submission.attempt,
                    digest,
                };
                self.unresolved.add(doubtful, now_ms);
            }
        }
    }
}

/// What names a command. Its body plays no part.
pub(super) fn name_of(submission: &Submission) -> CommandKey {
    (
        submission.scope.clone(),
        submission.principal.actor.clone(),
        submission.id,
    )
}

#[cfg(test)]
mod tests {
    use sillok_core::id::CommandId;
    use sillok_core::ports::BoxFuture;
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::scope::Scope;
    use sillok_core::time::Timestamp;

    use super::*;

    struct At(u64);

    impl Clock for At {
        fn now(&self) -> Timestamp {
            Timestamp::from_ms(self.0)
        }

        fn monotonic_us(&self) -> u64 {
            self.0 * 1_000
        }

        fn sleep(&self, _: u64) -> BoxFuture<'static, ()> {
            Box::pin(async {})
        }
    }

    fn key(number: usize) -> CommandKey {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&(number as u64).to_be_bytes());
        let actor = Actor {
            kind: PrincipalKind::Agent,
            id: PrincipalId::parse("a").unwrap(),
        };
        let id = CommandId::from_parts(Timestamp::from_ms(1), random);
        (Scope::parse("org/a").unwrap(), actor, id)
    }

    fn doubtful(number: usize, attempt: Attempt) -> Doubtful {
        Doubtful {
            key: key(number),
            attempt,
            digest: Digest([7; 32]),
        }
    }

    #[test]
    fn a_command_is_held_until_it_is_settled() {
        let unresolved = Unresolved::default();
        assert!(!unresolved.holds(|| key(1), &At(0)));
        unresolved.add(doubtful(1, Attempt::FIRST), 0);
        assert!(unresolved.holds(|| key(1), &At(5)));
        assert!(!unresolved.holds(|| key(2), &At(5)));
        unresolved.settled(&key(1), Attempt::FIRST);
        assert!(!unresolved.holds(|| key(1), &At(5)));
    }

    #[test]
    fn an_earlier_attempt_that_is_settled_says_nothing_of_a_later_one() {
        let unresolved = Unresolved::default();
        let second = Attempt::FIRST.next();
        unresolved.add(doubtful(1, second), 0);
        unresolved.add(doubtful(1, Attempt::FIRST), 0);
        unresolved.settled(&key(1), Attempt::FIRST);
        assert!(unresolved.holds(|| key(1), &At(5)));
        unresolved.settled(&key(1), second);
        assert!(!unresolved.holds(|| key(1), &At(5)));
    }

    #[test]
    fn what_is_in_doubt_is_listed_with_its_latest_attempt_until_it_is_settled() {
        let unresolved = Unresolved::default();
        assert!(unresolved.list().is_empty());
        let second = Attempt::FIRST.next();
        unresolved.add(doubtful(1, Attempt::FIRST), 0);
        unresolved.add(doubtful(1, second), 5);
        unresolved.add(doubtful(2, Attempt::FIRST), 9);
        let listed = || {
            let list = unresolved.list().into_iter();
            list.map(|doubtful| (doubtful.key, doubtful.attempt))
                .collect::<Vec<_>>()
        };
        assert_eq!(listed(), [(key(1), second), (key(2), Attempt::FIRST)]);
        unresolved.settled(&key(1), second);
        assert_eq!(listed(), [(key(2), Attempt::FIRST)]);
        assert!(!unresolved.was_full(9));
    }

    #[test]
    fn too_many_make_every_command_one_of_them_for_a_while() {
        let unresolved = Unresolved::default();
        for number in 0..=COMMANDS_MAX {
            unresolved.add(doubtful(number, Attempt::FIRST), 0);
        }
        assert!(unresolved.holds(|| key(COMMANDS_MAX), &At(1)));
        assert!(unresolved.holds(|| key(COMMANDS_MAX + 7), &At(ALL_MS - 1)));
        assert!(unresolved.was_full(ALL_MS - 1));
        assert!(unresolved.holds(|| key(COMMANDS_MAX + 7), &At(ALL_MS - 1)));
        assert!(!unresolved.holds(|| key(COMMANDS_MAX + 7), &At(ALL_MS)));
        assert!(unresolved.was_full(ALL_MS), "once more, when it is over");
        assert!(!unresolved.was_full(ALL_MS));
        // Those that are settled make room.
        unresolved.settled(&key(3), Attempt::FIRST);
        unresolved.add(doubtful(COMMANDS_MAX + 8, Attempt::FIRST), ALL_MS + 1);
        assert!(unresolved.holds(|| key(COMMANDS_MAX + 8), &At(ALL_MS + 2)));
        assert!(!unresolved.holds(|| key(3), &At(ALL_MS + 2)));
    }

    #[test]
    fn that_all_which_are_remembered_are_settled_says_nothing_of_those_that_were_too_many() {
        let unresolved = Unresolved::default();
        for number in 0..=COMMANDS_MAX {
            unresolved.add(doubtful(number, Attempt::FIRST), 0);
        }
        for number in 0..COMMANDS_MAX {
            unresolved.settled(&key(number), Attempt::FIRST);
        }
        assert!(unresolved.list().is_empty());
        assert!(unresolved.holds(|| key(COMMANDS_MAX), &At(ALL_MS - 1)));
        assert!(unresolved.was_full(ALL_MS));
        assert!(!unresolved.holds(|| key(COMMANDS_MAX), &At(ALL_MS)));
    }
}
