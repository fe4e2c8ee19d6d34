//! Decisions: what a request leads to, and who reads it.

mod domains;
mod meaning;
mod refusals;
mod timed;

use bytes::Bytes;
use serde_json::{Value, json};
use sillok_core::ErrorCode;
use sillok_core::decision::Rank;
use sillok_store::keys::{Family, InBackup};
use sillok_store::{RangeOptions, Read, Store, Txn};

use super::Server;
use crate::api::{
    DecisionHead, DecisionSaved, DecisionVersion, DecisionView, Meaning, Page, Problem, Proposed,
};

const ORG: &str = "org/acme";
const PROJECT: &str = "org/acme/project/api";
const WORKTREE: &str = "org/acme/project/api/worktree/main";
/// No decision has this root.
const NOBODYS: &str = "01900000-0000-7000-8000-000000000000";

/// Rows that are read at one time: more than there are of any family.
const ROWS_MAX: usize = 10_000;

/// What a decision of a scope says, with further fields.
fn said(scope: &str, fields: &Value) -> Value {
    let mut body =
        json!({ "scope": scope, "title": "Whole cents", "content": "Money is an integer." });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn node(scope: &str, saved: &DecisionSaved) -> String {
    format!("decision:{scope}#{}", saved.root)
}

/// What a save says that it means to others.
fn told(saved: &DecisionSaved) -> &Proposed {
    match &saved.means {
        Meaning::Told(means) => means,
        Meaning::Untold { untold } => panic!("it was not told: {untold}"),
    }
}

impl Server {
    async fn save(&self, scope: &str, fields: &Value) -> Result<DecisionSaved, Problem> {
        self.post(&self.admin, "/v1/decisions", said(scope, fields))
            .await
    }

    async fn refused(&self, path: &str, body: Value) -> Problem {
        self.post::<Value>(&self.admin, path, body)
            .await
            .unwrap_err()
    }

    async fn shown(&self, scope: &str, saved: &DecisionSaved) -> DecisionView {
        let path = format!("/v1/decision?scope={scope}&root={}", saved.root);
        self.get(&self.admin, &path).await.unwrap()
    }

    async fn history(&self, scope: &str, saved: &DecisionSaved) -> Vec<DecisionVersion> {
        let path = format!("/v1/decision/history?scope={scope}&root={}", saved.root);
        let page: Page<DecisionVersion> = self.get(&self.admin, &path).await.unwrap();
        assert_eq!(page.next, None);
        page.items
    }

    /// All rows of the store, but those that change by themselves.
    async fn rows(&self) -> Vec<(Bytes, Bytes)> {
        let mut txn = self.data.store.begin().await.unwrap();
        let mut all = Vec::new();
        for family in Family::ALL {
            let changes = [Family::Node, Family::Outbox, Family::Space].contains(family);
            if changes || family.in_backup() == InBackup::LeftOut {
                continue;
            }
            let first = RangeOptions::first(ROWS_MAX, Read::Snapshot);
            let rows = txn.range(&family.range(), first).await.unwrap();
            assert!(rows.len() < ROWS_MAX);
            all.extend(rows);
        }
        all
    }
}

#[tokio::test]
async fn a_decision_is_saved_changed_withdrawn_and_restored_and_all_of_it_stays_readable() {
    let server = Server::start().await;
    let claim = json!({ "key": "money", "value": "cents" });
    let file = json!([{ "kind": "APPLIES_TO", "to": "file:src/cart.rs" }]);
    let fields = json!({ "rank": "lock", "domain": "shop", "phase": "design", "claim": claim, "relations": file });
    let saved = server.save(PROJECT, &fields).await.unwrap();
    assert_eq!((saved.version, saved.active), (1, true));
    let shown = server.shown(PROJECT, &saved).await;
    assert_eq!(
        (shown.head.rank, shown.head.domain.as_str()),
        (Rank::Lock, "shop")
    );
    assert_eq!(shown.head.relations[0].to, "file:src/cart.rs");
    let version = shown.version;
    assert_eq!((version.number, version.act.as_str()), (1, "begun"));
    assert_eq!(version.text.unwrap().content, "Money is an integer.");

    let change = json!({ "root": saved.root, "expected_version": 1, "rank": "normal", "domain": "global",
        "content": "Money is an i64.", "reason": "one type" });
    let changed = server.save(PROJECT, &change).await.unwrap();
    assert_eq!((changed.root, changed.version), (saved.root, 2));
    let named =
        json!({ "scope": PROJECT, "root": saved.root, "expected_version": 2, "reason": "no more" });
    let withdrawn: DecisionSaved = server
        .post(&server.admin, "/v1/decisions/deactivate", named)
        .await
        .unwrap();
    assert_eq!((withdrawn.version, withdrawn.active), (3, false));
    let shown = server.shown(PROJECT, &saved).await;
    assert!(!shown.head.active);
    assert_eq!(shown.version.number, 2);
    let named = json!({ "scope": PROJECT, "root": saved.root, "expected_version": 3, "version": 1,
        "reason": "it was right" });
    let restored: DecisionSaved = server
        .post(&server.admin, "/v1/decisions/restore", named)
        .await
        .unwrap();
    assert_eq!((restored.version, restored.active), (4, true));

    let versions = server.history(PROJECT, &saved).await;
    let acts: Vec<(u64, &str, Option<u64>)> = versions
        .iter()
        .map(|one| (one.number, one.act.as_str(), one.restored_from))
        .collect();
    let expected = [
        (1, "begun", None),
        (2, "changed", None),
        (3, "withdrawn", None),
        (4, "restored", Some(1)),
    ];
    assert_eq!(acts, expected);
    assert_eq!(
        (&versions[2].text, &versions[3].text),
        (&None, &versions[0].text)
    );
}

#[tokio::test]
async fn decisions_are_listed_page_by_page_by_rank_by_domain_and_without_those_withdrawn() {
    let server = Server::start().await;
    let mut roots = Vec::new();
    for (rank, domain) in [
        ("normal", "ui"),
        ("lock", "ui"),
        ("normal", "global"),
        ("axis", "ui"),
    ] {
        let saved = server
            .save(PROJECT, &json!({ "rank": rank, "domain": domain }))
            .await;
        roots.push(saved.unwrap().root);
    }
    let gone =
        json!({ "scope": PROJECT, "root": roots[0], "expected_version": 1, "reason": "no more" });
    server
        .post::<Value>(&server.admin, "/v1/decisions/deactivate", gone)
        .await
        .unwrap();
    for (query, expected) in [
        ("", vec![1, 2, 3]),
        ("&withdrawn=true", vec![0, 1, 2, 3]),
        ("&rank=normal", vec![2]),
        ("&rank=normal&withdrawn=true", vec![0, 2]),
        ("&domain=ui", vec![1, 3]),
        ("&domain=ui&rank=axis", vec![3]),
        ("&domain=none", vec![]),
    ] {
        let mut expected: Vec<_> = expected.into_iter().map(|at: usize| roots[at]).collect();
        expected.sort();
        let mut found = Vec::new();
        let mut after = String::new();
        loop {
            let path = format!("/v1/decisions?scope={PROJECT}&limit=1{query}{after}");
            let page: Page<DecisionHead> = server.get(&server.admin, &path).await.unwrap();
            found.extend(page.items.iter().map(|head| head.root));
            let Some(next) = page.next else { break };
            after = format!("&after={next}");
        }
        assert_eq!(found, expected, "{query}");
    }
    let cursor = async |query: &str| {
        let path = format!("/v1/decisions?scope={PROJECT}&limit=1{query}");
        let page: Page<DecisionHead> = server.get(&server.admin, &path).await.unwrap();
        page.next.expect("a full page may have more")
    };
    let (of_axes, of_ui) = (cursor("&rank=axis").await, cursor("&domain=ui").await);
    let (of_axes, of_ui) = (of_axes.as_str(), of_ui.as_str());
    for (query, after) in [
        ("", "q1"),
        ("", of_axes),
        ("&rank=lock", of_axes),
        ("&rank=axis&domain=ui", of_axes),
        ("&rank=axis&withdrawn=true", of_axes),
        ("", of_ui),
        ("&domain=global", of_ui),
    ] {
        let foreign = format!("/v1/decisions?scope={PROJECT}{query}&after={after}");
        let foreign = server.get::<Value>(&server.admin, &foreign).await;
        let code = foreign.unwrap_err().code;
        assert_eq!(code, ErrorCode::InvalidArgument, "{query} {after}");
    }
}

#[tokio::test]
async fn decisions_above_are_read_and_those_beside_are_not() {
    let server = Server::start().await;
    let above = server
        .save(ORG, &json!({ "title": "Above" }))
        .await
        .unwrap();
    let beside = "org/acme/project/web";
    let hidden = server
        .save(beside, &json!({ "title": "Beside" }))
        .await
        .unwrap();
    let agent = server.mint(WORKTREE, "agent").await.token;
    for path in [
        format!("/v1/decisions?scope={ORG}"),
        format!("/v1/decision?scope={ORG}&root={}", above.root),
        format!("/v1/decision/history?scope={ORG}&root={}", above.root),
    ] {
        let seen = server
            .get::<Value>(&agent, &path)
            .await
            .unwrap()
            .to_string();
        assert!(seen.contains("Above"), "{path}: {seen}");
    }
    for path in [
        format!("/v1/decisions?scope={beside}"),
        format!("/v1/decision?scope={beside}&root={}", hidden.root),
        format!("/v1/decision/history?scope={beside}&root={}", hidden.root),
    ] {
        let denied = server.get::<Value>(&agent, &path).await.unwrap_err();
        let rule = denied.rule.as_deref();
        assert_eq!(
            (denied.code, rule),
            (ErrorCode::Forbidden, Some("token/scope")),
            "{path}"
        );
    }
    // Whoever stands further out than the token reaches is not asked for.
    for path in ["/v1/brief", "/v1/impact"] {
        let body = json!({ "scope": ORG, "at": ["file:a"] });
        let denied = server.post::<Value>(&agent, path, body).await.unwrap_err();
        assert_eq!(denied.rule.as_deref(), Some("token/scope"), "{path}");
    }
    let missing = format!("/v1/decision?scope={ORG}&root={NOBODYS}");
    let missing = server.get::<Value>(&agent, &missing).await.unwrap_err();
    assert_eq!(missing.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn a_save_is_an_event_that_says_what_was_decided() {
    let server = Server::start().await;
    let saved = server
        .save(PROJECT, &json!({ "rank": "axis" }))
        .await
        .unwrap();
    let gone =
        json!({ "scope": PROJECT, "root": saved.root, "expected_version": 1, "reason": "no more" });
    server
        .post::<Value>(&server.admin, "/v1/decisions/deactivate", gone)
        .await
        .unwrap();
    let path = format!("/v1/events?scope={PROJECT}&kind=DECISION_SAVED");
    let page: Page<Value> = server.get(&server.admin, &path).await.unwrap();
    let [begun, withdrawn] = page.items.as_slice() else {
        panic!("{page:?}")
    };
    let body = &begun["body"];
    assert_eq!(
        (&body["root"], &body["act"]),
        (&json!(saved.root), &json!("begun"))
    );
    assert_eq!(body["text"]["content"], "Money is an integer.");
    let expected = json!({ "root": saved.root, "version": 2, "act": "withdrawn", "rank_before": "axis",
        "reason": "no more" });
    assert_eq!(withdrawn["body"], expected);
}
