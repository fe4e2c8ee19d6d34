//! Single lines of Claude Code, well-formed and odd. Whole sessions are in `tests/golden`.

use serde_json::{Value, json};
use sillok_core::limits::METADATA_BYTES_MAX;

use super::*;
use crate::passed::PassedOver;
use crate::record::{Place, Record};
use crate::state::State;

fn read_all(lines: &[Value]) -> (Vec<Record>, PassedOver) {
    let (mut state, mut passed) = (State::default(), PassedOver::default());
    let mut records = Vec::new();
    for line in lines {
        let mut scribe = Scribe::new(&mut state, &mut passed, Place::default());
        assert!(read(&line.to_string(), &mut scribe));
        records.extend(scribe.into_records());
    }
    (records, passed)
}

fn blocks(kind: &str, content: &Value) -> Value {
    json!({ "type": kind, "sessionId": "s", "message": { "role": kind, "content": content } })
}

#[test]
fn results_find_their_calls_in_whatever_order_they_come() {
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": id } });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": id });
    let (records, _) = read_all(&[
        blocks("assistant", &json!([call("a"), call("b")])),
        blocks(
            "user",
            &json!([result("b"), result("a"), result("unknown")]),
        ),
    ]);
    let found: Vec<_> = records
        .iter()
        .map(|record| (record.content.as_str(), record.place.step))
        .collect();
    let expected = [
        ("a", Some(1)),
        ("b", Some(2)),
        ("b", Some(2)),
        ("a", Some(1)),
        ("unknown", None),
    ];
    assert_eq!(found, expected);
}

#[test]
fn places_are_told_and_bounded() {
    let long = "\u{1}".repeat(METADATA_BYTES_MAX);
    let mut line = blocks("user", &json!("x"));
    for field in ["uuid", "cwd", "gitBranch", "agentId"] {
        line[field] = json!(long);
    }
    line["isSidechain"] = json!(true);
    let (records, _) = read_all(&[line]);
    let place = serde_json::to_string(&records[0].place).unwrap();
    assert!(place.len() <= METADATA_BYTES_MAX);
    assert!(place.contains("\"sidechain\":true"));
    let mut named = blocks("user", &json!("x"));
    named["gitBranch"] = json!("");
    named["cwd"] = json!("/src/api");
    named["uuid"] = json!("u1");
    let (records, _) = read_all(&[named]);
    let place = serde_json::to_string(&records[0].place).unwrap();
    assert_eq!(place, r#"{"cwd":"/src/api","id":"u1","kind":"prompt"}"#);
}

#[test]
fn what_says_nothing_of_the_work_is_passed_over_and_counted() {
    let mut meta = blocks("user", &json!("a caveat"));
    meta["isMeta"] = json!(true);
    let image =
        json!({ "type": "image", "source": { "type": "base64", "data": "x".repeat(1_000) } });
    let (records, passed) = read_all(&[
        meta,
        blocks("user", &json!([image, { "type": "document" }, 7])),
        blocks(
            "user",
            &json!([{ "type": "tool_result", "tool_use_id": "t", "content": [image] }]),
        ),
        blocks(
            "assistant",
            &json!([{ "type": "redacted_thinking", "data": "x" }, { "type": "novel" }]),
        ),
        blocks("assistant", &json!(7)),
        blocks("assistant", &json!(" \n")),
        json!({ "type": "system", "subtype": "turn_duration", "durationMs": 1 }),
        json!({ "type": "attachment", "attachment": {} }),
        json!({ "type": 7 }),
        json!({}),
    ]);
    assert!(records.is_empty(), "{records:?}");
    for (reason, count) in [
        ("note of the client", 1),
        ("image", 2),
        ("document", 1),
        ("block that is no JSON object", 1),
        ("empty output", 1),
        ("hidden thinking", 1),
        ("block novel", 1),
        ("message without content", 1),
        ("empty text", 1),
        ("system turn_duration", 1),
        ("record attachment", 1),
    ] {
        assert_eq!(passed.of(reason), count, "{reason}");
    }
    assert_eq!(passed.total(), 14);
}

#[test]
fn what_the_client_writes_in_the_users_name_is_no_prompt() {
    for start in CONTEXT {
        let said = format!("{start}and so on");
        let (records, passed) = read_all(&[
            blocks("user", &json!(said)),
            blocks("user", &json!([{ "type": "text", "text": said }])),
        ]);
        assert!(records.is_empty(), "{start}");
        assert_eq!(passed.of("note of the client"), 2);
        let (records, _) = read_all(&[blocks("assistant", &json!(said))]);
        assert_eq!(records.len(), 1, "an agent may say it");
    }
}

#[test]
fn blocks_of_one_line_have_a_bound() {
    let many = vec![json!({ "type": "text", "text": "x" }); BLOCKS_MAX + 5];
    let (records, passed) = read_all(&[blocks("assistant", &json!(many))]);
    assert_eq!(records.len(), BLOCKS_MAX);
    assert_eq!(passed.of("blocks of a line that has too many"), 1);
}

#[test]
fn a_line_that_is_no_object_says_so() {
    let (mut state, mut passed) = (State::default(), PassedOver::default());
    let mut scribe = Scribe::new(&mut state, &mut passed, Place::default());
    for line in ["", "7", "[]", "{\"a\":", "{\"type\":1,\"type\":2}"] {
        assert!(!read(line, &mut scribe), "{line}");
    }
}
