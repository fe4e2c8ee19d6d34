//! What a change of a decision reaches, over the scopes, and who is shown it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::{audited, change, node, related, save, text};
use crate::harness::{Client, ORG, PROJECT, WORKTREE, World};

/// Another project of the same organisation.
const OTHER: &str = "org/acme/project/other";

/// What a change of some nodes affects, seen from a scope: the path to each node.
async fn impact(client: &Client, scope: &str, at: &[&str]) -> BTreeMap<String, Vec<String>> {
    let asked = json!({ "scope": scope, "at": at });
    let found = client.post("/v1/impact", &asked).await.ok();
    assert_eq!(found["cut"], Value::Null, "{found}");
    paths(&found)
}

fn paths(impact: &Value) -> BTreeMap<String, Vec<String>> {
    let affected = impact["affected"].as_array().expect("it lists nodes");
    let paths: BTreeMap<String, Vec<String>> = affected
        .iter()
        .map(|one| {
            let path = one["path"].as_array().expect("each node has a path");
            assert_eq!(one["depth"], path.len(), "{one}");
            let told = |edge: &Value| {
                let [from, kind, to] = ["from", "kind", "to"].map(|part| text(&edge[part]));
                format!("{from} {kind} {to}")
            };
            (
                text(&one["node"]).to_owned(),
                path.iter().map(told).collect(),
            )
        })
        .collect();
    assert_eq!(paths.len(), affected.len(), "each node once: {impact}");
    paths
}

/// An axis of the organisation, on which a lock of each of two projects rests, and on one of these a choice of a worktree.
struct Chain {
    axis: (Value, String),
    lock: String,
    choice: String,
    beside: String,
}

impl Chain {
    async fn of(world: &World) -> Self {
        let admin = world.admin();
        let axis = save(&admin, ORG, &json!({ "rank": "axis" })).await;
        let on = node(ORG, &axis);
        let rests = |node: &str| related("DEPENDS_ON", &[node]);
        let lock = json!({ "rank": "lock", "relations": rests(&on) });
        let beside = node(OTHER, &save(&admin, OTHER, &lock).await);
        let lock = node(PROJECT, &save(&admin, PROJECT, &lock).await);
        let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
        let mut relations = rests(&lock);
        relations
            .as_array_mut()
            .expect("a list")
            .push(json!({ "kind": "APPLIES_TO", "to": "file:src/main.rs" }));
        let choice = save(&agent, WORKTREE, &json!({ "relations": relations })).await;
        Self {
            axis: (axis, on),
            lock,
            choice: node(WORKTREE, &choice),
            beside,
        }
    }

    /// The relations that lead from the axis to each node that is seen within the one project.
    fn within(&self) -> BTreeMap<String, Vec<String>> {
        let Self {
            axis: (_, axis),
            lock,
            choice,
            ..
        } = self;
        let steps = [
            format!("{lock} DEPENDS_ON {axis}"),
            format!("{choice} DEPENDS_ON {lock}"),
            format!("{choice} APPLIES_TO file:src/main.rs"),
        ];
        BTreeMap::from([
            (lock.clone(), steps[..1].to_vec()),
            (choice.clone(), steps[..2].to_vec()),
            ("file:src/main.rs".to_owned(), steps.to_vec()),
        ])
    }
}

#[tokio::test]
async fn a_change_reaches_over_the_scopes_as_far_as_the_token_does() {
    let world = World::start().await;
    let chain = Chain::of(&world).await;
    let (axis, at) = (&chain.axis.0, [chain.axis.1.as_str()]);
    let within = chain.within();
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    assert_eq!(impact(&agent, WORKTREE, &at).await, within);
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    assert_eq!(impact(&orchestrator, PROJECT, &at).await, within);
    let mut all = within.clone();
    let step = format!("{} DEPENDS_ON {}", chain.beside, chain.axis.1);
    all.insert(chain.beside.clone(), vec![step]);
    let human = world.principal(PrincipalKind::Human, ORG).await;
    assert_eq!(impact(&human, ORG, &at).await, all);
    // Whoever stands in a project sees no other, however far the token reaches.
    assert_eq!(impact(&human, PROJECT, &at).await, within);

    let saved = save(&human, ORG, &change(axis, 1, "axis")).await;
    assert_eq!(paths(&saved["impact"]), all, "a save says what it reaches");
    let guards = saved["guards"].as_array().expect("it lists guards").iter();
    let guards: BTreeSet<&str> = guards.map(|guard| text(&guard["node"])).collect();
    // The axis that is changed is told of before what it reaches.
    assert_eq!(saved["guards"][0]["node"], chain.axis.1.as_str());
    assert_eq!(saved["guards"][0]["affected"], Value::Null);
    assert_eq!(
        guards,
        BTreeSet::from([
            chain.axis.1.as_str(),
            chain.lock.as_str(),
            chain.beside.as_str()
        ])
    );
    audited(&world);
}

#[tokio::test]
async fn a_change_of_a_file_reaches_the_decisions_about_it_and_ends_at_files() {
    let world = World::start().await;
    let chain = Chain::of(&world).await;
    let admin = world.admin();
    // Two decisions about one file do not affect one another.
    let about = json!({ "relations": related("APPLIES_TO", &["file:src/main.rs"]) });
    let second = node(WORKTREE, &save(&admin, WORKTREE, &about).await);
    let of_file = impact(&admin, WORKTREE, &["file:src/main.rs"]).await;
    let found: BTreeSet<&String> = of_file.keys().collect();
    assert_eq!(found, BTreeSet::from([&chain.choice, &second]));
    let of_choice = impact(&admin, WORKTREE, &[&chain.choice]).await;
    assert!(of_choice.keys().eq(["file:src/main.rs"]), "{of_choice:?}");
    audited(&world);
}

#[tokio::test]
async fn a_cycle_of_decisions_ends_and_what_is_withdrawn_leads_nowhere() {
    let world = World::start().await;
    let admin = world.admin();
    let first = save(&admin, PROJECT, &json!({})).await;
    let mut nodes = vec![node(PROJECT, &first)];
    let mut saved = Vec::new();
    for _ in 0..3 {
        let rests = related("DEPENDS_ON", &[nodes.last().expect("there is one")]);
        saved.push(save(&admin, PROJECT, &json!({ "relations": rests })).await);
        nodes.push(node(PROJECT, saved.last().expect("it was saved")));
    }
    let mut round = change(&first, 1, "normal");
    round["relations"] = related("DEPENDS_ON", &[&nodes[3]]);
    let closed = save(&admin, PROJECT, &round).await;
    assert_eq!(paths(&closed["impact"]).len(), 3, "{closed}");
    for at in &nodes {
        let found = impact(&admin, PROJECT, &[at]).await;
        let others: BTreeSet<&String> = nodes.iter().filter(|other| *other != at).collect();
        assert_eq!(found.keys().collect::<BTreeSet<_>>(), others);
    }
    // In the middle, it breaks.
    let gone = json!({ "scope": PROJECT, "root": saved[1]["root"], "expected_version": 1, "reason": "none" });
    let gone = admin.post("/v1/decisions/deactivate", &gone).await.ok();
    assert!(
        paths(&gone["impact"]).contains_key(&nodes[3]),
        "it still depends: {gone}"
    );
    let found = impact(&admin, PROJECT, &[&nodes[0]]).await;
    assert!(found.keys().eq([&nodes[1]]), "{found:?}");
    // That nothing is affected by what does not hold would read as if it were safe to change.
    for path in ["/v1/impact", "/v1/brief"] {
        let asked = json!({ "scope": PROJECT, "at": [nodes[0], nodes[2]] });
        let refused = admin.post(path, &asked).await.refused(404, "not_found");
        assert!(text(&refused["detail"]).contains(&nodes[2]), "{refused}");
    }
    audited(&world);
}

#[tokio::test]
async fn a_change_that_lets_go_of_a_lock_tells_of_it_before_and_after() {
    let world = World::start().await;
    let admin = world.admin();
    let lock = save(&admin, PROJECT, &json!({ "rank": "lock" })).await;
    let lock = node(PROJECT, &lock);
    let bound = json!({ "relations": related("CONSTRAINS", &[&lock]) });
    let bound = save(&admin, PROJECT, &bound).await;
    let mut free = super::said(PROJECT, &change(&bound, 1, "normal"));
    free["relations"] = json!([]);
    let proposed = admin.post("/v1/decisions/propose", &free).await.ok();
    let saved = admin.post("/v1/decisions", &free).await.ok();
    for told in [&proposed, &saved] {
        assert_eq!(told["guards"][0]["node"], lock.as_str(), "{told}");
        assert_eq!(told["impact"], proposed["impact"]);
    }
    audited(&world);
}
