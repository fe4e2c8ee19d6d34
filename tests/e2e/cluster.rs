//! Three nodes serve one memory: whichever of them is asked, killed, drained or cut off, what was
//! acknowledged is there, once.

mod faults;
mod foreign;
pub(crate) mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::listener::LOOK_EVERY;
use crate::harness::{Chance, Cluster, Launch, PROJECT, WORKTREE, world};
use load::Load;

/// The nodes.
const NODES: [&str; 3] = ["ada", "bob", "eve"];
/// Kills of nodes unless `SILLOK_CLUSTER_KILLS` says otherwise; after so many the store is killed too.
const KILLS: usize = 4;
/// The index that nodes have outside of tests.
const WITH_TABLES: [(&str, &str); 1] = [("SILLOK__INDEX__ENGINE", "lance")];
/// How long the load goes on before something happens, and after it.
const CALM: Duration = Duration::from_millis(1_500);

/// Everything that was acknowledged is stored once, and the audit finds nothing.
async fn check(cluster: &Cluster, load: Load, through: &str) {
    let admin = cluster.admin(through);
    load.check(&admin).await;
    let verdict = admin.post("/v1/audit/verify", &json!({})).await.ok();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_node_answers_any_request_and_sees_what_the_others_wrote() {
    let cluster = Cluster::start(&NODES).await;
    let mut tasks = Vec::new();
    for number in 0..12 {
        // Projects spread over all slots, and so over the nodes.
        let task = format!("org/acme/project/p{number}/worktree/w/task/t");
        world::open(&cluster.admin(NODES[number % 3]), &task).await;
        tasks.push(task);
    }
    for (number, task) in tasks.iter().enumerate() {
        let writer = cluster.admin(NODES[(number + 1) % 3]);
        let id = world::log(&writer, task, "seen by all").await;
        for name in NODES {
            let record = cluster.admin(name).get("/v1/record", &[("id", &id)]).await;
            assert_eq!(record.ok()["content"], "seen by all");
        }
    }
    // A verification that one node records is promoted by whoever owns the project.
    let task = format!("{WORKTREE}/task/t");
    world::open(&cluster.admin("ada"), &task).await;
    world::log(
        &cluster.admin("bob"),
        &task,
        "Root cause: the loop stops early",
    )
    .await;
    world::verify(&cluster.admin("eve"), &task, PROJECT).await;
    for name in NODES {
        let status = cluster.admin(name).get("/v1/status", &[]).await.ok();
        assert_eq!(status["node"], name);
    }
    let verdict = cluster
        .admin("bob")
        .post("/v1/audit/verify", &json!({}))
        .await
        .ok();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

/// What a node says of its cluster, and what `sillok cluster status --json` says through it.
async fn status_of(cluster: &Cluster, name: &str) -> Value {
    let view = cluster.admin(name).get("/v1/cluster", &[]).await.ok();
    let mut printed = cluster.sillok(name, "cluster status --json").json();
    let mut asked = view.clone();
    for seen in [&mut printed, &mut asked] {
        // Time passes between the two.
        for node in seen["nodes"].as_array_mut().expect("there are nodes") {
            node["silent_ms"].take();
        }
    }
    assert_eq!(printed["nodes"], asked["nodes"]);
    view
}

/// The slots of a cluster, by their numbers, as a node lists them.
async fn slots_by_number(cluster: &Cluster, name: &str) -> BTreeMap<u64, Value> {
    let query = [("slots", "true")];
    let view = cluster.admin(name).get("/v1/cluster", &query).await.ok();
    let listed = view["slots"].as_array().expect("they were asked for");
    let number = |slot: &Value| slot["slot"].as_u64().expect("each has a number");
    listed
        .iter()
        .map(|slot| (number(slot), slot.clone()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_of_a_cluster_shows_the_truth_before_during_and_after_a_takeover() {
    let mut cluster = Cluster::start_with(&NODES, &WITH_TABLES).await;
    for number in 0..12 {
        let task = format!("org/acme/project/p{number}/worktree/w/task/t");
        world::open(&cluster.admin(NODES[number % 3]), &task).await;
    }
    let before = status_of(&cluster, "ada").await;
    assert_eq!(before["healthy"], true, "{before}");
    assert_eq!(
        (&before["alone"], &before["node"]),
        (&json!(false), &json!("ada"))
    );
    let slots = |view: &Value, name: &str| -> u64 {
        let nodes = view["nodes"].as_array().expect("there are nodes");
        let node = nodes.iter().find(|node| node["name"] == name);
        node.expect("it registered")["slots"]
            .as_u64()
            .expect("it is counted")
    };
    let owned = |view: &Value| NODES.iter().map(|name| slots(view, name)).sum::<u64>();
    assert_eq!(before["slots_used"], 12);
    assert_eq!((owned(&before), slots(&before, "bob") > 0), (12, true));
    let listed_before = slots_by_number(&cluster, "ada").await;
    cluster.kill("bob");
    // He is missed before he is fenced.
    let begun = Instant::now();
    let mut reasons = BTreeSet::new();
    let mut printed = None;
    let after = loop {
        // Whichever of the two finds him silent.
        let mut view = Value::Null;
        for name in ["ada", "eve"] {
            view = cluster.admin(name).get("/v1/cluster", &[]).await.ok();
            let named = view["reasons"].as_array().expect("there are some");
            reasons.extend(named.iter().map(|one| one["reason"].to_string()));
        }
        if view["slots_owned"] == 12 && slots(&view, "bob") == 0 && view["healthy"] == true {
            break view;
        }
        if printed.is_none() && !reasons.is_empty() {
            printed = Some(cluster.sillok("ada", "cluster status --json").json());
        }
        assert!(begun.elapsed() < PATIENCE, "nobody takes his slots: {view}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(reasons.contains("\"silent\""), "{reasons:?}");
    assert_eq!(printed.expect("he was missed")["slots_used"], 12);
    assert_eq!(after["healthy"], true, "{after}");
    // What counts as owned is served, through any node.
    for number in 0..12 {
        let task = format!("org/acme/project/p{number}/worktree/w/task/t");
        for name in ["ada", "eve"] {
            let client = cluster.admin(name);
            let written = world::log(&client, &task, "it goes on");
            let written = tokio::time::timeout(PATIENCE, written).await;
            written.unwrap_or_else(|_| panic!("{task} is not served through {name}"));
        }
    }
    status_of(&cluster, "eve").await;
    let listed_after = slots_by_number(&cluster, "eve").await;
    assert_eq!(listed_after.len(), 12);
    for (number, slot) in &listed_after {
        assert!(slot["owned"] == true && slot["node"] != "bob", "{slot}");
        let former = &listed_before[number];
        let is_moved = slot["epoch"].as_u64() > former["epoch"].as_u64();
        assert!(
            is_moved || former["node"] != "bob",
            "{former} is {slot} now"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_an_operator_fences_begins_another_run_and_nothing_is_lost() {
    let cluster = Cluster::start(&NODES).await;
    let tasks: Vec<String> = (0..12)
        .map(|number| format!("org/acme/project/p{number}/worktree/w/task/t"))
        .collect();
    for (number, task) in tasks.iter().enumerate() {
        world::open(&cluster.admin(NODES[number % 3]), task).await;
    }
    let order = cluster.sillok("ada", "cluster fence bob --json").json();
    assert_eq!(
        (&order["node"], &order["incarnation"]),
        (&json!("bob"), &json!(1))
    );
    assert_eq!(order["by"]["kind"], "human");
    let listed = cluster.sillok("eve", "cluster status --orders --json");
    assert_eq!(listed.json()["orders"]["fences"], json!([order]));
    let begun = Instant::now();
    let after = loop {
        let view = cluster.admin("eve").get("/v1/cluster", &[]).await.ok();
        let nodes = view["nodes"].as_array().expect("there are nodes");
        let bob = nodes.iter().find(|node| node["name"] == "bob");
        let bob = bob.expect("he registered").clone();
        assert_eq!(bob["fence"], order, "who ended his run");
        if bob["living"] == true && bob["incarnation"] == 2 && view["slots_owned"] == 12 {
            break view;
        }
        assert!(begun.elapsed() < PATIENCE, "he does not begin anew: {view}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(after["healthy"], true, "{after}");
    for (number, task) in tasks.iter().enumerate() {
        world::log(&cluster.admin(NODES[number % 3]), task, "it goes on").await;
    }
    let fence = async |asked: Value| cluster.admin("bob").post("/v1/cluster/fence", &asked).await;
    // The same order again ends no further run.
    let again = fence(json!({ "node": "bob", "incarnation": 1 })).await.ok();
    assert_eq!(again, order);
    fence(json!({ "node": "bob", "incarnation": 7 }))
        .await
        .refused(409, "invalid_state");
    fence(json!({ "node": "zoe", "incarnation": 1 }))
        .await
        .refused(404, "not_found");
    fence(json!({ "node": "" , "incarnation": 1 }))
        .await
        .refused(404, "not_found");
    tokio::time::sleep(2 * CALM).await;
    let view = status_of(&cluster, "ada").await;
    let nodes = view["nodes"].as_array().expect("there are nodes");
    assert!(
        nodes
            .iter()
            .any(|node| node["name"] == "bob" && node["incarnation"] == 2)
    );
    let verdict = cluster
        .admin("ada")
        .post("/v1/audit/verify", &json!({}))
        .await
        .ok();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_store_a_command_is_unavailable_at_once_and_nobody_is_fenced() {
    // Each node knows the token for longer than the test takes, so that it is the router who refuses.
    let settings = [("SILLOK__SERVER__TOKEN_CHECK_MS", "60000")];
    let mut cluster = Cluster::start_with(&NODES, &settings).await;
    world::open(&cluster.admin("ada"), &format!("{WORKTREE}/task/t")).await;
    for name in NODES {
        cluster.admin(name).get("/v1/cluster", &[]).await.ok();
    }
    cluster.kill_store();
    for (number, name) in NODES.iter().enumerate() {
        // One task that somebody owns, and one of a project that nobody has heard of.
        for scope in [
            format!("{WORKTREE}/task/new{number}"),
            format!("org/acme/project/unheard{number}/worktree/w/task/t"),
        ] {
            let body = json!({ "scope": scope, "title": "A task of a test." });
            let begun = Instant::now();
            let reply = cluster.admin(name).post("/v1/tasks", &body).await;
            reply.refused(503, "unavailable");
            assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
        }
    }
    // Longer than the fencing time.
    tokio::time::sleep(4 * CALM).await;
    cluster.start_store().await;
    let task = format!("{WORKTREE}/task/after");
    let opened = async {
        let body = json!({ "scope": task, "title": "A task of a test." });
        while cluster.admin("eve").post("/v1/tasks", &body).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, opened)
        .await
        .expect("it goes on without a restart");
    // Whoever was fenced finds out with its next beats, a second apart.
    tokio::time::sleep(2 * CALM).await;
    let view = status_of(&cluster, "bob").await;
    let nodes = view["nodes"].as_array().expect("there are nodes");
    let is_first_run = |node: &Value| node["living"] == true && node["incarnation"] == 1;
    assert_eq!(nodes.len(), NODES.len());
    assert!(nodes.iter().all(is_first_run), "{view}");
}

/// The longest that a takeover, or a recovery, may take.
const PATIENCE: Duration = Duration::from_secs(25);
/// Longer than it takes a node to notice that it does not reach the bus.
const OFF_BUS: Duration = Duration::from_secs(15);
/// A refusal takes no longer.
const AT_ONCE: Duration = Duration::from_secs(2);

/// The longest that word of a commit may take to another node.
const NEWS: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_published_through_one_node_is_recalled_and_heard_at_all() {
    // Sweeps come later than the test waits.
    let settings = [("SILLOK__NODE__SWEEP_EVERY_MS", "3600000")];
    let cluster = Cluster::start_with(&NODES, &settings).await;
    let mut tails = Vec::new();
    for name in NODES {
        let query = [("scope", "org/acme")];
        tails.push(cluster.admin(name).stream(&query, None).await);
    }
    let begun = Instant::now();
    for (number, writer) in NODES.iter().enumerate() {
        // Projects spread over all slots, and so over the nodes.
        let project = format!("org/acme/project/n{number}");
        let content = format!("The build of n{number} needs protoc {}", world::next());
        let entry = json!({
            "scope": project, "content": content,
        });
        cluster.admin(writer).post("/v1/entries", &entry).await.ok();
        for name in NODES {
            let query = json!({ "scope": project, "query": content });
            loop {
                let found = cluster.admin(name).post("/v1/recall", &query).await.ok();
                if found["results"].to_string().contains(&content) {
                    break;
                }
                assert!(
                    begun.elapsed() < NEWS,
                    "{name} does not recall what {writer} published"
                );
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        for tail in &mut tails {
            let mut heard = String::new();
            while !heard.contains(&project) {
                let chunk = tokio::time::timeout(NEWS, tail.chunk()).await;
                let chunk = chunk.expect("it is heard in time").expect("it goes on");
                heard += &String::from_utf8_lossy(&chunk.expect("it goes on"));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_of_each_node_in_turn_loses_nothing_and_repeats_nothing() {
    let mut cluster = Cluster::start_with(&NODES, &WITH_TABLES).await;
    let load = Load::start(&cluster, &NODES).await;
    for name in NODES {
        tokio::time::sleep(CALM).await;
        let other = other_than(name);
        let (owned, _) = slots_and_reach(&cluster, other, name).await;
        assert!(owned > 0, "{name} has slots of its own");
        cluster.kill(name);
        // Others take its slots over while it is down.
        others_have_all(&cluster, other, name).await;
        load.goes_on_since(&load.counts()).await;
        cluster.start_node(name).await;
        load.moved(&cluster, name);
    }
    tokio::time::sleep(CALM).await;
    let load = load.stop().await;
    check(&cluster, load, "ada").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_of_any_node_and_of_the_store_in_mid_load_lose_nothing() {
    let kills = std::env::var("SILLOK_CLUSTER_KILLS");
    let kills = kills.map_or(KILLS, |kills| kills.parse().expect("a number of kills"));
    let mut cluster = Cluster::start(&NODES).await;
    let load = Load::start(&cluster, &NODES).await;
    let mut chance = Chance::of_test("kills");
    for number in 1..=kills {
        let name = *chance.pick(&NODES);
        // Before, during and after the others find it silent.
        let mut moment = || tokio::time::sleep(Duration::from_millis(chance.next() % 4_000));
        moment().await;
        cluster.kill(name);
        if number % KILLS == 0 {
            moment().await;
            cluster.kill_store();
            moment().await;
            cluster.start_store().await;
        }
        moment().await;
        cluster.start_node(name).await;
        load.moved(&cluster, name);
    }
    tokio::time::sleep(CALM).await;
    let load = load.stop().await;
    println!("{kills} kills, {} acknowledged", load.acknowledged());
    check(&cluster, load, "ada").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_hands_everything_over_and_nobody_who_retries_sees_an_error() {
    let mut cluster = Cluster::start_with(&NODES, &WITH_TABLES).await;
    let load = Load::start(&cluster, &NODES).await;
    for name in NODES {
        tokio::time::sleep(CALM).await;
        load.leaves(name);
        let others: Vec<&str> = NODES.into_iter().filter(|other| *other != name).collect();
        let fences = counted(&cluster, "sillok_fences_total", &others).await;
        let taken = counted(&cluster, "sillok_takeovers_total", &others).await;
        let (owned, _) = slots_and_reach(&cluster, others[0], name).await;
        assert!(owned >= 3, "{name} has {owned} slots of its own");
        cluster.stop(name);
        others_have_all(&cluster, others[0], name).await;
        // Nobody had to find it silent, nor to take what it owned, but for what was under way for too long.
        let taken = counted(&cluster, "sillok_takeovers_total", &others).await - taken;
        assert!(
            taken * 3 <= owned,
            "{taken} of {owned} slots were not handed over"
        );
        load.goes_on_since(&load.counts()).await;
        let fences_now = counted(&cluster, "sillok_fences_total", &others).await;
        assert_eq!(fences_now, fences);
        cluster.start_node(name).await;
        load.moved(&cluster, name);
    }
    tokio::time::sleep(CALM).await;
    let load = load.stop().await;
    check(&cluster, load, "eve").await;
}

/// A counter of these nodes, summed.
async fn counted(cluster: &Cluster, counter: &str, names: &[&str]) -> u64 {
    let mut all = 0;
    for name in names {
        all += cluster.admin(name).metric::<u64>(counter).await;
    }
    all
}

/// Waits until a node is over and every slot has an owner that lives, as another node sees it.
async fn others_have_all(cluster: &Cluster, through: &str, gone: &str) {
    let begun = Instant::now();
    loop {
        let view = cluster.admin(through).get("/v1/cluster", &[]).await.ok();
        let nodes = view["nodes"].as_array().expect("there are nodes");
        let node = nodes.iter().find(|node| node["name"] == gone);
        let node = node.expect("it registered");
        let is_over = (&node["living"], &node["slots"]) == (&json!(false), &json!(0));
        if is_over && view["slots_owned"] == view["slots_used"] {
            return;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "nobody has {gone}'s slots: {view}"
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn other_than(name: &str) -> &'static str {
    let other = NODES.into_iter().find(|other| *other != name);
    other.expect("there are several")
}

/// How many slots a node owns, and whether it counts as cut off, as another one sees it.
async fn slots_and_reach(cluster: &Cluster, through: &str, of: &str) -> (u64, bool) {
    let view = cluster.admin(through).get("/v1/cluster", &[]).await.ok();
    let nodes = view["nodes"].as_array().expect("there are nodes");
    let node = nodes.iter().find(|node| node["name"] == of);
    let slots = node.expect("it registered")["slots"].as_u64();
    let reasons = view["reasons"].as_array().expect("there are some");
    let is_off = reasons
        .iter()
        .any(|one| one["reason"] == "off_bus" && one["node"] == of);
    (slots.expect("they are counted"), is_off)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_cut_from_nats_gives_its_slots_up_and_gets_them_back() {
    let cluster = Cluster::start(&NODES).await;
    let load = Load::start(&cluster, &NODES).await;
    tokio::time::sleep(CALM).await;
    let before = slots_and_reach(&cluster, "ada", "bob").await;
    assert!(before.0 > 0 && !before.1, "{before:?}");
    for is_cut in [true, false] {
        if is_cut {
            cluster.way("bob").cut();
        } else {
            cluster.way("bob").mend();
        }
        let expected = if is_cut { (0, true) } else { before };
        let begun = Instant::now();
        loop {
            let now = slots_and_reach(&cluster, "ada", "bob").await;
            if now == expected {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{now:?} is not {expected:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let reply = cluster.admin("bob").get("/readyz", &[]).await;
        assert_eq!(reply.status, if is_cut { 503 } else { 200 });
        tokio::time::sleep(CALM).await;
    }
    let load = load.stop().await;
    check(&cluster, load, "bob").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_cut_from_the_store_commits_nothing_and_gets_its_slots_back() {
    let cluster = Cluster::start(&NODES).await;
    let Some(way) = cluster.store_way("bob") else {
        println!("skipped: nobody can be cut off FoundationDB here; the simulation does it");
        return;
    };
    let load = Load::start(&cluster, &NODES).await;
    tokio::time::sleep(CALM).await;
    let (before, _) = slots_and_reach(&cluster, "ada", "bob").await;
    assert!(before > 0, "he has slots of his own");
    way.cut();
    others_have_all(&cluster, "ada", "bob").await;
    let task = format!("{WORKTREE}/task/in-vain");
    let open = json!({ "scope": task });
    let reply = cluster.admin("bob").post("/v1/tasks", &open).await;
    assert_eq!(reply.status, 503, "{}", reply.text);
    let reply = cluster.admin("bob").get("/readyz", &[]).await;
    assert_eq!(reply.status, 503, "{}", reply.text);
    for number in 0..NODES.len() {
        let task = format!("org/acme/project/while-cut-{number}/worktree/w/task/t");
        world::open(&cluster.admin("ada"), &task).await;
    }
    way.mend();
    let begun = Instant::now();
    // Those that were written to for the first time meanwhile may be his as well.
    while slots_and_reach(&cluster, "ada", "bob").await.0 < before {
        assert!(begun.elapsed() < PATIENCE, "he does not get his slots back");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    tokio::time::sleep(CALM).await;
    let load = load.stop().await;
    check(&cluster, load, "bob").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_go_on_while_nats_and_the_store_are_down_for_a_while() {
    let mut cluster = Cluster::start(&NODES).await;
    let load = Load::start(&cluster, &NODES).await;
    tokio::time::sleep(CALM).await;
    let owners = slots_by_number(&cluster, "ada").await;
    cluster.nats().kill();
    // For longer than it takes to notice, everybody writes, and each node keeps what it owns.
    tokio::time::sleep(OFF_BUS).await;
    load.goes_on_since(&load.counts()).await;
    for (number, slot) in slots_by_number(&cluster, "ada").await {
        assert_eq!(slot["epoch"], owners[&number]["epoch"], "{slot}");
    }
    // What is new begins, at whichever node.
    for name in NODES {
        let task = format!("org/acme/project/new-at-{name}/worktree/w/task/t");
        world::open(&cluster.admin(name), &task).await;
    }
    cluster.nats().resume().await;
    tokio::time::sleep(CALM).await;
    // Longer than the fencing time: a store that nobody reaches fences nobody.
    cluster.kill_store();
    tokio::time::sleep(4 * CALM).await;
    cluster.start_store().await;
    tokio::time::sleep(2 * CALM).await;
    let load = load.stop().await;
    check(&cluster, load, "bob").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cluster_needs_is_asked_for_and_a_name_is_one_nodes() {
    let mut cluster = Cluster::start(&["ada"]).await;
    let refused = |launch: Launch| {
        let (status, said) = launch.start_in_vain(Duration::from_secs(30));
        assert!(!status.success(), "{said}");
        said
    };
    for key in [
        "NATS__SERVERS",
        "SERVER__ADMIN_TOKEN_FILE",
        "SERVER__TOKEN_KEY_FILE",
    ] {
        let said = refused(cluster.launch("bob").env(&format!("SILLOK__{key}"), ""));
        let name = key.to_lowercase().replace("__", ".");
        assert!(said.contains(&format!("{name} is wanted")), "{said}");
    }
    for name in ["ada.example.com", ""] {
        let said = refused(cluster.launch("bob").env("SILLOK__NODE__NAME", name));
        assert!(said.contains("node.name"), "{said}");
    }
    let said = refused(cluster.launch("ada"));
    assert!(said.contains("in use by another process"), "{said}");
    // Another directory keeps nobody from taking the name: then the former one ends.
    let elsewhere = tempfile::tempdir().expect("a folder of its own");
    let path = elsewhere.path().join("data");
    let other = cluster.launch("ada").at(&path).start().await;
    let (status, said) = cluster.ended("ada");
    assert!(
        !status.success() && said.contains("another process runs as node ada"),
        "{said}"
    );
    drop(other);
}
