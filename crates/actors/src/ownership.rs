//! Ownership: which slots this run of this node holds, and under which epochs.
//!
//! Owns what the node believes of itself. The truth is the owner's row of each slot, which every
//! commit reads in conflict; a belief that is out of date costs a retry, never a write. What is answered
//! from memory rests on it, and on the lease.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::OwnerRow;
use sillok_core::slot::{SLOTS, Slot};

/// What a node holds. Epochs begin at 1: 0 stands for a slot that is not held.
#[derive(Debug)]
pub struct Ownership {
    node: String,
    incarnation: AtomicU64,
    epochs: Vec<AtomicU64>,
    /// Whoever changes what is held has this lock.
    handing_over: Mutex<HandingOver>,
    /// Start of the last beat that committed, on the boot clock, plus one; 0 for none.
    beat_ms: AtomicU64,
}

/// Slots that another node may hold soon, or may hold already.
#[derive(Debug, Default)]
struct HandingOver {
    /// Those that are being handed over.
    leaving: BTreeSet<Slot>,
    /// Those of which nobody heard whether they were handed over.
    doubtful: BTreeSet<Slot>,
    /// The epochs that this run has let go of, the last of each slot.
    released: BTreeMap<Slot, Epoch>,
}

impl HandingOver {
    fn forget(&mut self, slot: Slot) {
        self.leaving.remove(&slot);
        self.doubtful.remove(&slot);
    }
}

impl Ownership {
    /// A node of this name that holds nothing, in no run yet.
    #[must_use]
    pub fn new(node: &str) -> Self {
        Self {
            node: node.to_owned(),
            incarnation: AtomicU64::new(0),
            epochs: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            handing_over: Mutex::default(),
            beat_ms: AtomicU64::new(0),
        }
    }

    /// The node's name.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// This run of the node; 0 before it has registered.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        Incarnation(self.incarnation.load(Ordering::Acquire))
    }

    /// The epoch under which this node holds a slot; none when it does not.
    #[must_use]
    pub fn epoch(&self, slot: Slot) -> Option<Epoch> {
        let epoch = self.cell(slot).load(Ordering::Acquire);
        (epoch > 0).then_some(Epoch(epoch))
    }

    /// The slots that are held, in order.
    #[must_use]
    pub fn held(&self) -> Vec<Slot> {
        let slots = (0..SLOTS).filter_map(Slot::new);
        slots.filter(|slot| self.epoch(*slot).is_some()).collect()
    }

    /// The epoch under which this run holds a slot, if the slot's row says so too.
    #[must_use]
    pub fn confirmed(&self, slot: Slot, row: Option<&OwnerRow>) -> Option<Epoch> {
        let epoch = self.epoch(slot)?;
        let is_ours = row.is_some_and(|row| self.is_ours(row) && row.epoch == epoch);
        is_ours.then_some(epoch)
    }

    /// Whether a slot's row names this run of this node.
    #[must_use]
    pub fn is_ours(&self, row: &OwnerRow) -> bool {
        row.node == self.node && row.incarnation == self.incarnation()
    }

    /// Whether a slot is being handed over: it takes no further command here.
    #[must_use]
    pub fn is_leaving(&self, slot: Slot) -> bool {
        self.handing_over.lock().leaving.contains(&slot)
    }

    /// Whether a slot is held under this epoch, and nobody was offered it: as long as the lease lasts,
    /// nobody else writes to it.
    #[must_use]
    pub fn is_undisputed(&self, slot: Slot, epoch: Epoch) -> bool {
        let handing_over = self.handing_over.lock();
        let is_offered =
            handing_over.leaving.contains(&slot) || handing_over.doubtful.contains(&slot);
        !is_offered && self.epoch(slot) == Some(epoch)
    }

    /// Whether a beat that was started at most `lease_ms` ago has committed. What is held then was
    /// not taken by anybody who waits for longer than that before it fences.
    #[must_use]
    pub fn has_lease(&self, now_ms: u64, lease_ms: u64) -> bool {
        let beat_ms = self.beat_ms.load(Ordering::Acquire);
        beat_ms > 0 && now_ms.saturating_sub(beat_ms - 1) < lease_ms
    }

    /// A new run begins: nothing is held.
    pub(crate) fn begin_run(&self, incarnation: Incarnation) {
        let mut handing_over = self.handing_over.lock();
        self.let_go_of_all(&mut handing_over);
        self.incarnation.store(incarnation.0, Ordering::Release);
    }

    pub(crate) fn beat_committed(&self, started_ms: u64) {
        self.beat_ms.store(started_ms + 1, Ordering::Release);
    }

    /// Holds a slot from now on, which `run` of this node has claimed, unless it has held it under that
    /// epoch and let it go since: whoever claims a slot a second time may come that late. Whether the run
    /// is the current one.
    pub(crate) fn take(&self, slot: Slot, epoch: Epoch, run: Incarnation) -> bool {
        assert!(epoch.0 > 0, "epochs begin at 1");
        let mut handing_over = self.handing_over.lock();
        if self.incarnation() != run {
            return false;
        }
        if self.would_hold(&handing_over, slot, epoch) {
            handing_over.forget(slot);
            self.cell(slot).store(epoch.0, Ordering::Release);
        }
        true
    }

    /// Whether a slot that was claimed under this epoch is still to be held: it is not held already, and was not
    /// let go of since.
    pub(crate) fn is_awaited(&self, slot: Slot, epoch: Epoch) -> bool {
        self.would_hold(&self.handing_over.lock(), slot, epoch)
    }

    fn would_hold(&self, handing_over: &HandingOver, slot: Slot, epoch: Epoch) -> bool {
        let released = handing_over.released.get(&slot);
        let is_gone = released.is_some_and(|released| *released >= epoch);
        !is_gone && self.epoch(slot).is_none_or(|held| held < epoch)
    }

    /// Lets go of a slot, unless it was taken again under another epoch. Whether it did.
    pub(crate) fn release(&self, slot: Slot, epoch: Epoch) -> bool {
        let mut handing_over = self.handing_over.lock();
        let (held, order) = (self.cell(slot), Ordering::AcqRel);
        let is_released = held.compare_exchange(epoch.0, 0, order, Ordering::Acquire);
        if is_released.is_ok() {
            handing_over.forget(slot);
            handing_over.released.insert(slot, epoch);
        }
        is_released.is_ok()
    }

    /// Lets go of everything: this run was declared dead.
    pub(crate) fn release_all(&self) {
        self.let_go_of_all(&mut self.handing_over.lock());
    }

    fn let_go_of_all(&self, handing_over: &mut HandingOver) {
        self.beat_ms.store(0, Ordering::Release);
        for cell in &self.epochs {
            cell.store(0, Ordering::Release);
        }
        *handing_over = HandingOver::default();
    }

    /// Marks a slot as being handed over, if it is held under this epoch. Whether it is.
    pub(crate) fn start_leaving(&self, slot: Slot, epoch: Epoch) -> bool {
        let mut handing_over = self.handing_over.lock();
        let is_held = self.epoch(slot) == Some(epoch);
        if is_held {
            handing_over.leaving.insert(slot);
        }
        is_held
    }

    /// Takes the mark back: the slot stays.
    pub(crate) fn stay(&self, slot: Slot) {
        self.handing_over.lock().leaving.remove(&slot);
    }

    /// Takes the mark back although the slot may be another's already: nothing is answered from memory
    /// any more under this epoch.
    pub(crate) fn stay_in_doubt(&self, slot: Slot) {
        let mut handing_over = self.handing_over.lock();
        handing_over.leaving.remove(&slot);
        handing_over.doubtful.insert(slot);
    }

    fn cell(&self, slot: Slot) -> &AtomicU64 {
        &self.epochs[usize::from(slot.number())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> Slot {
        Slot::new(7).unwrap()
    }

    fn row(incarnation: u64, epoch: u64) -> OwnerRow {
        OwnerRow {
            node: "a".into(),
            incarnation: Incarnation(incarnation),
            epoch: Epoch(epoch),
        }
    }

    #[test]
    fn a_slot_is_held_only_under_the_run_and_epoch_of_its_row() {
        let ownership = Ownership::new("a");
        ownership.begin_run(Incarnation(2));
        assert_eq!(ownership.confirmed(slot(), Some(&row(2, 5))), None);
        assert!(ownership.take(slot(), Epoch(5), Incarnation(2)));
        assert_eq!(
            ownership.confirmed(slot(), Some(&row(2, 5))),
            Some(Epoch(5))
        );
        assert_eq!(ownership.confirmed(slot(), Some(&row(2, 6))), None);
        assert_eq!(ownership.confirmed(slot(), Some(&row(3, 5))), None);
        assert_eq!(ownership.confirmed(slot(), None), None);
        ownership.begin_run(Incarnation(3));
        assert!(ownership.held().is_empty());
        // What the run before has claimed comes too late.
        assert!(!ownership.take(slot(), Epoch(5), Incarnation(2)));
        assert!(ownership.held().is_empty());
    }

    #[test]
    fn letting_go_of_an_old_epoch_keeps_the_new_one() {
        let ownership = Ownership::new("a");
        let run = ownership.incarnation();
        ownership.take(slot(), Epoch(5), run);
        ownership.take(slot(), Epoch(6), run);
        assert!(!ownership.start_leaving(slot(), Epoch(5)));
        assert!(!ownership.is_leaving(slot()));
        assert!(ownership.start_leaving(slot(), Epoch(6)));
        assert!(!ownership.release(slot(), Epoch(5)));
        assert_eq!(ownership.epoch(slot()), Some(Epoch(6)));
        assert!(ownership.is_leaving(slot()));
        assert!(ownership.release(slot(), Epoch(6)));
        assert_eq!(ownership.epoch(slot()), None);
        assert!(!ownership.is_leaving(slot()));
    }

    #[test]
    fn a_claim_that_comes_late_brings_nothing_back() {
        let ownership = Ownership::new("a");
        let run = ownership.incarnation();
        ownership.take(slot(), Epoch(5), run);
        ownership.start_leaving(slot(), Epoch(5));
        ownership.stay_in_doubt(slot());
        assert!(ownership.take(slot(), Epoch(5), run));
        assert!(
            !ownership.is_undisputed(slot(), Epoch(5)),
            "the doubt stays"
        );
        assert!(ownership.release(slot(), Epoch(5)));
        assert!(ownership.take(slot(), Epoch(5), run), "the run is the same");
        assert_eq!(ownership.epoch(slot()), None);
        assert!(ownership.take(slot(), Epoch(7), run));
        assert!(ownership.is_undisputed(slot(), Epoch(7)));
        // Nor does it take the place of a later one, whose former was never let go of.
        assert!(ownership.take(slot(), Epoch(9), run));
        assert!(ownership.take(slot(), Epoch(7), run));
        assert_eq!(ownership.epoch(slot()), Some(Epoch(9)));
    }

    #[test]
    fn a_slot_that_stays_takes_commands_again() {
        let ownership = Ownership::new("a");
        ownership.take(slot(), Epoch(5), ownership.incarnation());
        ownership.start_leaving(slot(), Epoch(5));
        assert!(ownership.is_leaving(slot()));
        ownership.stay(slot());
        assert!(!ownership.is_leaving(slot()));
        assert_eq!(ownership.epoch(slot()), Some(Epoch(5)));
    }

    #[test]
    fn a_lease_lasts_from_the_start_of_the_last_good_beat() {
        let ownership = Ownership::new("a");
        assert!(!ownership.has_lease(0, 2_000));
        ownership.beat_committed(1_000);
        assert!(ownership.has_lease(2_999, 2_000));
        assert!(!ownership.has_lease(3_000, 2_000));
        ownership.release_all();
        assert!(!ownership.has_lease(1_000, 2_000));
    }
}
