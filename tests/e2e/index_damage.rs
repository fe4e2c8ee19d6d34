//! Files of the vector index that go bad under a server that serves: it comes right by itself.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::samples::put;
use crate::harness::world::{log, next, promoted};
use crate::harness::{Chance, Client, PROJECT, World, phrase};

/// So many entries give a table indices (`LanceConfig::index_rows_min`).
const ENTRIES: usize = 2_100;
/// Entries that are written at once.
const AT_ONCE: usize = 50;
/// How long it may take until all is right again.
const PATIENCE: Duration = Duration::from_secs(120);

/// All files of the index whose path says `part`.
fn files_of(world: &World, part: &str) -> Vec<PathBuf> {
    let mut files = world.index_files();
    files.retain(|path| path.to_string_lossy().contains(part));
    files
}

/// Writes something else over all files of the index whose path says `part`: how many those were.
fn overwrite(world: &World, part: &str, chance: &mut Chance) -> usize {
    let files = files_of(world, part);
    for path in &files {
        let length = path.metadata().expect("it is there").len();
        let bytes: Vec<u8> = (0..length)
            .map(|_| chance.next().to_le_bytes()[0])
            .collect();
        std::fs::write(path, bytes).expect("it can be written");
    }
    files.len()
}

async fn recall(client: &Client, query: &str) -> Value {
    let asked = json!({ "scope": PROJECT, "query": query });
    client.post("/v1/recall", &asked).await.ok()
}

/// Waits until an answer is whole, finds an entry, and nothing waits to be stored.
async fn comes_right(world: &World, rebuilds: u64, query: &str, entry: &str) {
    let (admin, begun) = (world.admin(), Instant::now());
    loop {
        let built: u64 = admin.metric("sillok_index_rebuilds_total").await;
        let answer = recall(&admin, query).await;
        let status = world.sillok("status --json").json();
        let is_right = built >= rebuilds
            && answer["whole"] == true
            && answer["results"][0]["entry"] == entry
            && status["index_pending"] == 0;
        if is_right {
            return;
        }
        let late = format!("{built} rebuilds, {answer}, {status}");
        assert!(begun.elapsed() < PATIENCE, "{late}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Has a task's tests pass, and waits for the promotion however long it waits for the index.
async fn promotes(world: &World) -> Value {
    let (admin, task) = (world.admin(), world.task().await);
    log(&admin, &task, &format!("The build needs {}.", phrase())).await;
    let body = json!({
        "scope": task, "outcome": "passed", "source": "tests_passed",
        "run": format!("run-{}", next()), "target": PROJECT,
    });
    let verified = admin.post("/v1/verifications", &body).await.ok();
    let id = verified["verification"].as_str().expect("an id");
    promoted(&admin, &task, id).await
}

/// Writes a version of an entry, again while the index is built again.
async fn amend(client: &Client, entry: &str, content: &str) {
    let begun = Instant::now();
    let body = json!({ "entry": entry, "expected_version": 1, "content": content });
    loop {
        let reply = client.post("/v1/entries/amend", &body).await;
        if reply.status == 200 {
            return;
        }
        assert_eq!(reply.status, 503, "{}", reply.text);
        assert!(begun.elapsed() < PATIENCE, "{}", reply.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_are_overwritten_are_built_again_while_the_server_serves() {
    let mut chance = Chance::of_test("index_damage");
    let mut world = World::start().await;
    let writer = world.principal(PrincipalKind::Human, PROJECT).await;
    let text = chance.words(6);
    let known = put(&writer, PROJECT, &text).await;
    let texts: Vec<String> = (1..ENTRIES).map(|_| chance.words(6)).collect();
    for some in texts.chunks(AT_ONCE) {
        let written = some.iter().map(|text| put(&writer, PROJECT, text));
        futures::future::join_all(written).await;
    }
    comes_right(&world, 0, &text, &known).await;
    world.sillok("maintain --only optimise").ended(0);
    assert!(overwrite(&world, "_indices", &mut chance) > 0);
    assert!(overwrite(&world, ".lance/data", &mut chance) > 0);

    let amended = format!("{text} {}", chance.words(2));
    amend(&writer, &known, &amended).await;
    let report = promotes(&world).await;
    assert!(!report["products"].as_array().expect("products").is_empty());
    comes_right(&world, 1, &amended, &known).await;
    let stored = world.sillok("status --json").json()["index_stored"].as_u64();
    assert!(stored >= Some(ENTRIES as u64), "{stored:?}");

    // What a start meets is made anew before anybody asks.
    world.kill();
    assert!(overwrite(&world, ".lance", &mut chance) > 0);
    world.start_again().await;
    comes_right(&world, 0, &amended, &known).await;
    let again = world.sillok("status --json").json()["index_stored"].as_u64();
    assert_eq!(again, stored);
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_table_that_is_overwritten_is_built_again_without_the_others() {
    let mut chance = Chance::of_test("index_damage_of_one");
    let world = World::start().await;
    let writer = world.principal(PrincipalKind::Human, PROJECT).await;
    let (fact, way) = (chance.words(6), chance.words(6));
    let known = put(&writer, PROJECT, &fact).await;
    let pattern = json!({ "scope": PROJECT, "table": "patterns", "content": way });
    let pattern = writer.post("/v1/entries", &pattern).await.ok();
    let pattern = pattern["entry"].as_str().expect("an id").to_owned();
    comes_right(&world, 0, &fact, &known).await;
    comes_right(&world, 0, &way, &pattern).await;
    let others = files_of(&world, "knowledge.lance");
    assert!(!others.is_empty());
    assert!(overwrite(&world, "episodic.lance", &mut chance) > 0);

    // Whoever stores something in it meets the damage.
    let amended = format!("{fact} {}", chance.words(2));
    amend(&writer, &known, &amended).await;
    comes_right(&world, 1, &amended, &known).await;
    comes_right(&world, 1, &way, &pattern).await;
    let built: u64 = world.admin().metric("sillok_index_rebuilds_total").await;
    assert_eq!(built, 1);
    assert_eq!(
        files_of(&world, "knowledge.lance"),
        others,
        "nothing was stored again"
    );
    let status = world.sillok("status --json").json();
    assert_eq!(status["index_stored"], 2, "{status}");
}
