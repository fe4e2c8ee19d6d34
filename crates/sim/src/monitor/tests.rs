//! Tests of what the monitor lets pass and what it does not.

use bytes::Bytes;
use sillok_core::chain::{Origin, Tip, seal};
use sillok_core::event::Body;
use sillok_core::id::{CommandId, Epoch, Incarnation, VerificationId};
use sillok_core::membership::WireVersion;
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_store::keys::{self, ScopeKey};

use super::*;
use crate::ports::BEGINNING_MS;

/// A monitor of two nodes, and the number of the next commit.
struct Watched {
    monitor: Monitor,
    commits: u64,
}

fn slot() -> Slot {
    Slot::of(&scope())
}

fn scope() -> Scope {
    Scope::parse("org/a").unwrap()
}

fn set(writes: &mut Writes, key: Vec<u8>, value: Vec<u8>) {
    writes.set(&Bytes::from(key), &Bytes::from(value));
}

fn owned_by(node: &str, run: u64, epoch: u64) -> Writes {
    let row = OwnerRow {
        node: node.into(),
        incarnation: Incarnation(run),
        epoch: Epoch(epoch),
    };
    let mut writes = Writes::default();
    let (key, value) = (keys::owner::key(slot()), keys::owner::encode(&row));
    set(&mut writes, key, value);
    writes
}

fn node(name: &str, run: u64, beat: u64, fenced: bool) -> Writes {
    let row = NodeRow {
        incarnation: Incarnation(run),
        beat,
        fenced,
        reaches_bus: true,
        is_behind: false,
        reads: WireVersion::FIRST,
    };
    let mut writes = Writes::default();
    let (key, value) = (keys::node::key(name), keys::node::encode(&row));
    set(&mut writes, key, value);
    writes
}

/// One event, decided under an epoch at a time of the wall clock.
fn event(epoch: u64, after_ms: u64) -> Writes {
    let id = PrincipalId::parse("a").unwrap();
    let kind = PrincipalKind::Agent;
    let origin = Origin {
        actor: Actor { kind, id },
        command: CommandId::from_parts(Timestamp::EPOCH, [0; 10]),
        epoch: Epoch(epoch),
    };
    let mut tip = Tip::genesis(&scope());
    let now = Timestamp::from_ms(BEGINNING_MS + after_ms);
    let event = seal(&mut tip, &Body::TaskArchived, &origin, now, [0; 16]);
    let key = keys::event::key(&ScopeKey::of(&scope()), tip.seq);
    let mut writes = Writes::default();
    set(&mut writes, key, keys::event::encode(&event));
    writes.stamped(&keys::outbox::prefix(slot()), b"");
    writes
}

impl Watched {
    /// Both nodes run, and node a owns the slot.
    fn new() -> Self {
        let monitor = Monitor {
            names: vec!["a".into(), "b".into()],
            ..Monitor::default()
        };
        let mut watched = Self {
            monitor,
            commits: 0,
        };
        watched.commit(0, &node("a", 1, 0, false));
        watched.commit(1, &node("b", 1, 0, false));
        watched.commit(0, &owned_by("a", 1, 1));
        watched
    }

    fn moment(&self, place: u16) -> Moment {
        Moment {
            now_us: self.commits * 1_000_000,
            place: Place(place),
            clock: ClockFacts::default(),
        }
    }

    fn commit(&mut self, place: u16, writes: &Writes) {
        self.commits += 1;
        let stamp = Stamp {
            generation: 1,
            counter: self.commits,
            index: 0,
        };
        let moment = self.moment(place);
        self.monitor.committed(moment, writes, stamp);
    }

    fn saw(&self, effect: &str) -> u64 {
        self.monitor.effects.count(effect)
    }
}

#[test]
fn a_commit_under_the_owners_epoch_is_the_owners_and_one_of_another_node_is_not() {
    let mut watched = Watched::new();
    watched.commit(0, &event(1, 0));
    assert_eq!(watched.monitor.violation(), None);
    watched.commit(1, &event(1, 0));
    assert!(watched.monitor.violation().is_some());
}

#[test]
fn a_node_is_silent_since_its_last_beat_until_its_run_is_over() {
    let mut watched = Watched::new();
    let silent_us = |watched: &Watched, now_us| watched.monitor.silent_us(Place(0), now_us);
    assert_eq!(silent_us(&watched, 3_500_000), Some(2_500_000));
    watched.commit(0, &node("a", 1, 1, false));
    assert_eq!(silent_us(&watched, 4_500_000), Some(500_000));
    watched.commit(1, &node("a", 1, 1, true));
    assert_eq!(silent_us(&watched, 9_000_000), None);
    assert_eq!(watched.monitor.silent_us(Place(7), 9_000_000), None);
}

#[test]
fn what_an_earlier_run_of_the_owner_left_behind_is_not_the_owners() {
    let mut watched = Watched::new();
    watched.commit(0, &node("a", 2, 0, false));
    watched.commit(0, &owned_by("a", 2, 2));
    watched.commit(0, &event(2, 0));
    assert_eq!(watched.monitor.violation(), None);
    watched.commit(0, &event(1, 0));
    let violation = watched.monitor.violation().unwrap();
    assert_eq!(violation.invariant, Invariant::Fenced);
    assert!(violation.what.contains("under epochs [1]"), "{violation}");
    assert_eq!(watched.saw("run begun before the former one was fenced"), 1);
    let taken_back = "slot taken back by the next run of its owner";
    assert_eq!(watched.saw(taken_back), 1);
}

#[test]
fn a_mark_without_what_it_stands_for_is_seen() {
    let mut watched = Watched::new();
    let mut writes = Writes::default();
    let verification = VerificationId::from_bytes([1; 16]);
    let key = keys::mark::key(&ScopeKey::of(&scope()), verification);
    set(&mut writes, key, Vec::new());
    watched.commit(0, &writes);
    let violation = watched.monitor.violation().unwrap();
    assert_eq!(violation.invariant, Invariant::Marked);
}

#[test]
fn a_slot_that_is_handed_over_is_not_taken_over() {
    let mut watched = Watched::new();
    watched.commit(0, &owned_by("b", 1, 2));
    assert_eq!(watched.saw("slot handed over"), 1);
    assert_eq!(watched.monitor.takeovers(), 0);
    watched.commit(1, &node("b", 1, 0, true));
    watched.commit(0, &owned_by("a", 1, 3));
    assert_eq!(watched.saw("slot handed over"), 1);
    assert_eq!(watched.monitor.takeovers(), 1);
    assert_eq!(watched.monitor.violation(), None);
}

#[test]
fn a_refused_commit_was_fenced_only_if_its_slot_has_another_owner() {
    let mut watched = Watched::new();
    let moment = watched.moment(0);
    watched.monitor.sight_conflict(moment, &event(1, 0), false);
    assert_eq!(watched.saw("commit fenced"), 0);
    watched.commit(0, &owned_by("b", 1, 2));
    watched.monitor.sight_conflict(moment, &event(1, 0), true);
    assert_eq!(watched.saw("commit fenced"), 1);
    assert_eq!(watched.saw("slow commit met another writer"), 1);
    assert_eq!(watched.saw("conflict"), 2);
}

#[test]
fn an_event_that_is_dated_by_the_one_before_it_says_whose_clock_was_wrong() {
    let mut watched = Watched::new();
    let behind = "event dated by the one before it after a clock that was ahead";
    watched.commit(0, &event(1, 1_000));
    assert_eq!(watched.saw(behind), 0);
    watched.commit(0, &event(1, 9_000));
    assert_eq!(watched.saw(behind), 1);
    let mut moment = watched.moment(0);
    moment.clock.jumped_ms = -8_000;
    watched.monitor.sight_commit(moment, &event(1, 1_000));
    let after_jump = "event dated by the one before it after a clock jump";
    assert_eq!(watched.saw(after_jump), 1);
}
