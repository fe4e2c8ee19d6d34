//! Planted bugs: the plan of a catch reproduces it from its file, and shrinking leaves little of it.

use std::collections::BTreeSet;

use sillok_sim::planted::{BUGS, find, first_catch, run_under};
use sillok_sim::replay::{Replay, Verdict};
use sillok_sim::shrink::shrink;
use sillok_sim::{Suite, quiet_planted_panics, run};

/// Bugs that are caught within few seeds.
const QUICK: [&str; 20] = [
    "command id not checked",
    "unknown outcome taken as success",
    "unknown outcome taken as failure",
    "acknowledgement before commit",
    "batch that drops its last command",
    "relay that skips on reconnect",
    "relay of the log that skips on reconnect",
    "new stream that is told the last of each slot",
    "cursor moved by a stale relay",
    "beat without fence check",
    "stale hint of an owner that loops",
    "answer forgotten before the retry window",
    "promotion marked on the wrong side",
    "dry run that writes",
    "prune below the best that are kept",
    "undo that forgets an index",
    "decay applied twice",
    "merge outside the actor",
    "merge against a lagging index",
    "promotion published though it was dropped",
];
/// Seeds within which each of them is caught, from seed 0.
const SEEDS: u64 = 50;

fn caught(name: &str) -> Replay {
    let bug = find(name).expect("the bug is planted");
    let found = first_catch(bug, &Suite::built_in(), 0..SEEDS);
    found
        .unwrap_or_else(|| panic!("{name} was not caught"))
        .replay
}

#[test]
fn the_table_in_the_docs_names_every_bug_that_is_planted() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulation.md");
    let docs = std::fs::read_to_string(path).expect("the docs lie beside the crates");
    let (_, rest) = docs
        .split_once("## Planted bugs")
        .expect("they have a section");
    let (section, _) = rest.split_once("\n## ").expect("others follow");
    let cells = section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let named: Vec<&str> = cells
        .filter(|cell| *cell != "what is wrong")
        .map(|cell| cell.split(" (").next().unwrap_or(cell))
        .collect();
    let planted: Vec<&str> = BUGS.iter().map(|bug| bug.name).collect();
    assert_eq!(
        named.iter().collect::<BTreeSet<_>>(),
        planted.iter().collect::<BTreeSet<_>>()
    );
    assert_eq!(named.len(), planted.len());
}

#[test]
fn a_catch_is_reproduced_from_its_file_and_needs_its_bug() {
    quiet_planted_panics();
    let suite = Suite::built_in();
    for name in QUICK {
        let file = caught(name).write();
        let saved = Replay::read(&file, &suite).unwrap();
        assert_eq!(saved.protocol, name);
        let again = run_under(&saved.protocol, &saved.plan, &suite, false).unwrap();
        assert_eq!(saved.compare(&again), Verdict::Reproduced, "{name}");
        assert!(again.violation.is_some(), "{name}");
        assert_eq!(run(&saved.plan, &suite).violation, None, "{name}");
    }
}

#[test]
fn shrinking_leaves_fewer_than_half_of_the_operations() {
    quiet_planted_panics();
    let suite = Suite::built_in();
    for name in &QUICK[..2] {
        let saved = caught(name);
        let run = |plan: &sillok_sim::Plan| run_under(name, plan, &suite, false).unwrap();
        let shrunk = shrink(&saved.plan, &suite, 60, run).unwrap();
        let (before, after) = (shrunk.before.operations, shrunk.after.operations);
        assert!(after * 2 < before, "{name}: {before} to {after}");
        assert!(shrunk.runs <= 60);
        let smaller = Replay::of(shrunk.plan, name, &shrunk.outcome);
        let kept = |saved: &Replay| saved.violation.clone().map(|broken| broken.invariant);
        assert_eq!(kept(&smaller), kept(&saved), "{name}");
        let read = Replay::read(&smaller.write(), &suite).unwrap();
        let again = run_under(name, &read.plan, &suite, false).unwrap();
        assert_eq!(read.compare(&again), Verdict::Reproduced, "{name}");
    }
}
