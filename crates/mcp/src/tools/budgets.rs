//! What answers cost, whatever the API says.

use serde_json::json;
use sillok_core::recall::tokens_of;

use super::*;
use crate::api::{Answer, Caller, Outage, Request};

/// What an answer's own fields may cost, besides what there is of them in lists.
const FRAME_TOKENS: u64 = 300;

/// An API that has very much to say of everything.
struct Talkative;

impl Api for Talkative {
    async fn send(&self, _caller: &Caller, request: Request) -> Result<Answer, Outage> {
        let body = said(request.path);
        Ok(Answer { status: 200, body })
    }
}

fn said(path: &str) -> Value {
    let long = "long words of somebody ".repeat(1_500);
    let id = "01900000-0000-7000-8000-000000000001";
    let head = json!({
        "id": id, "scope": "org/a", "table": "gotchas", "status": "verified", "version": 1, "trust": { "confidence": 0.5 },
        "usage": { "helped": 0, "wrong": 0, "stale": 0 }, "citations": [{ "kind": "file", "path": long }],
    });
    let entry = json!({ "head": head, "version": { "content": long } });
    let review = json!({ "id": id, "question": "contradiction", "new": id, "known": id, "why": long, "content": long,
        "answer": { "approved": true, "reason": long } });
    let edge = json!({ "from": long, "kind": "APPLIES_TO", "to": long });
    let node = json!({ "node": "decision:org/a#r", "depth": 1, "title": long, "rank": "axis", "by": edge, "path": [edge] });
    let impact = json!({ "affected": vec![node; 20] });
    match path {
        "/v1/task" => {
            json!({ "title": long, "description": long, "status": "stuck", "stuck_reason": long })
        }
        "/v1/brief" => {
            let item = json!({ "item": "decision", "layer": "lock", "scope": "org/a", "root": id, "data_marked_text": long });
            json!({ "items": vec![item; 40] })
        }
        "/v1/recall" => {
            let found = json!({ "entry": id, "scope": "org/a", "table": "gotchas", "status": "verified", "content": long, "version": 1,
                "score": { "total": 0.5, "confidence": 0.5 }, "gate": "valid" });
            json!({ "results": vec![found; 20], "by_meaning": true })
        }
        "/v1/entry" => entry,
        "/v1/history" => {
            let step = json!({ "id": id, "status": "verified", "version": 1 });
            let versions: Vec<Value> = (0..2_000)
                .map(|number| json!({ "number": number }))
                .collect();
            json!({ "line": vec![step; 200], "versions": versions })
        }
        "/v1/fixes/check" => {
            let before = json!({ "task": "org/a/project/b/worktree/c/task/d", "likeness": "one", "approach": { "text": long },
                "similarity": 0.9, "attempts": 2, "last": 7, "reasons": [long] });
            json!({ "verdict": "block", "suggestion": long, "stuck": long, "tried": vec![before; 10] })
        }
        "/v1/decisions/propose" => {
            let guard = json!({ "node": "decision:org/a#r", "rank": "lock", "title": long });
            let other = json!({ "scope": "org/a", "root": id, "rank": "lock", "title": long, "claim": { "key": "k", "value": "v" } });
            json!({ "impact": impact, "guards": vec![guard; 10], "contradictions": vec![other; 10] })
        }
        "/v1/reviews" => json!({ "items": vec![review; 32] }),
        "/v1/review" => json!({ "review": review, "entries": [entry, entry] }),
        "/v1/impact" => impact,
        "/v1/code/dependents" => {
            let found = json!({ "node": long, "depth": 1, "from": long, "relation": "imports", "certain": true });
            json!({ "dependents": vec![found; 20] })
        }
        _ => panic!("{path} is asked by no tool that has a budget and only reads"),
    }
}

/// What names what was left out is bounded by its number, and comes on top.
fn without_names(mut output: Value) -> String {
    output["cut"] = Value::Null;
    output.to_string()
}

#[tokio::test]
async fn an_answer_costs_what_was_asked_for_whatever_there_is_to_say() {
    let caller = Caller::default();
    let call = Call::new(&Talkative, &caller);
    for (name, arguments) in [
        (Name::BeginTask, json!({ "task": "t" })),
        (Name::Recall, json!({ "scope": "s", "query": "q" })),
        (Name::GetMemory, json!({ "entry": "e", "history": true })),
        (Name::CheckFix, json!({ "task": "t", "approach": "a" })),
        (
            Name::RecordDecision,
            json!({ "scope": "s", "title": "t", "content": "c", "only_propose": true }),
        ),
        (Name::ListReviews, json!({ "scope": "s" })),
        (Name::ShowReview, json!({ "scope": "s", "review": "r" })),
        (Name::Impact, json!({ "scope": "s", "at": ["file:a"] })),
        (Name::Contradictions, json!({ "scope": "s" })),
    ] {
        for budget in [100, 1_000, 4_000, 20_000_u64] {
            let mut arguments = arguments.as_object().unwrap().clone();
            arguments.insert("budget_tokens".to_owned(), json!(budget));
            let output = run(name, &call, arguments).await.unwrap();
            let cost = tokens_of(&without_names(output));
            // An item's fields are counted as so many, whatever they are.
            assert!(
                cost <= budget + budget / 2 + FRAME_TOKENS,
                "{name:?}: {cost} of {budget}"
            );
        }
    }
    // All tools that have a budget are among these.
    let with_budget = definitions(ToolSet::All);
    let has = |tool: &&Tool| {
        tool.input_schema["properties"]
            .get("budget_tokens")
            .is_some()
    };
    assert_eq!(with_budget.iter().filter(has).count(), 9);
}
