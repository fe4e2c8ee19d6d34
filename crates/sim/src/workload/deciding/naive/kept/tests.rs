//! What is found in the plainest way, of anchors whose order and goals are known.

use sillok_core::decision::{NewDecision, Rank};
use sillok_core::id::Seq;

use super::super::super::view::tests::{
    anchor, anchor_id, commit, evidence, evidence_id, keeping, kept, root, text,
};
use super::super::super::view::{Commit, KeptSaid, Timeline};
use super::*;

const ORG: &str = "org/a";
const PROJECT: &str = "org/a/project/b";

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

fn decision(path: &str, number: u8) -> Node {
    Node::Decision {
        scope: scope(path),
        root: root(number),
    }
}

fn original(path: &str, number: u8) -> Node {
    Node::Evidence {
        scope: scope(path),
        id: evidence_id(number),
    }
}

/// A decision of the organisation, titled by its number.
fn begun(number: u8, rank: Rank) -> Commit {
    let text = NewDecision {
        title: format!("title {number}"),
        ..text(rank, "global", &number.to_string())
    };
    let at = u64::from(number);
    commit((ORG, number), Some(text), (at, 1), (at, at))
}

/// Evidence and anchors, each with an event of its own, from this one on.
fn all_kept(first: u64, said: Vec<(&str, KeptSaid)>) -> Commit {
    let events = (first..).zip(said);
    let events = events.map(|(seq, (at, said))| kept(at, seq, said));
    keeping(events.collect(), (first, first))
}

#[test]
fn domain_goes_before_width_width_before_age_and_what_was_dropped_or_lies_aside_is_not_told() {
    let to = || vec![original(ORG, 1)];
    let said = vec![
        (PROJECT, anchor(1, "ui", to())),
        (ORG, anchor(2, "ui", to())),
        (PROJECT, anchor(3, "global", to())),
        (PROJECT, anchor(4, "global", to())),
        (ORG, anchor(5, "global", to())),
        (ORG, anchor(6, "runtime", to())),
        ("org/a/project/c", anchor(7, "global", to())),
        (ORG, anchor(8, "global", to())),
        (ORG, KeptSaid::Dropped(anchor_id(8))),
        (ORG, evidence(1, "it was so")),
    ];
    let timeline = Timeline {
        commits: vec![all_kept(1, said)],
    };
    let view = timeline.last();
    let order = |place: &str, domain: &str| -> Vec<u8> {
        let told = view.anchored(&scope(place), &domain.parse().unwrap());
        told.iter().map(|one| one.anchor.id.as_bytes()[0]).collect()
    };
    assert_eq!(order(PROJECT, "ui"), [5, 3, 4, 2, 1]);
    assert_eq!(order(PROJECT, "global"), [5, 3, 4]);
    assert_eq!(order(ORG, "runtime"), [5, 6]);
    let first = &view.anchored(&scope(ORG), &Domain::global())[0];
    assert_eq!(first.anchor.seq, Seq::new(5));
    assert_eq!(first.leads[0].title, "evidence 1");
}

/// Four decisions of the organisation, of which the second is withdrawn, evidence, and an anchor to all of them and to two
/// that are not there.
fn pointed() -> Timeline {
    let to = vec![
        original(ORG, 1),
        decision(ORG, 1),
        decision(ORG, 9),
        decision(ORG, 2),
        decision(ORG, 3),
        original(PROJECT, 1),
        decision(ORG, 4),
    ];
    let said = vec![
        (ORG, evidence(1, "it was so")),
        (PROJECT, anchor(1, "ui", to)),
    ];
    Timeline {
        commits: vec![
            begun(1, Rank::Normal),
            begun(2, Rank::Axis),
            begun(3, Rank::Policy),
            begun(4, Rank::Axis),
            commit((ORG, 2), None, (5, 2), (5, 5)),
            all_kept(6, said),
        ],
    }
}

#[test]
fn an_anchor_leads_to_the_strongest_first_and_says_what_was_withdrawn_and_what_is_not_there() {
    let timeline = pointed();
    let view = timeline.last();
    let told = view.anchored(&scope(PROJECT), &"ui".parse().unwrap());
    let leads: Vec<(&Node, &str, Standing)> = told[0]
        .leads
        .iter()
        .map(|lead| (&lead.to, &*lead.title, lead.standing))
        .collect();
    let (holds, withdrawn, gone) = (Standing::Holds, Standing::Withdrawn, Standing::Gone);
    let expected = [
        (&decision(ORG, 3), "title 3", holds),
        (&decision(ORG, 2), "title 2", withdrawn),
        (&decision(ORG, 4), "title 4", holds),
        (&decision(ORG, 1), "title 1", holds),
        (&original(ORG, 1), "evidence 1", holds),
        (&decision(ORG, 9), "", gone),
        (&original(PROJECT, 1), "", gone),
    ];
    assert_eq!(leads, expected);
    let ranks: Vec<Option<Rank>> = told[0].leads.iter().map(|lead| lead.rank).collect();
    let (policy, axis, normal) = (Rank::Policy, Rank::Axis, Rank::Normal);
    let strong = [policy, axis, axis, normal].map(Some);
    assert_eq!(ranks[..4], strong);
    assert_eq!(ranks[4..], [None; 3]);
}

#[test]
fn an_anchor_is_followed_to_what_was_said_last_and_to_what_fits_a_row() {
    let timeline = pointed();
    let view = timeline.last();
    let (anchor, goals) = view.followed(&scope(PROJECT), anchor_id(1)).unwrap();
    assert_eq!((anchor.seq, anchor.to.len()), (Seq::new(7), 7));
    let withdrawn = Goal::Decision {
        scope: scope(ORG),
        root: root(2),
        number: 1,
        active: false,
        content: Some("2".into()),
    };
    assert_eq!(goals[1], withdrawn);
    let is_whole = |goal: &Goal| matches!(goal, Goal::Evidence { text: Some(text), .. } if text == "it was so");
    assert!(is_whole(&goals[4]), "{:?}", goals[4]);
    assert_eq!(goals[5], Goal::Gone(decision(ORG, 9)));
    assert_eq!(view.followed(&scope(ORG), anchor_id(1)), None);
}

#[test]
fn a_decision_says_last_what_it_said_before_it_was_withdrawn() {
    let timeline = pointed();
    let view = timeline.last();
    let at = scope(ORG);
    let last = |number: u8| {
        let said = view.chains[&(&at, root(number))].last_said();
        said.map(|(number, text, active)| (number, &*text.content, active))
    };
    assert_eq!(last(1), Some((1, "1", true)));
    assert_eq!(last(2), Some((1, "2", false)));
}
