//! Command ids, stale versions, states and times that a command does not fit.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::refused;
use crate::harness::http::{command_id_at, now_ms};
use crate::harness::samples::put;
use crate::harness::world::log;
use crate::harness::{ORG, PROJECT, WORKTREE, World, assert_same, command_id, phrase};

const HOUR_MS: u64 = 60 * 60 * 1_000;
const DAY_MS: u64 = 24 * HOUR_MS;

#[tokio::test]
async fn a_repeated_command_is_given_the_first_answer_and_another_body_is_refused() {
    let world = World::start().await;
    for good in world.good_requests().await {
        let (id, route) = (command_id(), good.sample.route.as_str());
        let first = good
            .sender
            .command(route, &id, &good.sample.body)
            .await
            .ok();
        assert_eq!(first["command_id"], id, "{route}");
        good.sample.settle(&good.sender, &first).await;
        let before = super::written(&world).await;
        let again = good
            .sender
            .command(route, &id, &good.sample.body)
            .await
            .ok();
        let what = format!("{route}: a retry is given the first answer");
        assert_same(&again, &first, &what);
        assert_eq!(
            super::written(&world).await,
            before,
            "{route}: a retry writes nothing"
        );

        if let Some(other) = other_body(&good.sample.body) {
            let sending = good.sender.command(route, &id, &other);
            refused(&world, sending, 422, "command_reused").await;
        }
        let event = json!({ "scope": good.sample.scope, "event_type": "other", "payload": 1 });
        let sending = good.sender.command("/v1/memory-events", &id, &event);
        let problem = refused(&world, sending, 422, "command_reused").await;
        assert_eq!(problem["command_id"], id);
    }
}

/// The same body with another text in it.
fn other_body(body: &Value) -> Option<Value> {
    let mut other = body.clone();
    let texts = [
        "/title",
        "/reason",
        "/content",
        "/records/0/content",
        "/run",
        "/lifetime_s",
        "/event_type",
    ];
    let at = texts
        .into_iter()
        .find(|path| other.pointer(path).is_some())?;
    let text = other.pointer_mut(at).expect("it was found there");
    *text = if text.is_number() {
        json!(61)
    } else {
        json!(phrase())
    };
    Some(other)
}

#[tokio::test]
async fn two_principals_may_use_the_same_command_id() {
    let world = World::start().await;
    let (task, id) = (world.task().await, command_id());
    let one = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let two = world.principal(PrincipalKind::Agent, WORKTREE).await;
    for (client, text) in [(&one, "one"), (&two, "two")] {
        let body = json!({ "scope": task, "records": [{ "level": "info", "content": text }] });
        client.command("/v1/logs", &id, &body).await.ok();
    }
    assert_eq!(world.admin().all("/v1/records", &task).await.len(), 2);
}

#[tokio::test]
async fn a_command_id_that_is_none_is_refused_by_every_write_route() {
    let world = World::start().await;
    let future = command_id_at(now_ms() + HOUR_MS);
    let random = "6e0a4a2c-55a9-4a3e-9f6c-3a6f6d8f9b01".to_owned();
    let wrong = [
        "",
        "x",
        "0",
        "nil",
        &random,
        &future,
        "00000000-0000-0000-0000-000000000000",
    ];
    for good in world.good_requests().await {
        let route = good.sample.route.as_str();
        for id in wrong {
            let sending = good.sender.command(route, id, &good.sample.body);
            refused(&world, sending, 400, "invalid_id").await;
        }
        let (a, b) = (command_id(), command_id());
        let headers = [
            ("idempotency-key", a.as_str()),
            ("idempotency-key", b.as_str()),
        ];
        let sending = good
            .sender
            .raw(route, &headers, good.sample.body.to_string().into_bytes());
        refused(&world, sending, 400, "invalid_id").await;
        // The quoted form of structured headers is in use as well.
        let quoted = format!("\"{a}\"");
        let headers = [("idempotency-key", quoted.as_str())];
        let sent = good
            .sender
            .raw(route, &headers, good.sample.body.to_string().into_bytes())
            .await;
        let answer = sent.ok();
        assert_eq!(answer["command_id"], a, "{route}");
        good.sample.settle(&good.sender, &answer).await;
    }
}

#[tokio::test]
async fn a_command_id_from_before_the_floor_has_expired() {
    let world = World::start().await;
    let task = world.task().await;
    let body = json!({ "scope": task, "records": [{ "level": "info", "content": "x" }] });
    for days in [32, 400] {
        let id = command_id_at(now_ms() - days * DAY_MS);
        refused(
            &world,
            world.admin().command("/v1/logs", &id, &body),
            410,
            "expired",
        )
        .await;
    }
    // Hooks spool offline for thirty days.
    let id = command_id_at(now_ms() - 30 * DAY_MS);
    world.admin().command("/v1/logs", &id, &body).await.ok();
}

#[tokio::test]
async fn a_time_that_lies_far_ahead_is_refused() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let bodies = |time: u64| {
        let record = json!({ "level": "info", "content": "x", "time": time });
        [
            ("/v1/logs", json!({ "scope": task, "records": [record] })),
            (
                "/v1/snapshots",
                json!({ "scope": task, "content": "x", "trigger": "manual", "time": time }),
            ),
            (
                "/v1/memory-events",
                json!({ "scope": PROJECT, "event_type": "x", "payload": 1, "time": time }),
            ),
        ]
    };
    for ahead in [HOUR_MS, 400 * DAY_MS] {
        for (route, body) in bodies(now_ms() + ahead) {
            refused(&world, admin.post(route, &body), 400, "invalid_argument").await;
        }
    }
    for (route, body) in bodies(u64::MAX) {
        refused(&world, admin.post(route, &body), 400, "invalid_argument").await;
    }
    for (route, body) in bodies(now_ms() - DAY_MS) {
        admin.post(route, &body).await.ok();
    }
}

#[tokio::test]
async fn a_stale_version_is_a_conflict_that_says_what_is_current() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let entry = put(&agent, WORKTREE, &phrase()).await;
    let amend =
        |version: u64| json!({ "entry": entry, "expected_version": version, "content": phrase() });
    let replace = |version: u64| {
        json!({ "old": entry, "expected_version": version, "reason": "newer",
            "replacement": { "content": phrase() } })
    };
    agent.post("/v1/entries/amend", &amend(1)).await.ok();
    for version in [0, 1, 3, u64::MAX] {
        for (route, body) in [
            ("/v1/entries/amend", amend(version)),
            ("/v1/entries/supersede", replace(version)),
        ] {
            let problem = refused(&world, agent.post(route, &body), 409, "conflict").await;
            assert_eq!(
                problem["current"],
                json!({ "version": 2, "entry": entry }),
                "{route}"
            );
        }
    }
    let new = agent.post("/v1/entries/supersede", &replace(2)).await.ok()["new"].clone();
    for (route, body) in [
        ("/v1/entries/amend", amend(2)),
        ("/v1/entries/supersede", replace(2)),
    ] {
        let problem = refused(&world, agent.post(route, &body), 409, "conflict").await;
        assert_eq!(
            problem["current"],
            json!({ "version": 1, "entry": new }),
            "{route}"
        );
    }
}

#[tokio::test]
async fn a_supersession_that_would_fork_join_or_cross_scopes_is_refused() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let task = world.task().await;
    let (a, b) = (
        put(&agent, WORKTREE, &phrase()).await,
        put(&agent, WORKTREE, &phrase()).await,
    );
    let elsewhere = put(&agent, &task, &phrase()).await;
    let by = |old: &str, new: &str| json!({ "old": old, "expected_version": 1, "new": new, "reason": "newer" });
    let route = "/v1/entries/supersede";
    refused(
        &world,
        agent.post(route, &by(&a, &a)),
        422,
        "invalid_supersession",
    )
    .await;
    refused(
        &world,
        agent.post(route, &by(&a, &elsewhere)),
        404,
        "not_found",
    )
    .await;
    agent.post(route, &by(&a, &b)).await.ok();
    refused(
        &world,
        agent.post(route, &by(&b, &a)),
        422,
        "invalid_supersession",
    )
    .await;
    let c = put(&agent, WORKTREE, &phrase()).await;
    refused(
        &world,
        agent.post(route, &by(&c, &b)),
        422,
        "invalid_supersession",
    )
    .await;
    let mut both = by(&b, &c);
    both["replacement"] = json!({ "content": phrase() });
    refused(&world, agent.post(route, &both), 400, "invalid_request").await;
    let other_table = json!({ "old": b, "expected_version": 1, "reason": "newer",
        "replacement": { "table": "gotchas", "content": phrase() } });
    refused(
        &world,
        agent.post(route, &other_table),
        422,
        "invalid_supersession",
    )
    .await;
}

#[tokio::test]
async fn a_command_that_a_tasks_status_does_not_take_is_refused() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let system = world.principal(PrincipalKind::System, ORG).await;
    let scope = json!({ "scope": task });
    let stuck = json!({ "scope": task, "reason": "no idea" });
    let close = json!({ "scope": task, "closing": "done" });
    refused(
        &world,
        admin.post("/v1/tasks/unstick", &scope),
        409,
        "invalid_state",
    )
    .await;
    refused(
        &world,
        system.post("/v1/tasks/archive", &scope),
        409,
        "invalid_state",
    )
    .await;
    admin.post("/v1/tasks/stuck", &stuck).await.ok();
    refused(
        &world,
        admin.post("/v1/tasks/stuck", &stuck),
        409,
        "invalid_state",
    )
    .await;
    admin.post("/v1/tasks/close", &close).await.ok();
    refused(
        &world,
        admin.post("/v1/tasks/close", &close),
        409,
        "invalid_state",
    )
    .await;
    system.post("/v1/tasks/archive", &scope).await.ok();
    let record = json!({ "scope": task, "records": [{ "level": "info", "content": "x" }] });
    refused(
        &world,
        admin.post("/v1/logs", &record),
        409,
        "invalid_state",
    )
    .await;
    let again = json!({ "scope": task, "title": "again" });
    refused(&world, admin.post("/v1/tasks", &again), 409, "conflict").await;
}

#[tokio::test]
async fn a_promotion_goes_strictly_upward() {
    let world = World::start().await;
    let (admin, task, other) = (world.admin(), world.task().await, world.task().await);
    log(&admin, &task, &phrase()).await;
    let to = |target: &str| json!({ "scope": task, "outcome": "passed", "source": "tests_passed", "run": "r", "target": target });
    for target in [
        &task,
        &other,
        "org/acme/project/other",
        "org/other",
        "org/acme/project/api/worktree/x",
    ] {
        refused(
            &world,
            admin.post("/v1/verifications", &to(target)),
            422,
            "invalid_promotion",
        )
        .await;
    }
    let orchestrator = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let sent = orchestrator.post("/v1/verifications", &to(ORG)).await;
    assert_eq!(sent.refused(403, "forbidden")["rule"], "entries/org");
    // A verdict agrees with its source.
    let body = json!({ "scope": task, "outcome": "failed", "source": "tests_passed", "run": "r" });
    refused(
        &world,
        admin.post("/v1/verifications", &body),
        400,
        "invalid_argument",
    )
    .await;
}
