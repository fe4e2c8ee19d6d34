//! Where evidence and anchors lead, who sees that, and what is refused.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::{audited, brief, decide, keep, kept, point, text};
use crate::harness::{Client, ORG, PROJECT, WORKTREE, World, phrase};

/// Another worktree of the same project.
const BESIDE: &str = "org/acme/project/api/worktree/side";
/// Nothing has this id.
const NOBODYS: &str = "01900000-0000-7000-8000-000000000000";

/// Withdraws a decision that is at its first version.
async fn withdraw(client: &Client, scope: &str, node: &str) {
    let (_, root) = node.rsplit_once('#').expect("a node has a root");
    let gone = json!({ "scope": scope, "root": root, "expected_version": 1, "reason": phrase() });
    client.post("/v1/decisions/deactivate", &gone).await.ok();
}

/// Titles of decisions that a change of a node affects, seen from a scope.
async fn reached(client: &Client, scope: &str, at: &str) -> BTreeSet<String> {
    let asked = json!({ "scope": scope, "at": [at] });
    let found = client.post("/v1/impact", &asked).await.ok();
    let affected = found["affected"].as_array().expect("it lists nodes").iter();
    affected.map(|one| text(&one["title"]).to_owned()).collect()
}

/// Nodes that nothing in the worktree leads to, and how they are refused: what is not there, what is not seen from there, and
/// what was withdrawn.
async fn unreachable(world: &World) -> Vec<(String, u16, &'static str)> {
    let admin = world.admin();
    let mut all = Vec::new();
    for scope in [WORKTREE, PROJECT, ORG, BESIDE] {
        for sort in ["evidence", "decision"] {
            all.push((format!("{sort}:{scope}#{NOBODYS}"), 404, "not_found"));
        }
    }
    // What lies beside it, or inside it, is not told apart from what is not there.
    let inside = world.task().await;
    for scope in [BESIDE, inside.as_str()] {
        let run = kept(scope, &keep(&admin, scope, "It ran.").await);
        let choice = decide(&admin, scope, json!({ "title": phrase() })).await;
        all.extend([run, choice].map(|node| (node, 404, "not_found")));
    }
    for scope in [WORKTREE, ORG] {
        let gone = decide(&admin, scope, json!({ "title": phrase() })).await;
        withdraw(&admin, scope, &gone).await;
        all.push((gone, 409, "conflict"));
    }
    all
}

#[tokio::test]
async fn what_leads_nowhere_or_where_nobody_sees_is_refused_and_nothing_of_it_is_stored() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let run = kept(WORKTREE, &keep(&agent, WORKTREE, "It ran.").await);
    let choice = decide(&agent, WORKTREE, json!({ "title": phrase() })).await;
    let mut anchors: Vec<(Value, u16, &str)> = vec![
        (json!(["file:src/main.rs"]), 400, "invalid_argument"),
        (json!(["symbol:main"]), 400, "invalid_argument"),
        (json!([run, choice, run]), 400, "invalid_argument"),
        (json!([]), 400, "invalid_argument"),
    ];
    let mut relations: Vec<(&str, String, u16, &str)> = Vec::new();
    for (kind, to) in [
        ("RESTS_ON", choice.as_str()),
        ("RESTS_ON", "file:src/main.rs"),
        ("DEPENDS_ON", run.as_str()),
        ("CONSTRAINS", run.as_str()),
        ("VALIDATES", run.as_str()),
        ("APPLIES_TO", run.as_str()),
    ] {
        relations.push((kind, to.to_owned(), 400, "invalid_argument"));
    }
    for (node, status, code) in unreachable(&world).await {
        let kind = if node.starts_with("evidence:") {
            "RESTS_ON"
        } else {
            "DEPENDS_ON"
        };
        anchors.push((json!([run, node]), status, code));
        relations.push((kind, node, status, code));
    }
    let before = world.admin().all("/v1/events", WORKTREE).await;
    for (to, status, code) in anchors {
        // One anchor that is wrong takes the others with it.
        let both = json!([{ "hint": "good", "to": [run] }, { "hint": "wrong", "to": to }]);
        let body = json!({ "scope": WORKTREE, "anchors": both });
        drop(agent.post("/v1/anchors", &body).await.refused(status, code));
    }
    for (kind, to, status, code) in relations {
        let related = json!([{ "kind": kind, "to": to }]);
        let body = json!({ "scope": WORKTREE, "title": "t", "content": "c", "relations": related });
        for path in ["/v1/decisions", "/v1/decisions/propose"] {
            drop(agent.post(path, &body).await.refused(status, code));
        }
    }
    let nobodys = json!({ "scope": WORKTREE, "id": NOBODYS, "reason": "read" });
    let refused = agent.post("/v1/anchors/drop", &nobodys).await;
    drop(refused.refused(404, "not_found"));
    assert_eq!(world.admin().all("/v1/events", WORKTREE).await, before);
    assert!(agent.all("/v1/anchors", WORKTREE).await.is_empty());
    audited(&world);
}

#[tokio::test]
async fn what_is_kept_is_read_in_its_scope_and_inside_it_alone() {
    let world = World::start().await;
    let admin = world.admin();
    let own = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let beside = world.principal(PrincipalKind::Agent, BESIDE).await;
    let foreign = world.principal(PrincipalKind::Human, "org/other").await;
    for scope in [ORG, PROJECT, WORKTREE] {
        let said = phrase();
        let saved = keep(&admin, scope, &said).await;
        let anchor = point(&admin, scope, (&said, "global"), &[&kept(scope, &saved)]).await;
        let (id, anchor) = (text(&saved["id"]), anchor.as_str());
        for (client, is_seen) in [
            (&own, true),
            (&beside, scope != WORKTREE),
            (&foreign, false),
        ] {
            for (path, id) in [
                ("/v1/evidence", None),
                ("/v1/evidence/item", Some(id)),
                ("/v1/evidence/text", Some(id)),
                ("/v1/anchors", None),
                ("/v1/anchor", Some(anchor)),
                ("/v1/anchor/follow", Some(anchor)),
            ] {
                let query: Vec<(&str, &str)> = [("scope", scope)]
                    .into_iter()
                    .chain(id.map(|id| ("id", id)))
                    .collect();
                let reply = client.get(path, &query).await;
                if is_seen {
                    drop(reply.ok());
                    continue;
                }
                assert!(!reply.text.contains(&said), "{path}: {}", reply.text);
                let denied = reply.refused(403, "forbidden");
                assert_eq!(denied["rule"], "token/scope", "{path}");
            }
        }
        // Nor does a brief tell of it elsewhere.
        for (client, at, is_told) in [
            (&own, WORKTREE, true),
            (&beside, BESIDE, scope != WORKTREE),
            (&foreign, "org/other/project/p", false),
        ] {
            let told = brief(client, &json!({ "scope": at })).await;
            let is_found = told.iter().any(|(_, hint)| *hint == said);
            assert_eq!(is_found, is_told, "{scope} at {at}: {told:?}");
        }
    }
}

#[tokio::test]
async fn evidence_that_proves_wrong_reaches_what_rests_on_it_as_far_as_it_is_seen() {
    let world = World::start().await;
    let admin = world.admin();
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let run = keep(&orchestrator, PROJECT, "It ran for 7 s.").await;
    let run = kept(PROJECT, &run);
    let rests = json!([{ "kind": "RESTS_ON", "to": run }]);
    let fields = json!({ "title": "A lock", "rank": "lock", "relations": rests });
    let lock = decide(&orchestrator, PROJECT, fields).await;
    let depends = json!([{ "kind": "DEPENDS_ON", "to": lock }]);
    let fields = json!({ "title": "A choice", "relations": depends });
    decide(&agent, WORKTREE, fields).await;
    let fields = json!({ "title": "Beside", "relations": rests });
    decide(&admin, BESIDE, fields).await;

    let titles = |titles: &[&str]| -> BTreeSet<String> {
        titles.iter().map(|&title| title.to_owned()).collect()
    };
    let seen = reached(&agent, WORKTREE, &run).await;
    assert_eq!(seen, titles(&["A lock", "A choice"]));
    let all = reached(&orchestrator, PROJECT, &run).await;
    assert_eq!(all, titles(&["A lock", "A choice", "Beside"]));
    let told = brief(&agent, &json!({ "scope": WORKTREE, "at": [run] })).await;
    let told: Vec<(&str, &str)> = told
        .iter()
        .map(|(layer, title)| (layer.as_str(), title.as_str()))
        .collect();
    let expected = [
        ("structural", "A lock"),
        ("structural", "A choice"),
        ("lock", "A lock"),
        ("normal", "A choice"),
    ];
    assert_eq!(told, expected);
    // What is withdrawn rests on nothing any longer.
    withdraw(&orchestrator, PROJECT, &lock).await;
    assert_eq!(reached(&agent, WORKTREE, &run).await, titles(&[]));
    // Evidence that is not seen is refused: that it affects nothing would read as if it were safe.
    let hidden = kept(BESIDE, &keep(&admin, BESIDE, "It ran.").await);
    for path in ["/v1/impact", "/v1/brief"] {
        let asked = json!({ "scope": WORKTREE, "at": [hidden] });
        drop(agent.post(path, &asked).await.refused(404, "not_found"));
    }
    audited(&world);
}
