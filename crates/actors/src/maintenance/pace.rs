//! Pace: a run's commands stand back while somebody writes to this node.
//!
//! Owns the turn that such commands take, one at a time, and which of them take none. How many entries one names, and for
//! how long the run rests after it, is core's rule. Writers at other nodes are not seen.

use sillok_core::ports::Clock;
use sillok_core::retention::pace::{
    RETIRED_AT_ONCE, RETIRED_BESIDE, Writers, rest_ms, stands_back,
};
use sillok_core::slot::Slot;
use tokio::sync::{Mutex, MutexGuard};

/// The pace of one run.
pub(super) struct Pace<'a> {
    clock: &'a dyn Clock,
    writers: &'a (dyn Fn() -> Writers + Sync),
    /// Whether this node carries the commands of a slot out. Those of another node take no turn: it may not answer for long.
    is_here: &'a (dyn Fn(Slot) -> bool + Sync),
    turn: Mutex<()>,
}

impl<'a> Pace<'a> {
    pub(super) fn new(
        clock: &'a dyn Clock,
        writers: &'a (dyn Fn() -> Writers + Sync),
        is_here: &'a (dyn Fn(Slot) -> bool + Sync),
    ) -> Self {
        Self {
            clock,
            writers,
            is_here,
            turn: Mutex::new(()),
        }
    }

    fn stands_back(&self) -> bool {
        stands_back(self.clock.monotonic_ms(), (self.writers)())
    }

    /// How many entries the next command to a slot is to name. Who writes at another node is not known here.
    pub(super) fn entries(&self, slot: Slot) -> usize {
        if (self.is_here)(slot) && !self.stands_back() {
            RETIRED_AT_ONCE
        } else {
            RETIRED_BESIDE
        }
    }

    /// Carries a command to a slot out: at once where nobody writes, or where the slot is another node's; otherwise when it is
    /// its turn, and rests after it. Whoever has several under way polls all of them until they are done: the one whose turn
    /// it is may be any.
    pub(super) async fn keep<T>(&self, slot: Slot, command: impl Future<Output = T>) -> T {
        let turn = self.turn_for(slot).await;
        let began_us = self.clock.monotonic_us();
        let done = command.await;
        let took_us = self.clock.monotonic_us().saturating_sub(began_us);
        if turn.is_some() && self.stands_back() {
            self.clock.sleep(rest_ms(took_us)).await;
        }
        done
    }

    /// The turn of a command to a slot, if it takes one.
    async fn turn_for(&self, slot: Slot) -> Option<MutexGuard<'_, ()>> {
        if !(self.is_here)(slot) || !self.stands_back() {
            return None;
        }
        let turn = self.turn.lock().await;
        // It may have waited for long, and the slot was handed over meanwhile.
        (self.is_here)(slot).then_some(turn)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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

    fn slot() -> Slot {
        Slot::new(7).unwrap()
    }

    /// Where the commands of a slot are carried out.
    #[derive(Clone, Copy, PartialEq)]
    enum Place {
        Here,
        Elsewhere,
        /// Here, until the first of them is under way.
        Leaves,
    }

    /// The most of five commands that were under way at the same time, each of which takes 3 ms, and how long all of
    /// them took, in ms.
    async fn at_once(waiting: usize, place: Place) -> (usize, u64) {
        let clock = Slept::default();
        let writers = || writers(waiting);
        let here = AtomicBool::new(place != Place::Elsewhere);
        let is_here = |_: Slot| here.load(Ordering::Relaxed);
        let pace = Pace::new(&clock, &writers, &is_here);
        let (under_way, most) = (Cell::new(0), Cell::new(0));
        let command = || async {
            under_way.set(under_way.get() + 1);
            most.set(most.get().max(under_way.get()));
            tokio::task::yield_now().await;
            // By now all others have asked for their turn.
            here.store(place == Place::Here, Ordering::Relaxed);
            clock.sleep(3).await;
            under_way.set(under_way.get() - 1);
        };
        join_all((0..5).map(|_| pace.keep(slot(), command()))).await;
        (most.get(), clock.monotonic_ms())
    }

    #[tokio::test]
    async fn commands_go_one_at_a_time_with_rests_beside_a_writer() {
        assert_eq!(at_once(1, Place::Here).await, (1, 5 * (3 + 3)));
    }

    #[tokio::test]
    async fn commands_go_side_by_side_where_nobody_writes() {
        assert_eq!(at_once(0, Place::Here).await, (5, 5 * 3));
    }

    #[tokio::test]
    async fn commands_for_another_node_go_side_by_side_whoever_writes() {
        assert_eq!(at_once(1, Place::Elsewhere).await, (5, 5 * 3));
    }

    #[tokio::test]
    async fn commands_that_wait_while_their_slot_leaves_take_no_turn() {
        // The first has its turn and rests; the four behind it go side by side.
        assert_eq!(at_once(1, Place::Leaves).await, (4, (3 + 3) + 4 * 3));
    }

    #[test]
    fn a_command_names_few_entries_beside_a_writer_and_at_another_node() {
        let clock = Slept::default();
        for (waiting, here, expected) in [
            (0, true, RETIRED_AT_ONCE),
            (1, true, RETIRED_BESIDE),
            (0, false, RETIRED_BESIDE),
        ] {
            let (writers, is_here) = (|| writers(waiting), |_: Slot| here);
            let pace = Pace::new(&clock, &writers, &is_here);
            assert_eq!(pace.entries(slot()), expected);
        }
    }
}
