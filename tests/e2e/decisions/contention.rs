//! Many clients at one decision: one of them wins each time, and the chain has no gap.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use tokio::task::JoinSet;

use super::{audited, brief, change, history, save, text};
use crate::harness::{Client, Cluster, WORKTREE, World, phrase};

const CLIENTS: usize = 50;
/// Successes after which nobody tries again.
const SUCCESSES: usize = 200;
const NODES: [&str; 3] = ["ada", "bob", "eve"];
/// The version on the wire from which on nodes read decisions.
const WITH_DECISIONS: u64 = 7;
/// The longest that nodes may take to find out what the others read.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contention_for_one_decision_leaves_a_gapless_chain_and_one_active_version() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    compete(&[agent]).await;
    audited(&world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contention_for_one_decision_through_all_nodes_leaves_a_gapless_chain() {
    let cluster = Cluster::start(&NODES).await;
    all_read_decisions(&cluster).await;
    let body = json!({ "scope": WORKTREE, "kind": "agent", "id": "a", "lifetime_s": 3_600 });
    let minted = cluster.admin("ada").post("/v1/tokens", &body).await.ok();
    let through = |name: &&str| cluster.admin(name).with_token(minted["token"].as_str());
    let agents: Vec<Client> = NODES.iter().map(through).collect();
    compete(&agents).await;
    let verdict = cluster.sillok("bob", "audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

/// Waits until every node knows that all of them read decisions.
async fn all_read_decisions(cluster: &Cluster) {
    let begun = Instant::now();
    for name in NODES {
        loop {
            let view = cluster.admin(name).get("/v1/cluster", &[]).await.ok();
            if view["wire_version"].as_u64() >= Some(WITH_DECISIONS) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{name}: {view}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Lets all clients change one decision by the version that each has seen, and looks at what became of it.
async fn compete(agents: &[Client]) {
    let saved = save(&agents[0], WORKTREE, &json!({})).await;
    let root = text(&saved["root"]).to_owned();
    let successes = Arc::new(AtomicUsize::new(0));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = agents[number % agents.len()].clone();
        clients.spawn(try_on(client, saved.clone(), Arc::clone(&successes)));
    }
    let (mut won, mut conflicts) = (BTreeMap::new(), 0);
    while let Some(came) = clients.join_next().await {
        let (versions, lost) = came.expect("a client does not panic");
        conflicts += lost;
        for (version, title) in versions {
            assert_eq!(
                won.insert(version, title),
                None,
                "two won version {version}"
            );
        }
    }
    println!("{} successes, {conflicts} conflicts", won.len());
    assert!(
        won.len() >= SUCCESSES && conflicts > 0,
        "nobody was in anybody's way"
    );
    let agent = &agents[0];
    let versions = history(agent, WORKTREE, &root).await;
    let numbers = versions.iter().map(|version| version["number"].as_u64());
    assert!(
        numbers.eq((1..=won.len() as u64 + 1).map(Some)),
        "the chain has a gap or a fork"
    );
    for version in &versions[1..] {
        let number = version["number"].as_u64().expect("it has a number");
        assert_eq!(version["text"]["title"], won[&number], "version {number}");
    }
    let named = [("scope", WORKTREE), ("root", &root)];
    let shown = agent.get("/v1/decision", &named).await.ok();
    assert_eq!(shown["head"]["version"], versions.len());
    assert_eq!(shown["head"]["active"], true);
    assert_eq!(shown["version"]["number"], versions.len());
    let (_, items) = brief(agent, &json!({ "scope": WORKTREE })).await;
    assert_eq!(items.len(), 1, "one version of it holds: {items:?}");
    assert_eq!(items[0]["version"], versions.len());
}

/// Changes a decision until there were enough successes: the versions that this client made, with their titles, and how
/// often it lost.
async fn try_on(
    client: Client,
    saved: Value,
    successes: Arc<AtomicUsize>,
) -> (Vec<(u64, String)>, usize) {
    let (mut won, mut lost, mut seen) = (Vec::new(), 0, 1);
    while successes.load(Ordering::SeqCst) < SUCCESSES {
        let title = phrase();
        let mut body = change(&saved, seen, "normal");
        body["scope"] = json!(WORKTREE);
        body["title"] = json!(title);
        body["content"] = json!(phrase());
        let reply = client.post("/v1/decisions", &body).await;
        if reply.status == 200 {
            let done = reply.ok();
            assert_eq!(done["version"], seen + 1);
            successes.fetch_add(1, Ordering::SeqCst);
            won.push((seen + 1, title));
            seen += 1;
        } else {
            let problem = reply.refused(409, "conflict");
            let now = problem["current"]["version"].as_u64();
            let now = now.expect("a conflict says what is current");
            assert!(now > seen, "versions only rise");
            lost += 1;
            seen = now;
        }
    }
    (won, lost)
}
