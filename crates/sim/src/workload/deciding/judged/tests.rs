//! Each answer is right as it should be, and wrong once anything of it is spoilt.

use sillok_core::anchor::{Lead, Standing};
use sillok_core::decision::{Edge, NewDecision, Rank, Relation, RelationKind};
use sillok_core::id::Seq;

use super::super::asked::tests::asker;
use super::super::asked::{Limits, Pointer, Reached};
use super::super::view::tests::{
    anchor, anchor_id, commit, evidence, evidence_id, keeping, kept, related, root, text,
};
use super::super::view::{Commit, KeptSaid};
use super::*;

mod refused;

pub(super) const ORG: &str = "org/a";
pub(super) const PROJECT: &str = "org/a/project/b";

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

pub(super) fn node(path: &str, number: u8) -> Node {
    Node::Decision {
        scope: scope(path),
        root: root(number),
    }
}

fn file() -> Node {
    Node::file("src/a.rs").unwrap()
}

pub(super) fn depends_on(to: Node) -> Relation {
    Relation {
        kind: RelationKind::DependsOn,
        to,
    }
}

fn applies_to(to: Node) -> Relation {
    Relation {
        kind: RelationKind::AppliesTo,
        to,
    }
}

/// Five decisions. The second is rested on by the third, which applies to a file, and that by the fifth.
pub(super) fn timeline() -> Timeline {
    let third = vec![depends_on(node(ORG, 2)), applies_to(file())];
    let said: Vec<((&str, u8), NewDecision)> = vec![
        ((ORG, 1), text(Rank::Policy, "global", "1")),
        ((ORG, 2), text(Rank::Axis, "global", "2")),
        (
            (PROJECT, 3),
            related(text(Rank::Lock, "global", "3"), third),
        ),
        ((PROJECT, 4), text(Rank::Lock, "ui", "4")),
        (
            (PROJECT, 5),
            related(
                text(Rank::Normal, "ui", "5"),
                vec![depends_on(node(PROJECT, 3))],
            ),
        ),
    ];
    let commits = (1..).zip(said);
    let commits: Vec<Commit> = commits
        .map(|(seq, (at, text))| commit(at, Some(text), (seq, 1), (seq, seq)))
        .collect();
    Timeline { commits }
}

fn holding(path: &str, number: u8, layer: Layer, rank: Rank) -> Line {
    Line::Decision(Holding {
        layer,
        scope: scope(path),
        root: root(number),
        number: 1,
        rank,
        content: Some(number.to_string()),
    })
}

/// What a change of the second decision reaches.
pub(super) fn behind_the_second() -> Vec<Reached> {
    let third = depends_on(node(ORG, 2)).edge_from(node(PROJECT, 3));
    let fifth = depends_on(node(PROJECT, 3)).edge_from(node(PROJECT, 5));
    let to_file = applies_to(file()).edge_from(node(PROJECT, 3));
    let by = |node: Node, rank: Option<Rank>, path: Vec<Edge>| Reached {
        node,
        depth: u32::try_from(path.len()).unwrap(),
        rank,
        path,
    };
    vec![
        by(node(PROJECT, 3), Some(Rank::Lock), vec![third.clone()]),
        by(
            node(PROJECT, 5),
            Some(Rank::Normal),
            vec![third.clone(), fifth],
        ),
        by(file(), None, vec![third, to_file]),
    ]
}

/// The brief of the project for `ui`, with the second decision at hand.
fn lines() -> Vec<Line> {
    let mut lines = vec![holding(ORG, 1, Layer::Policy, Rank::Policy)];
    lines.extend(behind_the_second().into_iter().map(Line::Structural));
    lines.extend(behind_the_references());
    lines
}

/// What a brief of the project for `ui` tells of behind the references.
fn behind_the_references() -> [Line; 4] {
    [
        holding(ORG, 2, Layer::GlobalAxis, Rank::Axis),
        holding(PROJECT, 3, Layer::Lock, Rank::Lock),
        holding(PROJECT, 4, Layer::Lock, Rank::Lock),
        holding(PROJECT, 5, Layer::Normal, Rank::Normal),
    ]
}

fn cut(layer: Layer, items: u64) -> Cut {
    Cut {
        layer,
        items,
        more: false,
    }
}

fn of_brief(
    timeline: &Timeline,
    items_max: usize,
    lines: Vec<Line>,
    cut: Vec<Cut>,
) -> Option<String> {
    of_brief_at(timeline, &[node(ORG, 2)], items_max, (lines, cut))
}

fn of_brief_at(
    timeline: &Timeline,
    at: &[Node],
    items_max: usize,
    (lines, cut): (Vec<Line>, Vec<Cut>),
) -> Option<String> {
    let asked = Asked::Brief {
        by: asker(PROJECT, ORG),
        domain: "ui".parse().unwrap(),
        at: at.to_vec(),
        items_max,
    };
    let told = Told::Brief {
        lines,
        cut,
        unfound: 0,
    };
    wrong(&timeline.last(), &asked, &told)
}

fn structural(line: &mut Line) -> &mut Reached {
    match line {
        Line::Structural(one) => one,
        line => panic!("{line:?}"),
    }
}

fn decision(line: &mut Line) -> &mut Holding {
    match line {
        Line::Decision(one) => one,
        line => panic!("{line:?}"),
    }
}

#[test]
fn a_brief_in_another_order_or_of_another_moment_is_found() {
    let is_wrong = |spoil: fn(&mut Vec<Line>)| {
        let mut lines = lines();
        spoil(&mut lines);
        of_brief(&timeline(), 100, lines, Vec::new()).is_some()
    };
    assert!(!is_wrong(|_| ()));
    // An item that is missing, one that is told of twice, and two in the wrong order.
    assert!(is_wrong(|lines| drop(lines.pop())));
    assert!(is_wrong(|lines| lines[7] = lines[6].clone()));
    assert!(is_wrong(|lines| lines.swap(4, 5)));
    assert!(is_wrong(|lines| lines.swap(5, 6)));
    assert!(is_wrong(|lines| lines.swap(0, 1)));
    // Another version, what it did not say, and a strength or layer that it has not.
    assert!(is_wrong(|lines| decision(&mut lines[5]).number = 2));
    assert!(is_wrong(|lines| decision(&mut lines[5]).content = None));
    assert!(is_wrong(|lines| decision(&mut lines[5]).rank = Rank::Normal));
    assert!(is_wrong(
        |lines| decision(&mut lines[5]).layer = Layer::Normal
    ));
    // A reference of another rank, and one by a way that nobody declared.
    assert!(is_wrong(|lines| structural(&mut lines[1]).rank = None));
    assert!(is_wrong(|lines| drop(
        structural(&mut lines[2]).path.remove(0)
    )));
    // A reference that is missing, and one that stands elsewhere.
    assert!(is_wrong(|lines| drop(lines.remove(2))));
    assert!(is_wrong(|lines| lines.swap(3, 4)));
}

#[test]
fn a_brief_with_what_was_withdrawn_or_without_its_relations_is_found() {
    let of_four_withdrawn = || {
        let mut timeline = timeline();
        let withdrawn = commit((PROJECT, 4), None, (6, 2), (6, 6));
        timeline.commits.push(withdrawn);
        timeline
    };
    assert!(of_brief(&of_four_withdrawn(), 100, lines(), Vec::new()).is_some());
    let mut without = lines();
    without.remove(6);
    assert_eq!(
        of_brief(&of_four_withdrawn(), 100, without, Vec::new()),
        None
    );
    // The third decision says something else, and is related to nothing any more.
    let mut changed = timeline();
    let said = Some(text(Rank::Lock, "global", "3 anew"));
    changed
        .commits
        .push(commit((PROJECT, 3), said, (6, 2), (6, 6)));
    let mut half = lines();
    decision(&mut half[5]).number = 2;
    decision(&mut half[5]).content = Some("3 anew".into());
    assert!(of_brief(&changed, 100, half.clone(), Vec::new()).is_some());
    half.drain(1..4);
    assert_eq!(of_brief(&changed, 100, half, Vec::new()), None);
}

#[test]
fn a_brief_and_an_impact_that_tell_of_what_the_token_does_not_cover_are_found() {
    const WORKTREE: &str = "org/a/project/b/worktree/c";
    let mut timeline = timeline();
    let sixth = related(
        text(Rank::Lock, "ui", "6"),
        vec![depends_on(node(PROJECT, 4))],
    );
    let begun = commit((WORKTREE, 6), Some(sixth), (6, 1), (6, 6));
    timeline.commits.push(begun);
    let edge = depends_on(node(PROJECT, 4)).edge_from(node(WORKTREE, 6));
    let sixth = Reached {
        node: node(WORKTREE, 6),
        depth: 1,
        rank: Some(Rank::Lock),
        path: vec![edge],
    };
    let view = timeline.last();
    // Whether it is wrong that a token of a scope is told, or not told, of what lies in the worktree.
    let impact_is_wrong = |prefix: &str, told: &[Reached]| {
        let asked = Asked::Impact {
            by: asker(PROJECT, prefix),
            start: vec![node(PROJECT, 4)],
            limits: Limits::default(),
        };
        let told = Told::Impact {
            reached: told.to_vec(),
            is_cut: false,
        };
        wrong(&view, &asked, &told).is_some()
    };
    let brief_is_wrong = |prefix: &str, told: &[Reached]| {
        let mut lines = vec![holding(ORG, 1, Layer::Policy, Rank::Policy)];
        lines.extend(told.iter().cloned().map(Line::Structural));
        lines.extend(behind_the_references());
        let asked = Asked::Brief {
            by: asker(PROJECT, prefix),
            domain: "ui".parse().unwrap(),
            at: vec![node(PROJECT, 4)],
            items_max: 100,
        };
        let told = Told::Brief {
            lines,
            cut: Vec::new(),
            unfound: 0,
        };
        wrong(&view, &asked, &told).is_some()
    };
    let seen = std::slice::from_ref(&sixth);
    for (prefix, is_covered) in [
        (ORG, true),
        (PROJECT, true),
        (WORKTREE, true),
        ("org/a/project/b/worktree/d", false),
        ("org/a/project/b/worktree/c/task/e", false),
    ] {
        assert_eq!(impact_is_wrong(prefix, seen), !is_covered, "{prefix}");
        assert_eq!(impact_is_wrong(prefix, &[]), is_covered, "{prefix}");
        assert_eq!(brief_is_wrong(prefix, seen), !is_covered, "{prefix}");
        assert_eq!(brief_is_wrong(prefix, &[]), is_covered, "{prefix}");
    }
}

/// The same timeline with three anchors: one for everything, one for `ui`, which leads to evidence and to the first two
/// decisions, and one that lies aside.
fn anchored() -> Timeline {
    let to = vec![
        Node::Evidence {
            scope: scope(ORG),
            id: evidence_id(1),
        },
        node(ORG, 2),
        node(ORG, 1),
    ];
    let mut timeline = timeline();
    let all = vec![
        kept(ORG, 6, evidence(1, "it was so")),
        kept(PROJECT, 7, anchor(1, "ui", to)),
        kept(PROJECT, 8, anchor(2, "global", vec![node(ORG, 2)])),
        kept("org/a/project/c", 9, anchor(3, "global", Vec::new())),
    ];
    timeline.commits.push(keeping(all, (6, 6)));
    timeline
}

/// The brief with its anchors.
fn anchored_lines() -> Vec<Line> {
    let lead = |to: Node, title: &str, rank: Option<Rank>| Lead {
        to,
        title: title.into(),
        rank,
        standing: Standing::Holds,
    };
    let pointer = |number: u8, seq: u64, domain: &str, to: Vec<Node>| Pointer {
        scope: scope(PROJECT),
        id: anchor_id(number),
        seq: Seq::new(seq),
        hint: format!("hint {number}"),
        domain: domain.parse().unwrap(),
        to,
        dropped: false,
    };
    let first = lead(node(ORG, 1), "a title", Some(Rank::Policy));
    let second = lead(node(ORG, 2), "a title", Some(Rank::Axis));
    let original = Node::Evidence {
        scope: scope(ORG),
        id: evidence_id(1),
    };
    let third = lead(original.clone(), "evidence 1", None);
    let to = vec![original, node(ORG, 2), node(ORG, 1)];
    let mut lines = lines();
    lines.push(Line::Anchor(
        pointer(2, 8, "global", vec![node(ORG, 2)]),
        vec![second.clone()],
    ));
    lines.push(Line::Anchor(
        pointer(1, 7, "ui", to),
        vec![first, second, third],
    ));
    lines
}

fn anchor_of(line: &mut Line) -> (&mut Pointer, &mut Vec<Lead>) {
    match line {
        Line::Anchor(anchor, leads) => (anchor, leads),
        line => panic!("{line:?}"),
    }
}

#[test]
fn a_brief_with_its_anchors_before_decisions_or_otherwise_than_they_stand_is_found() {
    let is_wrong = |spoil: fn(&mut Vec<Line>)| {
        let mut lines = anchored_lines();
        spoil(&mut lines);
        of_brief(&anchored(), 100, lines, Vec::new()).is_some()
    };
    assert!(!is_wrong(|_| ()));
    // One that is missing, one that is told of twice, and two in the wrong order.
    assert!(is_wrong(|lines| drop(lines.pop())));
    assert!(is_wrong(|lines| lines[9] = lines[8].clone()));
    assert!(is_wrong(|lines| lines.swap(8, 9)));
    // Before what is normal, and before what is reached.
    assert!(is_wrong(|lines| lines[7..].rotate_right(1)));
    assert!(is_wrong(|lines| lines[1..].rotate_right(2)));
    // Other words, another place, and one that was dropped.
    assert!(is_wrong(|lines| anchor_of(&mut lines[8]).0.hint.clear()));
    assert!(is_wrong(
        |lines| anchor_of(&mut lines[8]).0.seq = Seq::new(7)
    ));
    assert!(is_wrong(|lines| anchor_of(&mut lines[8]).0.dropped = true));
    // What it leads to in another order, without one, and as it does not stand.
    assert!(is_wrong(|lines| anchor_of(&mut lines[9]).1.swap(0, 1)));
    assert!(is_wrong(|lines| anchor_of(&mut lines[9]).1.swap(1, 2)));
    assert!(is_wrong(|lines| drop(anchor_of(&mut lines[9]).1.pop())));
    assert!(is_wrong(|lines| {
        anchor_of(&mut lines[9]).1[1].standing = Standing::Withdrawn;
    }));
    assert!(is_wrong(|lines| anchor_of(&mut lines[9]).1[1].rank = None));
}

#[test]
fn a_brief_with_what_was_dropped_or_without_word_of_what_was_withdrawn_is_found() {
    let mut dropped = anchored();
    let end = kept(PROJECT, 10, KeptSaid::Dropped(anchor_id(1)));
    dropped.commits.push(keeping(vec![end], (7, 7)));
    let whole = anchored_lines();
    assert!(of_brief(&dropped, 100, whole.clone(), Vec::new()).is_some());
    let without = whole[..9].to_vec();
    assert_eq!(of_brief(&dropped, 100, without, Vec::new()), None);
    // The second decision is withdrawn: it is loaded no more, nobody asks what it reaches, and both anchors say so.
    let mut withdrawn = anchored();
    let end = commit((ORG, 2), None, (10, 2), (7, 7));
    withdrawn.commits.push(end);
    let told = |lines: &[Line]| of_brief_at(&withdrawn, &[], 100, (lines.to_vec(), Vec::new()));
    let mut lines = whole;
    lines.drain(1..=4);
    assert!(told(&lines).is_some());
    let count = lines.len();
    anchor_of(&mut lines[count - 2]).1[0].standing = Standing::Withdrawn;
    assert!(told(&lines).is_some());
    anchor_of(&mut lines[count - 1]).1[1].standing = Standing::Withdrawn;
    assert_eq!(told(&lines), None);
}

#[test]
fn a_brief_is_cut_from_its_anchors_on_and_says_so() {
    let left_out = |anchors| vec![cut(Layer::Structural, 2), cut(Layer::Anchor, anchors)];
    let with_one_reference = || {
        let mut lines = anchored_lines();
        lines.drain(2..4);
        lines
    };
    // Of seven items, one is a policy, and a quarter of the others is one reference.
    let of_seven = |cut: Vec<Cut>| {
        let mut lines = with_one_reference();
        lines.truncate(7);
        of_brief(&anchored(), 7, lines, cut)
    };
    assert_eq!(of_seven(left_out(1)), None);
    assert!(of_seven(left_out(2)).is_some());
    assert!(of_seven(left_out(1)[1..].to_vec()).is_some());
    assert!(of_seven(left_out(1)[..1].to_vec()).is_some());
    assert!(of_seven(Vec::new()).is_some());
    // An anchor in the place of a decision that there was room for.
    let mut lines = with_one_reference();
    lines.remove(5);
    let others = vec![cut(Layer::Structural, 2), cut(Layer::Normal, 1)];
    assert!(of_brief(&anchored(), 7, lines, others).is_some());
}

#[test]
fn a_brief_that_is_cut_elsewhere_than_at_its_end_or_says_otherwise_is_found() {
    let right = || {
        vec![
            cut(Layer::Structural, 2),
            cut(Layer::Lock, 2),
            cut(Layer::Normal, 1),
        ]
    };
    let is_wrong = |spoil: fn(&mut Vec<Line>, &mut Vec<Cut>)| {
        let (mut lines, mut cut) = (lines(), right());
        lines.drain(2..4);
        lines.truncate(3);
        spoil(&mut lines, &mut cut);
        of_brief(&timeline(), 3, lines, cut).is_some()
    };
    assert!(!is_wrong(|_, _| ()));
    assert!(is_wrong(|lines, _| lines.truncate(2)));
    // A second reference in the place of an axis.
    assert!(is_wrong(
        |lines, _| lines[2] = Line::Structural(behind_the_second()[1].clone())
    ));
    assert!(is_wrong(|_, cut| cut.clear()));
    assert!(is_wrong(|_, cut| cut[0].items = 1));
    assert!(is_wrong(|_, cut| cut[1].items = 1));
    assert!(is_wrong(|_, cut| cut[2].more = true));
    assert!(is_wrong(|_, cut| {
        cut.remove(0);
    }));
}

#[test]
fn a_brief_that_is_silent_on_references_for_which_it_has_no_room_is_found() {
    // Of eight items, one is a policy, and the others have room for one reference.
    let is_wrong = |cut: Vec<Cut>, unfound: u64| {
        let asked = Asked::Brief {
            by: asker(PROJECT, ORG),
            domain: "ui".parse().unwrap(),
            at: vec![node(ORG, 2)],
            items_max: 8,
        };
        let mut lines = lines();
        lines.drain(2..4);
        let told = Told::Brief {
            lines,
            cut,
            unfound,
        };
        wrong(&timeline().last(), &asked, &told).is_some()
    };
    let references = |items| vec![cut(Layer::Structural, items)];
    assert!(!is_wrong(references(2), 0));
    assert!(is_wrong(Vec::new(), 0));
    assert!(is_wrong(references(1), 0));
    assert!(is_wrong(references(3), 0));
    // They were found, and are told of once.
    assert!(is_wrong(references(2), 2));
    assert!(is_wrong(Vec::new(), 2));
}

#[test]
fn a_history_with_a_gap_or_of_other_words_is_found() {
    let mut timeline = timeline();
    let said = Some(text(Rank::Lock, "ui", "4 anew"));
    timeline
        .commits
        .push(commit((PROJECT, 4), said, (6, 2), (6, 6)));
    timeline
        .commits
        .push(commit((PROJECT, 4), None, (7, 3), (7, 7)));
    let is_wrong = |after: Option<u64>, limit: usize, told: &[(u64, Option<&str>)]| {
        let asked = Asked::History {
            scope: scope(PROJECT),
            root: root(4),
            after,
            limit,
        };
        let told = told.iter();
        let told = told.map(|(number, text)| (*number, text.map(str::to_owned)));
        wrong(&timeline.last(), &asked, &Told::History(told.collect())).is_some()
    };
    let all = [(1, Some("4")), (2, Some("4 anew")), (3, None)];
    assert!(!is_wrong(None, 9, &all));
    assert!(!is_wrong(Some(1), 1, &all[1..2]));
    assert!(is_wrong(None, 9, &all[..2]));
    assert!(is_wrong(None, 9, &[all[0], all[2]]));
    assert!(is_wrong(None, 9, &[all[0], (2, Some("4")), all[2]]));
    assert!(is_wrong(Some(1), 9, &all));
    let other = Told::History(Vec::new());
    let asked = Asked::Impact {
        by: asker(ORG, ORG),
        start: Vec::new(),
        limits: Limits::default(),
    };
    assert!(wrong(&timeline.last(), &asked, &other).is_some());
}
