//! What is too large, and what just fits.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::refused;
use crate::harness::world::log;
use crate::harness::{ORG, WORKTREE, World, phrase};

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
        good.sender.raw(&good.sample.route, &[], body).await.ok();
    }
}

#[tokio::test]
async fn every_other_limit_is_named_when_it_is_passed() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let agent = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let record = log(&admin, &task, &phrase()).await;
    let short = "x".repeat(4_097);
    let object = |bytes: usize| json!({ "k": "x".repeat(bytes) });
    let many = vec![json!({ "level": "info", "content": "x" }); 1_001];
    let sum = vec![json!({ "level": "info", "content": "x".repeat(3 << 20) }); 3];
    let cite = vec![json!({ "kind": "log", "id": record, "time": 0 }); 65];
    let entry = |content: String| json!({ "scope": WORKTREE, "content": content });
    let verdict = |field: &str, text: &str| {
        let mut body =
            json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r" });
        body[field] = json!(text);
        body
    };
    let long = "x".repeat((32 << 10) + 1);
    for (client, route, body) in [
        (
            &admin,
            "/v1/logs",
            json!({ "scope": task, "records": many }),
        ),
        (&admin, "/v1/logs", json!({ "scope": task, "records": sum })),
        (
            &admin,
            "/v1/logs",
            json!({ "scope": task, "records": [{ "level": "info", "content": "x", "metadata": object(16 << 10) }] }),
        ),
        (
            &admin,
            "/v1/tasks",
            json!({ "scope": world.unopened(), "title": short }),
        ),
        (
            &admin,
            "/v1/tasks",
            json!({ "scope": world.unopened(), "title": "x", "description": long }),
        ),
        (
            &admin,
            "/v1/tasks/stuck",
            json!({ "scope": task, "reason": short }),
        ),
        (
            &admin,
            "/v1/tasks/close",
            json!({ "scope": task, "closing": "done", "reason": short }),
        ),
        (
            &admin,
            "/v1/memory-events",
            json!({ "scope": task, "event_type": short, "payload": 1 }),
        ),
        (&admin, "/v1/verifications", verdict("run", &short)),
        (&admin, "/v1/verifications", verdict("error", &long)),
        (&admin, "/v1/verifications", verdict("approach", &long)),
        (&agent, "/v1/entries", entry(long.clone())),
        (
            &agent,
            "/v1/entries",
            json!({ "scope": WORKTREE, "content": "x", "citations": cite }),
        ),
        (
            &agent,
            "/v1/entries",
            json!({ "scope": WORKTREE, "content": "x", "metadata": object(16 << 10) }),
        ),
        (
            &agent,
            "/v1/entries",
            json!({ "scope": WORKTREE, "content": "x", "claim": { "key": short, "value": "v" } }),
        ),
    ] {
        let problem = refused(&world, client.post(route, &body), 413, "too_large").await;
        assert!(
            problem["limit"]["value"].as_u64() > Some(0),
            "{route}: {problem}"
        );
        assert!(
            problem["limit"]["name"]
                .as_str()
                .is_some_and(|name| !name.is_empty())
        );
    }
    for (client, route, body) in [
        (&admin, "/v1/logs", json!({ "scope": task, "records": [] })),
        (
            &admin,
            "/v1/tasks",
            json!({ "scope": world.unopened(), "title": "  " }),
        ),
        (
            &admin,
            "/v1/tasks/stuck",
            json!({ "scope": task, "reason": "" }),
        ),
        (
            &admin,
            "/v1/memory-events",
            json!({ "scope": task, "event_type": "", "payload": 1 }),
        ),
        (&admin, "/v1/verifications", verdict("run", " ")),
    ] {
        refused(&world, client.post(route, &body), 400, "invalid_argument").await;
    }
}
