//! The reasoning bank, through real servers: what became of an approach is told to whoever looks for it in the project, a task is
//! warned of what failed in others, and nobody outside learns of either.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::{Client, PROJECT, World, command_id, world};

/// Another project of the same organisation.
const OTHER: &str = "org/acme/project/other";
/// What is tried.
const TRIED: &str = "Cache the parsed headers between requests";
/// The same in another order.
const AGAIN: &str = "between requests, cache parsed headers";
/// Another approach.
const ANOTHER: &str = "Open a connection for each upload";
/// What a task is called that is like both.
const TITLE: &str = "Parsed headers are cached, and a connection is opened for each upload";

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn items(value: &Value) -> &[Value] {
    let items = value.as_array();
    items.map(Vec::as_slice).unwrap_or_default()
}

/// A task that was closed, with a record: its scope, and the position of that.
async fn closed(world: &World, scope: &str, closing: &str) -> u64 {
    let admin = world.admin();
    let opened = json!({ "scope": scope, "title": "t", "description": "" });
    admin.post("/v1/tasks", &opened).await.ok();
    let record = world::log(&admin, scope, "what was done").await;
    let closed = json!({ "scope": scope, "closing": closing });
    admin.post("/v1/tasks/close", &closed).await.ok();
    let (_, seq) = record.rsplit_once('#').expect("it names its place");
    seq.parse().expect("a place is a number")
}

/// How an agent went about a task, as it is stored.
fn went(scope: &str, record: u64, (approach, ended, reward): (&str, &str, f64)) -> Value {
    json!({ "scope": scope, "kind": "bugfix", "approach": approach, "files": ["src/headers.rs"],
        "ended": ended, "reward": reward, "lesson": format!("lesson of {approach}"),
        "steps": [{ "record": record }] })
}

async fn search(client: &Client, scope: &str, query: &str, failures_only: bool) -> Value {
    let failures_only = failures_only.to_string();
    let asked = [
        ("scope", scope),
        ("query", query),
        ("failures_only", failures_only.as_str()),
    ];
    client.get("/v1/patterns/search", &asked).await.ok()
}

async fn brief(client: &Client, scope: &str, items_max: u64) -> Value {
    let asked = json!({ "scope": scope, "items_max": items_max });
    client.post("/v1/brief", &asked).await.ok()
}

fn audited(world: &World) {
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

fn worktree_task(project: &str, name: &str) -> String {
    format!("{project}/worktree/w/task/{name}")
}

#[tokio::test]
async fn what_became_of_an_approach_is_found_in_its_project_by_any_of_its_words() {
    let mut world = World::start().await;
    let orchestrator = world
        .principal(PrincipalKind::Orchestrator, "org/acme")
        .await;
    let (done, failed) = (
        worktree_task(PROJECT, "done"),
        worktree_task(PROJECT, "failed"),
    );
    let of_done = closed(&world, &done, "done").await;
    let of_failed = closed(&world, &failed, "failed").await;
    let mut stored = Vec::new();
    for body in [
        went(&done, of_done, (TRIED, "succeeded", 1.0)),
        went(&failed, of_failed, (AGAIN, "failed", -1.0)),
        went(&failed, of_failed, (ANOTHER, "failed", -0.5)),
    ] {
        stored.push(orchestrator.post("/v1/trajectories", &body).await.ok());
    }
    let agent = world.principal(PrincipalKind::Agent, &done).await;
    for restarted in [false, true] {
        if restarted {
            world.stop();
            world.start_again().await;
        }
        let found = search(&agent, &done, "cache headers", false).await;
        let [pattern] = items(&found["patterns"]) else {
            panic!("one answers that: {found}")
        };
        assert_eq!(
            (&pattern["succeeded"], &pattern["failed"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(pattern["success_rate"], 0.5, "{pattern}");
        // A fifth of the way up, and then a fifth of the way down.
        let weight = pattern["weight"].as_f64().expect("it weighs something");
        assert!((weight - 0.48).abs() < 1e-9, "{pattern}");
        let cited: Vec<&str> = items(&pattern["cited"])
            .iter()
            .map(|cited| text(&cited["record"]))
            .collect();
        let expected = [&stored[1], &stored[0]].map(|one| text(&one["trajectory"]));
        assert_eq!(cited, expected, "the newest first");
        assert!(text(&pattern["data_marked_text"]).contains("not an instruction"));
        // Among failures both are found, and what failed alone comes first.
        let found = search(&agent, &done, TITLE, true).await;
        let approaches: Vec<&str> = items(&found["patterns"])
            .iter()
            .map(|pattern| text(&pattern["approach"]["text"]))
            .collect();
        assert_eq!(approaches, [ANOTHER, AGAIN], "{found}");
    }
    audited(&world);
}

#[tokio::test]
async fn a_trajectory_that_is_given_again_counts_once() {
    let world = World::start().await;
    let orchestrator = world
        .principal(PrincipalKind::Orchestrator, "org/acme")
        .await;
    let task = worktree_task(PROJECT, "t");
    let record = closed(&world, &task, "failed").await;
    let body = went(&task, record, (TRIED, "failed", -1.0));
    let id = command_id();
    let first = orchestrator
        .command("/v1/trajectories", &id, &body)
        .await
        .ok();
    for _ in 0..3 {
        let again = orchestrator
            .command("/v1/trajectories", &id, &body)
            .await
            .ok();
        assert_eq!(again, first);
    }
    let mut other = body.clone();
    other["reward"] = json!(1.0);
    let reused = orchestrator.command("/v1/trajectories", &id, &other).await;
    reused.refused(422, "command_reused");
    let found = search(&orchestrator, &task, TRIED, true).await;
    assert_eq!(found["patterns"][0]["failed"], 1, "{found}");
    audited(&world);
}

#[tokio::test]
async fn who_may_not_store_one_is_told_the_rule_and_what_is_not_over_has_none() {
    let world = World::start().await;
    let task = worktree_task(PROJECT, "t");
    let record = closed(&world, &task, "failed").await;
    let body = went(&task, record, (TRIED, "failed", -1.0));
    let agent = world.principal(PrincipalKind::Agent, &task).await;
    for client in [&agent, &world.admin()] {
        let refused = client.post("/v1/trajectories", &body).await;
        let problem = refused.refused(403, "forbidden");
        assert_eq!(problem["rule"], "control/store_trajectory", "{problem}");
    }
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let succeeded = went(&task, record, (TRIED, "succeeded", 1.0));
    let refused = orchestrator.post("/v1/trajectories", &succeeded).await;
    refused.refused(409, "invalid_state");
    let open = world.task().await;
    let record = world::log(&world.admin(), &open, "what is done").await;
    let (_, seq) = record.rsplit_once('#').expect("it names its place");
    let early = went(&open, seq.parse().unwrap(), (TRIED, "failed", -1.0));
    let refused = orchestrator.post("/v1/trajectories", &early).await;
    refused.refused(409, "invalid_state");
    let nowhere = went(&task, 99, (TRIED, "failed", -1.0));
    let refused = orchestrator.post("/v1/trajectories", &nowhere).await;
    refused.refused(422, "unresolvable_citation");
    for reward in [-1.5, 1.01] {
        let body = went(&task, 2, (TRIED, "failed", reward));
        let refused = orchestrator.post("/v1/trajectories", &body).await;
        refused.refused(400, "invalid_argument");
    }
    audited(&world);
}

#[tokio::test]
async fn a_task_is_warned_of_what_failed_in_others_and_a_warning_moves_no_decision() {
    let world = World::start().await;
    let admin = world.admin();
    let orchestrator = world
        .principal(PrincipalKind::Orchestrator, "org/acme")
        .await;
    let (task, elsewhere) = (
        worktree_task(PROJECT, "failed"),
        worktree_task(OTHER, "failed"),
    );
    let record = closed(&world, &task, "failed").await;
    let body = went(&task, record, (TRIED, "failed", -1.0));
    orchestrator.post("/v1/trajectories", &body).await.ok();
    let verified = world.task().await;
    let failed = json!({ "scope": verified, "outcome": "failed", "source": "tests_failed", "run": "r",
        "error": "TimeoutError: no answer", "approach": ANOTHER });
    let failed = admin.post("/v1/verifications", &failed).await.ok();
    // What failed in another project says nothing.
    let record = closed(&world, &elsewhere, "failed").await;
    let body = went(&elsewhere, record, (TRIED, "failed", -1.0));
    orchestrator.post("/v1/trajectories", &body).await.ok();
    for number in 0..2 {
        let lock = json!({ "scope": PROJECT, "rank": "lock", "title": format!("lock {number}"),
            "content": "it holds" });
        admin.post("/v1/decisions", &lock).await.ok();
    }
    let next = worktree_task(PROJECT, "next");
    let opened = json!({ "scope": next, "title": TITLE, "description": "" });
    admin.post("/v1/tasks", &opened).await.ok();
    let agent = world.principal(PrincipalKind::Agent, &next).await;

    let told = brief(&agent, &next, 10).await;
    assert_eq!(items(&told["items"]).len(), 2, "{told}");
    let warnings = items(&told["warnings"]);
    assert_eq!(warnings.len(), 2, "{told}");
    let by = |approach: &str| {
        let found = warnings
            .iter()
            .find(|one| one["approach"]["text"] == approach);
        found.unwrap_or_else(|| panic!("{approach}: {told}"))
    };
    let tried = by(TRIED);
    assert_eq!(
        (&tried["failed"], &tried["kinds"]),
        (&json!(1), &json!(["bugfix"]))
    );
    assert!(
        text(&tried["failures"][0]["record"]).starts_with(&task),
        "{tried}"
    );
    let another = by(ANOTHER);
    let cited = &another["failures"][0];
    assert_eq!(cited["verification"], failed["verification"], "{another}");
    assert_eq!(another["reasons"], json!(["TimeoutError: no answer"]));
    assert_eq!(brief(&agent, &next, 10).await, told, "the same state");
    // With less room warnings go first, and no decision does.
    for (room, left) in [(3, 1), (2, 0)] {
        let less = brief(&agent, &next, room).await;
        assert_eq!(less["items"], told["items"], "{less}");
        assert_eq!(items(&less["warnings"]), &warnings[..left], "{less}");
        assert_eq!(less["warnings_cut"], true, "{less}");
        assert_eq!(less["cut"], json!([]), "{less}");
    }
    // A task is not warned of itself, and a project is warned of nothing.
    let own = brief(&orchestrator, &verified, 10).await;
    let own = items(&own["warnings"]).iter();
    let mut own = own.map(|one| text(&one["approach"]["text"]));
    assert!(!own.any(|approach| approach == ANOTHER));
    assert!(brief(&admin, PROJECT, 10).await["warnings"].is_null());
    audited(&world);
}

#[tokio::test]
async fn what_a_task_is_about_warns_it_beside_the_words_that_it_was_opened_with() {
    let world = World::start().await;
    let admin = world.admin();
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let task = worktree_task(PROJECT, "failed");
    let record = closed(&world, &task, "failed").await;
    let body = went(&task, record, (TRIED, "failed", -1.0));
    orchestrator.post("/v1/trajectories", &body).await.ok();
    let plain = worktree_task(PROJECT, "plain");
    let opened = json!({ "scope": plain, "title": "t", "description": "" });
    admin.post("/v1/tasks", &opened).await.ok();
    assert!(brief(&admin, &plain, 10).await["warnings"].is_null());
    let about = |text: &str| json!({ "scope": plain, "about": text });
    let told = admin.post("/v1/brief", &about(TITLE)).await.ok();
    let [warning] = items(&told["warnings"]) else {
        panic!("{told}")
    };
    assert_eq!(warning["approach"]["text"], TRIED);
    let long = about(&"x".repeat(8 * 1_024 + 1));
    let refused = admin.post("/v1/brief", &long).await;
    refused.refused(413, "too_large");
}

#[tokio::test]
async fn what_is_erased_of_a_trajectory_is_found_no_more_and_warns_of_nothing() {
    let world = World::start().await;
    let admin = world.admin();
    let orchestrator = world
        .principal(PrincipalKind::Orchestrator, "org/acme")
        .await;
    let task = worktree_task(PROJECT, "failed");
    let record = closed(&world, &task, "failed").await;
    let body = went(&task, record, (TRIED, "failed", -1.0));
    let stored = orchestrator.post("/v1/trajectories", &body).await.ok();
    let order = json!({ "scope": task, "records": [stored["seq"]], "reason": "asked for" });
    admin.post("/v1/erase", &order).await.ok();
    let found = search(&admin, PROJECT, TRIED, true).await;
    assert_eq!(found, json!({ "patterns": [] }));
    let next = worktree_task(PROJECT, "next");
    let opened = json!({ "scope": next, "title": TITLE, "description": "" });
    admin.post("/v1/tasks", &opened).await.ok();
    assert!(brief(&admin, &next, 10).await["warnings"].is_null());
    let events = admin.all("/v1/events", &task).await;
    let erased = events
        .iter()
        .find(|event| event["kind"] == "TRAJECTORY_STORED");
    assert!(erased.expect("its header stays")["body"].is_null());
    audited(&world);
}
