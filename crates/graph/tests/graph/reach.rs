//! What is reached, held against a closure that is worked out in the plainest way.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::made::{ask, dense, limits, numbered, rows};

type Edges = Vec<(usize, usize)>;

/// Pairs of nodes between which there is a walk of `min` to `max` edges, no edge twice.
fn walks(nodes: usize, edges: &Edges, both: bool, min: usize, max: usize) -> BTreeSet<(u64, u64)> {
    fn go(
        edges: &Edges,
        both: bool,
        here: usize,
        used: &mut Vec<usize>,
        bounds: (usize, usize),
        found: &mut BTreeSet<usize>,
    ) {
        if used.len() >= bounds.0 {
            found.insert(here);
        }
        if used.len() == bounds.1 {
            return;
        }
        for (at, (from, to)) in edges.iter().enumerate() {
            if used.contains(&at) {
                continue;
            }
            let along = (*from == here).then_some(*to);
            let against = (both && *to == here).then_some(*from);
            for other in along.into_iter().chain(against) {
                used.push(at);
                go(edges, both, other, used, bounds, found);
                used.pop();
            }
        }
    }
    let mut all = BTreeSet::new();
    for start in 0..nodes {
        let mut found = BTreeSet::new();
        go(edges, both, start, &mut Vec::new(), (min, max), &mut found);
        let start = u64::try_from(start).unwrap();
        all.extend(
            found
                .into_iter()
                .map(|end| (start, u64::try_from(end).unwrap())),
        );
    }
    all
}

fn pairs(rows: &Value) -> Vec<(u64, u64)> {
    let number = |v: &Value| v.as_u64().unwrap();
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| (number(&row[0]), number(&row[1]))).collect()
}

fn graphs() -> impl Strategy<Value = (usize, Edges)> {
    (1usize..6).prop_flat_map(|nodes| {
        let edges = proptest::collection::vec((0..nodes, 0..nodes), 0..8);
        (Just(nodes), edges)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_reached_is_what_a_naive_closure_reaches(
        (nodes, edges) in graphs(),
        min in 0usize..2,
        max in proptest::option::of(1usize..4),
        both in any::<bool>(),
    ) {
        let graph = numbered(nodes, edges.clone());
        let wanted = walks(nodes, &edges, both, min, max.unwrap_or(edges.len()));
        let arrow = if both { "-" } else { "->" };
        let max = max.map(|n| n.to_string()).unwrap_or_default();
        // Each node once, and by all walks: the same nodes.
        let once = format!("MATCH (a)-[*{min}..{max}]{arrow}(b) RETURN DISTINCT a.i, b.i");
        let all = format!("MATCH (a)-[r*{min}..{max}]{arrow}(b) RETURN a.i, b.i");
        let from_the_end =
            format!("MATCH (b) WITH b MATCH (a)-[*{min}..{max}]{arrow}(b) RETURN DISTINCT a.i, b.i");
        let exists = format!(
            "MATCH (a), (b) WHERE EXISTS {{ MATCH (a)-[*{min}..{max}]{arrow}(b) }} RETURN a.i, b.i"
        );
        for text in [&once, &from_the_end, &exists] {
            let found = pairs(&rows(&graph, text));
            let set: BTreeSet<_> = found.iter().copied().collect();
            prop_assert_eq!(set.len(), found.len(), "{}", text);
            prop_assert_eq!(&set, &wanted, "{}", text);
        }
        let set: BTreeSet<_> = pairs(&rows(&graph, &all)).into_iter().collect();
        prop_assert_eq!(&set, &wanted, "{}", all);
    }

    #[test]
    fn a_shortest_path_is_as_long_as_the_shortest_walk(
        (nodes, edges) in graphs(),
        both in any::<bool>(),
    ) {
        let graph = numbered(nodes, edges.clone());
        let arrow = if both { "-" } else { "->" };
        let text = format!(
            "MATCH p = shortestPath((a)-[*]{arrow}(b)) RETURN a.i, b.i, length(p)"
        );
        let answer = rows(&graph, &text);
        let found = pairs(&answer);
        for (row, pair) in answer.as_array().unwrap().iter().zip(&found) {
            let length = usize::try_from(row[2].as_u64().unwrap()).unwrap();
            prop_assert!(walks(nodes, &edges, both, 1, length).contains(pair));
            prop_assert!(!walks(nodes, &edges, both, 1, length - 1).contains(pair) || length == 1);
        }
        let mut wanted = walks(nodes, &edges, both, 1, edges.len());
        wanted.retain(|(a, b)| a != b);
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
    }
}

#[test]
fn what_a_dense_graph_with_cycles_reaches_is_told_whole() {
    let graph = dense(60);
    let all = rows(
        &graph,
        "MATCH (a {i: 1})-[*]->(b) RETURN count(DISTINCT b) AS n",
    );
    assert_eq!(all, json!([[60]]));
    let pairs = rows(&graph, "MATCH (a)-[*]->(b) RETURN DISTINCT a.i, b.i");
    assert_eq!(pairs.as_array().unwrap().len(), 3600);
}

#[test]
fn a_chain_as_long_as_the_graph_is_walked_to_its_end() {
    let graph = numbered(50_000, (0..49_999).map(|i| (i, i + 1)));
    let text = "MATCH (a {i: 0})-[r*]->(b) WHERE b.i = 49999 RETURN b.i LIMIT 1";
    let mut large = limits();
    large.steps_max = u64::MAX;
    large.memory_max = usize::MAX;
    let once = rows(
        &graph,
        "MATCH (a {i: 0})-[*]->(b) RETURN count(DISTINCT b) AS n",
    );
    assert_eq!(once, json!([[49_999]]));
    // Every walk keeps its edges: bounded by memory and steps, not by the stack.
    let answer = ask(&graph, text);
    assert!(answer.is_err(), "{answer:?}");
    let shortest = "MATCH p = shortestPath((a {i: 0})-[*]->(b {i: 49999})) RETURN length(p)";
    let answer = graph.query(shortest, &Map::new(), &large).unwrap();
    assert_eq!(json!(answer.rows), json!([[49_999]]));
}
