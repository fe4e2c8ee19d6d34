//! The run that is under way in this process, and how far it is.
//!
//! Owns the counters, which whoever waits for a run may look at. They say nothing of what a run did: its answer does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether a run is under way in this process, and how far.
#[derive(Debug, Default)]
pub(crate) struct Running {
    is_on: AtomicBool,
    entries: AtomicU64,
    looked_at: AtomicU64,
    planned: AtomicU64,
    retired: AtomicU64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries that there were as it began.
    pub entries: u64,
    /// Entries that were looked at.
    pub looked_at: u64,
    /// Entries that are to be taken out; 0 until all were looked at.
    pub planned: u64,
    /// Those of them that were, or stay because they had changed since.
    pub retired: u64,
}

/// The run that is under way, until it is dropped.
pub(super) struct Turn<'a>(&'a Running);

impl Running {
    /// Begins a run, unless one is under way.
    pub(super) fn begin(&self) -> Option<Turn<'_>> {
        let begun = !self.is_on.swap(true, Ordering::AcqRel);
        begun.then(|| {
            for counter in [&self.entries, &self.looked_at, &self.planned, &self.retired] {
                counter.store(0, Ordering::Relaxed);
            }
            Turn(self)
        })
    }

    /// How far the run is that is under way, if one is.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.is_on.load(Ordering::Acquire).then(|| Progress {
            entries: read(&self.entries),
            looked_at: read(&self.looked_at),
            planned: read(&self.planned),
            retired: read(&self.retired),
        })
    }
}

impl Turn<'_> {
    /// So many entries there are.
    pub(super) fn begins(&self, entries: u64) {
        self.0.entries.store(entries, Ordering::Relaxed);
    }

    /// So many more were looked at.
    pub(super) fn looked_at(&self, entries: u64) {
        self.0.looked_at.fetch_add(entries, Ordering::Relaxed);
    }

    /// So many are to be taken out.
    pub(super) fn plans(&self, entries: u64) {
        self.0.planned.store(entries, Ordering::Relaxed);
    }

    /// So many more of them are done with.
    pub(super) fn retired(&self, entries: u64) {
        self.0.retired.fetch_add(entries, Ordering::Relaxed);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.is_on.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_at_a_time_counts_from_nothing() {
        let running = Running::default();
        assert_eq!(running.progress(), None);
        for _ in 0..2 {
            let turn = running.begin().unwrap();
            assert!(running.begin().is_none());
            assert_eq!(running.progress(), Some(Progress::default()));
            turn.begins(10);
            turn.looked_at(4);
            turn.looked_at(6);
            turn.plans(3);
            turn.retired(2);
            let progress = Progress {
                entries: 10,
                looked_at: 10,
                planned: 3,
                retired: 2,
            };
            assert_eq!(running.progress(), Some(progress));
            drop(turn);
            assert_eq!(running.progress(), None);
        }
    }
}
