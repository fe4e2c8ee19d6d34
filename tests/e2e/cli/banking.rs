//! The commands of the reasoning bank: their JSON, and how they read.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::commands::{Tour, text};
use crate::harness::{PROJECT, WORKTREE, World};

/// Searches of failures, as flags.
const FAILURES: [&str; 3] = ["--scope", PROJECT, "--failures-only"];

pub(super) fn bank(tour: &mut Tour) {
    let task = format!("{WORKTREE}/task/banked");
    tour.json("task open", &[&task, "--title", "Uploads break"]);
    let added = tour.json("log add", &["tried again", "--scope", &task]);
    tour.json("task close", &[&task, "--failed"]);
    let step = format!("{}:0-5", added["first"]);
    let minted = ["--scope", WORKTREE, "--kind", "orchestrator", "--id", "ci"];
    let token = text(&tour.json("token mint", &minted)["token"]);
    let words = [
        "Retry the broken upload",
        "--scope",
        &task,
        "--kind",
        "bugfix",
        "--ended",
        "failed",
        "--reward",
        "-0.5",
        "--lesson",
        "the server refuses a second part",
        "--step",
        &step,
        "--file",
        "src/upload.rs",
        "--token",
        &token,
    ];
    let stored = tour.json("trajectory store", &words);
    assert!(text(&stored["trajectory"]).starts_with(&task), "{stored}");
    let words = [&["retry an upload"], &FAILURES[..]].concat();
    let found = tour.json("pattern search", &words);
    let pattern = &found["patterns"][0];
    assert_eq!(pattern["failed"], 1, "{found}");
    assert_eq!(pattern["cited"][0]["record"], stored["trajectory"]);
    let none = tour.json("pattern search", &["retry an upload", "--scope", PROJECT]);
    assert_eq!(none, json!({ "patterns": [] }));
}

#[tokio::test]
async fn patterns_and_warnings_are_told_in_words_with_what_they_come_from() {
    let world = World::start().await;
    let task = world.unopened();
    let opened = ["task", "open", &task, "--title", "Uploads break"];
    world.run(&opened).ended(0);
    let added = world.run(&["log", "add", "--json", "tried again", "--scope", &task]);
    let added: Value = added.json();
    world.run(&["task", "close", &task, "--failed"]).ended(0);
    let step = added["first"].to_string();
    let minted = world
        .mint(PrincipalKind::Orchestrator, PROJECT, 3_600)
        .await;
    let token = text(&minted["token"]);
    let store = |reward: &str, lesson: &str| {
        let words = [
            "trajectory",
            "store",
            "Retry the broken upload",
            "--scope",
            &task,
        ];
        let said = ["--kind", "bugfix", "--ended", "failed", "--reward", reward];
        let what = ["--lesson", lesson, "--step", &step, "--token", &token];
        world.run(&[&words[..], &said, &what].concat())
    };
    store("-1", "the server refuses a second part").ended(0);
    store("2", "no reward").ended(2);
    let words = ["pattern", "search", "broken uploads"];
    let found = world.run(&[&words[..], &FAILURES].concat());
    found.ended(0);
    for words in [
        "0 of 1 succeeded",
        "Retry the broken upload",
        "the server refuses a second part",
        &format!("{task}#"),
    ] {
        assert!(found.stdout.contains(words), "{words}: {}", found.stdout);
    }
    let next = world.unopened();
    let title = "Broken uploads are to be retried";
    world
        .run(&["task", "open", &next, "--title", title])
        .ended(0);
    let brief = world.run(&["brief", "--scope", &next]);
    brief.ended(0);
    for words in ["warnings", "failed 1 times", &format!("see {task}#")] {
        assert!(brief.stdout.contains(words), "{words}: {}", brief.stdout);
    }
}
