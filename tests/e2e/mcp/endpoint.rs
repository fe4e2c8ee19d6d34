//! The endpoint and the process, where callers or servers are not as they should be.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::client::{Mcp, post};
use crate::harness::{PROJECT, World};

fn listing() -> Value {
    json!({})
}

#[tokio::test]
async fn without_a_good_token_nothing_is_read_of_a_request() {
    let world = World::start().await;
    for token in [None, Some("slk_00"), Some("nonsense")] {
        let client = world.admin().with_token(token);
        let reply = post(&client, "/mcp", "tools/list", listing(), &[]).await;
        reply.refused(401, "unauthenticated");
        // Neither is what is no message: who has no token learns nothing of the form.
        let reply = client.raw("/mcp", &[], b"{".to_vec()).await;
        reply.refused(401, "unauthenticated");
    }
}

#[tokio::test]
async fn a_page_that_rebinds_its_name_or_calls_from_a_browser_is_refused() {
    let world = World::start_with(|launch| {
        launch
            .env("SILLOK__MCP__HOSTS", "[\"sillok.example:7411\"]")
            .env("SILLOK__MCP__ORIGINS", "[\"https://app.example:443\"]")
    })
    .await;
    let client = world.principal(PrincipalKind::Agent, PROJECT).await;
    for (name, value, status) in [
        ("host", "evil.example", 403),
        ("host", "sillok.example", 403),
        ("host", "sillok.example:7411", 200),
        ("origin", "http://evil.example", 403),
        ("origin", "https://app.example", 200),
    ] {
        let reply = post(&client, "/mcp", "tools/list", listing(), &[(name, value)]).await;
        assert_eq!(reply.status, status, "{name}: {value}: {}", reply.text);
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_parsed() {
    let world =
        World::start_with(|launch| launch.env("SILLOK__MCP__MESSAGE_BYTES_MAX", "4096")).await;
    let client = world.principal(PrincipalKind::Agent, PROJECT).await;
    // It is not even JSON.
    let reply = client.raw("/mcp", &[], vec![b'['; 5_000]).await;
    assert_eq!(reply.status, 413, "{}", reply.text);
}

#[tokio::test]
async fn one_principal_that_waits_leaves_places_for_the_others() {
    let world = World::start_with(|launch| {
        launch
            .env("SILLOK__MCP__CALLS_MAX", "4")
            .env("SILLOK__MCP__CALLS_EACH_MAX", "1")
    })
    .await;
    let waits = world.principal(PrincipalKind::Agent, PROJECT).await;
    let other = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let task = world.unopened();
    let begin = json!({ "task": task, "title": "t" });
    Mcp::http(&waits).call("begin_task", begin).await.ok();
    let end = json!({ "task": task, "summary": "s", "wait_ms": 3_000 });
    let mut waiting = Mcp::http(&waits);
    let waited = waiting.call("end_task", end);
    let meanwhile = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let own = post(&waits, "/mcp", "tools/list", listing(), &[]).await;
        let others = post(&other, "/mcp", "tools/list", listing(), &[]).await;
        (own.status, others.status)
    };
    let (waited, statuses) = tokio::join!(waited, meanwhile);
    assert_eq!(statuses, (429, 200));
    assert_eq!(waited.ok()["state"], "requested");
}

#[tokio::test]
async fn a_token_that_was_revoked_is_refused_by_the_next_call() {
    let world = World::start().await;
    let minted = world.mint(PrincipalKind::Agent, PROJECT, 3_600).await;
    let client = world.admin().with_token(minted["token"].as_str());
    let mut mcp = Mcp::stdio(&world, &client);
    let task = world.unopened();
    mcp.call("begin_task", json!({ "task": task, "title": "t" }))
        .await
        .ok();
    let revoke = json!({ "id": minted["id"] });
    world.admin().post("/v1/tokens/revoke", &revoke).await.ok();
    let called = mcp.call("begin_task", json!({ "task": task })).await;
    called.refused("unauthenticated");
}

#[tokio::test]
async fn the_process_starts_no_server_and_finds_one_that_starts_later() {
    let mut world = World::start().await;
    let client = world.principal(PrincipalKind::Agent, PROJECT).await;
    let data = world.data();
    let data = data.to_str().expect("a path of UTF-8");
    world.stop();
    let mut mcp = Mcp::process(world.folder(), &["--data", data], client.token());
    let task = world.unopened();
    let begin = json!({ "task": task, "title": "t" });
    let listed = mcp.request("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(14));
    let away = mcp.call("begin_task", begin.clone()).await;
    away.refused("unavailable");
    let read = mcp
        .call("recall", json!({ "scope": task, "query": "q" }))
        .await;
    read.refused("unavailable");
    assert!(
        !world.data().join("server.json").exists(),
        "it started no server"
    );
    world.start_again().await;
    mcp.call("begin_task", begin).await.ok();
}

#[tokio::test]
async fn a_process_that_was_given_no_token_speaks_as_an_agent_of_its_project() {
    let world = World::start().await;
    let data = world.data();
    let data = data.to_str().expect("a path of UTF-8");
    let words = ["--data", data, "--scope", PROJECT];
    let mut mcp = Mcp::without_token(world.folder(), &words);
    let task = world.unopened();
    let begin = json!({ "task": task, "title": "t" });
    mcp.call("begin_task", begin).await.ok();
    let log = json!({ "task": task, "level": "info", "content": "c" });
    mcp.call("log_event", log).await.ok();
    let records = world.admin().all("/v1/records", &task).await;
    assert!(!records.is_empty());
    for record in &records {
        assert_eq!(record["author"]["kind"], "agent", "{record}");
    }
    // What the administrator may do it may not, though that one's token lies in the same directory.
    let passed = json!({ "task": task, "verification": { "outcome": "passed", "source": "human_approved", "run": "r" } });
    mcp.call("report_outcome", passed)
        .await
        .refused("forbidden");
    let axis = json!({ "scope": PROJECT, "title": "t", "content": "c", "rank": "axis" });
    mcp.call("record_decision", axis).await.refused("forbidden");
    let elsewhere = "org/acme/project/other/worktree/main/task/t";
    let begin = json!({ "task": elsewhere, "title": "t" });
    mcp.call("begin_task", begin).await.refused("forbidden");
    // Of no project, it is nobody's agent, and says what is missing.
    let mut nobody = Mcp::without_token(world.folder(), &["--data", data]);
    let begin = json!({ "task": task });
    nobody
        .call("begin_task", begin)
        .await
        .refused("unavailable");
}
