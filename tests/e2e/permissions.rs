//! Who may do what: every cell of both tables, over every route that writes.
//!
//! The routes come from the server's own document, so that a new one without a case turns red. The
//! expected cells are written out here once more, so that a wrong table in the rules turns red.

mod cells;
mod isolation;
mod mcp;
mod tables;
mod tokens;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::harness::World;

/// The routes of the document: (method, path) and the rules that decide each.
async fn routes(world: &World) -> BTreeMap<(String, String), Vec<String>> {
    let document = world.admin().get("/v1/openapi.json", &[]).await.ok();
    let mut routes = BTreeMap::new();
    for (path, item) in document["paths"].as_object().expect("a document has paths") {
        for (method, operation) in item.as_object().expect("a path has operations") {
            if !["get", "post", "put", "patch", "delete"].contains(&method.as_str()) {
                continue;
            }
            let access = operation["x-sillok-access"].as_array();
            let access = access.unwrap_or_else(|| panic!("{method} {path} names no rules"));
            let rules = access
                .iter()
                .map(|rule| rule.as_str().expect("a rule has a name").to_owned());
            routes.insert((method.clone(), path.clone()), rules.collect());
        }
    }
    assert!(
        routes.len() > 20,
        "the document lists the routes: {routes:?}"
    );
    routes
}

/// Whether a route writes, by the rules that decide it: what is proposed is not stored.
fn writes(method: &str, rules: &[String]) -> bool {
    method != "get"
        && rules
            .iter()
            .any(|rule| rule == "entries" || rule.starts_with("control/"))
        && rules != ["control/propose"]
}

/// Events of a scope that are not the note of a denial.
async fn events(world: &World, scope: &str) -> Vec<Value> {
    let events = world.admin().all("/v1/events", scope).await;
    events
        .into_iter()
        .filter(|event| event["kind"] != "DENIED")
        .collect()
}

/// Events of all scopes, and those of one that are not notes of denials.
async fn counts(world: &World, scope: &str) -> (u64, usize) {
    let status = world.admin().get("/v1/status", &[]).await.ok();
    let all = status["events"].as_u64().expect("the status counts events");
    (all, events(world, scope).await.len())
}
