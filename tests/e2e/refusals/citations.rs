//! Citations that are missing, or lead nowhere.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::refused;
use crate::harness::samples::put;
use crate::harness::world::log;
use crate::harness::{ORG, PROJECT, WORKTREE, World, phrase};

#[tokio::test]
async fn knowledge_and_state_above_a_worktree_need_a_citation() {
    let world = World::start().await;
    let verified = world.verified().await;
    let orchestrator = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let system = world.principal(PrincipalKind::System, ORG).await;
    let record = log(&world.admin(), &world.task().await, &phrase()).await;
    let cited = json!([{ "kind": "log", "id": record, "time": 0 }]);
    for table in [
        "skills",
        "patterns",
        "code_graph",
        "gotchas",
        "sessions",
        "tasks",
        "stories",
    ] {
        for (scope, writer) in [(PROJECT, &orchestrator), (ORG, &system)] {
            let mut body = json!({ "scope": scope, "table": table, "content": phrase(), "verification": verified });
            refused(
                &world,
                writer.post("/v1/entries", &body),
                422,
                "citation_required",
            )
            .await;
            body["citations"] = cited.clone();
            let old = writer.post("/v1/entries", &body).await.ok()["entry"].clone();
            let mut replace = json!({ "old": old, "expected_version": 1, "reason": "newer",
                "replacement": { "content": phrase() }, "verification": verified });
            let sending = writer.post("/v1/entries/supersede", &replace);
            refused(&world, sending, 422, "citation_required").await;
            replace["replacement"]["citations"] = cited.clone();
            writer.post("/v1/entries/supersede", &replace).await.ok();
        }
        // Below, it is kept as a hypothesis.
        let body = json!({ "scope": WORKTREE, "table": table, "content": phrase() });
        let written = orchestrator.post("/v1/entries", &body).await.ok();
        assert_eq!(written["status"], "hypothesis", "{table}");
    }
}

#[tokio::test]
async fn a_citation_that_leads_nowhere_is_refused_by_every_route_that_takes_one() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let record = log(&admin, &task, &phrase()).await;
    let agent = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let entry = put(&agent, WORKTREE, &phrase()).await;
    let bodies = |citation: &Value| {
        let citations = json!([citation]);
        [
            (
                "/v1/entries",
                json!({ "scope": WORKTREE, "content": phrase(), "citations": citations }),
            ),
            (
                "/v1/entries/amend",
                json!({ "entry": entry, "expected_version": 1, "content": phrase(), "citations": citations }),
            ),
            (
                "/v1/entries/supersede",
                json!({ "old": entry, "expected_version": 1, "reason": "newer",
                    "replacement": { "content": phrase(), "citations": citations } }),
            ),
            (
                "/v1/verifications",
                json!({ "scope": task, "outcome": "passed", "source": "tests_passed", "run": "r",
                    "citations": citations }),
            ),
        ]
    };
    let nowhere = world.unopened();
    for citation in [
        json!({ "kind": "log", "id": format!("{task}#999"), "time": 0 }),
        json!({ "kind": "log", "id": format!("{nowhere}#1"), "time": 0 }),
        json!({ "kind": "terminal_snapshot", "id": record }),
        // Its first event opened the task: that is no record.
        json!({ "kind": "log", "id": format!("{task}#1"), "time": 0 }),
        json!({ "kind": "commit", "hash": "not a hash", "repository": "r" }),
        json!({ "kind": "commit", "hash": "abcdef1", "repository": "" }),
        json!({ "kind": "file", "path": "a.rs", "lines": [9, 3] }),
        json!({ "kind": "file", "path": "", "lines": [1, 3] }),
    ] {
        for (route, body) in bodies(&citation) {
            let problem = refused(
                &world,
                agent.post(route, &body),
                422,
                "unresolvable_citation",
            )
            .await;
            assert!(!problem["detail"].as_str().unwrap().is_empty());
        }
    }
    for (citation, code) in [
        (
            json!({ "kind": "log", "id": "nowhere", "time": 0 }),
            "invalid_id",
        ),
        (json!({ "kind": "rumour", "id": "x" }), "invalid_request"),
        (json!({ "kind": "human", "user": "k i m" }), "invalid_id"),
    ] {
        for (route, body) in bodies(&citation) {
            refused(&world, agent.post(route, &body), 400, code).await;
        }
    }
    let good = json!({ "kind": "log", "id": record, "time": 0 });
    let (route, body) = &bodies(&good)[0];
    agent.post(route, body).await.ok();
}

#[tokio::test]
async fn a_verification_that_is_none_is_no_ground() {
    let world = World::start().await;
    let (admin, verified) = (world.admin(), world.verified().await);
    let orchestrator = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let put = |verification: Value| json!({ "scope": PROJECT, "content": phrase(), "verification": verification });
    let task = verified["task"].clone();
    let unknown = json!({ "task": task, "id": "01900000-0000-7000-8000-000000000000" });
    refused(
        &world,
        orchestrator.post("/v1/entries", &put(unknown)),
        404,
        "not_found",
    )
    .await;
    let wrong = json!({ "task": task, "id": "x" });
    refused(
        &world,
        orchestrator.post("/v1/entries", &put(wrong)),
        400,
        "invalid_id",
    )
    .await;
    let wrong = json!({ "task": "org/..", "id": verified["id"] });
    refused(
        &world,
        orchestrator.post("/v1/entries", &put(wrong)),
        400,
        "invalid_scope",
    )
    .await;

    let failed = world.task().await;
    let body =
        json!({ "scope": failed, "outcome": "failed", "source": "tests_failed", "run": "r" });
    let id = admin.post("/v1/verifications", &body).await.ok()["verification"].clone();
    crate::harness::world::promoted(&admin, &failed, id.as_str().unwrap()).await;
    let ground = json!({ "task": failed, "id": id });
    refused(
        &world,
        orchestrator.post("/v1/entries", &put(ground)),
        400,
        "invalid_argument",
    )
    .await;
}
