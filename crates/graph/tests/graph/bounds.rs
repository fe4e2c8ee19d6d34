//! Each query ends, however it is meant: by its steps, its memory, its time, its rows or its bytes.

use std::cell::Cell;

use serde_json::{Map, Value, json};
use sillok_core::error::{Error, ErrorCode};
use sillok_graph::{Cut, Graph, QUERY_BYTES_MAX, QueryLimits, Rows};

use crate::made::{ask, dense, limits, numbered, params, rows};

/// Asks with a time that is over once it has been asked for so often.
fn within(graph: &Graph, text: &str, asked: u64) -> (Result<Rows, Error>, u64) {
    let count = Cell::new(0);
    let is_over = || {
        count.set(count.get() + 1);
        count.get() > asked
    };
    let limits = QueryLimits {
        steps_max: u64::MAX,
        is_over: &is_over,
        ..limits()
    };
    let answer = graph.query(text, &Map::new(), &limits);
    (answer, count.get())
}

#[test]
fn queries_without_an_end_end_with_their_time() {
    let graph = dense(60);
    for text in [
        "MATCH (a)-[r*]->(b) RETURN count(*) AS n",
        "MATCH (a)-[*]->(b) RETURN count(*) AS n",
        "MATCH p = (a)-[*]-(b) RETURN max(length(p)) AS n",
        "MATCH (a)-[*5..]->(b) RETURN DISTINCT b.i ORDER BY b.i",
        "MATCH (a), (b), (c), (d), (e), (f) RETURN count(*) AS n",
        "MATCH (a), (b), (c), (d), (e) WHERE a.i + b.i + c.i + d.i + e.i < 0 RETURN a.i",
        "MATCH (a)-->(b)-->(c)-->(d)-->(e)-->(f) RETURN count(*) AS n",
        "MATCH (a) OPTIONAL MATCH (b)-[r*]->(c) WHERE c.i < 0 RETURN count(*) AS n",
        "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b UNWIND range(1, 100000) AS c \
         RETURN count(*) AS n",
        "RETURN size([a IN range(1, 100000) | size([b IN range(1, 100000) WHERE b = a])]) AS n",
        "RETURN [a IN range(1, 100000) WHERE all(b IN range(1, 100000) WHERE b > 0)] AS n",
        "RETURN reduce(s = 0, a IN range(1, 100000) | reduce(t = 0, b IN range(1, 100000) | b)) AS n",
        "MATCH (a) WHERE EXISTS { MATCH (b)-[r*]->(c), (d) WHERE c.i < 0 } RETURN a",
        "MATCH (a) RETURN COUNT { (a)-[r*]->() } AS n",
        "MATCH p = allShortestPaths((a)-[*]-(b)), q = (c)-[r*]-(d) RETURN count(*) AS n",
        "WITH range(1, 100000) AS l UNWIND l AS x WITH l, x WHERE l <> l + x AND x IN l \
         RETURN count(DISTINCT l) AS n",
        "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y WITH DISTINCT 1 AS one RETURN count(one) AS n",
    ] {
        let (answer, asked) = within(&graph, text, 50);
        let error = answer.expect_err(text);
        assert_eq!(error.code, ErrorCode::TooLarge, "{text}: {error}");
        assert_eq!(asked, 51, "{text}: it went on behind its time");
    }
}

#[test]
fn the_same_queries_end_with_their_steps() {
    let graph = dense(60);
    let few = QueryLimits {
        steps_max: 100_000,
        ..limits()
    };
    let text = "MATCH (a)-[r*]->(b) RETURN count(*) AS n";
    let error = graph.query(text, &Map::new(), &few).unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
    // What was found before is told, and that there may be more.
    let text = "MATCH (a)-[*]->(b) RETURN b.i";
    let answer = graph.query(text, &Map::new(), &few).unwrap();
    assert_eq!(answer.cut, Some(Cut::Steps));
    assert!(answer.rows.len() > 1000);
    let again = graph.query(text, &Map::new(), &few).unwrap();
    assert_eq!(answer, again);
}

#[test]
fn queries_that_would_hold_much_are_refused_by_their_memory() {
    let graph = dense(60);
    for text in [
        "UNWIND range(1, 1000000000) AS x RETURN x",
        "RETURN range(1, 9223372036854775807) AS l",
        "RETURN range(-9223372036854775808, 9223372036854775807) AS l",
        "RETURN size(reduce(s = 'x', i IN range(1, 64) | s + s)) AS n",
        "RETURN size(reduce(s = [1], i IN range(1, 64) | s + s)) AS n",
        "WITH 'xxxxxxxxxxxxxxxx' AS s UNWIND range(1, 64) AS i WITH collect(s) AS l \
         RETURN size(reduce(t = '', x IN l | t + x + t + x)) AS n",
        "RETURN size(reduce(s = 'ab', i IN range(1, 64) | replace(s, 'b', s))) AS n",
        "UNWIND range(1, 1000000) AS x UNWIND range(1, 10) AS y RETURN x, y ORDER BY y DESC",
        "UNWIND range(1, 1000000) AS x UNWIND range(1, 10) AS y RETURN DISTINCT x, y SKIP 100000000",
        "UNWIND range(1, 1000000) AS x UNWIND range(1, 10) AS y RETURN count(DISTINCT x + y / 11.0) AS n",
        "UNWIND range(1, 1000000) AS x UNWIND range(1, 10) AS y RETURN collect(x) AS l",
        "MATCH (a), (b), (c), (d) WITH a, b, c, d, count(*) AS n RETURN count(*) AS n",
        "RETURN size([x IN range(1, 10000) | range(1, 10000)]) AS n",
        "RETURN reduce(s = 'a', x IN range(1, 60) | toUpper(s) + toLower(s)) AS s",
    ] {
        let many = QueryLimits {
            steps_max: u64::MAX,
            ..limits()
        };
        let error = graph.query(text, &Map::new(), &many).expect_err(text);
        assert_eq!(error.code, ErrorCode::TooLarge, "{text}: {error}");
        assert!(error.message.contains("memory"), "{text}: {error}");
    }
}

#[test]
fn a_regular_expression_is_bounded_in_itself_and_in_what_it_is_held_against() {
    let graph = numbered(1, []);
    let error = ask(
        &graph,
        "RETURN 'a' =~ '(((a{1,100}){1,100}){1,100}){1,100}' AS it",
    )
    .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    let long = "RETURN reduce(s = 'a', x IN range(1, 16) | s + s) =~ '(a|aa)+$' AS it";
    assert_eq!(
        ask(&graph, long).unwrap_err().code,
        ErrorCode::InvalidArgument
    );
}

#[test]
fn an_answer_is_cut_at_its_rows_and_at_its_bytes() {
    let graph = numbered(1000, []);
    let few = QueryLimits {
        rows_max: 10,
        ..limits()
    };
    let text = "MATCH (a) RETURN a.i ORDER BY a.i DESC";
    let answer = graph.query(text, &Map::new(), &few).unwrap();
    assert_eq!(answer.cut, Some(Cut::Rows));
    assert_eq!((answer.rows.len(), &answer.rows[0][0]), (10, &json!(999)));
    let exact = "MATCH (a) RETURN a.i LIMIT 10";
    assert_eq!(graph.query(exact, &Map::new(), &few).unwrap().cut, None);
    let short = QueryLimits {
        bytes_max: 500,
        ..limits()
    };
    let answer = graph
        .query("MATCH (a) RETURN a", &Map::new(), &short)
        .unwrap();
    assert_eq!(answer.cut, Some(Cut::Bytes));
    let bytes: usize = answer
        .rows
        .iter()
        .map(|row| json!(row).to_string().len())
        .sum();
    assert!(bytes <= 500 && bytes > 300, "{bytes}");
    // Were it told as an answer, it would read as if there were nothing.
    let error = graph
        .query("MATCH (a) RETURN collect(a) AS l", &Map::new(), &short)
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::TooLarge);
}

/// What opens, what lies in the middle and what closes.
const NESTED: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{a: ", "1", "}"),
    ("size(", "'a'", ")"),
    ("NOT ", "true", ""),
    ("- ", "1", ""),
    ("+", "1", ""),
    ("1 + ", "1", ""),
    ("1 ^ ", "1", ""),
    ("true AND ", "true", ""),
    ("", "a", ".b"),
    ("", "[1]", "[0]"),
    ("", "1", " IS NULL"),
    ("CASE WHEN true THEN ", "1", " END"),
    ("CASE WHEN end THEN ", "1", " END"),
    ("reduce(a = ", "1", ", x IN [] | 1)"),
    ("reduce(a = ", "1", ")"),
    ("[(a {x: ", "1", "})]"),
    ("[(a)-[r WHERE ", "true", "]->(b)]"),
    ("[(a)-->(b) WHERE ", "true", " | 1]"),
    ("(a {x: ", "1", "})-->()"),
    ("all(x IN ", "[1]", " WHERE true)"),
    ("[x IN ", "[1]", " | x]"),
    ("EXISTS { MATCH (a) WHERE ", "true", " }"),
    ("COUNT { (a) WHERE ", "true", " }"),
    ("a {.b, c: ", "1", "}"),
    ("((a", "", ":A:B):A:B)"),
    ("CASE WHEN true THEN ", "a", " END:A:B"),
    ("a", "", ":A"),
];

#[test]
fn texts_that_lie_deep_in_themselves_are_refused_by_a_small_stack() {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let mut texts = Vec::new();
    for times in [10, 24, 25, 100, 1000, 2000, 8000] {
        for (open, inner, close) in NESTED {
            texts.push(format!(
                "RETURN {} AS it",
                nested(open, inner, close, times)
            ));
            texts.push(format!(
                "MATCH (a) RETURN {} AS it",
                nested(open, inner, close, times)
            ));
        }
        texts.push(format!("MATCH (a){} RETURN 1", "-->(a)".repeat(times)));
        texts.push(format!("MATCH (a){} RETURN 1", ", (a)".repeat(times)));
        texts.push(format!("MATCH (a) {} RETURN 1", "WITH a ".repeat(times)));
        texts.push(format!(
            "MATCH (a) {} RETURN 1",
            "MATCH (a)-->(a) ".repeat(times)
        ));
        texts.push(format!("RETURN 1 {}", "UNION RETURN 1 ".repeat(times)));
        texts.push(format!("{}RETURN 1", "EXPLAIN ".repeat(times)));
        texts.push("(".repeat(times));
        texts.push("RETURN ".to_owned() + &"[(".repeat(times));
    }
    on_a_small_stack(move || {
        let graph = dense(3);
        let small = QueryLimits {
            steps_max: 100_000,
            ..limits()
        };
        let (mut answered, mut refused) = (0, 0);
        for text in &texts {
            match graph.query(text, &Map::new(), &small) {
                Ok(_) => answered += 1,
                Err(error) => {
                    refused += 1;
                    let fits = [ErrorCode::InvalidArgument, ErrorCode::TooLarge];
                    assert!(fits.contains(&error.code), "{error}");
                }
            }
        }
        assert!(answered > 50 && refused > 200, "{answered} {refused}");
    });
}

#[test]
fn the_longest_ways_through_a_plan_fit_a_small_stack() {
    on_a_small_stack(|| {
        // One edge from each node to itself and to the next: 60 edges, one after the other.
        let graph = numbered(61, (0..60).map(|i| (i, i + 1)));
        let hops = format!(
            "MATCH (a {{i: 0}}){} RETURN count(*) AS n",
            "-->()".repeat(60)
        );
        assert_eq!(rows(&graph, &hops), json!([[1]]));
        let clauses = format!(
            "MATCH (a {{i: 0}}) {} RETURN a.i",
            "WITH a WHERE a.i = 0 ".repeat(60)
        );
        assert_eq!(rows(&graph, &clauses), json!([[0]]));
        let mut inner = "a.i >= 0".to_owned();
        for at in 0..11 {
            inner = format!("EXISTS {{ MATCH (x{at})-->(y{at}) WHERE {inner} }}");
        }
        let deep = format!("MATCH (a) WHERE {inner} RETURN count(*) AS n");
        assert_eq!(rows(&graph, &deep), json!([[61]]));
        let conditions = vec!["a.i >= 0"; 500].join(" AND ");
        let many = format!("MATCH (a) WHERE {conditions} RETURN count(*) AS n");
        assert_eq!(rows(&graph, &many), json!([[61]]));
        let sum = format!("RETURN {} AS n", vec!["1"; 2000].join(" + "));
        assert_eq!(rows(&graph, &sum), json!([[2000]]));
    });
}

#[test]
fn values_that_lie_deep_in_themselves_are_refused() {
    let graph = numbered(1, []);
    let error = ask(
        &graph,
        "RETURN reduce(l = [], x IN range(1, 100000) | [l]) AS l",
    )
    .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    let error = ask(
        &graph,
        "RETURN reduce(l = {}, x IN range(1, 100000) | {a: l}) AS l",
    )
    .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let given = params(json!({ "deep": deep }));
    let error = graph
        .query("RETURN $deep AS it", &given, &limits())
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}

#[test]
fn a_text_of_a_megabyte_is_refused_unread() {
    let graph = numbered(1, []);
    for text in [
        format!("RETURN '{}' AS s", "x".repeat(1 << 20)),
        "(".repeat(1 << 20),
        " ".repeat(QUERY_BYTES_MAX + 1),
    ] {
        assert_eq!(ask(&graph, &text).unwrap_err().code, ErrorCode::TooLarge);
    }
    let commas = format!("RETURN [{}1] AS l", "1,".repeat(4000));
    assert_eq!(ask(&graph, &commas).unwrap_err().code, ErrorCode::TooLarge);
}

#[test]
fn no_query_changes_the_graph() {
    let graph = dense(4);
    let all = "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) RETURN a, r, b";
    let before = rows(&graph, all);
    for text in [
        "MATCH (a) SET a.i = 7 RETURN a",
        "MATCH (a)-[r*]->(b) RETURN count(*) AS n",
        "CREATE (a:N)",
        "MATCH (a) DETACH DELETE a",
        "MATCH (a) RETURN a {.*, i: 8} AS a",
        "UNWIND range(1, 1000000000) AS x RETURN x",
    ] {
        let _: Result<Rows, Error> = ask(&graph, text);
        assert_eq!(rows(&graph, all), before, "{text}");
    }
    assert_eq!(before.as_array().map(Vec::len), Some(16));
    assert_eq!(before[0][0]["properties"], json!({"i": 0}));
    assert!(matches!(before[0][1], Value::Object(_)));
}

#[expect(
    clippy::disallowed_methods,
    reason = "a stack of half the usual size, to be sure of the usual one"
)]
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(run).unwrap().join().unwrap();
}
