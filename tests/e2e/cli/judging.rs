//! The commands by which people and tasks say what entries are worth.

use serde_json::json;

use super::commands::{Tour, text};
use crate::harness::{PROJECT, World, phrase};

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
    // Who comes later finds it by what is recorded.
    let listed = tour.json("verify list", &["--scope", &task]);
    let last = listed["items"].as_array().and_then(|items| items.last());
    let last = last.expect("it was verified");
    assert_eq!(
        (&last["run"], &last["outcome"]),
        (&"r8".into(), &"passed".into())
    );
    assert_eq!(last["id"], recorded["verification"]["verification"]);
    let promotion = text(&last["id"]);
    let words = [&promotion, "--scope", &task, "--reason", "wrong branch"];
    let undone = tour.json("undo", &words);
    assert_eq!(undone["target"], PROJECT);
    let planned = tour.json("maintain", &["--dry-run", "--only", "archive"]);
    assert_eq!(planned["dry_run"], true);
    assert_eq!(planned["scopes"], json!([]), "nothing is old");
}

#[tokio::test]
async fn what_verified_a_task_is_listed_in_its_order_for_a_person() {
    let world = World::start().await;
    let task = world.unopened();
    let done = |words: &[&str]| {
        let ran = world.run(words);
        ran.ended(0);
        ran.stdout
    };
    done(&["task", "open", &task, "--title", "a title"]);
    let list = ["verify", "list", "--scope", &task];
    let columns = "VERIFICATION RECORDED OUTCOME SOURCE BY TARGET RUN";
    let rows = |page: &str| -> Vec<Vec<String>> {
        let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        page.lines().map(cells).collect()
    };
    let none = rows(&done(&list));
    assert_eq!(none, rows(columns), "nothing was recorded yet");
    for (source, run) in [("tests_failed", "r1"), ("tests_passed", "r2")] {
        done(&["log", "add", &phrase(), "--scope", &task]);
        let words = ["--scope", &task, "--source", source, "--run", run];
        done(&[&["verify", "record"], &words[..]].concat());
    }
    let ids: Vec<String> = world.run(&[&list[..], &["--json"]].concat()).json()["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| text(&one["id"]))
        .collect();
    let shown = rows(&done(&list));
    assert_eq!(shown.len(), 3, "{shown:?}");
    for (row, id, said) in [
        (&shown[1], &ids[0], ["failed", "tests_failed", "r1"]),
        (&shown[2], &ids[1], ["passed", "tests_passed", "r2"]),
    ] {
        assert_eq!(&row[0], id, "{shown:?}");
        for word in said.into_iter().chain([PROJECT]) {
            assert!(row.iter().any(|cell| cell == word), "{word}: {row:?}");
        }
    }
    // That nothing was recorded is not said of what is no task.
    let other = format!("{task}-2");
    world.run(&["verify", "list", "--scope", &other]).ended(1);
}
