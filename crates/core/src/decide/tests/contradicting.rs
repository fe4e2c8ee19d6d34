//! Contradictions between entries that never met, and which are said once more: who is asked, and how often.

use super::super::decide;
use super::world::{World, amend, entry};
use crate::command::{AnswerBody, Command};
use crate::config::RulesConfig;
use crate::entry::{Claim, Link, LinkKind, Table};
use crate::event::Body;
use crate::id::EntryId;
use crate::limits::LINKS_MAX;
use crate::membership::WireVersion;
use crate::principal::PrincipalKind;
use crate::promotion::{Disposition, NewEntry};
use crate::review::Question;

const LONG: &str = "The HTTP client waits thirty seconds";
const EARLY: &str = "Requests are aborted early by default";
const MERGED: Disposition = Disposition::Merged { cosine: 1.0 };

fn claim(value: &str) -> Option<Claim> {
    Some(Claim {
        key: "http.timeout".into(),
        value: value.into(),
    })
}

fn claims(content: &str, value: &str) -> NewEntry {
    NewEntry {
        claim: claim(value),
        ..entry(Table::Observations, content)
    }
}

/// Says something, and what it leads to: the entry, what became of it, and which questions are raised.
fn say(world: &mut World, entry: NewEntry) -> (EntryId, Disposition, Vec<Question>) {
    let put = Command::PutEntry {
        entry: Box::new(entry),
        verification: None,
    };
    let submission = world.submission(PrincipalKind::Agent, put);
    let facts = world.facts(&submission);
    let config = RulesConfig::default();
    let decided = decide(&world.state, &submission, &facts, &config, world.now).unwrap();
    world.carry_out(&submission).unwrap();
    let (id, disposition) = match decided.result {
        AnswerBody::Entry {
            id, disposition, ..
        } => (id, disposition),
        other => panic!("{other:?}"),
    };
    let raised = decided.bodies.into_iter().filter_map(|body| match body {
        Body::ReviewRaised { question, .. } => Some(*question),
        _ => None,
    });
    (id, disposition, raised.collect())
}

/// Two entries that lie far apart and contradict one another, about whom nobody was asked: the second one got its claim
/// when it was amended.
fn never_met(world: &mut World) -> (EntryId, EntryId) {
    let (ours, _, _) = say(world, claims(LONG, "30s"));
    let (theirs, _, _) = say(world, entry(Table::Observations, EARLY));
    let Command::AmendEntry(mut amended) = amend(theirs, 1, EARLY) else {
        panic!("it amends")
    };
    amended.claim = claim("10s");
    world
        .give(PrincipalKind::Agent, Command::AmendEntry(amended))
        .unwrap();
    (ours, theirs)
}

#[test]
fn who_says_once_more_what_contradicts_another_has_a_person_asked_once() {
    let mut world = World::task();
    let (ours, theirs) = never_met(&mut world);
    assert!(world.state.head(ours).unwrap().links.is_empty());
    let (id, disposition, raised) = say(&mut world, claims(LONG, "30s"));
    assert_eq!(
        (id, disposition),
        (ours, MERGED),
        "it is merged all the same"
    );
    let [Question::Contradiction { new, known, .. }] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    assert_eq!((*new, *known), (ours, theirs));
    let links = &world.state.head(ours).unwrap().links;
    assert_eq!(links.len(), 1);
    assert_eq!(
        (links[0].kind, links[0].to),
        (LinkKind::Contradicts, theirs)
    );
    // Whichever of the two is said from now on.
    for again in [claims(LONG, "30s"), claims(EARLY, "10s")] {
        let (_, disposition, raised) = say(&mut world, again);
        assert_eq!(disposition, MERGED);
        assert!(raised.is_empty(), "{raised:?}");
    }
    assert_eq!(world.state.head(ours).unwrap().links.len(), 1);
    assert!(world.state.head(theirs).unwrap().links.is_empty());
}

#[test]
fn what_is_said_once_more_beside_a_node_that_reads_no_questions_is_asked_about_the_next_time() {
    let mut world = World::task();
    let (ours, theirs) = never_met(&mut world);
    world.spoken = WireVersion::FIRST;
    let (_, disposition, raised) = say(&mut world, claims(LONG, "30s"));
    assert_eq!(disposition, MERGED);
    assert!(raised.is_empty(), "{raised:?}");
    assert!(world.state.head(ours).unwrap().links.is_empty());
    world.spoken = WireVersion::NEWEST;
    let (_, _, raised) = say(&mut world, claims(LONG, "30s"));
    let [Question::Contradiction { new, known, .. }] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    assert_eq!((*new, *known), (ours, theirs));
}

#[test]
fn of_two_that_contradict_an_entry_the_other_one_is_asked_about_when_it_is_said_again() {
    let mut world = World::task();
    let (first, _, _) = say(&mut world, claims(EARLY, "10s"));
    let (second, _, _) = say(&mut world, claims("Nobody waits longer", "20s"));
    let (ours, disposition, _) = say(&mut world, claims(LONG, "30s"));
    let Disposition::Contradicts { other } = disposition else {
        panic!("{disposition:?}")
    };
    let left = if other == first { second } else { first };
    let (_, disposition, raised) = say(&mut world, claims(LONG, "30s"));
    assert_eq!(disposition, MERGED);
    let [Question::Contradiction { new, known, .. }] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    assert_eq!((*new, *known), (ours, left));
    let (_, _, raised) = say(&mut world, claims(LONG, "30s"));
    assert!(raised.is_empty(), "{raised:?}");
}

#[test]
fn two_that_were_like_one_another_are_asked_about_once_they_contradict() {
    let mut world = World::task();
    let (ours, theirs) = never_met(&mut world);
    link(&mut world, theirs, LinkKind::Similar, ours);
    let (_, _, raised) = say(&mut world, claims(LONG, "30s"));
    assert!(
        matches!(raised.as_slice(), [Question::Contradiction { .. }]),
        "{raised:?}"
    );
}

#[test]
fn an_entry_that_keeps_no_more_links_is_asked_about_no_more() {
    let mut world = World::task();
    let (ours, _) = never_met(&mut world);
    for number in 0..LINKS_MAX {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&(number as u64).to_be_bytes());
        link(
            &mut world,
            ours,
            LinkKind::Similar,
            EntryId::from_bytes(bytes),
        );
    }
    for _ in 0..2 {
        let (_, disposition, raised) = say(&mut world, claims(LONG, "30s"));
        assert_eq!(disposition, MERGED);
        assert!(raised.is_empty(), "nothing would tell that they were");
    }
}

/// Links two entries as an earlier command did.
fn link(world: &mut World, entry: EntryId, kind: LinkKind, to: EntryId) {
    let by = world.submission(PrincipalKind::Agent, super::world::open("linking"));
    let link = Link {
        kind,
        to,
        weight: 0.9,
    };
    world.apply(&by, &Body::Linked { entry, link });
}

#[test]
fn states_are_held_against_what_they_declare_alone_whether_or_not_the_index_knows_them() {
    for index_lags in [false, true] {
        let mut world = World::task();
        world.index_lags = index_lags;
        let state = |content: &str| entry(Table::Gotchas, content);
        let (first, _, _) = say(&mut world, state("The cache is warm."));
        for content in ["The cache is not warm.", "The cache is warm."] {
            let (id, disposition, raised) = say(&mut world, state(content));
            assert_ne!(id, first, "states are many of a kind");
            assert_eq!(disposition, Disposition::Created, "{index_lags}");
            assert!(raised.is_empty(), "{raised:?}");
            assert!(world.state.head(id).unwrap().links.is_empty());
        }
        let declares = |content: &str, value: &str| NewEntry {
            claim: claim(value),
            ..state(content)
        };
        let (known, _, _) = say(&mut world, declares(LONG, "30s"));
        let (_, disposition, _) = say(&mut world, declares(EARLY, "10s"));
        assert_eq!(disposition, Disposition::Contradicts { other: known });
    }
}
