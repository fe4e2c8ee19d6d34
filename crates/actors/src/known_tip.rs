//! The end of a scope's chain, as its actor last wrote it, for reads that need not ask the store.
//!
//! Owns what may be remembered, and until when. Whether the node still holds the slot for certain is
//! asked by whoever answers from here.

use parking_lot::Mutex;
use sillok_core::chain::Tip;
use sillok_core::id::Epoch;

/// The tip that a scope's last commit wrote, while no other commit is on its way.
///
/// Only what was written counts: no earlier transaction of the scope can commit behind it, however
/// late the store carries it out. What was merely read says nothing of those.
#[derive(Debug, Default)]
pub(crate) struct KnownTip {
    commits: Mutex<Commits>,
}

#[derive(Debug, Default)]
struct Commits {
    written: Option<(Epoch, Tip)>,
    on_their_way: usize,
    /// Whether two were on their way at once, as after an actor was killed: which wrote last is not
    /// known.
    overlapped: bool,
}

/// A commit on its way. Unless it is told where the tip has moved [`to`](Self::to), nothing is known
/// once it has ended.
#[must_use]
pub(crate) struct Moving<'a> {
    tip: &'a KnownTip,
    written: Option<(Epoch, Tip)>,
}

impl KnownTip {
    /// A commit is sent that moves the tip: nothing is known until it ends.
    pub(crate) fn moves(&self) -> Moving<'_> {
        let mut commits = self.commits.lock();
        commits.written = None;
        commits.overlapped |= commits.on_their_way > 0;
        commits.on_their_way += 1;
        Moving {
            tip: self,
            written: None,
        }
    }

    /// The tip, and the epoch under which it was written.
    pub(crate) fn get(&self) -> Option<(Epoch, Tip)> {
        self.commits.lock().written
    }

    /// Whether a commit is on its way.
    pub(crate) fn is_moving(&self) -> bool {
        self.commits.lock().on_their_way > 0
    }
}

impl Moving<'_> {
    /// The commit has happened, under this epoch, and the chain ends here.
    pub(crate) fn to(mut self, epoch: Epoch, tip: Tip) {
        self.written = Some((epoch, tip));
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        let mut commits = self.tip.commits.lock();
        assert!(commits.on_their_way > 0, "what ends was on its way");
        commits.on_their_way -= 1;
        if commits.on_their_way == 0 {
            commits.written = self.written.filter(|_| !commits.overlapped);
            commits.overlapped = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::id::Seq;
    use sillok_core::scope::Scope;

    use super::*;

    fn at(seq: u64) -> Tip {
        let scope = Scope::parse("org/acme/project/api").unwrap();
        Tip {
            seq: Seq::new(seq),
            ..Tip::genesis(&scope)
        }
    }

    #[test]
    fn what_the_last_commit_wrote_is_known_until_the_next_one_is_sent() {
        let tip = KnownTip::default();
        assert_eq!(tip.get(), None);
        let moving = tip.moves();
        assert!(tip.is_moving());
        assert_eq!(tip.get(), None);
        moving.to(Epoch(1), at(3));
        assert!(!tip.is_moving());
        assert_eq!(tip.get(), Some((Epoch(1), at(3))));
        let moving = tip.moves();
        assert_eq!(tip.get(), None);
        // Its outcome is not known, or another writer came between.
        drop(moving);
        assert_eq!(tip.get(), None);
    }

    #[test]
    fn of_commits_that_overlap_nothing_is_known() {
        let tip = KnownTip::default();
        let (one, other) = (tip.moves(), tip.moves());
        one.to(Epoch(1), at(4));
        assert_eq!(tip.get(), None);
        other.to(Epoch(1), at(3));
        assert_eq!(tip.get(), None, "the other one may have written behind it");
        tip.moves().to(Epoch(1), at(5));
        assert_eq!(tip.get(), Some((Epoch(1), at(5))));
    }
}
