//! What agents write over `sillok mcp` says by itself where it was said.

use std::fs;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::client::Mcp;
use crate::as_of::{commit, git};
use crate::harness::{PROJECT, WORKTREE, World, phrase};

/// An agent's process in a new repository of one file, whose only commit is given, with a task that it has begun.
async fn begin(world: &World, words: &[&str]) -> (Mcp, String, String) {
    let dir = world.folder().join("tree");
    fs::create_dir_all(dir.join("src")).expect("the folder can be written to");
    git(&dir, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(dir.join("src/a.rs"), "fn a() {}\n").expect("the file can be written");
    git(&dir, &["add", "--all"]);
    let hash = commit(&dir, "first");
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let mut server = vec!["--url", world.server().base()];
    server.extend(words);
    let mut mcp = Mcp::process(&dir, &server, agent.token());
    let task = format!("{WORKTREE}/task/bound");
    let begun = json!({ "task": task, "title": "say where it is said" });
    mcp.call("begin_task", begun).await.ok();
    (mcp, task, hash)
}

/// Logs what a tool did to the file, and proposes a memory of it: the record, and the entry's head.
async fn write(world: &World, mcp: &mut Mcp, task: &str) -> (Value, Value) {
    let tool = json!({ "file_path": "src/a.rs" });
    let event = json!({ "task": task, "level": "tool", "content": phrase(), "metadata": tool });
    let logged = mcp.call("log_event", event).await.ok();
    let text = format!("{} is decided in src/a.rs", phrase());
    let memory = json!({ "scope": WORKTREE, "content": text });
    let proposed = mcp.call("propose_memory", memory).await.ok();
    let of = |answer: &Value, name: &str| {
        let id = answer[name].as_str().expect("it has an id");
        id.to_owned()
    };
    let (admin, record) = (world.admin(), of(&logged, "record"));
    let record = admin.get("/v1/record", &[("id", &record)]).await.ok();
    let entry = of(&proposed, "entry");
    let view = admin.get("/v1/entry", &[("id", &entry)]).await.ok();
    (record, view["head"].clone())
}

#[tokio::test]
async fn what_an_agent_writes_is_bound_to_the_work_tree_that_its_process_stands_in() {
    let world = World::start().await;
    let (mut mcp, task, hash) = begin(&world, &[]).await;
    let (record, head) = write(&world, &mut mcp, &task).await;
    for bound in [&record["bound"], &head["binding"]] {
        assert_eq!(bound["place"]["commit"], hash.as_str(), "{bound}");
        assert_eq!(bound["place"]["state"], "clean", "{bound}");
        assert_eq!(bound["files"][0]["path"], "src/a.rs", "{bound}");
    }
}

#[tokio::test]
async fn an_agent_that_is_told_of_no_work_tree_says_nothing_of_one() {
    let world = World::start().await;
    let (mut mcp, task, _) = begin(&world, &["--work-tree", "none"]).await;
    let (record, head) = write(&world, &mut mcp, &task).await;
    assert!(record["bound"].is_null(), "{record}");
    assert_eq!(head["binding"]["kind"], "no_repository", "{head}");
}
