//! Requests that are not well-formed: scopes, ids, JSON, UTF-8, fields.

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use super::refused;
use crate::harness::{PROJECT, World};

#[tokio::test]
async fn a_wrong_scope_is_refused_by_every_route_that_names_one() {
    let world = World::start().await;
    let long = format!("org/{}", "x".repeat(129));
    let wrong = [
        "",
        "org",
        "org/",
        "acme",
        "org/acme/",
        "/org/acme",
        "org/acme/task/x",
        "org/acme/project",
        "org/..",
        "org/acme/project/.",
        "org/a b",
        "org/ä",
        "org/acme/project/api/worktree/main/x/y",
        "org/acme//project/api",
        "ORG/acme",
        "*",
        &long,
    ];
    let mut routes = 0;
    for good in world.good_requests().await {
        if good.sample.body["scope"].is_null() {
            continue;
        }
        routes += 1;
        for scope in wrong {
            let mut body = good.sample.body.clone();
            body["scope"] = json!(scope);
            refused(
                &world,
                good.sender.post(&good.sample.route, &body),
                400,
                "invalid_scope",
            )
            .await;
        }
        // What was spoilt was good before.
        let answer = good
            .sender
            .post(&good.sample.route, &good.sample.body)
            .await
            .ok();
        good.sample.settle(&good.sender, &answer).await;
    }
    assert!(routes >= 11, "most routes name a scope");
}

#[tokio::test]
async fn a_wrong_id_is_refused_by_every_route_that_names_one() {
    let world = World::start().await;
    let fields = ["entry", "old", "id", "root"];
    let mut routes = 0;
    for good in world.good_requests().await {
        for field in fields {
            if good.sample.body[field].is_null() || good.sample.route == "/v1/tokens" {
                continue;
            }
            routes += 1;
            for id in ["", "x", "0190", "not-a-uuid-not-a-uuid-not-a-uuid-not"] {
                let mut body = good.sample.body.clone();
                body[field] = json!(id);
                refused(
                    &world,
                    good.sender.post(&good.sample.route, &body),
                    400,
                    "invalid_id",
                )
                .await;
            }
            let mut body = good.sample.body.clone();
            body[field] = json!("01900000-0000-7000-8000-000000000000");
            refused(
                &world,
                good.sender.post(&good.sample.route, &body),
                404,
                "not_found",
            )
            .await;
        }
    }
    assert_eq!(routes, 10);
}

#[tokio::test]
async fn what_is_no_json_is_refused_by_every_write_route() {
    let world = World::start().await;
    for good in world.good_requests().await {
        let whole = good.sample.body.to_string();
        let cut = whole[..whole.len() - 1].to_owned();
        let twice = format!("{whole}{whole}");
        let surrogate = r#"{"scope":"\ud800"}"#.to_owned();
        let array = format!("[{whole}]");
        let bodies = [
            String::new(),
            cut,
            twice,
            surrogate,
            array,
            "null".into(),
            "7".into(),
            "{".into(),
        ];
        for body in bodies {
            let sending = good.sender.raw(&good.sample.route, &[], body.into_bytes());
            refused(&world, sending, 400, "invalid_request").await;
        }
    }
}

#[tokio::test]
async fn what_is_no_utf8_is_refused_by_every_write_route() {
    let world = World::start().await;
    for good in world.good_requests().await {
        let text = good.sample.body.to_string();
        let at = text.rfind('"').expect("a body has a text");
        for bytes in [
            &b"\xff"[..],
            b"\xc3",
            b"\xed\xa0\x80",
            b"\xf8\x88\x80\x80\x80",
        ] {
            let mut body = text.clone().into_bytes();
            body.splice(at..at, bytes.iter().copied());
            let sending = good.sender.raw(&good.sample.route, &[], body);
            refused(&world, sending, 400, "invalid_content").await;
        }
    }
}

#[tokio::test]
async fn an_unknown_field_is_refused_by_every_write_route_at_every_depth() {
    let world = World::start().await;
    let mut objects = 0;
    for good in world.good_requests().await {
        let paths = objects_in(&good.sample.body);
        for path in paths {
            let mut body = good.sample.body.clone();
            let object = body.pointer_mut(&path).expect("it was found there");
            object["nonsense"] = json!(1);
            objects += 1;
            refused(
                &world,
                good.sender.post(&good.sample.route, &body),
                400,
                "invalid_request",
            )
            .await;
        }
    }
    assert!(objects > 16, "nested objects were tried too");
}

#[tokio::test]
async fn a_missing_or_mistyped_field_is_refused_by_every_write_route() {
    let world = World::start().await;
    let optional = [
        "description",
        "error",
        "approach",
        "files",
        "symbols",
        "verification",
        "metadata",
        "payload",
    ];
    for good in world.good_requests().await {
        let fields: Vec<String> = good
            .sample
            .body
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        for field in fields {
            let spoilt = |spoil: &dyn Fn(&mut Value)| {
                let mut body = good.sample.body.clone();
                spoil(&mut body);
                body
            };
            let mistyped = spoilt(&|body| body[field.as_str()] = json!([[]]));
            let missing =
                spoilt(&|body| drop(body.as_object_mut().expect("an object").remove(&field)));
            if field != "payload" {
                refused(
                    &world,
                    good.sender.post(&good.sample.route, &mistyped),
                    400,
                    "invalid_request",
                )
                .await;
            }
            let has_default = matches!(
                (good.sample.route.as_str(), field.as_str()),
                ("/v1/tasks/close", "reason")
                    | ("/v1/erase", "entries")
                    | ("/v1/trajectories", "lesson")
            );
            if optional.contains(&field.as_str()) && field != "payload" || has_default {
                continue;
            }
            // A supersession without a replacement is refused for what it lacks all the same.
            refused(
                &world,
                good.sender.post(&good.sample.route, &missing),
                400,
                "invalid_request",
            )
            .await;
        }
    }
}

#[tokio::test]
async fn a_task_that_nobody_opened_is_not_found() {
    let world = World::start().await;
    for good in world.good_requests().await {
        let task_only = good.sample.scope.contains("/task/") && good.sample.route != "/v1/tasks";
        if !task_only && good.sample.route != "/v1/memory-events" {
            continue;
        }
        let mut body = good.sample.body.clone();
        body["scope"] = json!(world.unopened());
        refused(
            &world,
            good.sender.post(&good.sample.route, &body),
            404,
            "not_found",
        )
        .await;
        let scope = body["scope"].as_str().expect("text");
        assert!(world.admin().all("/v1/events", scope).await.is_empty());
        // And a command for tasks is not given to anything else.
        body["scope"] = json!(crate::harness::WORKTREE);
        if task_only {
            refused(
                &world,
                good.sender.post(&good.sample.route, &body),
                400,
                "invalid_scope",
            )
            .await;
        }
    }
}

#[tokio::test]
async fn a_query_that_is_wrong_is_refused() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let of_task = |rest: &str| format!("/v1/records?scope={task}{rest}");
    for (asked, status, code) in [
        ("/v1/records".to_owned(), 400, "invalid_request"),
        (of_task("&more=1"), 400, "invalid_request"),
        (of_task("&limit=-1"), 400, "invalid_request"),
        (of_task("&limit=0"), 400, "invalid_argument"),
        (of_task("&limit=1001"), 413, "too_large"),
        (of_task("&after=nonsense"), 400, "invalid_argument"),
        ("/v1/records?scope=org/..".to_owned(), 400, "invalid_scope"),
        (
            format!("/v1/tail?scope={task}&cursor=nonsense"),
            400,
            "invalid_argument",
        ),
        (
            format!("/v1/tail?scope={task}&kind=NEWS"),
            400,
            "invalid_argument",
        ),
        (
            format!("/v1/events?scope={task}&kind=NEWS"),
            400,
            "invalid_argument",
        ),
        (format!("/v1/record?id={task}"), 400, "invalid_id"),
        (
            format!("/v1/excerpt?id={task}%231&from=-1&to=2"),
            400,
            "invalid_request",
        ),
        ("/v1/entry?id=x".to_owned(), 400, "invalid_id"),
        ("/v1/history?id=x".to_owned(), 400, "invalid_id"),
        (
            format!("/v1/decision?scope={PROJECT}&root=x"),
            400,
            "invalid_id",
        ),
        (
            format!("/v1/decision/history?scope={PROJECT}"),
            400,
            "invalid_request",
        ),
        (
            format!("/v1/decisions?scope={PROJECT}&rank=strong"),
            400,
            "invalid_argument",
        ),
        (
            format!("/v1/decisions?scope={PROJECT}&domain=UI"),
            400,
            "invalid_argument",
        ),
        (
            format!("/v1/decisions/kinds?scope={PROJECT}&after=q1"),
            400,
            "invalid_argument",
        ),
        ("/v1/nowhere".to_owned(), 404, "not_found"),
    ] {
        admin.get(&asked, &[]).await.refused(status, code);
    }
    admin
        .post("/v1/task", &json!({}))
        .await
        .refused(400, "invalid_request");
}

#[tokio::test]
async fn a_query_for_evidence_or_anchors_that_is_wrong_is_refused() {
    let world = World::start().await;
    let admin = world.admin();
    for (asked, status, code) in [
        (
            format!("/v1/evidence/item?scope={PROJECT}&id=x"),
            400,
            "invalid_id",
        ),
        (
            format!("/v1/evidence/text?scope={PROJECT}&id=x&from=-1"),
            400,
            "invalid_request",
        ),
        (
            format!("/v1/evidence?scope={PROJECT}&after=q1"),
            400,
            "invalid_argument",
        ),
        (
            format!("/v1/anchors?scope={PROJECT}&domain=UI"),
            400,
            "invalid_argument",
        ),
        (
            format!("/v1/anchor/follow?scope={PROJECT}&id=x"),
            400,
            "invalid_id",
        ),
    ] {
        admin.get(&asked, &[]).await.refused(status, code);
    }
    for (field, value, code) in [
        ("query", json!(""), "invalid_argument"),
        ("query", json!("  the of "), "invalid_argument"),
        ("query", json!(7), "invalid_request"),
        ("limit", json!(0), "invalid_argument"),
        ("limit", json!(-1), "invalid_request"),
        ("domain", json!("UI"), "invalid_argument"),
        ("scope", json!("org/.."), "invalid_scope"),
        ("more", json!(1), "invalid_request"),
    ] {
        let mut body = json!({ "scope": PROJECT, "query": "deadlock" });
        body[field] = value;
        let sending = admin.post("/v1/anchors/search", &body);
        refused(&world, sending, 400, code).await;
    }
}

#[tokio::test]
async fn a_number_that_is_out_of_its_bounds_is_refused() {
    let world = World::start().await;
    let admin = world.admin();
    let skill = |uses: u64, rate: f64| {
        json!({
            "scope": PROJECT,
            "table": "skills",
            "content": "Deploy to staging",
            "skill": {
                "name": "deploy", "description": "to staging", "code": "make deploy",
                "usage_count": uses, "success_rate": rate,
            },
        })
    };
    for rate in [-0.1, 1.1, 7.0] {
        let body = skill(1, rate);
        let sending = admin.post("/v1/entries", &body);
        let problem = refused(&world, sending, 400, "invalid_argument").await;
        assert!(problem.to_string().contains("success_rate"), "{problem}");
    }
    let body = skill(10_001, 1.0);
    let sending = admin.post("/v1/entries", &body);
    let problem = refused(&world, sending, 413, "too_large").await;
    assert_eq!(problem["limit"]["name"], "usage_count", "{problem}");
    // One use less fits, and an amendment may give back what is shown, whatever was counted in.
    let written = admin.post("/v1/entries", &skill(10_000, 1.0)).await.ok();
    let task = world.task().await;
    let agent = world.principal(PrincipalKind::Agent, &task).await;
    let helped = json!({ "task": task, "entry": written["entry"], "outcome": "helped" });
    agent.post("/v1/reuse", &helped).await.ok();
    let id = written["entry"].as_str().expect("an entry has an id");
    let seen = admin.get("/v1/entry", &[("id", id)]).await.ok();
    let shown = &seen["version"]["skill"];
    assert_eq!(shown["usage_count"], 10_001, "{seen}");
    let amended = json!({
        "entry": id,
        "expected_version": 1,
        "content": "Deploy to staging, after the tests",
        "skill": shown,
    });
    admin.post("/v1/entries/amend", &amended).await.ok();
}

/// More commits than a question may say something of.
fn many_judged() -> Value {
    let judged = (0..1_025).map(|number| (format!("{number:07}"), json!("no")));
    Value::Object(judged.collect())
}

#[tokio::test]
async fn a_question_that_names_no_commit_is_refused() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    let judged = |commits: Value| json!({ "commit": "abcdef1", "judged": commits });
    for (as_of, status, code) in [
        (json!({ "commit": "HEAD" }), 400, "invalid_argument"),
        (json!({ "commit": "a".repeat(65) }), 400, "invalid_argument"),
        (json!({}), 400, "invalid_request"),
        (json!("abcdef1"), 400, "invalid_request"),
        (judged(json!({ "zzz": "no" })), 400, "invalid_argument"),
        (
            judged(json!({ "abcdef2": "maybe" })),
            400,
            "invalid_request",
        ),
        (judged(many_judged()), 413, "too_large"),
    ] {
        let body = json!({ "scope": task, "query": "x", "as_of": as_of });
        admin.post("/v1/recall", &body).await.refused(status, code);
    }
}

#[tokio::test]
async fn a_question_that_is_wrong_is_refused() {
    let world = World::start().await;
    let (admin, task) = (world.admin(), world.task().await);
    for (body, status, code) in [
        (
            json!({ "scope": task, "query": "" }),
            400,
            "invalid_argument",
        ),
        (
            json!({ "scope": task, "query": "x", "limit": 0 }),
            400,
            "invalid_argument",
        ),
        (
            json!({ "scope": task, "query": "x", "limit": 201 }),
            413,
            "too_large",
        ),
        (
            json!({ "scope": task, "query": "x".repeat(8_193) }),
            413,
            "too_large",
        ),
        (
            json!({ "scope": task, "query": "x", "confidence_min": 2 }),
            400,
            "invalid_argument",
        ),
        (
            json!({ "scope": task, "query": "x", "tables": ["nothing"] }),
            400,
            "invalid_request",
        ),
        (
            json!({ "scope": task, "query": "x", "kinds": ["state"], "tables": ["skills"] }),
            400,
            "invalid_argument",
        ),
        (
            json!({ "scope": task, "query": "x", "files": ["/etc/passwd"] }),
            400,
            "invalid_argument",
        ),
        (
            json!({ "scope": task, "query": "x", "symbols": vec!["f"; 33] }),
            413,
            "too_large",
        ),
        (
            json!({ "scope": task, "query": "x", "tokens_max": 0 }),
            400,
            "invalid_argument",
        ),
    ] {
        admin.post("/v1/recall", &body).await.refused(status, code);
    }
}

/// Where the objects of a body lie whose fields are known: all but free JSON.
fn objects_in(body: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut at = 0;
    while at < found.len() {
        let path = found[at].clone();
        at += 1;
        match body.pointer(&path).expect("it was found there") {
            Value::Object(fields) => {
                let known = |name: &&String| !["metadata", "payload"].contains(&name.as_str());
                found.extend(
                    fields
                        .keys()
                        .filter(known)
                        .map(|name| format!("{path}/{name}")),
                );
            }
            Value::Array(items) => {
                found.extend((0..items.len()).map(|number| format!("{path}/{number}")));
            }
            _ => {}
        }
    }
    found.retain(|path| body.pointer(path).is_some_and(Value::is_object));
    found
}
