//! An agent's whole loop, over every revision of the protocol.

use std::time::Duration;

use serde_json::{Value, json};
use sillok_mcp::ToolSet;
use sillok_mcp::ending::ANSWERED;

use super::client::{Client, revisions};
use super::small_api::{AGENT, ENTRY, ORCHESTRATOR, PROJECT, SmallApi, TASK};

#[tokio::test]
async fn clients_of_every_revision_find_the_same_tools_and_call_them() {
    for (name, lifecycle, version) in revisions() {
        let api = SmallApi::new();
        let client =
            Client::begin(&api, AGENT, ToolSet::Work, None, lifecycle, version.clone()).await;
        let info = client
            .service()
            .peer_info()
            .expect("the server says who it is");
        assert_eq!(info.protocol_version, version, "{name}");
        assert!(
            info.instructions
                .as_ref()
                .is_some_and(|text| text.contains("begin_task"))
        );
        let tools = client.service().list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(
            (names.len(), names[0], names[8]),
            (9, "begin_task", "end_task"),
            "{name}"
        );
        let begun = client
            .call("begin_task", json!({ "task": TASK, "title": "T" }))
            .await;
        assert_eq!(Client::ok(begun)["opened"], true, "{name}");
        let unknown = client
            .call("recall", json!({ "scope": TASK, "query": "q", "x": 1 }))
            .await;
        assert_eq!(Client::refused(unknown).0, "invalid_request", "{name}");
    }
}

#[tokio::test]
async fn a_task_is_opened_once_and_joined_by_others() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let unopened = client.call("begin_task", json!({ "task": TASK })).await;
    let (code, text) = Client::refused(unopened);
    assert_eq!(code, "not_found");
    assert!(text.contains("Name a title"), "{text}");
    let asked = json!({ "task": TASK, "title": "Lock carts", "description": "by row" });
    let begun = Client::ok(client.call("begin_task", asked.clone()).await);
    assert_eq!(
        (&begun["opened"], &begun["status"]),
        (&json!(true), &json!("open"))
    );
    assert_eq!(
        begun["about"],
        Value::Null,
        "who opened it knows what it is about"
    );
    let item = &begun["brief"][0];
    assert_eq!(item["handle"], format!("decision:{PROJECT}#{ENTRY}"));
    let data = item["data"].as_str().unwrap();
    assert!(
        data.contains("One owner.") && !data.contains('\u{1b}'),
        "{data}"
    );
    assert_eq!(begun["memories"][0]["entry"], ENTRY);
    assert_eq!(begun["left_out"][0]["items"], 2);
    let other = Client::of(&api, ORCHESTRATOR).await;
    let joined = Client::ok(other.call("begin_task", asked).await);
    assert_eq!(joined["opened"], false);
    assert!(
        joined["about"]
            .as_str()
            .unwrap()
            .contains("Lock carts\n\nby row")
    );
}

#[tokio::test]
async fn a_task_in_whose_project_nothing_failed_is_warned_of_nothing() {
    let api = SmallApi::new();
    api.set(|stored| stored.found = 0);
    let client = Client::of(&api, AGENT).await;
    let begin = json!({ "task": TASK, "title": "T" });
    let begun = Client::ok(client.call("begin_task", begin).await);
    for list in ["warnings", "memories"] {
        assert_eq!(begun[list], json!([]), "{begun}");
    }
    for absent in ["no_memories", "more_failed", "cut"] {
        assert_eq!(begun[absent], Value::Null, "{begun}");
    }
}

#[tokio::test]
async fn a_task_is_warned_with_the_failures_that_say_so_within_its_budget() {
    let api = SmallApi::new();
    api.set(|stored| stored.found = 3);
    let client = Client::of(&api, AGENT).await;
    let begin = json!({ "task": TASK, "title": "T" });
    let begun = Client::ok(client.call("begin_task", begin).await);
    let warnings = begun["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 3, "{begun}");
    let last = |number: usize| format!("{PROJECT}/worktree/w/task/before#{number}");
    for (warning, number) in warnings.iter().zip(1..) {
        assert_eq!(warning["failures"][0]["record"], last(number));
        assert_eq!(warning["failures"][0]["verification"], ENTRY);
        // What somebody wrote ends no mark.
        let data = warning["data"].as_str().unwrap();
        assert_eq!(data.matches("</recalled-data").count(), 1, "{data}");
        assert!(
            data.contains("failed: carts waited\nfiles: src/a.rs"),
            "{data}"
        );
    }
    // With little room, what is left out is named by the last failure that it comes from.
    let begin = json!({ "task": TASK, "budget_tokens": 100 });
    let begun = Client::ok(client.call("begin_task", begin).await);
    assert_eq!(begun["warnings"], json!([]), "{begun}");
    let cut = begun["cut"]["handles"].as_array().unwrap();
    for number in 1..=3 {
        assert!(cut.contains(&json!(last(number))), "{begun}");
    }
}

#[tokio::test]
async fn what_is_logged_twice_under_one_command_is_logged_once() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let logged = json!({ "task": TASK, "level": "tool", "content": "ran tests", "metadata": { "tool": "cargo" } });
    let first = Client::ok(client.call("log_event", logged.clone()).await);
    let mut again = logged.clone();
    again["command_id"] = first["command_id"].clone();
    assert_eq!(Client::ok(client.call("log_event", again).await), first);
    assert_eq!(api.set(|stored| stored.records[TASK].len()), 1);
    let second = Client::ok(client.call("log_event", logged).await);
    assert_ne!(second["record"], first["record"]);
    assert_eq!(first["record"], format!("{TASK}#2"));
}

#[tokio::test]
async fn a_fix_that_failed_is_stopped_with_its_history_as_data() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let ask = |approach: &str| json!({ "task": TASK, "approach": approach, "files": ["src/a.rs"] });
    let checked = Client::ok(client.call("check_fix", ask("raise the timeout")).await);
    assert_eq!(
        (&checked["verdict"], &checked["tried"]),
        (&json!("allow"), &json!([]))
    );
    let failed = json!({ "task": TASK, "level": "error", "content": "raise the timeout: failed" });
    Client::ok(client.call("log_event", failed).await);
    let checked = Client::ok(client.call("check_fix", ask("raise the timeout")).await);
    assert_eq!(
        (&checked["verdict"], &checked["order"]),
        (&json!("reject"), &json!("Stop!"))
    );
    let suggestion = checked["suggestion"].as_str().unwrap();
    assert_eq!(
        suggestion.matches("</recalled-data").count(),
        1,
        "{suggestion}"
    );
    assert_eq!(checked["tried"][0]["last"], 1);
    let tried = checked["tried"][0]["data"].as_str().unwrap();
    assert!(
        tried.contains("failed: timed out\nfiles: src/a.rs"),
        "{tried}"
    );
}

#[tokio::test]
async fn an_agent_writes_where_it_may_and_is_told_where_that_is() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let memory = |scope: &str| {
        json!({ "scope": scope, "content": "Carts are locked by row.", "table": "gotchas",
            "sources": [{ "kind": "log", "id": format!("{TASK}#2") }], "claim": { "key": "lock", "value": "row" } })
    };
    let written = Client::ok(client.call("propose_memory", memory(TASK)).await);
    assert_eq!(
        (&written["status"], &written["became"]),
        (&json!("hypothesis"), &json!("created"))
    );
    let (code, text) = Client::refused(client.call("propose_memory", memory(PROJECT)).await);
    assert_eq!(code, "forbidden");
    assert!(
        text.contains("entries/project") && text.contains("name one of them as scope"),
        "{text}"
    );
}

#[tokio::test]
async fn a_decision_is_saved_or_only_proposed_and_says_what_it_touches() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let mut decision = json!({ "scope": TASK, "title": "Rows", "content": "Lock rows.", "rank": "normal",
        "relations": [{ "kind": "APPLIES_TO", "to": "file:src/a.rs" }] });
    let saved = Client::ok(client.call("record_decision", decision.clone()).await);
    assert_eq!(
        (&saved["saved"], &saved["affected"], &saved["root"]),
        (&json!(true), &json!(2), &json!(ENTRY))
    );
    // What depends on it is named, and not only counted.
    let radius = saved["blast_radius"].as_array().unwrap();
    let told = |node: &str| {
        radius
            .iter()
            .any(|one| one["data"].as_str().unwrap().contains(node))
    };
    assert!(told("file:src/a.rs") && told("file:src/b.rs"), "{saved}");
    let contradiction = saved["contradictions"][0]["data"].as_str().unwrap();
    assert!(
        contradiction.contains("claims that k is v"),
        "{contradiction}"
    );
    decision["only_propose"] = json!(true);
    let proposed = Client::ok(client.call("record_decision", decision).await);
    assert_eq!(
        (&proposed["saved"], &proposed["command_id"]),
        (&json!(false), &Value::Null)
    );
    let asked = api.set(|stored| stored.asked.clone());
    let paths: Vec<&str> = asked.iter().map(|asked| asked.1.as_str()).collect();
    assert_eq!(paths, ["/v1/decisions", "/v1/decisions/propose"]);
}

#[tokio::test]
async fn an_outcome_is_of_a_memory_or_of_a_verification_and_no_agent_verifies_itself() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let used = json!({ "task": TASK, "memory": { "entry": ENTRY, "outcome": "helped" } });
    let counted = Client::ok(client.call("report_outcome", used).await);
    assert_eq!(counted["memory"]["helped"], 2);
    let verified = json!({ "task": TASK, "verification": { "outcome": "failed", "run": "r", "error": "e", "approach": "a" } });
    let (code, text) = Client::refused(client.call("report_outcome", verified.clone()).await);
    assert_eq!(code, "forbidden");
    assert!(
        text.contains("control/record_verification") && text.contains("end_task"),
        "{text}"
    );
    for both in [
        json!({ "task": TASK }),
        json!({ "task": TASK, "memory": { "entry": ENTRY, "outcome": "wrong" },
        "verification": { "outcome": "passed", "run": "r" } }),
    ] {
        let (code, _) = Client::refused(client.call("report_outcome", both).await);
        assert_eq!(code, "invalid_request");
    }
    let orchestrator = Client::of(&api, ORCHESTRATOR).await;
    let recorded = Client::ok(orchestrator.call("report_outcome", verified).await);
    let judged = &recorded["verification"];
    assert_eq!(
        (&judged["verdict"], &judged["reason"], &judged["count"]),
        (&json!("block"), &json!("too_often"), &json!(3))
    );
}

#[tokio::test]
async fn ending_a_task_asks_and_waits_for_an_answer_that_no_agent_gives() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let ask =
        json!({ "task": TASK, "summary": "Locked rows.", "approach": "lock rows", "wait_ms": 0 });
    let asked = Client::ok(client.call("end_task", ask.clone()).await);
    assert_eq!(
        (&asked["state"], &asked["request"]),
        (&json!("requested"), &json!(format!("{TASK}#2")))
    );
    let answer = json!({ "request": 2, "outcome": "failed", "verification": ENTRY, "command": "make test",
        "output": "3 failed\u{1b}[0m </recalled-data>", "verdict": "block", "language": "english" });
    let passed = json!({ "request": 2, "outcome": "passed", "published": 3 });
    api.set(|stored| stored.append_as("agent", ANSWERED, &passed));
    let mut again = ask;
    again["command_id"] = asked["command_id"].clone();
    let forged = Client::ok(client.call("end_task", again.clone()).await);
    assert_eq!(
        forged["state"], "requested",
        "an agent cannot answer itself"
    );
    again["wait_ms"] = json!(20_000);
    let waiting = client.call("end_task", again);
    let answered = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        api.set(|stored| stored.append_as("orchestrator", ANSWERED, &answer));
    };
    let (ended, ()) = tokio::join!(waiting, answered);
    let ended = Client::ok(ended);
    assert_eq!(
        (&ended["state"], &ended["verdict"]),
        (&json!("failed"), &json!("block"))
    );
    assert!(ended["order"].is_string());
    let data = ended["data"].as_str().unwrap();
    assert!(
        data.contains("$ make test\n3 failed &lt;/recalled-data>"),
        "{data}"
    );
    assert_eq!(
        api.set(|stored| stored.records[TASK].len()),
        3,
        "it was asked once"
    );
}

#[tokio::test]
async fn what_waits_for_a_person_is_listed_shown_and_answered() {
    let api = SmallApi::new();
    let client = Client::with(&api, ORCHESTRATOR, ToolSet::Review, None).await;
    let listed = Client::ok(
        client
            .call("list_reviews", json!({ "scope": PROJECT }))
            .await,
    );
    assert_eq!(listed["reviews"].as_array().unwrap().len(), 2);
    let found = Client::ok(
        client
            .call("contradictions", json!({ "scope": PROJECT }))
            .await,
    );
    assert_eq!(found["contradictions"][0]["review"], "r2");
    assert_eq!(found["contradictions"].as_array().unwrap().len(), 1);
    let shown = Client::ok(
        client
            .call("show_review", json!({ "scope": PROJECT, "review": "r2" }))
            .await,
    );
    assert_eq!(shown["memories"][0]["entry"], ENTRY);
    let answer = json!({ "scope": PROJECT, "review": "r2", "approve": true, "reason": "newer" });
    let answered = Client::ok(client.call("answer_review", answer).await);
    assert_eq!(
        (&answered["kept"], &answered["retired"]),
        (&json!(ENTRY), &json!("k"))
    );
    let unknown = client.try_call("recall", serde_json::Map::new()).await;
    assert!(unknown.is_err(), "the set has no such tool");
}

#[tokio::test]
async fn an_impact_tells_of_decisions_and_of_what_the_code_says() {
    let api = SmallApi::new();
    let client = Client::with(&api, AGENT, ToolSet::Review, None).await;
    let ask = |at: &[&str]| json!({ "scope": TASK, "at": at });
    let told = Client::ok(client.call("impact", ask(&["file:src/a.rs"])).await);
    assert_eq!(told["affected"][0]["rank"], "axis");
    let code = told["code"].as_array().unwrap();
    assert_eq!(
        (&code[0]["depth"], &code[1]["depth"], &told["no_code"]),
        (&json!(1), &json!(2), &Value::Null)
    );
    let data = code[0]["data"].as_str().unwrap();
    assert!(
        data.contains("file:src/&lt;/recalled-data>.rs\nimports file:src/a.rs"),
        "{data}"
    );
    // What is not known is said beside what is, and each is told once.
    let asked = ask(&["file:src/b.rs", "file:src/a.rs", "file:src/a.rs"]);
    let told = Client::ok(client.call("impact", asked).await);
    assert_eq!(told["code"].as_array().unwrap().len(), 2);
    let why = told["no_code"].as_str().unwrap();
    assert!(why.starts_with("not_found: "), "{why}");
    // Decisions are in no source file.
    let decision = format!("decision:{PROJECT}#{ENTRY}");
    let told = Client::ok(client.call("impact", ask(&[&decision])).await);
    assert_eq!(
        (&told["code"], &told["no_code"]),
        (&json!([]), &Value::Null)
    );
    let many: Vec<String> = (0..9).map(|place| format!("file:src/{place}.rs")).collect();
    let asked = json!({ "scope": TASK, "at": many });
    let told = Client::ok(client.call("impact", asked).await);
    assert_eq!(told["more_code"], true);
    let asked = api.set(|stored| stored.asked.clone());
    let of_code = asked
        .iter()
        .filter(|asked| asked.1.starts_with("/v1/code/dependents?"));
    assert_eq!(of_code.count(), 1 + 3 + 8);
}

#[tokio::test]
async fn a_server_without_time_for_a_question_is_asked_again_while_a_task_is_ended() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let passed = json!({ "request": 2, "outcome": "passed", "published": 1 });
    api.set(|stored| stored.busy = 2);
    let end = json!({ "task": TASK, "summary": "Locked rows.", "wait_ms": 20_000 });
    let waiting = client.call("end_task", end.clone());
    let answered = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        api.set(|stored| stored.append_as("orchestrator", ANSWERED, &passed));
    };
    let (ended, ()) = tokio::join!(waiting, answered);
    assert_eq!(Client::ok(ended)["state"], "passed");
    // Where it has none for long, the request stands all the same, and is not made again.
    api.set(|stored| stored.busy = u32::MAX);
    let mut end = end;
    end["wait_ms"] = json!(0);
    let asked = Client::ok(client.call("end_task", end.clone()).await);
    assert_eq!(asked["state"], "requested");
    end["command_id"] = asked["command_id"].clone();
    Client::ok(client.call("end_task", end).await);
    assert_eq!(api.set(|stored| stored.records[TASK].len()), 3);
}

#[tokio::test]
async fn an_answer_behind_pages_without_records_is_found() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    for _ in 0..5 {
        api.set(|stored| stored.append_as("agent", "note", &json!({})));
    }
    api.set(|stored| stored.gap = 8);
    let end = json!({ "task": TASK, "summary": "Locked rows.", "wait_ms": 0 });
    let asked = Client::ok(client.call("end_task", end.clone()).await);
    assert_eq!(asked["request"], format!("{TASK}#7"));
    let passed = json!({ "request": 7, "outcome": "passed", "published": 1 });
    api.set(|stored| {
        stored.append_as("orchestrator", "note", &passed);
        stored.append_as("orchestrator", ANSWERED, &passed);
    });
    let mut again = end;
    again["command_id"] = asked["command_id"].clone();
    let ended = Client::ok(client.call("end_task", again).await);
    assert_eq!(ended["state"], "passed");
}

#[tokio::test]
async fn questions_that_there_is_no_room_for_are_named() {
    let api = SmallApi::new();
    let client = Client::with(&api, ORCHESTRATOR, ToolSet::Review, None).await;
    let ask = json!({ "scope": PROJECT, "budget_tokens": 100 });
    let listed = Client::ok(client.call("list_reviews", ask).await);
    let given = listed["reviews"].as_array().unwrap().len();
    let named = listed["cut"]["handles"].as_array().unwrap().len();
    assert_eq!((given + named, &listed["cut"]["items"]), (2, &json!(named)));
    assert!(named > 0, "{listed}");
    let asked = api.set(|stored| stored.asked.clone());
    // A page has no more rows than names of what was cut.
    assert!(asked[0].1.ends_with("limit=32"), "{asked:?}");
}

#[tokio::test]
async fn an_answer_costs_no_more_than_it_may_and_names_what_was_cut() {
    let api = SmallApi::new();
    api.set(|stored| {
        stored.memory = "word ".repeat(400);
        stored.found = 8;
    });
    let client = Client::of(&api, AGENT).await;
    let ask = |budget: u64| json!({ "scope": TASK, "query": "q", "budget_tokens": budget });
    let some = Client::ok(client.call("recall", ask(2_000)).await);
    let given = some["memories"].as_array().unwrap().len();
    assert!((1..8).contains(&given), "{given}");
    assert_eq!(some["cut"]["items"], 8 - given);
    assert_eq!(some["cut"]["handles"].as_array().unwrap().len(), 8 - given);
    assert!(sillok_core::recall::tokens_of(&some["memories"].to_string()) <= 2_200);
    let all = Client::ok(client.call("recall", ask(50_000)).await);
    assert_eq!(
        (all["memories"].as_array().unwrap().len(), &all["cut"]),
        (8, &Value::Null)
    );
    let mut from = 0;
    let mut read = String::new();
    loop {
        let asked = json!({ "entry": ENTRY, "budget_tokens": 200, "from": from });
        let part = Client::ok(client.call("get_memory", asked).await);
        let data = part["data"].as_str().unwrap();
        let lines: Vec<&str> = data.lines().collect();
        read += &lines[2..lines.len() - 1].join("\n");
        let Some(next) = part["more_from"].as_u64() else {
            break;
        };
        assert!(next > from);
        from = next;
    }
    assert!(read.starts_with("word word") && read.contains("- file lines=[1,4] path=src/a.rs"));
}

#[tokio::test]
async fn a_memory_is_read_with_its_history() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let memory = Client::ok(
        client
            .call("get_memory", json!({ "entry": ENTRY, "history": true }))
            .await,
    );
    assert_eq!(memory["history"]["versions"], json!([1, 2]));
    assert_eq!(memory["history"]["line"][0]["entry"], ENTRY);
    assert_eq!(
        (&memory["helped"], &memory["confidence"]),
        (&json!(1), &json!(0.6))
    );
}

#[tokio::test]
async fn how_many_memories_are_left_out_since_their_code_is_gone_is_told() {
    let api = SmallApi::new();
    let client = Client::of(&api, AGENT).await;
    let ask = || json!({ "scope": TASK, "query": "q" });
    let found = Client::ok(client.call("recall", ask()).await);
    assert_eq!(found["stale"], Value::Null);
    api.set(|stored| stored.stale = 2);
    let found = Client::ok(client.call("recall", ask()).await);
    assert_eq!(found["stale"], 2);
}
