//! Arguments that are larger than what they stand for may be: refused by their codes, and nothing is written.

use std::iter::repeat_n;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::client::Mcp;
use crate::harness::{PROJECT, World};

/// Calls with one argument that is larger than it may be, and the code of the refusal.
fn large(task: &str) -> Vec<(&'static str, Value, &'static str)> {
    let files = |count: usize| vec!["src/a.rs"; count];
    let text = |bytes: usize| "a ".repeat(bytes / 2);
    let many = |count: usize| vec![json!({ "kind": "file", "path": "src/a.rs" }); count];
    let related =
        |place: usize| json!({ "kind": "APPLIES_TO", "to": format!("file:src/{place}.rs") });
    let related: Vec<Value> = (0..65).map(related).collect();
    let at: Vec<&str> = repeat_n("file:src/a.rs", 257).collect();
    let long = format!("{PROJECT}/worktree/main/task/{}", "x".repeat(100_000));
    let too_large = [
        ("begin_task", json!({ "task": task, "at": at })),
        ("recall", json!({ "scope": task, "query": text(9_000) })),
        (
            "log_event",
            json!({ "task": task, "level": "info", "content": "c", "metadata": { "a": text(20_000) } }),
        ),
        (
            "check_fix",
            json!({ "task": task, "approach": "a", "files": files(65) }),
        ),
        (
            "end_task",
            json!({ "task": task, "summary": "s", "approach": "a", "files": files(65), "wait_ms": 0 }),
        ),
        (
            "propose_memory",
            json!({ "scope": task, "content": text(40_000) }),
        ),
        (
            "propose_memory",
            json!({ "scope": task, "content": "c", "sources": many(65) }),
        ),
        (
            "record_decision",
            json!({ "scope": task, "title": "t", "content": "c", "relations": related }),
        ),
        ("impact", json!({ "scope": task, "at": at })),
    ];
    let of_handles = [
        ("begin_task", json!({ "task": long }), "invalid_scope"),
        (
            "log_event",
            json!({ "task": long, "level": "info", "content": "c" }),
            "invalid_scope",
        ),
        ("get_memory", json!({ "entry": long }), "invalid_id"),
        ("list_reviews", json!({ "scope": long }), "invalid_scope"),
    ];
    let too_large = too_large.map(|(tool, arguments)| (tool, arguments, "too_large"));
    too_large.into_iter().chain(of_handles).collect()
}

#[tokio::test]
async fn arguments_that_are_too_large_are_refused_by_their_code_and_nothing_is_written() {
    let world = World::start().await;
    let client = world.principal(PrincipalKind::Agent, PROJECT).await;
    let task = world.task().await;
    for mut mcp in [Mcp::http(&client), Mcp::stdio(&world, &client)] {
        let before = world.admin().all("/v1/events", &task).await.len();
        for (tool, arguments, code) in large(&task) {
            let called = mcp.call(tool, arguments).await;
            // What is handed back is short, whatever came in.
            assert!(called.text().len() < 8_000, "{tool}");
            called.refused(code);
        }
        let after = world.admin().all("/v1/events", &task).await.len();
        assert_eq!(after, before);
    }
}

#[tokio::test]
async fn a_record_of_nearly_a_whole_message_is_logged_and_comes_back_in_parts() {
    let world = World::start().await;
    let client = world.principal(PrincipalKind::Agent, PROJECT).await;
    let task = world.task().await;
    let content = "line of a build\n".repeat(60_000);
    for mut mcp in [Mcp::http(&client), Mcp::stdio(&world, &client)] {
        let logged = json!({ "task": task, "level": "tool", "content": content });
        let logged = mcp.call("log_event", logged).await.ok();
        let record = logged["record"].as_str().expect("a handle");
        let seq = record.rsplit_once('#').expect("SCOPE#SEQ").1;
        let before = seq.parse::<u64>().expect("a position") - 1;
        let uri = format!("sillok://log/{task}?after={before}");
        let read = mcp.request("resources/read", json!({ "uri": uri })).await;
        let text = read["result"]["contents"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{uri}: {read}"));
        assert!(text.len() < 100_000, "a resource has a bound");
        let document: Value = serde_json::from_str(text).expect("it is JSON");
        let first = &document["records"][0];
        assert_eq!(first["seq"].to_string(), seq);
        assert!(first["bytes_left_out"].as_u64() > Some(900_000), "{first}");
    }
}
