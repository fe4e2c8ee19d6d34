//! What failed is one memory for all agents of a task: at whichever node, after a kill, and when all is made anew from the
//! events.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use tokio::task::JoinSet;

use super::{
    AGAIN, ANOTHER, Approach, REFUSED, TIMED_OUT, TRIED, audited, check, failed, fails, is_allowed,
    text,
};
use crate::harness::{Client, Cluster, PROJECT, Server, WORKTREE, World, world};

const AGENTS: usize = 5;
const NODES: [&str; 3] = ["ada", "bob", "eve"];
/// The version on the wire from which on nodes judge what failed.
const WITH_FAILURES: u64 = 9;
/// The longest that nodes may take to find out what the others read.
const PATIENCE: Duration = Duration::from_secs(20);

/// An agent, and whoever records how its work ended.
#[derive(Clone)]
struct Crew {
    agent: Client,
    orchestrator: Client,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_of_one_task_are_stopped_by_the_first_failure_and_each_counts_once() {
    let world = World::start().await;
    let task = world.task().await;
    let mut crews = Vec::new();
    for _ in 0..AGENTS {
        crews.push(Crew {
            agent: world.principal(PrincipalKind::Agent, &task).await,
            orchestrator: world.principal(PrincipalKind::Orchestrator, PROJECT).await,
        });
    }
    try_at_once(&task, &crews).await;
    audited(&world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_at_all_nodes_of_a_cluster_are_stopped_by_the_first_failure() {
    let cluster = Cluster::start(&NODES).await;
    all_judge(&cluster).await;
    let task = format!("{WORKTREE}/task/t");
    world::open(&cluster.admin("ada"), &task).await;
    let mut crews = Vec::new();
    for number in 0..AGENTS {
        let node = cluster.admin(NODES[number % NODES.len()]);
        let minted = async |kind: &str, scope: &str| {
            let id = format!("{kind}-{number}");
            let body = json!({ "scope": scope, "kind": kind, "id": id, "lifetime_s": 3_600 });
            let minted = node.post("/v1/tokens", &body).await.ok();
            node.with_token(minted["token"].as_str())
        };
        crews.push(Crew {
            agent: minted("agent", &task).await,
            orchestrator: minted("orchestrator", PROJECT).await,
        });
    }
    try_at_once(&task, &crews).await;
    let verdict = cluster.sillok("bob", "audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

/// Waits until every node knows that all of them judge what failed.
async fn all_judge(cluster: &Cluster) {
    let begun = Instant::now();
    for name in NODES {
        loop {
            let view = cluster.admin(name).get("/v1/cluster", &[]).await.ok();
            if view["wire_version"].as_u64() >= Some(WITH_FAILURES) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{name}: {view}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Lets one agent fail, has all of them ask at once, and then all others do it all the same, at once.
async fn try_at_once(task: &str, crews: &[Crew]) {
    let (first, others) = crews.split_first().expect("somebody works");
    for crew in crews {
        is_allowed(&check(&crew.agent, task, TRIED).await);
    }
    let judged = fails(&first.orchestrator, task, TIMED_OUT, TRIED).await;
    assert_eq!(judged["count"], 1, "{judged}");
    // From its acknowledgement on everybody is told.
    let mut asking = JoinSet::new();
    for crew in crews {
        let (agent, task) = (crew.agent.clone(), task.to_owned());
        asking.spawn(async move { check(&agent, &task, AGAIN).await });
    }
    for told in asking.join_all().await {
        assert_eq!(told["verdict"], "reject", "{told}");
    }
    let mut failing = JoinSet::new();
    for crew in others {
        let (crew, task) = (crew.clone(), task.to_owned());
        failing.spawn(async move {
            let judged = fails(&crew.orchestrator, &task, TIMED_OUT, AGAIN).await;
            (judged, check(&crew.agent, &task, TRIED).await)
        });
    }
    let mut counts = vec![1];
    for (judged, told) in failing.join_all().await {
        let count = judged["count"].as_u64().expect("it is counted");
        let verdict = if count < 3 { "allow" } else { "block" };
        assert_eq!(judged["verdict"], verdict, "{judged}");
        assert_eq!(told["verdict"], "reject", "{told}");
        // At least those that were counted by then, this one among them.
        assert!(
            told["tried"][0]["attempts"].as_u64() >= Some(count),
            "{told}"
        );
        counts.push(count);
    }
    counts.sort_unstable();
    let all = crews.len() as u64;
    assert_eq!(
        counts,
        (1..=all).collect::<Vec<_>>(),
        "each is counted once"
    );
    for crew in crews {
        let told = check(&crew.agent, task, AGAIN).await;
        assert_eq!(told["tried"][0]["attempts"], all, "{told}");
        let listed = failed(&crew.agent, task).await;
        let places: Vec<u64> = listed
            .iter()
            .filter_map(|one| one["seq"].as_u64())
            .collect();
        assert_eq!(places.len(), crews.len(), "{listed:?}");
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    }
}

/// Two tasks that go in circles, and what agents are told there.
struct Circles {
    task: String,
    beside: String,
}

impl Circles {
    async fn begin(world: &World) -> Self {
        let (admin, task) = (world.admin(), world.task().await);
        let beside = format!("{PROJECT}/worktree/side/task/t");
        world::open(&admin, &beside).await;
        let steps: [(&str, Approach); 3] =
            [(TIMED_OUT, TRIED), (REFUSED, ANOTHER), (TIMED_OUT, AGAIN)];
        for (error, approach) in steps {
            fails(&admin, &task, error, approach).await;
        }
        // Here what failed was cleared since.
        fails(&admin, &beside, TIMED_OUT, ANOTHER).await;
        world::verify(&admin, &beside, PROJECT).await;
        Self { task, beside }
    }

    /// All that is told, as it is told.
    async fn look(&self, admin: &Client) -> Vec<Value> {
        let mut seen = Vec::new();
        for task in [&self.task, &self.beside] {
            for approach in [TRIED, AGAIN, ANOTHER] {
                seen.push(check(admin, task, approach).await);
            }
            seen.push(json!(failed(admin, task).await));
        }
        let verdicts: Vec<&str> = seen
            .iter()
            .filter_map(|one| one["verdict"].as_str())
            .collect();
        assert_eq!(
            verdicts,
            ["reject", "reject", "reject", "warn", "warn", "warn"]
        );
        seen
    }

    /// Goes on where it stood: one error takes turns with the other, and what was cleared is new.
    async fn go_on(&self, admin: &Client) {
        let judged = fails(admin, &self.task, REFUSED, ANOTHER).await;
        let told = (text(&judged["verdict"]), text(&judged["reason"]));
        assert_eq!(told, ("block", "takes_turns"), "{judged}");
        let judged = fails(admin, &self.beside, TIMED_OUT, TRIED).await;
        assert_eq!(
            (&judged["reason"], &judged["count"]),
            (&json!("new"), &json!(1))
        );
    }
}

#[tokio::test]
async fn what_failed_is_told_after_a_kill_as_before_and_goes_on_from_there() {
    let mut world = World::start().await;
    let circles = Circles::begin(&world).await;
    let before = circles.look(&world.admin()).await;
    world.kill();
    world.start_again().await;
    assert_eq!(circles.look(&world.admin()).await, before);
    circles.go_on(&world.admin()).await;
    audited(&world);
}

#[tokio::test]
async fn what_failed_is_made_anew_from_the_events() {
    let mut world = World::start().await;
    let circles = Circles::begin(&world).await;
    let before = circles.look(&world.admin()).await;
    let file = world.folder().join("a.backup");
    let file = file.to_str().expect("it is text");
    world.run(&["backup", "--json", file]).json();
    world.stop();
    world.sillok("rebuild --json").json();
    world.start_again().await;
    assert_eq!(circles.look(&world.admin()).await, before);
    // A backup holds the events alone: what is restored from it has the rows that follow from them.
    let data = world.folder().join("restored");
    let words = ["restore", "--json", file, "--data"];
    world
        .run(&[&words[..], &[data.to_str().expect("it is text")]].concat())
        .json();
    let server = Server::start(&data).await;
    let admin = Client::admin_of(&server);
    assert_eq!(circles.look(&admin).await, before);
    circles.go_on(&admin).await;
    server.stop();
}

#[tokio::test]
async fn a_node_that_is_pinned_to_an_older_version_records_a_failure_and_judges_nothing() {
    let pinned = ("SILLOK__CLUSTER__WIRE_VERSION", "8");
    let world = World::start_with(|launch| launch.env(pinned.0, pinned.1)).await;
    let (admin, task) = (world.admin(), world.task().await);
    let judged = fails(&admin, &task, TIMED_OUT, TRIED).await;
    assert!(judged.is_null(), "{judged}");
    // It is asked all the same, and has nothing to tell.
    is_allowed(&check(&admin, &task, TRIED).await);
    assert!(failed(&admin, &task).await.is_empty());
    let events = admin.all("/v1/events", &task).await;
    let of_kind = |kind: &str| events.iter().filter(|event| event["kind"] == kind).count();
    let kinds = ["VERIFICATION_RECORDED", "FIX_FAILED"].map(of_kind);
    assert_eq!(kinds, [1, 0], "{events:?}");
    world::verify(&admin, &task, PROJECT).await;
    audited(&world);
}
