//! Where things are said: from the work tree to the entry, over the command line and over HTTP.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::as_of::{commit, git};
use crate::harness::world::{log, promoted};
use crate::harness::{Client, Ran, WORKTREE, World, binary, command_id, phrase};

/// The longest that something may take to be seen.
const PATIENCE: Duration = Duration::from_secs(20);
const COMMIT: &str = "1111111111111111111111111111111111111111";

/// A repository with a submodule, beside a running server.
struct Tree {
    world: World,
    dir: PathBuf,
    hash: String,
    /// Goes with the test.
    _folder: tempfile::TempDir,
}

impl Tree {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        let dir = folder.path().join("tree");
        let lib = folder.path().join("lib");
        for dir in [&dir, &lib] {
            std::fs::create_dir(dir).expect("the folder can be written to");
            git(dir, &["init", "--quiet", "--initial-branch=main"]);
        }
        write(&lib, "x.c", "int x;\n");
        git(&lib, &["add", "--all"]);
        commit(&lib, "lib");
        let lib = lib.to_str().expect("the path is UTF-8");
        git(&dir, &["submodule", "--quiet", "add", lib, "deps/lib"]);
        write(&dir, "src/a.rs", "fn a() {}\n");
        git(
            &dir,
            &[
                "remote",
                "add",
                "origin",
                "https://kim:secret@host/acme/api.git",
            ],
        );
        git(&dir, &["add", "--all"]);
        let hash = commit(&dir, "first");
        Self {
            world: World::start().await,
            dir,
            hash,
            _folder: folder,
        }
    }

    /// Runs the binary in a directory of the work tree.
    fn sillok(&self, dir: &str, words: &[&str]) -> Ran {
        let line = self.world.invocation("");
        let line = words.iter().fold(line, |line, word| line.arg(word));
        line.dir(&self.dir.join(dir)).run()
    }
}

fn write(dir: &Path, path: &str, content: &str) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("it is made");
    std::fs::write(path, content).expect("the file can be written");
}

fn fingerprint(content: &str) -> String {
    blake3::hash(content.as_bytes()).to_hex().to_string()
}

async fn record(client: &Client, task: &str, seq: &Value) -> Value {
    let id = format!("{task}#{seq}");
    client.get("/v1/record", &[("id", &id)]).await.ok()
}

/// The fingerprints that the entries of a promotion have of a file; all of them are bound to a commit.
async fn bound_to(client: &Client, report: &Value, (commit, path): (&str, &str)) -> Vec<String> {
    let mut prints = Vec::new();
    for product in report["products"].as_array().expect("a list") {
        let Some(entry) = product["entry"].as_str() else {
            continue;
        };
        let view = client.get("/v1/entry", &[("id", entry)]).await.ok();
        let binding = &view["head"]["binding"];
        assert_eq!(binding["kind"], "bound", "{view}");
        assert_eq!(binding["place"]["commit"], commit);
        let files = binding["files"].as_array().expect("a list");
        let of_path = files.iter().filter(|file| file["path"] == path);
        prints.extend(
            of_path.map(|file| file["fingerprint"].as_str().expect("it has one").to_owned()),
        );
    }
    prints
}

#[tokio::test]
async fn what_is_logged_in_a_work_tree_says_what_that_is_at_and_so_do_the_facts_drawn_from_it() {
    let tree = Tree::new().await;
    let (admin, task) = (tree.world.admin(), tree.world.task().await);
    let cause = phrase();
    write(&tree.dir, "src/a.rs", "fn a() { broken }\n");
    let said = format!("{cause} in src/a.rs:1 which calls deps/lib/x.c");
    let logged = tree
        .sillok("src", &["log", "add", &said, "--scope", &task, "--json"])
        .json();
    let stored = record(&admin, &task, &logged["first"]).await;
    assert_eq!(
        logged["bound"], stored["bound"],
        "what is told is what is stored"
    );
    let place = &stored["bound"]["place"];
    assert_eq!(place["repository"], "host/acme/api");
    assert_eq!(place["commit"], tree.hash.as_str());
    assert_eq!(place["branch"], "main");
    assert_eq!(place["project"], "src");
    assert_eq!(place["state"], "changed");
    let files = &stored["bound"]["files"];
    assert_eq!(files[0]["path"], "src/a.rs");
    assert_eq!(files[0]["fingerprint"], fingerprint("fn a() { broken }\n"));
    assert_eq!(files[1]["path"], "x.c", "the submodule owns it");
    let owner = files[1]["repository"].as_str().expect("it is named");
    assert!(owner.ends_with("lib"), "{owner}");

    // The file goes on changing till it is verified.
    write(&tree.dir, "src/a.rs", "fn a() { mended }\n");
    tree.sillok("", &["log", "add", "Mended src/a.rs", "--scope", &task])
        .ended(0);
    let verified = tree
        .sillok("", &["verify", "--scope", &task, "--json", "--", "true"])
        .json();
    assert_eq!(verified["commit"]["hash"], tree.hash.as_str());
    let id = verified["verification"].as_str().expect("it has an id");
    let report = promoted(&admin, &task, id).await;
    let prints = bound_to(&admin, &report, (&tree.hash, "src/a.rs")).await;
    assert!(!prints.is_empty(), "nothing is bound to the file: {report}");
    let last = fingerprint("fn a() { mended }\n");
    assert!(prints.iter().all(|print| *print == last), "as it was last");
    let shown = tree.sillok("", &["log", "show", &format!("{task}#{}", logged["first"])]);
    shown.ended(0);
    assert!(
        shown
            .stdout
            .contains("of host/acme/api, on main, in src, changed"),
        "{shown:#?}"
    );
    assert!(!shown.stdout.contains("secret"), "{shown:#?}");
}

#[tokio::test]
async fn an_entry_says_where_it_was_written_and_that_there_is_no_repository() {
    let tree = Tree::new().await;
    let show = |dir: &str, words: &str| {
        let put = ["entry", "put", words, "--scope", WORKTREE, "--json"];
        let put = tree.sillok(dir, &put).json();
        let entry = put["entry"].as_str().expect("it has an id").to_owned();
        let shown = tree.sillok("", &["show", &entry]);
        shown.ended(0);
        shown.stdout
    };
    let shown = show("", &format!("{} is decided in src/a.rs", phrase()));
    let expected = format!("bound to {} of host/acme/api, on main, clean", tree.hash);
    assert!(
        shown.contains(&expected) && shown.contains("  src/a.rs ("),
        "{shown}"
    );
    let shown = show("..", &phrase());
    assert!(shown.contains("bound to no repository"), "{shown}");
}

#[tokio::test]
async fn a_repository_that_cannot_be_read_stops_nobody_from_writing() {
    let tree = Tree::new().await;
    let task = tree.world.task().await;
    write(&tree.dir, "odd/.git", "gitdir: nowhere\n");
    let logged = tree.sillok("odd", &["log", "add", "x", "--scope", &task, "--json"]);
    assert!(logged.json()["bound"].is_null());
    assert!(logged.stderr.contains("bound to nothing"), "{logged:#?}");
}

/// A record that says where it was said.
fn said(task: &str, bound: &Value) -> Value {
    let record = json!({ "level": "info", "content": phrase(), "bound": bound });
    json!({ "scope": task, "records": [record] })
}

fn bound(path: &str) -> Value {
    json!({
        "place": { "repository": "host/a", "commit": COMMIT, "state": "clean" },
        "files": [{ "path": path, "fingerprint": fingerprint(path) }],
    })
}

#[tokio::test]
async fn a_retry_from_a_work_tree_that_went_on_gets_the_first_answer() {
    let world = World::start().await;
    let task = world.task().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let (id, first) = (command_id(), said(&task, &bound("src/a.rs")));
    let written = agent.command("/v1/logs", &id, &first).await.ok();
    let mut again = first.clone();
    again["records"][0]["bound"] = bound("src/b.rs");
    assert_eq!(agent.command("/v1/logs", &id, &again).await.ok(), written);
    let mut other = again.clone();
    other["records"][0]["content"] = json!("something else");
    let refused = agent.command("/v1/logs", &id, &other).await;
    refused.refused(422, "command_reused");
    let stored = record(&agent, &task, &written["first"]).await;
    assert_eq!(stored["bound"], bound("src/a.rs"));
}

#[tokio::test]
async fn what_is_no_binding_is_refused_and_nothing_is_written() {
    let world = World::start().await;
    let task = world.task().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    for path in ["../a.rs", "/etc/passwd", "a//b", "", "a\u{1b}[2J"] {
        let refused = agent.post("/v1/logs", &said(&task, &bound(path))).await;
        refused.refused(400, "invalid_argument");
        let entry = json!({ "scope": WORKTREE, "content": phrase(), "bound": bound(path) });
        let refused = agent.post("/v1/entries", &entry).await;
        refused.refused(400, "invalid_argument");
    }
    let many: Vec<Value> = (0..40)
        .map(|n| bound(&n.to_string())["files"][0].clone())
        .collect();
    let mut large = bound("a");
    large["files"] = json!(many);
    let refused = agent.post("/v1/logs", &said(&task, &large)).await;
    refused.refused(413, "too_large");
    let mut both = json!({ "scope": WORKTREE, "content": phrase(), "bound": bound("a") });
    both["commit"] = json!({ "hash": COMMIT, "repository": "host/a" });
    let refused = agent.post("/v1/entries", &both).await;
    refused.refused(400, "invalid_argument");
    assert!(world.admin().all("/v1/records", &task).await.is_empty());
}

#[tokio::test]
async fn who_lists_records_is_given_those_that_say_where_they_were_said() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    log(&admin, &task, &phrase()).await;
    admin
        .post("/v1/logs", &said(&task, &bound("src/a.rs")))
        .await
        .ok();
    let query = [("scope", task.as_str()), ("kind", "RECORD_APPENDED")];
    let listed = admin.get("/v1/events", &query).await.ok();
    let kinds: Vec<&Value> = listed["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|event| &event["kind"])
        .collect();
    assert_eq!(kinds, ["RECORD_APPENDED", "BOUND_RECORD_APPENDED"]);
    assert_eq!(listed["items"][1]["body"]["bound"], bound("src/a.rs"));
    assert_eq!(admin.all("/v1/records", &task).await.len(), 2);
}

/// A `sillok log import` whose standard input stays open.
struct Import {
    child: Child,
}

impl Import {
    fn into(world: &World, task: &str) -> Self {
        let mut command = binary::command(&world.folder().join("home"));
        command
            .args(["log", "import", "--scope", task, "--data"])
            .arg(world.data())
            .current_dir(world.folder());
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Self { child }
    }

    fn says(&mut self, lines: &str) {
        let pipe = self.child.stdin.as_mut().expect("it is piped");
        pipe.write_all(lines.as_bytes()).expect("it reads");
        pipe.flush().expect("it reads");
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn lines_of_one_window_are_one_append_while_more_may_come() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let mut import = Import::into(&world, &task);
    let records = async |count: usize| {
        let begun = Instant::now();
        loop {
            let found = admin.all("/v1/records", &task).await;
            if found.len() >= count {
                return found;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{} of {count} came",
                found.len()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    import.says("first\nsecond\n");
    let found = records(2).await;
    assert_eq!(found[0]["command"], found[1]["command"], "one append");
    import.says("third\n");
    let found = records(3).await;
    assert_ne!(
        found[2]["command"], found[1]["command"],
        "a window of its own"
    );
    let contents: Vec<&Value> = found.iter().map(|record| &record["content"]).collect();
    assert_eq!(contents, ["first", "second", "third"]);
    import.says("last");
    drop(import.child.stdin.take());
    records(4).await;
    assert!(import.child.wait().expect("it ends").success());
}
