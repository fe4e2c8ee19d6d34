//! Answers of every kind: whole ones, wrong ones, and ones that quote what is not there.

use proptest::prelude::*;
use serde_json::json;
use sillok_core::entry::Metadata;
use sillok_core::promotion::{CognifyRecord, RecordEnd, Unread};
use sillok_core::scope::Scope;
use sillok_core::staging::{LogLevel, RecordKind};
use sillok_core::time::Timestamp;
use sillok_core::verification::Outcome;

use super::*;

const TASK: &str = "org/a/project/p/worktree/w/task/t";

fn input(records: &[&str]) -> CognifyInput {
    let record = |(place, content): (usize, &&str)| CognifyRecord {
        bound: None,
        id: format!("{TASK}#{}", place + 2).parse().unwrap(),
        time: Timestamp::from_ms(1),
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content: (*content).to_owned(),
        end: None,
        metadata: Metadata::default(),
    };
    CognifyInput {
        task: Scope::parse(TASK).unwrap(),
        title: "Fix the parser".to_owned(),
        description: "It is greedy.".to_owned(),
        outcome: Outcome::Passed,
        error: None,
        approach: None,
        opening: Some(format!("{TASK}#1").parse().unwrap()),
        records: records.iter().enumerate().map(record).collect(),
        unread: Unread::default(),
    }
}

fn fact(record: u64, text: &str) -> Value {
    json!({ "content": "It is so.", "quotes": [{ "record": record, "text": text }], "claim": null })
}

fn answer(facts: &[Value]) -> Value {
    json!({
        "facts": facts, "critique": "c", "key_decisions": ["d"], "result": "r", "score": 0.5,
        "causal_edges": [{ "cause": "a", "effect": "b", "confidence": 1 }],
        "repeatable": true, "skill": { "name": "n", "description": "d", "code": "c" },
    })
}

fn read_all(answer: &Value, input: &CognifyInput) -> Result<Cognition, String> {
    let nothing_left_out = (input.records.len(), input.records.len());
    read(
        &answer.to_string(),
        input,
        nothing_left_out,
        Used::default(),
    )
}

/// An answer with one of everything that a schema names.
fn instance(schema: &Value) -> Value {
    if let Some(first) = schema.pointer("/anyOf/0") {
        return instance(first);
    }
    match schema["type"].as_str().unwrap() {
        "object" => schema["properties"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, schema)| (key.clone(), instance(schema)))
            .collect(),
        "array" => json!([instance(&schema["items"])]),
        "string" => json!("the first line"),
        "integer" => json!(1),
        "number" => json!(0.5),
        "boolean" => json!(true),
        other => panic!("no such type: {other}"),
    }
}

/// The paths of all objects within a value.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.push(at.to_owned());
            for (key, value) in fields {
                objects(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(items) => objects(&items[0], &format!("{at}/0"), found),
        _ => {}
    }
}

#[test]
fn the_schema_and_its_reader_want_the_same_of_every_object() {
    let input = input(&["the first line"]);
    let full = instance(&serde_json::from_str(prompt::SCHEMA).unwrap());
    let cognition = read_all(&full, &input).unwrap();
    assert_eq!((cognition.facts.len(), cognition.left_out), (1, 0));
    let mut paths = Vec::new();
    objects(&full, "", &mut paths);
    assert_eq!(paths.len(), 6, "{paths:?}");
    for path in paths {
        let keys: Vec<String> = full
            .pointer(&path)
            .unwrap()
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        for key in keys {
            let mut less = full.clone();
            less.pointer_mut(&path)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(&key);
            let why = read_all(&less, &input).unwrap_err();
            assert!(why.contains("not of the schema"), "{path}/{key}: {why}");
        }
        let mut more = full.clone();
        more.pointer_mut(&path).unwrap()["status"] = json!("published");
        assert!(
            read_all(&more, &input).is_err(),
            "{path} takes what nobody asked for"
        );
    }
}

#[test]
fn a_quote_becomes_the_bytes_that_it_stands_at() {
    let input = input(&["nothing", "원인은 반올림이다:\n  round() is banker's"]);
    let mut stated = fact(2, "반올림이다: round() is");
    stated["quotes"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "record": 0, "text": "It is greedy." }));
    let cognition = read_all(&answer(&[stated]), &input).unwrap();
    let said: Vec<String> = cognition.facts[0]
        .sources
        .iter()
        .map(|at| input.said(at).unwrap())
        .collect();
    assert_eq!(said, ["반올림이다:\n  round() is", "It is greedy."]);
    assert_eq!(cognition.sources, [input.records[1].id.clone()]);
    assert_eq!(cognition.skill.unwrap().sources, cognition.sources);
}

#[test]
fn a_quote_of_the_end_of_a_long_record_names_its_bytes_in_the_whole_one() {
    let between = "x".repeat(400_000);
    let whole = format!("collected 4 items\n{between}\n원인: 1 failed, 3 passed");
    let from = whole.rfind('\n').unwrap() + 1;
    let mut input = input(&["collected 4 items"]);
    input.records[0].end = Some(RecordEnd {
        from: u32::try_from(from).unwrap(),
        content: whole[from..].to_owned(),
    });
    let (ends, begins) = (fact(1, "1 failed, 3 passed"), fact(1, "4 items"));
    // What stands between the two was not given, and nothing is quoted across it.
    let (across, unread) = (fact(1, "4 items 원인: 1 failed"), fact(1, "xxxx"));
    let cognition = read_all(&answer(&[ends, begins, across, unread]), &input).unwrap();
    assert_eq!((cognition.facts.len(), cognition.left_out), (2, 2));
    let sources = cognition.facts.iter().flat_map(|fact| &fact.sources);
    let said: Vec<Option<&str>> = sources.map(|at| at.of(&whole)).collect();
    assert_eq!(said, [Some("1 failed, 3 passed"), Some("4 items")]);
}

#[test]
fn a_fact_that_quotes_what_is_not_there_is_left_out_and_counted() {
    let input = input(&["the first line", "the second line"]);
    let mut half = fact(1, "the first line");
    half["quotes"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "record": 2, "text": "the third line" }));
    let unquoted = json!({ "content": "It is so.", "quotes": [], "claim": null });
    let empty =
        json!({ "content": " ", "quotes": [{ "record": 1, "text": "the first" }], "claim": null });
    let facts = [
        fact(2, "the second line"),
        fact(1, "the second line"),
        fact(3, "the first line"),
        fact(u64::MAX, "the first line"),
        fact(1, ""),
        half,
        unquoted,
        empty,
    ];
    let cognition = read_all(&answer(&facts), &input).unwrap();
    assert_eq!((cognition.facts.len(), cognition.left_out), (1, 7));
}

#[test]
fn what_was_not_given_cannot_be_quoted() {
    let input = input(&["the first line", "the second line", "the third line"]);
    let facts = [
        fact(1, "the first"),
        fact(2, "the second"),
        fact(3, "the third"),
    ];
    let text = answer(&facts).to_string();
    let cognition = read(&text, &input, (1, 2), Used::default()).unwrap();
    let records: Vec<&RecordId> = cognition
        .facts
        .iter()
        .map(|fact| &fact.sources[0].record)
        .collect();
    assert_eq!(records, [&input.records[0].id, &input.records[2].id]);
    let unopened = CognifyInput {
        opening: None,
        ..input
    };
    let cognition = read_all(&answer(&[fact(0, "It is greedy.")]), &unopened).unwrap();
    assert_eq!((cognition.facts.len(), cognition.left_out), (0, 1));
}

#[test]
fn what_is_no_answer_is_refused_without_a_word_of_it() {
    let input = input(&["the first line"]);
    let refused = |text: &str| read(text, &input, (1, 1), Used::default()).unwrap_err();
    let whole = answer(&[]).to_string();
    for text in [
        String::new(),
        "I cannot do that, hunter2.".to_owned(),
        format!("```json\n{whole}\n```"),
        format!("{whole}{whole}"),
        "[".repeat(100),
        whole[..whole.len() - 1].to_owned(),
        "[".repeat(100_000),
    ] {
        let why = refused(&text);
        assert!(
            why.contains("not JSON") && !why.contains("hunter2"),
            "{why}"
        );
    }
    let twice = format!("{},\"result\":\"hunter2\"}}", &whole[..whole.len() - 1]);
    let listed = json!([[], "hunter2", [], "r", 0.5, [], true, null]).to_string();
    for text in [twice, listed] {
        let why = refused(&text);
        assert!(
            why.contains("not of the schema") && !why.contains("hunter2"),
            "{why}"
        );
    }
    for (field, value) in [
        ("score", json!("hunter2")),
        ("score", json!(null)),
        ("facts", json!({ "hunter2": 1 })),
        ("facts", json!([["hunter2"]])),
        (
            "facts",
            json!([{ "content": "hunter2", "quotes": [{ "record": -1, "text": "x" }], "claim": null }]),
        ),
        ("skill", json!("hunter2")),
        ("repeatable", json!("hunter2")),
        ("hunter2", json!(1)),
    ] {
        let mut wrong = answer(&[]);
        wrong[field] = value;
        let why = refused(&wrong.to_string());
        assert!(
            why.contains("not of the schema") && !why.contains("hunter2"),
            "{why}"
        );
    }
}

#[test]
fn a_record_that_has_no_number_is_none() {
    let input = input(&["the first line"]);
    let mut wrong = answer(&[fact(1, "the first line")]);
    for number in [json!(-1), json!(1.5), json!("1"), json!(u64::MAX as f64)] {
        wrong["facts"][0]["quotes"][0]["record"] = number;
        assert!(read_all(&wrong, &input).is_err());
    }
}

#[test]
fn what_the_rules_do_not_take_is_refused() {
    let input = input(&["the first line"]);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut changed = answer(&[fact(1, "the first line")]);
        read_all(&changed, &input).unwrap();
        change(&mut changed);
        read_all(&changed, &input).unwrap_err()
    };
    assert!(refused(&|it| it["score"] = json!(1.5)).contains("the score"));
    assert!(refused(&|it| it["causal_edges"][0]["confidence"] = json!(-1)).contains("confidence"));
    assert!(refused(&|it| it["key_decisions"] = json!(vec!["d"; 65])).contains("key decisions"));
    let many = vec![fact(1, "the first line"); 300];
    assert!(refused(&|it| it["facts"] = json!(many)).contains("facts"));
    let quotes = vec![json!({ "record": 1, "text": "the first" }); QUOTES_MAX + 1];
    assert!(refused(&|it| it["facts"][0]["quotes"] = json!(quotes)).contains("quotes"));
}

proptest! {
    /// Whatever numbers and words a model quotes: what is kept passes the rules, and the rest is counted.
    #[test]
    fn whatever_is_quoted_what_is_kept_stands_there(
        texts in proptest::collection::vec("[ab가\n ]{0,12}", 0..4),
        quotes in proptest::collection::vec((0u64..6, "[ab가 ]{0,6}"), 0..12),
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let input = input(&texts);
        let facts: Vec<Value> = quotes.iter().map(|(record, text)| fact(*record, text)).collect();
        let cognition = read_all(&answer(&facts), &input).unwrap();
        prop_assert_eq!(cognition.facts.len() + cognition.left_out as usize, facts.len());
        prop_assert_eq!(cognition.check(&input), Ok(()));
    }

    #[test]
    fn no_text_is_too_strange_to_be_refused(text in ".{0,200}") {
        let input = input(&["the first line"]);
        prop_assert!(read(&text, &input, (1, 1), Used::default()).is_err());
    }
}
