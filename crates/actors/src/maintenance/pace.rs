//! Pace: a run's commands stand back while somebody writes to this node.
//!
//! Owns the turn that such commands take, one at a time. How many entries one names, and for how long the run rests after
//! it, is core's rule. Writers at other nodes are not seen.

use sillok_core::ports::Clock;
use sillok_core::retention::pace::{
    RETIRED_AT_ONCE, RETIRED_BESIDE, Writers, rest_ms, stands_back,
};
use tokio::sync::Mutex;

/// The pace of one run.
pub(super) struct Pace<'a> {
    clock: &'a dyn Clock,
    writers: &'a (dyn Fn() -> Writers + Sync),
    turn: Mutex<()>,
}

impl<'a> Pace<'a> {
    pub(super) fn new(clock: &'a dyn Clock, writers: &'a (dyn Fn() -> Writers + Sync)) -> Self {
        Self {
            clock,
            writers,
            turn: Mutex::new(()),
        }
    }

    fn stands_back(&self) -> bool {
        stands_back(self.clock.monotonic_ms(), (self.writers)())
    }

    /// How many entries the next command is to name.
    pub(super) fn entries(&self) -> usize {
        if self.stands_back() {
            RETIRED_BESIDE
        } else {
            RETIRED_AT_ONCE
        }
    }

    /// Carries a command out: at once where nobody writes, otherwise when it is its turn, and rests after it. Whoever has
    /// several under way polls all of them until they are done: the one whose turn it is may be any.
    pub(super) async fn keep<T>(&self, command: impl Future<Output = T>) -> T {
        if !self.stands_back() {
            return command.await;
        }
        let _turn = self.turn.lock().await;
        let began_us = self.clock.monotonic_us();
        let done = command.await;
        let took_us = self.clock.monotonic_us().saturating_sub(began_us);
        if self.stands_back() {
            self.clock.sleep(rest_ms(took_us)).await;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures::future::join_all;
    use sillok_core::ports::BoxFuture;
    use sillok_core::time::Timestamp;

    use super::*;

    /// A clock that goes on while somebody sleeps, and at no other time.
    #[derive(Default)]
    struct Slept(Arc<AtomicU64>);

    impl Clock for Slept {
        fn now(&self) -> Timestamp {
            Timestamp::EPOCH
        }

        fn monotonic_us(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }

        fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
            let slept_us = Arc::clone(&self.0);
            Box::pin(async move {
                tokio::task::yield_now().await;
                slept_us.fetch_add(ms * 1_000, Ordering::Relaxed);
            })
        }
    }

    fn writers(under_way: usize) -> Writers {
        Writers {
            under_way,
            last_ms: None,
        }
    }

    /// The most of five commands that were under way at the same time, each of which takes 3 ms, and how long all of
    /// them took, in ms.
    async fn at_once(waiting: usize) -> (usize, u64) {
        let clock = Slept::default();
        let writers = || writers(waiting);
        let pace = Pace::new(&clock, &writers);
        let (under_way, most) = (Cell::new(0), Cell::new(0));
        let command = || async {
            under_way.set(under_way.get() + 1);
            most.set(most.get().max(under_way.get()));
            tokio::task::yield_now().await;
            clock.sleep(3).await;
            under_way.set(under_way.get() - 1);
        };
        join_all((0..5).map(|_| pace.keep(command()))).await;
        (most.get(), clock.monotonic_ms())
    }

    #[tokio::test]
    async fn commands_go_one_at_a_time_with_rests_beside_a_writer() {
        assert_eq!(at_once(1).await, (1, 5 * (3 + 3)));
    }

    #[tokio::test]
    async fn commands_go_side_by_side_where_nobody_writes() {
        assert_eq!(at_once(0).await, (5, 5 * 3));
    }

    #[test]
    fn a_command_names_few_entries_beside_a_writer() {
        let clock = Slept::default();
        assert_eq!(Pace::new(&clock, &|| writers(1)).entries(), RETIRED_BESIDE);
        assert_eq!(Pace::new(&clock, &|| writers(0)).entries(), RETIRED_AT_ONCE);
    }
}
