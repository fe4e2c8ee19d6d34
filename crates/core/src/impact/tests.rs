//! Tests of the walk, against a closure that asks every relation again and again.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::decision::{DecisionName, DeclaredKind, NamedEdge, Reach, RelationKind};
use crate::id::DecisionId;
use crate::scope::Scope;

mod bounds;

/// The nodes of the small graphs: so many decisions, then two files, two symbols and two pieces of evidence.
const DECISIONS: usize = 8;
const PLACES: usize = 4;
const NODES: usize = DECISIONS + PLACES + 2;

const OPEN: ImpactLimits = ImpactLimits {
    nodes_max: usize::MAX,
    depth_max: u32::MAX,
    relations_max: usize::MAX,
};

fn decision(number: usize) -> Node {
    let scope = ["org/a", "org/a/project/p"][number % 2];
    let number = u64::try_from(number).unwrap();
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    Node::Decision {
        scope: Scope::parse(scope).unwrap(),
        root: DecisionId::from_bytes(bytes),
    }
}

fn node(number: usize) -> Node {
    let places = [
        "file:src/a.rs",
        "file:src/b.rs",
        "symbol:run",
        "symbol:run@src/a.rs",
        "evidence:org/a#00000000-0000-0000-0000-000000000001",
        "evidence:org/a/project/p#00000000-0000-0000-0000-000000000001",
    ];
    match number.checked_sub(DECISIONS) {
        None => decision(number),
        Some(place) => places[place].parse().unwrap(),
    }
}

fn nodes(numbers: &[usize]) -> Vec<Node> {
    numbers.iter().map(|number| node(*number)).collect()
}

/// A relation between two nodes; to a place, and to evidence, it is the one that there is.
fn edge(from: usize, kind: RelationKind, to: usize) -> Edge {
    let (from, to) = (node(from), node(to));
    let kind = match to {
        Node::Decision { .. } => kind,
        Node::File { .. } | Node::Symbol { .. } => RelationKind::AppliesTo,
        Node::Evidence { .. } => RelationKind::RestsOn,
    };
    Edge { from, kind, to }
}

/// A kind that is declared. Its name says nothing of its reach.
fn declared(name: &str, reach: Reach) -> RelationKind {
    let name = name.parse().unwrap();
    RelationKind::Declared(DeclaredKind { name, reach })
}

fn any_edges() -> impl Strategy<Value = Vec<Edge>> {
    let built_in = [
        RelationKind::DependsOn,
        RelationKind::Constrains,
        RelationKind::Validates,
    ];
    let built_in = proptest::sample::select(built_in.to_vec());
    let reaches = proptest::sample::select(Reach::ALL.to_vec());
    let names = proptest::sample::select(vec!["CAUSES", "BREAKS"]);
    let declared = (names, reaches).prop_map(|(name, reach)| declared(name, reach));
    let kinds = prop_oneof![built_in, declared];
    let one = (0..DECISIONS, kinds, 0..NODES).prop_map(|(from, kind, to)| edge(from, kind, to));
    proptest::collection::vec(one, 0..40)
}

fn any_start() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..NODES, 1..4)
}

fn only(edges: &[Edge], wanted: impl Fn(&Edge) -> bool) -> Vec<Edge> {
    edges.iter().filter(|edge| wanted(edge)).cloned().collect()
}

/// What a decision is called. Of each four in a row, two are locks, one of each scope.
fn name_of(node: &Node) -> DecisionName {
    let is_lock = matches!(node, Node::Decision { root, .. } if root.as_bytes()[15] & 2 != 0);
    DecisionName {
        rank: if is_lock { Rank::Lock } else { Rank::Normal },
        title: format!("title of {node}"),
    }
}

fn known_of(node: &Node, edges: &[Edge]) -> Seen {
    let into = only(edges, |edge| edge.to == *node).into_iter();
    let name = node.is_decision().then(|| name_of(node));
    Seen {
        out: only(edges, |edge| edge.from == *node),
        into: into.map(NamedEdge::from).collect(),
        rank: name.as_ref().map(|name| name.rank),
        title: name.map(|name| name.title),
    }
}

/// Which relations say the names of their decisions: some rows were written before they did.
fn says_as(edges: &[Edge], saying: u64) -> impl Fn(&Edge) -> bool {
    let which = edges.iter().cloned().enumerate().rev();
    let which: BTreeMap<Edge, usize> = which.map(|(at, edge)| (edge, at)).collect();
    move |edge| (saying >> which[edge]) & 1 == 1
}

/// The same, in which relations say the names of their decisions where `says` says so.
fn named_of(node: &Node, edges: &[Edge], says: impl Fn(&Edge) -> bool) -> Seen {
    let mut known = known_of(node, edges);
    for told in &mut known.into {
        told.name = says(&told.edge).then(|| name_of(&told.edge.from));
    }
    known
}

fn walked(start: Vec<Node>, limits: ImpactLimits, edges: &[Edge]) -> Impact {
    walked_named(start, limits, edges, |_| false).0
}

/// The same, with relations that say names: also which nodes were asked for.
fn walked_named(
    start: Vec<Node>,
    limits: ImpactLimits,
    edges: &[Edge],
    says: impl Fn(&Edge) -> bool,
) -> (Impact, Vec<Node>) {
    let mut asked = Vec::new();
    let mut walk = Walk::new(start, limits);
    while let Some(node) = walk.next() {
        walk.seen(&node, named_of(&node, edges, &says));
        asked.push(node);
    }
    (walk.finish(), asked)
}

/// Walks as [`walked`] does, and tells nothing that is not wanted: also how many relations to nodes were read for it.
fn walked_sparely(start: Vec<Node>, limits: ImpactLimits, edges: &[Edge]) -> (Impact, usize) {
    let mut read = 0;
    let mut walk = Walk::new(start, limits);
    while let Some(node) = walk.next() {
        let known = known_of(&node, edges);
        if !walk.is_cut() {
            walk.part(&node, known.out.iter().cloned());
        }
        for told in &known.into {
            if !walk.wants_relations(&node) || !walk.may_read() {
                break;
            }
            read += 1;
            if walk.follows_back(&node, told.edge.kind) {
                walk.part(&node, [told.clone()]);
            }
        }
        let bare = Seen {
            out: Vec::new(),
            into: Vec::new(),
            ..known
        };
        walk.seen(&node, bare);
    }
    (walk.finish(), read)
}

/// The ways over a relation, each from what changes to what that affects.
fn ways<'a>(edge: &'a Edge, start: &[Node]) -> Vec<(&'a Node, &'a Node)> {
    let Edge { from, kind, to } = edge;
    match kind {
        RelationKind::DependsOn => vec![(to, from)],
        RelationKind::Constrains | RelationKind::Validates => vec![(from, to)],
        RelationKind::AppliesTo if start.contains(to) => vec![(from, to), (to, from)],
        RelationKind::AppliesTo => vec![(from, to)],
        RelationKind::RestsOn if start.contains(to) => vec![(to, from)],
        RelationKind::RestsOn => vec![],
        RelationKind::Declared(kind) => match kind.reach {
            Reach::Forward => vec![(from, to)],
            Reach::Backward => vec![(to, from)],
            Reach::Both => vec![(from, to), (to, from)],
            Reach::Neither => vec![],
        },
    }
}

/// What a change of `start` affects, and over how many relations.
fn closure(start: &[Node], edges: &[Edge]) -> BTreeMap<Node, u32> {
    let mut depths: BTreeMap<Node, u32> = start.iter().map(|node| (node.clone(), 0)).collect();
    let mut depth = 0;
    loop {
        depth += 1;
        let mut reached = BTreeSet::new();
        for edge in edges {
            for (changed, affected) in ways(edge, start) {
                if depths.contains_key(changed) && !depths.contains_key(affected) {
                    reached.insert(affected.clone());
                }
            }
        }
        if reached.is_empty() {
            depths.retain(|_, depth| *depth > 0);
            return depths;
        }
        depths.extend(reached.into_iter().map(|node| (node, depth)));
    }
}

/// Where the path of an affected node comes from, each of its relations being gone back in turn.
fn origin_of(impact: &Impact, index: usize) -> Node {
    let mut at = impact.affected[index].node.clone();
    for edge in impact.path(index).into_iter().rev() {
        let forward = edge.to == at;
        assert!(forward || edge.from == at, "{edge} does not lead to {at}");
        let carries = match edge.kind {
            RelationKind::DependsOn | RelationKind::RestsOn => !forward,
            RelationKind::Constrains | RelationKind::Validates => forward,
            RelationKind::AppliesTo => true,
            RelationKind::Declared(kind) => match kind.reach {
                Reach::Forward => forward,
                Reach::Backward => !forward,
                Reach::Both => true,
                Reach::Neither => false,
            },
        };
        assert!(carries, "{edge} carries no change to {at}");
        let before = if forward { &edge.from } else { &edge.to };
        at = before.clone();
    }
    at
}

fn depths_of(impact: &Impact) -> BTreeMap<Node, u32> {
    let affected = impact.affected.iter();
    affected.map(|one| (one.node.clone(), one.depth)).collect()
}

proptest! {
    #[test]
    fn without_limits_a_walk_finds_the_closure_and_each_node_of_it_once(start in any_start(), edges in any_edges()) {
        let impact = walked(nodes(&start), OPEN, &edges);
        let depths = depths_of(&impact);
        prop_assert_eq!(depths.len(), impact.affected.len());
        prop_assert_eq!(depths, closure(&nodes(&start), &edges));
        prop_assert_eq!(impact.cut, None);
        prop_assert!(impact.affected.is_sorted_by_key(|one| one.depth));
        for one in &impact.affected {
            prop_assert_eq!(one.title.is_some(), one.node.is_decision());
            prop_assert_eq!(one.rank, one.node.is_decision().then(|| name_of(&one.node).rank));
        }
    }

    #[test]
    fn each_path_leads_from_the_start_over_as_many_relations_as_it_is_told(start in any_start(), edges in any_edges()) {
        let impact = walked(nodes(&start), OPEN, &edges);
        for (index, one) in impact.affected.iter().enumerate() {
            let path = impact.path(index);
            prop_assert_eq!(path.len(), usize::try_from(one.depth).unwrap());
            prop_assert_eq!(path.last(), Some(&&one.by));
            prop_assert!(impact.start.contains(&origin_of(&impact, index)));
        }
        prop_assert!(impact.path(impact.affected.len()).is_empty());
    }

    #[test]
    fn the_same_relations_give_the_same_bytes_in_whatever_order_they_are_told(
        start in any_start(),
        (edges, shuffled) in any_edges().prop_flat_map(|edges| (Just(edges.clone()), Just(edges).prop_shuffle())),
        saying in proptest::bits::u64::ANY,
        ahead in 1usize..5,
        part in 1usize..4,
        nodes_max in 1usize..12,
    ) {
        let says = says_as(&edges, saying);
        let limits = ImpactLimits { nodes_max, depth_max: 3, ..OPEN };
        let (at_once, _) = walked_named(nodes(&start), limits, &edges, &says);
        let mut walk = Walk::new(nodes(&start), limits);
        loop {
            let asked: Vec<Node> = core::iter::from_fn(|| walk.next()).take(ahead).collect();
            if asked.is_empty() {
                break;
            }
            for node in asked {
                let known = named_of(&node, &shuffled, &says);
                for edges in known.out.chunks(part) {
                    walk.part(&node, edges.iter().cloned());
                }
                for edges in known.into.chunks(part) {
                    walk.part(&node, edges.iter().cloned());
                }
                walk.seen(&node, Seen { out: Vec::new(), into: Vec::new(), ..known });
            }
        }
        let bytes = |impact: &Impact| postcard::to_allocvec(impact).unwrap();
        prop_assert_eq!(bytes(&at_once), bytes(&walk.finish()));
    }

    #[test]
    fn what_a_walk_does_not_want_makes_no_difference(
        start in any_start(), edges in any_edges(), nodes_max in 1usize..12, depth_max in 1u32..4,
    ) {
        let limits = ImpactLimits { nodes_max, depth_max, ..OPEN };
        let (spare, _) = walked_sparely(nodes(&start), limits, &edges);
        prop_assert_eq!(spare, walked(nodes(&start), limits, &edges));
    }

    #[test]
    fn relations_that_say_the_names_of_their_decisions_give_the_same_bytes_and_no_further_questions(
        start in any_start(),
        edges in any_edges(),
        saying in proptest::bits::u64::ANY,
        nodes_max in 1usize..12,
        depth_max in 1u32..4,
    ) {
        let says = says_as(&edges, saying);
        let limits = ImpactLimits { nodes_max, depth_max, ..OPEN };
        let told = |says: &dyn Fn(&Edge) -> bool| walked_named(nodes(&start), limits, &edges, says);
        let bytes = |impact: &Impact| postcard::to_allocvec(impact).unwrap();
        let (silent, asked) = told(&|_| false);
        let near = walked(nodes(&start), ImpactLimits { depth_max, ..OPEN }, &edges);
        for says in [&says as &dyn Fn(&Edge) -> bool, &|_| true] {
            let (named, named_asked) = told(says);
            // For which nodes there is room, the names decide.
            let is_full = silent.cut.is_some_and(|cut| cut.nodes > 0);
            prop_assert_eq!(&named.affected, &bounds::with_room(&near, &edges, says, nodes_max));
            prop_assert_eq!(named.cut, silent.cut);
            prop_assert!(is_full || bytes(&named) == bytes(&silent));
            prop_assert!(is_full || named_asked.iter().all(|node| asked.contains(node)));
            prop_assert!(named_asked.len() == asked.len() || silent.cut.is_some());
        }
        // As a closure finds them, each with its name.
        let near = closure(&nodes(&start), &edges);
        for one in &silent.affected {
            prop_assert_eq!(near.get(&one.node), Some(&one.depth));
            let name = one.node.is_decision().then(|| name_of(&one.node));
            prop_assert_eq!(&one.title, &name.map(|name| name.title));
        }
    }

    #[test]
    fn no_more_relations_are_read_than_the_limit_and_what_is_missing_for_that_is_told(
        start in any_start(), edges in any_edges(), relations_max in 0usize..20,
    ) {
        let (whole, needed) = walked_sparely(nodes(&start), OPEN, &edges);
        let limits = ImpactLimits { relations_max, ..OPEN };
        let (few, read) = walked_sparely(nodes(&start), limits, &edges);
        prop_assert_eq!(read, needed.min(relations_max));
        prop_assert_eq!(few.cut.is_some_and(|cut| cut.relations), needed > relations_max);
        let (whole_depths, depths) = (depths_of(&whole), depths_of(&few));
        prop_assert!(depths.keys().all(|node| whole_depths.contains_key(node)));
        prop_assert!(needed > relations_max || few == whole);
        // Of all that is told, it is known what it is.
        prop_assert!(few.affected.iter().all(|one| one.rank.is_some() == one.node.is_decision()));
    }

    #[test]
    fn what_does_not_hold_is_as_if_it_were_not_there(
        start in any_start(), edges in any_edges(), withdrawn in proptest::collection::btree_set(0..DECISIONS, 0..4),
    ) {
        let withdrawn: BTreeSet<Node> = withdrawn.into_iter().map(node).collect();
        let holds = |node: &Node| !withdrawn.contains(node);
        let of_active = only(&edges, |edge| holds(&edge.from));
        let mut walk = Walk::new(nodes(&start), OPEN);
        while let Some(node) = walk.next() {
            if holds(&node) {
                walk.seen(&node, known_of(&node, &of_active));
            } else {
                walk.gone(&node);
            }
        }
        let between = only(&of_active, |edge| holds(&edge.to));
        prop_assert_eq!(walk.finish(), walked(nodes(&start), OPEN, &between));
    }
}

/// Walks as [`walked`] does, and tells how many nodes were asked for.
fn steps_of(edges: &[Edge]) -> (Impact, usize) {
    let mut steps = 0;
    let mut walk = Walk::new(vec![decision(0)], OPEN);
    while let Some(node) = walk.next() {
        steps += 1;
        walk.seen(&node, known_of(&node, edges));
    }
    (walk.finish(), steps)
}

fn between_decisions(from: usize, kind: RelationKind, to: usize) -> Edge {
    Edge {
        from: decision(from),
        kind,
        to: decision(to),
    }
}

#[test]
fn a_walk_ends_on_a_cycle_and_looks_at_each_node_once() {
    const LONG: usize = 100;
    let ring = |n| between_decisions(n, RelationKind::DependsOn, (n + 1) % LONG);
    let (impact, steps) = steps_of(&(0..LONG).map(ring).collect::<Vec<_>>());
    assert_eq!((impact.affected.len(), steps), (LONG - 1, LONG));
    assert_eq!(impact.affected.last().unwrap().depth, 99);
    let itself = between_decisions(0, RelationKind::Constrains, 0);
    assert_eq!(steps_of(&[itself]).1, 1);
}

#[test]
fn over_a_declared_kind_a_change_goes_the_ways_that_its_reach_says() {
    let affected = |start: usize, reach: Reach| {
        let edges = [edge(0, declared("CAUSES", reach), 1)];
        depths_of(&walked(nodes(&[start]), OPEN, &edges))
    };
    for (reach, on, back) in [
        (Reach::Forward, true, false),
        (Reach::Backward, false, true),
        (Reach::Both, true, true),
        (Reach::Neither, false, false),
    ] {
        let reached = |number: usize| BTreeMap::from([(node(number), 1)]);
        let wanted = |goes: bool, number| {
            if goes {
                reached(number)
            } else {
                BTreeMap::new()
            }
        };
        assert_eq!(affected(0, reach), wanted(on, 1), "{reach}");
        assert_eq!(affected(1, reach), wanted(back, 0), "{reach}");
    }
}

#[test]
fn a_walk_over_declared_kinds_ends_on_a_cycle() {
    const LONG: usize = 101;
    for (reach, last, steps_most) in [
        (Reach::Forward, LONG - 1, LONG),
        (Reach::Backward, LONG - 1, LONG),
        // From both sides at once, so that it meets half-way.
        (Reach::Both, LONG / 2, LONG),
        (Reach::Neither, 0, 1),
    ] {
        let kind = declared("CAUSES", reach);
        let ring = |n| between_decisions(n, kind, (n + 1) % LONG);
        let (impact, steps) = steps_of(&(0..LONG).map(ring).collect::<Vec<_>>());
        assert_eq!(
            (impact.affected.len(), steps),
            (steps_most - 1, steps_most),
            "{reach}"
        );
        let deepest = impact.affected.last().map_or(0, |one| one.depth);
        assert_eq!(deepest, u32::try_from(last).unwrap(), "{reach}");
        let itself = between_decisions(0, kind, 0);
        assert_eq!(steps_of(&[itself]).1, 1, "{reach}");
    }
    // Two kinds close a circle that neither closes alone.
    let edges = [
        between_decisions(0, declared("CAUSES", Reach::Forward), 1),
        between_decisions(0, declared("BREAKS", Reach::Backward), 1),
    ];
    let (impact, steps) = steps_of(&edges);
    assert_eq!((impact.affected.len(), steps), (1, 2));
}

#[test]
fn a_walk_ends_where_everything_is_related_to_everything() {
    const MANY: usize = 60;
    let pairs = (0..MANY).flat_map(|from| (0..MANY).map(move |to| (from, to)));
    let edges: Vec<Edge> = pairs
        .flat_map(|(from, to)| {
            [RelationKind::Constrains, RelationKind::DependsOn]
                .map(|kind| between_decisions(from, kind, to))
        })
        .collect();
    let (impact, steps) = steps_of(&edges);
    assert_eq!((impact.affected.len(), steps), (MANY - 1, MANY));
    assert!(impact.affected.iter().all(|one| one.depth == 1));
    assert_eq!(impact.cut, None);
}

#[test]
fn a_file_that_is_merely_reached_ends_its_path() {
    let (a, b, file) = (node(0), node(1), node(DECISIONS));
    let applies = |from: &Node| Edge {
        from: from.clone(),
        kind: RelationKind::AppliesTo,
        to: file.clone(),
    };
    let edges = [applies(&a), applies(&b)];
    let affected = |start: &Node| {
        let impact = walked(vec![start.clone()], OPEN, &edges);
        depths_of(&impact).into_keys().collect::<Vec<Node>>()
    };
    assert_eq!(affected(&a), std::slice::from_ref(&file));
    // In the order of the scopes: b lies in the narrower one.
    assert_eq!(affected(&file), [a.clone(), b.clone()]);

    let mut walk = Walk::new(vec![a.clone()], OPEN);
    let first = walk.next().unwrap();
    walk.seen(&first, known_of(&first, &edges));
    assert_eq!(walk.next(), None, "nothing is to be learnt of the file");
}

#[test]
fn evidence_affects_what_rests_on_it_where_the_walk_starts_there_and_is_never_affected() {
    let evidence = DECISIONS + PLACES;
    let edges = [
        edge(0, RelationKind::RestsOn, evidence),
        edge(1, RelationKind::RestsOn, evidence),
        edge(2, RelationKind::DependsOn, 0),
        edge(3, RelationKind::RestsOn, evidence + 1),
    ];
    let affected = |start: usize| {
        let impact = walked(nodes(&[start]), OPEN, &edges);
        depths_of(&impact).into_keys().collect::<Vec<Node>>()
    };
    let mut all = nodes(&[0, 1, 2]);
    all.sort();
    assert_eq!(affected(evidence), all);
    assert_eq!(affected(evidence + 1), nodes(&[3]));
    assert_eq!(affected(0), nodes(&[2]));
    assert_eq!(affected(1), []);
}

#[test]
fn a_symbol_its_file_and_the_symbol_alone_are_three_nodes() {
    let places: Vec<usize> = (DECISIONS..DECISIONS + PLACES).collect();
    for place in &places {
        let edges = [edge(0, RelationKind::AppliesTo, *place)];
        for start in &places {
            let impact = walked(nodes(&[*start]), OPEN, &edges);
            assert_eq!(impact.affected.len(), usize::from(start == place));
        }
    }
}

#[test]
fn the_start_is_told_once_and_never_affected() {
    let edges = [
        edge(0, RelationKind::Constrains, 1),
        edge(1, RelationKind::Constrains, 0),
    ];
    let impact = walked(nodes(&[1, 0, 1]), OPEN, &edges);
    assert_eq!((impact.start, impact.affected), (nodes(&[1, 0]), vec![]));
}

#[test]
#[should_panic(expected = "in the order in which they were asked for")]
fn nodes_are_not_told_of_in_another_order() {
    let mut walk = Walk::new(nodes(&[0, 1]), OPEN);
    let (_, second) = (walk.next().unwrap(), walk.next().unwrap());
    walk.seen(&second, Seen::default());
}

#[test]
fn limits_that_are_none_or_beyond_the_greatest_are_refused() {
    let code = |nodes, depth| ImpactLimits::of(nodes, depth).map_err(|error| error.code);
    assert_eq!(code(None, None), Ok(ImpactLimits::default()));
    let few = ImpactLimits {
        nodes_max: 1,
        depth_max: 1,
        ..ImpactLimits::default()
    };
    assert_eq!(code(Some(1), Some(1)), Ok(few));
    assert_eq!(code(Some(0), None), Err(ErrorCode::InvalidArgument));
    assert_eq!(code(None, Some(0)), Err(ErrorCode::InvalidArgument));
    assert_eq!(code(Some(10_001), None), Err(ErrorCode::TooLarge));
    assert_eq!(code(None, Some(9)), Err(ErrorCode::TooLarge));
}
