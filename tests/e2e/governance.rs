//! What people and tasks say of entries: reports of reuse, reviews, and promotions that are taken back.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::world::log;
use crate::harness::{PROJECT, World, phrase};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

async fn put(world: &World, content: &str, value: Option<&str>) -> Value {
    let mut body = json!({ "scope": PROJECT, "content": content });
    if let Some(value) = value {
        body["claim"] = json!({ "key": "http.port", "value": value });
    }
    world.admin().post("/v1/entries", &body).await.ok()
}

async fn head(world: &World, entry: &Value) -> Value {
    let query = [("id", text(entry))];
    world.admin().get("/v1/entry", &query).await.ok()["head"].clone()
}

/// Whether recall finds an entry.
async fn finds(world: &World, query: &str, entry: &Value) -> bool {
    let asked = json!({ "scope": PROJECT, "query": query });
    let answer = world.admin().post("/v1/recall", &asked).await.ok();
    let results = answer["results"].as_array().expect("recall has results");
    results.iter().any(|result| result["entry"] == *entry)
}

fn audited(world: &World) {
    let verdict = world.sillok("audit verify --json").json();
    assert_eq!(verdict["ok"], true, "{verdict}");
}

/// Two entries that contradict one another, the known one first, and the question about them.
async fn contradicting(world: &World, content: &str) -> (Value, Value, String) {
    let known = put(world, content, Some("80")).await["entry"].clone();
    let new = put(world, content, Some("81")).await["entry"].clone();
    let waiting = world
        .run(&["review", "list", "--json", "--scope", PROJECT])
        .json();
    let [review] = waiting.as_array().expect("a list").as_slice() else {
        panic!("{waiting}")
    };
    assert_eq!(
        (&review["question"], &review["new"], &review["known"]),
        (&json!("contradiction"), &new, &known)
    );
    (known, new, text(&review["id"]).to_owned())
}

#[tokio::test]
async fn a_question_is_shown_with_its_evidence_side_by_side() {
    let world = World::start().await;
    let content = phrase();
    let (_, _, id) = contradicting(&world, &content).await;
    let shown = world
        .run(&["review", "show", "--json", "--scope", PROJECT, &id])
        .json();
    let sides = shown["entries"].as_array().expect("both sides");
    assert_eq!(sides.len(), 2);
    for (side, value) in sides.iter().zip(["81", "80"]) {
        assert_eq!(side["version"]["claim"]["value"], value);
        let cited = side["head"]["citations"].as_array();
        assert!(cited.is_some_and(|all| !all.is_empty()), "{side}");
    }
    let person = world.run(&["review", "show", "--scope", PROJECT, &id]);
    person.ended(0);
    let says = |text: &str| assert!(person.stdout.contains(text), "{person:?}");
    says(&content);
    says("which holds");
}

#[tokio::test]
async fn a_person_settles_a_contradiction_at_the_command_line() {
    let world = World::start().await;
    let content = phrase();
    let (known, new, id) = contradicting(&world, &content).await;
    let keep = [
        "review",
        "approve",
        "--json",
        "--scope",
        PROJECT,
        &id,
        "--keep",
        text(&known),
        "--reason",
        "port 80 it is",
    ];
    let answered = world.run(&keep).json();
    assert_eq!((&answered["kept"], &answered["retired"]), (&known, &new));
    assert_eq!(head(&world, &new).await["status"], "deprecated");
    assert_eq!(head(&world, &known).await["trust"]["validation_count"], 2);
    assert!(finds(&world, &content, &known).await && !finds(&world, &content, &new).await);
    let list = ["review", "list", "--json", "--scope", PROJECT];
    assert_eq!(world.run(&list).json(), json!([]));
    let all = world.run(&[&list[..], &["--answered"]].concat()).json();
    assert_eq!(all[0]["answer"]["approved"], true);
    let admin = world.admin();
    let again = json!({ "scope": PROJECT, "review": id, "approve": false, "reason": "no" });
    let again = admin.post("/v1/reviews/answer", &again).await;
    again.refused(409, "conflict");
    let odd = json!({ "scope": PROJECT, "review": "nothing", "approve": false, "reason": "no" });
    let odd = admin.post("/v1/reviews/answer", &odd).await;
    odd.refused(400, "invalid_id");
    audited(&world);
}

#[tokio::test]
async fn a_person_is_asked_about_a_key_with_two_values_however_far_apart_the_texts_are() {
    let world = World::start().await;
    let far = "The HTTP client waits thirty seconds";
    let known = put(&world, far, Some("30s")).await["entry"].clone();
    // These lie closer to the next one, and declare nothing.
    for number in 0..20 {
        let content = format!("Requests are aborted early by default, in round {number}");
        put(&world, &content, None).await;
    }
    let new = put(&world, "Requests are aborted early by default", Some("10s")).await;
    let against = json!({ "kind": "contradicts", "other": known });
    assert_eq!(new["disposition"], against, "{new}");
    // One of a table whose entries are never compared otherwise.
    let trap = json!({ "scope": PROJECT, "table": "gotchas", "content": "Slow servers are given up on",
        "claim": { "key": "http.port", "value": "5s" } });
    let trap = world.admin().post("/v1/entries", &trap).await.ok();
    assert_eq!(trap["disposition"]["kind"], "contradicts", "{trap}");
    let waiting = world.admin().all("/v1/reviews", PROJECT).await;
    let asks = |new: &Value| {
        let mut waiting = waiting.iter();
        waiting.any(|review| review["question"] == "contradiction" && review["new"] == *new)
    };
    assert!(asks(&new["entry"]) && asks(&trap["entry"]), "{waiting:?}");
    audited(&world);
}

#[tokio::test]
async fn tasks_publish_what_helps_them_and_doubt_what_is_wrong() {
    let world = World::start().await;
    let content = phrase();
    let entry = put(&world, &content, None).await["entry"].clone();
    let mut last = Value::Null;
    for _ in 0..3 {
        let task = world.task().await;
        // An agent whose token reaches no further than its task.
        let agent = world.principal(PrincipalKind::Agent, &task).await;
        let body = json!({ "task": task, "entry": entry, "outcome": "helped" });
        last = agent.post("/v1/reuse", &body).await.ok();
        let foreign = json!({ "task": world.task().await, "entry": entry, "outcome": "helped" });
        agent
            .post("/v1/reuse", &foreign)
            .await
            .refused(403, "forbidden");
    }
    assert_eq!(
        (&last["status"], &last["usage"]["helped"]),
        (&json!("published"), &json!(3))
    );
    let mut raised = Value::Null;
    for _ in 0..2 {
        let task = world.task().await;
        let line = ["report", text(&entry), "wrong", "--scope", &task, "--json"];
        raised = world.run(&line).json()["review"].clone();
    }
    let review = text(&raised);
    let reject = [
        "review",
        "reject",
        "--json",
        "--scope",
        PROJECT,
        review,
        "--reason",
        "it is right",
    ];
    world.run(&reject).json();
    assert_eq!(head(&world, &entry).await["status"], "published");
    for _ in 0..2 {
        let task = world.task().await;
        let body = json!({ "task": task, "entry": entry, "outcome": "wrong" });
        raised = world.admin().post("/v1/reuse", &body).await.ok()["review"].clone();
    }
    assert!(finds(&world, &content, &entry).await);
    let approve =
        json!({ "scope": PROJECT, "review": raised, "approve": true, "reason": "they are right" });
    let answered = world
        .admin()
        .post("/v1/reviews/answer", &approve)
        .await
        .ok();
    assert_eq!(answered["retired"], entry);
    assert!(!finds(&world, &content, &entry).await);
    audited(&world);
}

/// Has a fact of a promotion take the place of what a person puts down: both, the old one first.
async fn replaced_by_a_fact(world: &World, known: &str, report: &Value) -> (Value, Value) {
    let replaced = put(world, known, None).await["entry"].clone();
    let products = report["products"].as_array().expect("a list");
    let fact = products.iter().find(|one| one["table"] == "observations");
    let fact = fact.expect("the log states a fact")["entry"].clone();
    let body = json!({ "old": replaced, "expected_version": 1, "new": fact, "reason": "verified" });
    let admin = world.admin();
    admin.post("/v1/entries/supersede", &body).await.ok();
    (replaced, fact)
}

/// Whether a promotion that is done stands as one that was taken back.
async fn is_undone(world: &World, task: &str, verification: &str) -> bool {
    let query = [("scope", task), ("verification", verification)];
    let stands = world.admin().get("/v1/promotions", &query).await.ok();
    assert_eq!(stands["state"], "done", "{stands}");
    stands["undone"] == true
}

#[tokio::test]
async fn a_promotion_that_is_taken_back_leaves_recall_and_gives_back_what_it_replaced() {
    let mut world = World::start().await;
    let (task, content) = (world.task().await, format!("The build needs {}.", phrase()));
    log(&world.admin(), &task, &content).await;
    let old = put(&world, &phrase(), None).await["entry"].clone();
    let verification = crate::harness::world::verify(&world.admin(), &task, PROJECT).await;
    let report = crate::harness::world::promoted(&world.admin(), &task, &verification).await;
    let episode = report["episode"].clone();
    let body = json!({ "old": old, "expected_version": 1, "new": null, "reason": "newer",
        "replacement": { "content": phrase() } });
    let newer = world
        .admin()
        .post("/v1/entries/supersede", &body)
        .await
        .ok()["new"]
        .clone();

    let line = [
        "undo",
        &verification,
        "--scope",
        &task,
        "--reason",
        "wrong branch",
        "--json",
    ];
    let known = phrase();
    let (replaced, fact) = replaced_by_a_fact(&world, &known, &report).await;
    assert!(finds(&world, &content, &fact).await && !finds(&world, &known, &replaced).await);

    assert!(!is_undone(&world, &task, &verification).await);
    let undone = world.run(&line).json();
    assert!(is_undone(&world, &task, &verification).await);
    let retired = undone["retired"].as_array().expect("a list");
    assert!(
        retired.contains(&episode) && retired.contains(&fact),
        "{undone}"
    );
    assert_eq!(undone["restored"], json!([replaced]));
    assert_eq!(undone["target"], PROJECT);
    assert!(finds(&world, &known, &replaced).await && !finds(&world, &content, &fact).await);
    for entry in retired {
        assert_eq!(head(&world, entry).await["status"], "archived");
    }
    // What it did not make is left alone.
    assert_eq!(head(&world, &newer).await["status"], "verified");
    let again = json!({ "scope": task, "verification": verification, "reason": "once more" });
    world
        .admin()
        .post("/v1/promotions/undo", &again)
        .await
        .refused(409, "conflict");
    let unknown =
        json!({ "scope": world.task().await, "verification": verification, "reason": "none" });
    world
        .admin()
        .post("/v1/promotions/undo", &unknown)
        .await
        .refused(404, "not_found");
    audited(&world);

    // It stays taken back: after a restart, and in a view that is made anew.
    world.stop();
    world.sillok("rebuild --json").json();
    world.start_again().await;
    for entry in retired {
        assert_eq!(head(&world, entry).await["status"], "archived");
    }
    audited(&world);
}

#[tokio::test]
async fn a_state_holds_until_it_is_resolved() {
    let world = World::start().await;
    let content = phrase();
    let body = json!({ "scope": PROJECT, "content": content, "table": "gotchas" });
    let state = world.admin().post("/v1/entries", &body).await.ok()["entry"].clone();
    assert!(finds(&world, &content, &state).await);
    let line = [
        "entry",
        "resolve",
        text(&state),
        "--expected-version",
        "1",
        "--reason",
        "fixed",
        "--json",
    ];
    let resolved = world.run(&line).json();
    assert_eq!(resolved["status"], "deprecated");
    assert!(!finds(&world, &content, &state).await);
    let again = json!({ "entry": state, "expected_version": 1, "reason": "fixed" });
    world
        .admin()
        .post("/v1/entries/resolve", &again)
        .await
        .refused(409, "conflict");
    audited(&world);
}

#[tokio::test]
async fn maintenance_says_what_it_would_do_and_leaves_what_is_young() {
    let world = World::start().await;
    let content = phrase();
    let entry = put(&world, &content, None).await["entry"].clone();
    let before = world.admin().get("/v1/status", &[]).await.ok()["events"].clone();
    let planned = world.run(&["maintain", "--dry-run", "--json"]).json();
    assert_eq!(
        (&planned["looked_at"], &planned["optimised"]),
        (&json!(1), &json!(false))
    );
    let done = world.run(&["maintain", "--json"]).json();
    assert_eq!(
        (&done["scopes"], &done["optimised"]),
        (&json!([]), &json!(true))
    );
    let after = world.admin().get("/v1/status", &[]).await.ok()["events"].clone();
    assert_eq!(before, after, "nothing was due");
    assert!(finds(&world, &content, &entry).await);
    let status = world.admin().get("/v1/status", &[]).await.ok();
    let run = &status["maintenance"];
    assert_eq!(
        (&run["retired"], &run["asks"]),
        (&json!(0), &json!(0)),
        "{status}"
    );
    assert!(
        run["ended"].as_u64().is_some() && status["maintenance_due"].as_u64().is_some(),
        "{status}"
    );
    let odd = json!({ "only": ["sweep"] });
    let odd = world.admin().post("/v1/maintenance", &odd).await;
    odd.refused(400, "invalid_argument");
    let human = world.principal(PrincipalKind::Human, PROJECT).await;
    let denied = human.post("/v1/maintenance", &json!({})).await;
    denied.refused(403, "forbidden");
    audited(&world);
}
