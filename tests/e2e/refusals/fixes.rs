//! What is asked about fixes, and what is recorded of those that failed.

use serde_json::{Value, json};

use super::refused;
use crate::harness::{PROJECT, WORKTREE, World};

/// Bytes of an approach, and of a name, and one more.
const APPROACH: usize = (32 << 10) + 1;
const NAME: usize = 512 + 1;
/// Bytes of an approach with all its names.
const ALL: usize = 88 << 10;
/// Names of one sort, and one more.
const NAMES: usize = 64 + 1;

/// What is wrong with a field, whether an approach is asked about or was recorded: its value, and what the refusal is. Of
/// what is too large it names the limit.
fn wrong() -> Vec<(&'static str, Value, u16, &'static str)> {
    let mut all = vec![
        ("approach", json!(""), 400, "invalid_argument"),
        ("approach", json!(" \n\t"), 400, "invalid_argument"),
        (
            "approach",
            json!("x".repeat(APPROACH)),
            413,
            "approach bytes",
        ),
        ("approach", json!(7), 400, "invalid_request"),
        ("more", json!(1), 400, "invalid_request"),
        ("scope", json!("org/.."), 400, "invalid_scope"),
        ("scope", json!(PROJECT), 400, "invalid_scope"),
        ("scope", json!(WORKTREE), 400, "invalid_scope"),
    ];
    for (field, limit) in [
        ("files", "files of an approach"),
        ("symbols", "symbols of an approach"),
    ] {
        all.extend([
            (field, json!([""]), 400, "invalid_argument"),
            (field, json!(["a", " "]), 400, "invalid_argument"),
            (field, json!(vec!["a"; NAMES]), 413, limit),
            (field, json!(["a", "x".repeat(NAME)]), 413, limit),
            (field, json!("a"), 400, "invalid_request"),
        ]);
    }
    all
}

/// Sends a body with each of these fields spoilt, and sees each refused and nothing written; and then the body as it was.
async fn refuses(world: &World, path: &str, body: &Value) {
    let admin = world.admin();
    for (field, value, status, code) in wrong() {
        let mut spoilt = body.clone();
        spoilt[field] = value;
        let sending = admin.post(path, &spoilt);
        if status == 413 {
            let problem = refused(world, sending, status, "too_large").await;
            assert_eq!(problem["limit"]["name"], code, "{path}: {problem}");
        } else {
            refused(world, sending, status, code).await;
        }
    }
    let mut unopened = body.clone();
    unopened["scope"] = json!(world.unopened());
    let sending = admin.post(path, &unopened);
    let problem = refused(world, sending, 404, "not_found").await;
    let why = problem["detail"].as_str().expect("it says why");
    assert!(why.contains("was never opened"), "{path}: {problem}");
    // What is as large as it may be fits.
    let mut largest = body.clone();
    largest["approach"] = json!("x".repeat(APPROACH - 1));
    let names = NAMES - 1;
    let name = (ALL - APPROACH) / (2 * names);
    for field in ["files", "symbols"] {
        largest[field] = json!(vec!["x".repeat(name); names]);
    }
    for good in [body, &largest] {
        admin.post(path, good).await.ok();
    }
}

#[tokio::test]
async fn a_question_about_a_fix_that_is_wrong_is_refused() {
    let world = World::start().await;
    let task = world.task().await;
    let asked = json!({ "scope": task, "approach": "Increase the timeout", "files": ["src/a.rs"],
        "symbols": ["a"], "language": "korean" });
    refuses(&world, "/v1/fixes/check", &asked).await;
    let admin = world.admin();
    for (language, code) in [
        (json!("latin"), "invalid_argument"),
        (json!("Korean"), "invalid_argument"),
        (json!(""), "invalid_argument"),
        (json!(7), "invalid_request"),
    ] {
        let mut spoilt = asked.clone();
        spoilt["language"] = language;
        let sending = admin.post("/v1/fixes/check", &spoilt);
        refused(&world, sending, 400, code).await;
    }
    for field in ["scope", "approach"] {
        let mut spoilt = asked.clone();
        spoilt.as_object_mut().expect("an object").remove(field);
        let sending = admin.post("/v1/fixes/check", &spoilt);
        refused(&world, sending, 400, "invalid_request").await;
    }
}

#[tokio::test]
async fn a_fix_that_failed_and_is_told_wrongly_is_refused() {
    let world = World::start().await;
    let task = world.task().await;
    let body = json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r1",
        "error": "TimeoutError: it is slow", "approach": "Increase the timeout",
        "files": ["src/a.rs"], "symbols": ["a"] });
    let admin = world.admin();
    for field in ["files", "symbols"] {
        // What passed touches nothing that is told, and names without an approach are nobody's.
        let passed = json!({ "scope": task, "outcome": "passed", "source": "tests_passed", "run": "r2",
            "approach": "Increase the timeout", field: ["a"] });
        let nobodys = json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r2",
            field: ["a"] });
        for spoilt in [passed, nobodys] {
            let sending = admin.post("/v1/verifications", &spoilt);
            refused(&world, sending, 400, "invalid_argument").await;
        }
    }
    refuses(&world, "/v1/verifications", &body).await;
    let listed = admin.all("/v1/fixes/failed", &task).await;
    assert_eq!(listed.len(), 2, "the two that were good: {listed:?}");
}

#[tokio::test]
async fn a_list_of_what_failed_that_is_asked_for_wrongly_is_refused() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let of_task = |rest: &str| format!("/v1/fixes/failed?scope={task}{rest}");
    for (asked, status, code) in [
        ("/v1/fixes/failed".to_owned(), 400, "invalid_request"),
        (of_task("&more=1"), 400, "invalid_request"),
        (of_task("&limit=-1"), 400, "invalid_request"),
        (of_task("&limit=0"), 400, "invalid_argument"),
        (of_task("&limit=1001"), 413, "too_large"),
        (of_task("&after=nonsense"), 400, "invalid_argument"),
        (of_task("&after=q1z"), 400, "invalid_argument"),
        (
            "/v1/fixes/failed?scope=org/..".to_owned(),
            400,
            "invalid_scope",
        ),
        (
            format!("/v1/fixes/failed?scope={PROJECT}"),
            400,
            "invalid_scope",
        ),
        (
            format!("/v1/fixes/failed?scope={}", world.unopened()),
            404,
            "not_found",
        ),
    ] {
        admin.get(&asked, &[]).await.refused(status, code);
    }
    // A cursor of another list is none of this one.
    for _ in 0..2 {
        let opened = json!({ "scope": world.unopened(), "title": "t" });
        admin.post("/v1/tasks", &opened).await.ok();
    }
    let page = admin
        .get("/v1/tasks", &[("scope", PROJECT), ("limit", "1")])
        .await
        .ok();
    let next = page["next"].as_str().expect("there are more");
    admin
        .get(&of_task(&format!("&after={next}")), &[])
        .await
        .refused(400, "invalid_argument");
}
