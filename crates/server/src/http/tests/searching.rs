//! Searches behind anchors: what a request leads to, and what is refused.

use serde_json::{Value, json};
use sillok_core::ErrorCode;
use sillok_core::anchor::Standing;
use sillok_core::decision::Rank;
use sillok_core::limits::{ANCHOR_SEARCH_HITS_MAX, ANCHOR_SEARCH_QUERY_BYTES_MAX};
use sillok_core::scope::Scope;

use super::Server;
use crate::api::{
    AnchorsAdded, AnchorsFound, DecisionSaved, EventView, EvidenceSaved, EvidenceText, Page,
    Problem,
};
use crate::config::Config;

const PROJECT: &str = "org/acme/project/api";
const WORKTREE: &str = "org/acme/project/api/worktree/main";
const BESIDE: &str = "org/acme/project/web";

impl Server {
    /// Keeps a text behind an anchor of a scope and a domain: its node, and its id.
    async fn lead_to(&self, scope: &str, domain: &str, content: &str) -> (String, String) {
        let body = json!({ "scope": scope, "title": "What ran", "content": content });
        let saved: EvidenceSaved = self.post(&self.admin, "/v1/evidence", body).await.unwrap();
        let node = format!("evidence:{scope}#{}", saved.id);
        let anchor = json!({ "hint": "A run", "domain": domain, "to": [node] });
        let body = json!({ "scope": scope, "anchors": [anchor] });
        let added: AnchorsAdded = self.post(&self.admin, "/v1/anchors", body).await.unwrap();
        assert_eq!(added.ids.len(), 1);
        (node, saved.id.to_string())
    }

    async fn search(&self, token: &str, body: Value) -> Result<AnchorsFound, Problem> {
        self.post(token, "/v1/anchors/search", body).await
    }

    async fn nodes_found(&self, token: &str, body: Value) -> Vec<String> {
        let found = self.search(token, body).await.unwrap();
        let hits = found.hits.iter();
        hits.map(|hit| hit.lead.to.to_string()).collect()
    }
}

#[tokio::test]
async fn what_lies_behind_an_anchor_is_found_where_it_can_be_read_and_nothing_is_written() {
    let server = Server::start().await;
    let filler = "nothing happened\n".repeat(9_000);
    let text = format!("{filler}the écrivains met a deadlock\n{filler}");
    let (node, id) = server.lead_to(PROJECT, "global", &text).await;
    let path = format!("/v1/events?scope={PROJECT}&limit=1000");
    let before: Page<EventView> = server.get(&server.admin, &path).await.unwrap();
    let asked = json!({ "scope": WORKTREE, "query": "deadlock" });
    let found = server.search(&server.admin, asked.clone()).await.unwrap();
    let [hit] = found.hits.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(
        (hit.lead.to.to_string(), hit.lead.standing),
        (node, Standing::Holds)
    );
    assert_eq!((hit.hint.as_str(), hit.bytes), ("A run", text.len() as u64));
    assert!(
        hit.excerpt().contains("écrivains met a deadlock"),
        "{hit:?}"
    );
    assert!(hit.data_marked_text.starts_with("<recalled-data key="));
    let path = format!(
        "/v1/evidence/text?scope={PROJECT}&id={id}&from={}&to={}",
        hit.from, hit.to
    );
    let read: EvidenceText = server.get(&server.admin, &path).await.unwrap();
    assert_eq!(read.text, hit.excerpt());
    assert_eq!((found.looked_at.anchors, found.looked_at.originals), (1, 1));
    assert_eq!(found.cut, None);
    // The same again, and no event of it.
    assert_eq!(server.search(&server.admin, asked).await.unwrap(), found);
    let path = format!("/v1/events?scope={PROJECT}&limit=1000");
    let after: Page<EventView> = server.get(&server.admin, &path).await.unwrap();
    assert_eq!(after.items.len(), before.items.len());
}

#[tokio::test]
async fn a_decision_is_found_with_its_own_rank_and_says_when_it_was_withdrawn() {
    let server = Server::start().await;
    let body = json!({ "scope": PROJECT, "rank": "lock", "title": "One writer",
        "content": "Writers take a mutex." });
    let saved: DecisionSaved = server
        .post(&server.admin, "/v1/decisions", body)
        .await
        .unwrap();
    let node = format!("decision:{PROJECT}#{}", saved.root);
    let body = json!({ "scope": PROJECT, "anchors": [{ "hint": "How it came", "to": [node] }] });
    let added = server.post::<AnchorsAdded>(&server.admin, "/v1/anchors", body);
    added.await.unwrap();
    let asked = json!({ "scope": PROJECT, "query": "mutex" });
    let found = server.search(&server.admin, asked.clone()).await.unwrap();
    let hit = &found.hits[0];
    assert_eq!((hit.lead.rank, hit.version), (Some(Rank::Lock), Some(1)));
    let body = json!({ "scope": PROJECT, "root": saved.root.to_string(), "expected_version": 1,
        "reason": "other plans" });
    let gone = server.post::<Value>(&server.admin, "/v1/decisions/deactivate", body);
    gone.await.unwrap();
    let found = server.search(&server.admin, asked).await.unwrap();
    let hit = &found.hits[0];
    assert_eq!(
        (hit.lead.standing, hit.version),
        (Standing::Withdrawn, Some(1))
    );
    assert!(
        hit.data_marked_text.contains("which was withdrawn"),
        "{hit:?}"
    );
}

#[tokio::test]
async fn a_search_sees_what_a_brief_for_the_same_work_tells_of() {
    let server = Server::start().await;
    let agent = server.mint(WORKTREE, "agent").await.token;
    let mut nodes = Vec::new();
    for (scope, domain) in [
        (PROJECT, "global"),
        (WORKTREE, "ui"),
        (WORKTREE, "runtime"),
        (BESIDE, "global"),
    ] {
        nodes.push(server.lead_to(scope, domain, "It met a deadlock.").await.0);
    }
    let asked = |domain: &str| json!({ "scope": WORKTREE, "domain": domain, "query": "deadlock" });
    let found = server.nodes_found(&agent, asked("ui")).await;
    assert_eq!(found, [nodes[1].as_str(), nodes[0].as_str()]);
    let found = server.nodes_found(&agent, asked("nobodys")).await;
    assert_eq!(found, [nodes[0].as_str()]);
    for scope in [PROJECT, BESIDE] {
        let asked = json!({ "scope": scope, "query": "deadlock" });
        let denied = server.search(&agent, asked).await.unwrap_err();
        assert_eq!(denied.code, ErrorCode::Forbidden, "{scope}");
        assert_eq!(denied.rule.as_deref(), Some("token/scope"), "{scope}");
    }
}

#[tokio::test]
async fn a_search_for_nothing_or_beyond_its_bounds_is_refused() {
    let server = Server::start().await;
    let long = "deadlock ".repeat(ANCHOR_SEARCH_QUERY_BYTES_MAX / 9 + 1);
    for (field, value, code) in [
        ("query", json!(""), ErrorCode::InvalidArgument),
        ("query", json!(" the of "), ErrorCode::InvalidArgument),
        ("query", json!(long), ErrorCode::TooLarge),
        ("query", Value::Null, ErrorCode::InvalidRequest),
        ("limit", json!(0), ErrorCode::InvalidArgument),
        (
            "limit",
            json!(ANCHOR_SEARCH_HITS_MAX + 1),
            ErrorCode::TooLarge,
        ),
        ("domain", json!("UI"), ErrorCode::InvalidArgument),
        ("scope", json!("acme"), ErrorCode::InvalidScope),
        ("more", json!(1), ErrorCode::InvalidRequest),
    ] {
        let mut body = json!({ "scope": PROJECT, "query": "deadlock" });
        body[field] = value;
        let refused = server.search(&server.admin, body.clone()).await;
        assert_eq!(refused.unwrap_err().code, code, "{body}");
    }
}

#[tokio::test]
async fn who_has_no_turn_is_told_to_come_back_and_briefs_are_loaded_all_the_same() {
    let server = Server::start().await;
    let scope = Scope::parse(PROJECT).unwrap();
    let turn = || server.app.search_turn(&scope).unwrap();
    let all = Config::default().server.anchor_searches_per_org_max;
    let turns: Vec<_> = (0..all).map(|_| turn()).collect();
    let asked = json!({ "scope": PROJECT, "query": "deadlock" });
    let refused = server.search(&server.admin, asked.clone()).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Busy);
    let brief = json!({ "scope": PROJECT });
    let brief = server.post::<Value>(&server.admin, "/v1/brief", brief);
    brief.await.unwrap();
    drop(turns);
    server.search(&server.admin, asked).await.unwrap();
}

#[tokio::test]
async fn an_organisation_has_so_many_searches_under_way_and_all_together_so_many() {
    let asked = async |all, of_each| {
        let server = Server::with(|config| {
            config.server.anchor_searches_max = all;
            config.server.anchor_searches_per_org_max = of_each;
        })
        .await;
        let scope = Scope::parse(PROJECT).unwrap();
        let under_way = server.app.search_turn(&scope).unwrap();
        let ask = async |scope: &str| {
            let body = json!({ "scope": scope, "query": "deadlock" });
            let refused = server.search(&server.admin, body).await.err();
            refused.map(|refused| refused.code)
        };
        let told = (ask(BESIDE).await, ask("org/zeta").await);
        // A turn is given back.
        drop(under_way);
        assert_eq!(ask(PROJECT).await, None);
        told
    };
    let busy = Some(ErrorCode::Busy);
    assert_eq!(asked(1, 1).await, (busy, busy));
    assert_eq!(asked(2, 1).await, (busy, None));
    assert_eq!(asked(3, 2).await, (None, None));
}
