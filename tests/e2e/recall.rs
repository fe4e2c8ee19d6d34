//! Recall: what comes back, to whom, and when.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sillok_core::principal::PrincipalKind;

use crate::harness::samples::put;
use crate::harness::world::{log, open, promoted};
use crate::harness::{Client, ORG, PROJECT, WORKTREE, World, phrase};

/// Asks in a scope: the results.
async fn recall(client: &Client, scope: &str, query: &str) -> Vec<Value> {
    asked(
        client,
        &json!({ "scope": scope, "query": query, "limit": 50 }),
    )
    .await
}

async fn asked(client: &Client, body: &Value) -> Vec<Value> {
    let mut answer = client.post("/v1/recall", body).await.ok();
    answer["results"]
        .as_array_mut()
        .expect("an answer has results")
        .drain(..)
        .collect()
}

fn has(results: &[Value], text: &str) -> bool {
    results.iter().any(|result| {
        result["content"]
            .as_str()
            .is_some_and(|content| content.contains(text))
    })
}

#[tokio::test]
async fn staged_records_never_come_back_from_recall() {
    let world = World::start().await;
    let admin = world.admin();
    let task = world.task().await;
    let staged = [phrase(), phrase(), phrase()];
    log(&admin, &task, &staged[0]).await;
    let snapshot = json!({ "scope": task, "content": staged[1], "trigger": "manual" });
    admin.post("/v1/snapshots", &snapshot).await.ok();
    let event = json!({ "scope": task, "event_type": "noted", "payload": { "text": staged[2] } });
    admin.post("/v1/memory-events", &event).await.ok();
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let entry = phrase();
    put(&agent, &task, &entry).await;
    for text in &staged {
        assert!(
            !has(&recall(&admin, &task, text).await, text),
            "a staged record came back"
        );
        let all = json!({ "scope": task, "query": text, "failures_only": true });
        assert!(
            !has(&asked(&admin, &all).await, text),
            "a staged record came back"
        );
    }
    // So it was not an empty index that answered.
    assert!(has(&recall(&admin, &task, &entry).await, &entry));
}

#[tokio::test]
async fn ancestors_are_seen_and_siblings_are_not() {
    let world = World::start().await;
    let admin = world.admin();
    let writer = world.principal(PrincipalKind::Orchestrator, ORG).await;
    let (task, sibling) = (world.task().await, world.task().await);
    let elsewhere = "org/acme/project/other/worktree/main/task/t";
    open(&admin, elsewhere).await;
    let word = phrase();
    // The same words everywhere, so that only where they stand makes a difference.
    let text = |place: &str| format!("{word} as noted in the {place}");
    for (scope, place) in [
        (task.as_str(), "task"),
        (&sibling, "sibling"),
        (WORKTREE, "worktree"),
    ] {
        put(&writer, scope, &text(place)).await;
    }
    for (scope, place) in [
        (PROJECT, "project"),
        (ORG, "organisation"),
        ("org/acme/project/other", "stranger"),
    ] {
        put(&admin, scope, &text(place)).await;
    }
    let seen = |results: Vec<Value>| {
        let place = |result: &Value| {
            result["content"]
                .as_str()
                .unwrap()
                .rsplit(' ')
                .next()
                .unwrap()
                .to_owned()
        };
        let mut places: Vec<String> = results
            .iter()
            .filter(|r| has(std::slice::from_ref(r), &word))
            .map(place)
            .collect();
        places.sort();
        places
    };
    let of_task = seen(recall(&admin, &task, &word).await);
    assert_eq!(of_task, ["organisation", "project", "task", "worktree"]);
    assert_eq!(
        seen(recall(&admin, &sibling, &word).await),
        ["organisation", "project", "sibling", "worktree"]
    );
    assert_eq!(
        seen(recall(&admin, WORKTREE, &word).await),
        ["organisation", "project", "worktree"]
    );
    assert_eq!(
        seen(recall(&admin, PROJECT, &word).await),
        ["organisation", "project"]
    );
    assert_eq!(seen(recall(&admin, ORG, &word).await), ["organisation"]);
    assert_eq!(
        seen(recall(&admin, elsewhere, &word).await),
        ["organisation", "stranger"]
    );
}

#[tokio::test]
async fn what_was_published_is_seen_by_its_writer_at_once_and_explains_its_score() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let reader = world.principal(PrincipalKind::Agent, WORKTREE).await;
    for _ in 0..20 {
        let text = phrase();
        let entry = put(&agent, WORKTREE, &text).await;
        let results = recall(&agent, WORKTREE, &text).await;
        assert_eq!(results[0]["entry"], entry, "its own write comes first");
        let score = &results[0]["score"];
        let product: f64 = ["similarity", "confidence", "relevance", "recency"]
            .map(|factor| score[factor].as_f64().unwrap())
            .iter()
            .product();
        assert!(
            (score["total"].as_f64().unwrap() - product).abs() < 1e-9,
            "{score}"
        );
        let marked = results[0]["data_marked_text"].as_str().unwrap();
        assert!(
            marked.contains(&text) && marked.contains("not an instruction"),
            "{marked}"
        );
        assert_eq!(results[0]["gate"], "unverifiable");

        let others = Instant::now();
        while !has(&recall(&reader, WORKTREE, &text).await, &text) {
            assert!(
                others.elapsed() < Duration::from_secs(1),
                "others see it within a second"
            );
        }
    }
}

#[tokio::test]
async fn a_replaced_text_is_recalled_no_more() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let (first, amended, replaced) = (phrase(), phrase(), phrase());
    let old = put(&agent, WORKTREE, &first).await;
    let body = json!({ "entry": old, "expected_version": 1, "content": amended });
    agent.post("/v1/entries/amend", &body).await.ok();
    assert!(!has(&recall(&agent, WORKTREE, &first).await, &first));
    assert!(has(&recall(&agent, WORKTREE, &amended).await, &amended));
    let body = json!({ "old": old, "expected_version": 2, "reason": "newer",
        "replacement": { "content": replaced } });
    agent.post("/v1/entries/supersede", &body).await.ok();
    assert!(!has(&recall(&agent, WORKTREE, &amended).await, &amended));
    assert!(has(&recall(&agent, WORKTREE, &replaced).await, &replaced));
}

#[tokio::test]
async fn failures_come_back_only_when_they_are_asked_for() {
    let world = World::start().await;
    let admin = world.admin();
    let task = world.task().await;
    let (error, approach) = (phrase(), phrase());
    log(&admin, &task, &phrase()).await;
    let body = json!({ "scope": task, "outcome": "failed", "source": "tests_failed", "run": "r1",
        "error": error, "approach": approach });
    let recorded = admin.post("/v1/verifications", &body).await.ok();
    let report = promoted(&admin, &task, recorded["verification"].as_str().unwrap()).await;
    assert!(report["created"].as_u64().unwrap() >= 1, "{report}");

    for text in [&error, &approach] {
        let usual = recall(&admin, PROJECT, text).await;
        assert!(!has(&usual, text), "a failure came back unasked: {usual:?}");
        let query = json!({ "scope": PROJECT, "query": text, "failures_only": true });
        let failures = asked(&admin, &query).await;
        assert!(
            has(&failures, text),
            "a failure that is asked for comes back: {failures:?}"
        );
        for result in &failures {
            assert_eq!(
                result["status"], "hypothesis",
                "a failure stays a draft: {result}"
            );
        }
    }
    let success = phrase();
    put(&admin, PROJECT, &success).await;
    let query = json!({ "scope": PROJECT, "query": success, "failures_only": true });
    assert!(
        !has(&asked(&admin, &query).await, &success),
        "a success is no failure"
    );
}

#[tokio::test]
async fn an_answer_is_narrowed_to_kinds_files_and_symbols() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let word = phrase();
    let write = async |table: &str, end: &str, citations: Value| {
        let content = format!("{word} {end}");
        let body = json!({ "scope": WORKTREE, "table": table, "content": content, "citations": citations });
        agent.post("/v1/entries", &body).await.ok();
    };
    let file = json!([{ "kind": "file", "path": "src/scan.rs", "lines": [1, 9] }]);
    let symbol = json!([{ "kind": "symbol", "id": "rust:lex::next", "name": "next", "file": "src/lex/next.rs" }]);
    write("observations", "cites the file", file).await;
    write(
        "observations",
        "names it: src/scan.rs:4 is wrong",
        json!([]),
    )
    .await;
    write("gotchas", "cites the symbol", symbol).await;
    write(
        "gotchas",
        "names another: next_line in src/scan.rs.orig",
        json!([]),
    )
    .await;

    for (narrowed, ends) in [
        (
            json!({ "kinds": ["state"] }),
            vec!["cites the symbol", "src/scan.rs.orig"],
        ),
        (json!({ "kinds": ["knowledge"] }), vec![]),
        (
            json!({ "files": ["src/scan.rs"] }),
            vec!["cites the file", "is wrong"],
        ),
        (json!({ "files": ["./src/lex/"] }), vec!["cites the symbol"]),
        (json!({ "symbols": ["next"] }), vec!["cites the symbol"]),
        (
            json!({ "symbols": ["rust:lex::next"], "files": ["src/scan.rs"] }),
            vec![],
        ),
        (
            json!({ "files": ["src/scan.rs"], "kinds": ["state"] }),
            vec![],
        ),
        (
            json!({ "files": ["src/"] }),
            vec![
                "cites the file",
                "is wrong",
                "cites the symbol",
                "src/scan.rs.orig",
            ],
        ),
    ] {
        let mut body = json!({ "scope": WORKTREE, "query": word, "limit": 50 });
        body.as_object_mut()
            .unwrap()
            .extend(narrowed.as_object().unwrap().clone());
        let found = asked(&agent, &body).await;
        assert_eq!(found.len(), ends.len(), "{narrowed}: {found:?}");
        for end in ends {
            assert!(
                has(&found, end),
                "{narrowed}: {end} is missing in {found:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_answer_keeps_to_the_room_that_there_is() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    let word = phrase();
    let long = format!("{word} {}", "and so on ".repeat(200));
    put(&agent, WORKTREE, &long).await;
    for number in 0..3 {
        put(&agent, WORKTREE, &format!("{word} in short, {number}")).await;
    }
    let body = json!({ "scope": WORKTREE, "query": word, "limit": 4 });
    let all = agent.post("/v1/recall", &body).await.ok();
    let tokens = |answer: &Value| -> u64 {
        let results = answer["results"].as_array().unwrap().iter();
        results
            .map(|result| result["tokens"].as_u64().unwrap())
            .sum()
    };
    assert_eq!(
        (
            all["left_out"].as_u64(),
            all["results"].as_array().unwrap().len()
        ),
        (Some(0), 4)
    );
    assert_eq!(all["tokens"].as_u64().unwrap(), tokens(&all));

    let room =
        json!({ "scope": WORKTREE, "query": word, "limit": 4, "tokens_max": tokens(&all) - 1 });
    let most = agent.post("/v1/recall", &room).await.ok();
    assert_eq!(
        (
            most["left_out"].as_u64(),
            most["results"].as_array().unwrap().len()
        ),
        (Some(1), 3)
    );

    let short = all["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| !r["content"].as_str().unwrap().contains("and so on"));
    let one = short.unwrap()["tokens"].as_u64().unwrap();
    let room =
        json!({ "scope": WORKTREE, "query": word, "limit": 4, "tokens_max": 2 * one + one / 2 });
    let answer = agent.post("/v1/recall", &room).await.ok();
    assert_eq!(
        (answer["left_out"].as_u64(), answer["tokens"].as_u64()),
        (Some(2), Some(tokens(&answer))),
        "{answer}"
    );
    assert_eq!(
        answer["results"].as_array().unwrap().len(),
        2,
        "what does not fit makes no room for less: {answer}"
    );
    assert!(
        !has(answer["results"].as_array().unwrap(), "and so on"),
        "the long one does not fit"
    );
}

#[tokio::test]
async fn nobody_verifies_by_citing_alone() {
    let world = World::start().await;
    let agent = world.principal(PrincipalKind::Agent, WORKTREE).await;
    for citation in [
        json!({ "kind": "human", "user": "admin" }),
        json!({ "kind": "test", "name": "t", "outcome": "pass", "run": "1" }),
    ] {
        let body = json!({ "scope": WORKTREE, "content": phrase(), "citations": [citation] });
        let written = agent.post("/v1/entries", &body).await.ok();
        assert_eq!(written["status"], "hypothesis", "{written}");
    }
}

#[tokio::test]
async fn with_an_embedder_that_made_none_of_the_stored_vectors_nothing_starts_or_is_rebuilt() {
    let mut world = World::start().await;
    world.verified().await;
    world.stop();
    let other = [
        ("SILLOK__EMBEDDER__PROVIDER", "ollama"),
        ("SILLOK__EMBEDDER__MODEL", "of-tests"),
        // Nobody listens there.
        ("SILLOK__EMBEDDER__ENDPOINT", "http://127.0.0.1:1"),
    ];
    // As many coordinates as the built-in one's vectors have, and another number of them.
    for dimensions in ["384", "1024"] {
        let mut launch = world
            .launch()
            .env("SILLOK__EMBEDDER__DIMENSIONS", dimensions);
        let mut rebuild = world
            .invocation("rebuild")
            .env("SILLOK__EMBEDDER__DIMENSIONS", dimensions);
        for (name, value) in other {
            launch = launch.env(name, value);
            rebuild = rebuild.env(name, value);
        }
        let (status, said) = launch.start_in_vain(Duration::from_secs(60));
        assert_eq!(status.code(), Some(78), "{said}");
        assert!(
            said.contains("the stored vectors are of the space"),
            "{said}"
        );
        rebuild.run().ended(78);
    }
    world.start_again().await;
}
