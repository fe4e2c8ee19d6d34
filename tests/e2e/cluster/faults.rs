//! What a cluster does about what an operator or the machine does to it: a wiped NATS, a node that stands
//! still, a quarantine, a quota.

use std::time::Duration;

use serde_json::{Value, json};

use super::load::Load;
use super::{CALM, NODES, PATIENCE, check, slots_by_number};
use crate::harness::listener::LOOK_EVERY;
use crate::harness::{Cluster, world};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_go_on_over_a_nats_that_lost_everything() {
    let mut cluster = Cluster::start(&NODES).await;
    let load = Load::start(&cluster, &NODES).await;
    tokio::time::sleep(2 * CALM).await;
    cluster.nats().wipe();
    cluster.nats().resume().await;
    tokio::time::sleep(4 * CALM).await;
    load.goes_on_since(&load.counts()).await;
    let load = load.stop().await;
    let admin = cluster.admin("eve");
    load.check_with_a_late_listener(&admin).await;
    let verdict = admin.post("/v1/audit/verify", &json!({})).await.ok();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stood_still_finds_itself_fenced_and_nothing_is_lost() {
    let cluster = Cluster::start(&NODES).await;
    let load = Load::start(&cluster, &NODES).await;
    tokio::time::sleep(CALM).await;
    // Whoever waits for him waits until he goes on; the others write meanwhile.
    load.leaves("bob");
    cluster.node("bob").signal("STOP");
    let ada = cluster.admin("ada");
    let silent = async {
        loop {
            let view = ada.get("/v1/cluster", &[]).await.ok();
            let nodes = view["nodes"].as_array().expect("there are nodes");
            let is_over = |node: &Value| node["name"] == "bob" && node["living"] == false;
            if nodes.iter().any(is_over) {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let silent = tokio::time::timeout(PATIENCE, silent).await;
    silent.expect("the others find him silent");
    // They take his slots over, and go on.
    tokio::time::sleep(2 * CALM).await;
    cluster.node("bob").signal("CONT");
    load.moved(&cluster, "bob");
    let bob = cluster.admin("bob");
    let found_out = async {
        while bob.metric::<u64>("sillok_fenced_runs_total").await == 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    };
    let found_out = tokio::time::timeout(PATIENCE, found_out).await;
    found_out.expect("he finds himself fenced");
    tokio::time::sleep(CALM).await;
    let load = load.stop().await;
    check(&cluster, load, "bob").await;
}

/// A project, with a task in it, and the node that owns it.
struct Owned {
    project: String,
    task: String,
    owner: String,
}

/// Projects with a task each, in slots of their own: for each node one that it owns.
async fn one_of_each(cluster: &Cluster) -> Vec<Owned> {
    let mut found: Vec<Owned> = Vec::new();
    let mut number = 0;
    while found.len() < NODES.len() {
        assert!(number < 100, "some node owns nothing");
        let project = format!("org/acme/project/p{number}");
        let task = format!("{project}/worktree/w/task/t");
        let before = slots_by_number(cluster, "ada").await;
        world::open(&cluster.admin("ada"), &task).await;
        let after = slots_by_number(cluster, "ada").await;
        let new = after.iter().find(|(slot, _)| !before.contains_key(slot));
        if let Some((_, slot)) = new {
            let owner = slot["node"].as_str().expect("it was written to").to_owned();
            if found.iter().all(|known| known.owner != owner) {
                found.push(Owned {
                    project,
                    task,
                    owner,
                });
            }
        }
        number += 1;
    }
    found
}

fn record(task: &str) -> Value {
    json!({ "scope": task, "records": [{ "level": "thought", "content": "a line" }] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quarantine_that_any_node_orders_holds_at_its_owner_and_through_all() {
    let cluster = Cluster::start(&NODES).await;
    for owned in one_of_each(&cluster).await {
        let elsewhere = NODES.iter().find(|name| **name != owned.owner);
        let elsewhere = cluster.admin(elsewhere.expect("there are several"));
        let order = json!({ "scope": owned.project, "reason": "its disk is bad" });
        elsewhere.post("/v1/cluster/quarantine", &order).await.ok();
        for name in NODES {
            let client = cluster.admin(name);
            let reply = client.post("/v1/logs", &record(&owned.task)).await;
            let said = reply.text.contains("its disk is bad");
            assert!(reply.status >= 400 && said, "{name}: {}", reply.text);
            // What is there is read as before.
            client.get("/v1/task", &[("scope", &owned.task)]).await.ok();
        }
        let lift = json!({ "scope": owned.project, "reason": null });
        elsewhere.post("/v1/cluster/quarantine", &lift).await.ok();
        for name in NODES {
            let client = cluster.admin(name);
            client.post("/v1/logs", &record(&owned.task)).await.ok();
        }
    }
    // Who ordered what is kept, though it was lifted.
    let listed = cluster
        .sillok("eve", "cluster status --orders --json")
        .json();
    let quarantines = listed["orders"]["quarantines"].as_array().expect("a list");
    let reasons = quarantines.iter().map(|order| order["reason"].as_str());
    let reasons: Vec<_> = reasons.collect();
    assert_eq!(reasons, [Some("its disk is bad"), None].repeat(NODES.len()));
    assert!(
        quarantines
            .iter()
            .all(|order| order["by"]["kind"] == "human")
    );
    let printed = cluster.sillok("ada", "cluster status --orders");
    assert!(
        printed.stdout.contains("lift the quarantine of"),
        "{printed:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_counts_at_the_owner_whoever_is_asked() {
    let settings = [
        ("SILLOK__QUOTAS__WRITES_PER_S", "1"),
        ("SILLOK__QUOTAS__BURST_MS", "20000"),
    ];
    let cluster = Cluster::start_with(&NODES, &settings).await;
    let task = format!("{}/task/t", crate::harness::WORKTREE);
    world::open(&cluster.admin("ada"), &task).await;
    let mut refused = None;
    for number in 0..60 {
        let client = cluster.admin(NODES[number % NODES.len()]);
        let reply = client.post("/v1/logs", &record(&task)).await;
        if reply.status == 429 {
            refused = Some((number, reply));
            break;
        }
        reply.ok();
    }
    let (number, reply) = refused.expect("the quota of one node is used up, and not that of three");
    assert!((15..40).contains(&number), "after {number} writes");
    reply.refused(429, "quota_exceeded");
    // It comes back by itself, and another organisation never noticed.
    let other = "org/other/project/p/worktree/w/task/t";
    world::open(&cluster.admin("bob"), other).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let client = cluster.admin("eve");
    client.post("/v1/logs", &record(&task)).await.ok();
}
