//! Maintenance under a clock that is wrong: it asks, and what it took out comes back. And a rehearsal, which leaves all
//! files of the index as they are.

pub(crate) mod directly;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::id::{Epoch, Incarnation};
use sillok_core::membership::{NodeRow, OwnerRow, WireVersion};
use sillok_core::principal::PrincipalKind;
use sillok_store::keys;

use crate::harness::samples::put;
use crate::harness::{PROJECT, Ran, World, phrase};
use crate::tamper::vault::Vault;

const SCOPES: usize = 6;
const IN_EACH: usize = 4;
/// Old facts that go without a question.
const FACTS: usize = 5;
/// How long it may take until all that was written is stored in the index.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server for which everything is old that was written before this second, as after a jump of its clock.
async fn jumped() -> World {
    World::start_with(|launch| launch.env("SILLOK__RETENTION__ARCHIVE_EPISODIC_DAYS", "0.00000001"))
        .await
}

fn worktree(number: usize) -> String {
    format!("{PROJECT}/worktree/w{number}")
}

/// Entries in many small scopes: their ids.
async fn scattered(world: &World) -> Vec<String> {
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let mut entries = Vec::new();
    for number in 0..SCOPES * IN_EACH {
        let body = json!({ "scope": worktree(number % SCOPES), "content": phrase() });
        let written = agent.post("/v1/entries", &body).await.ok();
        entries.push(written["entry"].as_str().expect("it has an id").to_owned());
    }
    entries
}

async fn entry(world: &World, id: &str) -> Value {
    world.admin().get("/v1/entry", &[("id", id)]).await.ok()
}

fn maintain(world: &World, flags: &[&str]) -> Ran {
    world.run(&[&["maintain", "--json", "--only", "archive"], flags].concat())
}

fn retired(run: &Value) -> u64 {
    let scopes = run["scopes"].as_array().expect("a list").iter();
    scopes
        .map(|scope| scope["retired"].as_u64().unwrap_or_default())
        .sum()
}

/// What `sillok events` prints of a scope.
fn events(world: &World, scope: &str, flags: &[&str]) -> Vec<Value> {
    let ran = world.run(&[&["events", "--json", "--scope", scope], flags].concat());
    ran.json_lines()
}

#[tokio::test]
async fn a_run_that_would_empty_many_small_scopes_stops_and_asks() {
    let world = jumped().await;
    let entries = scattered(&world).await;
    for flags in [&["--dry-run"][..], &[]] {
        let ran = maintain(&world, flags);
        let run = ran.json_with(1);
        assert_eq!((&run["asks"], retired(&run)), (&json!(true), 0), "{run}");
        assert!(ran.stderr.contains("most of everything is due"), "{ran:?}");
    }
    let live = entry(&world, &entries[0]).await;
    assert_eq!(live["head"]["status"], "hypothesis");
    let run = maintain(&world, &["--force"]).json();
    assert_eq!(retired(&run), (SCOPES * IN_EACH) as u64);
    assert_eq!(run["asks"], false);
}

/// A skill of this success rate, published by a person: its id.
async fn skill(world: &World, success_rate: f64) -> String {
    let skill = json!({
        "name": phrase(), "description": phrase(), "code": phrase(),
        "usage_count": 0, "success_rate": success_rate,
    });
    let body = json!({ "scope": PROJECT, "table": "skills", "content": phrase(), "skill": skill });
    let written = world.admin().post("/v1/entries", &body).await.ok();
    written["entry"].as_str().expect("it has an id").to_owned()
}

/// Something for each part that takes out or offers: old facts, a poor skill, and one that three tasks found helpful.
async fn something_due(world: &World) {
    let writer = world.principal(PrincipalKind::Human, PROJECT).await;
    for _ in 0..FACTS {
        put(&writer, PROJECT, &phrase()).await;
    }
    skill(world, 0.1).await;
    let good = skill(world, 1.0).await;
    for _ in 0..3 {
        let task = world.task().await;
        let agent = world.principal(PrincipalKind::Agent, &task).await;
        let said = json!({ "task": task, "entry": good, "outcome": "helped" });
        agent.post("/v1/reuse", &said).await.ok();
    }
}

/// What is in each file of the index.
fn index_bytes(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = world.index_files().into_iter();
    files
        .map(|path| {
            let bytes = std::fs::read(&path).unwrap_or_default();
            (path, bytes)
        })
        .collect()
}

/// Waits until nothing waits to be stored, and the files stay as they are: what is in each.
async fn settled(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let begun = Instant::now();
    let mut before = index_bytes(world);
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let status = world.sillok("status --json").json();
        let now = index_bytes(world);
        if status["index_pending"] == 0 && now == before {
            return now;
        }
        assert!(begun.elapsed() < PATIENCE, "{status}");
        before = now;
    }
}

/// What a summary says will go, or went, without how much of it was done.
fn said(run: &Value) -> Value {
    let scopes = run["scopes"].as_array().expect("a list").iter();
    let of_scope = |scope: &Value| {
        let fields = ["scope", "live", "aged", "pruned", "kept", "entries", "asks"];
        fields.map(|field| scope[field].clone())
    };
    json!({
        "scopes": scopes.map(of_scope).collect::<Vec<_>>(),
        "asks": run["asks"], "looked_at": run["looked_at"],
        "offered": run["offered"], "not_offered": run["not_offered"],
        "forgotten": run["forgotten"],
    })
}

#[tokio::test]
async fn a_rehearsal_leaves_every_file_of_the_index_and_says_what_the_run_does() {
    let world = jumped().await;
    something_due(&world).await;
    let before = settled(&world).await;
    assert!(!before.is_empty());
    let planned = world.sillok("maintain --dry-run --json").json();
    let after = index_bytes(&world);
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    for (path, bytes) in &after {
        assert!(before[path] == *bytes, "{} has changed", path.display());
    }
    let done = world.sillok("maintain --json").json();
    assert_eq!(said(&planned), said(&done));
    let scope = &done["scopes"][0];
    let went = (&scope["aged"], &scope["pruned"], &scope["retired"]);
    assert_eq!(
        went,
        (&json!(FACTS), &json!(1), &json!(FACTS + 1)),
        "{done}"
    );
    assert_eq!((retired(&planned), &done["offered"]), (0, &json!(1)));
}

/// Leaves the lease of a run that another node is in the middle of.
async fn beside_another(world: &World) {
    let (node, incarnation) = ("other".to_owned(), Incarnation(7));
    let row = NodeRow {
        incarnation,
        beat: 1,
        fenced: false,
        reaches_bus: false,
        is_behind: false,
        reads: WireVersion::NEWEST,
    };
    let node_key = keys::node::key(&node).into();
    let lease = OwnerRow {
        node,
        incarnation,
        epoch: Epoch(1),
    };
    let lease_key = keys::lease::key("maintenance").into();
    Vault::at(&world.data())
        .write(&[
            (node_key, Some(keys::node::encode(&row).into())),
            (lease_key, Some(keys::lease::encode(&lease).into())),
        ])
        .await;
}

/// The command asks some more times before, each after the longest wait that it keeps to.
#[tokio::test]
async fn a_run_beside_another_exits_with_75_and_a_rehearsal_does_not() {
    let mut world = World::start().await;
    world.stop();
    beside_another(&world).await;
    world.start_again().await;
    let ran = world.sillok("maintain --json");
    ran.ended(75);
    let said = "maintenance is under way at node other";
    assert!(ran.stderr.contains(said), "{ran:#?}");
    world.sillok("maintain --dry-run --json").ended(0);
}

#[tokio::test]
async fn what_a_run_took_out_is_brought_back_by_those_who_may_decide_there() {
    let world = jumped().await;
    let entries = scattered(&world).await;
    maintain(&world, &["--force"]).json();
    let first = &entries[0];
    let before = entry(&world, first).await;
    assert_eq!(before["head"]["status"], "archived");
    let body = json!({ "entry": first, "reason": "the clock was wrong" });
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let denied = agent.post("/v1/entries/restore", &body).await;
    let denied = denied.refused(403, "forbidden");
    assert_eq!(denied["rule"], "control/decide_below_project");
    let words = [
        "entry",
        "restore",
        first,
        "--json",
        "--reason",
        "the clock was wrong",
    ];
    let back = world.run(&words).json();
    assert_eq!(
        (&back["entry"], &back["status"]),
        (&json!(first), &json!("hypothesis"))
    );
    let after = entry(&world, first).await;
    for same in ["citations", "content_hash", "created_at", "usage"] {
        assert_eq!(after["head"][same], before["head"][same], "{same}");
    }
    let said = &after["version"]["content"];
    let query = json!({ "scope": worktree(0), "query": said });
    let found = world.admin().post("/v1/recall", &query).await.ok();
    let results = found["results"].as_array().expect("a list");
    assert!(results.iter().any(|one| one["entry"] == **first), "{found}");
    world.run(&words).ended(1);
    let orchestrator = world
        .principal(PrincipalKind::Orchestrator, &worktree(1))
        .await;
    let body = json!({ "entry": entries[1], "reason": "the clock was wrong" });
    orchestrator.post("/v1/entries/restore", &body).await.ok();
    // Which entries a run took out stands in the events, and so does who came back.
    let events = events(&world, &worktree(1), &["--kind", "ENTRIES_RETIRED"]);
    let named: Vec<&Value> = events
        .iter()
        .filter(|event| event["body"]["why"] == "aged")
        .flat_map(|event| event["body"]["entries"].as_array().expect("a list"))
        .collect();
    assert_eq!(named.len(), IN_EACH, "{events:?}");
    assert!(named.contains(&&json!(entries[1])), "{events:?}");
    let at = events[0]["seq"].to_string();
    let since = self::events(
        &world,
        &worktree(1),
        &["--after", &at, "--kind", "ENTRY_RESTORED"],
    );
    assert_eq!(since.len(), 1, "{since:?}");
    assert_eq!(
        (&since[0]["kind"], &since[0]["body"]["reason"]),
        (&json!("ENTRY_RESTORED"), &body["reason"])
    );
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}
