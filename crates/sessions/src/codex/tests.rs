//! Single lines of Codex, well-formed and odd. Whole sessions are in `tests/golden`.

use serde_json::{Value, json};

use super::*;
use crate::passed::PassedOver;
use crate::record::{Place, Record};
use crate::state::State;

fn read_all(lines: &[Value]) -> (Vec<Record>, PassedOver, State) {
    let (mut state, mut passed) = (State::default(), PassedOver::default());
    let mut records = Vec::new();
    for line in lines {
        let mut scribe = Scribe::new(&mut state, &mut passed, Place::default());
        assert!(read(&line.to_string(), &mut scribe));
        records.extend(scribe.into_records());
    }
    (records, passed, state)
}

fn item(payload: &Value) -> Value {
    json!({ "timestamp": "2025-03-02T10:00:00.000Z", "type": "response_item", "payload": payload })
}

fn output(output: &Value) -> Record {
    let call =
        json!({ "type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c" });
    let output = json!({ "type": "function_call_output", "call_id": "c", "output": output });
    let (mut records, ..) = read_all(&[item(&call), item(&output)]);
    assert_eq!(records.len(), 2);
    assert_eq!(records[1].place.step, Some(1));
    records.remove(1)
}

#[test]
fn an_output_is_read_in_each_of_its_forms() {
    let json_text = json!({ "output": "o", "metadata": { "exit_code": 2 } }).to_string();
    let other_json = json!({ "rows": 3 }).to_string();
    let printed = json!({ "content": "c", "output": "o", "rows": 3 }).to_string();
    let ended = "Process exited with code 0\nOutput:\nfatal: of the past";
    for (given, level, said, code) in [
        (json!("plain"), LogLevel::Info, "plain", None),
        (json!(json_text), LogLevel::Error, "o", Some(2)),
        (json!(other_json), LogLevel::Info, other_json.as_str(), None),
        (json!(printed), LogLevel::Info, printed.as_str(), None),
        (
            json!({ "content": "c", "success": false }),
            LogLevel::Error,
            "c",
            None,
        ),
        (
            json!({ "content": "E   x", "success": true }),
            LogLevel::Info,
            "E   x",
            None,
        ),
        (
            json!([{ "type": "input_text", "text": "a" }, { "type": "input_text", "text": "b" }]),
            LogLevel::Info,
            "a\nb",
            None,
        ),
        (json!(ended), LogLevel::Info, ended, Some(0)),
        (json!("error: no"), LogLevel::Error, "error: no", None),
    ] {
        let record = output(&given);
        let found = (
            record.level,
            record.content.as_str(),
            record.place.exit_code,
        );
        assert_eq!(found, (level, said, code), "{given}");
    }
}

#[test]
fn a_session_that_continues_another_keeps_its_own_name() {
    let meta = |id: &str, cwd: &str| json!({ "type": "session_meta", "payload": { "id": id, "cwd": cwd, "git": { "branch": "b" } } });
    let (_, passed, state) = read_all(&[meta("child", "/src/a"), meta("parent", "/src/b")]);
    assert_eq!(state.session.as_deref(), Some("child"));
    assert_eq!(state.cwd.as_deref(), Some("/src/a"));
    assert_eq!(state.branch.as_deref(), Some("b"));
    assert_eq!(passed.of("beginning of another session"), 1);
}

#[test]
fn a_turn_moves_to_another_directory() {
    let turn = json!({ "type": "turn_context", "payload": { "cwd": "/src/b" } });
    let asked = item(&json!({ "type": "message", "role": "user", "content": "x" }));
    let (records, ..) = read_all(&[turn, asked]);
    assert_eq!(records[0].place.cwd.as_deref(), Some("/src/b"));
}

#[test]
fn what_the_client_writes_in_the_users_name_is_no_prompt() {
    for start in CONTEXT {
        let said = json!([{ "type": "input_text", "text": format!("{start} and so on") }]);
        let (records, passed, _) = read_all(&[item(
            &json!({ "type": "message", "role": "user", "content": said }),
        )]);
        assert!(records.is_empty(), "{start}");
        assert_eq!(passed.of("note of the client"), 1);
    }
}

#[test]
fn what_says_nothing_of_the_work_is_passed_over_and_counted() {
    let (records, passed, _) = read_all(&[
        item(&json!({ "type": "reasoning", "summary": [], "encrypted_content": "x" })),
        item(&json!({ "type": "novel" })),
        item(&json!(7)),
        item(&json!({ "type": "message", "role": "system", "content": [] })),
        json!({ "type": "event_msg", "payload": { "type": "token_count" } }),
        json!({ "type": "world_state", "payload": {} }),
        json!({ "record_type": "state" }),
        json!({}),
        json!({ "type": "compacted", "payload": { "message": "" } }),
    ]);
    assert!(records.is_empty(), "{records:?}");
    for (reason, count) in [
        ("hidden thinking", 1),
        ("item novel", 1),
        ("payload that is no JSON object", 1),
        ("message of role system", 1),
        ("event token_count", 1),
        ("record world_state", 1),
        ("record state", 1),
        ("record session_meta", 1),
        ("empty text", 1),
    ] {
        assert_eq!(passed.of(reason), count, "{reason}");
    }
    assert_eq!(passed.total(), 9);
}
