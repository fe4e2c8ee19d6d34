//! Agents of several worktrees over the tools alone: what failed they are told, and what they remember of code that is gone or
//! lies elsewhere, each by the work tree that it has.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::client::Mcp;
use super::together::{LONGER, Project, SMALLER, begins, told, verdict};
use crate::gate::{READER, WRITER, git};
use crate::harness::{PROJECT, World, phrase};

/// Three work trees of one repository, of which the server follows so many as are asked for.
struct Trees {
    project: Project,
    _folder: tempfile::TempDir,
    trees: [PathBuf; 3],
    word: String,
}

/// What an agent remembers: of what is deleted, and of what is renamed.
struct Known {
    reader: String,
    writer: String,
}

const NAMES: [&str; 3] = ["one", "two", "three"];

fn worktree(name: &str) -> String {
    format!("{PROJECT}/worktree/{name}")
}

fn task(name: &str) -> String {
    format!("{}/task/carts", worktree(name))
}

impl Trees {
    async fn followed(count: usize) -> Self {
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
        let followed = NAMES.iter().zip(&trees).take(count);
        let followed: Vec<String> = followed
            .map(|(name, tree)| format!("\"{}\" = \"{}\"", worktree(name), tree.display()))
            .collect();
        let named = format!("{{ {} }}", followed.join(", "));
        let configure = "SILLOK__GRAPH__WORK_TREES";
        let world = World::start_with(|launch| launch.env(configure, &named)).await;
        Self {
            project: Project::of(world).await,
            _folder: folder,
            trees,
            word: phrase(),
        }
    }

    /// The tools of an agent whose process stands in a work tree.
    async fn within(&self, tree: usize) -> Mcp {
        let tree = self.trees[tree].to_str().expect("the path is UTF-8");
        self.process(tree).await
    }

    async fn process(&self, work_tree: &str) -> Mcp {
        let world = &self.project.world;
        let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
        let server = ["--url", world.server().base(), "--work-tree", work_tree];
        Mcp::process(world.folder(), &server, agent.token())
    }

    /// The tools of an agent over HTTP.
    async fn http(&self) -> Mcp {
        let world = &self.project.world;
        Mcp::http(&world.principal(PrincipalKind::Agent, PROJECT).await)
    }

    /// What an agent remembers in a task of the code of its work tree.
    async fn learns(&self, mcp: &mut Mcp, task: &str) -> Known {
        let reader = self.proposal(task, "skips what is blank", "src/reader.py", 2);
        let writer = self.proposal(task, "appends under a lock", "src/writer.py", 3);
        Known {
            reader: proposed(mcp, reader).await,
            writer: proposed(mcp, writer).await,
        }
    }

    fn proposal(&self, task: &str, text: &str, path: &str, lines: u32) -> Value {
        let source = json!({ "kind": "file", "path": path, "lines": [1, lines] });
        json!({ "scope": task, "content": format!("{} {text}", self.word), "sources": [source] })
    }

    async fn recall(&self, mcp: &mut Mcp, task: &str) -> Value {
        let asked = json!({ "scope": task, "query": self.word });
        mcp.call("recall", asked).await.ok()
    }
}

/// Proposes a memory: its handle.
async fn proposed(mcp: &mut Mcp, proposal: Value) -> String {
    let answer = mcp.call("propose_memory", proposal).await.ok();
    answer["entry"]
        .as_str()
        .expect("an entry has an id")
        .to_owned()
}

fn of<'a>(found: &'a Value, entry: &str) -> Option<&'a Value> {
    let memories = found["memories"].as_array().expect("recall has memories");
    memories.iter().find(|memory| memory["entry"] == entry)
}

fn gate<'a>(found: &'a Value, entry: &str) -> Option<&'a str> {
    of(found, entry)?["gate"].as_str()
}

/// All that an agent remembers is told, with this mark.
#[track_caller]
fn all_are(found: &Value, known: &Known, mark: &str) {
    for entry in [&known.reader, &known.writer] {
        assert_eq!(gate(found, entry), Some(mark), "{found}");
    }
    assert_eq!(found["stale"], Value::Null, "{found}");
}

/// What was deleted is told no more, and what was renamed is told as moved.
#[track_caller]
fn is_changed(found: &Value, known: &Known) {
    assert!(of(found, &known.reader).is_none(), "{found}");
    assert_eq!(found["stale"], 1, "{found}");
    assert_eq!(gate(found, &known.writer), Some("moved"), "{found}");
    let data = of(found, &known.writer).and_then(|memory| memory["data"].as_str());
    assert!(data.is_some_and(|data| data.contains("path=lib/out.py")));
}

/// Deletes what the one memory is about, and renames what the other is about.
fn change(tree: &Path) {
    git(tree, &["rm", "--quiet", "src/reader.py"]);
    fs::create_dir(tree.join("lib")).unwrap();
    git(tree, &["mv", "src/writer.py", "lib/out.py"]);
}

/// An agent that begins another task is warned of what failed in the first one's, by its record, and not stopped.
async fn is_warned(mcp: &mut Mcp, task: &str, (first, failed): (&str, &str)) {
    let begun = begins(mcp, task).await;
    assert_eq!(begun["opened"], true);
    assert!(told(&begun["warnings"]).contains(LONGER), "{begun}");
    let failure = &begun["warnings"][0]["failures"][0];
    assert_eq!(failure["verification"], failed, "{begun}");
    let record = failure["record"].as_str();
    let is_of_first = record.is_some_and(|record| record.starts_with(&format!("{first}#")));
    assert!(is_of_first, "{begun}");
    let checked = verdict(mcp, task, LONGER).await;
    assert_eq!(checked["verdict"], "warn", "{checked}");
}

#[tokio::test]
async fn four_agents_are_warned_and_stopped_and_remember_only_what_is_still_in_their_code() {
    let trees = Trees::followed(0).await;
    let [first, second, shared] = NAMES.map(task);

    // The first one learns something, and fails.
    let mut one = trees.within(0).await;
    let begun = begins(&mut one, &first).await;
    assert_eq!(begun["warnings"], json!([]), "nothing has failed yet");
    assert_eq!(verdict(&mut one, &first, LONGER).await["verdict"], "allow");
    let by_first = trees.learns(&mut one, &first).await;
    let failed = trees.project.fails(&first, LONGER, 1).await;

    let mut two = trees.within(1).await;
    is_warned(&mut two, &second, (&first, &failed)).await;
    let by_second = trees.learns(&mut two, &second).await;

    // The third one fails twice in a task that the fourth one joins, in the same worktree.
    let mut three = trees.within(2).await;
    assert_eq!(begins(&mut three, &shared).await["opened"], true);
    let by_third = trees.learns(&mut three, &shared).await;
    for count in [1, 2] {
        trees.project.fails(&shared, SMALLER, count).await;
    }
    let mut four = trees.within(2).await;
    let begun = begins(&mut four, &shared).await;
    assert_eq!(begun["opened"], false, "they share the task");
    let checked = verdict(&mut four, &shared, SMALLER).await;
    assert_eq!(checked["verdict"], "reject", "{checked}");
    assert!(checked["order"].is_string() && checked["suggestion"].is_string());
    assert_eq!(checked["tried"][0]["task"], shared.as_str(), "{checked}");

    // What the third one wrote, the fourth one is told, for as long as it is so.
    for mcp in [&mut three, &mut four] {
        all_are(&trees.recall(mcp, &shared).await, &by_third, "valid");
    }
    change(&trees.trees[2]);
    for mcp in [&mut three, &mut four] {
        is_changed(&trees.recall(mcp, &shared).await, &by_third);
    }
    // The others have the files still.
    for (mcp, task, known) in [
        (&mut one, &first, &by_first),
        (&mut two, &second, &by_second),
    ] {
        all_are(&trees.recall(mcp, task).await, known, "valid");
    }
}

#[tokio::test]
async fn what_an_agent_writes_is_bound_to_its_work_tree_and_the_same_when_it_is_sent_again() {
    let trees = Trees::followed(0).await;
    let mut mcp = trees.within(0).await;
    let task = task(NAMES[0]);
    begins(&mut mcp, &task).await;
    let mut proposal = trees.proposal(&task, "skips what is blank", "src/reader.py", 2);
    let answer = mcp.call("propose_memory", proposal.clone()).await.ok();
    let entry = answer["entry"].as_str().expect("an entry has an id");
    let query = [("id", entry)];
    let admin = trees.project.world.admin();
    let head = admin.get("/v1/entry", &query).await.ok()["head"].clone();
    let print = head["citations"][0]["fingerprint"].as_str();
    assert_eq!(print.map(str::len), Some(64), "{head}");
    assert_eq!(head["binding"]["kind"], "commit", "{head}");
    // The file is another one by now, and so is the commit.
    fs::write(trees.trees[0].join("src/reader.py"), WRITER).unwrap();
    git(
        &trees.trees[0],
        &["commit", "--quiet", "--all", "-m", "second"],
    );
    proposal["command_id"] = answer["command_id"].clone();
    let again = mcp.call("propose_memory", proposal).await.ok();
    assert_eq!(again, answer);
}

#[tokio::test]
async fn over_http_it_is_the_work_tree_that_the_server_follows() {
    let trees = Trees::followed(2).await;
    let mut agents = Vec::new();
    for (tree, name) in NAMES.iter().enumerate().take(2) {
        let task = task(name);
        let mut writer = trees.within(tree).await;
        begins(&mut writer, &task).await;
        let known = trees.learns(&mut writer, &task).await;
        let mut reader = trees.http().await;
        begins(&mut reader, &task).await;
        all_are(&trees.recall(&mut reader, &task).await, &known, "valid");
        agents.push((reader, task, known));
    }
    change(&trees.trees[0]);
    for (place, (mcp, task, known)) in agents.iter_mut().enumerate() {
        let after = trees.recall(mcp, task).await;
        match place {
            0 => is_changed(&after, known),
            _ => all_are(&after, known, "valid"),
        }
    }
}

#[tokio::test]
async fn without_a_work_tree_at_hand_all_is_told_and_marked() {
    let trees = Trees::followed(2).await;
    // The server follows the first work tree, and is asked to hold nothing against it; the third one it does not know.
    let agents = [(0, trees.process("none").await), (2, trees.http().await)];
    for (tree, mut mcp) in agents {
        let task = task(NAMES[tree]);
        let mut writer = trees.within(tree).await;
        begins(&mut writer, &task).await;
        let known = trees.learns(&mut writer, &task).await;
        change(&trees.trees[tree]);
        begins(&mut mcp, &task).await;
        all_are(&trees.recall(&mut mcp, &task).await, &known, "unverifiable");
    }
}
