//! How a task is ended: the project's command is run by the server's side, and an agent can neither name it nor say how it ended.

use std::time::Duration;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use tempfile::TempDir;

use super::client::Mcp;
use crate::code::comes;
use crate::harness::{Client, PROJECT, World, phrase};

/// A server whose project is verified by a script in the worktree's own folder.
struct Verified {
    world: World,
    trees: TempDir,
}

impl Verified {
    async fn start() -> Self {
        let trees = tempfile::tempdir().expect("there is room for a temporary folder");
        std::fs::create_dir(trees.path().join("main")).expect("the folder is new");
        let config = trees.path().join("config.toml");
        let directory = trees.path().join("{worktree}");
        let text = format!(
            "[[verification.projects]]\nscope = \"{PROJECT}\"\ncommand = [\"sh\", \"check.sh\"]\ndirectory = '{}'\n",
            directory.display()
        );
        std::fs::write(&config, text).expect("the folder is there");
        let world = World::start_with(|launch| launch.env("SILLOK_CONFIG", &config)).await;
        let this = Self { world, trees };
        this.script("echo '3 tests failed' >&2\nexit 1\n");
        this
    }

    /// How often the script was run.
    fn runs(&self) -> usize {
        let lines = std::fs::read_to_string(self.trees.path().join("main/runs"));
        lines.map_or(0, |lines| lines.lines().count())
    }

    async fn until_it_runs(&self) {
        for _ in 0..600 {
            if self.runs() > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the command is run");
    }

    fn script(&self, text: &str) {
        let path = self.trees.path().join("main/check.sh");
        std::fs::write(path, text).expect("the folder is there");
    }
}

/// Asks, without waiting for the answer.
async fn ask(mcp: &mut Mcp, task: &str) -> Value {
    let end = json!({ "task": task, "summary": phrase(), "wait_ms": 0 });
    let asked = mcp.call("end_task", end.clone()).await.ok();
    let mut again = end;
    again["command_id"] = asked["command_id"].clone();
    again["wait_ms"] = json!(60_000);
    again
}

fn position(answered: &Value) -> u64 {
    let request = answered["request"].as_str();
    let position = request.and_then(|request| request.rsplit_once('#'));
    let position = position.expect("a request is SCOPE#SEQ").1;
    position.parse().expect("a position is a number")
}

async fn task(client: &Client, world: &World) -> (Mcp, String) {
    let mut mcp = Mcp::http(client);
    let task = world.unopened();
    let begin = json!({ "task": task, "title": phrase() });
    mcp.call("begin_task", begin).await.ok();
    (mcp, task)
}

#[tokio::test]
async fn ending_a_task_runs_the_projects_command_and_records_what_truly_happened() {
    let verified = Verified::start().await;
    let world = &verified.world;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let (mut mcp, task) = task(&agent, world).await;
    let end = |approach: &str| {
        json!({ "task": task, "summary": phrase(), "approach": approach, "files": ["src/lock.rs"],
        "kind": "bugfix", "wait_ms": 60_000 })
    };
    let approach = "raise the timeout of the lock until the waiting cart is served";
    let failed = mcp.call("end_task", end(approach)).await.ok();
    assert_eq!(failed["state"], "failed", "{failed}");
    assert!(
        failed["data"]
            .as_str()
            .is_some_and(|data| data.contains("3 tests failed"))
    );
    let checked = json!({ "task": task, "approach": approach, "files": ["src/lock.rs"] });
    let checked = mcp.call("check_fix", checked).await.ok();
    assert_eq!(checked["verdict"], "reject", "{checked}");
    let query = [("scope", task.as_str())];
    let recorded = agent.get("/v1/verifications", &query).await.ok();
    assert_eq!(recorded["items"][0]["recorder"]["kind"], "orchestrator");
    // Nobody stores what failed, and whoever looks for failures finds it all the same.
    let failures = [
        ("scope", PROJECT),
        ("query", "raise the timeout"),
        ("failures_only", "true"),
    ];
    let found = agent.get("/v1/patterns/search", &failures).await.ok();
    let pattern = &found["patterns"][0];
    assert_eq!(
        (&pattern["failed"], &pattern["approach"]["text"]),
        (&json!(1), &json!(approach))
    );
    assert_eq!(
        pattern["cited"][0]["verification"],
        recorded["items"][0]["id"]
    );
    verified.script("echo fine\n");
    let passed = mcp.call("end_task", end("take the lock by row")).await.ok();
    assert_eq!(passed["state"], "passed", "{passed}");
    assert!(passed["published"].as_u64() > Some(0), "{passed}");
    let shown = agent.get("/v1/task", &query).await.ok();
    assert_eq!(shown["status"], "done");
    // What it did is left to whoever comes after; one attempt had failed before.
    let sought = [("scope", PROJECT), ("query", "lock by row")];
    let is_there = |found: &Value| found["patterns"][0]["succeeded"] == 1;
    let found = comes(&agent, "/v1/patterns/search", &sought, is_there).await;
    let pattern = &found["patterns"][0];
    assert_eq!(
        (&pattern["kind"], &pattern["failed"]),
        (&json!("bugfix"), &json!(0))
    );
    let cited = &pattern["cited"][0];
    assert_eq!(cited["reward"], 0.5, "{found}");
    let place = cited["record"].as_str().expect("it stands somewhere");
    assert!(place.starts_with(&format!("{task}#")), "{found}");
    // Who ends again what has passed adds no second success, whatever the order of the words. What is left of one request is
    // stored before the next one is answered.
    let again = ["by row, take the lock", "queue the carts"];
    for approach in again {
        let passed = mcp.call("end_task", end(approach)).await.ok();
        assert_eq!(passed["state"], "passed", "{passed}");
    }
    let queued = [("scope", PROJECT), ("query", "queue carts")];
    comes(&agent, "/v1/patterns/search", &queued, is_there).await;
    let found = agent.get("/v1/patterns/search", &sought).await.ok();
    assert_eq!(found["patterns"][0]["succeeded"], 1, "{found}");
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_run_once() {
    let verified = Verified::start().await;
    let world = &verified.world;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let (mut mcp, task) = task(&agent, world).await;
    let mut end = json!({ "task": task, "summary": phrase(), "wait_ms": 0 });
    let asked = mcp.call("end_task", end.clone()).await.ok();
    end["command_id"] = asked["command_id"].clone();
    end["wait_ms"] = json!(60_000);
    for _ in 0..2 {
        let answered = mcp.call("end_task", end.clone()).await.ok();
        assert_eq!(
            (&answered["state"], &answered["request"]),
            (&json!("failed"), &asked["request"])
        );
    }
    let recorded = agent
        .get("/v1/verifications", &[("scope", task.as_str())])
        .await
        .ok();
    assert_eq!(recorded["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn requests_of_one_task_that_wait_are_answered_by_one_run() {
    let verified = Verified::start().await;
    verified.script("echo run >> runs\nsleep 2\nexit 1\n");
    let world = &verified.world;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let (mut mcp, task) = task(&agent, world).await;
    let mut asked = vec![ask(&mut mcp, &task).await];
    verified.until_it_runs().await;
    for _ in 0..4 {
        asked.push(ask(&mut mcp, &task).await);
    }
    for again in asked {
        let answered = mcp.call("end_task", again).await.ok();
        assert_eq!(answered["state"], "failed", "{answered}");
    }
    // Those that came while it ran say nothing that it could have seen.
    assert_eq!(verified.runs(), 2);
    let query = [("scope", task.as_str())];
    let recorded = agent.get("/v1/verifications", &query).await.ok();
    assert_eq!(recorded["items"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn what_is_recorded_and_was_told_to_nobody_is_told_and_not_run_again() {
    let verified = Verified::start().await;
    verified.script("echo run >> runs\nsleep 5\nexit 1\n");
    let world = &verified.world;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let (mut mcp, first) = task(&agent, world).await;
    let held_up = ask(&mut mcp, &first).await;
    verified.until_it_runs().await;
    let (mut mcp, second) = task(&agent, world).await;
    let mut again = ask(&mut mcp, &second).await;
    again["wait_ms"] = json!(0);
    let asked = mcp.call("end_task", again.clone()).await.ok();
    // What a process leaves that ends between the two.
    let recorded = json!({
        "scope": second, "outcome": "failed", "source": "tests_failed", "run": format!("end-{second}#{}", position(&asked)),
        "error": "2 tests failed",
    });
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    let recorded = orchestrator.post("/v1/verifications", &recorded).await.ok();
    again["wait_ms"] = json!(60_000);
    let answered = mcp.call("end_task", again).await.ok();
    assert_eq!(answered["state"], "failed", "{answered}");
    assert_eq!(answered["verification"], recorded["verification"]);
    mcp.call("end_task", held_up).await.ok();
    assert_eq!(verified.runs(), 1);
}

#[tokio::test]
async fn each_approach_of_those_who_are_answered_by_one_run_is_left() {
    let verified = Verified::start().await;
    verified.script("echo run >> runs\nsleep 5\n");
    let world = &verified.world;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let (mut mcp, first) = task(&agent, world).await;
    ask(&mut mcp, &first).await;
    verified.until_it_runs().await;
    let (mut mcp, second) = task(&agent, world).await;
    let approaches = ["take the lock by row", "queue the carts"];
    for approach in approaches {
        let end =
            json!({ "task": second, "summary": phrase(), "approach": approach, "wait_ms": 0 });
        mcp.call("end_task", end).await.ok();
    }
    for approach in approaches {
        let sought = [("scope", PROJECT), ("query", approach)];
        let is_there = |found: &Value| {
            let first = &found["patterns"][0];
            first["approach"]["text"] == approach && first["succeeded"] == 1
        };
        comes(&agent, "/v1/patterns/search", &sought, is_there).await;
    }
    assert_eq!(verified.runs(), 2);
}

#[tokio::test]
async fn what_has_passed_and_was_answered_is_left_by_whoever_comes_after() {
    let verified = Verified::start().await;
    verified.script("echo run >> runs\nsleep 5\nexit 1\n");
    let world = &verified.world;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let (mut mcp, first) = task(&agent, world).await;
    let held_up = ask(&mut mcp, &first).await;
    verified.until_it_runs().await;
    let (mut mcp, second) = task(&agent, world).await;
    let approach = "take the lock by row";
    let end = json!({ "task": second, "summary": phrase(), "approach": approach, "wait_ms": 0 });
    let asked = mcp.call("end_task", end).await.ok();
    // What a process leaves that ends between the answer and the trajectory.
    let request = position(&asked);
    let recorded = json!({ "scope": second, "outcome": "passed", "source": "tests_passed",
        "run": format!("end-{second}#{request}") });
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    orchestrator.post("/v1/verifications", &recorded).await.ok();
    let answer = json!({ "scope": second, "event_type": "end_answered",
        "payload": { "request": request, "outcome": "passed" } });
    orchestrator.post("/v1/memory-events", &answer).await.ok();
    mcp.call("end_task", held_up).await.ok();
    let sought = [("scope", PROJECT), ("query", approach)];
    let is_there = |found: &Value| found["patterns"][0]["succeeded"] == 1;
    comes(&agent, "/v1/patterns/search", &sought, is_there).await;
    assert_eq!(verified.runs(), 1);
}

#[tokio::test]
async fn a_command_sees_nothing_of_the_servers_settings() {
    let verified = Verified::start().await;
    verified.script("env\nexit 1\n");
    let world = &verified.world;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let (mut mcp, task) = task(&agent, world).await;
    let end = json!({ "task": task, "summary": phrase(), "wait_ms": 60_000 });
    let failed = mcp.call("end_task", end).await.ok();
    let seen = failed["data"].as_str().unwrap_or_default();
    assert!(
        seen.contains("PATH=") && !seen.contains("SILLOK_"),
        "{failed}"
    );
}

#[tokio::test]
async fn an_agent_cannot_answer_for_the_orchestrator() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    let (mut mcp, task) = task(&agent, &world).await;
    let mut end = json!({ "task": task, "summary": phrase(), "wait_ms": 0 });
    let asked = mcp.call("end_task", end.clone()).await.ok();
    let request = position(&asked);
    let forged = json!({ "scope": task, "event_type": "end_answered", "payload": { "request": request, "outcome": "passed" } });
    agent.post("/v1/memory-events", &forged).await.ok();
    end["command_id"] = asked["command_id"].clone();
    let answered = mcp.call("end_task", end).await.ok();
    assert_eq!(answered["state"], "requested");
    let shown = agent
        .get("/v1/task", &[("scope", task.as_str())])
        .await
        .ok();
    assert_eq!(shown["status"], "open");
}
