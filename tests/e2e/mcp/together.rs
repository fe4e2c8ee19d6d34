//! Agents that work side by side, over the tools alone: what one of them met, the others are told.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::client::Mcp;
use crate::harness::world::promoted;
use crate::harness::{Client, PROJECT, World};

const SYMPTOM: &str = "Carts wait for the lock until the checkout gives up";
pub(super) const LONGER: &str = "raise the timeout of the connection pool to ninety seconds";
pub(super) const SMALLER: &str = "split each checkout into smaller transactions of one row";
const FILE: &str = "src/pool.rs";

/// A project whose agents all have tokens of their own, and whoever verifies their work.
pub(super) struct Project {
    pub(super) world: World,
    orchestrator: Client,
}

impl Project {
    pub(super) async fn of(world: World) -> Self {
        let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
        Self {
            world,
            orchestrator,
        }
    }

    /// An agent that begins a task: its tools, and what it was told.
    async fn begins(&self, task: &str) -> (Mcp, Value) {
        let agent = self.world.principal(PrincipalKind::Agent, PROJECT).await;
        let mut mcp = Mcp::http(&agent);
        let begun = begins(&mut mcp, task).await;
        (mcp, begun)
    }

    /// Records that an approach failed with an error that the task has met so often by then, and waits until others are told of
    /// it: by which verification.
    pub(super) async fn fails(&self, task: &str, approach: &str, count: u64) -> String {
        let run = format!("run {count} of {task}");
        let verification = json!({ "outcome": "failed", "run": run, "approach": approach, "files": [FILE],
            "error": format!("test checkout failed: {SYMPTOM}") });
        let report = json!({ "task": task, "verification": verification });
        let mut steering = Mcp::http(&self.orchestrator);
        let recorded = steering.call("report_outcome", report).await.ok();
        let verdict = &recorded["verification"];
        assert_eq!(verdict["count"], count, "{recorded}");
        let id = verdict["id"].as_str().expect("it is recorded");
        promoted(&self.orchestrator, task, id).await;
        id.to_owned()
    }
}

/// Begins a task, or joins it: what the agent is told.
pub(super) async fn begins(mcp: &mut Mcp, task: &str) -> Value {
    let begin = json!({ "task": task, "title": SYMPTOM, "at": [format!("file:{FILE}")] });
    mcp.call("begin_task", begin).await.ok()
}

pub(super) async fn verdict(mcp: &mut Mcp, task: &str, approach: &str) -> Value {
    let asked = json!({ "task": task, "approach": approach, "files": [FILE] });
    mcp.call("check_fix", asked).await.ok()
}

pub(super) fn told(list: &Value) -> String {
    let list = list.as_array().expect("a list");
    let texts = list.iter().filter_map(|one| one["data"].as_str());
    texts.collect::<Vec<&str>>().join("\n")
}

#[tokio::test]
async fn agents_are_warned_of_what_failed_elsewhere_and_stopped_where_it_failed_before() {
    let project = Project::of(World::start().await).await;
    let task = |worktree: &str| format!("{PROJECT}/worktree/{worktree}/task/carts");
    let (first, second, shared) = (task("one"), task("two"), task("three"));

    // The first one fails in a task of its own.
    let (mut mcp, begun) = project.begins(&first).await;
    assert_eq!(begun["warnings"], json!([]), "nothing has failed yet");
    assert_eq!(verdict(&mut mcp, &first, LONGER).await["verdict"], "allow");
    let failed = project.fails(&first, LONGER, 1).await;

    // The second one begins another task in another worktree: it is warned, and not stopped.
    let (mut mcp, begun) = project.begins(&second).await;
    assert_eq!(begun["opened"], true);
    let warning = &begun["warnings"][0];
    assert!(told(&begun["warnings"]).contains(LONGER), "{begun}");
    let cited = warning["failures"][0]["record"].as_str();
    let is_of_first = cited.is_some_and(|record| record.starts_with(&format!("{first}#")));
    assert!(is_of_first, "{begun}");
    assert_eq!(warning["failures"][0]["verification"], failed.as_str());
    // What was published of the failure is at hand as well.
    assert!(told(&begun["memories"]).contains(SYMPTOM), "{begun}");
    let checked = verdict(&mut mcp, &second, LONGER).await;
    assert_eq!(checked["verdict"], "warn", "{checked}");
    assert_eq!(checked["tried"][0]["task"], first.as_str());
    assert!(told(&checked["tried"]).contains(LONGER), "{checked}");

    // The third one fails in a task that the fourth one joins.
    let (_, begun) = project.begins(&shared).await;
    assert_eq!(begun["opened"], true);
    project.fails(&shared, SMALLER, 1).await;
    let (mut mcp, begun) = project.begins(&shared).await;
    assert_eq!(begun["opened"], false, "they share the task");
    let checked = verdict(&mut mcp, &shared, SMALLER).await;
    assert_eq!(checked["verdict"], "reject", "{checked}");
    assert!(checked["order"].is_string() && checked["suggestion"].is_string());
    assert_eq!(checked["tried"][0]["task"], shared.as_str());
    // What nobody tried goes on, in the very same file.
    let other = "take an optimistic version column instead of any row lock";
    let checked = verdict(&mut mcp, &shared, other).await;
    assert_eq!(checked["verdict"], "allow", "{checked}");
}
