//! The commands by which people and tasks say what entries are worth.

use serde_json::json;

use super::commands::{Tour, text};
use crate::harness::{PROJECT, phrase};

pub(super) fn reviews(tour: &mut Tour) {
    for claims in [["speed=fast", "speed=slow"], ["size=large", "size=small"]] {
        let content = phrase();
        for claim in claims {
            tour.json(
                "entry put",
                &[&content, "--scope", PROJECT, "--claim", claim],
            );
        }
    }
    let waiting = tour.json("review list", &["--scope", PROJECT]);
    let waiting = waiting.as_array().expect("a list").clone();
    assert!(waiting.len() >= 2, "{waiting:?}");
    let ids: Vec<String> = waiting.iter().map(|review| text(&review["id"])).collect();
    let shown = tour.json("review show", &["--scope", PROJECT, &ids[0]]);
    assert_eq!(shown["review"]["id"], ids[0].as_str());
    let words = ["--scope", PROJECT, "--reason", "seen"];
    let rejected = tour.json("review reject", &[&[ids[0].as_str()], &words[..]].concat());
    assert_eq!(rejected["review"], ids[0].as_str());
    let approved = tour.json("review approve", &[&[ids[1].as_str()], &words[..]].concat());
    let kept = text(&approved["kept"]);
    let task = tour.task.clone();
    let reported = tour.json("report", &[&kept, "helped", "--scope", &task]);
    assert_eq!(reported["usage"]["helped"], 1);
    let words = [&phrase(), "--scope", PROJECT, "--table", "gotchas"];
    let state = text(&tour.json("entry put", &words)["entry"]);
    let words = [&state, "--expected-version", "1", "--reason", "fixed"];
    assert_eq!(tour.json("entry resolve", &words)["status"], "deprecated");
}

pub(super) fn erasing(tour: &mut Tour) {
    let words = [&phrase(), "--scope", PROJECT];
    let entry = text(&tour.json("entry put", &words)["entry"]);
    let words = ["--scope", PROJECT, "--entry", &entry, "--reason", "leaked"];
    let erased = tour.json("erase", &words);
    assert_eq!(erased["entries"], json!([entry]));
}

pub(super) fn undoing(tour: &mut Tour) {
    let task = tour.task.clone();
    tour.json("log add", &[&phrase(), "--scope", &task]);
    let words = ["--scope", &task, "--source", "tests_passed", "--run", "r8"];
    let recorded = tour.json("verify record", &words);
    let promotion = text(&recorded["verification"]["verification"]);
    let words = [&promotion, "--scope", &task, "--reason", "wrong branch"];
    let undone = tour.json("undo", &words);
    assert_eq!(undone["target"], PROJECT);
    let planned = tour.json("maintain", &["--dry-run", "--only", "archive"]);
    assert_eq!(planned["dry_run"], true);
    assert_eq!(planned["scopes"], json!([]), "nothing is old");
}
