//! What is found in the plainest way, of decisions whose order and reach are known.

use super::super::asked::tests::asker;
use super::super::view::tests::{
    claim, commit, declared, evidence, evidence_id, keeping, kept, related, root, text,
};
use super::super::view::{Commit, Timeline};
use super::*;

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

fn node(path: &str, number: u8) -> Node {
    Node::Decision {
        scope: scope(path),
        root: root(number),
    }
}

fn relation(kind: RelationKind, to: Node) -> Relation {
    Relation { kind, to }
}

/// One version of each of these, in their order.
fn timeline(said: Vec<((&'static str, u8), NewDecision)>) -> Timeline {
    let commits = (1..).zip(said);
    let commits: Vec<Commit> = commits
        .map(|(seq, (at, text))| commit(at, Some(text), (seq, 1), (seq, seq)))
        .collect();
    Timeline { commits }
}

#[test]
fn strength_goes_before_domain_domain_before_width_and_width_before_age() {
    const IN_ORG: &str = "org/a";
    const IN_PROJECT: &str = "org/a/project/b";
    let said = vec![
        ((IN_PROJECT, 1), text(Rank::Normal, "ui", "")),
        ((IN_PROJECT, 2), text(Rank::Normal, "global", "")),
        ((IN_PROJECT, 3), text(Rank::Lock, "ui", "")),
        ((IN_ORG, 4), text(Rank::Lock, "ui", "")),
        ((IN_PROJECT, 5), text(Rank::Lock, "global", "")),
        ((IN_PROJECT, 6), text(Rank::Lock, "global", "")),
        ((IN_ORG, 7), text(Rank::Lock, "global", "")),
        ((IN_PROJECT, 8), text(Rank::Axis, "ui", "")),
        ((IN_PROJECT, 9), text(Rank::Axis, "global", "")),
        ((IN_ORG, 10), text(Rank::Policy, "global", "")),
        ((IN_ORG, 11), text(Rank::Axis, "runtime", "")),
        (("org/a/project/c", 12), text(Rank::Axis, "global", "")),
    ];
    let timeline = timeline(said);
    let view = timeline.last();
    let order = |place: &str, domain: &str| -> Vec<u8> {
        let domain = domain.parse().unwrap();
        let loaded = view.loaded(&scope(place), &domain).into_iter();
        loaded.map(|one| one.root.as_bytes()[0]).collect()
    };
    assert_eq!(order(IN_PROJECT, "ui"), [10, 9, 8, 7, 5, 6, 4, 3, 2, 1]);
    assert_eq!(order(IN_PROJECT, "global"), [10, 9, 7, 5, 6, 2]);
    assert_eq!(order(IN_ORG, "runtime"), [10, 11, 7]);
}

#[test]
fn references_have_a_quarter_of_the_items_that_policies_leave_and_one_in_any_case() {
    for (policies, items_max, expected) in [
        (0, 11, 2),
        (0, 12, 3),
        (1, 12, 2),
        (1, 13, 3),
        (9, 12, 1),
        (9, 1, 1),
        (0, 1_000, 5),
    ] {
        let told = referred(5, policies, items_max);
        assert_eq!(told, expected, "{policies} of {items_max}");
    }
    assert_eq!(referred(0, 0, 12), 0);
}

#[test]
fn a_change_reaches_whom_a_relation_says_each_by_the_shortest_way() {
    const IN: &str = "org/a";
    let file = Node::file("src/a.rs").unwrap();
    let says = |relations| related(text(Rank::Normal, "global", ""), relations);
    let said = vec![
        (
            (IN, 1),
            says(vec![relation(RelationKind::DependsOn, node(IN, 3))]),
        ),
        (
            (IN, 2),
            says(vec![
                relation(RelationKind::DependsOn, node(IN, 1)),
                relation(RelationKind::AppliesTo, file.clone()),
            ]),
        ),
        (
            (IN, 3),
            says(vec![
                relation(RelationKind::Constrains, node(IN, 4)),
                relation(RelationKind::DependsOn, node(IN, 2)),
            ]),
        ),
        (
            (IN, 4),
            says(vec![relation(RelationKind::AppliesTo, file.clone())]),
        ),
    ];
    let timeline = timeline(said);
    let view = timeline.last();
    let by = asker(IN, IN);
    let reached = |start: Node| -> Vec<(Node, u32)> {
        let reached = view.reached(Look::by(&by), &[start]);
        reached.into_iter().collect()
    };
    // 1 is rested on by 2, that by 3, and that by 1 again.
    let all = [
        (node(IN, 2), 1),
        (node(IN, 3), 2),
        (node(IN, 4), 3),
        (file.clone(), 2),
    ];
    assert_eq!(reached(node(IN, 1)), all);
    // A file that is reached ends its path; one that changes does not.
    assert_eq!(reached(node(IN, 4)), [(file.clone(), 1)]);
    let of_file = [
        (node(IN, 1), 3),
        (node(IN, 2), 1),
        (node(IN, 3), 2),
        (node(IN, 4), 1),
    ];
    assert_eq!(reached(file), of_file);
}

#[test]
fn what_was_withdrawn_or_lies_aside_is_neither_reached_nor_led_through() {
    let says = |relations| Some(related(text(Rank::Normal, "global", ""), relations));
    let (above, inside, aside) = ("org/a", "org/a/project/b", "org/a/project/c");
    let on = |to: Node| says(vec![relation(RelationKind::DependsOn, to)]);
    let commits = vec![
        commit((above, 1), says(vec![]), (1, 1), (1, 1)),
        commit((inside, 2), on(node(above, 1)), (1, 1), (2, 2)),
        commit((aside, 3), on(node(above, 1)), (1, 1), (3, 3)),
        commit((inside, 4), on(node(inside, 2)), (2, 1), (4, 4)),
        commit((inside, 2), None, (3, 2), (5, 5)),
    ];
    let timeline = Timeline { commits };
    let from = |view: &View<'_>, viewer: &str| -> Vec<Node> {
        let by = asker(viewer, above);
        let reached = view.reached(Look::by(&by), &[node(above, 1)]);
        reached.into_keys().collect()
    };
    let mut before = View::default();
    timeline.commits[..4]
        .iter()
        .for_each(|commit| before.add(commit));
    assert_eq!(from(&before, inside), [node(inside, 2), node(inside, 4)]);
    let everything = [node(inside, 2), node(inside, 4), node(aside, 3)];
    assert_eq!(from(&before, above), everything);
    assert_eq!(from(&timeline.last(), inside), []);
    assert_eq!(from(&timeline.last(), above), [node(aside, 3)]);
}

#[test]
fn a_token_that_covers_less_than_the_scope_hides_what_it_does_not_cover() {
    const INSIDE: [&str; 4] = [
        "org/a/project/b",
        "org/a/project/b/worktree/c",
        "org/a/project/bc",
        "org/a/project/d",
    ];
    let on = |number: u8| {
        let to = node("org/a", number);
        let relations = vec![relation(RelationKind::DependsOn, to)];
        related(text(Rank::Normal, "global", ""), relations)
    };
    let mut said = vec![(("org/a", 1), text(Rank::Normal, "global", ""))];
    said.extend((2..).zip(INSIDE).map(|(number, at)| ((at, number), on(1))));
    let timeline = timeline(said);
    let view = timeline.last();
    let reached = |at: &str, prefix: &str| -> Vec<u8> {
        let by = asker(at, prefix);
        let reached = view.reached(Look::by(&by), &[node("org/a", 1)]);
        let mut numbers: Vec<u8> = reached
            .keys()
            .map(|node| match node {
                Node::Decision { root, .. } => root.as_bytes()[0],
                _ => 0,
            })
            .collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(reached("org/a", "*"), [2, 3, 4, 5]);
    assert_eq!(reached("org/a", "org/a"), [2, 3, 4, 5]);
    assert_eq!(reached("org/a", INSIDE[0]), [2, 3]);
    assert_eq!(reached("org/a", INSIDE[1]), [3]);
    let in_a_task = reached("org/a", "org/a/project/b/worktree/c/task/e");
    assert!(in_a_task.is_empty());
    // What lies around is seen without being covered.
    assert_eq!(reached(INSIDE[0], INSIDE[1]), [2, 3]);
    assert_eq!(reached(INSIDE[1], INSIDE[1]), [2, 3]);
    // A token of elsewhere covers nothing of what lies inside.
    assert!(reached("org/a", "org/z").is_empty());
}

#[test]
fn what_is_looked_at_beside_has_relations_though_it_does_not_hold() {
    const IN: &str = "org/a";
    let says = |relations| Some(related(text(Rank::Normal, "global", ""), relations));
    let on = |number: u8| vec![relation(RelationKind::DependsOn, node(IN, number))];
    let commits = vec![
        commit((IN, 1), says(vec![]), (1, 1), (1, 1)),
        commit((IN, 2), says(on(1)), (2, 1), (2, 2)),
        commit((IN, 3), says(vec![]), (3, 1), (3, 3)),
        commit((IN, 4), says(vec![]), (4, 1), (4, 4)),
        commit((IN, 1), None, (5, 2), (5, 5)),
        commit((IN, 4), None, (6, 2), (6, 6)),
    ];
    let timeline = Timeline { commits };
    let view = timeline.last();
    let by = asker(IN, IN);
    let own = node(IN, 1);
    let constrains = [3, 4].map(|number| relation(RelationKind::Constrains, node(IN, number)));
    let look = Look {
        by: &by,
        beside: Some((&own, &constrains)),
    };
    let reached = view.reached(look, std::slice::from_ref(&own));
    // What depends on it still, and what it was related to that holds.
    let reached: Vec<Node> = reached.into_keys().collect();
    assert_eq!(reached, [node(IN, 2), node(IN, 3)]);
    assert!(
        view.reached(Look::by(&by), std::slice::from_ref(&own))
            .is_empty()
    );
}

#[test]
fn what_speaks_against_a_claim_holds_is_seen_from_there_and_says_otherwise() {
    const PROJECT: &str = "org/a/project/b";
    let claims = |key: &str, value: &str| {
        let mut text = text(Rank::Lock, "ui", "");
        text.claim = Some(claim(key, value));
        text
    };
    let said = vec![
        (("org/a", 1), claims("k", "1")),
        ((PROJECT, 2), claims("k", "2")),
        ((PROJECT, 3), claims("k", "0")),
        ((PROJECT, 4), claims("other", "1")),
        (("org/a/project/c", 5), claims("k", "1")),
        (("org/a/project/b/worktree/w", 6), claims("k", "1")),
        ((PROJECT, 7), text(Rank::Lock, "ui", "")),
        ((PROJECT, 8), claims("k", "3")),
    ];
    let mut timeline = timeline(said);
    let withdrawn = commit((PROJECT, 8), None, (9, 2), (9, 9));
    timeline.commits.push(withdrawn);
    let view = timeline.last();
    let against = |besides: Option<u8>| -> Vec<u8> {
        let against = view.against(&scope(PROJECT), &claim("k", "0"), besides.map(root));
        let roots = against.iter().map(|one| one.root.as_bytes()[0]);
        roots.collect()
    };
    assert_eq!(against(None), [1, 2]);
    assert_eq!(against(Some(2)), [1]);
    // The root of another scope is not its own.
    assert_eq!(against(Some(1)), [1, 2]);
}

#[test]
fn a_proposal_is_refused_as_its_save_would_be() {
    const PROJECT: &str = "org/a/project/b";
    let on = |at: &str, number: u8| {
        let relations = vec![relation(RelationKind::DependsOn, node(at, number))];
        related(text(Rank::Normal, "global", ""), relations)
    };
    let commits = vec![
        commit(
            ("org/a", 1),
            Some(text(Rank::Normal, "ui", "")),
            (1, 1),
            (1, 1),
        ),
        commit(
            (PROJECT, 2),
            Some(text(Rank::Normal, "ui", "")),
            (2, 1),
            (2, 2),
        ),
        commit((PROJECT, 3), Some(on(PROJECT, 2)), (3, 1), (3, 3)),
        commit((PROJECT, 2), None, (4, 2), (4, 4)),
    ];
    let timeline = Timeline { commits };
    let view = timeline.last();
    let refusal = |at: &str, change: Option<(u8, u64)>, text: &NewDecision| {
        let change = change.map(|(number, expected_version)| DecisionRef {
            root: root(number),
            expected_version,
        });
        view.refusal(&scope(at), change, text)
    };
    let conflict = Some(ErrorCode::Conflict);
    assert_eq!(refusal(PROJECT, None, &on("org/a", 1)), None);
    assert_eq!(refusal(PROJECT, Some((3, 1)), &on("org/a", 1)), None);
    assert_eq!(refusal(PROJECT, Some((3, 2)), &on("org/a", 1)), conflict);
    assert_eq!(refusal(PROJECT, Some((2, 2)), &on("org/a", 1)), conflict);
    // What was withdrawn is no more related to, but by what was before.
    assert_eq!(refusal(PROJECT, None, &on(PROJECT, 2)), conflict);
    assert_eq!(refusal(PROJECT, Some((3, 1)), &on(PROJECT, 2)), None);
    // What is not there, or lies inside.
    let not_found = Some(ErrorCode::NotFound);
    assert_eq!(refusal(PROJECT, None, &on(PROJECT, 9)), not_found);
    assert_eq!(refusal("org/a", None, &on(PROJECT, 3)), not_found);
    assert_eq!(refusal("org/a", Some((3, 1)), &on("org/a", 1)), not_found);
}

#[test]
fn evidence_at_hand_reaches_what_rests_on_it_and_no_change_reaches_evidence() {
    const PROJECT: &str = "org/a/project/b";
    const TASK: &str = "org/a/project/b/worktree/c/task/d";
    let original = |path: &str, number: u8| Node::Evidence {
        scope: scope(path),
        id: evidence_id(number),
    };
    let rests_on = |path: &str, number: u8| {
        let relations = vec![relation(RelationKind::RestsOn, original(path, number))];
        related(text(Rank::Normal, "global", ""), relations)
    };
    let depends = vec![relation(RelationKind::DependsOn, node(PROJECT, 1))];
    let depends = related(text(Rank::Normal, "global", ""), depends);
    let mut timeline = timeline(vec![
        ((PROJECT, 1), rests_on("org/a", 1)),
        ((PROJECT, 2), depends),
        ((TASK, 3), rests_on("org/a/project/b/worktree/c", 2)),
    ]);
    let saved = [
        kept("org/a", 8, evidence(1, "one")),
        kept("org/a/project/b/worktree/c", 9, evidence(2, "two")),
    ];
    timeline.commits.push(keeping(saved.into(), (9, 9)));
    let view = timeline.last();
    let reached = |(at, prefix): (&str, &str), start: Node| -> Vec<(Node, u32)> {
        let by = asker(at, prefix);
        let reached = view.reached(Look::by(&by), &[start]);
        reached.into_iter().collect()
    };
    let all = (PROJECT, "org/a");
    let of_first = [(node(PROJECT, 1), 1), (node(PROJECT, 2), 2)];
    assert_eq!(reached(all, original("org/a", 1)), of_first);
    assert_eq!(reached(all, node(PROJECT, 1)), [(node(PROJECT, 2), 1)]);
    let second = original("org/a/project/b/worktree/c", 2);
    assert_eq!(reached(all, second.clone()), [(node(TASK, 3), 1)]);
    // Where the evidence itself is not seen, nothing is reached from it, though what rests on it is seen.
    assert_eq!(reached((PROJECT, TASK), second), []);
    // A step further on, evidence leads nowhere.
    let edge = rests_on("org/a", 1).relations[0].edge_from(node(PROJECT, 1));
    assert_eq!(carries(&edge, &node(PROJECT, 1), true), None);
    assert_eq!(carries(&edge, &original("org/a", 1), false), None);
}

#[test]
fn a_proposal_that_rests_on_what_is_not_there_or_not_seen_is_refused() {
    const PROJECT: &str = "org/a/project/b";
    let saved = [
        kept("org/a", 1, evidence(1, "one")),
        kept(PROJECT, 2, evidence(2, "two")),
    ];
    let timeline = Timeline {
        commits: vec![keeping(saved.into(), (1, 1))],
    };
    let view = timeline.last();
    let refusal = |at: &str, path: &str, number: u8| {
        let to = Node::Evidence {
            scope: scope(path),
            id: evidence_id(number),
        };
        let relations = vec![relation(RelationKind::RestsOn, to)];
        let text = related(text(Rank::Normal, "global", ""), relations);
        view.refusal(&scope(at), None, &text)
    };
    let not_found = Some(ErrorCode::NotFound);
    assert_eq!(refusal(PROJECT, "org/a", 1), None);
    assert_eq!(refusal(PROJECT, PROJECT, 2), None);
    assert_eq!(refusal(PROJECT, PROJECT, 1), not_found);
    assert_eq!(refusal("org/a", PROJECT, 2), not_found);
    assert_eq!(refusal("org/a/project/c", PROJECT, 2), not_found);
}

fn kind(name: &str, reach: Reach) -> RelationKind {
    let name = name.parse().unwrap();
    RelationKind::Declared(DeclaredKind { name, reach })
}

#[test]
fn a_change_goes_over_a_declared_relation_the_ways_that_it_says() {
    const IN: &str = "org/a";
    for (reach, forth, back) in [
        (Reach::Forward, true, false),
        (Reach::Backward, false, true),
        (Reach::Both, true, true),
        (Reach::Neither, false, false),
    ] {
        let relations = vec![relation(kind("CAUSES", reach), node(IN, 2))];
        let says = related(text(Rank::Normal, "global", ""), relations);
        let other = text(Rank::Normal, "global", "");
        let timeline = timeline(vec![((IN, 2), other), ((IN, 1), says)]);
        let view = timeline.last();
        let by = asker(IN, IN);
        let reached = |start: u8| view.reached(Look::by(&by), &[node(IN, start)]).len();
        assert_eq!(reached(1), usize::from(forth), "{reach}");
        assert_eq!(reached(2), usize::from(back), "{reach}");
    }
}

#[test]
fn a_kind_is_used_as_the_nearest_scope_declares_it_or_refused() {
    const ABOVE: &str = "org/a";
    const HOME: &str = "org/a/project/b";
    let said = vec![((ABOVE, 1), text(Rank::Normal, "global", ""))];
    let mut timeline = timeline(said);
    let declarations = [
        kept(HOME, 1, declared("CAUSES", Reach::Forward)),
        kept(ABOVE, 2, declared("CAUSES", Reach::Backward)),
    ];
    timeline.commits.push(keeping(declarations.into(), (8, 9)));
    let view = timeline.last();
    let refusal = |at: &str, kind: RelationKind| {
        let relations = vec![relation(kind, node(ABOVE, 1))];
        let says = related(text(Rank::Normal, "global", ""), relations);
        view.refusal(&scope(at), None, &says)
    };
    let refused = Some(ErrorCode::InvalidArgument);
    let (near, far) = (
        kind("CAUSES", Reach::Forward),
        kind("CAUSES", Reach::Backward),
    );
    for (at, counts, other) in [
        ("org/a/project/b/worktree/c", near, far),
        (HOME, near, far),
        (ABOVE, far, near),
        ("org/a/project/bc", far, near),
    ] {
        assert_eq!(refusal(at, counts), None, "{at}");
        assert_eq!(refusal(at, other), refused, "{at}");
        assert_eq!(refusal(at, kind("EXPLAINS", Reach::Both)), refused, "{at}");
        assert_eq!(refusal(at, RelationKind::DependsOn), None, "{at}");
    }
}

#[test]
fn what_a_change_reaches_over_few_relations_ends_there_and_at_what_was_withdrawn() {
    const IN: &str = "org/a";
    let says = |relations| related(text(Rank::Normal, "global", ""), relations);
    let constrains = |number: u8| vec![relation(RelationKind::Constrains, node(IN, number))];
    // Each constrains the next one.
    let said = (1..=4).rev().map(|number: u8| {
        let next = (number < 4).then(|| constrains(number + 1));
        ((IN, number), says(next.unwrap_or_default()))
    });
    let mut timeline = timeline(said.collect());
    let by = asker(IN, IN);
    let closure = |timeline: &Timeline, depth_max: u32| {
        let found = timeline
            .last()
            .closure(Look::by(&by), &[node(IN, 1)], depth_max);
        (found.nodes.len(), found.ended.len(), found.leads_on)
    };
    assert_eq!(closure(&timeline, 1), (1, 0, true));
    assert_eq!(closure(&timeline, 2), (2, 0, true));
    assert_eq!(closure(&timeline, 3), (3, 0, false));
    assert_eq!(closure(&timeline, 4), (3, 0, false));
    let end = commit((IN, 3), None, (9, 2), (9, 9));
    timeline.commits.push(end);
    assert_eq!(closure(&timeline, 1), (1, 0, true));
    assert_eq!(closure(&timeline, 2), (1, 1, false));
    // Of what is not seen, nothing is met.
    let aside = asker("org/z", "org/z");
    let view = timeline.last();
    let found = view.closure(Look::by(&aside), &[node(IN, 1)], 4);
    assert!(found.nodes.is_empty() && found.ended.is_empty() && !found.leads_on);
    assert!(!view.stands(&aside, &node(IN, 1)) && view.stands(&by, &node(IN, 1)));
    assert!(!view.stands(&by, &node(IN, 3)));
}
