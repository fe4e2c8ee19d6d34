//! Sources: each fact names the bytes that it was drawn from, and they can be read.
//!
//! Recorded runs go through the whole pipeline, with no network: those of `SILLOK_TRAJECTORIES`, or those beside
//! the repository; where there are none, runs that the harness writes.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::world::{log, promoted, verify};
use crate::harness::{Client, PROJECT, WORKTREE, World, write_runs};

/// Files of recorded runs.
fn runs(world: &World) -> Vec<String> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/trajectories");
    let mut folder = std::env::var_os("SILLOK_TRAJECTORIES").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        println!(
            "NOT AS RECORDED: no runs of agents in {}; made-up ones stand for them (set SILLOK_TRAJECTORIES)",
            folder.display()
        );
        folder = world.folder().join("runs");
        std::fs::create_dir(&folder).expect("the folder is new");
        write_runs(&folder);
    }
    let files = std::fs::read_dir(&folder).expect("the folder is there");
    let paths = files.map(|file| file.expect("it is listed").path());
    let is_run = |path: &PathBuf| path.extension().is_some_and(|end| end == "traj");
    let mut runs: Vec<String> = paths
        .filter(is_run)
        .map(|path| path.to_str().expect("UTF-8").to_owned())
        .collect();
    runs.sort();
    runs
}

/// What an excerpt says.
async fn said(client: &Client, excerpt: &Value) -> String {
    let number = |name: &str| excerpt[name].as_u64().expect("a number").to_string();
    let id = excerpt["id"].as_str().expect("an id");
    let (from, to) = (number("from"), number("to"));
    let query = [("id", id), ("from", from.as_str()), ("to", to.as_str())];
    let view = client.get("/v1/excerpt", &query).await.ok();
    let text = view["text"].as_str().expect("a text").to_owned();
    let number = |text: &str| text.parse::<usize>().expect("a number");
    assert_eq!(text.len(), number(&to) - number(&from));
    text
}

/// The pieces of a fact that it quotes.
fn quoted(content: &str) -> impl Iterator<Item = &str> {
    content.split('`').skip(1).step_by(2)
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn every_fact_of_a_recorded_run_names_bytes_that_say_it() {
    let world = World::start().await;
    let admin = world.admin();
    let files = runs(&world);
    let mut words = vec!["import", "--json", "--into", WORKTREE];
    words.extend(files.iter().map(String::as_str));
    let imported = world.run(&words).json();
    let (mut facts, mut merged) = (0, 0);
    for task in imported["tasks"].as_array().expect("a task for each run") {
        let task = task["task"].as_str().expect("a task has a name");
        let verification = verify(&admin, task, PROJECT).await;
        let report = promoted(&admin, task, &verification).await;
        let products = report["products"].as_array().expect("products");
        for product in products.iter().filter(|one| one["table"] == "observations") {
            let id = product["entry"].as_str().expect("it became an entry");
            let entry = admin.get("/v1/entry", &[("id", id)]).await.ok();
            let content = entry["version"]["content"].as_str().expect("a text");
            let citations = entry["head"]["citations"].as_array().expect("a list");
            let mut text = String::new();
            for excerpt in citations.iter().filter(|one| one["kind"] == "excerpt") {
                text += &flat(&said(&admin, excerpt).await);
                text.push('\n');
            }
            assert!(!text.is_empty(), "nothing is named for '{content}'");
            let of_task = |one: &Value| {
                let is_excerpt = one["kind"] == "excerpt";
                is_excerpt
                    && one["id"]
                        .as_str()
                        .is_some_and(|id| id.starts_with(&format!("{task}#")))
            };
            assert!(
                citations.iter().any(of_task),
                "nothing of {task} is named for '{content}'"
            );
            // Long pieces are cut, and absolute paths are; the rest stands there as it is quoted.
            for piece in quoted(content).filter(|piece| piece.len() < 40 && !piece.contains('/')) {
                assert!(
                    text.contains(piece),
                    "`{piece}` of '{content}' is not in {text:?}"
                );
            }
            facts += 1;
            merged += usize::from(product["disposition"]["merged"].is_object());
        }
    }
    println!(
        "{facts} facts of {} runs, {merged} of them merged",
        files.len()
    );
    assert!(
        facts >= files.len(),
        "{facts} facts of {} runs",
        files.len()
    );
}

#[tokio::test]
async fn an_excerpt_is_cited_read_and_refused() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let record = log(&admin, &task, "the port is 5432, 확인됨").await;
    let put = async |id: &str, from: u32, to: u32| {
        let cited = json!({ "kind": "excerpt", "id": id, "from": from, "to": to });
        let body = json!({ "scope": PROJECT, "content": "The database listens on port 5432.",
            "citations": [cited] });
        admin.post("/v1/entries", &body).await
    };
    let put_it = put(&record, 4, 16).await.ok();
    let entry = put_it["entry"].as_str().expect("an id");
    // Behind its end, holding nothing, of no record, and of nobody's log.
    put(&record, 4, 4000)
        .await
        .refused(422, "unresolvable_citation");
    put(&record, 9, 9)
        .await
        .refused(422, "unresolvable_citation");
    // Beginning, and ending, within a character.
    for (from, to) in [(19, 21), (18, 20), (19, 20)] {
        let reply = put(&record, from, to).await;
        reply.refused(422, "unresolvable_citation");
    }
    put(&record, 18, 21).await.ok();
    put(&format!("{task}#999"), 0, 1)
        .await
        .refused(422, "unresolvable_citation");
    put("org/other/project/p/worktree/w/task/t#1", 0, 1)
        .await
        .refused(422, "unresolvable_citation");

    let shown = world.run(&["show", entry]);
    shown.ended(0);
    assert!(
        shown.stdout.contains(&format!("bytes 4-16 of {record}")),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("port is 5432"), "{}", shown.stdout);
    let line = ["log", "show", &record, "--bytes", "4-16", "--json"];
    assert_eq!(world.run(&line).json()["text"], "port is 5432");
    // What the task was opened with can be cited too, by whoever may read it.
    let opening = format!("{task}#1");
    let cite = format!("excerpt:{opening}:0-4");
    let line = [
        "entry",
        "put",
        "--scope",
        PROJECT,
        "--cite",
        &cite,
        "--json",
        "It has a title.",
    ];
    let written = world.run(&line).json();
    assert!(written["entry"].is_string());
    // A character is not taken apart.
    let apart = [("id", record.as_str()), ("from", "18"), ("to", "20")];
    admin
        .get("/v1/excerpt", &apart)
        .await
        .refused(404, "not_found");
    world
        .run(&["log", "show", &record, "--bytes", "9-4"])
        .ended(2);
    world
        .run(&["log", "show", &record, "--bytes", "0-4000"])
        .ended(1);
}

#[tokio::test]
async fn what_is_published_says_what_drew_it_when_its_job_is_long_gone() {
    const ENGINE: &str = "builtin-rules-v3";
    let mut world = World::start().await;
    let client = world.admin();
    let task = world.task().await;
    log(
        &client,
        &task,
        "Use a BTreeMap instead of a HashMap, because the order must be stable.",
    )
    .await;
    let verification = verify(&client, &task, PROJECT).await;
    world.stop();
    world.start_again().await;
    let client = world.admin();
    let query = [("scope", &*task), ("verification", &verification)];
    let promotion = client.get("/v1/promotions", &query).await.ok();
    assert_eq!(
        promotion["spent"],
        json!({ "cognifier": ENGINE }),
        "{promotion}"
    );
    let products = promotion["report"]["products"].as_array().expect("a list");
    assert!(products.len() > 1, "{promotion}");
    for product in products {
        let query = [("id", product["entry"].as_str().expect("it was made"))];
        let entry = client.get("/v1/entry", &query).await.ok();
        assert_eq!(entry["version"]["metadata"]["cognifier"], ENGINE);
        assert_eq!(entry["head"]["promotion"], *verification);
    }
    // From the name to what it has published.
    let events = client.get("/v1/events", &[("scope", PROJECT)]).await.ok();
    let events = events["items"].as_array().expect("a list").iter();
    let named = events.filter(|event| event["body"]["metadata"]["cognifier"] == ENGINE);
    assert_eq!(named.count(), products.len());
    let first = products[0]["entry"].as_str().expect("the episode is first");
    let shown = world.sillok(&format!("show {first}"));
    let line = format!("published by promotion {verification}, drawn by {ENGINE}");
    assert!(shown.stdout.contains(&line), "{shown:?}");
}
