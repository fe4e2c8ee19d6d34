//! Fixes that failed, through real servers: what was tried is told to every agent of the task that tries it again, in whatever
//! words, and to nobody outside of the project.

mod errors;
mod shared;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::{Client, PROJECT, World, world};

/// An approach: in words, with the files and the symbols that it touches.
type Approach = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// What is tried.
const TRIED: Approach = (
    "Increase the read timeout to 60 seconds",
    &["src/http.rs"],
    &["Client::read"],
);
/// The same in other words.
const AGAIN: Approach = (
    "Raise Client::read's timeout so that reading may take longer",
    &["./src/http.rs"],
    &["Client::read"],
);
/// Another idea for the same place.
const ANOTHER: Approach = (
    "Open a new connection for each request",
    &["src/http.rs"],
    &["Client::read"],
);
/// What is tried, but for one word.
const NEAR: Approach = (
    "Increase the pool timeout to 60 seconds",
    &["src/http.rs"],
    &["Client::read"],
);
/// How what is tried fails.
const TIMED_OUT: &str = "TimeoutError: the read timed out";
/// How it fails otherwise.
const REFUSED: &str = "ConnectionError: nothing answers";
/// What an agent is told that does not get on.
const STOP: &str = "Stop! The same way will not solve it. Find another strategy or ask a person.";

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// A failed verification of a task, as it is recorded.
fn failure(task: &str, error: &str, (approach, files, symbols): Approach) -> Value {
    let run = format!("run-{}", world::next());
    json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": run, "error": error,
        "approach": approach, "files": files, "symbols": symbols })
}

/// Records that an approach failed with an error: what follows from the error.
async fn fails(client: &Client, task: &str, error: &str, approach: Approach) -> Value {
    let body = failure(task, error, approach);
    let recorded = client.post("/v1/verifications", &body).await.ok();
    recorded["judged"].clone()
}

/// What is asked of an approach.
fn question(task: &str, (approach, files, symbols): Approach) -> Value {
    json!({ "scope": task, "approach": approach, "files": files, "symbols": symbols })
}

/// Asks whether an approach failed before.
async fn check(client: &Client, task: &str, approach: Approach) -> Value {
    let asked = question(task, approach);
    client.post("/v1/fixes/check", &asked).await.ok()
}

/// All approaches to a task that failed.
async fn failed(client: &Client, task: &str) -> Vec<Value> {
    client.all("/v1/fixes/failed", task).await
}

/// Asserts that nothing speaks against an approach.
#[track_caller]
fn is_allowed(checked: &Value) {
    assert_eq!(*checked, json!({ "verdict": "allow" }));
}

fn audited(world: &World) {
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

#[tokio::test]
async fn an_approach_that_failed_is_rejected_in_whatever_words_and_another_idea_is_not() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let agent = world.principal(PrincipalKind::Agent, &task).await;
    for approach in [TRIED, AGAIN, ANOTHER] {
        is_allowed(&check(&agent, &task, approach).await);
    }
    fails(&admin, &task, TIMED_OUT, TRIED).await;
    for approach in [TRIED, AGAIN] {
        let told = check(&agent, &task, approach).await;
        assert_eq!(
            (&told["verdict"], &told["order"]),
            (&json!("reject"), &json!(STOP))
        );
        let [tried] = told["tried"]
            .as_array()
            .expect("what failed is told")
            .as_slice()
        else {
            panic!("{told}")
        };
        assert_eq!(tried["task"], task.as_str());
        assert_eq!(tried["approach"]["text"], TRIED.0);
        assert_eq!(tried["approach"]["files"], json!(TRIED.1));
        assert_eq!(tried["approach"]["symbols"], json!(TRIED.2));
        assert_eq!(
            (&tried["attempts"], &tried["reasons"]),
            (&json!(1), &json!([TIMED_OUT]))
        );
        assert!(tried["similarity"].as_f64() > Some(0.3), "{tried}");
        assert_eq!(tried["likeness"], "one");
        assert_eq!(
            (&tried["shared_files"], &tried["shared_symbols"]),
            (&json!(TRIED.1), &json!(TRIED.2))
        );
        let suggestion = "This approach failed once in this task: “TimeoutError: the read timed out”. \
            It touched “src/http.rs”, “Client::read”: the cause may lie elsewhere. \
            Try another approach, or ask a person to step in.";
        assert_eq!(text(&told["suggestion"]), suggestion);
    }
    is_allowed(&check(&agent, &task, ANOTHER).await);

    // Who does it all the same adds to it: another attempt, and another reason.
    fails(&admin, &task, REFUSED, AGAIN).await;
    let told = check(&agent, &task, TRIED).await;
    let tried = &told["tried"][0];
    assert_eq!(tried["attempts"], 2, "{told}");
    assert_eq!(tried["reasons"], json!([REFUSED, TIMED_OUT]));
    assert_eq!(tried["approach"]["text"], TRIED.0, "the most alike");
    let suggestion = text(&told["suggestion"]);
    assert!(suggestion.contains("failed 2 times in this task"), "{told}");
    assert!(
        suggestion.contains("look for the cause elsewhere"),
        "{told}"
    );
    let listed = failed(&agent, &task).await;
    assert_eq!(tried["last"], listed[1]["at"], "{listed:?}");
    let words: Vec<&str> = listed
        .iter()
        .map(|one| text(&one["approach"]["text"]))
        .collect();
    assert_eq!(words, [TRIED.0, AGAIN.0]);
    audited(&world);
}

#[tokio::test]
async fn what_differs_in_one_word_from_what_failed_warns_and_is_never_rejected_for_that() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let beside = format!("{PROJECT}/worktree/side/task/t");
    world::open(&admin, &beside).await;
    fails(&admin, &task, TIMED_OUT, NEAR).await;
    for scope in [&task, &beside] {
        let told = check(&admin, scope, TRIED).await;
        assert_eq!(told["verdict"], "warn", "{told}");
        let tried = &told["tried"][0];
        assert_eq!(
            (&tried["likeness"], &tried["approach"]["text"]),
            (&json!("near"), &json!(NEAR.0))
        );
        assert_eq!(tried["reasons"], json!([TIMED_OUT]));
        let suggestion = text(&told["suggestion"]);
        assert!(
            suggestion.starts_with("An approach that differs from it"),
            "{told}"
        );
    }
    // Once the same failed as well, that decides.
    fails(&admin, &task, REFUSED, TRIED).await;
    let told = check(&admin, &task, TRIED).await;
    assert_eq!(told["verdict"], "reject", "{told}");
    let tried = told["tried"]
        .as_array()
        .expect("what failed is told")
        .iter();
    let likeness: Vec<&str> = tried.map(|tried| text(&tried["likeness"])).collect();
    assert_eq!(likeness, ["one", "near"]);
    audited(&world);
}

#[tokio::test]
async fn fixes_that_share_nothing_but_what_every_fix_says_are_different_ones() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let boilerplate: [Approach; 3] = [
        (
            "Fix the failing test by updating the code to stream the body in chunks",
            &["src/body.rs"],
            &["Body::poll"],
        ),
        (
            "Fix the failing test by updating the code to check the header first",
            &["src/body.rs"],
            &["Body::poll"],
        ),
        (
            "Fix the failing test by updating the code to retry what was refused",
            &["src/retry.rs"],
            &["Retry::run"],
        ),
    ];
    for approach in boilerplate {
        // Each is new, whatever failed before it, and then it is known.
        is_allowed(&check(&admin, &task, approach).await);
        fails(&admin, &task, TIMED_OUT, approach).await;
        let told = check(&admin, &task, approach).await;
        assert_eq!(told["verdict"], "reject", "{told}");
        assert_eq!(told["tried"].as_array().map(Vec::len), Some(1), "{told}");
        assert_eq!(told["tried"][0]["attempts"], 1, "{told}");
    }
    assert_eq!(failed(&admin, &task).await.len(), boilerplate.len());
}

#[tokio::test]
async fn what_succeeded_is_no_approach_that_failed_nor_is_one_that_nobody_told() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let passed = json!({ "scope": task, "outcome": "passed", "source": "tests_passed", "run": "r1",
        "approach": TRIED.0 });
    let recorded = admin.post("/v1/verifications", &passed).await.ok();
    assert!(recorded["judged"].is_null(), "{recorded}");
    is_allowed(&check(&admin, &task, TRIED).await);
    // An error without an approach is judged, and lists nothing.
    let untold = json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r2",
        "error": TIMED_OUT });
    let recorded = admin.post("/v1/verifications", &untold).await.ok();
    assert_eq!(recorded["judged"]["reason"], "new", "{recorded}");
    assert!(failed(&admin, &task).await.is_empty());
    // An approach without an error is listed, and nothing is judged.
    let mute = json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r3",
        "approach": TRIED.0 });
    let recorded = admin.post("/v1/verifications", &mute).await.ok();
    assert!(recorded["judged"].is_null(), "{recorded}");
    let listed = failed(&admin, &task).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["verification"], recorded["verification"]);
    assert_eq!(
        (&listed[0]["reason"], &listed[0]["approach"]),
        (&json!(""), &json!({ "text": TRIED.0 }))
    );
    audited(&world);
}

#[tokio::test]
async fn a_passed_verification_clears_what_failed_and_who_tries_it_again_is_warned() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    for count in 1..=2 {
        let judged = fails(&admin, &task, TIMED_OUT, TRIED).await;
        assert_eq!(judged["count"], count, "{judged}");
    }
    world::verify(&admin, &task, PROJECT).await;
    let told = check(&admin, &task, AGAIN).await;
    assert_eq!(told["verdict"], "warn", "{told}");
    assert_eq!(
        text(&told["order"]),
        "Careful: this failed before. See what is different now before you go on."
    );
    assert_eq!(
        (&told["tried"][0]["task"], &told["tried"][0]["attempts"]),
        (&json!(task), &json!(2))
    );
    // The count begins anew, and what fails now is told before what failed then.
    let judged = fails(&admin, &task, TIMED_OUT, TRIED).await;
    assert_eq!(
        (&judged["reason"], &judged["count"]),
        (&json!("new"), &json!(1))
    );
    let told = check(&admin, &task, AGAIN).await;
    assert_eq!(told["verdict"], "reject", "{told}");
    let tried = told["tried"]
        .as_array()
        .expect("what failed is told")
        .iter();
    let attempts: Vec<&Value> = tried.map(|tried| &tried["attempts"]).collect();
    assert_eq!(attempts, [1, 2], "{told}");
    assert_eq!(failed(&admin, &task).await.len(), 3, "nothing is forgotten");
    audited(&world);
}

#[tokio::test]
async fn what_failed_in_another_task_of_the_project_warns_and_in_another_project_says_nothing() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let beside = format!("{PROJECT}/worktree/side/task/t");
    let foreign = "org/acme/project/other/worktree/main/task/t";
    for scope in [beside.as_str(), foreign] {
        world::open(&admin, scope).await;
    }
    fails(&admin, &task, TIMED_OUT, TRIED).await;
    // Whoever works beside is told which task it was, and sees no more of that.
    let agent = world.principal(PrincipalKind::Agent, &beside).await;
    let told = check(&agent, &beside, AGAIN).await;
    assert_eq!(told["verdict"], "warn", "{told}");
    assert_eq!(
        (&told["tried"][0]["task"], &told["tried"][0]["reasons"]),
        (&json!(task), &json!([TIMED_OUT]))
    );
    is_allowed(&check(&agent, &beside, ANOTHER).await);
    for path in ["/v1/fixes/failed", "/v1/records", "/v1/verifications"] {
        let denied = agent.get(path, &[("scope", &task)]).await;
        assert_eq!(denied.refused(403, "forbidden")["rule"], "token/scope");
    }
    let denied = agent.post("/v1/fixes/check", &question(&task, AGAIN)).await;
    assert_eq!(denied.refused(403, "forbidden")["rule"], "token/scope");
    is_allowed(&check(&admin, foreign, AGAIN).await);
    // What failed in one's own task stands first.
    fails(&admin, &beside, REFUSED, AGAIN).await;
    fails(&admin, foreign, REFUSED, AGAIN).await;
    let tasks = async |scope: &str| {
        let told = check(&admin, scope, TRIED).await;
        assert_eq!(told["verdict"], "reject", "{told}");
        let tried = told["tried"]
            .as_array()
            .expect("what failed is told")
            .iter();
        tried
            .map(|tried| text(&tried["task"]).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(tasks(&beside).await, [beside.as_str(), &task]);
    assert_eq!(tasks(&task).await, [task.as_str(), &beside]);
    assert_eq!(tasks(foreign).await, [foreign]);
    // An error is counted in its own task alone.
    let judged = fails(&admin, &beside, TIMED_OUT, ANOTHER).await;
    assert_eq!(
        (&judged["reason"], &judged["count"]),
        (&json!("new"), &json!(1))
    );
}

#[tokio::test]
async fn a_stuck_task_takes_no_fix_until_it_is_cleared() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let agent = world.principal(PrincipalKind::Agent, PROJECT).await;
    fails(&admin, &task, TIMED_OUT, TRIED).await;
    is_allowed(&check(&agent, &task, ANOTHER).await);
    let stuck = json!({ "scope": task, "reason": "Nobody knows why the server is slow." });
    agent.post("/v1/tasks/stuck", &stuck).await.ok();
    for (approach, tried) in [(ANOTHER, 0), (TRIED, 1)] {
        let told = check(&agent, &task, approach).await;
        assert_eq!(
            (&told["verdict"], &told["order"]),
            (&json!("block"), &json!(STOP))
        );
        assert_eq!(told["stuck"], stuck["reason"]);
        let suggestion = text(&told["suggestion"]);
        assert!(
            suggestion.contains("ask an orchestrator or a person"),
            "{told}"
        );
        let found = told["tried"].as_array().map_or(0, Vec::len);
        assert_eq!(found, tried, "{told}");
    }
    // What fails meanwhile is recorded and counted, and opens nothing.
    let judged = fails(&admin, &task, TIMED_OUT, AGAIN).await;
    assert_eq!(
        (&judged["verdict"], &judged["reason"], &judged["count"]),
        (&json!("block"), &json!("stuck"), &json!(2))
    );
    assert_eq!(text(&judged["order"]), STOP);
    assert_eq!(check(&agent, &task, ANOTHER).await["verdict"], "block");
    let cleared = json!({ "scope": task });
    let denied = agent.post("/v1/tasks/unstick", &cleared).await;
    assert_eq!(
        denied.refused(403, "forbidden")["rule"],
        "control/clear_stuck"
    );
    let orchestrator = world.principal(PrincipalKind::Orchestrator, PROJECT).await;
    orchestrator.post("/v1/tasks/unstick", &cleared).await.ok();
    is_allowed(&check(&agent, &task, ANOTHER).await);
    let told = check(&agent, &task, TRIED).await;
    assert_eq!(
        (&told["verdict"], &told["stuck"]),
        (&json!("reject"), &Value::Null)
    );
    assert_eq!(told["tried"][0]["attempts"], 2);
    // A passed verification frees it as well.
    agent.post("/v1/tasks/stuck", &stuck).await.ok();
    assert_eq!(check(&agent, &task, ANOTHER).await["verdict"], "block");
    world::verify(&admin, &task, PROJECT).await;
    is_allowed(&check(&agent, &task, ANOTHER).await);
    audited(&world);
}

#[tokio::test]
async fn an_agent_is_told_in_the_language_that_is_asked_for_and_korean_is_understood() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let tried: Approach = (
        "읽기 타임아웃을 60초로 늘린다",
        &["src/http.rs"],
        &["Client::read"],
    );
    let again: Approach = (
        "타임아웃 값을 증가시킨다",
        &["src/http.rs"],
        &["Client::read"],
    );
    let another: Approach = (
        "응답을 캐시에 저장한다",
        &["src/http.rs"],
        &["Client::read"],
    );
    fails(&admin, &task, TIMED_OUT, tried).await;
    is_allowed(&check(&admin, &task, another).await);
    let ask = async |approach: Approach, language: &str| {
        let mut asked = question(&task, approach);
        asked["language"] = json!(language);
        let told = admin.post("/v1/fixes/check", &asked).await.ok();
        (text(&told["verdict"]).to_owned(), told["order"].clone())
    };
    let stop = "멈춰! 같은 방법으로는 해결 안 돼. 다른 전략을 찾거나 사람에게 물어봐";
    assert_eq!(
        ask(again, "korean").await,
        ("reject".to_owned(), json!(stop))
    );
    assert_eq!(
        ask(again, "english").await,
        ("reject".to_owned(), json!(STOP))
    );
    assert_eq!(
        ask(another, "korean").await,
        ("allow".to_owned(), Value::Null)
    );
    world::verify(&admin, &task, PROJECT).await;
    let (verdict, careful) = ask(again, "korean").await;
    assert_eq!(verdict, "warn");
    assert!(text(&careful).starts_with("주의:"), "{careful}");
    let stuck = json!({ "scope": world.task().await, "reason": "모른다" });
    admin.post("/v1/tasks/stuck", &stuck).await.ok();
    let mut asked = question(text(&stuck["scope"]), another);
    asked["language"] = json!("korean");
    let told = admin.post("/v1/fixes/check", &asked).await.ok();
    assert_eq!(
        (&told["verdict"], &told["order"]),
        (&json!("block"), &json!(stop))
    );
    assert_eq!(told["stuck"], "모른다");
}

#[tokio::test]
async fn a_server_tells_agents_in_the_language_that_it_is_set_to_unless_another_is_asked_for() {
    let world = World::start_with(|launch| launch.env("SILLOK__SERVER__LANGUAGE", "korean")).await;
    let (admin, task) = (world.admin(), world.task().await);
    for _ in 0..2 {
        fails(&admin, &task, TIMED_OUT, TRIED).await;
    }
    let judged = fails(&admin, &task, TIMED_OUT, TRIED).await;
    assert_eq!(judged["verdict"], "block");
    assert!(text(&judged["order"]).starts_with("멈춰!"), "{judged}");
    let told = check(&admin, &task, AGAIN).await;
    assert!(text(&told["order"]).starts_with("멈춰!"), "{told}");
    let mut asked = question(&task, AGAIN);
    asked["language"] = json!("english");
    let told = admin.post("/v1/fixes/check", &asked).await.ok();
    assert_eq!(told["order"], STOP);
}

#[tokio::test]
async fn secrets_of_what_failed_are_masked_wherever_it_is_told() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let body = json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r",
        "error": format!("PermissionError: denied to {secret}"),
        "approach": format!("Send {secret} as the token"),
        "files": [format!("src/{secret}.rs")], "symbols": [secret] });
    admin.post("/v1/verifications", &body).await.ok();
    let listed = failed(&admin, &task).await;
    let mut asked = listed[0]["approach"].clone();
    asked["approach"] = asked["text"].take();
    asked["scope"] = json!(task);
    asked.as_object_mut().expect("an object").remove("text");
    let told = admin.post("/v1/fixes/check", &asked).await;
    let listed = admin.get("/v1/fixes/failed", &[("scope", &task)]).await;
    let events = admin.get("/v1/events", &[("scope", &task)]).await;
    for reply in [told, listed, events] {
        assert!(!reply.text.contains(secret), "{}", reply.text);
        assert!(reply.text.contains("as the token"), "{}", reply.text);
        reply.ok();
    }
}

#[tokio::test]
async fn the_document_names_what_is_asked_about_fixes_as_reads() {
    let world = World::start().await;
    let document = world.admin().get("/v1/openapi.json", &[]).await.ok();
    for (path, method, name) in [
        ("/v1/fixes/check", "post", "check_fix"),
        ("/v1/fixes/failed", "get", "list_failed_approaches"),
    ] {
        let operation = &document["paths"][path][method];
        assert_eq!(operation["operationId"], name, "{operation}");
        assert_eq!(operation["tags"], json!(["fixes"]), "{operation}");
        assert_eq!(operation["x-sillok-access"], json!(["read"]), "{operation}");
    }
    let verdicts = &document["components"]["schemas"]["Verdict"]["enum"];
    assert_eq!(*verdicts, json!(["allow", "warn", "block", "reject"]));
    let kinds = &document["components"]["schemas"]["EventKind"]["enum"];
    let kinds = kinds.as_array().expect("it lists them");
    assert!(kinds.contains(&json!("FIX_FAILED")), "{kinds:?}");
}
