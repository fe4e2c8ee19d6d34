//! What must hold of what people dispute.
//!
//! Owns that what contradicts is never one: an entry declares a key with one value, and nobody's word is merged with its
//! denial. A state that was resolved holds no more.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sillok_core::event::Body;
use sillok_core::id::EntryId;
use sillok_core::retention::Retirement;
use sillok_store::keys::{self, Family};

use super::Disputing;
use crate::violation::Violation;
use crate::workload::{Check, End};

/// The note of an agent that was told under which entry its word stands.
pub(super) const SAID: &str = "said under an entry";
/// The note of an agent that has resolved a state.
pub(super) const RESOLVED: &str = "state resolved";

/// What somebody said under an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Said {
    /// The entry.
    pub(super) entry: EntryId,
    /// The key and the value, if something was declared.
    pub(super) claim: Option<(u8, u8)>,
    /// Of which thing, and whether it was denied.
    pub(super) stated: Option<(u8, bool)>,
}

impl Said {
    /// Whether both cannot hold.
    fn contradicts(&self, other: &Self) -> bool {
        let differ = |ours: Option<(u8, u8)>, theirs: Option<(u8, u8)>| {
            let both = ours.zip(theirs);
            both.is_some_and(|(ours, theirs)| ours.0 == theirs.0 && ours.1 != theirs.1)
        };
        let number = |stated: Option<(u8, bool)>| stated.map(|(thing, no)| (thing, u8::from(no)));
        differ(self.claim, other.claim) || differ(number(self.stated), number(other.stated))
    }
}

impl Check for Disputing {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let said = said(end);
        let (one, resolved) = read(end);
        if let Some((a, b)) = united(&said, &one) {
            let what = format!("{a:?} and {b:?} contradict one another, and are one");
            return Err(Violation::new("what contradicts is never one", what));
        }
        resolved_hold_no_more(end, &resolved)
    }
}

/// What was said under each entry.
fn said(end: &End<'_>) -> BTreeMap<EntryId, Vec<Said>> {
    let mut said: BTreeMap<EntryId, Vec<Said>> = BTreeMap::new();
    for note in end.history.notes.iter().filter(|note| note.kind == SAID) {
        let one: Said = serde_json::from_value(note.value.clone()).expect("it was noted here");
        let under = said.entry(one.entry).or_default();
        if !under.contains(&one) {
            under.push(one);
        }
    }
    said
}

/// Entries that people found to be one, the one that went first, and states that were resolved.
fn read(end: &End<'_>) -> (Vec<(EntryId, EntryId)>, BTreeSet<EntryId>) {
    let (mut one, mut resolved) = (Vec::new(), BTreeSet::new());
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).expect("the audit has read it");
        match event.decode_body().expect("the audit has read it") {
            Some(Body::EntriesRetired {
                entries,
                why: Retirement::Duplicate { of },
            }) => one.extend(entries.into_iter().map(|entry| (entry, of))),
            Some(Body::StateResolved { entry, .. }) => drop(resolved.insert(entry)),
            _ => {}
        }
    }
    (one, resolved)
}

/// Two things that contradict one another and stand under one entry, or under two that were found to be one.
fn united(said: &BTreeMap<EntryId, Vec<Said>>, one: &[(EntryId, EntryId)]) -> Option<(Said, Said)> {
    let under = |entry: &EntryId| said.get(entry).map_or(&[][..], Vec::as_slice);
    let itself = said.keys().map(|entry| (*entry, *entry));
    let mut pairs = itself.chain(one.iter().copied()).flat_map(|(a, b)| {
        let (a, b) = (under(&a), under(&b));
        a.iter().flat_map(move |a| b.iter().map(move |b| (*a, *b)))
    });
    pairs.find(|(a, b)| a.contradicts(b))
}

/// A state that was resolved is not live: what holds once more is written anew.
fn resolved_hold_no_more(end: &End<'_>, resolved: &BTreeSet<EntryId>) -> Result<(), Violation> {
    let wrong = |what: String| {
        let invariant = "what was resolved holds no more";
        Err(Violation::new(invariant, what))
    };
    let notes = end.history.notes.iter();
    for note in notes.filter(|note| note.kind == RESOLVED) {
        let entry: EntryId = serde_json::from_value(note.value.clone()).expect("it was noted here");
        if !resolved.contains(&entry) {
            return wrong(format!("no event says that state {entry} was resolved"));
        }
    }
    for (key, value) in end.rows(Family::Head) {
        let head = keys::head::decode(&key, &value).expect("the audit has read it");
        if resolved.contains(&head.id) && head.status.is_live() {
            return wrong(format!("state {} is {}", head.id, head.status));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u8) -> EntryId {
        EntryId::from_bytes([number; 16])
    }

    #[test]
    fn two_values_of_a_key_or_a_word_and_its_denial_under_one_entry_are_found() {
        let under = |number: u8, claim, stated| Said {
            entry: entry(number),
            claim,
            stated,
        };
        let found = |said: &[Said], one: &[(EntryId, EntryId)]| {
            let mut under: BTreeMap<EntryId, Vec<Said>> = BTreeMap::new();
            for said in said {
                under.entry(said.entry).or_default().push(*said);
            }
            united(&under, one).is_some()
        };
        let (ten, twenty) = (Some((0, 0)), Some((0, 1)));
        assert!(found(&[under(1, ten, None), under(1, twenty, None)], &[]));
        assert!(!found(
            &[under(1, ten, None), under(1, Some((1, 1)), None)],
            &[]
        ));
        assert!(!found(&[under(1, ten, None), under(1, None, None)], &[]));
        let (yes, no) = (Some((0, false)), Some((0, true)));
        assert!(found(&[under(1, None, yes), under(1, None, no)], &[]));
        assert!(!found(
            &[under(1, None, yes), under(1, None, Some((1, true)))],
            &[]
        ));
        let apart = [under(1, ten, None), under(2, twenty, None)];
        assert!(!found(&apart, &[]));
        assert!(found(&apart, &[(entry(1), entry(2))]));
    }
}
