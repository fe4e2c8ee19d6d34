//! Small synthetic runs, well-formed and hostile.

use serde_json::json;

use sillok_core::limits::RECORD_BYTES_MAX;

use super::*;

/// A record's place as the bytes that are sent.
fn sent(record: &Record) -> String {
    serde_json::to_string(&record.place).unwrap()
}

fn run(document: &Value) -> Result<Run, String> {
    parse("some-run", &document.to_string())
}

fn step(thought: &str, action: &str, observation: &str) -> Value {
    json!({ "thought": thought, "action": action, "observation": observation, "state": {} })
}

#[test]
fn a_step_becomes_thought_tool_and_observation() {
    let issue =
        "Here it is:\nISSUE:\nSums are off\nThe last line is lost.\n\nINSTRUCTIONS:\nNow, …";
    let run = run(&json!({
        "environment": "e",
        "trajectory": [
            step("Let us look.\n", "cat sum.sh\n", "read x\n"),
            step("", "sh test.sh", "error: 5 is not 6"),
        ],
        "history": [
            { "role": "system", "content": "s" },
            { "role": "user", "is_demo": true, "content": "ISSUE:\nAnother\nINSTRUCTIONS:" },
            { "role": "user", "content": issue },
        ],
        "info": {},
    }))
    .unwrap();
    assert_eq!(run.title, "Sums are off");
    assert_eq!(run.description, "Sums are off\nThe last line is lost.");
    assert_eq!(run.steps, 2);
    let found: Vec<_> = run
        .records
        .iter()
        .map(|r| (r.level, r.content.as_str()))
        .collect();
    let expected = [
        (LogLevel::Thought, "Let us look."),
        (LogLevel::Tool, "cat sum.sh"),
        (LogLevel::Info, "read x"),
        (LogLevel::Tool, "sh test.sh"),
        (LogLevel::Error, "error: 5 is not 6"),
    ];
    assert_eq!(found, expected);
    assert_eq!(sent(&run.records[3]), r#"{"step":2,"tool":"sh"}"#);
    assert_eq!(sent(&run.records[0]), r#"{"step":1}"#);
}

#[test]
fn a_message_may_be_a_list_of_texts() {
    let run = run(&json!({
        "trajectory": [step("t", "a", "o")],
        "history": [{ "role": "user", "content": [{ "type": "text", "text": "ISSUE:\nListed\n" }] }],
    }))
    .unwrap();
    assert_eq!(
        (run.title.as_str(), run.description.as_str()),
        ("Listed", "Listed")
    );
}

#[test]
fn a_run_without_a_problem_statement_is_named_after_its_file() {
    let without = run(&json!({ "trajectory": [step("t", "a", "o")] })).unwrap();
    assert_eq!(
        (without.title.as_str(), without.description.as_str()),
        ("some-run", "")
    );
    let challenge = json!({
        "trajectory": [{ "action": "ls" }],
        "history": [{ "role": "user", "content": "We're solving a challenge.\n\nINSTRUCTIONS:\nGo." }],
    });
    let challenge = run(&challenge).unwrap();
    assert_eq!(challenge.title, "some-run");
    assert_eq!(challenge.description, "We're solving a challenge.");
}

#[test]
fn what_is_no_run_is_refused_with_a_reason() {
    let refused = |text: &str| parse("x", text).unwrap_err();
    assert!(refused("not json").contains("expected"));
    assert!(refused("[]").contains("expected") || refused("[]").contains("missing"));
    assert!(refused("{}").contains("trajectory"));
    assert!(refused("{\"trajectory\": []}").contains("no steps"));
    assert!(refused("{\"trajectory\": [{}]}").contains("empty"));
    assert!(refused("{\"trajectory\": [{\"thought\": 7}]}").contains("invalid type"));
    assert!(refused("{\"trajectory\": 1}").contains("invalid type"));
    let deep = format!(
        "{{\"trajectory\": {}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(!refused(&deep).is_empty());
}

#[test]
fn odd_messages_and_missing_fields_are_passed_over() {
    let run = run(&json!({
        "trajectory": [{ "thought": null, "action": "ls" }, { "observation": "x" }],
        "history": [{}, { "role": "user" }, { "role": "user", "content": 9 }, { "role": "user", "content": [1] }],
    }))
    .unwrap();
    assert_eq!(run.records.len(), 2);
    assert_eq!(run.description, "");
}

#[test]
fn a_huge_observation_becomes_several_records_that_join_to_it() {
    let text = "한글 ".repeat(RECORD_BYTES_MAX / 7 * 2) + "end";
    let run = run(&json!({ "trajectory": [step("t", "a", &text)] })).unwrap();
    let parts: Vec<&Record> = run
        .records
        .iter()
        .filter(|r| r.level == LogLevel::Info)
        .collect();
    assert!(parts.len() > 1);
    assert!(
        parts
            .iter()
            .all(|part| part.content.len() <= RECORD_BYTES_MAX)
    );
    assert_eq!(
        parts
            .iter()
            .map(|part| part.content.as_str())
            .collect::<String>(),
        text
    );
    assert_eq!(sent(parts[1]), r#"{"part":2,"step":1}"#);
}

#[test]
fn files_are_read_and_named_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a-run.traj");
    let document = json!({ "trajectory": [step("t", "a", "o")] });
    std::fs::write(&path, document.to_string()).unwrap();
    assert_eq!(read(&path).unwrap().name, "a-run");
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(matches!(read(&path), Err(Error::Read { .. })));
    std::fs::write(&path, "{}").unwrap();
    assert!(read(&path).unwrap_err().to_string().contains("a-run.traj"));
    assert!(matches!(
        read(&folder.path().join("none")),
        Err(Error::Read { .. })
    ));
}
