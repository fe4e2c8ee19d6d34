//! Skills: published where the success of another task repeats, and worth what tasks report.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::world::{promoted, verify};
use crate::harness::{PROJECT, World, phrase};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// Logs what a small fix looks like, in the words of its task alone.
async fn fix(world: &World, task: &str) {
    let records = json!([
        { "level": "tool", "content": "python -m pytest" },
        { "level": "error", "content": "FAILED tests/test_calc.py::test_add - AssertionError: assert -1 == 3\n1 failed, 3 passed in 0.02s" },
        { "level": "thought", "content": "The test test_add fails because add() subtracts. I will use `+` instead of `-`." },
        { "level": "tool", "content": "edit calc.py: replace `a - b` by `a + b`" },
        { "level": "tool", "content": "python -m pytest" },
        { "level": "info", "content": "4 passed in 0.01s" },
    ]);
    let body = json!({ "scope": task, "records": records });
    world.admin().post("/v1/logs", &body).await.ok();
}

/// Fixes, has it verified, and says what became of the skill.
async fn fixed(world: &World, task: &str) -> Value {
    fix(world, task).await;
    let verification = verify(&world.admin(), task, PROJECT).await;
    let report = promoted(&world.admin(), task, &verification).await;
    let products = report["products"].as_array().expect("a report names them");
    let skill = products.iter().find(|one| one["table"] == "skills");
    skill.expect("a verified fix proposes a skill").clone()
}

#[tokio::test]
async fn a_skill_is_published_once_two_tasks_had_the_same_success() {
    let world = World::start().await;
    let [first, second] = [world.task().await, world.task().await];
    let left_out = json!("left_out");
    let once = fixed(&world, &first).await;
    assert_eq!(once["disposition"]["kind"], left_out, "{once}");
    let twice = fixed(&world, &first).await;
    assert_eq!(twice["disposition"]["kind"], left_out, "{twice}");
    let other = fixed(&world, &second).await;
    assert_eq!(other["disposition"]["kind"], "created", "{other}");
    let query = [("id", text(&other["entry"]))];
    let seen = world.admin().get("/v1/entry", &query).await.ok();
    assert_eq!(seen["version"]["skill"]["usage_count"], 0, "{seen}");
}

#[tokio::test]
async fn a_skill_shows_what_tasks_report_of_it() {
    let world = World::start().await;
    let skill = json!({
        "name": "n", "description": "d", "code": "c", "usage_count": 4, "success_rate": 0.5,
    });
    let body = json!({ "scope": PROJECT, "table": "skills", "content": phrase(), "skill": skill });
    let written = world.admin().post("/v1/entries", &body).await.ok();
    for outcome in ["helped", "helped", "wrong", "stale"] {
        let task = world.task().await;
        let agent = world.principal(PrincipalKind::Agent, &task).await;
        let said = json!({ "task": task, "entry": written["entry"], "outcome": outcome });
        agent.post("/v1/reuse", &said).await.ok();
    }
    let query = [("id", text(&written["entry"]))];
    let seen = world.admin().get("/v1/entry", &query).await.ok();
    let skill = &seen["version"]["skill"];
    assert_eq!(skill["usage_count"], 7, "four before, and three reports");
    let rate = skill["success_rate"].as_f64().expect("a number");
    assert!((rate - 4.0 / 7.0).abs() < 1e-9, "(0.5 x 4 + 2) / 7: {rate}");
    assert_eq!(seen["head"]["usage"]["stale"], 1, "which counts nothing");
}
