//! Kinds of relations that a project declares: where they count, what a change reaches over them, and who may declare one.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::{audited, node, related, said, save, text};
use crate::harness::{Client, ORG, PROJECT, WORKTREE, World, assert_same, command_id, phrase};

/// Another project of the same organisation.
const OTHER: &str = "org/acme/project/other";

fn kind(scope: &str, name: &str, reach: &str) -> Value {
    json!({ "scope": scope, "name": name, "reach": reach, "meaning": phrase() })
}

/// Declares a kind: the answer.
async fn declare(client: &Client, scope: &str, name: &str, reach: &str) -> Value {
    let body = kind(scope, name, reach);
    client.post("/v1/decisions/kinds", &body).await.ok()
}

/// The kinds that count in a scope, each with the scope that declared it.
async fn counting(client: &Client, scope: &str) -> Vec<(String, String)> {
    let kinds = client.all("/v1/decisions/kinds", scope).await;
    let told = |kind: &Value| {
        let [name, scope] = ["name", "scope"].map(|field| text(&kind[field]).to_owned());
        (name, scope)
    };
    kinds.iter().map(told).collect()
}

/// The nodes that a change of one affects, seen from a scope, each with the kind of the first relation that leads to it.
async fn affected(client: &Client, scope: &str, at: &str) -> Vec<(String, String)> {
    let asked = json!({ "scope": scope, "at": [at] });
    let found = client.post("/v1/impact", &asked).await.ok();
    let nodes = found["affected"].as_array().expect("it lists nodes");
    let told = |one: &Value| {
        let kind = text(&one["path"][0]["kind"]).to_owned();
        (text(&one["node"]).to_owned(), kind)
    };
    nodes.iter().map(told).collect()
}

/// Asserts that a query and a brief tell of the relation of a declared kind that leads from one decision to another.
async fn is_told(client: &Client, why: &str, lock: &str) {
    let query = "MATCH (a)-[r:EXPLAINS]->(b) RETURN a.node AS a, type(r) AS kind, b.node AS b";
    let asked = json!({ "scope": WORKTREE, "query": query });
    let found = client.post("/v1/graph/query", &asked).await.ok();
    assert_eq!(found["rows"], json!([[why, "EXPLAINS", lock]]));
    let asked = json!({ "scope": WORKTREE, "at": [lock] });
    let brief = client.post("/v1/brief", &asked).await.ok();
    let items = brief["items"].as_array().expect("a brief has items");
    let structural = items.iter().find(|item| item["layer"] == "structural");
    let structural = structural.expect("the lock is at hand");
    let marked = text(&structural["data_marked_text"]);
    assert!(
        marked.contains(&format!("{why} EXPLAINS {lock}")),
        "{marked}"
    );
}

#[tokio::test]
async fn a_declared_kind_is_used_below_and_carries_a_change_as_it_says() {
    let mut world = World::start().await;
    let admin = world.admin();
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    declare(&admin, ORG, "REPLACES", "forward").await;
    let declared = declare(&orchestrator, PROJECT, "explains", "backward").await;
    assert_eq!(declared["name"], "EXPLAINS");
    let both = [("EXPLAINS", PROJECT), ("REPLACES", ORG)];
    let both = both.map(|(name, scope)| (name.to_owned(), scope.to_owned()));
    assert_eq!(counting(&agent, WORKTREE).await, both);
    assert_eq!(counting(&agent, ORG).await, both[1..]);

    let lock = node(
        PROJECT,
        &save(&admin, PROJECT, &json!({ "rank": "lock" })).await,
    );
    let mut relations = related("explains", &[&lock]);
    let forward = json!({ "kind": "REPLACES", "to": lock });
    relations.as_array_mut().expect("a list").push(forward);
    let saved = save(&agent, WORKTREE, &json!({ "relations": relations })).await;
    let why = node(WORKTREE, &saved);
    let root = text(&saved["root"]);
    let named = [("scope", WORKTREE), ("root", root)];
    let shown = agent.get("/v1/decision", &named).await.ok();
    let kinds = shown["version"]["text"]["relations"]
        .as_array()
        .expect("a list");
    let kinds: Vec<&str> = kinds.iter().map(|one| text(&one["kind"])).collect();
    assert_eq!(kinds, ["EXPLAINS", "REPLACES"]);
    let pair = |node: &str, kind: &str| vec![(node.to_owned(), kind.to_owned())];
    assert_eq!(
        affected(&agent, WORKTREE, &lock).await,
        pair(&why, "EXPLAINS")
    );
    assert_eq!(
        affected(&agent, WORKTREE, &why).await,
        pair(&lock, "REPLACES")
    );
    let guards = saved["guards"].as_array().expect("it lists guards");
    assert_eq!(guards.len(), 1, "a save says what it reaches: {saved}");

    is_told(&agent, &why, &lock).await;
    let events = admin.all("/v1/events", PROJECT).await;
    let event = events
        .iter()
        .find(|event| event["kind"] == "RELATION_DECLARED");
    let body = &event.expect("it is an event")["body"];
    assert_eq!(
        (&body["name"], &body["reach"]),
        (&json!("EXPLAINS"), &json!("backward"))
    );

    world.kill();
    world.start_again().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    assert_eq!(counting(&agent, WORKTREE).await, both);
    assert_eq!(
        affected(&agent, WORKTREE, &lock).await,
        pair(&why, "EXPLAINS")
    );
    audited(&world);
}

#[tokio::test]
async fn a_kind_counts_nowhere_else_and_is_declared_once() {
    let world = World::start().await;
    let admin = world.admin();
    let on = node(ORG, &save(&admin, ORG, &json!({})).await);
    declare(&admin, PROJECT, "EXPLAINS", "backward").await;
    let uses =
        |scope: &str, kind: &str| said(scope, &json!({ "relations": related(kind, &[&on]) }));
    for (scope, name) in [
        (OTHER, "EXPLAINS"),
        (ORG, "EXPLAINS"),
        (PROJECT, "REPLACES"),
    ] {
        for path in ["/v1/decisions", "/v1/decisions/propose"] {
            let body = uses(scope, name);
            let refused = admin
                .post(path, &body)
                .await
                .refused(400, "invalid_argument");
            assert!(refused.to_string().contains(name), "{refused}");
        }
    }
    admin
        .post("/v1/decisions/propose", &uses(PROJECT, "EXPLAINS"))
        .await
        .ok();
    let route = "/v1/decisions/kinds";
    let again = admin.post(route, &kind(PROJECT, "EXPLAINS", "both")).await;
    drop(again.refused(409, "conflict"));
    // Around it, something else may be meant: what is nearer counts.
    declare(&admin, ORG, "EXPLAINS", "neither").await;
    let below = admin.post(route, &kind(OTHER, "EXPLAINS", "both")).await;
    drop(below.refused(409, "conflict"));
    let expected = |scope: &str| vec![("EXPLAINS".to_owned(), scope.to_owned())];
    assert_eq!(counting(&admin, WORKTREE).await, expected(PROJECT));
    assert_eq!(counting(&admin, OTHER).await, expected(ORG));
    let inside = admin.post(route, &kind(WORKTREE, "TESTS", "both")).await;
    drop(inside.refused(400, "invalid_scope"));
    for name in ["DEPENDS_ON", "CAUSED", "IMPORTS", "TWO WORDS", "7", ""] {
        let refused = admin.post(route, &kind(PROJECT, name, "both")).await;
        drop(refused.refused(400, "invalid_argument"));
    }
    let refused = admin.post(route, &kind(PROJECT, "TESTS", "sideways")).await;
    drop(refused.refused(400, "invalid_request"));
    audited(&world);
}

#[tokio::test]
async fn a_kind_whose_meaning_was_erased_is_used_as_before_and_not_declared_again() {
    let world = World::start().await;
    let admin = world.admin();
    let on = node(ORG, &save(&admin, ORG, &json!({})).await);
    declare(&admin, PROJECT, "EXPLAINS", "backward").await;
    let fields = json!({ "relations": related("EXPLAINS", &[&on]) });
    let before = node(WORKTREE, &save(&admin, WORKTREE, &fields).await);
    let order = json!({ "scope": PROJECT, "kinds": ["explains"], "reason": "it leaked" });
    let receipt = admin.post("/v1/erase", &order).await.ok();
    assert_eq!(
        (&receipt["events"], &receipt["known"]),
        (&json!(1), &json!(0))
    );
    let kinds = admin.all("/v1/decisions/kinds", WORKTREE).await;
    assert_eq!(
        (
            &kinds[0]["reach"],
            &kinds[0]["meaning"],
            &kinds[0]["erased"]
        ),
        (&json!("backward"), &json!(""), &json!(true))
    );
    let after = node(WORKTREE, &save(&admin, WORKTREE, &fields).await);
    let mut reached = affected(&admin, WORKTREE, &on).await;
    let mut expected = [before, after].map(|node| (node, "EXPLAINS".to_owned()));
    reached.sort_unstable();
    expected.sort_unstable();
    assert_eq!(reached, expected);
    let again = kind(PROJECT, "EXPLAINS", "backward");
    let again = admin.post("/v1/decisions/kinds", &again).await;
    drop(again.refused(409, "conflict"));
    audited(&world);
}

#[tokio::test]
async fn who_may_not_see_a_project_is_not_told_what_it_declares() {
    let world = World::start().await;
    let admin = world.admin();
    let on = node(PROJECT, &save(&admin, PROJECT, &json!({})).await);
    declare(&admin, PROJECT, "EXPLAINS", "backward").await;
    let stranger = world.principal(PrincipalKind::Human, OTHER).await;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    for name in ["EXPLAINS", "REPLACES"] {
        let fields = json!({ "relations": related(name, &[&on]) });
        for path in ["/v1/decisions", "/v1/decisions/propose"] {
            let reply = stranger.post(path, &said(PROJECT, &fields)).await;
            let problem = reply.refused(403, "forbidden");
            assert_eq!(problem["rule"], "token/scope", "{name}: {problem}");
        }
    }
    let listing = [("scope", PROJECT)];
    let listed = stranger.get("/v1/decisions/kinds", &listing).await;
    drop(listed.refused(403, "forbidden"));
    // Who may not save is told that, whatever the kinds are.
    for name in ["EXPLAINS", "REPLACES"] {
        let fields = json!({ "rank": "axis", "relations": related(name, &[&on]) });
        let reply = agent.post("/v1/decisions", &said(PROJECT, &fields)).await;
        let problem = reply.refused(403, "forbidden");
        assert_eq!(problem["rule"], "control/save_axis", "{name}: {problem}");
    }
    let reply = agent
        .post("/v1/decisions/kinds", &kind(PROJECT, "TESTS", "both"))
        .await;
    let problem = reply.refused(403, "forbidden");
    assert_eq!(problem["rule"], "control/save_lock_up_to_project");
}

#[tokio::test]
async fn a_retry_of_a_save_that_uses_a_declared_kind_is_given_the_first_answer() {
    let world = World::start().await;
    let admin = world.admin();
    let on = node(ORG, &save(&admin, ORG, &json!({})).await);
    let declaring = (command_id(), kind(PROJECT, "EXPLAINS", "backward"));
    let saving = said(
        PROJECT,
        &json!({ "relations": related("EXPLAINS", &[&on]) }),
    );
    let saving = (command_id(), saving);
    let mut answers = Vec::new();
    for (path, (id, body)) in [
        ("/v1/decisions/kinds", &declaring),
        ("/v1/decisions", &saving),
    ] {
        answers.push((path, id, body, admin.command(path, id, body).await.ok()));
    }
    // Meanwhile the organisation means something else by it.
    declare(&admin, ORG, "EXPLAINS", "forward").await;
    for (path, id, body, first) in answers {
        let again = admin.command(path, id, body).await.ok();
        assert_same(&again, &first, path);
    }
    audited(&world);
}
