//! What commits of this node took out of recall, as the index was told of it at once: the indexer need not read it again.
//!
//! Owns that it is bounded: what is not here is read from the store. It is safe to go by it, since it is looked up by the
//! stamp of the outbox row that names the entry last: a later change of the entry has a row with another stamp, and is read.
//! Only a node that is alone keeps it: no other one writes rows that it does not hear of.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sillok_core::id::EntryId;
use sillok_core::ports::IndexDoc;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

/// Entries that are kept, some 300 bytes each.
const ENTRIES_MAX: usize = 32_768;

/// What was taken out and was not stored yet.
#[derive(Debug, Default)]
pub(crate) struct Gone(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    of_commits: BTreeMap<Stamp, Vec<IndexDoc>>,
    entries: usize,
}

/// What was kept of some commits.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<Stamp, BTreeMap<(Scope, EntryId), IndexDoc>>);

impl Gone {
    /// Keeps what a commit took out, where that is all it did and there is room.
    pub(crate) fn keep(&self, stamp: Stamp, docs: &[IndexDoc]) {
        let mut kept = self.0.lock();
        let has_room = kept.entries + docs.len() <= ENTRIES_MAX;
        if has_room && docs.iter().all(IndexDoc::is_gone) {
            let former = kept.of_commits.insert(stamp, docs.to_vec());
            kept.entries += docs.len();
            kept.entries -= former.map_or(0, |docs| docs.len());
        }
    }

    /// Takes what is kept of all commits up to one.
    pub(super) fn take(&self, through: Stamp) -> Known {
        let mut kept = self.0.lock();
        let mut taken = BTreeMap::new();
        while let Some(of_commit) = kept.of_commits.first_entry()
            && *of_commit.key() <= through
        {
            let (stamp, docs) = of_commit.remove_entry();
            kept.entries -= docs.len();
            let named = docs
                .into_iter()
                .map(|doc| ((doc.scope.clone(), doc.entry), doc));
            taken.insert(stamp, named.collect());
        }
        Known(taken)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().of_commits.is_empty()
    }
}

impl Known {
    /// An entry as a commit left it, if that is known: it is still as it was then, if no later commit changed it.
    pub(super) fn left_by(&mut self, stamp: Stamp, entry: &(Scope, EntryId)) -> Option<IndexDoc> {
        self.0.get_mut(&stamp)?.remove(entry)
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::entry::{Status, Table};
    use sillok_core::fingerprint::ContentHash;
    use sillok_core::retention::Age;
    use sillok_core::time::Timestamp;

    use super::*;

    fn doc(number: u8, counter: u64) -> IndexDoc {
        IndexDoc {
            scope: "org/acme/project/api".parse().unwrap(),
            entry: EntryId::from_bytes([number; 16]),
            version: 1,
            table: Table::Observations,
            status: Status::Verified,
            failure: false,
            confidence: 0.8,
            content_hash: ContentHash::of("the cache is stale"),
            content: String::new(),
            claim: None,
            embedding: None,
            created_at: Timestamp::EPOCH,
            age: Age::default(),
            stamp: stamp(counter),
        }
    }

    fn stamp(counter: u64) -> Stamp {
        Stamp {
            counter,
            ..Stamp::ZERO
        }
    }

    fn gone(number: u8, counter: u64) -> IndexDoc {
        IndexDoc {
            status: Status::Archived,
            ..doc(number, counter)
        }
    }

    fn name(doc: &IndexDoc) -> (Scope, EntryId) {
        (doc.scope.clone(), doc.entry)
    }

    #[test]
    fn what_commits_took_out_is_known_up_to_the_last_that_is_read_and_once() {
        let kept = Gone::default();
        let docs = [gone(1, 3), gone(2, 3), gone(3, 5)];
        kept.keep(stamp(3), &docs[..2]);
        kept.keep(stamp(5), &docs[2..]);
        let mut known = kept.take(stamp(4));
        assert_eq!(
            known.left_by(stamp(3), &name(&docs[0])),
            Some(docs[0].clone())
        );
        assert_eq!(known.left_by(stamp(3), &name(&docs[0])), None, "once");
        assert_eq!(known.left_by(stamp(4), &name(&docs[1])), None, "another");
        assert_eq!(known.left_by(stamp(5), &name(&docs[2])), None, "not yet");
        let mut later = kept.take(stamp(5));
        assert_eq!(
            later.left_by(stamp(5), &name(&docs[2])),
            Some(docs[2].clone())
        );
        assert_eq!(kept.0.lock().entries, 0);
    }

    #[test]
    fn commits_that_left_anything_in_recall_are_read() {
        let kept = Gone::default();
        let docs = [gone(1, 3), doc(2, 3)];
        kept.keep(stamp(3), &docs);
        let mut known = kept.take(stamp(3));
        assert_eq!(known.left_by(stamp(3), &name(&docs[0])), None);
    }

    #[test]
    fn nothing_more_is_kept_than_there_is_room_for() {
        let kept = Gone::default();
        let many = vec![gone(1, 1); ENTRIES_MAX];
        kept.keep(stamp(1), &many);
        kept.keep(stamp(2), &[gone(2, 2)]);
        assert_eq!(kept.0.lock().of_commits.len(), 1);
        kept.take(stamp(1));
        kept.keep(stamp(2), &[gone(2, 2)]);
        assert_eq!(kept.0.lock().entries, 1);
    }
}
