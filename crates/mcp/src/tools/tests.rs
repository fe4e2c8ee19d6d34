//! What the tools say of themselves.

use std::collections::BTreeSet;

use serde_json::json;
use sillok_core::error::ErrorCode;

use super::*;
use crate::api::{Answer, Caller, Outage, Request};
use crate::limits::{BUDGET_TOKENS_MAX, BUDGET_TOKENS_MIN};

fn names(set: ToolSet) -> Vec<String> {
    let tools = definitions(set);
    tools
        .into_iter()
        .map(|tool| tool.name.into_owned())
        .collect()
}

#[test]
fn the_tools_are_always_in_the_same_order() {
    let work = [
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
    let review = [
        "list_reviews",
        "show_review",
        "answer_review",
        "impact",
        "contradictions",
    ];
    assert_eq!(names(ToolSet::Work), work);
    assert_eq!(names(ToolSet::Review), review);
    assert_eq!(names(ToolSet::All), [&work[..], &review[..]].concat());
    assert_eq!(ToolSet::default(), ToolSet::Work);
    for set in ToolSet::ALL {
        assert_eq!(set.as_str().parse::<ToolSet>(), Ok(set));
        let [first, second] = [definitions(set), definitions(set)];
        let json = |tools: &Vec<Tool>| serde_json::to_string(tools).unwrap();
        assert_eq!(json(&first), json(&second));
    }
    assert!("".parse::<ToolSet>().is_err());
}

#[test]
fn every_tool_takes_a_closed_form_and_says_what_it_answers_and_does() {
    for tool in definitions(ToolSet::All) {
        let (name, input) = (&tool.name, &tool.input_schema);
        assert_eq!(input["type"], "object", "{name}");
        assert_eq!(input["additionalProperties"], json!(false), "{name}");
        let output = tool.output_schema.as_ref().unwrap();
        assert_eq!(output["type"], "object", "{name}");
        let hints = tool.annotations.as_ref().unwrap();
        let all = [
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
            hints.open_world_hint,
        ];
        assert!(all.iter().all(Option::is_some), "{name}");
        // Every handle is an argument: nothing is remembered between two calls.
        let fields = input["properties"].as_object().unwrap();
        let handles = ["task", "scope", "entry"];
        assert!(
            handles.iter().any(|handle| fields.contains_key(*handle)),
            "{name}"
        );
        // What is written can be sent again.
        let writes = hints.read_only_hint == Some(false);
        assert_eq!(fields.contains_key("command_id"), writes, "{name}");
        assert!(
            tool.description
                .as_ref()
                .is_some_and(|text| text.len() > 60),
            "{name}"
        );
    }
}

#[test]
fn no_form_refers_to_another_document_and_nested_ones_are_closed_too() {
    for tool in definitions(ToolSet::All) {
        let text = serde_json::to_string(&tool).unwrap();
        assert!(!text.contains("$ref"), "{}", tool.name);
        let closed = closed(&Value::Object(tool.input_schema.as_ref().clone()));
        assert!(closed, "{}", tool.name);
    }
}

/// Whether all objects with fields of a schema take no others.
fn closed(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let is_open = fields.contains_key("properties")
                && fields.get("additionalProperties") != Some(&json!(false));
            !is_open && fields.values().all(closed)
        }
        Value::Array(items) => items.iter().all(closed),
        _ => true,
    }
}

#[test]
fn the_bounds_that_forms_name_are_those_that_hold() {
    for tool in definitions(ToolSet::All) {
        let fields = tool.input_schema["properties"].as_object().unwrap();
        if let Some(budget) = fields.get("budget_tokens") {
            assert_eq!(budget["minimum"], BUDGET_TOKENS_MIN, "{}", tool.name);
            assert_eq!(budget["maximum"], BUDGET_TOKENS_MAX, "{}", tool.name);
        }
    }
}

#[test]
fn the_list_of_tools_costs_a_bounded_part_of_a_context() {
    let text = serde_json::to_string(&definitions(ToolSet::Work)).unwrap();
    let inputs: u64 = definitions(ToolSet::Work)
        .iter()
        .map(|tool| {
            let input = serde_json::to_string(&tool.input_schema).unwrap();
            let said = tool.description.as_deref().unwrap_or_default();
            sillok_core::recall::tokens_of(&input) + sillok_core::recall::tokens_of(said)
        })
        .sum();
    // What a model is shown of them: their forms and descriptions.
    assert!(inputs < 6_000, "{inputs} tokens of {} bytes", text.len());
}

/// An API that must not be asked.
struct Unasked;

impl Api for Unasked {
    async fn send(&self, _caller: &Caller, request: Request) -> Result<Answer, Outage> {
        panic!("{} was asked", request.path)
    }
}

/// Arguments that a tool takes by their form, so far as the tests need them.
fn arguments(name: Name) -> JsonObject {
    let tool = name.define();
    let fields = tool.input_schema["properties"].as_object().unwrap();
    let required = tool.input_schema["required"].as_array().unwrap();
    let text = |field: &Value| {
        let name = field.as_str().unwrap().to_owned();
        let schema = &fields[&name];
        let value = match schema.get("enum").and_then(|names| names.get(0)) {
            Some(first) => first.clone(),
            None => match schema["type"].as_str() {
                Some("array") => json!(["x"]),
                Some("boolean") => json!(true),
                _ => json!("x"),
            },
        };
        (name, value)
    };
    required.iter().map(text).collect()
}

#[tokio::test]
async fn what_does_not_fit_its_form_never_reaches_the_api() {
    let caller = Caller::default();
    let call = Call::new(&Unasked, &caller);
    for name in ToolSet::All.names() {
        let right = arguments(name);
        let mut wrong = vec![JsonObject::new()];
        for (field, value) in [
            ("surprise", json!(1)),
            ("budget_tokens", json!("many")),
            ("command_id", json!(7)),
        ] {
            let mut arguments = right.clone();
            arguments.insert(field.to_owned(), value);
            wrong.push(arguments);
        }
        for field in right.keys() {
            for value in [Value::Null, json!({ "a": [] }), json!(-1.5)] {
                let mut arguments = right.clone();
                arguments.insert(field.clone(), value);
                wrong.push(arguments);
            }
        }
        for arguments in wrong {
            let shown = format!("{arguments:?}");
            let refusal = run(name, &call, arguments).await.unwrap_err();
            assert_eq!(refusal.code, ErrorCode::InvalidRequest, "{name:?} {shown}");
        }
    }
}

#[tokio::test]
async fn a_value_outside_its_bounds_never_reaches_the_api() {
    let caller = Caller::default();
    let call = Call::new(&Unasked, &caller);
    let mut seen = BTreeSet::new();
    for name in ToolSet::All.names() {
        let tool = name.define();
        for (field, value, code) in [
            ("budget_tokens", json!(1), ErrorCode::InvalidArgument),
            ("budget_tokens", json!(u64::MAX), ErrorCode::InvalidArgument),
            ("command_id", json!("not-one"), ErrorCode::InvalidId),
            (
                "command_id",
                json!("f47ac10b-58cc-4372-a567-0e02b2c3d479"),
                ErrorCode::InvalidId,
            ),
            ("wait_ms", json!(u64::MAX), ErrorCode::InvalidArgument),
        ] {
            if tool.input_schema["properties"].get(field).is_none() {
                continue;
            }
            let mut arguments = arguments(name);
            arguments.insert(field.to_owned(), value);
            let refusal = run(name, &call, arguments).await.unwrap_err();
            assert_eq!(refusal.code, code, "{name:?} {field}");
            seen.insert(field);
        }
    }
    assert_eq!(seen.len(), 3);
}
