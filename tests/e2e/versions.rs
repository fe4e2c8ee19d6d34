//! Nodes of two versions side by side: the older one wins until all are new, and nothing is lost meanwhile.
//!
//! The older ones are of this build and pinned, unless `SILLOK_OLD_BIN` names a node of an older release.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::membership::WireVersion;
use sillok_test_cluster::binary;

use crate::cluster::load::{Load, Running};
use crate::harness::{Cluster, world};

const NODES: [&str; 3] = ["ada", "bob", "eve"];
/// What makes a node behave as an older one.
const PINNED: (&str, &str) = ("SILLOK__CLUSTER__WIRE_VERSION", "1");
/// What nodes of this build read.
const NEWEST: u64 = 12;
/// How long the load goes on before something happens, and after it.
const CALM: Duration = Duration::from_millis(1_500);
/// The longest that the nodes may take to speak another version.
const PATIENCE: Duration = Duration::from_secs(20);

/// What operators read before an upgrade.
#[test]
fn the_document_names_the_newest_version() {
    assert_eq!(NEWEST, u64::from(WireVersion::NEWEST.get()));
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operate.md");
    let text = std::fs::read_to_string(document).unwrap();
    for named in [
        format!("versions on the wire (1 to {NEWEST})"),
        format!("ersion {NEWEST} "),
    ] {
        assert!(text.contains(&named), "it says nothing of {named:?}");
    }
}

/// Starts an older node.
async fn start_older(cluster: &mut Cluster, name: &str) {
    match binary::of_older_release() {
        Some(binary) => cluster.start_node_by(name, &binary).await,
        None => {
            println!(
                "SILLOK_OLD_BIN is not set: this build, pinned to version 1, stands for an older release"
            );
            cluster.start_node_with(name, &[PINNED]).await;
        }
    }
}

/// The version up to which an older node reads. It may not say so itself.
async fn read_by(cluster: &Cluster, through: &str, older: &str) -> u64 {
    let view = cluster.admin(through).get("/v1/cluster", &[]).await.ok();
    let nodes = view["nodes"].as_array().expect("there are nodes");
    let node = nodes.iter().find(|node| node["name"] == older);
    let read = number(node.expect("it registered"));
    assert!(read == 1 || binary::of_older_release().is_some());
    read
}

/// A version. Releases that have the first alone do not say so.
fn number(of: &Value) -> u64 {
    of["wire_version"].as_u64().unwrap_or(1)
}

/// What a node says of versions: what it writes, and what each node reads.
async fn versions(cluster: &Cluster, name: &str) -> (u64, Vec<u64>) {
    let view = cluster.admin(name).get("/v1/cluster", &[]).await.ok();
    let nodes = view["nodes"].as_array().expect("there are nodes");
    (number(&view), nodes.iter().map(number).collect())
}

/// Waits until every node writes a version, and sees what each one reads.
async fn comes(cluster: &Cluster, spoken: u64, read: [u64; 3]) {
    let begun = Instant::now();
    for name in NODES {
        loop {
            let now = versions(cluster, name).await;
            if now == (spoken, read.to_vec()) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{name} says {now:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Every node writes to a scope of every other one.
async fn write_in_every_direction(cluster: &Cluster, label: &str) {
    for number in 0..12 {
        // Projects spread over all slots, and so over the nodes.
        let task = format!("org/acme/project/{label}{number}/worktree/w/task/t");
        world::open(&cluster.admin(NODES[number % 3]), &task).await;
        for name in NODES {
            world::log(&cluster.admin(name), &task, "it is written").await;
        }
    }
}

/// Everything that was acknowledged is stored once, and the audit finds nothing.
async fn check(cluster: &Cluster, load: Running) {
    let load = load.stop().await;
    assert!(load.acknowledged() > 100, "there was some load");
    let admin = cluster.admin("bob");
    load.check(&admin).await;
    let verdict = admin.post("/v1/audit/verify", &json!({})).await.ok();
    assert_eq!(verdict["ok"], true, "{verdict}");
    let ran = cluster.sillok("bob", "audit verify");
    ran.ended(0);
}

/// Commands that nodes have handed to one another.
async fn forwarded(cluster: &Cluster) -> u64 {
    let mut all = 0;
    for name in NODES {
        let admin = cluster.admin(name);
        all += admin.metric::<u64>("sillok_forwarded_total").await;
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_of_an_older_version_works_beside_newer_ones() {
    let mut cluster = Cluster::start(&NODES[..2]).await;
    start_older(&mut cluster, "eve").await;
    let old = read_by(&cluster, "ada", "eve").await;
    comes(&cluster, old, [NEWEST, NEWEST, old]).await;
    let load = Load::start(&cluster, &NODES).await;
    write_in_every_direction(&cluster, "mixed").await;
    tokio::time::sleep(CALM).await;
    assert!(
        forwarded(&cluster).await > 0,
        "nodes hand commands to one another"
    );
    let printed = cluster.sillok("ada", "cluster status");
    let why = format!("nodes speak version {old} until all of them read version {NEWEST}");
    let is_said = printed.stdout.contains(&why);
    assert_eq!(is_said, old < NEWEST, "{}", printed.stdout);
    // It is upgraded in mid-load.
    load.leaves("eve");
    cluster.stop("eve");
    cluster.start_node("eve").await;
    load.moved(&cluster, "eve");
    comes(&cluster, NEWEST, [NEWEST; 3]).await;
    write_in_every_direction(&cluster, "new").await;
    tokio::time::sleep(CALM).await;
    check(&cluster, load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_of_one_node_after_the_other_under_load_loses_nothing() {
    let mut cluster = Cluster::start(&[]).await;
    for name in NODES {
        start_older(&mut cluster, name).await;
    }
    let old = read_by(&cluster, "bob", "ada").await;
    let mut read = [old; 3];
    comes(&cluster, old, read).await;
    let load = Load::start(&cluster, &NODES).await;
    for (number, name) in NODES.iter().enumerate() {
        tokio::time::sleep(CALM).await;
        load.leaves(name);
        cluster.stop(name);
        cluster.start_node(name).await;
        load.moved(&cluster, name);
        read[number] = NEWEST;
        let is_last = number + 1 == NODES.len();
        let spoken = if is_last { NEWEST } else { old };
        comes(&cluster, spoken, read).await;
    }
    write_in_every_direction(&cluster, "upgraded").await;
    check(&cluster, load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_node_that_joins_takes_the_others_back() {
    let mut cluster = Cluster::start(&NODES).await;
    comes(&cluster, NEWEST, [NEWEST; 3]).await;
    let load = Load::start(&cluster, &NODES).await;
    load.leaves("eve");
    cluster.stop("eve");
    cluster.start_node_with("eve", &[PINNED]).await;
    load.moved(&cluster, "eve");
    comes(&cluster, 1, [NEWEST, NEWEST, 1]).await;
    write_in_every_direction(&cluster, "back").await;
    check(&cluster, load).await;
}
