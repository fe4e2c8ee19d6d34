//! Promotions that cannot be carried out: what is known of them outlives the process, and they are tried
//! anew or given up.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Client, ORG, PROJECT, World, world};

/// How often what is stored is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The longest that two attempts may take.
const PATIENCE: Duration = Duration::from_secs(30);

async fn quarantine(client: &Client, reason: Option<&str>) {
    let order = json!({ "scope": ORG, "reason": reason });
    client.post("/v1/cluster/quarantine", &order).await.ok();
}

/// Has a task judged whose knowledge goes to the organisation: the task and the verification.
async fn judged(client: &Client, world: &World) -> (String, String) {
    let task = world.task().await;
    world::log(client, &task, "root cause: an early stop").await;
    let body = json!({
        "scope": task, "outcome": "passed", "source": "tests_passed", "run": "r", "target": ORG,
    });
    let answer = client.post("/v1/verifications", &body).await.ok();
    let id = answer["verification"]
        .as_str()
        .expect("a verification has an id");
    (task, id.to_owned())
}

async fn stands(client: &Client, task: &str, id: &str) -> Value {
    let query = [("scope", task), ("verification", id), ("wait_ms", "1000")];
    client.get("/v1/promotions", &query).await.ok()
}

async fn halts(client: &Client, task: &str, id: &str) {
    let begun = Instant::now();
    loop {
        let promotion = stands(client, task, id).await;
        if promotion["state"] == "halted" {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{promotion}");
    }
}

/// A server that halts a promotion after its second attempt.
async fn soon_halted() -> World {
    World::start_with(|launch| {
        launch
            .env("SILLOK__JOBS__ATTEMPTS", "2")
            .env("SILLOK__JOBS__BACKOFF_MS", "20")
    })
    .await
}

async fn jobs(client: &Client, query: &[(&str, &str)]) -> Vec<Value> {
    let page = client.get("/v1/jobs", query).await.ok();
    page["items"].as_array().expect("a page has items").clone()
}

/// Waits until so many promotions are stored as halted. How an attempt went is stored behind it: what is listed is what a
/// kill leaves.
async fn stored_as_halted(client: &Client, count: usize) {
    let begun = Instant::now();
    let query = [("scope", "*"), ("halted", "true")];
    while jobs(client, &query).await.len() < count {
        assert!(begun.elapsed() < PATIENCE, "{count} are stored as halted");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[tokio::test]
async fn a_halted_promotion_outlives_a_kill_and_is_tried_anew_or_given_up() {
    let mut world = soon_halted().await;
    let admin = world.admin();
    quarantine(&admin, Some("its disk is bad")).await;
    let (kept, kept_id) = judged(&admin, &world).await;
    let (dropped, dropped_id) = judged(&admin, &world).await;
    halts(&admin, &kept, &kept_id).await;
    halts(&admin, &dropped, &dropped_id).await;
    stored_as_halted(&admin, 2).await;
    world.kill();
    world.start_again().await;
    let admin = world.admin();
    let halted = jobs(&admin, &[("scope", "*"), ("halted", "true")]).await;
    assert_eq!(halted.len(), 2, "{halted:?}");
    for job in &halted {
        assert_eq!((&job["failures"], &job["attempts"]), (&json!(2), &json!(2)));
        assert_eq!(job["last_error"]["code"], "invalid_state", "{job}");
        assert!(job["next_at"].is_null(), "{job}");
    }
    let none = jobs(&admin, &[("scope", PROJECT), ("halted", "false")]).await;
    assert!(none.is_empty(), "{none:?}");
    let planned = world.sillok("maintain --dry-run --json").json();
    assert_eq!(planned["halted"], 2, "a night's run names them");
    let listed = world.sillok("jobs list --halted --json").json();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
    // One is given up: its records are the next verification's.
    let words = ["jobs", "drop", &dropped_id, "--scope", &dropped, "--json"];
    let given_up = world.run(&[&words[..], &["--reason", "nobody needs it"]].concat());
    assert_eq!(given_up.json()["status"], "open");
    assert_eq!(
        stands(&admin, &dropped, &dropped_id).await["state"],
        "dropped"
    );
    let body = json!({ "scope": dropped, "verification": dropped_id, "reason": "again" });
    let again = admin.post("/v1/promotions/drop", &body).await;
    drop(again.refused(409, "conflict"));
    let again = world::verify(&admin, &dropped, PROJECT).await;
    let query = [("scope", dropped.as_str())];
    let all = admin.get("/v1/verifications", &query).await.ok();
    let next = all["items"].as_array().expect("a page has items").iter();
    let next = next.filter(|found| found["id"] == again.as_str());
    assert_eq!(
        next.map(|found| found["from"].clone()).collect::<Vec<_>>(),
        [0]
    );
    // The other one is tried anew once the organisation takes something again.
    quarantine(&admin, None).await;
    let words = ["jobs", "retry", &kept_id, "--scope", &kept, "--json"];
    world.run(&words).ended(0);
    world::promoted(&admin, &kept, &kept_id).await;
    assert!(jobs(&admin, &[("scope", "*")]).await.is_empty());
    assert_eq!(world.sillok("audit verify --json").json()["ok"], true);
}

#[tokio::test]
async fn a_halted_promotion_that_maintenance_counts_is_listed_without_a_server_as_well() {
    let mut world = soon_halted().await;
    let admin = world.admin();
    quarantine(&admin, Some("its disk is bad")).await;
    let (task, id) = judged(&admin, &world).await;
    halts(&admin, &task, &id).await;
    stored_as_halted(&admin, 1).await;
    world.stop();
    let planned = world.sillok("maintain --dry-run --json").json();
    assert_eq!(planned["halted"], 1, "{planned}");
    let ran = world.sillok("jobs list --halted --json");
    let listed = ran.json();
    assert_eq!(listed["items"][0]["verification"], json!(id), "{listed}");
    assert!(ran.stderr.contains("no server is running"), "{ran:#?}");
}
