//! Maintenance under a clock that is wrong: it asks, and what it took out comes back.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::{PROJECT, Ran, World, phrase};

const SCOPES: usize = 6;
const IN_EACH: usize = 4;

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
