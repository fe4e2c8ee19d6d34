//! What is no query that reads, and is refused by its name.

use proptest::prelude::*;
use serde_json::Map;
use sillok_core::error::ErrorCode;
use sillok_graph::{GraphBuilder, GraphLimits, Scalar};

use crate::made::{LARGE, ask, decisions, limits, rows};

#[test]
fn what_writes_calls_or_loads_is_refused_by_its_name() {
    let graph = decisions();
    for (text, name) in [
        ("CREATE (n:X) RETURN n", "CREATE"),
        ("MATCH (a) CREATE (a)-[:E]->(b) RETURN b", "CREATE"),
        ("MERGE (n:X {a: 1}) RETURN n", "MERGE"),
        (
            "MERGE (n:X) ON CREATE SET n.a = 1 ON MATCH SET n.a = 2",
            "MERGE",
        ),
        ("MATCH (n) SET n.a = 1", "SET"),
        ("MATCH (n) SET n += {a: 1} RETURN n", "SET"),
        ("MATCH (n) SET n:Other RETURN n", "SET"),
        ("MATCH (n) DELETE n", "DELETE"),
        ("MATCH (n) DETACH DELETE n", "DELETE"),
        ("MATCH (n) REMOVE n.a RETURN n", "REMOVE"),
        ("MATCH (n) REMOVE n:Decision", "REMOVE"),
        ("MATCH (n) RETURN n SET n.a = 1", "SET"),
        ("MATCH (n) FOREACH (x IN [1] | SET n.a = x)", "FOREACH"),
        (
            "LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row",
            "LOAD CSV",
        ),
        (
            "LOAD CSV WITH HEADERS FROM 'http://a/b.csv' AS row RETURN row",
            "LOAD CSV",
        ),
        ("CALL db.labels()", "CALL"),
        ("CALL db.labels() YIELD label RETURN label", "CALL"),
        (
            "MATCH (n) CALL grafeo.pagerank({}) YIELD score RETURN score",
            "CALL",
        ),
        ("CALL { CREATE (n) RETURN n } RETURN n", "CALL"),
        (
            "MATCH (n) CALL (n) { MATCH (n)-->(m) RETURN m } RETURN m",
            "CALL",
        ),
        ("EXPLAIN MATCH (n) RETURN n", "EXPLAIN"),
        ("PROFILE MATCH (n) DELETE n", "PROFILE"),
        ("CREATE INDEX i FOR (n:X) ON (n.a)", "schema"),
        ("DROP INDEX i", "schema"),
        ("SHOW INDEXES", "SHOW"),
        ("SHOW CONSTRAINTS", "SHOW"),
        (
            "MATCH (n) WHERE EXISTS { MATCH (n) DELETE n } RETURN n",
            "syntax",
        ),
        ("RETURN COUNT { CREATE (n) } AS n", "syntax"),
        (
            "MATCH (n) RETURN n UNION MATCH (n) DELETE n RETURN n",
            "DELETE",
        ),
    ] {
        let error = ask(&graph, text).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{text}: {error}");
        assert!(error.message.contains(name), "{text}: {error}");
    }
}

#[test]
fn what_the_parser_does_not_know_is_refused_with_its_words() {
    let graph = decisions();
    for text in [
        "USE other MATCH (n) RETURN n",
        "BEGIN",
        "COMMIT",
        "DROP DATABASE neo4j",
        "ALTER CURRENT GRAPH SET GRAPH TYPE {}",
        "INSERT (:X)",
        "MATCH (n) RETURN n; MATCH (m) RETURN m",
        "",
        "   // nothing",
        "MATCH (n",
        "RETURN 'open",
        "MATCH (n) RETURN n.",
        "SELECT 1",
        "MATCH (n) RETURN n \u{0} x",
    ] {
        let error = ask(&graph, text).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{text}: {error}");
    }
}

#[test]
fn what_has_no_meaning_is_refused_before_anything_runs() {
    let graph = decisions();
    for text in [
        "MATCH (n)",
        "RETURN x",
        "MATCH (n) RETURN count(count(n))",
        "MATCH (n) WHERE count(n) > 1 RETURN n",
        "MATCH (n) RETURN n.a + count(*)",
        "MATCH (n) WITH n.a RETURN 1",
        "RETURN 1 AS a, 2 AS a",
        "RETURN 1 RETURN 2",
        "RETURN 1 LIMIT -1",
        "RETURN 1 LIMIT 'a'",
        "MATCH (n) RETURN n LIMIT n.version",
        "ORDER BY 1 RETURN 1",
        "RETURN unheard(1)",
        "RETURN rand()",
        "RETURN timestamp()",
        "RETURN datetime()",
        "RETURN size()",
        "RETURN toUpper(DISTINCT 'a')",
        "MATCH p = (a), p = (b) RETURN p",
        "MATCH (n) UNWIND [1] AS n RETURN n",
        "RETURN 'a' =~ '('",
        "MATCH (n) RETURN 'a' =~ n.node",
        "MATCH p = shortestPath((a)-[*2..]->(b)) RETURN p",
        "RETURN *",
        "RETURN [x IN [1, 2, 3] | sum(x)] AS l",
        "RETURN [x IN [1, 2, 3] WHERE count(x) > 1] AS l",
        "RETURN reduce(s = 0, x IN [1, 2] | s + max(x)) AS s",
        "RETURN all(x IN [1] WHERE count(*) > 0) AS it",
    ] {
        let error = ask(&graph, text).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{text}: {error}");
    }
}

#[test]
fn what_would_be_read_otherwise_than_it_is_meant_is_refused() {
    let graph = decisions();
    for condition in [
        "1 < d.version <= 3",
        "d.version = 1 = true",
        "d.node = 'a' <> 'b' AND true",
        "d.node = 'a' IN ['a']",
        "d.node = d.rank STARTS WITH 'l'",
        "d.node = d.rank ENDS WITH 'l'",
        "d.node = d.rank CONTAINS 'l'",
        "d.node = 'a' =~ 'a'",
        "d.version > 1 IS NULL",
        "d.version > 1 IS NOT NULL",
    ] {
        let text = format!("MATCH (d:Decision) WHERE {condition} RETURN d.node");
        let error = ask(&graph, &text).expect_err(&text);
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{text}: {error}");
        assert!(error.message.contains("AND"), "{text}: {error}");
    }
    for pattern in [
        "(a)<-[r]->(b)",
        "(a)<-[:DEPENDS_ON*1..3 {x: [1]}]->(b)",
        "(a)<-[r WHERE r.x[0] = 1]->(b)",
        "(a)->[r]-(b)",
        "(a)--[r]->(b)",
        "(a)<-->(b)",
        "(a)-[*4294967296]->(b)",
        "(a)-[*0x3]->(b)",
        "(a)-[r:DEPENDS_ON*1..4294967296]->(b)",
        "(a)<-[*..99999999999999999999]-(b)",
    ] {
        let text = format!("MATCH {pattern} RETURN count(*) AS n");
        let error = ask(&graph, &text).expect_err(&text);
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{text}: {error}");
    }
    // What looks alike is not.
    for (text, expected) in [
        ("RETURN [2 * 4294967296][0] AS n", 8_589_934_592_i64),
        ("RETURN [1, 2, 3][0..9999999999][2] AS n", 3),
        (
            "MATCH (a)-[r WHERE 2 * 4294967296 > 1]->(b) RETURN count(r) AS n",
            6,
        ),
        ("MATCH (a)-[*4294967295]->(b) RETURN count(*) AS n", 0),
        ("MATCH (a)<-[r]-(b)-->(c) RETURN count(r) AS n", 4),
        ("RETURN toInteger(3 - [x IN [2] | x * 1.5][0]) AS n", 0),
        ("RETURN 3 - [2 * 4294967296][0] AS n", -8_589_934_589),
        ("RETURN -[2 * 0x10][0] AS n", -32),
        (
            "MATCH (d:Decision) WHERE 1 < d.version AND d.version <= 3 RETURN count(d) AS n",
            2,
        ),
        (
            "MATCH (d:Decision) WHERE (d.node IN ['a']) = true RETURN count(d) AS n",
            1,
        ),
    ] {
        assert_eq!(
            rows(&graph, text),
            serde_json::json!([[expected]]),
            "{text}"
        );
    }
}

#[test]
fn what_an_expression_does_not_take_is_refused() {
    let graph = decisions();
    for expression in [
        "9223372036854775807 + 1",
        "-9223372036854775808 - 1",
        "9223372036854775807 * 2",
        "1 / 0",
        "1 % 0",
        "-9223372036854775808 / -1",
        "abs(-9223372036854775808)",
        "1 + true",
        "NOT 1",
        "1 AND true",
        "range(1, 2, 0)",
        "split('a', '')",
        "substring('a', -1)",
        "(1).a",
        "[x IN 1 | x]",
        "size(1)",
    ] {
        let error = ask(&graph, &format!("RETURN {expression} AS it")).unwrap_err();
        assert_eq!(
            error.code,
            ErrorCode::InvalidArgument,
            "{expression}: {error}"
        );
    }
}

#[test]
fn a_graph_stays_within_its_bounds() {
    let small = GraphLimits {
        nodes_max: 2,
        edges_max: 1,
        bytes_max: 1000,
    };
    let mut builder = GraphBuilder::new(small);
    let a = builder.add_node(&["X"], &[]).unwrap();
    let long = "x".repeat(1000);
    let error = builder.add_node(&["X"], &[("t", long.into())]).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    let b = builder.add_node(&["X"], &[("i", Scalar::Int(1))]).unwrap();
    let error = builder.add_node(&["X"], &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    builder.add_edge("E", a, b, &[]).unwrap();
    let error = builder.add_edge("E", b, a, &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    // What was refused has left nothing behind.
    let graph = builder.build();
    assert_eq!((graph.nodes(), graph.edges()), (2, 1));
    assert_eq!(
        rows(&graph, "MATCH (x) RETURN count(x.t) + count(x.i) AS n")[0][0],
        1
    );
    let mut other = GraphBuilder::new(LARGE);
    let error = other.add_edge("E", a, b, &[]).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}

const WORDS: &[&str] = &[
    "MATCH",
    "OPTIONAL",
    "WHERE",
    "RETURN",
    "WITH",
    "UNWIND",
    "AS",
    "ORDER BY",
    "SKIP",
    "LIMIT",
    "CREATE",
    "MERGE",
    "DELETE",
    "SET",
    "REMOVE",
    "AND",
    "OR",
    "XOR",
    "NOT",
    "IN",
    "IS",
    "NULL",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "DISTINCT",
    "EXISTS",
    "COUNT",
    "STARTS WITH",
    "CONTAINS",
    "CALL",
    "UNION",
    "ALL",
    "reduce",
    "shortestPath",
    "all",
    "range",
    "count",
    "collect",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ".",
    "..",
    "|",
    "$",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "=~",
    "->",
    "<-",
    "--",
    "a",
    "b",
    "n",
    "E",
    "N",
    "i",
    "1",
    "2",
    "0.5",
    "'x'",
    "\"",
    "'",
    "`",
    "`q`",
    "//",
    "/*",
    "é",
    "\u{0}",
    "\\",
    "(a)",
    "(n:N)",
    "-[r]->",
    "-[*]-",
    "a.i",
    "x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_words_in_any_order_are_answered_or_refused(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..24)
    ) {
        let graph = decisions();
        let before = rows(&graph, "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) RETURN a, r, b");
        let mut small = limits();
        small.steps_max = 20_000;
        let _ = graph.query(&words.join(" "), &Map::new(), &small);
        let after = rows(&graph, "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) RETURN a, r, b");
        prop_assert_eq!(before, after);
    }

    #[test]
    fn any_text_is_answered_or_refused(text in any::<String>()) {
        let mut small = limits();
        small.steps_max = 20_000;
        let _ = decisions().query(&text, &Map::new(), &small);
    }

    #[test]
    fn a_query_with_something_else_in_its_middle_is_answered_or_refused(
        at in 0usize..200,
        words in proptest::collection::vec(proptest::sample::select(WORDS), 1..4)
    ) {
        let text = "MATCH p = (a:Decision {rank: 'lock'})-[r:DEPENDS_ON*1..3]->(b) WHERE NOT (a)-->() OR \
                    all(x IN nodes(p) WHERE x.version > 1) WITH a, count(*) AS n ORDER BY n DESC LIMIT 3 \
                    RETURN a {.node, n: n}, [x IN range(1, n) | x] AS l";
        let at = at.min(text.len());
        let text = format!("{} {} {}", &text[..at], words.join(" "), &text[at..]);
        let mut small = limits();
        small.steps_max = 20_000;
        let _ = decisions().query(&text, &Map::new(), &small);
    }
}
