//! Where walks end: how many nodes are told, which relations are read, and time that runs out.

use super::*;

/// The nodes that there is room for, of all that are affected: of what one node leads to, first those that it is related to
/// itself and those of which a relation says that they are guarded.
pub(super) fn with_room(
    whole: &Impact,
    edges: &[Edge],
    says: impl Fn(&Edge) -> bool,
    nodes_max: usize,
) -> Vec<Affected> {
    let mut taken = Vec::new();
    for group in whole.affected.chunk_by(|a, b| a.from == b.from) {
        let source = match group[0].from {
            Source::Start(index) => &whole.start[index],
            Source::Affected(index) => &whole.affected[index].node,
        };
        let is_first = |one: &&Affected| {
            edges.iter().any(|edge| {
                let way = (source, &one.node);
                let is_own = (&edge.from, &edge.to) == way;
                let is_guarded = says(edge) && name_of(&edge.from).rank.is_guarded();
                ways(edge, &whole.start).contains(&way) && (is_own || is_guarded)
            })
        };
        let (first, others): (Vec<&Affected>, Vec<&Affected>) = group.iter().partition(is_first);
        let room = nodes_max - taken.len();
        let mut some: Vec<Affected> = first
            .into_iter()
            .chain(others)
            .take(room)
            .cloned()
            .collect();
        some.sort_by(|a, b| a.node.cmp(&b.node));
        taken.extend(some);
        if taken.len() == nodes_max {
            break;
        }
    }
    taken
}

proptest! {
    #[test]
    fn limits_take_the_first_nodes_and_say_that_there_are_more(
        start in any_start(),
        edges in any_edges(),
        saying in proptest::bits::u64::ANY,
        nodes_max in 1usize..8,
        depth_max in 1u32..4,
    ) {
        let says = says_as(&edges, saying);
        let told = |limits| walked_named(nodes(&start), limits, &edges, &says).0;
        let whole = told(OPEN);
        let by_nodes = told(ImpactLimits { nodes_max, ..OPEN });
        prop_assert_eq!(&by_nodes.affected, &with_room(&whole, &edges, &says, nodes_max));
        let cut = by_nodes.cut.unwrap_or_default();
        prop_assert_eq!(cut.nodes > 0, whole.affected.len() > nodes_max);
        prop_assert!(cut.nodes <= whole.affected.len().saturating_sub(nodes_max) as u64);
        prop_assert_eq!((cut.depth, cut.relations, cut.time), (0, false, false));

        let by_depth = told(ImpactLimits { depth_max, ..OPEN });
        let near = whole.affected.iter().filter(|one| one.depth <= depth_max);
        let near: Vec<Affected> = near.cloned().collect();
        prop_assert_eq!(&by_depth.affected, &near);
        let cut = by_depth.cut.unwrap_or_default();
        prop_assert_eq!(cut.depth > 0, whole.affected.len() > near.len());
        prop_assert_eq!((cut.nodes, cut.relations, cut.time), (0, false, false));

        let by_both = told(ImpactLimits { nodes_max, depth_max, ..OPEN });
        prop_assert_eq!(&by_both.affected, &with_room(&by_depth, &edges, &says, nodes_max));
    }
}

/// The impact of a decision that so many others depend on, which are told of from the last to the first.
fn of_a_hub(dependents: usize) -> Impact {
    let mut walk = Walk::new(vec![decision(0)], ImpactLimits::default());
    let hub = walk.next().unwrap();
    let edges: Vec<Edge> = (1..=dependents)
        .rev()
        .map(|n| between_decisions(n, RelationKind::DependsOn, 0))
        .collect();
    for some in edges.chunks(1_000) {
        walk.part(&hub, some.iter().cloned());
    }
    walk.seen(&hub, Seen::default());
    while let Some(node) = walk.next() {
        walk.seen(&node, Seen::default());
    }
    walk.finish()
}

#[test]
fn of_a_hub_as_many_nodes_are_told_as_the_limit_allows_and_the_rest_is_counted() {
    for (dependents, left_out) in [
        (9_999, 0),
        (10_000, 0),
        (10_001, 1),
        (25_000, 10_000),
        // More than are held at once.
        (45_000, 10_000),
    ] {
        let impact = of_a_hub(dependents);
        let mut expected: Vec<Node> = (1..=dependents).map(decision).collect();
        expected.sort();
        expected.truncate(IMPACT_NODES_MAX);
        let told: Vec<&Node> = impact.affected.iter().map(|one| &one.node).collect();
        assert_eq!(told, expected.iter().collect::<Vec<_>>());
        assert_eq!(impact.cut.unwrap_or_default().nodes, left_out);
    }
}

#[test]
fn for_a_lock_among_more_than_are_held_there_is_room_wherever_it_is_told_of() {
    const MANY: usize = 45_000;
    let limits = ImpactLimits {
        nodes_max: 10,
        ..OPEN
    };
    let edges: Vec<Edge> = (1..=MANY)
        .map(|n| between_decisions(n, RelationKind::DependsOn, 0))
        .collect();
    for lock in [1, MANY / 2 + 1, MANY - 1].map(decision) {
        let told = |edge: &Edge| NamedEdge {
            name: (edge.from == lock).then(|| DecisionName {
                rank: Rank::Lock,
                title: String::new(),
            }),
            edge: edge.clone(),
        };
        let mut expected: Vec<Node> = (1..=MANY).map(decision).filter(|n| *n != lock).collect();
        expected.sort();
        expected.truncate(9);
        expected.push(lock.clone());
        let forward: Vec<NamedEdge> = edges.iter().map(told).collect();
        let backward: Vec<NamedEdge> = edges.iter().rev().map(told).collect();
        for into in [forward, backward] {
            let mut walk = Walk::new(nodes(&[0]), limits);
            let hub = walk.next().unwrap();
            for some in into.chunks(1_000) {
                walk.part(&hub, some.iter().cloned());
            }
            walk.seen(&hub, Seen::default());
            let impact = walk.finish();
            let told = impact.affected.iter().map(|one| &one.node);
            assert_eq!(
                told.collect::<Vec<_>>(),
                expected.iter().collect::<Vec<_>>()
            );
            assert_eq!(impact.cut.map(|cut| cut.nodes), Some(10_000));
        }
    }
}

#[test]
fn of_nodes_for_which_there_is_no_room_one_relation_is_read_and_not_all() {
    const MANY: usize = 50;
    // Of each of the nodes around the hub hundreds depend.
    let around = (1..=MANY).map(|n| between_decisions(n, RelationKind::DependsOn, 0));
    let behind = (1..=MANY).flat_map(|to| {
        let beside = (1..=100).map(move |n| MANY * (n + 1) + to);
        beside.map(move |from| between_decisions(from, RelationKind::DependsOn, to))
    });
    let edges: Vec<Edge> = around.chain(behind).collect();
    for (limits, nodes, depth) in [
        (
            ImpactLimits {
                nodes_max: MANY,
                ..OPEN
            },
            1,
            0,
        ),
        (
            ImpactLimits {
                depth_max: 1,
                ..OPEN
            },
            0,
            1,
        ),
    ] {
        let (impact, read) = walked_sparely(vec![decision(0)], limits, &edges);
        assert_eq!((impact.affected.len(), read), (MANY, MANY + 1));
        assert!(impact.affected.iter().all(|one| one.title.is_some()));
        let cut = impact.cut.unwrap();
        assert_eq!((cut.nodes, cut.depth), (nodes, depth));
    }
}

#[test]
fn once_a_walk_is_cut_none_is_asked_for_whose_relation_said_its_name() {
    let mut edges: Vec<Edge> = (1..=5)
        .map(|n| edge(n, RelationKind::DependsOn, 0))
        .collect();
    // Reached forward, so that no relation says what it is called.
    edges.push(edge(0, RelationKind::Constrains, 6));
    let asked = |limits: ImpactLimits, silent: &[usize]| {
        let says = |edge: &Edge| !silent.iter().any(|number| edge.from == decision(*number));
        let (impact, asked) = walked_named(nodes(&[0]), limits, &edges, says);
        assert!(impact.affected.iter().all(|one| one.title.is_some()));
        asked
    };
    let narrow = ImpactLimits {
        nodes_max: 5,
        ..OPEN
    };
    // The scope of 1, 3 and 5 lies inside, so that those come last, and for 5, which is no lock, there is no room.
    assert_eq!(asked(narrow, &[]), nodes(&[0, 6]));
    assert_eq!(asked(narrow, &[4, 3]), nodes(&[0, 4, 6, 3]));
    let whole = asked(OPEN, &[]);
    assert_eq!(whole.len(), 7, "its own relations may lead on");
}

#[test]
fn of_what_was_not_looked_at_when_the_time_ran_out_the_name_is_told_where_it_is_known() {
    let edges = [
        edge(1, RelationKind::DependsOn, 0),
        edge(0, RelationKind::Constrains, 2),
    ];
    let mut walk = Walk::new(nodes(&[0]), OPEN);
    let hub = walk.next().unwrap();
    walk.seen(&hub, named_of(&hub, &edges, |_| true));
    walk.stop_for_time();
    let impact = walk.finish();
    assert!(impact.cut.is_some_and(|cut| cut.time));
    let title = |number: usize| {
        let mut affected = impact.affected.iter();
        let one = affected.find(|one| one.node == decision(number)).unwrap();
        one.title.clone()
    };
    assert_eq!(title(1), Some(name_of(&decision(1)).title));
    assert_eq!(title(2), None);
}

/// Dependents of a hub, of which the last ones in the order of nodes are no normal ones: an axis, a lock, and one that the hub
/// itself constrains.
const DEPENDENTS: usize = 2_000;
const AXIS: usize = DEPENDENTS - 1;
const LOCK: usize = DEPENDENTS - 3;
const OWN: usize = DEPENDENTS - 5;

fn rank_of(node: &Node) -> Rank {
    match node {
        node if *node == decision(AXIS) => Rank::Axis,
        node if *node == decision(LOCK) => Rank::Lock,
        _ => Rank::Normal,
    }
}

/// The impact of that hub with room for so many, told of from the first to the last or the other way about.
fn of_a_ranked_hub(nodes_max: usize, reversed: bool) -> Impact {
    let limits = ImpactLimits { nodes_max, ..OPEN };
    let mut walk = Walk::new(vec![decision(0)], limits);
    let hub = walk.next().unwrap();
    let dependents = (1..=DEPENDENTS).map(|n| between_decisions(n, RelationKind::DependsOn, 0));
    let named = dependents.map(|edge| {
        let name = DecisionName {
            rank: rank_of(&edge.from),
            title: edge.from.to_string(),
        };
        let name = Some(name);
        NamedEdge { edge, name }
    });
    let mut into: Vec<NamedEdge> = named.collect();
    if reversed {
        into.reverse();
    }
    walk.part(&hub, into);
    walk.part(&hub, [between_decisions(0, RelationKind::Constrains, OWN)]);
    walk.seen(&hub, Seen::default());
    while let Some(node) = walk.next() {
        let seen = Seen {
            title: Some(node.to_string()),
            rank: Some(rank_of(&node)),
            ..Seen::default()
        };
        walk.seen(&node, seen);
    }
    walk.finish()
}

#[test]
fn for_axes_locks_and_what_a_decision_itself_says_there_is_room_before_what_is_normal() {
    for room in [3, 10, 1_000] {
        let impact = of_a_ranked_hub(room, false);
        assert_eq!(impact, of_a_ranked_hub(room, true), "in whatever order");
        let mut expected: Vec<Node> = (1..=DEPENDENTS).map(decision).collect();
        expected.sort();
        expected.truncate(room - 3);
        let mut first = [OWN, LOCK, AXIS].map(decision);
        first.sort();
        expected.extend(first);
        let told = impact.affected.iter();
        let nodes: Vec<&Node> = told.clone().map(|one| &one.node).collect();
        assert_eq!(nodes, expected.iter().collect::<Vec<_>>());
        assert!(
            told.clone()
                .all(|one| one.rank == Some(rank_of(&one.node)) && one.title.is_some())
        );
        let left_out = (DEPENDENTS - room) as u64;
        assert_eq!(impact.cut.map(|cut| cut.nodes), Some(left_out));
    }
}

#[test]
fn where_no_relation_is_read_any_more_what_decisions_say_themselves_is_followed() {
    let edges = [
        edge(0, RelationKind::Constrains, 1),
        edge(1, RelationKind::Constrains, 2),
        edge(3, RelationKind::DependsOn, 0),
    ];
    let limits = ImpactLimits {
        relations_max: 0,
        ..OPEN
    };
    let (impact, read) = walked_sparely(nodes(&[0]), limits, &edges);
    let reached: Vec<Node> = impact.affected.iter().map(|one| one.node.clone()).collect();
    assert_eq!((reached, read), (nodes(&[1, 2]), 0));
    let cut = Cut {
        relations: true,
        ..Cut::default()
    };
    assert_eq!(impact.cut, Some(cut));
}

#[test]
fn a_walk_that_runs_out_of_time_says_so_and_one_that_is_done_does_not() {
    let edges = [
        edge(0, RelationKind::Constrains, 1),
        edge(1, RelationKind::Constrains, 2),
        edge(2, RelationKind::Constrains, DECISIONS),
    ];
    for steps in 0..=3 {
        let mut walk = Walk::new(nodes(&[0]), OPEN);
        for _ in 0..steps {
            let node = walk.next().unwrap();
            walk.seen(&node, known_of(&node, &edges));
        }
        walk.stop_for_time();
        assert_eq!(walk.next(), None);
        let impact = walk.finish();
        assert_eq!(impact.affected.len(), steps);
        assert_eq!(impact.cut.is_some_and(|cut| cut.time), steps < 3);
    }
}

#[test]
fn time_also_runs_out_while_a_node_is_looked_at() {
    let mut walk = Walk::new(nodes(&[0]), OPEN);
    assert!(walk.next().is_some());
    walk.stop_for_time();
    walk.stop_for_time();
    let impact = walk.finish();
    assert!(impact.affected.is_empty() && impact.cut.is_some_and(|cut| cut.time));
}
