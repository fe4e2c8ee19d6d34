//! The main job: five agents at once, and what a later one recalls.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use sillok_store::keys::Family;

use crate::harness::{Client, Invocation, binary, phrase, write_runs};
use crate::maintenance::directly::night_missed;

/// The longest that a demo may take.
const PATIENCE: Duration = Duration::from_mins(3);

/// Runs a line of the binary for a user whose home is empty, as on a fresh machine.
fn sillok(home: &Path, words: &[&str]) -> crate::harness::Ran {
    Invocation::new(home, words)
        .dir(home.parent().expect("a folder"))
        .within(PATIENCE)
        .run()
}

fn number(report: &Value, field: &str) -> u64 {
    report[field]
        .as_u64()
        .unwrap_or_else(|| panic!("{field} is no number: {report}"))
}

/// What every report must say.
fn check(report: &Value) {
    assert_eq!(report["agents"], 5, "{report}");
    assert!(number(report, "records_acked") > 0, "{report}");
    assert_eq!(
        report["records_acked"], report["records_durable"],
        "{report}"
    );
    assert_eq!(report["audit_ok"], true, "{report}");
    let done = [
        "published",
        "merged",
        "superseded",
        "refused",
        "decided",
        "pruned",
    ];
    for field in done {
        assert!(number(report, field) > 0, "{field}: {report}");
    }
}

/// What is decided in the demo: two choices that the later agent loads and goes by, one that a lock stops, and one by the same
/// agent about a file that nothing applies to. What the later agent left is in line with both that it loaded.
fn check_decisions(report: &Value) {
    for (field, count) in [
        ("decisions", 3),
        ("decisions_durable", 3),
        ("in_line", 2),
        ("followed", 2),
        ("followed_durable", 2),
        ("stopped", 1),
    ] {
        assert_eq!(number(report, field), count, "{field}: {report}");
    }
    let loaded = &report["loaded"];
    let items = loaded["brief"]["items"]
        .as_array()
        .expect("a brief has items");
    let layers: Vec<&Value> = items.iter().map(|item| &item["layer"]).collect();
    let expected = [
        "structural",
        "structural",
        "structural",
        "lock",
        "normal",
        "anchor",
    ];
    assert_eq!(layers, expected, "{loaded}");
    // It would have gone about it otherwise.
    let way = &loaded["way"];
    assert_eq!(way["passed_over"].as_array().map(Vec::len), Some(1));
    assert!(way["taken"].is_string(), "{way}");
    assert_ne!(way["taken"], way["passed_over"][0]);
    // Who loaded it finds what another kept, behind the decision that rests on it.
    let anchor = &report["anchor"];
    assert_eq!(anchor["agent"], loaded["agent"]);
    let found = &anchor["followed"]["items"];
    let sorts = [&found[0]["item"], &found[1]["item"]];
    assert_eq!(sorts, ["decision", "evidence"], "{anchor}");
    assert_ne!(anchor["followed"]["anchor"]["by"]["id"], loaded["agent"]);
    // The one who stops is another than those who decided, and than the one who loaded them.
    let stop = &report["stops"][0];
    let decided = report["decision_details"]
        .as_array()
        .expect("decisions have details");
    let by: Vec<&Value> = decided.iter().map(|made| &made["by"]).collect();
    assert!(by[..2].iter().all(|by| **by != stop["agent"]), "{report}");
    assert_ne!(loaded["agent"], stop["agent"]);
    // The same agent decides what nothing applies to.
    assert_eq!(*by[2], stop["agent"], "{report}");
    assert_ne!(decided[2]["title"], stop["title"], "{report}");
    let (lock, proposed) = (&decided[0], &stop["proposed"]);
    assert_eq!(lock["rank"], "lock", "{lock}");
    let root = &lock["saved"]["root"];
    // It is found by the file alone, and by the key that both claim: the proposal does not name it.
    let guard = &stop["impact"]["affected"][0];
    assert_eq!(guard["rank"], "lock", "{stop}");
    let guard_text = guard["node"].as_str().unwrap_or_default();
    let root_text = root.as_str().expect("a decision has a root");
    assert!(guard_text.ends_with(root_text), "{stop}");
    assert_eq!(guard["path"][0]["kind"], "APPLIES_TO", "{stop}");
    assert_eq!(&proposed["contradictions"][0]["root"], root, "{stop}");
    assert_eq!(proposed["guards"], json!([]), "{stop}");
}

/// A demo that stays up at its end. It is killed when it is dropped.
struct Kept {
    child: Child,
    report: Value,
}

impl Kept {
    fn of(home: &Path) -> Self {
        let mut command = binary::command(home);
        command
            .args(["demo", "--json", "--keep"])
            .current_dir(home.parent().expect("a folder"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut kept = Self {
            child: command.spawn().expect("it starts"),
            report: Value::Null,
        };
        let stdout = kept.child.stdout.take().expect("it is piped");
        let (sender, said) = channel();
        std::thread::spawn(move || {
            let documents = serde_json::Deserializer::from_reader(BufReader::new(stdout));
            let first = documents.into_iter::<Value>().next();
            // Whoever waited may have given up.
            let _ = sender.send(first);
        });
        let report = said.recv_timeout(PATIENCE).expect("it reports in time");
        let report = report.expect("it reports before it ends");
        kept.report = report.expect("the report is JSON");
        kept
    }

    /// A client of the server that stays up, with the administrator's token.
    fn admin(&self) -> Client {
        let text = |field: &str| self.report[field].as_str().expect("a text").to_owned();
        let token = std::fs::read_to_string(Path::new(&text("data")).join("admin.token"));
        let token = token.expect("the directory holds the token");
        Client::new(&text("address"), Some(token.trim()))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every record, and every stretch of one, that a recall's first result cites is one that `log show` prints.
fn check_citations(home: &Path, answer: &Value) {
    let first = &answer["results"][0];
    assert!(first["entry"].is_string(), "an entry comes first: {answer}");
    let citations = first["citations"]
        .as_array()
        .expect("a result has citations");
    let is_cited = |citation: &&Value| citation["id"].is_string();
    let cited: Vec<&Value> = citations.iter().filter(is_cited).collect();
    assert!(!cited.is_empty(), "it cites records: {first}");
    for citation in cited {
        let id = citation["id"].as_str().expect("it was looked at");
        let bytes = format!("{}-{}", citation["from"], citation["to"]);
        let (shown, field) = match citation["kind"].as_str() {
            Some("excerpt") => (vec!["--bytes", bytes.as_str()], "text"),
            _ => (Vec::new(), "content"),
        };
        let line = [["log", "show", id, "--json"].as_slice(), shown.as_slice()].concat();
        let record = sillok(home, &line).json();
        assert_eq!(record["id"], id);
        let text = record[field].as_str();
        assert!(text.is_some_and(|text| !text.is_empty()), "{record}");
    }
}

#[test]
fn the_demo_of_five_agents_loses_nothing_merges_and_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let report = sillok(&home, &["demo", "--json"]).json();
    check(&report);
    check_decisions(&report);
    let agents = report["agent_details"]
        .as_array()
        .expect("the report names the agents");
    let recalled = agents
        .iter()
        .filter(|agent| agent["recalled"] == true)
        .count();
    assert_eq!(
        (agents.len() - recalled, recalled),
        (5, 1),
        "five at once, and a later one: {report}"
    );
    for agent in agents {
        let tree = PathBuf::from(agent["work_tree"].as_str().expect("each has a worktree"));
        let listed = std::process::Command::new("git")
            .args(["-C"])
            .arg(&tree)
            .args(["worktree", "list"])
            .output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        assert!(
            listed.contains(tree.to_str().unwrap()),
            "it is a worktree of a repository: {listed}"
        );
        let attempts = agent["attempts"].as_array().unwrap();
        assert_eq!(
            attempts.last().unwrap()["exit_status"],
            0,
            "its last run truly passed: {agent}"
        );
    }
    // Commands without flags find what the demo left.
    let answer = sillok(&home, &["recall", "why did the test fail", "--json"]).json();
    check_citations(&home, &answer);
    let listed = sillok(&home, &["decision", "list", "--json"]).json();
    let lock = &report["decision_details"][0]["saved"]["root"];
    assert_eq!(&listed["items"][0]["root"], lock);
    sillok(&home, &["audit", "verify", "--json"]).json();
    // And it can be shown again.
    check(&sillok(&home, &["demo", "--json"]).json());
}

#[tokio::test]
async fn the_server_that_a_demo_leaves_up_prunes_no_earlier_than_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let kept = Kept::of(&home);
    check(&kept.report);
    // As poor as what the demo pruned at once, and as young, in a project that is not the demo's.
    let skill = json!({
        "name": phrase(), "description": phrase(), "code": phrase(),
        "usage_count": 5, "success_rate": 0.1,
    });
    let scope = "org/demo/project/other";
    let body = json!({ "scope": scope, "table": "skills", "content": phrase(), "skill": skill });
    kept.admin().post("/v1/entries", &body).await.ok();
    let planned = sillok(&home, &["maintain", "--dry-run", "--json"]).json();
    assert!(number(&planned, "looked_at") > 0, "{planned}");
    assert_eq!(planned["scopes"], json!([]), "nothing is due: {planned}");
    let status = sillok(&home, &["status", "--json"]).json();
    assert!(number(&status, "maintenance_due") > 0, "{status}");
}

#[tokio::test]
async fn a_demo_makes_up_for_no_night_that_was_missed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    // A directory that is somebody's: the demo's own begins anew each time.
    let data = folder.path().join("data");
    let line = ["demo", "--json", "--data", data.to_str().expect("text")];
    check(&sillok(&home, &line).json());
    let vault = night_missed(&data).await;
    let before = vault.rows(Family::Run).await;
    assert_eq!(before.len(), 1);
    check(&sillok(&home, &line).json());
    assert_eq!(vault.rows(Family::Run).await, before, "no run is noted");
}

#[test]
fn the_demo_prints_a_page_for_a_person_and_exits_without_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let ran = sillok(&home, &["demo"]);
    ran.ended(0);
    for word in [
        "published",
        "merged",
        "refused",
        "Which decisions hold",
        "it rules out how",
        "followed the anchor",
        "it touches the lock",
        "http://127.0.0.1:",
        "sillok recall",
    ] {
        assert!(
            ran.stdout.contains(word),
            "{word} is missing:\n{}",
            ran.stdout
        );
    }
    assert!(
        !ran.stdout.contains('\u{1b}'),
        "no colours but on a terminal"
    );
}

#[test]
fn the_demo_with_recorded_runs_links_three_episodes_and_recalls_with_sources() {
    let Some(trajectories) = trajectories() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let path = trajectories.to_str().expect("the path is UTF-8");
    let line = [
        "demo",
        "--trajectories",
        path,
        "--assume",
        "passed",
        "--agents",
        "5",
        "--json",
    ];
    let report = sillok(&home, &line).json();
    check(&report);
    assert_eq!(report["episodes"], 5, "one for each run: {report}");
    let note = report["note"].as_str().unwrap_or_default();
    assert!(
        note.contains("human_approved"),
        "the operator's word is said: {note}"
    );

    check_linked(&report, "marshmallow");
    let question = "TimeDelta serialization loses precision";
    let answer = sillok(&home, &["recall", question, "--json"]).json();
    check_citations(&home, &answer);
    let first = answer["results"][0]["content"]
        .as_str()
        .unwrap()
        .to_lowercase();
    assert!(
        first.contains("timedelta") || first.contains("precision"),
        "{first}"
    );
    // What all three found stands there once. Episodes never merge, however alike.
    let mut once = BTreeSet::new();
    for result in answer["results"].as_array().expect("an answer has results") {
        let content = result["content"].as_str().expect("a result has a text");
        let is_new = once.insert(content);
        assert!(
            is_new || result["table"] == "episodes",
            "a common fact comes twice: {content}"
        );
    }
}

#[test]
fn the_demo_links_three_runs_of_one_issue_wherever_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let runs = folder.path().join("runs");
    std::fs::create_dir(&runs).unwrap();
    write_runs(&runs);
    let path = runs.to_str().expect("the path is UTF-8");
    let line = [
        "demo",
        "--trajectories",
        path,
        "--assume",
        "passed",
        "--json",
    ];
    let report = sillok(&home, &line).json();
    check(&report);
    assert_eq!(report["episodes"], 5, "one for each run: {report}");
    assert_eq!(report["linked_episodes"], 3, "{report}");
    check_linked(&report, "duration");
    let answer = sillok(
        &home,
        &["recall", "duration 345 is serialized as 344", "--json"],
    )
    .json();
    check_citations(&home, &answer);
}

/// The three runs of one issue have three episodes, and each is linked to another of them.
fn check_linked(report: &Value, issue: &str) {
    let agents = report["agent_details"]
        .as_array()
        .expect("the report names the agents");
    let (mut episodes, mut linked) = (BTreeSet::new(), BTreeSet::new());
    for agent in agents {
        let is_one = agent["run"].as_str().is_some_and(|run| run.contains(issue));
        let published = &agent["attempts"][0]["promotion"]["report"];
        let episode = published["episode"]
            .as_str()
            .expect("its promotion has an episode");
        let others = published["linked_episodes"]
            .as_array()
            .expect("and links, if any");
        if is_one {
            episodes.insert(episode);
        }
        if !others.is_empty() {
            linked.insert(episode);
            linked.extend(others.iter().filter_map(Value::as_str));
        }
    }
    assert_eq!(
        episodes.len(),
        3,
        "three runs solve the same issue: {report}"
    );
    assert_eq!(
        linked, episodes,
        "their three episodes are linked, and no other"
    );
}

#[test]
fn recorded_runs_that_nobody_vouches_for_publish_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let runs = folder.path().join("runs");
    std::fs::create_dir(&runs).unwrap();
    write_runs(&runs);
    let path = runs.to_str().expect("the path is UTF-8");
    let report = sillok(&home, &["demo", "--trajectories", path, "--json"]).json();
    assert_eq!(report["audit_ok"], true, "{report}");
    assert_eq!(
        (&report["published"], &report["episodes"]),
        (&0.into(), &0.into()),
        "{report}"
    );
    assert!(number(&report, "records_durable") > 0, "{report}");
}

/// The recorded runs: `SILLOK_TRAJECTORIES`, else beside the repository.
fn trajectories() -> Option<PathBuf> {
    let beside = || {
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests"))
            .join("../../shared/data/trajectories")
    };
    let path = std::env::var_os("SILLOK_TRAJECTORIES").map_or_else(beside, PathBuf::from);
    let found = path.canonicalize().ok().filter(|path| path.is_dir());
    if found.is_none() {
        println!(
            "skipped: no recorded runs at {}; SILLOK_TRAJECTORIES names them",
            path.display()
        );
    }
    found
}
