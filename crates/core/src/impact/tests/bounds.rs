//! Where walks end: how many nodes are told, which relations are read, and time that runs out.

use super::*;

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
    for (dependents, left_out) in [(9_999, 0), (10_000, 0), (10_001, 1), (25_000, 10_000)] {
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
        let mut asked = Vec::new();
        let mut walk = Walk::new(nodes(&[0]), limits);
        while let Some(node) = walk.next() {
            walk.seen(&node, named_of(&node, &edges, says));
            asked.push(node);
        }
        let impact = walk.finish();
        assert!(impact.affected.iter().all(|one| one.title.is_some()));
        asked
    };
    let narrow = ImpactLimits {
        nodes_max: 5,
        ..OPEN
    };
    // The scope of 1, 3 and 5 lies inside, so that those come last, and for 5 there is no room.
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

#[test]
fn for_axes_locks_and_what_a_decision_itself_says_there_is_room_before_what_is_normal() {
    const MANY: usize = 2_000;
    let dependents = (1..=MANY).map(|n| between_decisions(n, RelationKind::DependsOn, 0));
    // The last of all in the order of nodes, and one of them in both directions.
    let (axis, lock, own) = (MANY - 1, MANY - 3, MANY - 5);
    let rank_of = |node: &Node| match node {
        node if *node == decision(axis) => Rank::Axis,
        node if *node == decision(lock) => Rank::Lock,
        _ => Rank::Normal,
    };
    let told = |rooms: usize, reversed: bool| {
        let limits = ImpactLimits {
            nodes_max: rooms,
            ..OPEN
        };
        let mut walk = Walk::new(vec![decision(0)], limits);
        let hub = walk.next().unwrap();
        let mut into: Vec<NamedEdge> = dependents
            .clone()
            .map(|edge| {
                let name = DecisionName {
                    rank: rank_of(&edge.from),
                    title: edge.from.to_string(),
                };
                let name = Some(name);
                NamedEdge { edge, name }
            })
            .collect();
        if reversed {
            into.reverse();
        }
        walk.part(&hub, into);
        walk.part(&hub, [between_decisions(0, RelationKind::Constrains, own)]);
        walk.seen(&hub, Seen::default());
        while let Some(node) = walk.next() {
            let rank = Some(rank_of(&node));
            let title = Some(node.to_string());
            walk.seen(
                &node,
                Seen {
                    title,
                    rank,
                    ..Seen::default()
                },
            );
        }
        walk.finish()
    };
    for rooms in [3, 10, 1_000] {
        let impact = told(rooms, false);
        assert_eq!(
            impact,
            told(rooms, true),
            "the order of relations does not matter"
        );
        let nodes: Vec<&Node> = impact.affected.iter().map(|one| &one.node).collect();
        assert!(nodes.is_sorted() && nodes.len() == rooms);
        for number in [axis, lock, own] {
            assert!(nodes.contains(&&decision(number)), "{number} of {rooms}");
        }
        let rest = nodes.iter().filter(|node| rank_of(node) == Rank::Normal);
        let mut expected: Vec<Node> = (1..=MANY).map(decision).collect();
        expected.sort();
        expected.truncate(rooms - 3);
        let rest: Vec<&Node> = rest
            .copied()
            .filter(|node| **node != decision(own))
            .collect();
        assert_eq!(rest, expected.iter().collect::<Vec<_>>());
        assert_eq!(impact.cut.map(|cut| cut.nodes), Some((MANY - rooms) as u64));
        let guards = impact
            .affected
            .iter()
            .filter(|one| one.rank != Some(Rank::Normal));
        assert_eq!(guards.count(), 2);
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
