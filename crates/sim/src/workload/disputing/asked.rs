//! That somebody is asked about entries that declare one key otherwise.
//!
//! Owns which of two live entries must have been linked to what contradicts it. A key is looked up however far apart two
//! entries lie and whatever their tables are (ADR 0037), so whoever writes the later one finds the former: the entry is
//! linked to one that contradicts it, and is there, or it was merged, and is not. Left out is what is compared with nothing or at another time: amended texts, and
//! what came back. What denies another one is left out as well, since of those only the closest are looked at.

use std::collections::BTreeSet;

use sillok_core::dedup::claims_differ;
use sillok_core::entry::Claim;
use sillok_core::id::{EntryId, Seq};
use sillok_core::limits::CLAIMANTS_MAX;

use crate::workload::sight::Written;

/// What an entry declared in one of its versions.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) entry: EntryId,
    pub(super) claim: Claim,
    /// Whether the entry tells of a failure: those are held against one another alone.
    pub(super) failure: bool,
    /// The event that says so.
    pub(super) seq: Seq,
    pub(super) written: Written,
    /// Whether the entry has been there since, as it was written first.
    pub(super) is_there: bool,
}

impl Declared {
    fn contradicts(&self, other: &Self) -> bool {
        self.failure == other.failure && claims_differ(Some(&self.claim), Some(&other.claim))
    }
}

/// Two live entries of which the later one was linked to nothing that contradicts it, though whoever wrote it had to find
/// the former. All were declared in one scope; `linked` are those that were linked so.
pub(super) fn unasked(
    mut declared: Vec<Declared>,
    linked: &BTreeSet<EntryId>,
) -> Option<(EntryId, EntryId)> {
    declared.sort_unstable_by_key(|one| one.seq);
    let mut later = declared.iter().enumerate();
    later.find_map(|(number, new)| {
        if !new.is_there || linked.contains(&new.entry) {
            return None;
        }
        let earlier = declared[..number].iter();
        let against: Vec<&Declared> = earlier.filter(|known| new.contradicts(known)).collect();
        // Of more than so many, only those with the smallest ids are looked at.
        if against.len() > CLAIMANTS_MAX {
            return None;
        }
        let mut found = against.into_iter();
        let known = found.find(|known| known.is_there && new.written.sees(&known.written))?;
        Some((known.entry, new.entry))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u8) -> EntryId {
        EntryId::from_bytes([number; 16])
    }

    /// What is declared at a second, and told of half a second later.
    fn declared(number: u8, value: &str) -> Declared {
        let sent_us = u64::from(number) * 1_000_000;
        Declared {
            entry: entry(number),
            claim: Claim {
                key: "request.deadline".into(),
                value: value.into(),
            },
            failure: false,
            seq: Seq::new(number.into()),
            written: Written {
                sent_us: Some(sent_us),
                told_us: Some(sent_us + 500_000),
                commit: None,
            },
            is_there: true,
        }
    }

    #[test]
    fn who_declares_a_key_otherwise_and_is_linked_to_nobody_is_found() {
        let unasked = |declared: &[Declared], linked: &[EntryId]| {
            unasked(declared.to_vec(), &linked.iter().copied().collect())
        };
        let (ten, twenty) = (declared(1, "10"), declared(2, "20"));
        let pair = [twenty.clone(), ten.clone()];
        assert_eq!(unasked(&pair, &[]), Some((entry(1), entry(2))));
        // The later one is linked, and not the one that was there.
        assert_eq!(unasked(&pair, &[entry(2)]), None);
        assert_eq!(unasked(&pair, &[entry(1)]), Some((entry(1), entry(2))));
        assert_eq!(unasked(&[ten.clone(), declared(2, "10")], &[]), None);
        let mut of_other_key = twenty.clone();
        of_other_key.claim.key = "request.retries".into();
        let mut failed = twenty.clone();
        failed.failure = true;
        let mut left = twenty.clone();
        left.is_there = false;
        let mut unseen = twenty.clone();
        unseen.written.sent_us = Some(1_400_000);
        for other in [of_other_key, failed, left, unseen] {
            assert_eq!(
                unasked(&[ten.clone(), other.clone()], &[]),
                None,
                "{other:?}"
            );
        }
        let mut gone = ten;
        gone.is_there = false;
        assert_eq!(unasked(&[gone, twenty], &[]), None);
    }

    #[test]
    fn of_more_than_are_looked_at_nobody_had_to_find_any() {
        let known = |count: u8| (1..=count).map(|number| declared(number, "10"));
        let with_last = |count: u8| {
            let all = known(count).chain([declared(count + 1, "20")]);
            unasked(all.collect(), &BTreeSet::new())
        };
        let most = u8::try_from(CLAIMANTS_MAX).unwrap();
        assert!(with_last(most).is_some());
        assert_eq!(with_last(most + 1), None);
    }
}
