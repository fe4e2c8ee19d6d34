//! Checkpoints: what an audit proves that is held against one, and what it alone does not.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::world::{log, open};
use crate::harness::{Launch, PROJECT, Ran, World, phrase};

const TASK: &str = "org/acme/project/api/worktree/main/task/watched";

/// Signs the ends of all chains into a file of this name.
fn sign(world: &World, name: &str) -> (PathBuf, Value) {
    let file = world.folder().join(name);
    let made = world.run(&["audit", "checkpoint", "--json", file.to_str().unwrap()]);
    (file, made.json())
}

/// Audits against a checkpoint: the server, or a directory that no server has.
fn audit(world: &World, file: &Path, more: &[&str]) -> Ran {
    let words = [
        "audit",
        "verify",
        "--json",
        "--checkpoint",
        file.to_str().unwrap(),
    ];
    world.run(&[&words, more].concat())
}

fn at(data: &Path) -> [&str; 3] {
    ["--offline", "--data", data.to_str().unwrap()]
}

#[tokio::test]
async fn a_history_that_goes_on_holds_against_its_checkpoint() {
    let mut world = World::start().await;
    let admin = world.admin();
    open(&admin, TASK).await;
    log(&admin, TASK, &phrase()).await;
    let (file, made) = sign(&world, "one.checkpoint");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.contains(&format!("\"scope\":\"{TASK}\",\"seq\":2,")),
        "{text}"
    );
    assert_eq!(
        made["scopes"].as_u64().unwrap(),
        text.lines().count() as u64 - 2
    );
    log(&admin, TASK, &phrase()).await;
    open(&admin, &format!("{TASK}-2")).await;
    let key = made["key"].as_str().unwrap();
    assert_eq!(audit(&world, &file, &[]).json()["ok"], true);
    assert_eq!(audit(&world, &file, &["--key", key]).json()["ok"], true);
    let (_, second) = sign(&world, "two.checkpoint");
    assert_eq!(second["key"], key, "one key for all checkpoints");
    world.stop();
    let data = world.data();
    assert_eq!(audit(&world, &file, &at(&data)).json()["ok"], true);
}

/// A server whose runs of maintenance leave the two newest checkpoints in this directory.
async fn signing(folder: &Path) -> World {
    let folder = folder.to_str().unwrap().to_owned();
    let configured = |launch: Launch| {
        launch
            .env("SILLOK__MAINTENANCE__CHECKPOINTS", &folder)
            .env("SILLOK__MAINTENANCE__CHECKPOINTS_KEPT", "2")
    };
    World::start_with(configured).await
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_run_of_maintenance_leaves_a_checkpoint_that_an_audit_takes() {
    let folder = tempfile::tempdir().unwrap();
    let world = signing(folder.path()).await;
    let admin = world.admin();
    open(&admin, TASK).await;
    let planned = world.run(&["maintain", "--dry-run", "--json"]).json();
    let named = planned["checkpoint"].as_str().unwrap();
    assert!(
        named.starts_with(folder.path().to_str().unwrap()),
        "{named}"
    );
    assert!(names(folder.path()).is_empty(), "a dry run writes nothing");
    let mut files = Vec::new();
    for only in [
        &["maintain", "--json"][..],
        &["maintain", "--json", "--only", "sign"],
        &["maintain", "--json"],
    ] {
        log(&admin, TASK, &phrase()).await;
        let done = world.run(only).json();
        let file = PathBuf::from(done["checkpoint"].as_str().unwrap());
        assert_eq!(audit(&world, &file, &[]).json()["ok"], true);
        files.push(file);
    }
    let newest = files[1..]
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap());
    assert_eq!(names(folder.path()), newest.collect::<Vec<_>>());
    let status = world.run(&["status", "--json"]).json();
    let last = &status["maintenance"]["checkpoint"];
    assert_eq!(last.as_str(), files[2].to_str(), "{status}");
    let shown = world.run(&["maintain"]);
    assert!(shown.stdout.contains("checkpoint signed: "), "{shown:#?}");
    let shown = world.run(&["status"]);
    assert!(shown.stdout.contains(".checkpoint"), "{shown:#?}");
}

#[tokio::test]
async fn where_no_checkpoint_can_be_written_all_else_of_a_run_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("a/disk/that/is/not/there");
    let world = signing(&missing).await;
    open(&world.admin(), TASK).await;
    let ran = world.run(&["maintain", "--json"]);
    assert!(ran.stderr.contains("no checkpoint was signed"), "{ran:#?}");
    let done = ran.json_with(1);
    assert_eq!(
        (&done["optimised"], &done["checkpoint"]),
        (&Value::Bool(true), &Value::Null)
    );
    let error = done["checkpoint_error"].as_str().unwrap();
    assert!(error.contains("is/not/there"), "{error}");
    assert!(
        !missing.exists(),
        "a disk that is not there is not made up for"
    );
    let status = world.admin().get("/v1/status", &[]).await.ok();
    assert_eq!(status["maintenance"]["refused"], 1);
    // Once it is there, the next run finds it.
    std::fs::create_dir_all(&missing).unwrap();
    assert!(world.run(&["maintain", "--json"]).json()["checkpoint"].is_string());

    let unset = World::start().await;
    let whole = unset.run(&["maintain", "--json"]).json();
    assert_eq!(
        (&whole["checkpoint"], &whole["checkpoint_error"]),
        (&Value::Null, &Value::Null)
    );
    let asked = unset.run(&["maintain", "--json", "--only", "sign"]);
    let asked = asked.json_with(1);
    let error = asked["checkpoint_error"].as_str().unwrap();
    assert!(error.contains("maintenance.checkpoints"), "{error}");
}

#[tokio::test]
async fn a_history_that_was_cut_back_passes_an_audit_and_not_its_checkpoint() {
    let world = World::start().await;
    let admin = world.admin();
    open(&admin, TASK).await;
    let backup = world.folder().join("before.backup");
    world.run(&["backup", backup.to_str().unwrap()]).ended(0);
    log(&admin, TASK, &phrase()).await;
    let (file, _) = sign(&world, "after.checkpoint");

    let data = world.folder().join("restored");
    let words = [
        "restore",
        backup.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
    ];
    world.run(&words).ended(0);
    let alone = world.run(&[&["audit", "verify", "--json"], &at(&data)[..]].concat());
    assert_eq!(alone.json()["ok"], true, "what is left is whole in itself");
    let found = audit(&world, &file, &at(&data));
    found.ended(1);
    let verdict: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(
        (&verdict["ok"], verdict["difference"]["scope"].as_str()),
        (&Value::Bool(false), Some(TASK))
    );
    assert_eq!(verdict["difference"]["seq"], 2);
    let what = verdict["difference"]["what"].as_str().unwrap();
    assert!(what.contains("the chain ends before it"), "{what}");
}

#[tokio::test]
async fn another_history_of_the_same_scopes_is_told_from_the_first() {
    let (first, second) = (World::start().await, World::start().await);
    for world in [&first, &second] {
        open(&world.admin(), TASK).await;
        log(&world.admin(), TASK, "the same words").await;
    }
    let (file, _) = sign(&first, "first.checkpoint");
    // The store of the second begins with a token of its own, which stands under another scope than the task does.
    let found = audit(&second, &file, &[]);
    found.ended(1);
    let verdict: Value = serde_json::from_str(&found.stdout).unwrap();
    let what = verdict["difference"]["what"].as_str().unwrap();
    assert!(
        what.contains("not the one that the checkpoint has"),
        "{what}"
    );
    assert!(
        verdict["difference"]["scope"]
            .as_str()
            .unwrap()
            .starts_with("org")
    );
}

#[tokio::test]
async fn a_checkpoint_that_was_changed_or_signed_by_others_proves_nothing() {
    let world = World::start().await;
    open(&world.admin(), TASK).await;
    let (file, _) = sign(&world, "true.checkpoint");
    let text = std::fs::read_to_string(&file).unwrap();

    let refused = |text: &str, more: &[&str], status: i32, why: &str| {
        let changed = world.folder().join("changed.checkpoint");
        std::fs::write(&changed, text).unwrap();
        let ran = audit(&world, &changed, more);
        ran.ended(status);
        assert!(ran.stderr.contains(why), "{ran:#?}");
    };
    refused(
        &text.replace("\"seq\":1", "\"seq\":2"),
        &[],
        1,
        "changed since it was signed",
    );
    let cut: Vec<&str> = text.lines().filter(|line| !line.contains(TASK)).collect();
    refused(&cut.join("\n"), &[], 1, "cut");
    refused("no checkpoint", &[], 1, "this is no checkpoint");
    refused(
        &text,
        &["--key", &"0f".repeat(32)],
        1,
        "signed by another key",
    );
    refused(&text, &["--key", "0f"], 2, "64 hexadecimal digits");

    let again = world.run(&["audit", "checkpoint", file.to_str().unwrap()]);
    again.ended(2);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        text,
        "it is not replaced"
    );
    let nowhere = world.folder().join("no/such/folder");
    let nowhere = world.run(&["audit", "checkpoint", nowhere.to_str().unwrap()]);
    assert_ne!(nowhere.status, Some(0));

    let many =
        vec![serde_json::json!({ "scope": PROJECT, "seq": 1, "hash": "00".repeat(32) }); 10_001];
    let many = serde_json::json!({ "ends": many });
    world
        .admin()
        .post("/v1/checkpoint/compare", &many)
        .await
        .refused(413, "too_large");
    let odd = serde_json::json!({ "ends": [{ "scope": PROJECT, "seq": 1, "hash": "00" }] });
    world
        .admin()
        .post("/v1/checkpoint/compare", &odd)
        .await
        .refused(400, "invalid_argument");
}
