//! What is too large, and what just fits.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::refused;
use crate::harness::world::log;
use crate::harness::{Client, ORG, WORKTREE, World, command_id, phrase};

const RECORD_BYTES_MAX: usize = 8 << 20;

#[tokio::test]
async fn a_record_of_eight_mebibytes_fits_and_one_byte_more_does_not() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    // Characters of two bytes that JSON need not escape, and quotes, which double in size.
    let text = |bytes: usize| format!("{}{}", "é\"".repeat(bytes / 3), "x".repeat(bytes % 3));
    for bytes in [RECORD_BYTES_MAX, RECORD_BYTES_MAX + 1] {
        let content = text(bytes);
        assert_eq!(content.len(), bytes);
        let record = json!({ "level": "info", "content": content });
        let payload = Value::String("x".repeat(bytes - 2));
        for (route, body) in [
            ("/v1/logs", json!({ "scope": task, "records": [record] })),
            (
                "/v1/snapshots",
                json!({ "scope": task, "content": content, "trigger": "manual" }),
            ),
            (
                "/v1/memory-events",
                json!({ "scope": task, "event_type": "big", "payload": payload }),
            ),
        ] {
            if bytes > RECORD_BYTES_MAX {
                let problem = refused(&world, admin.post(route, &body), 413, "too_large").await;
                let limit = json!({ "name": "record bytes", "value": RECORD_BYTES_MAX });
                assert_eq!(problem["limit"], limit, "{route}");
                continue;
            }
            let first = admin.post(route, &body).await.ok()["first"].to_string();
            let stored = admin
                .get("/v1/record", &[("id", &format!("{task}#{first}"))])
                .await
                .ok();
            let expected = if route == "/v1/memory-events" {
                payload.to_string()
            } else {
                content.clone()
            };
            assert!(
                stored["content"] == expected,
                "{route}: a large text comes back as it was"
            );
        }
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_by_every_write_route() {
    let least = RECORD_BYTES_MAX.to_string();
    let configure =
        |launch: crate::harness::Launch| launch.env("SILLOK__SERVER__BODY_BYTES_MAX", &least);
    let world = World::start_with(configure).await;
    for good in world.good_requests().await {
        let mut body = good.sample.body.to_string().into_bytes();
        // Blanks are JSON too: only the size is wrong.
        body.resize(RECORD_BYTES_MAX + 1, b' ');
        let sending = good.sender.raw(&good.sample.route, &[], body.clone());
        let problem = refused(&world, sending, 413, "too_large").await;
        let limit = json!({ "name": "request body bytes", "value": RECORD_BYTES_MAX });
        assert_eq!(problem["limit"], limit, "{}", good.sample.route);
        body.truncate(RECORD_BYTES_MAX);
        let answer = good.sender.raw(&good.sample.route, &[], body).await.ok();
        good.sample.settle(&good.sender, &answer).await;
    }
}

/// Bytes of a short text, and of an error or an entry, and one more.
const SHORT: usize = (4 << 10) + 1;
const LONG: usize = (32 << 10) + 1;
const METADATA: usize = 16 << 10;

/// Sends what is over a limit, which the refusal names.
async fn over(world: &World, client: &Client, route: &str, body: Value) {
    let problem = refused(world, client.post(route, &body), 413, "too_large").await;
    assert!(
        problem["limit"]["value"].as_u64() > Some(0),
        "{route}: {problem}"
    );
    assert!(
        problem["limit"]["name"]
            .as_str()
            .is_some_and(|name| !name.is_empty()),
        "{problem}"
    );
}

fn x(bytes: usize) -> String {
    "x".repeat(bytes)
}

fn verdict(task: &str, field: &str, text: &str) -> Value {
    let mut body =
        json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r" });
    body[field] = json!(text);
    body
}

#[tokio::test]
async fn every_limit_of_a_log_is_named_when_it_is_passed() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let record = json!({ "level": "info", "content": "x" });
    let large = json!({ "level": "info", "content": x(3 << 20) });
    let with_metadata =
        json!({ "level": "info", "content": "x", "metadata": { "k": x(METADATA) } });
    for records in [vec![record; 1_001], vec![large; 3], vec![with_metadata]] {
        over(
            &world,
            &admin,
            "/v1/logs",
            json!({ "scope": task, "records": records }),
        )
        .await;
    }
    let event = json!({ "scope": task, "event_type": x(SHORT), "payload": 1 });
    over(&world, &admin, "/v1/memory-events", event).await;
}

#[tokio::test]
async fn every_limit_of_a_task_is_named_when_it_is_passed() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let new = world.unopened();
    for (route, body) in [
        ("/v1/tasks", json!({ "scope": new, "title": x(SHORT) })),
        (
            "/v1/tasks",
            json!({ "scope": new, "title": "x", "description": x(LONG) }),
        ),
        (
            "/v1/tasks/stuck",
            json!({ "scope": task, "reason": x(SHORT) }),
        ),
        (
            "/v1/tasks/close",
            json!({ "scope": task, "closing": "done", "reason": x(SHORT) }),
        ),
        (
            "/v1/erase",
            json!({ "scope": task, "records": [1], "reason": x(SHORT) }),
        ),
        (
            "/v1/erase",
            json!({ "scope": task, "records": vec![1; 257], "reason": "x" }),
        ),
        (
            "/v1/erase",
            json!({ "scope": task, "evidence": vec![command_id(); 257], "reason": "x" }),
        ),
        (
            "/v1/erase",
            json!({ "scope": task, "kinds": vec!["EXPLAINS"; 257], "reason": "x" }),
        ),
        ("/v1/verifications", verdict(&task, "run", &x(SHORT))),
        ("/v1/verifications", verdict(&task, "error", &x(LONG))),
        ("/v1/verifications", verdict(&task, "approach", &x(LONG))),
    ] {
        over(&world, &admin, route, body).await;
    }
}

#[tokio::test]
async fn every_limit_of_an_entry_is_named_when_it_is_passed() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let record = log(&world.admin(), &world.task().await, &phrase()).await;
    let cite = vec![json!({ "kind": "log", "id": record, "time": 0 }); 65];
    for (field, value) in [
        ("content", json!(x(LONG))),
        ("citations", json!(cite)),
        ("metadata", json!({ "k": x(METADATA) })),
        ("claim", json!({ "key": x(SHORT), "value": "v" })),
        ("claim", json!({ "key": "k", "value": x(SHORT) })),
    ] {
        let mut body = json!({ "scope": WORKTREE, "content": "x" });
        body[field] = value;
        over(&world, &agent, "/v1/entries", body).await;
    }
}

#[tokio::test]
async fn every_limit_of_a_decision_is_named_when_it_is_passed() {
    let world = World::start().await;
    let admin = world.admin();
    let file = |number: usize| json!({ "kind": "APPLIES_TO", "to": format!("file:{number}") });
    let files: Vec<Value> = (0..65).map(file).collect();
    let long = json!([{ "kind": "APPLIES_TO", "to": format!("file:{}", x(SHORT)) }]);
    for (field, value) in [
        ("title", json!(x(SHORT))),
        ("content", json!(x((64 << 10) + 1))),
        ("claim", json!({ "key": x(SHORT), "value": "v" })),
        ("claim", json!({ "key": "k", "value": x(SHORT) })),
        ("reason", json!(x(SHORT))),
        ("relations", json!(files)),
        ("relations", long),
    ] {
        let mut body = json!({ "scope": WORKTREE, "title": "t", "content": "c" });
        body[field] = value;
        over(&world, &admin, "/v1/decisions", body).await;
    }
    for (route, field, value) in [
        ("/v1/brief", "items_max", 1_001),
        ("/v1/brief", "bytes_max", (4 << 20) + 1),
        ("/v1/impact", "nodes_max", 10_001),
        ("/v1/impact", "depth_max", 9),
    ] {
        let mut body = json!({ "scope": WORKTREE, "at": ["file:a"] });
        body[field] = json!(value);
        over(&world, &admin, route, body).await;
    }
    for (field, value) in [("limit", json!(51)), ("query", json!(x((1 << 10) + 1)))] {
        let mut body = json!({ "scope": WORKTREE, "query": "deadlock" });
        body[field] = value;
        over(&world, &admin, "/v1/anchors/search", body).await;
    }
}

#[tokio::test]
async fn every_limit_of_evidence_and_anchors_is_named_when_it_is_passed() {
    let world = World::start().await;
    let admin = world.admin();
    for (field, value) in [
        ("title", x(SHORT)),
        ("source", x(SHORT)),
        ("media_type", format!("text/{}", x(124))),
        ("content", x(RECORD_BYTES_MAX + 1)),
    ] {
        let mut body = json!({ "scope": WORKTREE, "title": "t", "content": "c" });
        body[field] = json!(value);
        over(&world, &admin, "/v1/evidence", body).await;
    }
    let body = json!({ "scope": WORKTREE, "title": "t", "content": x(RECORD_BYTES_MAX) });
    let saved = admin.post("/v1/evidence", &body).await.ok();
    let id = saved["id"].as_str().expect("evidence has an id");
    let to = &*format!("evidence:{WORKTREE}#{id}");
    let anchor = |hint: usize, to: Vec<&str>| json!({ "hint": x(hint), "to": to });
    let fits = anchor(1 << 10, vec![to]);
    for anchors in [
        vec![anchor((1 << 10) + 1, vec![to])],
        vec![anchor(1, vec![to; 17])],
        vec![fits.clone(); 65],
    ] {
        let body = json!({ "scope": WORKTREE, "anchors": anchors });
        over(&world, &admin, "/v1/anchors", body).await;
    }
    let body = json!({ "scope": WORKTREE, "anchors": vec![fits; 64] });
    let added = admin.post("/v1/anchors", &body).await.ok();
    let ids = added["ids"].as_array().expect("anchors have ids");
    assert_eq!(ids.len(), 64);
    let dropped = json!({ "scope": WORKTREE, "id": ids[0], "reason": x(SHORT) });
    over(&world, &admin, "/v1/anchors/drop", dropped).await;
}

#[tokio::test]
async fn what_must_say_something_is_not_empty() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    for (route, body) in [
        ("/v1/logs", json!({ "scope": task, "records": [] })),
        (
            "/v1/tasks",
            json!({ "scope": world.unopened(), "title": "  " }),
        ),
        ("/v1/tasks/stuck", json!({ "scope": task, "reason": "" })),
        ("/v1/erase", json!({ "scope": task, "reason": "x" })),
        (
            "/v1/erase",
            json!({ "scope": task, "records": [1], "reason": "" }),
        ),
        (
            "/v1/memory-events",
            json!({ "scope": task, "event_type": "", "payload": 1 }),
        ),
        ("/v1/verifications", verdict(&task, "run", " ")),
        (
            "/v1/decisions",
            json!({ "scope": task, "title": " ", "content": "c" }),
        ),
        (
            "/v1/decisions",
            json!({ "scope": task, "title": "t", "content": " " }),
        ),
        ("/v1/impact", json!({ "scope": task, "at": [] })),
        (
            "/v1/evidence",
            json!({ "scope": task, "title": " ", "content": "c" }),
        ),
        (
            "/v1/evidence",
            json!({ "scope": task, "title": "t", "content": " " }),
        ),
        ("/v1/anchors", json!({ "scope": task, "anchors": [] })),
    ] {
        refused(&world, admin.post(route, &body), 400, "invalid_argument").await;
    }
}
