//! Proposals: they say what a decision would mean, and nothing of them is taken for a decision.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::{audited, change, node, related, said, save, text};
use crate::harness::{Client, PROJECT, WORKTREE, World, phrase};

/// A lock of the project, and what would constrain and contradict it: what is said, and what its proposal is answered with.
async fn proposed(client: &Client) -> (Value, Value) {
    let claim = |value: &str| json!({ "key": "money.unit", "value": value });
    let lock = json!({ "rank": "lock", "claim": claim("cent") });
    let lock = node(PROJECT, &save(client, PROJECT, &lock).await);
    let relations = related("CONSTRAINS", &[&lock]);
    let fields = json!({ "claim": claim("euro"), "relations": relations });
    let wanted = said(PROJECT, &fields);
    let told = client.post("/v1/decisions/propose", &wanted).await.ok();
    assert_eq!(told["guards"][0]["node"], lock.as_str(), "{told}");
    assert_eq!(told["contradictions"].as_array().map(Vec::len), Some(1));
    (wanted, told)
}

#[tokio::test]
async fn a_proposal_offered_where_a_decision_is_required_is_refused_and_stores_nothing() {
    let world = World::start().await;
    let admin = world.admin();
    let (wanted, told) = proposed(&admin).await;
    let before = admin.all("/v1/events", PROJECT).await;
    // Alone, and beside all that a decision says.
    let mut both = wanted.clone();
    for (name, value) in told.as_object().expect("an answer has fields") {
        both[name] = value.clone();
    }
    for body in [&told, &both] {
        for path in [
            "/v1/decisions",
            "/v1/decisions/propose",
            "/v1/decisions/deactivate",
            "/v1/decisions/restore",
        ] {
            drop(admin.post(path, body).await.refused(400, "invalid_request"));
        }
    }
    assert_eq!(admin.all("/v1/events", PROJECT).await, before);
    assert_eq!(admin.all("/v1/decisions", PROJECT).await.len(), 1);
    // What it was about is saved by saying it, and then means what was told.
    let saved = admin.post("/v1/decisions", &wanted).await.ok();
    assert_eq!(saved["contradictions"], told["contradictions"]);
    assert_eq!(admin.all("/v1/decisions", PROJECT).await.len(), 2);
    audited(&world);
}

#[tokio::test]
async fn the_id_that_stands_for_what_is_proposed_is_that_of_no_decision() {
    let world = World::start().await;
    let admin = world.admin();
    let (_, told) = proposed(&admin).await;
    let before = admin.all("/v1/events", PROJECT).await;
    assert!(told.get("root").is_none() && told.get("version").is_none());
    let place = text(&told["impact"]["start"][0]);
    let (_, root) = place.split_once('#').expect("a decision has a root");
    let named = [("scope", PROJECT), ("root", root)];
    for path in ["/v1/decision", "/v1/decision/history"] {
        drop(admin.get(path, &named).await.refused(404, "not_found"));
    }
    let newer = said(PROJECT, &change(&json!({ "root": root }), 1, "normal"));
    let seen = json!({ "scope": PROJECT, "root": root, "expected_version": 1, "reason": phrase() });
    let mut back = seen.clone();
    back["version"] = json!(1);
    let at = json!({ "scope": WORKTREE, "at": [place] });
    let depends = json!({ "relations": related("DEPENDS_ON", &[place]) });
    let hint = json!({ "hint": phrase(), "to": [place] });
    for (path, body) in [
        ("/v1/decisions", &newer),
        ("/v1/decisions/propose", &newer),
        ("/v1/decisions/deactivate", &seen),
        ("/v1/decisions/restore", &back),
        ("/v1/decisions", &said(PROJECT, &depends)),
        (
            "/v1/anchors",
            &json!({ "scope": PROJECT, "anchors": [hint] }),
        ),
        ("/v1/impact", &at),
        ("/v1/brief", &at),
    ] {
        drop(admin.post(path, body).await.refused(404, "not_found"));
    }
    assert_eq!(admin.all("/v1/events", PROJECT).await, before);
    audited(&world);
}

#[tokio::test]
async fn a_misspelt_domain_is_told_to_whoever_proposes_saves_or_loads_it_and_refused_to_none() {
    let world = World::start().await;
    let admin = world.admin();
    let of = |domain: &str| json!({ "domain": domain });
    save(&admin, PROJECT, &of("pricing")).await;
    // What is beside is not seen, and makes no domain known.
    save(&admin, "org/acme/project/other", &of("prcing")).await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let propose = async |domain: &str| {
        let body = said(WORKTREE, &of(domain));
        agent.post("/v1/decisions/propose", &body).await.ok()
    };
    let known = propose("pricing").await;
    assert!(known.get("new_domain").is_none(), "{known}");
    assert_eq!(propose("prcing").await["new_domain"], "prcing");
    let first = save(&agent, WORKTREE, &of("prcing")).await;
    assert_eq!(first["new_domain"], "prcing", "{first}");
    let second = save(&agent, WORKTREE, &of("prcing")).await;
    assert!(second.get("new_domain").is_none(), "{second}");
    // Whoever works around it, where nothing of it holds, is told when loading.
    for (scope, is_empty) in [(WORKTREE, false), (PROJECT, true)] {
        let asked = json!({ "scope": scope, "domain": "prcing" });
        let brief = admin.post("/v1/brief", &asked).await.ok();
        let told = brief["empty_domain"] == json!(true);
        assert_eq!(told, is_empty, "{brief}");
    }
    audited(&world);
}
