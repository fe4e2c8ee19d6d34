//! What agents are told of memories whose code is gone or lies elsewhere, each by the work tree that it has.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::client::Mcp;
use crate::gate::{READER, WRITER, git};
use crate::harness::{PROJECT, World, phrase};

/// Three work trees of one repository: the server follows the first two, and the third one is an agent's own.
struct Trees {
    world: World,
    _folder: tempfile::TempDir,
    trees: [PathBuf; 3],
    word: String,
    reader: String,
    writer: String,
}

const NAMES: [&str; 3] = ["one", "two", "three"];

fn worktree(name: &str) -> String {
    format!("{PROJECT}/worktree/{name}")
}

impl Trees {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a temporary folder");
        let trees = NAMES.map(|name| folder.path().join(name));
        let [one, others @ ..] = &trees;
        fs::create_dir_all(one.join("src")).expect("the folder can be written to");
        git(one, &["init", "--quiet", "--initial-branch=main"]);
        fs::write(one.join("src/reader.py"), READER).unwrap();
        fs::write(one.join("src/writer.py"), WRITER).unwrap();
        git(one, &["add", "--all"]);
        git(one, &["commit", "--quiet", "-m", "first"]);
        for other in others {
            let other = other.to_str().expect("the path is UTF-8");
            git(one, &["worktree", "add", "--quiet", "--detach", other]);
        }
        let followed = NAMES.iter().zip(&trees).take(2);
        let followed: Vec<String> = followed
            .map(|(name, tree)| format!("\"{}\" = \"{}\"", worktree(name), tree.display()))
            .collect();
        let named = format!("{{ {} }}", followed.join(", "));
        let configure = "SILLOK__GRAPH__WORK_TREES";
        let world = World::start_with(|launch| launch.env(configure, &named)).await;
        let mut this = Self {
            world,
            _folder: folder,
            trees,
            word: phrase(),
            reader: String::new(),
            writer: String::new(),
        };
        this.reader = this.put("skips what is blank", "file:src/reader.py:1-2");
        this.writer = this.put("appends under a lock", "file:src/writer.py:1-3");
        this
    }

    /// A memory of the project about code of the first work tree: its handle.
    fn put(&self, text: &str, cited: &str) -> String {
        let text = format!("{} {text}", self.word);
        let words = ["entry", "put", &text, "--scope", PROJECT, "--cite", cited];
        let line = self.world.invocation("");
        let line = words.iter().fold(line, |line, word| line.arg(word));
        let put = line.arg("--json").dir(&self.trees[0]).run().json();
        put["entry"]
            .as_str()
            .expect("an entry has an id")
            .to_owned()
    }

    /// An agent of a worktree that has begun a task there: its tools, and the task.
    async fn begins(&self, name: &str, mut mcp: Mcp) -> (Mcp, String) {
        let task = format!("{}/task/look", worktree(name));
        let begin = json!({ "task": task, "title": "look where the code lies" });
        mcp.call("begin_task", begin).await.ok();
        (mcp, task)
    }

    async fn recall(&self, (mcp, task): &mut (Mcp, String)) -> Value {
        let asked = json!({ "scope": task, "query": self.word });
        mcp.call("recall", asked).await.ok()
    }
}

fn of<'a>(found: &'a Value, entry: &str) -> Option<&'a Value> {
    let memories = found["memories"].as_array().expect("recall has memories");
    memories.iter().find(|memory| memory["entry"] == entry)
}

fn gate<'a>(found: &'a Value, entry: &str) -> Option<&'a str> {
    of(found, entry)?["gate"].as_str()
}

/// Deletes what the one memory is about, and renames what the other is about.
fn change(tree: &Path) {
    fs::remove_file(tree.join("src/reader.py")).unwrap();
    fs::create_dir(tree.join("lib")).unwrap();
    fs::rename(tree.join("src/writer.py"), tree.join("lib/out.py")).unwrap();
}

#[tokio::test]
async fn what_was_deleted_is_recalled_no_more_and_what_was_renamed_is_told_as_moved() {
    let trees = Trees::new().await;
    let agent = trees.world.principal(PrincipalKind::Agent, PROJECT).await;
    let own = trees.trees[2].to_str().expect("the path is UTF-8");
    let server = ["--url", trees.world.server().base(), "--work-tree", own];
    let process = Mcp::process(trees.world.folder(), &server, agent.token());
    let mut agents = [
        trees.begins("one", Mcp::http(&agent)).await,
        trees.begins("two", Mcp::http(&agent)).await,
        trees.begins("three", process).await,
    ];
    for at in &mut agents {
        let before = trees.recall(at).await;
        for entry in [&trees.reader, &trees.writer] {
            assert_eq!(gate(&before, entry), Some("valid"), "{before}");
        }
        assert_eq!(before["stale"], Value::Null, "{before}");
    }
    change(&trees.trees[0]);
    change(&trees.trees[2]);
    let [one, two, three] = &mut agents;
    for at in [one, three] {
        let after = trees.recall(at).await;
        assert!(of(&after, &trees.reader).is_none(), "{after}");
        assert_eq!(after["stale"], 1, "{after}");
        assert_eq!(gate(&after, &trees.writer), Some("moved"), "{after}");
        let data = of(&after, &trees.writer).and_then(|memory| memory["data"].as_str());
        assert!(data.is_some_and(|data| data.contains("path=lib/out.py")));
    }
    // Whoever has the files still is told of both.
    let still = trees.recall(two).await;
    for entry in [&trees.reader, &trees.writer] {
        assert_eq!(gate(&still, entry), Some("valid"), "{still}");
    }
}

#[tokio::test]
async fn without_a_work_tree_at_hand_all_is_told_and_marked() {
    let trees = Trees::new().await;
    let agent = trees.world.principal(PrincipalKind::Agent, PROJECT).await;
    let server = ["--url", trees.world.server().base(), "--work-tree", "none"];
    let process = Mcp::process(trees.world.folder(), &server, agent.token());
    change(&trees.trees[0]);
    // The server follows the first work tree, and is asked to hold nothing against it; the third one it does not know.
    let mut agents = [
        trees.begins("one", process).await,
        trees.begins("three", Mcp::http(&agent)).await,
    ];
    for at in &mut agents {
        let told = trees.recall(at).await;
        for entry in [&trees.reader, &trees.writer] {
            assert_eq!(gate(&told, entry), Some("unverifiable"), "{told}");
        }
    }
}
