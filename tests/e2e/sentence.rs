//! A sentence transformer in the place of the built-in embedder: what is found by it, and what is no model.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use sillok_sentence_model::Tiny;

use crate::harness::samples::put;
use crate::harness::{Client, Launch, PROJECT, WORKTREE, World};

/// Has a server make vectors by the model in a directory.
fn by(directory: &Path) -> impl Fn(Launch) -> Launch {
    move |launch| {
        launch
            .env("SILLOK__EMBEDDER__PROVIDER", "sentence")
            .env("SILLOK__EMBEDDER__DIRECTORY", directory)
    }
}

fn model(seed: u64) -> Tiny {
    Tiny::sized(seed, 16, 4, 2)
}

/// Starts a server that refuses to: what it says.
fn in_vain(world: &World, directory: &Path) -> String {
    let launch = by(directory)(world.launch());
    let (status, said) = launch.start_in_vain(Duration::from_secs(60));
    assert_eq!(status.code(), Some(78), "{said}");
    said
}

/// Asks in a scope, and says whether an entry came back by what it means.
async fn is_found(client: &Client, scope: &str, entry: &str) -> bool {
    let question = json!({ "scope": scope, "query": "the build failed", "limit": 50 });
    let answer = client.post("/v1/recall", &question).await.ok();
    assert_eq!(answer["by_meaning"], true, "{answer}");
    let results = answer["results"].as_array().expect("an answer has results");
    results.iter().any(|result| result["entry"] == entry)
}

#[tokio::test]
async fn a_model_makes_the_vectors_and_another_one_in_its_place_is_refused() {
    let files = tempfile::tempdir().unwrap();
    let directory = files.path();
    model(1).write(directory).unwrap();
    let mut world = World::start_with(by(directory)).await;
    let status = world.admin().get("/v1/status", &[]).await.ok();
    let space = status["space"].as_str().unwrap().to_owned();
    assert!(
        space.starts_with("sentence/") && space.ends_with("/16"),
        "{space}"
    );
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let task = world.task().await;
    let entry = put(&agent, &task, "the build failed in ci: a stale cache").await;
    assert!(is_found(&agent, &task, &entry).await);
    world.stop();
    // The same place, and other weights: another space.
    model(2).write(directory).unwrap();
    let said = in_vain(&world, directory);
    let stored = format!("the stored vectors are of the space {space}");
    assert!(said.contains(&stored), "{said}");
    // The same weights at another place: the same space.
    let elsewhere = tempfile::tempdir().unwrap();
    model(1).write(elsewhere.path()).unwrap();
    let server = by(elsewhere.path())(world.launch()).start().await;
    let admin = Client::admin_of(&server);
    assert!(is_found(&admin, &task, &entry).await);
    server.stop();
}

/// Waits for the end of a change of the embedder, while an entry is found by what it means all the time.
async fn until_changed(client: &Client, task: &str, entry: &str) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(is_found(client, task, entry).await);
        let status = client.get("/v1/status", &[]).await.ok();
        let change = &status["embedder_change"];
        if change["over"] == true {
            return status;
        }
        assert!(change["wanted"].is_string(), "{status}");
        assert!(Instant::now() < deadline, "{status}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_embedder_is_changed_while_the_former_one_serves() {
    let files = tempfile::tempdir().unwrap();
    let directory = files.path();
    model(1).write(directory).unwrap();
    let mut world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let task = world.task().await;
    let entry = put(&agent, &task, "the build failed in ci: a stale cache").await;
    let former = world.admin().get("/v1/status", &[]).await.ok()["space"].clone();
    world.stop();
    let said = in_vain(&world, directory);
    assert!(said.contains("[embedder.previous]"), "{said}");
    let changing = by(directory)(world.launch());
    let changing = changing.env("SILLOK__EMBEDDER__PREVIOUS__PROVIDER", "builtin");
    let server = changing.start().await;
    let admin = Client::admin_of(&server);
    let status = until_changed(&admin, &task, &entry).await;
    let change = &status["embedder_change"];
    assert_eq!(change["from"], former, "{status}");
    assert_eq!(change["wanted"], status["space"], "{status}");
    assert_ne!(status["space"], former, "{status}");
    let later = put(&admin, PROJECT, "the port is in no cache").await;
    server.stop();
    // The former one is of no use any more.
    let server = by(directory)(world.launch()).start().await;
    let admin = Client::admin_of(&server);
    assert!(is_found(&admin, &task, &entry).await);
    assert!(is_found(&admin, PROJECT, &later).await);
    let status = admin.get("/v1/status", &[]).await.ok();
    assert!(status.get("embedder_change").is_none(), "{status}");
    let audit = admin.post("/v1/audit/verify", &json!({})).await.ok();
    assert_eq!(audit["ok"], true, "{audit}");
    server.stop();
    let indices = fs::read_dir(world.data().join("vectors")).unwrap();
    assert_eq!(
        indices.count(),
        1,
        "only that of the space that is searched"
    );
}

#[tokio::test]
async fn what_is_no_model_keeps_a_server_from_starting_and_is_named() {
    let mut world = World::start().await;
    world.stop();
    let files = tempfile::tempdir().unwrap();
    let directory = files.path();
    let said = in_vain(&world, directory);
    assert!(said.contains("embedder.directory"), "{said}");
    assert!(said.contains("modules.json cannot be read"), "{said}");
    let other = model(1).set("config.json", "model_type", json!("mpnet"));
    other.write(directory).unwrap();
    let said = in_vain(&world, directory);
    assert!(said.contains("\"mpnet\""), "{said}");
    model(1).write(directory).unwrap();
    let weights = directory.join("model.safetensors");
    let whole = fs::read(&weights).unwrap();
    fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    let said = in_vain(&world, directory);
    assert!(said.contains("model.safetensors cannot be used"), "{said}");
    // None of this has touched what is stored.
    world.start_again().await;
}
