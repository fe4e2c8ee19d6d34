//! The graphs that are asked, and how they are asked.

use serde_json::{Map, Value, json};
use sillok_core::error::Error;
use sillok_graph::{Graph, GraphBuilder, GraphLimits, QueryLimits, Rows, Scalar};

pub(crate) const LARGE: GraphLimits = GraphLimits {
    nodes_max: 1_000_000,
    edges_max: 1_000_000,
    bytes_max: 1 << 30,
};

/// So many nodes of label `N` with their number as `i`, and edges of kind `E` between them.
pub(crate) fn numbered(nodes: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> Graph {
    let mut builder = GraphBuilder::new(LARGE);
    let refs: Vec<_> = (0..nodes)
        .map(|i| {
            let i = Scalar::Int(i64::try_from(i).unwrap());
            builder.add_node(&["N"], &[("i", i)]).unwrap()
        })
        .collect();
    for (from, to) in edges {
        builder.add_edge("E", refs[from], refs[to], &[]).unwrap();
    }
    builder.build()
}

/// Each of these nodes has an edge to each, itself too.
pub(crate) fn dense(nodes: usize) -> Graph {
    let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
    numbered(nodes, pairs)
}

/// Four decisions, two files and a symbol.
pub(crate) fn decisions() -> Graph {
    let mut builder = GraphBuilder::new(LARGE);
    let mut decision = |node: &str, rank: &str, version: i64| {
        let properties = [
            ("node", node.into()),
            ("rank", rank.into()),
            ("version", Scalar::Int(version)),
        ];
        builder.add_node(&["Decision"], &properties).unwrap()
    };
    let (a, b) = (decision("a", "policy", 1), decision("b", "lock", 2));
    let (c, d) = (decision("c", "lock", 3), decision("d", "choice", 1));
    let file = |builder: &mut GraphBuilder, path: &str| {
        builder
            .add_node(&["File"], &[("path", path.into())])
            .unwrap()
    };
    let main = file(&mut builder, "src/main.rs");
    let lib = file(&mut builder, "src/lib.rs");
    let symbol = [("name", "run".into()), ("file", "src/lib.rs".into())];
    let symbol = builder.add_node(&["Symbol", "Code"], &symbol).unwrap();
    let mut edge = |kind: &str, from, to| builder.add_edge(kind, from, to, &[]).unwrap();
    edge("DEPENDS_ON", b, a);
    edge("DEPENDS_ON", c, b);
    edge("APPLIES_TO", a, main);
    edge("APPLIES_TO", b, lib);
    edge("APPLIES_TO", c, symbol);
    let sure = [("confidence", Scalar::Float(0.75))];
    builder.add_edge("CAUSED", d, c, &sure).unwrap();
    builder.build()
}

pub(crate) fn limits() -> QueryLimits<'static> {
    QueryLimits {
        rows_max: 100_000,
        bytes_max: 16 << 20,
        steps_max: 20_000_000,
        memory_max: 64 << 20,
        is_over: &|| false,
    }
}

pub(crate) fn params(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no map"),
    }
}

pub(crate) fn ask(graph: &Graph, text: &str) -> Result<Rows, Error> {
    graph.query(text, &Map::new(), &limits())
}

/// The rows of an answer that is whole.
pub(crate) fn rows(graph: &Graph, text: &str) -> Value {
    let answer = ask(graph, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(answer.cut, None, "{text}");
    json!(answer.rows)
}

/// The one value of an answer.
pub(crate) fn value(graph: &Graph, expression: &str) -> Value {
    let rows = rows(graph, &format!("RETURN {expression} AS it"));
    rows[0][0].clone()
}
