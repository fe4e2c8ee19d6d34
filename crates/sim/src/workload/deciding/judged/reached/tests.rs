//! Each impact is right as it should be, whole or cut by a limit, and wrong once anything of it is spoilt.

use sillok_core::decision::{Relation, RelationKind};
use sillok_core::limits::IMPACT_DEPTH_MAX;

use super::super::super::asked::tests::asker;
use super::super::super::asked::{Asked, Limits, Told};
use super::super::super::view::Timeline;
use super::super::super::view::tests::{commit, related, text};
use super::super::tests::{ORG, PROJECT, behind_the_second, depends_on, node, timeline};
use super::super::wrong;
use super::*;

#[test]
fn an_impact_that_is_not_all_that_relations_lead_to_is_found() {
    let is_wrong = |spoil: fn(&mut Vec<Reached>)| {
        let mut told = behind_the_second();
        spoil(&mut told);
        let asked = Asked::Impact {
            by: asker(PROJECT, ORG),
            start: vec![node(ORG, 2)],
            limits: Limits::default(),
        };
        let told = Told::Impact {
            reached: told,
            is_cut: false,
        };
        wrong(&timeline().last(), &asked, &told).is_some()
    };
    assert!(!is_wrong(|_| ()));
    // One that is missing, near or far, one that is there twice, and one that is not reached.
    assert!(is_wrong(|told| drop(told.pop())));
    assert!(is_wrong(|told| drop(told.remove(0))));
    assert!(is_wrong(|told| told.push(told[2].clone())));
    assert!(is_wrong(|told| told[1].node = node(PROJECT, 4)));
    // A depth that is not that of the shortest path, a rank of something else, and nearer ones behind.
    assert!(is_wrong(|told| told[1].depth = 1));
    assert!(is_wrong(|told| told[1].rank = Some(Rank::Lock)));
    assert!(is_wrong(|told| told.swap(0, 1)));
    // A path that leads elsewhere, has a gap, or goes over what is not declared.
    assert!(is_wrong(|told| told[1].path = told[2].path.clone()));
    assert!(is_wrong(|told| drop(told[1].path.remove(0))));
    assert!(is_wrong(
        |told| told[0].path[0].kind = RelationKind::Validates
    ));
}

#[test]
fn an_impact_that_goes_on_behind_the_greatest_depth_says_so() {
    let count = u8::try_from(IMPACT_DEPTH_MAX).unwrap() + 2;
    let on = |number: u8| (number > 1).then(|| depends_on(node(ORG, number - 1)));
    let commits = (1..=count).map(|number| {
        let said = text(Rank::Normal, "global", "a");
        let said = related(said, on(number).into_iter().collect());
        let at = u64::from(number);
        commit((ORG, number), Some(said), (at, 1), (at, at))
    });
    let timeline = Timeline {
        commits: commits.collect(),
    };
    let told = (2..count).map(|number| {
        let path = (2..=number).map(|at| depends_on(node(ORG, at - 1)).edge_from(node(ORG, at)));
        Reached {
            node: node(ORG, number),
            depth: u32::from(number - 1),
            rank: Some(Rank::Normal),
            path: path.collect(),
        }
    });
    let told: Vec<Reached> = told.collect();
    let start = [node(ORG, 1)];
    let view = timeline.last();
    let by = asker(ORG, ORG);
    let wrong = |is_cut| {
        let look = (Look::by(&by), start.as_slice());
        let limits = Limits::default().numbers();
        wrong_impact(&view, look, limits, (&told, is_cut))
    };
    assert_eq!(wrong(true), None);
    assert!(wrong(false).is_some());
}

fn constrains(to: Node) -> Relation {
    Relation {
        kind: RelationKind::Constrains,
        to,
    }
}

/// On the first decision rest the second, which is a lock, the third and the fourth, and on the third the fifth. The first
/// constrains the sixth, and the fifth the ninth. On the seventh rests the eighth.
fn around_a_hub() -> Timeline {
    let on = |number: u8| vec![depends_on(node(ORG, number))];
    let bound = |number: u8| vec![constrains(node(ORG, number))];
    let fifth = [on(3), bound(9)].concat();
    let said = [
        (9, Rank::Normal, vec![]),
        (6, Rank::Normal, vec![]),
        (1, Rank::Normal, bound(6)),
        (2, Rank::Lock, on(1)),
        (3, Rank::Normal, on(1)),
        (4, Rank::Normal, on(1)),
        (5, Rank::Normal, fifth),
        (7, Rank::Normal, vec![]),
        (8, Rank::Normal, on(7)),
    ];
    let commits = (1..).zip(said).map(|(seq, (number, rank, relations))| {
        let said = related(text(rank, "global", "a"), relations);
        commit((ORG, number), Some(said), (seq, 1), (seq, seq))
    });
    Timeline {
        commits: commits.collect(),
    }
}

/// One of these as it is reached from the first or the seventh.
fn way_to(number: u8) -> Reached {
    let on = |number: u8, other: u8| depends_on(node(ORG, other)).edge_from(node(ORG, number));
    let path = match number {
        2..=4 => vec![on(number, 1)],
        5 => vec![on(3, 1), on(5, 3)],
        6 => vec![constrains(node(ORG, 6)).edge_from(node(ORG, 1))],
        8 => vec![on(8, 7)],
        9 => {
            let last = constrains(node(ORG, 9)).edge_from(node(ORG, 5));
            vec![on(3, 1), on(5, 3), last]
        }
        _ => panic!("nothing leads to {number}"),
    };
    let rank = if number == 2 {
        Rank::Lock
    } else {
        Rank::Normal
    };
    Reached {
        node: node(ORG, number),
        depth: u32::try_from(path.len()).unwrap(),
        rank: Some(rank),
        path,
    }
}

/// Whether it is right to tell of these, and that it is cut or not.
fn is_right(
    timeline: &Timeline,
    start: &[u8],
    limits: (usize, u32),
    (told, is_cut): (&[u8], bool),
) -> bool {
    let start: Vec<Node> = start.iter().map(|number| node(ORG, *number)).collect();
    let told: Vec<Reached> = told.iter().map(|number| way_to(*number)).collect();
    let by = asker(ORG, ORG);
    let look = (Look::by(&by), start.as_slice());
    wrong_impact(&timeline.last(), look, limits, (&told, is_cut)).is_none()
}

#[test]
fn an_impact_of_few_nodes_tells_of_as_many_and_that_there_are_more() {
    let timeline = around_a_hub();
    let is_right = |nodes_max: usize, told: &[u8], is_cut: bool| {
        let limits = (nodes_max, IMPACT_DEPTH_MAX);
        is_right(&timeline, &[1], limits, (told, is_cut))
    };
    let all = [2, 3, 4, 6, 5, 9];
    for nodes_max in [6, 7] {
        assert!(is_right(nodes_max, &all, false));
        assert!(!is_right(nodes_max, &all, true));
        assert!(!is_right(nodes_max, &all[..5], true));
    }
    for nodes_max in [4, 5] {
        assert!(is_right(nodes_max, &all[..nodes_max], true));
        assert!(!is_right(nodes_max, &all[..nodes_max], false));
        assert!(!is_right(nodes_max, &all[..nodes_max - 1], true));
        assert!(!is_right(nodes_max, &all[..=nodes_max], true));
        assert!(!is_right(nodes_max, &all, false));
    }
    // What is farther in the place of what is nearer.
    assert!(!is_right(4, &[2, 3, 6, 5], true));
}

#[test]
fn a_lock_and_what_the_node_constrains_itself_are_told_of_before_what_is_normal() {
    let timeline = around_a_hub();
    let is_right = |nodes_max: usize, told: &[u8]| {
        let limits = (nodes_max, IMPACT_DEPTH_MAX);
        is_right(&timeline, &[1], limits, (told, true))
    };
    assert!(is_right(1, &[2]) && is_right(1, &[6]));
    assert!(!is_right(1, &[3]) && !is_right(1, &[4]));
    assert!(is_right(2, &[2, 6]));
    assert!(!is_right(2, &[2, 3]) && !is_right(2, &[4, 6]) && !is_right(2, &[3, 4]));
    assert!(is_right(3, &[2, 3, 6]) && is_right(3, &[2, 4, 6]));
    assert!(!is_right(3, &[2, 3, 4]) && !is_right(3, &[3, 4, 6]));
}

#[test]
fn what_is_left_out_is_left_out_from_one_node_on() {
    let timeline = around_a_hub();
    let is_right = |start: [u8; 2], nodes_max: usize, told: &[u8]| {
        let limits = (nodes_max, IMPACT_DEPTH_MAX);
        is_right(&timeline, &start, limits, (told, true))
    };
    assert!(is_right([1, 7], 2, &[2, 6]));
    assert!(!is_right([1, 7], 2, &[2, 8]));
    assert!(!is_right([1, 7], 1, &[8]));
    assert!(is_right([7, 1], 1, &[8]));
    assert!(is_right([7, 1], 2, &[8, 2]) && is_right([7, 1], 2, &[8, 6]));
    assert!(!is_right([7, 1], 2, &[8, 3]) && !is_right([7, 1], 2, &[2, 6]));
}

#[test]
fn an_impact_over_few_relations_tells_of_what_is_near_and_that_there_is_more_behind() {
    let timeline = around_a_hub();
    let all = [2, 3, 4, 6, 5, 9];
    for (depth_max, count, goes_on) in [(1, 4, true), (2, 5, true), (3, 6, false), (4, 6, false)] {
        for told in 4..=all.len() {
            for is_cut in [true, false] {
                let limits = (100, depth_max);
                let is_right = is_right(&timeline, &[1], limits, (&all[..told], is_cut));
                let expected = told == count && is_cut == goes_on;
                assert_eq!(is_right, expected, "{told} over {depth_max}, {is_cut}");
            }
        }
    }
    // Where both limit it, each does.
    assert!(is_right(&timeline, &[1], (4, 1), (&all[..4], true)));
    assert!(is_right(&timeline, &[1], (1, 1), (&[6], true)));
    assert!(!is_right(&timeline, &[1], (5, 1), (&all[..5], true)));
}

#[test]
fn a_decision_that_was_withdrawn_takes_a_place_and_is_told_of_by_nobody() {
    let timeline = without(&[6, 9]);
    let is_right = |limits: (usize, u32), told: &[u8], is_cut: bool| {
        is_right(&timeline, &[1], limits, (told, is_cut))
    };
    let all = [2, 3, 4, 5];
    let deep = IMPACT_DEPTH_MAX;
    assert!(is_right((6, deep), &all, false));
    assert!(!is_right((6, deep), &all, true));
    assert!(!is_right((6, deep), &[2, 3, 4, 6, 5], false));
    // The place may have been taken, or what lies behind it.
    for nodes_max in [4, 5] {
        assert!(is_right((nodes_max, deep), &all, true));
        assert_eq!(is_right((nodes_max, deep), &all[..3], true), nodes_max == 4);
        assert!(!is_right((nodes_max, deep), &all, false));
        assert!(!is_right((nodes_max, deep), &all[..1], true));
    }
    assert!(is_right((2, deep), &[2], true));
    assert!(!is_right((2, deep), &[3], true), "the lock goes first");
    // Something lies behind that nobody has looked at.
    assert!(is_right((100, 2), &all, true));
    assert!(!is_right((100, 2), &all, false));
    assert!(is_right((100, 3), &all, false));
}

/// What is around the hub, where these are withdrawn.
fn without(numbers: &[u8]) -> Timeline {
    let mut timeline = around_a_hub();
    let withdrawn = numbers.iter().map(|number| {
        let at = 10 + u64::from(*number);
        commit((ORG, *number), None, (at, 2), (at, at))
    });
    timeline.commits.extend(withdrawn);
    timeline
}

#[test]
fn nothing_is_told_of_only_where_what_does_not_hold_took_all_of_the_room() {
    let timeline = without(&[6, 9]);
    let is_right_of = |start: &[u8], nodes_max: usize, told: &[u8]| {
        let limits = (nodes_max, IMPACT_DEPTH_MAX);
        is_right(&timeline, start, limits, (told, true))
    };
    assert!(is_right_of(&[1], 1, &[]));
    assert!(!is_right_of(&[1], 2, &[]), "there was room for the lock");
    assert!(is_right_of(&[1, 7], 1, &[]));
    assert!(!is_right_of(&[7, 1], 1, &[]), "the eighth stands before it");
    // What is normal comes behind what does not hold and what the node itself is related to.
    let timeline = without(&[2, 6, 9]);
    let is_right = |nodes_max: usize, told: &[u8]| {
        let limits = (nodes_max, IMPACT_DEPTH_MAX);
        is_right(&timeline, &[1], limits, (told, true))
    };
    assert!(is_right(1, &[]) && !is_right(1, &[3]));
    assert!(is_right(2, &[3]) && is_right(2, &[4]) && !is_right(2, &[]));
}

#[test]
fn what_does_not_hold_may_be_all_that_there_was_no_room_for() {
    let mut timeline = without(&[3, 4, 6]);
    // What is told of leads on, and nobody has looked at that.
    let said = related(
        text(Rank::Normal, "global", "a"),
        vec![depends_on(node(ORG, 2))],
    );
    timeline
        .commits
        .push(commit((ORG, 10), Some(said), (30, 1), (30, 30)));
    let limits = (1, IMPACT_DEPTH_MAX);
    assert!(is_right(&timeline, &[1], limits, (&[2], true)));
    assert!(!is_right(&timeline, &[1], limits, (&[2], false)));
}

#[test]
fn a_choice_is_shown_where_there_was_room_for_some_of_both_sorts_that_one_node_leads_to() {
    let shows_in = |timeline: &Timeline, start: &[u8], depth_max: u32, told: &[u8]| {
        let start: Vec<Node> = start.iter().map(|number| node(ORG, *number)).collect();
        let told: Vec<Reached> = told.iter().map(|number| way_to(*number)).collect();
        let by = asker(ORG, ORG);
        let look = (Look::by(&by), start.as_slice());
        shows_choice(&timeline.last(), look, depth_max, &told)
    };
    let timeline = around_a_hub();
    let shows = |start: &[u8], told: &[u8]| shows_in(&timeline, start, IMPACT_DEPTH_MAX, told);
    let few: [&[u8]; 4] = [&[2], &[6], &[2, 6], &[2, 3, 6]];
    for told in few {
        assert!(shows(&[1], told), "{told:?}");
    }
    assert!(shows(&[7, 1], &[8, 2]));
    // There was room for all that the node leads to, or for nothing of it.
    assert!(!shows(&[1], &[2, 3, 4, 6]));
    assert!(!shows(&[1], &[2, 3, 4, 6, 5, 9]));
    assert!(!shows(&[7, 1], &[8]));
    assert!(!shows(&[1], &[]));
    // All that is near is told of, and what lies farther is not looked at.
    assert!(!shows_in(&timeline, &[1], 1, &[2, 3, 4, 6]));
    // One sort alone.
    let shows_without =
        |numbers: &[u8], told: &[u8]| shows_in(&without(numbers), &[1], IMPACT_DEPTH_MAX, told);
    assert!(!shows_without(&[2, 6], &[3]));
    assert!(!shows_without(&[3, 4], &[2]));
}
