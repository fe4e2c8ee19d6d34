//! Every tool, over both transports.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Level;

use super::client::Mcp;
use crate::harness::{PROJECT, World, phrase};

const WORK: [&str; 9] = [
    "begin_task",
    "recall",
    "get_memory",
    "log_event",
    "check_fix",
    "propose_memory",
    "record_decision",
    "report_outcome",
    "end_task",
];
const REVIEW: [&str; 5] = [
    "list_reviews",
    "show_review",
    "answer_review",
    "impact",
    "contradictions",
];

/// Both transports, for a principal of a kind.
async fn both(world: &World, kind: PrincipalKind) -> [Mcp; 2] {
    let client = world.principal(kind, PROJECT).await;
    [Mcp::http(&client), Mcp::stdio(world, &client)]
}

/// The tools of an agent's work, each called: their answers by name.
async fn work(world: &World, mcp: &mut Mcp) -> Vec<(&'static str, Value)> {
    let (task, text) = (world.unopened(), phrase());
    let mut answers = Vec::new();
    let begun = json!({ "task": task, "title": text, "domain": "coding", "at": ["file:src/a.rs"] });
    let begun = mcp.call("begin_task", begun).await.ok();
    assert_eq!(
        (&begun["opened"], &begun["status"]),
        (&json!(true), &json!("open"))
    );
    answers.push(("begin_task", begun));
    let logged = json!({ "task": task, "level": "thought", "content": text, "metadata": { "tool": "none" } });
    let logged = mcp.call("log_event", logged).await.ok();
    let proposed = json!({ "scope": task, "content": text,
        "sources": [{ "kind": "log", "id": logged["record"] }, { "kind": "file", "path": "src/a.rs", "lines": [1, 4] }] });
    answers.push(("log_event", logged));
    let proposed = mcp.call("propose_memory", proposed).await.ok();
    let entry = proposed["entry"].clone();
    answers.push(("propose_memory", proposed));
    let found = mcp
        .call("recall", json!({ "scope": task, "query": text }))
        .await
        .ok();
    assert_eq!(found["memories"][0]["entry"], entry, "{found}");
    let data = found["memories"][0]["data"].as_str().unwrap_or_default();
    assert!(
        data.contains(&text) && data.contains("- file lines=[1,4] path=src/a.rs"),
        "{data}"
    );
    answers.push(("recall", found));
    let read = mcp
        .call("get_memory", json!({ "entry": entry, "history": true }))
        .await
        .ok();
    assert_eq!(read["history"]["versions"], json!([1]));
    answers.push(("get_memory", read));
    let checked =
        json!({ "task": task, "approach": text, "files": ["src/a.rs"], "symbols": ["a"] });
    let checked = mcp.call("check_fix", checked).await.ok();
    assert_eq!(checked["verdict"], "allow");
    answers.push(("check_fix", checked));
    let decided = json!({ "scope": task, "title": text, "content": text, "relations": [{ "kind": "APPLIES_TO", "to": "file:src/a.rs" }] });
    let decided = mcp.call("record_decision", decided).await.ok();
    let root = decided["root"].clone();
    answers.push(("record_decision", decided));
    let joined = mcp
        .call(
            "begin_task",
            json!({ "task": task, "at": ["file:src/a.rs"] }),
        )
        .await
        .ok();
    let handles: Vec<&str> = joined["brief"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|item| item["handle"].as_str())
        .collect();
    let handle = format!("decision:{task}#{}", root.as_str().expect("a root"));
    assert!(handles.contains(&handle.as_str()), "{joined}");
    let reported = json!({ "task": task, "memory": { "entry": entry, "outcome": "helped" } });
    let reported = mcp.call("report_outcome", reported).await.ok();
    assert_eq!(reported["memory"]["helped"], 1);
    answers.push(("report_outcome", reported));
    let ended = json!({ "task": task, "summary": text, "wait_ms": 0 });
    let ended = mcp.call("end_task", ended).await.ok();
    assert_eq!(ended["state"], "requested");
    answers.push(("end_task", ended));
    answers
}

#[tokio::test]
async fn every_tool_of_work_is_called_over_both_transports_with_answers_of_one_form() {
    let world = World::start().await;
    let [mut http, mut stdio] = both(&world, PrincipalKind::Agent).await;
    let (over_http, over_stdio) = (
        work(&world, &mut http).await,
        work(&world, &mut stdio).await,
    );
    assert_eq!(over_http.len(), WORK.len());
    for ((name, one), (_, other)) in over_http.iter().zip(&over_stdio) {
        let fields = |answer: &Value| -> BTreeSet<String> {
            answer
                .as_object()
                .expect("an answer is an object")
                .keys()
                .cloned()
                .collect()
        };
        assert_eq!(fields(one), fields(other), "{name}");
    }
}

#[tokio::test]
async fn every_tool_of_review_is_called_over_both_transports() {
    let world = World::start().await;
    for mut mcp in both(&world, PrincipalKind::Human).await {
        let sample = world
            .sample("/v1/reviews/answer", Level::Project)
            .await
            .body;
        let (scope, review) = (sample["scope"].clone(), sample["review"].clone());
        let listed = mcp
            .call("list_reviews", json!({ "scope": scope }))
            .await
            .ok();
        let reviews = listed["reviews"].as_array().expect("a list");
        assert!(
            reviews.iter().any(|one| one["review"] == review),
            "{listed}"
        );
        let shown = json!({ "scope": scope, "review": review });
        let shown = mcp.call("show_review", shown).await.ok();
        assert!(
            !shown["memories"].as_array().expect("a list").is_empty(),
            "{shown}"
        );
        mcp.call("contradictions", json!({ "scope": scope }))
            .await
            .ok();
        let affected = json!({ "scope": scope, "at": ["file:src/a.rs"] });
        let affected = mcp.call("impact", affected).await.ok();
        // No work tree is followed here, which is said and hides nothing else.
        let why = affected["no_code"].as_str().unwrap_or_default();
        assert!(why.starts_with("not_found: "), "{affected}");
        let answered = mcp.call("answer_review", sample).await.ok();
        assert_eq!(answered["review"], review);
    }
}

#[tokio::test]
async fn each_endpoint_has_its_tools_in_their_order() {
    let world = World::start().await;
    let client = world.principal(PrincipalKind::Agent, PROJECT).await;
    for (path, expected) in [
        ("/mcp", WORK.to_vec()),
        ("/mcp/review", REVIEW.to_vec()),
        ("/mcp/all", [&WORK[..], &REVIEW[..]].concat()),
    ] {
        let mut mcp = Mcp::Http {
            client: client.clone(),
            path: path.to_owned(),
        };
        let listed = mcp.request("tools/list", json!({})).await;
        let tools = listed["result"]["tools"].as_array().expect("a list");
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(names, expected, "{path}");
    }
}

#[tokio::test]
async fn logs_entries_and_decision_chains_are_resources_over_both_transports() {
    let world = World::start().await;
    for mut mcp in both(&world, PrincipalKind::Agent).await {
        let answers = work(&world, &mut mcp).await;
        let of = |tool: &str| {
            let found = answers.iter().find(|(name, _)| *name == tool);
            found.map(|(_, answer)| answer).expect("it was called")
        };
        let task = of("begin_task")["task"].as_str().expect("a handle");
        let entry = of("propose_memory")["entry"].as_str().expect("a handle");
        let root = of("record_decision")["root"].as_str().expect("a handle");
        for (uri, list) in [
            (format!("sillok://log/{task}"), "records"),
            (format!("sillok://decision/{root}/{task}"), "versions"),
            (format!("sillok://entry/{entry}"), "history"),
        ] {
            let read = mcp.request("resources/read", json!({ "uri": uri })).await;
            let text = read["result"]["contents"][0]["text"].as_str();
            let text = text.unwrap_or_else(|| panic!("{uri}: {read}"));
            let document: Value = serde_json::from_str(text).expect("it is JSON");
            assert!(!document[list].is_null(), "{uri}: {document}");
        }
        // They are there, and not for whoever works elsewhere: as what nobody has.
        let stranger = world
            .principal(PrincipalKind::Agent, "org/acme/project/other")
            .await;
        let mut elsewhere = Mcp::http(&stranger);
        let nobodys = "01900000-0000-7000-8000-00000000abcd";
        let unknown_task = format!("{}nobodys", &task[..=task.rfind('/').expect("a path")]);
        for (known, unknown) in [
            (
                format!("sillok://log/{task}"),
                format!("sillok://log/{unknown_task}"),
            ),
            (
                format!("sillok://decision/{root}/{task}"),
                format!("sillok://decision/{nobodys}/{task}"),
            ),
            (
                format!("sillok://entry/{entry}"),
                format!("sillok://entry/{nobodys}"),
            ),
        ] {
            let mut errors = Vec::new();
            for uri in [&known, &unknown] {
                let params = json!({ "uri": uri });
                let refused = elsewhere.request("resources/read", params).await;
                let problem = &refused["error"]["data"]["problem"];
                let code = problem["code"].as_str().unwrap_or_default();
                assert!(
                    ["forbidden", "not_found"].contains(&code),
                    "{uri}: {refused}"
                );
                errors.push((refused["error"]["code"].clone(), problem["code"].clone()));
            }
            assert_eq!(errors[0], errors[1], "{known}");
        }
    }
}

#[tokio::test]
async fn a_handle_of_another_project_is_answered_as_one_that_nobody_has() {
    let world = World::start().await;
    let secret = world.task().await;
    let stranger = world
        .principal(PrincipalKind::Agent, "org/acme/project/other")
        .await;
    let unknown = "org/acme/project/api/worktree/main/task/nobodys";
    let mut mcp = Mcp::http(&stranger);
    let calls = |task: &str| {
        [
            ("begin_task", json!({ "task": task })),
            ("recall", json!({ "scope": task, "query": "q" })),
            ("check_fix", json!({ "task": task, "approach": "a" })),
            (
                "log_event",
                json!({ "task": task, "level": "info", "content": "c" }),
            ),
            ("propose_memory", json!({ "scope": task, "content": "c" })),
            (
                "end_task",
                json!({ "task": task, "summary": "s", "wait_ms": 0 }),
            ),
        ]
    };
    for ((tool, of_secret), (_, of_unknown)) in calls(&secret).into_iter().zip(calls(unknown)) {
        let mut texts = Vec::new();
        for (arguments, name) in [(of_secret, secret.as_str()), (of_unknown, unknown)] {
            let called = mcp.call(tool, arguments).await;
            assert!(called.is_error(), "{tool}: {}", called.text());
            let problem = called.refused("forbidden");
            let detail = problem["detail"]
                .as_str()
                .expect("it says why")
                .replace(name, "TASK");
            texts.push((problem["rule"].clone(), detail));
        }
        assert_eq!(texts[0], texts[1], "{tool}");
    }
}
