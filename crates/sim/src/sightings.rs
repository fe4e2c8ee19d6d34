//! Sightings: what a commit shows of the faults that went before it.
//!
//! Owns the effects that only the order of commits tells: whose slot was taken, whose commit was
//! fenced, whose clock an event was dated by. It judges nothing: that is the monitor's.

use sillok_core::membership::{BeatConfig, NodeRow, OwnerRow, is_claimable};
use sillok_core::schedule::Runs;

use crate::heap::ClockFacts;
use crate::monitor::{Moment, Monitor};
use crate::ports::BEGINNING_MS;
use crate::workload::maintaining::Nights;
use crate::writes::Writes;

/// Slots that one node hands over in a row before that counts as many: more than one round takes.
const MANY_HANDED_OVER: u32 = 17;
/// What is handed over within this time follows in a row, in µs.
const IN_A_ROW_US: u64 = 1_000_000;

/// Slots that a node hands over, one after the other.
#[derive(Clone, Copy, Default)]
pub(crate) struct HandedOver {
    in_a_row: u32,
    last_us: u64,
}

impl ClockFacts {
    /// The wall clock, in ms.
    pub(crate) fn wall_ms(&self, now_us: u64) -> u64 {
        let ms = BEGINNING_MS + self.boot_us(now_us) / 1_000;
        ms.saturating_add_signed(self.offset_ms + self.jumped_ms)
    }
}

impl Monitor {
    /// A slot that had an owner gets another run as its owner.
    pub(crate) fn sight_owner(
        &mut self,
        moment: Moment,
        before: &OwnerRow,
        node: Option<&NodeRow>,
        after: &OwnerRow,
    ) {
        let is_over = is_claimable(Some(before), node);
        if is_over && before.node != after.node {
            self.takeovers += 1;
            self.effects
                .saw("slot taken from an owner whose run was over");
            if self.down.contains(&before.node) {
                self.effects.saw("slot of a crashed node taken by another");
            }
            let watcher = self.left_by_watcher.get(&before.node);
            if watcher.is_some_and(|watcher| *watcher != after.node) {
                self.effects
                    .saw("takeover finished by another than the watcher that died");
            }
        } else if is_over && before.incarnation != after.incarnation && self.has_others() {
            self.effects
                .saw("slot taken back by the next run of its owner");
        } else if before.node != after.node {
            self.effects.saw("slot handed over");
            let row = self.handed_over.entry(moment.place).or_default();
            if moment.now_us - row.last_us > IN_A_ROW_US {
                row.in_a_row = 0;
            }
            row.last_us = moment.now_us;
            row.in_a_row += 1;
            if row.in_a_row == MANY_HANDED_OVER {
                self.effects
                    .saw("more slots handed over than one round takes");
            }
        }
    }

    /// A node's row changes, by its own hand.
    pub(crate) fn sight_node(&mut self, row: &NodeRow, before: &NodeRow, silent_us: u64) {
        if before.incarnation != row.incarnation {
            self.effects.saw(if before.fenced {
                "run begun after the former one was over"
            } else {
                "run begun before the former one was fenced"
            });
        } else if silent_us > BeatConfig::default().fence_after_ms * 1_000 {
            self.effects.saw("silence beyond the fencing time outlived");
        }
    }

    /// A node is fenced by another one.
    pub(crate) fn sight_fence(&mut self, moment: Moment) {
        self.effects.saw("node fenced");
        if moment.clock.drifts() {
            self.effects.saw("silence judged by a drifting clock");
        }
    }

    /// A transaction has committed.
    pub(crate) fn sight_commit(&mut self, moment: Moment, writes: &Writes) {
        for _ in 0..writes.barred() {
            self.effects.saw("attempt barred whose outcome was unknown");
        }
        let is_of_a_night = |runs: &&Runs| runs.last.is_some() && Nights::names(runs.through);
        for _ in writes.runs.iter().filter(is_of_a_night) {
            self.effects.saw("maintenance run at its time");
        }
        let clock = moment.clock;
        let own_ms = clock.wall_ms(moment.now_us);
        for (_, time) in &writes.events {
            if time.ms() <= own_ms {
                continue;
            }
            // The rules date an event by the one before it where the node's clock is behind that.
            let without = |ms: i64| time.ms() <= own_ms.saturating_add_signed(-ms);
            self.effects.saw(if without(clock.jumped_ms) {
                "event dated by the one before it after a clock jump"
            } else if without(clock.offset_ms) {
                "event dated by the one before it under a wrong clock"
            } else {
                "event dated by the one before it after a clock that was ahead"
            });
        }
    }

    /// A transaction was refused, since another one came between.
    pub(crate) fn sight_conflict(&mut self, moment: Moment, writes: &Writes, is_slow: bool) {
        self.effects.saw("conflict");
        if is_slow {
            self.effects.saw("slow commit met another writer");
        }
        let writer = self.name_of(moment.place);
        let is_lost = |slot| {
            let owner = self.owners.get(slot);
            owner.is_some_and(|owner| !Self::is_by_owner(owner, &writer, writes))
        };
        if writes.slots.iter().any(is_lost) {
            self.effects.saw("commit fenced");
        }
    }
}
