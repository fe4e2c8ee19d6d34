//! Each query ends, however it is meant: by its steps, its memory, its time, its rows or its bytes.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::{Map, json};
use sillok_core::error::{Error, ErrorCode};
use sillok_graph::{Cut, Graph, GraphBuilder, QUERY_BYTES_MAX, QueryLimits, Rows, Scalar, check};

use crate::made::{LARGE, ask, dense, limits, numbered, params, rows};

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
fn regular_expressions_are_bounded_before_they_are_made() {
    let graph = numbered(1, []);
    // What is in it is thrown away once it is made, and takes its time until then.
    let costs = |times: usize| format!("(?i){}", "[!-\u{10FFFF}]{0}".repeat(times));
    let matched = |pattern: String| {
        let given = params(json!({ "p": pattern }));
        graph.query("RETURN 'a' =~ $p AS it", &given, &limits())
    };
    for times in [23, 5900] {
        let error = matched(costs(times)).unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge, "{error}");
        assert!(error.message.contains("regular expression"), "{error}");
    }
    assert_eq!(matched(costs(22)).unwrap().rows, [[json!(false)]]);

    let each = |count: usize| {
        let each = (0..count).map(|i| format!("'a' =~ 'a{{0,{i}}}'"));
        format!("RETURN {} AS it", each.collect::<Vec<_>>().join(" OR "))
    };
    assert_eq!(rows(&graph, &each(8)), json!([[true]]));
    assert_eq!(ask(&graph, &each(9)).unwrap_err().code, ErrorCode::TooLarge);
    let same = format!("RETURN {} AS it", vec!["'a' =~ 'a+'"; 100].join(" AND "));
    assert_eq!(rows(&graph, &same), json!([[true]]));
}

#[test]
fn the_larger_a_regular_expression_is_the_less_it_is_held_against() {
    let graph = numbered(1, []);
    let matched = |pattern: &str, letters: usize, steps_max: u64| {
        let given = params(json!({ "p": pattern, "t": "a".repeat(letters) }));
        let few = QueryLimits {
            steps_max,
            ..limits()
        };
        graph.query("RETURN $t =~ $p AS it", &given, &few)
    };
    for (pattern, letters) in [("a+", 4096), (r"\w+", 1024), (r"\w+\w", 512)] {
        let all = limits().steps_max;
        assert_eq!(
            matched(pattern, letters, all).unwrap().rows,
            [[json!(true)]]
        );
        let error = matched(pattern, letters + 1, all).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{error}");
        assert!(error.message.contains(&letters.to_string()), "{error}");
        // The longest match is paid for with so much that the time is asked for before it and behind it.
        let error = matched(pattern, letters, 4096).unwrap_err();
        assert_eq!(error.code, ErrorCode::TooLarge, "{pattern}: {error}");
        assert!(error.message.contains("steps"), "{pattern}: {error}");
    }
    // Of two that are held against the same text, the larger one takes more.
    assert!(matched("a+", 60, 100).is_ok());
    assert!(matched(r"\w+", 60, 100).is_err());
}

#[test]
fn what_regular_expressions_hold_is_paid_for_once_each() {
    let graph = numbered(1, []);
    let given = |memory_max: usize, text: &str| {
        let few = QueryLimits {
            memory_max,
            ..limits()
        };
        graph.query(text, &Map::new(), &few)
    };
    let one = "RETURN 'a' =~ 'a+' AS it";
    let mut sizes = (0..=8 << 20).step_by(1 << 16);
    let least = sizes.find(|memory| given(*memory, one).is_ok()).unwrap();
    assert!(least > 1 << 20, "{least}");
    let same = "RETURN 'a' =~ 'a+' AND 'b' =~ 'a+' OR 'c' =~ 'a+' AS it";
    assert!(given(least, same).is_ok());
    let two = "RETURN 'a' =~ 'a+' AND 'b' =~ 'b+' AS it";
    let error = given(least, two).unwrap_err();
    assert!(error.message.contains("memory"), "{error}");
    assert!(given(2 * least, two).is_ok());
}

#[test]
fn of_larger_regular_expressions_fewer_fit_into_the_memory_of_a_query() {
    let graph = numbered(1, []);
    for (pattern, fitting) in [(r"\\w+", 7), (r"\\w+ \\w+", 3)] {
        // In further brackets it is another one of the same size.
        let one = |i| format!("'a' =~ '{}{pattern}{}'", "(?:".repeat(i), ")".repeat(i));
        let asked = |count: usize| {
            let each: Vec<String> = (0..count).map(one).collect();
            ask(&graph, &format!("RETURN {} AS it", each.join(" OR ")))
        };
        assert!(asked(fitting).is_ok(), "{pattern}");
        let error = asked(fitting + 1).unwrap_err();
        assert!(error.message.contains("memory"), "{pattern}: {error}");
    }
}

#[test]
fn no_regular_expression_is_made_once_the_time_is_over() {
    let text = "RETURN 'a' =~ 'a' OR 'a' =~ 'b' OR 'a' =~ 'a' AS it";
    let asked = Cell::new(0);
    for (most, fits) in [(0, false), (1, false), (2, true)] {
        asked.set(0);
        let is_over = || {
            asked.set(asked.get() + 1);
            asked.get() > most
        };
        let checked = check(text, &Map::new(), &is_over);
        assert_eq!(checked.is_ok(), fits, "{most}");
        assert_eq!(asked.get(), 2.min(most + 1), "{most}");
        if let Err(error) = checked {
            assert_eq!(error.code, ErrorCode::TooLarge);
            assert!(error.message.contains("time"), "{error}");
        }
    }
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

/// The memory of a query is refused long before what it would keep.
fn over_memory(graph: &Graph, text: &str) {
    let small = QueryLimits {
        memory_max: 1 << 20,
        ..limits()
    };
    let error = graph.query(text, &Map::new(), &small).expect_err(text);
    assert_eq!(error.code, ErrorCode::TooLarge, "{text}: {error}");
    assert!(error.message.contains("memory"), "{text}: {error}");
}

#[test]
fn what_is_kept_behind_a_walk_stays_paid_for() {
    let graph = numbered(5, [(0, 1), (1, 2), (2, 3), (3, 4)]);
    // A text of 16 KiB, 500 times.
    let texts = "WITH reduce(s = 'x', i IN range(1, 14) | s + s) AS t UNWIND range(1, 50) AS i";
    for walk in [
        "MATCH p = shortestPath((a)-[:E*]->(b))",
        "MATCH p = allShortestPaths((a)-[:E*]->(b))",
        "MATCH (a)-[:E*]->(b)",
    ] {
        for kept in [
            "WITH t + i + a.i + b.i AS s ORDER BY s RETURN count(s) AS n",
            "WITH DISTINCT t + i + a.i + b.i AS s RETURN count(s) AS n",
            "RETURN count(DISTINCT t + i + a.i + b.i) AS n",
            "WITH t + i + a.i + b.i AS s, count(DISTINCT b) AS n RETURN count(n) AS n",
            "RETURN DISTINCT t + i + b.i AS s ORDER BY s",
        ] {
            over_memory(&graph, &format!("{texts} {walk} {kept}"));
        }
    }
    let collected = "WITH reduce(s = 'x', i IN range(1, 18) | s + s) AS t MATCH (a {i: 0}) \
                     RETURN size([(a)-[:E*]->(b) | t + b.i]) AS n";
    over_memory(&graph, collected);
}

#[test]
fn a_branch_of_a_union_holds_nothing_of_those_before_it() {
    let mut builder = GraphBuilder::new(LARGE);
    let nodes: Vec<_> = (0..60)
        .map(|i| {
            let title = format!("{:0>200}", i * 7 % 60);
            builder
                .add_node(&["N"], &[("title", title.into())])
                .unwrap()
        })
        .collect();
    for ends in nodes.windows(2) {
        builder.add_edge("E", ends[0], ends[1], &[]).unwrap();
    }
    let graph = builder.build();
    let fits = |text: &str, memory_max: usize| {
        let few = QueryLimits {
            memory_max,
            ..limits()
        };
        match graph.query(text, &Map::new(), &few) {
            Ok(answer) => {
                assert_eq!(answer.cut, None, "{text}");
                true
            }
            Err(error) => {
                assert!(error.message.contains("memory"), "{text}: {error}");
                false
            }
        }
    };
    for branch in [
        // Rows that the filled limit did not come to.
        "MATCH (n) WITH n ORDER BY n.title WITH n LIMIT 1 RETURN n.title AS t",
        "MATCH (n) WITH n ORDER BY n.title LIMIT 3 RETURN n.title AS t",
        "MATCH (n) WITH n ORDER BY n.title SKIP 50 WITH n LIMIT 2 RETURN n.title AS t",
        // Walks that were left in their middle.
        "MATCH (n)-[*30..]->(m) WITH m LIMIT 1 RETURN m.title AS t",
        "MATCH (n)-[*30..]->(m) WITH m LIMIT 1 WITH m ORDER BY m.title RETURN m.title AS t",
        "MATCH p = shortestPath((n)-[*]->(m)) WHERE length(p) > 20 WITH m LIMIT 1 RETURN m.title AS t",
        "MATCH (n)-[*]->(m) WITH DISTINCT m LIMIT 40 RETURN m.title AS t",
        // What groups and single rows are told apart by.
        "MATCH (n) WITH n.title AS t, count(*) AS c WITH t LIMIT 1 RETURN t",
        "MATCH (n) WITH DISTINCT n.title AS t ORDER BY t RETURN t",
        "MATCH (n) WITH collect(n.title) AS l UNWIND l AS t WITH t LIMIT 1 RETURN t",
        "MATCH (n) RETURN n.title AS t LIMIT size(range(1, 20))",
    ] {
        // The least that it takes, to the byte.
        let (mut short, mut least) = (0, 1 << 20);
        assert!(fits(branch, least), "{branch}");
        while least - short > 1 {
            let middle = usize::midpoint(short, least);
            if fits(branch, middle) {
                least = middle;
            } else {
                short = middle;
            }
        }
        assert!(least > 500, "{branch}: {least}");
        let many = [branch; 8].join(" UNION ALL ");
        assert!(fits(&many, least), "{branch}: {least}");
    }
    // Where each row comes once, the answer's rows stay paid for.
    let rows = "MATCH (n) RETURN n.title AS t";
    let other = "MATCH (n) RETURN n.title + '!' AS t";
    assert!(fits(&format!("{rows} UNION {rows}"), 20_000));
    assert!(!fits(&format!("{rows} UNION {other}"), 20_000));
}

#[test]
fn what_a_row_held_is_let_go_with_it() {
    let shared: Arc<str> = "a text that is seen from here".into();
    let mut builder = GraphBuilder::new(LARGE);
    let text = Scalar::Text(Arc::clone(&shared));
    builder.add_node(&["N"], &[("t", text)]).unwrap();
    let graph = builder.build();
    let before = Arc::strong_count(&shared);
    for text in [
        // Behind a projection that has to see all rows.
        "MATCH (n) WITH n.t AS t ORDER BY t WITH count(t) AS c UNWIND range(1, 5000) AS x RETURN count(x) AS n",
        // While the next row is looked for.
        "UNWIND [0, 5000] AS k WITH size([x IN range(1, k) | x]) AS s MATCH (n) WITH n.t AS t RETURN count(t) AS n",
        "UNWIND [0, 5000] AS k WITH size([x IN range(1, k) | x]) AS s MATCH (n) UNWIND [n.t] AS t RETURN count(t) AS n",
        "UNWIND [0, 5000] AS k WITH size([x IN range(1, k) | x]) AS s MATCH (n) WHERE any(y IN [n.t] WHERE y <> '') \
         RETURN count(n) AS n",
        "MATCH (n) RETURN 1 AS c, n.t = '' AS e LIMIT 1 UNION ALL UNWIND range(1, 5000) AS x RETURN count(x) AS c, false AS e",
    ] {
        let (asked, most) = (Cell::new(0), Cell::new(0));
        let is_over = || {
            asked.set(asked.get() + 1);
            most.set(most.get().max(Arc::strong_count(&shared)));
            false
        };
        let seen = QueryLimits {
            is_over: &is_over,
            ..limits()
        };
        graph.query(text, &Map::new(), &seen).expect(text);
        assert!(asked.get() > 2, "{text}");
        assert_eq!(most.get(), before, "{text}");
    }
}

#[test]
fn what_is_shared_so_often_that_it_cannot_be_counted_is_refused() {
    let graph = numbered(1, []);
    let more = " WITH l + [x IN range(1, 1023) | l] AS l".repeat(6);
    for asked in [
        "RETURN l = l AS it",
        "RETURN l",
        "RETURN DISTINCT l",
        "RETURN size(l) AS n ORDER BY l",
        "RETURN l, count(*) AS n",
        "RETURN collect(DISTINCT l) AS all",
        "RETURN [l, {l: l}] = [l, {l: l}] AS it",
        "RETURN max(l) AS it",
    ] {
        let error = ask(&graph, &format!("WITH [1] AS l{more} {asked}")).expect_err(asked);
        assert_eq!(error.code, ErrorCode::TooLarge, "{asked}: {error}");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a stack of half the usual size, to be sure of the usual one"
)]
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread.spawn(run).unwrap().join().unwrap();
}
