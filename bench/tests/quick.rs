//! Every program of the benchmark works, at a small size and without floors.
//!
//! What the items measure is proven wrong by the items themselves: an answer that is not what it
//! must be ends them. Here each of them has to come to its end and to print its rows.

use std::process::Command;

use serde_json::Value;

fn rows_of(items: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder for the files of a run");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sillok-bench"));
    command
        .args(["--quick", "--json"])
        .env("SILLOK_BENCH_DIR", folder.path());
    for item in items {
        command.args(["--only", item]);
    }
    let output = command.output().expect("the benchmark starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder is still there")
        .collect();
    assert!(left.is_empty(), "files are left behind: {left:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("it prints a document");
    document["rows"].as_array().expect("with rows").clone()
}

fn figure(rows: &[Value], what: &str) -> f64 {
    let begins = |row: &&Value| {
        row["what"]
            .as_str()
            .is_some_and(|name| name.starts_with(what))
    };
    let row = rows
        .iter()
        .find(begins)
        .unwrap_or_else(|| panic!("no row begins with {what}: {rows:?}"));
    row["figure"].as_f64().expect("a figure is a number")
}

#[test]
fn the_disk_the_store_the_actors_and_sqlite_are_measured_and_compared() {
    let rows = rows_of(&["disk", "store", "actors", "sqlite"]);
    for what in [
        "disk:",
        "store alone:",
        "scope actors: 1 ",
        "scope actors: 5 ",
        "SQLite: one queued",
    ] {
        assert!(figure(&rows, what) > 0.0);
    }
    let ratio = figure(&rows, "scope actors: 8 ") / figure(&rows, "store alone:");
    assert!((figure(&rows, "actors over the store alone") - ratio).abs() < 1e-9);
}

#[test]
fn memory_and_many_scopes_are_measured_in_processes_of_their_own() {
    let rows = rows_of(&["memory", "scopes"]);
    assert!(figure(&rows, "memory: resident after 2000 records") > 1.0);
    assert!((figure(&rows, "scopes: touched") - 300.0).abs() < f64::EPSILON);
    assert!(figure(&rows, "scopes: activation p99") > 0.0);
}

#[test]
fn recall_finds_what_its_filters_let_pass_and_what_was_just_published() {
    let rows = rows_of(&["recall"]);
    assert!(figure(&rows, "recall: p50") > 0.0);
    assert!(figure(&rows, "publish: visible to others") > 0.0);
}

/// Needs the `sillok` binary, which `make test` builds before any test.
#[test]
fn recall_through_tools_is_measured_over_both_transports() {
    let rows = rows_of(&["mcp"]);
    for transport in ["/mcp", "sillok mcp"] {
        let of = |part: &str| figure(&rows, &format!("recall over {transport}: {part}"));
        assert!(of("p50") > 0.0 && of("p99") >= of("p50"));
    }
}

/// Needs the `sillok` binary, which `make test` builds before any test.
#[test]
fn a_server_process_takes_single_and_large_calls() {
    let rows = rows_of(&["http"]);
    for what in ["HTTP: 5 clients, 1 ", "HTTP: 8 clients, 100 "] {
        assert!(figure(&rows, what) > 0.0);
    }
}

/// Needs the nodes of tests and nats-server, which `make test` sees to before any test.
#[test]
fn nodes_of_a_cluster_are_routed_through_listened_to_killed_and_drained() {
    let rows = rows_of(&["cluster"]);
    let of_three = |who: &str| figure(&rows, &format!("cluster: three nodes, {who} asked, 8 "));
    let ratio = of_three("another one") / of_three("the owner");
    assert!((figure(&rows, "routed writes over local ones") - ratio).abs() < 1e-9);
    for what in [
        "cluster: one node, 5 ",
        "three nodes over one",
        "p50 of a routed write",
        "p99 of a routed write",
        "cluster: an event at a tail",
        "cluster: an event at a follower",
        "cluster: drain of a node with",
        "cluster: drain, until the process",
        "cluster: drain, the longest stall",
        "tails: 200 on one node, memory of each",
        "tails: 200 on one node, p99",
    ] {
        assert!(figure(&rows, what) > 0.0, "{what}: {rows:?}");
    }
    // Nobody takes a slot from a node before it was silent for a while.
    assert!(figure(&rows, "cluster: after a kill") > 1.0);
}

#[test]
fn an_item_that_cannot_be_measured_ends_with_status_2_and_says_why() {
    let output = Command::new(env!("CARGO_BIN_EXE_sillok-bench"))
        .args(["--quick", "--only", "http"])
        .env("SILLOK_BIN", "no-such-binary")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-binary"));
}

#[test]
fn promotions_are_measured_and_the_same_patterns_become_one_entry_each() {
    let rows = rows_of(&["promotion"]);
    assert!(figure(&rows, "promotions: 8 tasks") > 0.0);
    assert!(figure(&rows, "promotions: 5 agents") > 0.0);
    assert!((figure(&rows, "promotions: entries") - 20.0).abs() < f64::EPSILON);
    assert!((figure(&rows, "promotions: tasks") - 100.0).abs() < f64::EPSILON);
}

#[test]
fn maintenance_is_planned_carried_out_and_gone_beside_and_sqlite_does_the_same() {
    let rows = rows_of(&["maintenance"]);
    for what in [
        "planning: a plan over a bare scan",
        "planning: peak memory",
        "planning by a node: peak memory",
        "prune: 1600 entries, until heads and recall agree",
        "SQLite: a prune of 1600 entries, row by row, 256 a transaction",
        "SQLite: a prune of 1600 entries, row by row, 4096 a transaction",
        "a prune over SQLite",
        "appends: p99 while 4000 entries are maintained",
        "appends: p99 then over p99 alone",
        "appends: p99 while answers are forgotten and tables optimised",
    ] {
        assert!(figure(&rows, what) > 0.0, "{what}: {rows:?}");
    }
}

#[test]
fn very_many_entries_are_found_before_and_after_half_of_them_is_pruned() {
    let rows = rows_of(&["many"]);
    for when in ["", " after pruning half"] {
        for share in [1, 10, 100] {
            let what = format!("many: ten closest that are found, of {share} %{when}");
            assert!(figure(&rows, &what) > 0.5, "{what}: {rows:?}");
        }
        let gone = figure(&rows, &format!("many: ids in lists that are gone{when}"));
        assert!(gone < 0.5, "{when}: {rows:?}");
    }
    let at_once = figure(
        &rows,
        "many: ids in lists that are gone as soon as half was pruned",
    );
    assert!(at_once < 0.5, "{rows:?}");
    assert!(figure(&rows, "many: disk of a million entries, the tables") > 0.0);
}

#[test]
fn hooks_are_measured_with_a_server_and_with_none() {
    let rows = rows_of(&["hooks"]);
    for what in ["with a server", "with none"] {
        for event in [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PreCompact",
            "Stop",
        ] {
            assert!(figure(&rows, &format!("hooks: p99 of {event} {what}")) > 0.0);
        }
    }
}

#[test]
fn checks_of_fixes_are_measured_and_so_is_how_fast_failures_are_recorded() {
    let rows = rows_of(&["fixes"]);
    for history in ["four of five", "as many in each task", "all of one idea"] {
        let rows: Vec<Value> = rows
            .iter()
            .filter(|row| {
                row["what"]
                    .as_str()
                    .is_some_and(|what| what.contains(history))
            })
            .cloned()
            .collect();
        let checks = rows.iter().filter(|row| row["unit"] == "ms");
        let figures: Vec<f64> = checks.filter_map(|row| row["figure"].as_f64()).collect();
        assert!(matches!(figures[..], [figure] if figure > 0.0), "{rows:?}");
    }
    assert!(figure(&rows, "fixes: failures recorded, 8 tasks") > 0.0);
}

#[test]
fn searches_of_patterns_are_measured_and_so_are_briefs_that_warn() {
    let rows = rows_of(&["bank"]);
    assert!(figure(&rows, "bank: 100 trajectories, a search") > 0.0);
    assert!(figure(&rows, "bank: 100 trajectories, a brief that warns") > 0.0);
}

#[test]
fn decisions_are_saved_loaded_and_walked_from() {
    let rows = rows_of(&["decisions", "brief", "impact"]);
    for what in [
        "decisions:",
        "brief:",
        "impact: a hub of",
        "impact: a decision that leads to",
        "impact: a brief with a hub",
    ] {
        assert!(figure(&rows, what) > 0.0, "{what}: {rows:?}");
    }
}

#[test]
fn nights_of_a_year_are_measured() {
    let rows = rows_of(&["year"]);
    assert!((figure(&rows, "year: entries written") - 120.0).abs() < f64::EPSILON);
    assert!(figure(&rows, "year: tables and indices at the end") > 0.0);
    assert!(figure(&rows, "year: answers to commands") > 0.0);
}
