//! Erasing what verifications say: errors and approaches, with what these touched, whoever recorded it and whoever asks.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::{audited, erase, holding, is_said, secret, text};
use crate::harness::world::{next, promoted};
use crate::harness::{Client, ORG, PROJECT, World, command_id};

/// What was tried, which says a word in its text and in each name.
fn approach(task: &str, word: &str) -> Value {
    json!({ "scope": task, "approach": format!("Look {word} up before it is read"),
        "files": [format!("src/{word}.rs")], "symbols": [format!("{word}::look_up")] })
}

/// A verification that failed, as it is recorded: its error says the word as well.
fn failure(task: &str, word: &str) -> Value {
    let mut body = approach(task, word);
    body["outcome"] = json!("failed");
    body["source"] = json!("tests_failed");
    body["run"] = json!(format!("run-{}", next()));
    body["error"] = json!(format!("ValueError: {word} is no number"));
    body
}

/// Records that a fix failed, and waits for its promotion: its verification, and what followed from its error.
async fn fails(admin: &Client, task: &str, word: &str) -> (String, Value) {
    record(admin, task, &failure(task, word)).await
}

/// The same of whatever failed.
async fn record(admin: &Client, task: &str, body: &Value) -> (String, Value) {
    let recorded = admin.post("/v1/verifications", body).await.ok();
    let id = text(&recorded["verification"]).to_owned();
    promoted(admin, task, &id).await;
    (id, recorded["judged"].clone())
}

/// Whether any answer about the fixes of a task says a word, or one about what another task of its project is to be warned of.
async fn is_told(world: &World, task: &str, word: &str) -> bool {
    let (admin, other) = (world.admin(), world.task().await);
    let query = [("scope", task)];
    let verifications = admin.get("/v1/verifications", &query).await;
    let mut said = verifications.ok().to_string();
    for route in ["/v1/fixes/failed", "/v1/events"] {
        for item in admin.all(route, task).await {
            said += &item.to_string();
        }
    }
    for task in [task, &other] {
        let checked = admin.post("/v1/fixes/check", &approach(task, word)).await;
        said += &checked.ok().to_string();
    }
    said.contains(word)
}

/// What a promotion made that says a word.
async fn saying(admin: &Client, report: &Value, word: &str) -> Vec<String> {
    let products = report["products"].as_array().expect("products").iter();
    let mut made = Vec::new();
    for product in products {
        let id = text(&product["entry"]).to_owned();
        let entry = admin.get("/v1/entry", &[("id", &id)]).await.ok();
        if entry["version"].to_string().contains(word) {
            made.push(id);
        }
    }
    assert!(!made.is_empty(), "{report}");
    made
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_verification_said_is_said_by_nobody_and_not_in_a_backup() {
    let mut world = World::start().await;
    let (admin, task, word) = (world.admin(), world.task().await, secret());
    let (command, body) = (command_id(), failure(&task, &word));
    let give = async || {
        admin
            .command("/v1/verifications", &command, &body)
            .await
            .ok()
    };
    let recorded = give().await;
    let id = text(&recorded["verification"]).to_owned();
    let report = promoted(&admin, &task, &id).await;
    let made = saying(&admin, &report, &word).await;
    let mut other = failure(&task, "client");
    other["error"] = json!("TimeoutError: the read timed out");
    other["approach"] = json!("Open a connection for each request");
    let (plain, _) = record(&admin, &task, &other).await;
    let scopes = [task.as_str(), PROJECT, ORG];
    assert!(is_said(&world, &scopes, &made, &word).await);
    assert!(is_told(&world, &task, &word).await);

    let receipt = erase(&world, &task, &["--verification", &id]);
    assert_eq!(
        (&receipt["events"], &receipt["known"], &receipt["entries"]),
        (&json!(2), &json!(0), &json!([]))
    );
    assert_eq!(receipt["same_error"], json!([]));
    // What its promotion made is named, and goes by an order of the project.
    let resting = receipt["resting"].as_array().expect("a list");
    for id in &made {
        assert!(resting.contains(&json!(id)), "{id}: {receipt}");
    }
    let named: Vec<&str> = resting.iter().map(text).collect();
    erase(&world, PROJECT, &["--entry", &named.join(",")]);
    assert!(!is_said(&world, &scopes, &made, &word).await);
    assert!(!is_told(&world, &task, &word).await);
    let hash = text(&recorded["judged"]["error"]);
    let events = json!(admin.all("/v1/events", &task).await).to_string();
    assert!(!events.contains(hash), "{events}");

    // Who recorded it is told its verdict again, and not which error that judged.
    let (again, mut judged) = (give().await, recorded["judged"].clone());
    judged["error"] = json!("0".repeat(64));
    assert_eq!(
        (&again["verification"], &again["judged"]),
        (&json!(id), &judged)
    );
    let left = admin.all("/v1/fixes/failed", &task).await;
    let left: Vec<&str> = left.iter().map(|one| text(&one["verification"])).collect();
    assert_eq!(left, [plain]);
    audited(&world);

    let file = world.folder().join("after.backup");
    let file = file.to_str().expect("UTF-8");
    world.run(&["backup", "--json", file]).json();
    world.stop();
    let left = holding(&world.data().join("vectors"), &word);
    assert!(left.is_empty(), "{left:?}");
    let data = world.folder().join("after");
    let restored = data.to_str().expect("UTF-8");
    let ran = world.run(&["restore", "--json", file, "--data", restored]);
    assert_eq!(ran.json()["audit"]["first"], Value::Null);
    let left = holding(&data, &word);
    assert!(left.is_empty(), "{left:?}");
    world.sillok("rebuild --json").json();
    world.start_again().await;
    assert!(!is_said(&world, &scopes, &made, &word).await);
    assert!(!is_told(&world, &task, &word).await);
    audited(&world);
}

#[tokio::test]
async fn only_a_person_erases_what_verifications_say_and_all_that_is_named_or_nothing() {
    let world = World::start().await;
    let (admin, task, word) = (world.admin(), world.task().await, secret());
    let (id, _) = fails(&admin, &task, &word).await;
    let id = id.as_str();
    let order =
        |named: &[&str]| json!({ "scope": task, "verifications": named, "reason": "it leaked" });
    for kind in [
        PrincipalKind::Agent,
        PrincipalKind::Orchestrator,
        PrincipalKind::System,
    ] {
        let other = world.principal(kind, ORG).await;
        let denied = other.post("/v1/erase", &order(&[id])).await;
        assert_eq!(denied.refused(403, "forbidden")["rule"], "control/erase");
    }
    let with = |field: &str, value: Value| {
        let mut body = order(&[id]);
        body[field] = value;
        body
    };
    for (asked, status, code) in [
        (order(&[id, &command_id()]), 404, "not_found"),
        (with("scope", json!(world.task().await)), 404, "not_found"),
        (with("scope", json!(PROJECT)), 404, "not_found"),
        (with("records", json!([1])), 400, "invalid_argument"),
        (with("kinds", json!(["EXPLAINS"])), 400, "invalid_argument"),
        (with("reason", json!(" ")), 400, "invalid_argument"),
        (order(&[]), 400, "invalid_argument"),
        (order(&[id; 257]), 413, "too_large"),
    ] {
        let refused = admin.post("/v1/erase", &asked).await;
        refused.refused(status, code);
    }
    assert!(is_told(&world, &task, &word).await);

    let command = command_id();
    let give = async || {
        admin
            .command("/v1/erase", &command, &order(&[id]))
            .await
            .ok()
    };
    let receipt = give().await;
    assert_eq!(
        (&receipt["events"], &receipt["known"]),
        (&json!(2), &json!(0))
    );
    let again = give().await;
    assert_eq!(
        (&again["seq"], &again["resting"]),
        (&receipt["seq"], &receipt["resting"])
    );
    let anew = admin.post("/v1/erase", &order(&[id])).await.ok();
    assert_eq!((&anew["events"], &anew["known"]), (&json!(0), &json!(1)));
    assert!(!is_told(&world, &task, &word).await);
    audited(&world);
}

#[tokio::test]
async fn of_one_error_verifications_go_one_by_one_and_it_counts_on_until_none_tells_it() {
    let world = World::start().await;
    let (admin, task, word) = (world.admin(), world.task().await, secret());
    let count = |judged: &Value| (judged["reason"].clone(), judged["count"].clone());
    let order = async |named: &[&str]| {
        let body = json!({ "scope": task, "verifications": named, "reason": "it leaked" });
        admin.post("/v1/erase", &body).await.ok()
    };
    let (first, _) = fails(&admin, &task, &word).await;
    let (second, judged) = fails(&admin, &task, &word).await;
    assert_eq!(count(&judged), (json!("repeated"), json!(2)));
    let receipt = order(&[first.as_str()]).await;
    assert_eq!(receipt["events"], 2);
    assert_eq!(receipt["same_error"], json!([second]));
    assert_ne!(receipt["resting"], json!([]));
    audited(&world);
    let (third, judged) = fails(&admin, &task, &word).await;
    assert_eq!(count(&judged), (json!("too_often"), json!(3)));
    assert_eq!(judged["verdict"], "block");
    assert!(is_told(&world, &task, &word).await);
    let receipt = order(&[second.as_str(), third.as_str()]).await;
    assert_eq!(receipt["events"], 4);
    assert_eq!(receipt["same_error"], json!([]));
    assert!(!is_told(&world, &task, &word).await);
    let (_, judged) = fails(&admin, &task, &word).await;
    assert_eq!(count(&judged), (json!("new"), json!(1)));
    audited(&world);
}
