//! Queries of graphs: what they find, who is told what, what is refused, and that each of them ends.

use serde_json::{Value, json};
use sillok_core::ErrorCode;
use sillok_core::recall::mark_as_data;

use super::Server;
use crate::api::{DecisionSaved, EvidenceSaved, GraphAnswer, GraphCut, Problem};

const ORG: &str = "org/acme";
const PROJECT: &str = "org/acme/project/api";
const WORKTREE: &str = "org/acme/project/api/worktree/main";
const BESIDE: &str = "org/acme/project/web";

/// Has more rows than can be counted, and finds none of them before it has counted all.
const ENDLESS: &str = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b \
                       UNWIND range(1, 100000) AS c RETURN count(*) AS n";

impl Server {
    async fn locks(&self, scope: &str, title: &str, relations: Value) -> String {
        let body = json!({ "scope": scope, "rank": "lock", "title": title, "content": "It is so.",
            "relations": relations });
        let saved: DecisionSaved = self.post(&self.admin, "/v1/decisions", body).await.unwrap();
        format!("decision:{scope}#{}", saved.root)
    }

    /// Asks with a token, in a scope.
    async fn ask_as(
        &self,
        token: &str,
        scope: &str,
        fields: Value,
    ) -> Result<GraphAnswer, Problem> {
        let mut body = fields;
        body["scope"] = json!(scope);
        self.post(token, "/v1/graph/query", body).await
    }

    async fn ask(&self, scope: &str, query: &str) -> Result<GraphAnswer, Problem> {
        self.ask_as(&self.admin, scope, json!({ "query": query }))
            .await
    }
}

#[tokio::test]
async fn a_query_finds_decisions_by_what_they_are_related_to() {
    let server = Server::start().await;
    let body = json!({ "scope": PROJECT, "title": "a run", "content": "p99 is 12 ms" });
    let kept: EvidenceSaved = server
        .post(&server.admin, "/v1/evidence", body)
        .await
        .unwrap();
    let kept = format!("evidence:{PROJECT}#{}", kept.id);
    let file = json!({ "kind": "APPLIES_TO", "to": "file:src/a.rs" });
    let rests = json!({ "kind": "RESTS_ON", "to": kept });
    let first = server
        .locks(PROJECT, "one writer", json!([file, rests]))
        .await;
    let depends = json!({ "kind": "DEPENDS_ON", "to": first });
    server.locks(WORKTREE, "no cache", json!([depends])).await;
    let query = "MATCH (d:Decision)-[:DEPENDS_ON*0..3]->(:Decision)-[:APPLIES_TO]->(f:File {path: $path}) \
                 WHERE NOT EXISTS { (d)-[:RESTS_ON]->(:Evidence) } RETURN d.title AS title, d.scope";
    let asked = json!({ "query": query, "params": { "path": "src/a.rs" } });
    let answer = server.ask_as(&server.admin, PROJECT, asked).await.unwrap();
    assert_eq!(answer.columns, ["title", "d.scope"]);
    assert_eq!(json!(answer.rows), json!([["no cache", WORKTREE]]));
    assert_eq!((answer.nodes, answer.edges, answer.cut), (4, 3, None));
    let said = format!("[\"title\",\"d.scope\"]\n[\"no cache\",\"{WORKTREE}\"]");
    assert_eq!(answer.data_marked_text, mark_as_data(&said));
    // What lies inside is left out where that is asked for.
    let asked = json!({ "query": "MATCH (d:Decision) RETURN d.title", "only_above": true });
    let answer = server.ask_as(&server.admin, PROJECT, asked).await.unwrap();
    assert_eq!(json!(answer.rows), json!([["one writer"]]));
}

#[tokio::test]
async fn an_answer_holds_and_counts_only_what_the_token_covers() {
    let server = Server::start().await;
    let file = || json!([{ "kind": "APPLIES_TO", "to": "file:src/a.rs" }]);
    for scope in [ORG, PROJECT, WORKTREE, BESIDE, "org/zeta/project/api"] {
        server.locks(scope, scope, file()).await;
    }
    let titles = "MATCH (d:Decision) RETURN d.title ORDER BY d.title";
    let agent = server.mint(WORKTREE, "agent").await.token;
    let human = server.mint(BESIDE, "human").await.token;
    let zeta = server.mint("org/zeta", "human").await.token;
    for (token, scope, seen) in [
        (&server.admin, ORG, vec![ORG, PROJECT, WORKTREE, BESIDE]),
        (&agent, WORKTREE, vec![ORG, PROJECT, WORKTREE]),
        (&human, BESIDE, vec![ORG, BESIDE]),
        (&zeta, "org/zeta", vec!["org/zeta/project/api"]),
    ] {
        let asked = json!({ "query": titles });
        let answer = server.ask_as(token, scope, asked).await.unwrap();
        let found: Vec<&str> = answer
            .rows
            .iter()
            .map(|row| row[0].as_str().unwrap())
            .collect();
        assert_eq!(found, seen, "{scope}");
        let count = seen.len() as u64;
        assert_eq!((answer.nodes, answer.edges), (count + 1, count), "{scope}");
    }
    for scope in [ORG, PROJECT, BESIDE, "org/zeta"] {
        let asked = json!({ "query": titles });
        let refused = server.ask_as(&agent, scope, asked).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Forbidden, "{scope}");
        assert_eq!(refused.rule.as_deref(), Some("token/scope"));
    }
}

#[tokio::test]
async fn what_does_not_read_is_refused_by_its_name() {
    let server = Server::start().await;
    server.locks(PROJECT, "one writer", json!([])).await;
    for query in [
        "CREATE (n:Decision {title: 'mine'})",
        "MERGE (n:Decision {title: 'mine'}) RETURN n",
        "MATCH (d:Decision) SET d.rank = 'normal' RETURN d",
        "MATCH (d:Decision) REMOVE d.rank",
        "MATCH (d:Decision) DETACH DELETE d",
        "CALL db.labels() YIELD label RETURN label",
        "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
        "MATCH (d:Decision",
        "RETURN $unknown",
        "",
    ] {
        let refused = server.ask(PROJECT, query).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument, "{query}");
    }
    let long = format!("RETURN '{}'", "x".repeat(20_000));
    let refused = server.ask(PROJECT, &long).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge);
    for (fields, code) in [
        (json!({ "rows_max": 10_001 }), ErrorCode::TooLarge),
        (json!({ "ms_max": 0 }), ErrorCode::InvalidArgument),
        (json!({ "sort": 1 }), ErrorCode::InvalidRequest),
    ] {
        let mut asked = fields.clone();
        asked["query"] = json!("RETURN 1 AS one");
        let refused = server.ask_as(&server.admin, PROJECT, asked).await;
        assert_eq!(refused.unwrap_err().code, code, "{fields}");
    }
    let answer = server.ask(PROJECT, "MATCH (d) RETURN d.title").await;
    assert_eq!(json!(answer.unwrap().rows), json!([["one writer"]]));
}

#[tokio::test]
async fn a_query_without_an_end_ends_with_its_time_and_too_many_rows_are_cut() {
    let server = Server::start().await;
    let asked = json!({ "query": ENDLESS, "ms_max": 100 });
    let refused = server.ask_as(&server.admin, PROJECT, asked).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge, "{refused:?}");
    // What was found before is told.
    let first = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b \
                 WITH a, b WHERE a = 1 AND b = 1 RETURN a, b";
    let asked = json!({ "query": first, "ms_max": 500 });
    let answer = server.ask_as(&server.admin, PROJECT, asked).await.unwrap();
    assert_eq!(json!(answer.rows), json!([[1, 1]]));
    assert!(matches!(answer.cut, Some(GraphCut::Time | GraphCut::Steps)));
    let many = json!({ "query": "UNWIND range(1, 9) AS a RETURN a", "rows_max": 4 });
    let answer = server.ask_as(&server.admin, PROJECT, many).await.unwrap();
    assert_eq!(json!(answer.rows), json!([[1], [2], [3], [4]]));
    assert_eq!(answer.cut, Some(GraphCut::Rows));
    let held = "UNWIND range(1, 1000000000) AS x RETURN collect(x) AS all";
    let refused = server.ask(PROJECT, held).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::TooLarge);
}

#[tokio::test]
async fn an_organisation_has_so_many_queries_under_way_and_all_together_so_many() {
    let slow = json!({ "query": ENDLESS, "ms_max": 1_000 });
    let quick = json!({ "query": "RETURN 1 AS one" });
    let asked = async |all, of_each| {
        let server = Server::with(|config| {
            config.server.graph_queries_max = all;
            config.server.graph_queries_per_org_max = of_each;
        })
        .await;
        let ask = |scope, fields: &Value| server.ask_as(&server.admin, scope, fields.clone());
        let (first, same, other) = tokio::join!(
            ask(PROJECT, &slow),
            ask(BESIDE, &quick),
            ask("org/zeta", &quick)
        );
        assert_eq!(first.unwrap_err().code, ErrorCode::TooLarge);
        // A turn is given back.
        ask(PROJECT, &quick).await.unwrap();
        let code = |answer: Result<GraphAnswer, Problem>| answer.err().map(|refused| refused.code);
        (code(same), code(other))
    };
    let busy = Some(ErrorCode::Busy);
    assert_eq!(asked(1, 1).await, (busy, busy));
    assert_eq!(asked(2, 1).await, (busy, None));
    assert_eq!(asked(3, 2).await, (None, None));
}
