//! What must hold of what people dispute.
//!
//! Owns that what contradicts is never one, by pairs: an entry declares a key with one value, nobody's word is merged with its
//! denial, and neither is with the other where people find two entries to be one. A chain of such answers is not followed: an
//! approved merge does not hand on what the newer entry declared (ADR 0025). A state that was resolved holds no more. What is read
//! for `asked` and `settled` is read here.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sillok_core::entry::{Claim, Head, LinkKind, Status};
use sillok_core::event::Body;
use sillok_core::id::{CommandId, EntryId, Seq};
use sillok_core::retention::Retirement;
use sillok_store::keys::{self, Family, ScopeKey};

use super::Disputing;
use super::asked::{Declared, unasked};
use super::offered::organisation;
use super::settled::{ANSWERED, Left, TAKEN_OVER};
use crate::violation::Violation;
use crate::workload::sight::Sight;
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
        let (said, heads) = (said(end), heads(end));
        let mut events = Events::read(end);
        if let Some((a, b)) = united(&said, &events.one) {
            let what = format!("{a:?} and {b:?} contradict one another, and are one");
            return Err(Violation::new("what contradicts is never one", what));
        }
        let resolved: Vec<EntryId> = noted(end, RESOLVED).collect();
        let status = |entry: &EntryId| heads.get(entry).map(|head| head.status);
        if let Some(what) = holds_though_resolved(&resolved, &events.resolved, status) {
            return Err(Violation::new("what was resolved holds no more", what));
        }
        for declared in events.declared(end, &heads) {
            if let Some((known, new)) = unasked(declared, &events.linked) {
                let what = format!(
                    "entry {new} declares otherwise what {known} declares, and is linked to nothing"
                );
                return Err(Violation::new("what contradicts is asked about", what));
            }
        }
        let left = Left {
            heads: &heads,
            back: &events.back,
        };
        let wrong = noted(end, ANSWERED).find_map(|answer| left.wrong(&answer));
        let wrong = wrong.or_else(|| {
            let mut offers = noted(end, TAKEN_OVER);
            offers.find_map(|offer| left.wrong_offer(&organisation(), &offer))
        });
        wrong.map_or(Ok(()), |what| {
            Err(Violation::new("what is answered has its effect", what))
        })
    }
}

/// The notes of a kind.
fn noted<T: DeserializeOwned>(end: &End<'_>, kind: &'static str) -> impl Iterator<Item = T> {
    let notes = end.history.notes.iter();
    let notes = notes.filter(move |note| note.kind == kind);
    notes.map(|note| serde_json::from_value(note.value.clone()).expect("it was noted here"))
}

/// What was said under each entry.
fn said(end: &End<'_>) -> BTreeMap<EntryId, Vec<Said>> {
    let mut said: BTreeMap<EntryId, Vec<Said>> = BTreeMap::new();
    for one in noted::<Said>(end, SAID) {
        let under = said.entry(one.entry).or_default();
        if !under.contains(&one) {
            under.push(one);
        }
    }
    said
}

fn heads(end: &End<'_>) -> BTreeMap<EntryId, Head> {
    let rows = end.rows(Family::Head).into_iter();
    let heads =
        rows.map(|(key, value)| keys::head::decode(&key, &value).expect("the audit has read it"));
    heads.map(|head| (head.id, head)).collect()
}

/// A claim of an entry, and what wrote it: the command and the event.
struct Claimed {
    entry: EntryId,
    claim: Claim,
    by: (CommandId, Seq),
}

/// What the events tell.
#[derive(Default)]
struct Events {
    /// Entries that people found to be one, the one that went first.
    one: Vec<(EntryId, EntryId)>,
    /// States that were resolved.
    resolved: BTreeSet<EntryId>,
    /// Entries that came back, and the last event that says so.
    back: BTreeMap<EntryId, Seq>,
    /// Entries that were linked to what contradicts them.
    linked: BTreeSet<EntryId>,
    /// What was declared, by scope.
    claimed: BTreeMap<ScopeKey, Vec<Claimed>>,
}

impl Events {
    fn read(end: &End<'_>) -> Self {
        let mut read = Self::default();
        for (key, value) in end.rows(Family::Event) {
            let event = keys::event::decode(&key, &value).expect("the audit has read it");
            let Some(body) = event.decode_body().expect("the audit has read it") else {
                continue;
            };
            let at = keys::event::parse(&key).expect("the audit has read it");
            let claimed = match body {
                Body::EntryCreated(made) => Some((made.id, made.text.claim)),
                Body::EntryAmended(amended) => Some((amended.id, amended.text.claim)),
                body => {
                    read.add(body, at.seq);
                    None
                }
            };
            if let Some((entry, Some(claim))) = claimed {
                let header = event.decode_header().expect("the audit has read it");
                let by = (header.command, header.seq);
                let of_scope = read.claimed.entry(at.scope).or_default();
                of_scope.push(Claimed { entry, claim, by });
            }
        }
        read
    }

    fn add(&mut self, body: Body, seq: Seq) {
        match body {
            Body::EntriesRetired {
                entries,
                why: Retirement::Duplicate { of },
            } => {
                let pairs = entries.into_iter().map(|entry| (entry, of));
                self.one.extend(pairs);
            }
            Body::StateResolved { entry, .. } => drop(self.resolved.insert(entry)),
            Body::EntryRestored(restored) => drop(self.back.insert(restored.entry, seq)),
            Body::SupersessionUndone { old, .. } => drop(self.back.insert(old, seq)),
            Body::Linked { entry, link } if link.kind == LinkKind::Contradicts => {
                self.linked.insert(entry);
            }
            _ => {}
        }
    }

    /// What was declared, of each scope.
    fn declared(&mut self, end: &End<'_>, heads: &BTreeMap<EntryId, Head>) -> Vec<Vec<Declared>> {
        let sight = Sight::read(end);
        let of_entry = |claimed: Claimed| {
            let head = &heads[&claimed.entry];
            let is_as_written = head.version == 1 && !self.back.contains_key(&head.id);
            Declared {
                entry: head.id,
                claim: claimed.claim,
                failure: head.failure,
                seq: claimed.by.1,
                written: sight.of(&head.scope, head.id, claimed.by),
                is_there: is_as_written && head.status.is_live(),
            }
        };
        let scopes = std::mem::take(&mut self.claimed).into_values();
        scopes
            .map(|claimed| claimed.into_iter().map(of_entry).collect())
            .collect()
    }
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

/// What is wrong about states that were resolved, as whoever resolved them was told and as the events say, if anything:
/// none of them is live, since what holds once more is written anew.
fn holds_though_resolved(
    told: &[EntryId],
    resolved: &BTreeSet<EntryId>,
    status: impl Fn(&EntryId) -> Option<Status>,
) -> Option<String> {
    if let Some(entry) = told.iter().find(|entry| !resolved.contains(*entry)) {
        return Some(format!("no event says that state {entry} was resolved"));
    }
    resolved.iter().find_map(|entry| {
        let status = status(entry).filter(|status| status.is_live())?;
        Some(format!("state {entry} is {status}"))
    })
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

    #[test]
    fn a_state_that_was_resolved_is_live_no_more() {
        let resolved: BTreeSet<EntryId> = [entry(1)].into();
        let wrong = |told: &[EntryId], status: Option<Status>| {
            holds_though_resolved(told, &resolved, |_| status).is_some()
        };
        assert!(!wrong(&[entry(1)], Some(Status::Deprecated)));
        assert!(!wrong(&[], Some(Status::Archived)));
        assert!(wrong(&[entry(1)], Some(Status::Hypothesis)));
        assert!(wrong(&[], Some(Status::Verified)));
        // Somebody was told so, and no event says it.
        assert!(wrong(&[entry(2)], Some(Status::Deprecated)));
    }
}
