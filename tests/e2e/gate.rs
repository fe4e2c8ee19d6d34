//! The cognitive gate: what a work tree says of what is recalled there, what that leads to, and what it must not read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::gate::Text;
use sillok_core::principal::PrincipalKind;

use crate::harness::{Client, PROJECT, Ran, WORKTREE, World, phrase};

/// The longest that something may take which goes on behind an answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const READER: &str =
    "def read(rows):\n    return [row for row in rows if row.strip()]\n";
pub(crate) const WRITER: &str =
    "def write(path, lock):\n    with lock(path) as held:\n        held.append(path)\n";

pub(crate) fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    for variable in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
    ] {
        command.env_remove(variable);
    }
    let done = command
        .arg("-C")
        .arg(dir)
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(["-c", "commit.gpgsign=false"])
        .args(args)
        .output()
        .expect("git can be started");
    let what = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "git {args:?}: {what}");
}

/// A repository with two files, and an entry of the project about each.
struct Tree {
    world: World,
    _folder: tempfile::TempDir,
    dir: PathBuf,
    word: String,
    reader: String,
    writer: String,
}

impl Tree {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        let dir = folder.path().join("tree");
        fs::create_dir_all(dir.join("src")).expect("the folder can be written to");
        git(&dir, &["init", "--quiet", "--initial-branch=main"]);
        fs::write(dir.join("src/reader.py"), READER).unwrap();
        fs::write(dir.join("src/writer.py"), WRITER).unwrap();
        let mut tree = Self {
            world: World::start().await,
            _folder: folder,
            dir,
            word: phrase(),
            reader: String::new(),
            writer: String::new(),
        };
        tree.commit("first");
        tree.reader = tree.put("skips what is blank", "file:src/reader.py:1-2");
        tree.writer = tree.put("appends under a lock", "file:src/writer.py:1-3");
        tree
    }

    fn commit(&self, message: &str) {
        git(&self.dir, &["add", "--all"]);
        git(&self.dir, &["commit", "--quiet", "-m", message]);
    }

    fn run(&self, dir: &Path, words: &[&str]) -> Ran {
        let line = self.world.invocation("");
        let line = words.iter().fold(line, |line, word| line.arg(word));
        line.arg("--json").dir(dir).run()
    }

    /// An entry of the project: its id.
    fn put(&self, text: &str, cited: &str) -> String {
        let text = format!("{} {text}", self.word);
        let words = ["entry", "put", &text, "--scope", PROJECT, "--cite", cited];
        let put = self.run(&self.dir, &words).json();
        put["entry"]
            .as_str()
            .expect("an entry has an id")
            .to_owned()
    }

    fn recall(&self, dir: &Path, scope: &str, flags: &[&str]) -> Value {
        let asked = ["recall", &self.word, "--scope", scope];
        self.run(dir, &[&asked[..], flags].concat()).json()
    }

    /// What stands in the store of an entry.
    async fn head(&self, entry: &str) -> Value {
        let found = self.world.admin().get("/v1/entry", &[("id", entry)]).await;
        found.ok()["head"].clone()
    }
}

/// What an answer says of an entry; nothing where it does not hold it.
fn of<'a>(answer: &'a Value, entry: &str) -> Option<&'a Value> {
    let results = answer["results"].as_array().expect("recall has results");
    results.iter().find(|result| result["entry"] == entry)
}

fn gate<'a>(answer: &'a Value, entry: &str) -> Option<&'a str> {
    of(answer, entry)?["gate"].as_str()
}

/// The path of the file that a result or a head cites.
fn path(of: &Value) -> &str {
    let citations = of["citations"].as_array().expect("it rests on something");
    let mut files = citations.iter().filter(|one| one["kind"] == "file");
    let file = files.next().expect("it cites a file");
    file["path"].as_str().expect("a file has a path")
}

#[tokio::test]
async fn what_is_gone_from_a_work_tree_is_not_recalled_there_and_what_moved_names_where_it_is() {
    let tree = Tree::new().await;
    let (dir, other) = (tree.dir.as_path(), tree.dir.with_extension("other"));
    let other_path = other.to_str().expect("the path is UTF-8");
    git(
        dir,
        &["worktree", "add", "--quiet", "-b", "side", other_path],
    );
    let before = tree.recall(dir, PROJECT, &[]);
    assert_eq!(gate(&before, &tree.reader), Some("valid"), "{before}");
    assert_eq!(gate(&before, &tree.writer), Some("valid"), "{before}");
    assert!(before.get("stale").is_none());

    fs::remove_file(dir.join("src/reader.py")).unwrap();
    fs::create_dir(dir.join("lib")).unwrap();
    fs::rename(dir.join("src/writer.py"), dir.join("lib/out.py")).unwrap();
    let after = tree.recall(dir, PROJECT, &[]);
    assert_eq!(
        (gate(&after, &tree.reader), &after["stale"]),
        (None, &json!(1))
    );
    assert_eq!(gate(&after, &tree.writer), Some("moved"), "{after}");
    let moved = of(&after, &tree.writer).unwrap();
    assert_eq!(path(moved), "lib/out.py");
    assert_eq!(moved["checks"][0]["moved_from"]["path"], "src/writer.py");
    // Another worktree has them still, and so has whoever holds it against nothing.
    for (dir, flags, verdict) in [
        (other.as_path(), &[][..], "valid"),
        (dir, &["--work-tree", "none"][..], "unverifiable"),
        (dir, &["--work-tree", other_path][..], "valid"),
    ] {
        let answer = tree.recall(dir, PROJECT, flags);
        assert_eq!(gate(&answer, &tree.reader), Some(verdict), "{answer}");
    }
    // An edit of what is cited is as good as its deletion.
    fs::write(
        other.join("src/reader.py"),
        READER.replace("strip", "rstrip"),
    )
    .unwrap();
    let edited = tree.recall(&other, PROJECT, &[]);
    assert_eq!(
        (gate(&edited, &tree.reader), &edited["stale"]),
        (None, &json!(1))
    );
    let nowhere = [
        "recall",
        &tree.word,
        "--scope",
        PROJECT,
        "--work-tree",
        "nowhere",
    ];
    tree.run(dir, &nowhere).ended(2);
}

#[tokio::test]
async fn what_is_so_at_the_main_branch_as_well_leaves_recall_or_is_cited_where_it_lies() {
    let tree = Tree::new().await;
    let (dir, task) = (tree.dir.as_path(), tree.world.task().await);
    git(dir, &["checkout", "--quiet", "-b", "side"]);
    fs::remove_file(dir.join("src/reader.py")).unwrap();
    git(dir, &["mv", "src/writer.py", "src/out.py"]);
    tree.commit("second");
    tree.recall(dir, &task, &[]);
    let (reader, writer) = (tree.head(&tree.reader).await, tree.head(&tree.writer).await);
    assert_ne!(
        reader["status"], "archived",
        "it is there at the main branch"
    );
    assert_eq!(path(&writer), "src/writer.py");

    git(dir, &["checkout", "--quiet", "main"]);
    git(dir, &["merge", "--quiet", "--no-edit", "side"]);
    // Whoever stands in no task reports nothing.
    tree.recall(dir, PROJECT, &[]);
    assert_eq!(tree.head(&tree.reader).await["status"], reader["status"]);
    let answer = tree.recall(dir, &task, &[]);
    assert_eq!(
        (gate(&answer, &tree.reader), &answer["stale"]),
        (None, &json!(1))
    );
    let (gone, refreshed) = (tree.head(&tree.reader).await, tree.head(&tree.writer).await);
    assert_eq!(
        (&gone["status"], &gone["usage"]["stale"]),
        (&json!("archived"), &json!(1))
    );
    assert_eq!(path(&refreshed), "src/out.py");
    for same in ["status", "version", "usage"] {
        assert_eq!(refreshed[same], writer[same], "{same}");
    }
    let answer = tree.recall(dir, &task, &["--work-tree", "none"]);
    assert!(of(&answer, &tree.reader).is_none(), "{answer}");
    let answer = tree.recall(dir, &task, &[]);
    assert_eq!(gate(&answer, &tree.writer), Some("valid"), "{answer}");

    let words = ["entry", "restore", &tree.reader, "--reason", "it is back"];
    tree.run(dir, &words).ended(0);
    let answer = tree.recall(dir, PROJECT, &["--work-tree", "none"]);
    assert!(of(&answer, &tree.reader).is_some(), "{answer}");
    // A person has judged it at that commit. What is found at another one counts.
    tree.recall(dir, &task, &[]);
    let back = tree.head(&tree.reader).await;
    assert_eq!(back["status"], reader["status"], "{back}");
    git(dir, &["commit", "--quiet", "--allow-empty", "-m", "third"]);
    tree.recall(dir, &task, &[]);
    assert_eq!(tree.head(&tree.reader).await["status"], "archived");
    assert_eq!(tree.world.sillok("audit verify --json").json()["ok"], true);
}

#[tokio::test]
async fn nothing_outside_a_work_tree_is_read_and_nothing_that_is_no_file() {
    let tree = Tree::new().await;
    let dir = tree.dir.as_path();
    let secret = dir.with_file_name("secret");
    fs::write(&secret, "what nobody is to read\n").unwrap();
    symlink(&secret, dir.join("link")).unwrap();
    symlink("round", dir.join("round")).unwrap();
    let made = Command::new("mkfifo").arg(dir.join("pipe")).status();
    assert!(made.expect("mkfifo can be started").success());
    let began = Instant::now();
    for (cited, why) in [
        ("../secret", "leads out"),
        ("/etc/passwd", "leads out"),
        ("link", "leads out"),
        ("round", "in a circle"),
        ("pipe", "no regular file"),
        (".git/config", "git's own"),
    ] {
        let entry = tree.put(&phrase(), &format!("file:{cited}"));
        let answer = tree.recall(dir, PROJECT, &["--limit", "50"]);
        let result = of(&answer, &entry).expect("it is given, and marked");
        assert_eq!(result["gate"], "unverifiable", "{cited}: {result}");
        let told = result["checks"][0]["reason"].as_str().unwrap();
        assert!(told.contains(why), "{cited}: {told}");
    }
    assert!(began.elapsed() < PATIENCE, "something was waited for");
}

/// What a file holds that no other does.
fn module(name: &str) -> String {
    format!("# {name}\n{READER}")
}

/// What a citation of a whole file says of it.
fn print_of(text: &str) -> String {
    let print = Text::of(text.as_bytes()).fingerprint(None);
    print.expect("a whole file has one").to_string()
}

/// An entry of the worktree about a file, written over HTTP: its id.
async fn about(client: &Client, word: &str, file: &str) -> String {
    let body = json!({
        "scope": WORKTREE,
        "content": format!("{word} {}", phrase()),
        "citations": [{ "kind": "file", "path": file, "fingerprint": print_of(&module(file)) }],
    });
    let written = client.post("/v1/entries", &body).await.ok();
    written["entry"]
        .as_str()
        .expect("an entry has an id")
        .to_owned()
}

#[tokio::test]
async fn a_server_that_has_the_work_tree_on_its_disk_holds_what_it_recalls_against_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["kept.py", "gone.py"] {
        fs::write(folder.path().join(name), module(name)).unwrap();
    }
    let named = format!("{{ \"{WORKTREE}\" = \"{}\" }}", folder.path().display());
    let world = World::start_with(|launch| launch.env("SILLOK__GRAPH__WORK_TREES", &named)).await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let word = phrase();
    let kept = about(&agent, &word, "kept.py").await;
    let gone = about(&agent, &word, "gone.py").await;
    let recall = async |check: Option<bool>| {
        let mut body = json!({ "scope": WORKTREE, "query": word });
        if let Some(check) = check {
            body["check"] = json!(check);
        }
        agent.post("/v1/recall", &body).await.ok()
    };
    let before = recall(None).await;
    assert_eq!(gate(&before, &gone), Some("valid"), "{before}");
    fs::remove_file(folder.path().join("gone.py")).unwrap();
    let after = recall(None).await;
    assert_eq!((gate(&after, &gone), &after["stale"]), (None, &json!(1)));
    assert_eq!(gate(&after, &kept), Some("valid"), "{after}");
    let unchecked = recall(Some(false)).await;
    assert_eq!(gate(&unchecked, &gone), Some("unverifiable"), "{unchecked}");
    // A folder that is no more says nothing of what was in it.
    fs::remove_dir_all(folder.path()).unwrap();
    let nowhere = recall(None).await;
    assert_eq!(gate(&nowhere, &gone), Some("unverifiable"), "{nowhere}");
}

/// The commit that a work tree stands at.
fn head_of(dir: &Path) -> String {
    let mut command = Command::new("git");
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"] {
        command.env_remove(variable);
    }
    let found = command
        .arg("-C")
        .arg(dir)
        .args(["rev-parse", "HEAD"])
        .output();
    let found = found.expect("git can be started").stdout;
    let hash = String::from_utf8(found).expect("a hash is text");
    hash.trim().to_owned()
}

/// Waits until the head of an entry is as it should be.
async fn becomes(world: &World, entry: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let found = world.admin().get("/v1/entry", &[("id", entry)]).await.ok();
        if is_so(&found["head"]) {
            return found["head"].clone();
        }
        assert!(
            began.elapsed() < PATIENCE,
            "it does not come to it: {found}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_server_reports_behind_its_answer_what_is_gone_at_the_main_branch() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    git(dir, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(dir.join("gone.py"), READER).unwrap();
    git(dir, &["add", "."]);
    git(dir, &["commit", "--quiet", "-m", "first"]);
    let head = fs::read_to_string(dir.join(".git/refs/heads/main")).unwrap();
    let named = format!("{{ \"{WORKTREE}\" = \"{}\" }}", dir.display());
    let world = World::start_with(|launch| launch.env("SILLOK__GRAPH__WORK_TREES", &named)).await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let (word, task) = (phrase(), world.task().await);
    let body = json!({
        "scope": WORKTREE,
        "content": format!("{word} gone.py is read at the start"),
        "citations": [{ "kind": "file", "path": "gone.py", "fingerprint": print_of(READER) }],
        "commit": { "hash": head_of(dir), "repository": "r" },
    });
    let written = agent.post("/v1/entries", &body).await.ok();
    let entry = written["entry"].as_str().unwrap();
    git(dir, &["rm", "--quiet", "gone.py"]);
    git(dir, &["commit", "--quiet", "-m", "second"]);
    let asked = json!({ "scope": task, "query": word });
    let answer = agent.post("/v1/recall", &asked).await.ok();
    assert_eq!((gate(&answer, entry), &answer["stale"]), (None, &json!(1)));
    // The word of an agent is counted. That of an orchestrator takes the entry out.
    let told = becomes(&world, entry, |head| head["usage"]["stale"] == 1).await;
    assert_ne!(told["status"], "archived", "{told}");
    let orchestrator = world.principal(PrincipalKind::Orchestrator, WORKTREE).await;
    let answer = orchestrator.post("/v1/recall", &asked).await.ok();
    assert_eq!((gate(&answer, entry), &answer["stale"]), (None, &json!(1)));
    becomes(&world, entry, |head| head["status"] == "archived").await;
}
