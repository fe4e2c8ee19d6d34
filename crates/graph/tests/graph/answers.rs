//! What queries answer.

use serde_json::{Map, json};

use crate::made::{ask, decisions, limits, numbered, params, rows, value};

#[test]
fn a_match_follows_edges_as_they_point() {
    let graph = decisions();
    let out = "MATCH (d:Decision {node: 'b'})-[r]->(x) RETURN type(r), coalesce(x.node, x.path)";
    assert_eq!(
        rows(&graph, out),
        json!([["DEPENDS_ON", "a"], ["APPLIES_TO", "src/lib.rs"]])
    );
    let into = "MATCH (d {node: 'b'})<-[:DEPENDS_ON|CAUSED]-(x) RETURN x.node";
    assert_eq!(rows(&graph, into), json!([["c"]]));
    let both = "MATCH ({node: 'b'})-[:DEPENDS_ON]-(x) RETURN x.node ORDER BY x.node";
    assert_eq!(rows(&graph, both), json!([["a"], ["c"]]));
}

#[test]
fn labels_narrow_and_several_are_joined_by_and() {
    let graph = decisions();
    assert_eq!(
        rows(&graph, "MATCH (x:Code:Symbol) RETURN x.name"),
        json!([["run"]])
    );
    assert_eq!(rows(&graph, "MATCH (x:Code:File) RETURN x"), json!([]));
    assert_eq!(rows(&graph, "MATCH (x:Nothing) RETURN x"), json!([]));
    let asked = "MATCH (x) WHERE x:File OR x:Symbol RETURN count(x) AS n";
    assert_eq!(rows(&graph, asked), json!([[3]]));
}

#[test]
fn a_node_an_edge_and_a_path_are_told_whole() {
    let graph = decisions();
    let answer = rows(&graph, "MATCH p = ({node: 'd'})-[r]->(c) RETURN c, r, p");
    let c = json!({"id": 2, "labels": ["Decision"],
        "properties": {"node": "c", "rank": "lock", "version": 3}});
    let r = json!({"id": 5, "type": "CAUSED", "from": 3, "to": 2,
        "properties": {"confidence": 0.75}});
    assert_eq!(answer[0][0], c);
    assert_eq!(answer[0][1], r);
    assert_eq!(answer[0][2]["nodes"][1], c);
    assert_eq!(answer[0][2]["relationships"], json!([r]));
}

#[test]
fn an_optional_match_that_finds_nothing_is_null() {
    let graph = decisions();
    let text = "MATCH (d:Decision) OPTIONAL MATCH (d)-[:APPLIES_TO]->(f:File) WHERE f.path <> 'src/lib.rs' \
                RETURN d.node, f.path ORDER BY d.node";
    assert_eq!(
        rows(&graph, text),
        json!([["a", "src/main.rs"], ["b", null], ["c", null], ["d", null]])
    );
}

#[test]
fn one_match_goes_along_an_edge_once_and_two_matches_may_go_twice() {
    let graph = numbered(2, [(0, 1)]);
    assert_eq!(
        rows(&graph, "MATCH (a)-[r]-(b)-[s]-(c) RETURN a.i"),
        json!([])
    );
    let twice = "MATCH (a)-[r]-(b) MATCH (b)-[s]-(c) RETURN a.i, c.i";
    assert_eq!(rows(&graph, twice), json!([[0, 0], [1, 1]]));
    assert_eq!(
        rows(&graph, "MATCH (a)-[r]->(b), (c)-[s]->(d) RETURN a.i"),
        json!([])
    );
}

#[test]
fn groups_are_made_by_what_is_no_aggregate() {
    let graph = decisions();
    let text = "MATCH (d:Decision) RETURN d.rank AS rank, count(*) AS n, max(d.version) AS v, \
                collect(d.node) AS all ORDER BY n DESC, rank";
    assert_eq!(
        rows(&graph, text),
        json!([
            ["lock", 2, 3, ["b", "c"]],
            ["choice", 1, 1, ["d"]],
            ["policy", 1, 1, ["a"]]
        ])
    );
    let none =
        "MATCH (x:Nothing) RETURN count(*) AS n, sum(x.a) AS s, avg(x.a) AS m, min(x.a) AS l";
    assert_eq!(rows(&graph, none), json!([[0, 0, null, null]]));
    let divided = "MATCH (x:Nothing) RETURN x.rank, count(*)";
    assert_eq!(rows(&graph, divided), json!([]));
    let distinct = "MATCH (d:Decision) RETURN count(DISTINCT d.rank) + 1 AS n";
    assert_eq!(rows(&graph, distinct), json!([[4]]));
    let beside = "MATCH (d:Decision)-->(x) RETURN d, d.version + count(x) AS n ORDER BY d.node";
    let beside = rows(&graph, beside);
    let sums: Vec<_> = (0..4).map(|i| beside[i][1].clone()).collect();
    assert_eq!(json!(sums), json!([2, 4, 5, 2]));
}

#[test]
fn with_hands_on_what_it_names_and_filters_behind_its_groups() {
    let graph = decisions();
    let text = "MATCH (d:Decision)-->(x) WITH d, count(x) AS n WHERE n > 1 \
                MATCH (d)-[:DEPENDS_ON]->(e) RETURN d.node, n, e.node ORDER BY d.node";
    assert_eq!(rows(&graph, text), json!([["b", 2, "a"], ["c", 2, "b"]]));
    let first = "MATCH (d:Decision) WITH d ORDER BY d.version DESC, d.node LIMIT 2 WHERE d.node <> 'x' \
                 RETURN d.node";
    assert_eq!(rows(&graph, first), json!([["c"], ["b"]]));
    let gone = ask(&graph, "MATCH (d) WITH d.node AS n RETURN d").unwrap_err();
    assert!(gone.message.contains("`d` is not defined"), "{gone}");
}

#[test]
fn order_has_a_place_for_all_values_and_null_is_last() {
    let graph = numbered(1, []);
    let text = "UNWIND [2, null, 'b', 1.5, true, [1], 'a'] AS x RETURN x ORDER BY x";
    assert_eq!(
        rows(&graph, text),
        json!([[[1]], ["a"], ["b"], [true], [1.5], [2], [null]])
    );
    let text = "UNWIND range(1, 5000) AS x RETURN x ORDER BY x % 10, x DESC SKIP 1 LIMIT 2";
    assert_eq!(rows(&graph, text), json!([[4990], [4980]]));
}

#[test]
fn the_first_rows_of_a_long_order_are_those_of_the_whole_one() {
    let graph = numbered(1, []);
    let part = "UNWIND range(1, 20000) AS x RETURN x, x * 7919 % 10007 AS y ORDER BY y, x LIMIT 5";
    let all = "UNWIND range(1, 20000) AS x RETURN x, x * 7919 % 10007 AS y ORDER BY y, x";
    let (part, all) = (rows(&graph, part), rows(&graph, all));
    assert_eq!(part.as_array().unwrap(), &all.as_array().unwrap()[..5]);
}

#[test]
fn a_union_tells_each_row_once_and_union_all_tells_all() {
    let graph = numbered(1, []);
    let text = "UNWIND [1, 2] AS x RETURN x UNION UNWIND [2, 3] AS x RETURN x";
    assert_eq!(rows(&graph, text), json!([[1], [2], [3]]));
    let text = "UNWIND [1, 2] AS x RETURN x UNION ALL UNWIND [2, 3] AS x RETURN x";
    assert_eq!(rows(&graph, text), json!([[1], [2], [2], [3]]));
    assert!(ask(&graph, "RETURN 1 AS x UNION RETURN 1 AS y").is_err());
}

#[test]
fn subqueries_ask_of_the_row_at_hand() {
    let graph = decisions();
    let exists = "MATCH (d:Decision) WHERE EXISTS { MATCH (d)-[:APPLIES_TO]->(:File) } \
                  RETURN d.node ORDER BY d.node";
    assert_eq!(rows(&graph, exists), json!([["a"], ["b"]]));
    let pattern =
        "MATCH (d:Decision) WHERE NOT (d)-[:DEPENDS_ON]->() RETURN d.node ORDER BY d.node";
    assert_eq!(rows(&graph, pattern), json!([["a"], ["d"]]));
    let count = "MATCH (d:Decision) RETURN d.node, COUNT { (d)-->() } AS n ORDER BY d.node";
    assert_eq!(
        rows(&graph, count),
        json!([["a", 1], ["b", 2], ["c", 2], ["d", 1]])
    );
    let list = "MATCH (d {node: 'b'}) RETURN [(d)-[r]->(x) WHERE x:File | x.path] AS files";
    assert_eq!(rows(&graph, list), json!([[["src/lib.rs"]]]));
}

#[test]
fn shortest_paths_are_found_each_way_or_all_ways() {
    // Two ways of two edges from 0 to 3, and one of three.
    let graph = numbered(6, [(0, 1), (1, 3), (0, 2), (2, 3), (0, 4), (4, 5), (5, 3)]);
    let one =
        "MATCH p = shortestPath((a {i: 0})-[*]->(b {i: 3})) RETURN [n IN nodes(p) | n.i] AS way";
    assert_eq!(rows(&graph, one), json!([[[0, 1, 3]]]));
    let all = "MATCH p = allShortestPaths((a {i: 0})-[*]->(b {i: 3})) \
               RETURN [n IN nodes(p) | n.i] AS way ORDER BY way";
    assert_eq!(rows(&graph, all), json!([[[0, 1, 3]], [[0, 2, 3]]]));
    let far = "MATCH p = shortestPath((a {i: 0})-[*..1]->(b {i: 3})) RETURN p";
    assert_eq!(rows(&graph, far), json!([]));
    let back = "MATCH p = shortestPath((a {i: 3})-[*]-(b {i: 4})) RETURN length(p)";
    assert_eq!(rows(&graph, back), json!([[2]]));
}

#[test]
fn walks_have_their_lengths_and_their_edges_in_order() {
    let graph = numbered(4, [(0, 1), (1, 2), (2, 3)]);
    let text = "MATCH (a {i: 0})-[r*2..3]->(b) RETURN b.i, [x IN r | endNode(x).i] AS via";
    assert_eq!(rows(&graph, text), json!([[2, [1, 2]], [3, [1, 2, 3]]]));
    let from_the_end =
        "MATCH (a)-[r*]->(b {i: 3}) RETURN a.i, [x IN r | endNode(x).i] AS via ORDER BY a.i";
    assert_eq!(
        rows(&graph, from_the_end),
        json!([[0, [1, 2, 3]], [1, [2, 3]], [2, [3]]])
    );
    let none = "MATCH (a {i: 0})-[*0..1]->(b) RETURN b.i";
    assert_eq!(rows(&graph, none), json!([[0], [1]]));
    let path = "MATCH p = (a {i: 0})-[*]->(b {i: 2})-[]->(c) RETURN [n IN nodes(p) | n.i] AS way, length(p)";
    assert_eq!(rows(&graph, path), json!([[[0, 1, 2, 3], 3]]));
}

#[test]
fn null_is_neither_true_nor_false() {
    let graph = numbered(1, []);
    for (expression, wanted) in [
        ("null = null", json!(null)),
        ("null AND false", json!(false)),
        ("null OR true", json!(true)),
        ("NOT null", json!(null)),
        ("1 IN [2, null]", json!(null)),
        ("1 IN [1, null]", json!(true)),
        ("null IS NULL", json!(true)),
        ("[1, null] = [1, 2]", json!(null)),
        ("[1, null] = [2, null]", json!(false)),
        ("1 < 'a'", json!(null)),
        ("all(x IN [] WHERE false)", json!(true)),
        ("any(x IN [1, null] WHERE x > 1)", json!(null)),
        ("single(x IN [1, 2] WHERE x > 1)", json!(true)),
        ("none(x IN [1] WHERE x > 1)", json!(true)),
    ] {
        assert_eq!(value(&graph, expression), wanted, "{expression}");
    }
}

#[test]
fn expressions_come_to_what_they_say() {
    let graph = numbered(1, []);
    for (expression, wanted) in [
        ("1 + 2 * 3 - 4", json!(3)),
        ("7 / 2", json!(3)),
        ("7 % 4", json!(3)),
        ("2 ^ 3", json!(8.0)),
        ("-(-2)", json!(2)),
        ("'a' + 1 + 'b'", json!("a1b")),
        ("[1] + 2 + [3]", json!([1, 2, 3])),
        ("1 = 1.0", json!(true)),
        ("9007199254740993 = 9007199254740992.0", json!(false)),
        (
            "'abc' STARTS WITH 'ab' AND 'abc' ENDS WITH 'bc' AND 'abc' CONTAINS 'b'",
            json!(true),
        ),
        ("'abc' =~ 'a.c'", json!(true)),
        ("'xabc' =~ 'a.c'", json!(false)),
        ("'ab 12' =~ '\\\\w+\\\\s\\\\d+'", json!(true)),
        ("CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END", json!("b")),
        ("CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", json!("b")),
        (
            "[x IN range(1, 5) WHERE x % 2 = 1 | x * x]",
            json!([1, 9, 25]),
        ),
        ("reduce(s = 0, x IN [1, 2, 3] | s + x)", json!(6)),
        ("[1, 2, 3][-1]", json!(3)),
        ("[1, 2, 3][5]", json!(null)),
        ("[1, 2, 3, 4][1..-1]", json!([2, 3])),
        ("{a: {b: [1]}}.a.b", json!([1])),
        ("range(5, 1, -2)", json!([5, 3, 1])),
        ("range(1, 0)", json!([])),
        ("range(0, 0, -1)", json!([0])),
        ("size('äöü') + size([1])", json!(4)),
        ("toUpper('a') + toLower('B') + trim(' c ')", json!("Abc")),
        (
            "substring('hello', 1, 3) + left('hello', 1) + right('hello', 2)",
            json!("ellhlo"),
        ),
        ("split('a,b,,c', ',')", json!(["a", "b", "", "c"])),
        ("replace('aXbX', 'X', '--')", json!("a--b--")),
        ("toInteger('12') + toInteger(' 3.9 ')", json!(15)),
        ("toInteger('a')", json!(null)),
        ("toString(1.0) + toString(true)", json!("1.0true")),
        ("head([1, 2]) + last([1, 2])", json!(3)),
        ("tail([1, 2]) + reverse([1, 2])", json!([2, 2, 1])),
        ("reverse('ab')", json!("ba")),
        (
            "abs(-3) + sign(-2.5) + round(2.5) + floor(1.9) + ceil(0.1)",
            json!(7.0),
        ),
        ("coalesce(null, 2, 3)", json!(2)),
        ("exists(null)", json!(false)),
        ("isEmpty('') AND isEmpty([]) AND isEmpty({})", json!(true)),
        ("keys({b: 1, a: 2})", json!(["a", "b"])),
    ] {
        assert_eq!(value(&graph, expression), wanted, "{expression}");
    }
}

#[test]
fn maps_are_made_of_properties() {
    let graph = decisions();
    let text = "MATCH (d {node: 'a'}) RETURN d {.node, .none, twice: d.version * 2} AS m, \
                properties(d) AS p, labels(d) AS l, d {.*} = properties(d) AS same";
    assert_eq!(
        rows(&graph, text),
        json!([[{"node": "a", "none": null, "twice": 2},
            {"node": "a", "rank": "policy", "version": 1}, ["Decision"], true]])
    );
}

#[test]
fn parameters_stand_for_values_alone() {
    let graph = decisions();
    let given = params(json!({"of": {"rank": "lock"}, "n": 1, "all": ["b", "c"]}));
    let text = "MATCH (d:Decision {rank: $of.rank}) WHERE d.node IN $all RETURN d.node ORDER BY d.node LIMIT $n";
    let answer = graph.query(text, &given, &limits()).unwrap();
    assert_eq!(json!(answer.rows), json!([["b"]]));
    let missing = graph.query(text, &Map::new(), &limits()).unwrap_err();
    assert!(missing.message.contains("parameter"), "{missing}");
    // A text stays a text, whatever it holds.
    let hostile = params(json!({"x": "a'}) DELETE d RETURN d //"}));
    let text = "MATCH (d {node: $x}) RETURN d";
    assert_eq!(
        graph.query(text, &hostile, &limits()).unwrap().rows.len(),
        0
    );
}

#[test]
fn columns_are_called_as_they_are_written() {
    let graph = decisions();
    let text =
        "MATCH (d) RETURN d.node, count(*), count(DISTINCT d), 1 + 1, d.rank AS rank LIMIT 1";
    let answer = ask(&graph, text).unwrap();
    assert_eq!(
        answer.columns,
        [
            "d.node",
            "count(*)",
            "count(DISTINCT d)",
            "column 4",
            "rank"
        ]
    );
    let all = ask(&graph, "MATCH (b {node: 'b'})-[a]->(c) RETURN *").unwrap();
    assert_eq!(all.columns, ["a", "b", "c"]);
}

#[test]
fn the_same_graph_and_text_give_the_same_bytes() {
    let text = "MATCH (a)-[r]-(b) OPTIONAL MATCH (b)-[:APPLIES_TO]->(f) RETURN a, r, b, f";
    let bytes = |_| serde_json::to_vec(&ask(&decisions(), text).unwrap()).unwrap();
    let all: Vec<_> = (0..3).map(bytes).collect();
    assert!(all[0].len() > 1000 && all[0] == all[1] && all[1] == all[2]);
}

#[test]
fn what_is_bound_to_no_node_matches_none() {
    let graph = decisions();
    for (text, expected) in [
        ("OPTIONAL MATCH (a:Nope) MATCH (a) RETURN count(*) AS n", 0),
        (
            "OPTIONAL MATCH (a:Nope) MATCH (a), (b:File) RETURN count(*) AS n",
            0,
        ),
        (
            "OPTIONAL MATCH (a:Nope) OPTIONAL MATCH (a) RETURN count(*) AS n",
            1,
        ),
        ("WITH 1 AS a MATCH (a) RETURN count(*) AS n", 0),
        (
            "MATCH (x:File) WITH collect(x) AS a MATCH (a) RETURN count(*) AS n",
            0,
        ),
        ("MATCH (a:File) MATCH (a) RETURN count(*) AS n", 2),
        ("MATCH (a:File), (a) RETURN count(*) AS n", 2),
    ] {
        assert_eq!(rows(&graph, text), json!([[expected]]), "{text}");
    }
}

#[test]
fn what_is_sorted_by_is_first_a_column_and_then_what_was_before() {
    let graph = decisions();
    let pairs = "UNWIND [[1, 9], [2, 8], [3, 7]] AS p WITH p[0] AS a, p[1] AS b";
    for (text, expected) in [
        (
            "RETURN a AS b, b AS a ORDER BY a",
            json!([[3, 7], [2, 8], [1, 9]]),
        ),
        (
            "RETURN a AS x, b AS y ORDER BY b",
            json!([[3, 7], [2, 8], [1, 9]]),
        ),
        (
            "RETURN a AS x, b AS y ORDER BY x DESC",
            json!([[3, 7], [2, 8], [1, 9]]),
        ),
        (
            "RETURN a + 1 AS a, b ORDER BY a + 1 DESC",
            json!([[4, 7], [3, 8], [2, 9]]),
        ),
    ] {
        assert_eq!(rows(&graph, &format!("{pairs} {text}")), expected, "{text}");
    }
}
