//! Sight: which entries whoever writes a later one has to find.
//!
//! Owns when that is so: they were committed together, or the index of the former one's owner had been told of it before
//! the later one was asked for. What else may hide an entry, each check leaves out itself.

use std::collections::BTreeMap;

use sillok_core::id::{CommandId, EntryId, Seq};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, Family};

use super::End;

/// The events of commits, by the first of each.
type Commits = BTreeMap<Seq, (Seq, Stamp)>;

/// What there is to know of when entries were written.
pub(super) struct Sight<'a> {
    told_us: &'a BTreeMap<EntryId, u64>,
    sent_us: BTreeMap<CommandId, u64>,
    commits: BTreeMap<Scope, Commits>,
}

/// When an entry was written, in µs of the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// When its command was first sent, if it is a client's.
    pub(super) sent_us: Option<u64>,
    /// When the index of its owner was told of it, if it was.
    pub(super) told_us: Option<u64>,
    /// The commit.
    pub(super) commit: Option<Stamp>,
}

impl Written {
    /// Whether whoever wrote this had to find an earlier entry of the same scope.
    pub(super) fn sees(&self, earlier: &Self) -> bool {
        let was_told = earlier.told_us.zip(self.sent_us);
        let is_together = self.commit.is_some() && self.commit == earlier.commit;
        is_together || was_told.is_some_and(|(told_us, sent_us)| told_us < sent_us)
    }
}

impl<'a> Sight<'a> {
    pub(super) fn read(end: &'a End<'_>) -> Self {
        let mut commits: BTreeMap<Scope, Commits> = BTreeMap::new();
        for (key, value) in end.rows(Family::Outbox) {
            let name = keys::outbox::parse(&key).expect("the audit has read it");
            let row = keys::outbox::decode(&key, &value).expect("the audit has read it");
            let of_scope = commits.entry(row.scope).or_default();
            of_scope.insert(row.first, (row.last, name.stamp));
        }
        let calls = end.history.calls.iter();
        Self {
            told_us: &end.history.told_us,
            sent_us: calls.map(|call| (call.command, call.invoked_us)).collect(),
            commits,
        }
    }

    /// When an entry of a scope was written, by a command, with the event at a position.
    pub(super) fn of(
        &self,
        scope: &Scope,
        entry: EntryId,
        (command, seq): (CommandId, Seq),
    ) -> Written {
        let before = self.commits.get(scope);
        let before = before.and_then(|commits| commits.range(..=seq).next_back());
        let holding = before.filter(|(_, (last, _))| seq <= *last);
        Written {
            sent_us: self.sent_us.get(&command).copied(),
            told_us: self.told_us.get(&entry).copied(),
            commit: holding.map(|(_, (_, stamp))| *stamp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_once_it_was_told_of_and_in_its_own_commit() {
        let stamp = |counter| Stamp {
            counter,
            ..Stamp::ZERO
        };
        let written = |sent_us, told_us, counter| Written {
            sent_us: Some(sent_us),
            told_us: Some(told_us),
            commit: Some(stamp(counter)),
        };
        let earlier = written(10, 20, 1);
        assert!(written(21, 30, 2).sees(&earlier));
        assert!(!written(20, 30, 2).sees(&earlier));
        assert!(written(15, 20, 1).sees(&earlier));
        let unknown = Written::default();
        assert!(!unknown.sees(&unknown) && !written(21, 30, 2).sees(&unknown));
        assert!(!unknown.sees(&earlier));
    }
}
