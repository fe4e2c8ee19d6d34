//! Every command: its JSON, and its exit status.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{banking, deciding, fixing, judging, keeping};
use crate::harness::{PROJECT, Ran, WORKTREE, World, phrase, write_runs};

/// Commands that are tried elsewhere: they do not end, or need more than this.
const ELSEWHERE: [&str; 11] = [
    "code dependents",
    "code status",
    "code symbols",
    "demo",
    "doctor",
    "entry restore",
    "events",
    "install",
    "mcp",
    "serve",
    "tail",
];

/// A session at the command line, and which commands it has tried.
pub(super) struct Tour {
    world: World,
    pub(super) task: String,
    tried: BTreeSet<&'static str>,
}

impl Tour {
    /// Runs a command with `--json`, and notes that it was tried.
    pub(super) fn json(&mut self, command: &'static str, words: &[&str]) -> Value {
        self.status(0, command, words)
    }

    /// The same of a command that prints one document a line.
    pub(super) fn json_lines(&mut self, command: &'static str, words: &[&str]) -> Vec<Value> {
        self.run(command, words).json_lines()
    }

    /// The same of a command that ends with this status.
    pub(super) fn status(&mut self, status: i32, command: &'static str, words: &[&str]) -> Value {
        self.run(command, words).json_with(status)
    }

    fn run(&mut self, command: &'static str, words: &[&str]) -> Ran {
        self.tried.insert(command);
        let mut all: Vec<&str> = command.split(' ').collect();
        all.push("--json");
        all.extend(words);
        self.world.run(&all)
    }
}

pub(super) fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("no text: {value}"))
        .to_owned()
}

#[tokio::test]
async fn every_command_prints_one_json_document() {
    let world = World::start().await;
    let task = world.unopened();
    let mut tour = Tour {
        world,
        task,
        tried: BTreeSet::new(),
    };
    tasks_and_logs(&mut tour);
    verifications(&mut tour);
    entries(&mut tour);
    judging::reviews(&mut tour);
    judging::undoing(&mut tour);
    judging::erasing(&mut tour);
    deciding::decisions(&mut tour);
    deciding::kinds(&mut tour);
    keeping::originals(&mut tour);
    fixing::fixes(&mut tour);
    banking::bank(&mut tour);
    tokens(&mut tour);
    node(&mut tour);
    let expected: BTreeSet<String> = leaves(&tour.world, &[])
        .into_iter()
        .filter(|leaf| !ELSEWHERE.contains(&leaf.as_str()))
        .collect();
    let tried: BTreeSet<String> = tour
        .tried
        .iter()
        .map(|&command| command.to_owned())
        .collect();
    assert_eq!(
        tried, expected,
        "every command of the help is tried, and no other"
    );
}

fn tasks_and_logs(tour: &mut Tour) {
    let task = tour.task.clone();
    let opened = tour.json(
        "task open",
        &[&task, "--title", "a title", "--description", "all of it"],
    );
    assert_eq!(opened["status"], "open");
    assert_eq!(
        tour.json("task stuck", &[&task, "--reason", "no idea"])["status"],
        "stuck"
    );
    assert_eq!(tour.json("task unstick", &[&task])["status"], "open");
    assert_eq!(tour.json("task show", &[&task])["title"], "a title");
    let listed = tour.json("task list", &["--scope", PROJECT]);
    assert_eq!(listed["items"][0]["scope"], task.as_str());
    let added = tour.json(
        "log add",
        &["two words", "--scope", &task, "--level", "warn"],
    );
    let id = format!("{task}#{}", added["first"]);
    assert_eq!(tour.json("log show", &[&id])["content"], "two words");
    tour.tried.insert("log import");
    let lines = "one\ntwo\n\nfour ü\n";
    let words = ["log", "import", "--json", "--scope", &task];
    let command = words
        .iter()
        .fold(tour.world.invocation(""), |command, word| command.arg(word));
    assert_eq!(command.stdin(lines).run().json()["records"], 4);
    let listed = tour.json("log list", &["--scope", &task]);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(5));
    assert_eq!(
        tour.json("snapshot add", &["$ ls", "--scope", &task, "--error"])["count"],
        1
    );
}

fn verifications(tour: &mut Tour) {
    let task = tour.task.clone();
    let failed = tour.status(
        1,
        "verify",
        &[
            "--scope",
            &task,
            "--approach",
            "hope",
            "--",
            "sh",
            "-c",
            "echo broken; exit 1",
        ],
    );
    assert_eq!(
        (&failed["outcome"], &failed["exit_status"]),
        (&"failed".into(), &1.into())
    );
    let passed = tour.json("verify", &["--scope", &task, "--", "true"]);
    assert_eq!(
        (&passed["outcome"], &passed["promotion"]["state"]),
        (&"passed".into(), &"done".into())
    );
    let recorded = tour.json(
        "verify record",
        &[
            "--scope",
            &task,
            "--source",
            "human_approved",
            "--run",
            "r7",
        ],
    );
    assert_eq!(recorded["promotion"]["state"], "done");
    let done = recorded["verification"]["verification"]
        .as_str()
        .expect("a verification has an id");
    let retried = tour.json("verify retry", &["--scope", &task, done]);
    assert_eq!(retried["state"], "done", "what is done is left as it is");
    let retried = tour.json("jobs retry", &["--scope", &task, done]);
    assert_eq!(retried["state"], "done", "here as well");
    let listed = tour.json("jobs list", &["--scope", PROJECT]);
    assert_eq!(listed["items"], json!([]), "nothing waits");
    let words = ["--scope", &task, done, "--reason", "nobody needs it"];
    tour.tried.insert("jobs drop");
    let refused = tour
        .world
        .run(&[&["jobs", "drop", "--json"], &words[..]].concat());
    refused.ended(1);
    let why: Value = serde_json::from_str(&refused.stderr).expect("a refusal is JSON");
    assert_eq!(why["error"]["code"], "conflict", "what is published stays");
}

fn entries(tour: &mut Tour) {
    let content = phrase();
    let put = tour.json(
        "entry put",
        &[&content, "--scope", PROJECT, "--claim", "colour=red"],
    );
    let entry = text(&put["entry"]);
    let second = phrase();
    let amended = tour.json("entry amend", &[&entry, &second, "--expected-version", "1"]);
    assert_eq!(amended["version"], 2);
    assert_eq!(
        tour.json("show", &[&entry])["version"]["content"],
        second.as_str()
    );
    let third = phrase();
    let words = [
        &entry,
        "--expected-version",
        "2",
        "--reason",
        "newer",
        "--content",
        &third,
    ];
    let replaced = tour.json("supersede", &words);
    assert_eq!(replaced["old"], entry.as_str());
    let history = tour.json("history", &[&entry]);
    assert_eq!(history["versions"].as_array().map(Vec::len), Some(2));
    assert_eq!(history["line"].as_array().map(Vec::len), Some(2));
    let found = tour.json("recall", &[&third, "--scope", WORKTREE, "--limit", "3"]);
    assert_eq!(found["results"][0]["entry"], replaced["new"]);
    let mut narrowed = |flags: &[&str]| {
        let asked = [third.as_str(), "--scope", WORKTREE];
        tour.json("recall", &[&asked, flags].concat())
    };
    let about = narrowed(&["--file", "src/none.rs", "--symbol", "none"]);
    assert_eq!(about["results"], json!([]));
    let small = narrowed(&["--kind", "episodic", "--limit", "1", "--tokens-max", "1"]);
    assert_eq!(
        (&small["results"], &small["left_out"]),
        (&json!([]), &json!(1))
    );
}

#[tokio::test]
async fn a_replacement_stays_in_the_table_of_the_entry_that_it_replaces() {
    let world = World::start().await;
    let put = world
        .run(&[
            "entry",
            "put",
            &phrase(),
            "--scope",
            PROJECT,
            "--table",
            "gotchas",
            "--json",
        ])
        .json();
    let words = ["supersede", &text(&put["entry"]), "--expected-version", "1"].map(str::to_owned);
    let newer = ["--reason", "newer", "--content", &phrase(), "--json"].map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain(newer).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let replaced = world.run(&words).json();
    let shown = world
        .run(&["show", &text(&replaced["new"]), "--json"])
        .json();
    assert_eq!(shown["head"]["table"], "gotchas");
    // It cannot be put into another, and a table of its own needs a text of its own.
    let mut other = words.clone();
    let new = text(&replaced["new"]);
    other[1] = &new;
    other.extend(["--table", "skills"]);
    world.run(&other).ended(2);
}

fn tokens(tour: &mut Tour) {
    let minted = tour.json(
        "token mint",
        &["--scope", WORKTREE, "--kind", "agent", "--id", "a-1"],
    );
    let listed = tour.json("token list", &["--scope", WORKTREE]);
    let mut items = listed["items"].as_array().expect("a list").iter();
    assert!(items.any(|item| item["id"] == minted["id"]), "{listed}");
    // The token is what decides, not who calls.
    let words = [
        "task",
        "close",
        &tour.task,
        "--json",
        "--token",
        minted["token"].as_str().unwrap(),
    ];
    let ran = tour.world.run(&words);
    ran.ended(1);
    let error: Value = serde_json::from_str(&ran.stderr).expect("a failure is JSON too");
    assert_eq!(error["error"]["problem"]["rule"], "control/close_task");
    assert_eq!(
        tour.json("token revoke", &[&text(&minted["id"])])["id"],
        minted["id"]
    );
}

/// `other` is a task in the project.
fn quarantine(tour: &mut Tour, other: &str) {
    let order = [PROJECT, "--reason", "its disk is bad"];
    let ordered = tour.json("cluster quarantine", &order);
    assert_eq!(ordered["reason"], "its disk is bad");
    let shown = tour.json("cluster status", &[]);
    assert_eq!(shown["quarantines"], json!([ordered]));
    let open = [
        "task",
        "open",
        "--json",
        other,
        "--title",
        "t",
        "--description",
        "d",
    ];
    let refused = tour.world.run(&open);
    refused.ended(1);
    assert!(refused.stderr.contains("its disk is bad"), "{refused:#?}");
    let lifted = tour.json("cluster quarantine", &[PROJECT, "--lift"]);
    assert_eq!(lifted["reason"], Value::Null);
}

fn node(tour: &mut Tour) {
    let other = format!("{WORKTREE}/task/other");
    tour.json("task open", &[&other, "--title", "to be closed"]);
    assert_eq!(
        tour.json("task close", &[&other, "--failed", "--reason", "gave up"])["status"],
        "failed"
    );
    let system = tour.json(
        "token mint",
        &["--scope", PROJECT, "--kind", "system", "--id", "night"],
    )["token"]
        .clone();
    assert_eq!(
        tour.json("task archive", &[&other, "--token", &text(&system)])["status"],
        "archived"
    );
    assert!(tour.json("status", &[])["events"].as_u64() > Some(0));
    let cluster = tour.json("cluster status", &["--slots"]);
    assert_eq!(
        (cluster["alone"].as_bool(), cluster["healthy"].as_bool()),
        (Some(true), Some(true))
    );
    assert_eq!(cluster["slots"].as_array().map(Vec::len), Some(4_096));
    let name = text(&cluster["node"]);
    tour.tried.insert("cluster fence");
    let alone = tour.world.run(&["cluster", "fence", "--json", &name]);
    alone.ended(1);
    assert!(alone.stderr.contains("to itself"), "{alone:#?}");
    quarantine(tour, &other);
    assert_eq!(tour.json("audit verify", &[])["ok"], true);
    checkpoint(tour);
    let file = tour.world.folder().join("a.backup");
    let file = file.to_str().unwrap();
    let events = tour.json("backup", &[file])["events"].as_u64();
    let elsewhere = tour.world.folder().join("restored");
    let words = [file, "--data", elsewhere.to_str().unwrap()];
    assert_eq!(tour.json("restore", &words)["events"].as_u64(), events);
    assert!(
        tour.json("openapi", &[])["openapi"]
            .as_str()
            .unwrap()
            .starts_with("3.1")
    );
    let shown = tour.json("config show", &["--origin"]);
    assert_eq!(
        shown["server.data"]["value"],
        tour.world.data().to_str().unwrap()
    );
    assert_eq!(shown["server.address"]["origin"], "default");
    let folder = tempfile::tempdir().unwrap();
    write_runs(folder.path());
    let file = folder.path().join("colon.traj");
    let words = [file.to_str().unwrap(), "--into", PROJECT];
    assert!(tour.json("import", &words)["imported"].as_u64() > Some(0));
    tour.tried.insert("completions");
    for shell in ["bash", "zsh", "fish"] {
        let script = tour.world.run(&["completions", shell]);
        script.ended(0);
        assert!(
            script.stdout.contains("sillok") && script.stdout.contains("supersede"),
            "{shell}"
        );
    }
    without_a_server(tour, &other);
}

fn without_a_server(tour: &mut Tour, archived: &str) {
    tour.world.stop();
    assert_eq!(tour.json("audit verify", &["--offline"])["ok"], true);
    tour.json("rebuild", &[]);
    // The status of a server needs one; what only reads the memory does without.
    tour.world.run(&["status", "--json"]).ended(75);
    assert_eq!(tour.json("task show", &[archived])["status"], "archived");
    deciding::without_a_server(tour);
}

fn checkpoint(tour: &mut Tour) {
    let file = tour.world.folder().join("a.checkpoint");
    let file = file.to_str().unwrap();
    assert!(tour.json("audit checkpoint", &[file])["scopes"].as_u64() > Some(0));
    assert_eq!(
        tour.json("audit verify", &["--checkpoint", file])["ok"],
        true
    );
}

/// Every command that the help lists, down to those that list no further ones. `verify` is both.
fn leaves(world: &World, at: &[String]) -> Vec<String> {
    let mut words: Vec<&str> = at.iter().map(String::as_str).collect();
    words.push("--help");
    let help = world.run(&words);
    help.ended(0);
    let listed = help
        .stdout
        .split("\nCommands:\n")
        .nth(1)
        .unwrap_or_default();
    let names = listed.lines().take_while(|line| !line.trim().is_empty());
    let name = |line: &str| {
        line.strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
            .map(str::to_owned)
    };
    let mut found = Vec::new();
    for name in names.filter_map(name) {
        let name = name
            .split_whitespace()
            .next()
            .expect("a command has a name")
            .to_owned();
        if name != "help" {
            found.extend(leaves(world, &[at, &[name]].concat()));
        }
    }
    if found.is_empty() || at == ["verify"] {
        found.push(at.join(" "));
    }
    found
}

#[tokio::test]
async fn a_failed_run_is_recorded_as_what_truly_happened() {
    let world = World::start().await;
    let task = world.task().await;
    let script = "echo one line; echo another >&2; exit 1";
    let ran = world.run(&["verify", "--scope", &task, "--", "sh", "-c", script]);
    ran.ended(1);
    let admin = world.admin();
    let listed = admin
        .get("/v1/verifications", &[("scope", &task)])
        .await
        .ok();
    let verification = &listed["items"][0];
    assert_eq!(verification["outcome"], "failed");
    assert_eq!(verification["source"], "tests_failed");
    let error = verification["error"].as_str().unwrap();
    assert!(
        error.contains("exit status 1") && error.contains("one line") && error.contains("another")
    );
    let snapshot = verification["citations"][0]["id"]
        .as_str()
        .expect("its output is cited");
    let record = admin.get("/v1/record", &[("id", snapshot)]).await.ok();
    assert_eq!(
        (&record["sort"], &record["trigger"]),
        (&"snapshot".into(), &"error".into())
    );
    assert_eq!(record["metadata"]["exit_status"], 1);
    // A signal is no success either, and a command that cannot be started is no verdict.
    world
        .run(&["verify", "--scope", &task, "--", "sh", "-c", "kill -9 $$"])
        .ended(1);
    world
        .run(&[
            "verify",
            "--scope",
            &task,
            "--",
            "./there-is-no-such-command",
        ])
        .ended(2);
    let listed = admin
        .get("/v1/verifications", &[("scope", &task)])
        .await
        .ok();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
}

/// Runs a line that must end with this status. Data alone goes to standard output.
fn ends(world: &World, line: &str, status: i32) -> Ran {
    let ran = world.sillok(line);
    ran.ended(status);
    assert!(
        ran.stdout.is_empty() || status == 0,
        "it failed, and printed data: {ran:#?}"
    );
    assert!(
        status == 0 || !ran.stderr.is_empty(),
        "it failed, and does not say why: {ran:#?}"
    );
    ran
}

#[tokio::test]
async fn a_negative_verdict_exits_with_1_and_wrong_usage_with_2() {
    let world = World::start().await;
    let task = world.task().await;
    let nobody = "01900000-0000-7000-8000-000000000000";
    ends(&world, "status", 0);
    ends(&world, "--version", 0);
    for negative in [
        format!("show {nobody}"),
        format!("history {nobody}"),
        format!("log show {task}#999"),
        format!("task show {WORKTREE}/task/none"),
        format!("token revoke {nobody}"),
        format!("task unstick {task}"),
        format!("status --token slk_{}", "0".repeat(64)),
    ] {
        ends(&world, &negative, 1);
    }
    for wrong in [
        "nothing",
        "show x",
        "recall",
        "task open org/a --title x",
        "log show org/a#0",
        "status --no",
        "verify",
    ] {
        ends(&world, wrong, 2);
    }
}

#[tokio::test]
async fn a_bad_configuration_exits_with_78() {
    let world = World::start().await;
    for (name, text) in [
        ("syntax", "[server\n"),
        ("unknown", "[server]\nadress = 1\n"),
        ("range", "[jobs]\nworkers = 0\n"),
    ] {
        let file = world.folder().join(format!("{name}.toml"));
        std::fs::write(&file, text).unwrap();
        let line = format!("config show --config {}", file.display());
        let ran = ends(&world, &line, 78);
        let names_it = ran.stderr.contains(&format!("{name}.toml"));
        assert!(names_it || ran.stderr.contains("jobs.workers"), "{ran:#?}");
    }
    ends(&world, "status --config /nowhere/at/all.toml", 78);
    ends(&world, "status --token-file /nowhere/at/all", 78);
}

#[tokio::test]
async fn what_may_work_later_exits_with_75() {
    let mut world = World::start().await;
    let task = world.task().await;
    world.stop();
    for later in [
        format!("log add x --scope {task}"),
        "tail --scope org/acme".to_owned(),
    ] {
        ends(&world, &later, 75);
    }
    ends(&world, "status --url http://127.0.0.1:9", 75);
    let none = world.folder().join("none");
    ends(&world, &format!("status --data {}", none.display()), 75);
}
