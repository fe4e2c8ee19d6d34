//! Sessions that are cut, written further, and hostile.

use std::io::BufReader;

use proptest::prelude::*;
use serde_json::json;
use sillok_core::limits::RECORD_BYTES_MAX;

use super::*;
use crate::limits::LINE_BYTES_MAX;

const CLAUDE_CODE: &str = include_str!("../../tests/golden/claude-code.jsonl");
const CODEX: &str = include_str!("../../tests/golden/codex.jsonl");

fn reader(client: Client, text: &[u8]) -> Reader<&[u8]> {
    Reader::new(client, Some("s"), None, text)
}

fn rest<R: BufRead>(reader: &mut Reader<R>) -> Vec<Entry> {
    let mut entries = Vec::new();
    while let Some(entry) = reader.entry().unwrap() {
        entries.push(entry);
    }
    entries
}

/// A session with lines that are none between its own.
fn samples() -> impl Strategy<Value = (Client, Vec<u8>)> {
    let noise = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"   \n".to_vec()),
        Just(b"{\n".to_vec()),
        Just(b"[1,2]\n".to_vec()),
        Just(b"{\"type\":7}\n".to_vec()),
        Just(b"\xff\xfe\n".to_vec()),
        Just(b"{\"type\":\"user\",\"message\":{\"content\":\"\xf0\x9f\"}}\n".to_vec()),
        Just(
            "{\"type\":\"user\",\"message\":{\"content\":\"한\"}}\n"
                .as_bytes()
                .to_vec()
        ),
    ];
    let noise = proptest::collection::vec((any::<prop::sample::Index>(), noise), 0..6);
    (any::<bool>(), noise).prop_map(|(is_codex, noise)| {
        let (client, text) = if is_codex {
            (Client::Codex, CODEX)
        } else {
            (Client::ClaudeCode, CLAUDE_CODE)
        };
        let mut lines: Vec<Vec<u8>> = text
            .split_inclusive('\n')
            .map(|line| line.as_bytes().to_vec())
            .collect();
        for (at, line) in noise {
            lines.insert(at.index(lines.len() + 1), line);
        }
        (client, lines.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_session_that_is_cut_anywhere_and_gone_on_with_is_read_as_if_it_were_whole(
        (client, text) in samples(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 1..4),
        buffer in 1_usize..64,
    ) {
        let mut whole = reader(client, &text);
        let expected = rest(&mut whole);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        cuts.push(text.len());
        let mut found = Vec::new();
        let mut passed = PassedOver::default();
        let mut mended = 0;
        let mut cursor: Option<Cursor> = None;
        for cut in cuts {
            let part = BufReader::with_capacity(buffer, &text[..cut]);
            let mut reader = Reader::new(client, Some("s"), None, part);
            if let Some(cursor) = &cursor {
                // A cursor is kept as JSON.
                let kept = serde_json::to_string(cursor).unwrap();
                prop_assert!(reader.go_on(&serde_json::from_str(&kept).unwrap()).unwrap());
            }
            found.extend(rest(&mut reader));
            passed.add(reader.passed());
            mended += reader.mended();
            let tail = &text[usize::try_from(reader.offset()).unwrap()..cut];
            prop_assert_eq!(reader.unfinished(), !tail.trim_ascii().is_empty());
            cursor = Some(reader.cursor());
        }
        prop_assert_eq!(found, expected);
        prop_assert_eq!(&passed, whole.passed());
        prop_assert_eq!(mended, whole.mended());
        prop_assert_eq!(cursor, Some(whole.cursor()));
    }

    #[test]
    fn no_cursor_is_taken_where_a_byte_before_it_is_another(
        (client, text) in samples(),
        cut in any::<prop::sample::Index>(),
        flip in any::<prop::sample::Index>(),
    ) {
        let mut first = reader(client, &text[..cut.index(text.len() + 1)]);
        rest(&mut first);
        let cursor = first.cursor();
        let mut other = text.clone();
        let at = flip.index(other.len());
        other[at] ^= 1;
        let goes_on = reader(client, &other).go_on(&cursor).unwrap();
        prop_assert_eq!(goes_on, at as u64 >= cursor.offset);
    }

    #[test]
    fn whatever_stands_in_a_file_is_read_to_its_end(
        is_codex in any::<bool>(),
        text in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let client = if is_codex { Client::Codex } else { Client::ClaudeCode };
        let mut reader = reader(client, &text);
        rest(&mut reader);
        let left = &text[usize::try_from(reader.offset()).unwrap()..];
        prop_assert!(!left.contains(&b'\n'));
    }

    #[test]
    fn lines_of_the_right_form_with_anything_in_their_fields_are_read(
        is_codex in any::<bool>(),
        kind in prop_oneof![
            Just("user"), Just("assistant"), Just("system"), Just("response_item"),
            Just("event_msg"), Just("session_meta"), Just("compacted"), Just("turn_context"),
        ],
        item in prop_oneof![
            Just("message"), Just("reasoning"), Just("function_call"), Just("error"),
            Just("function_call_output"), Just("custom_tool_call"), Just("local_shell_call"),
            Just("web_search_call"), Just("tool_use"), Just("tool_result"), Just("text"),
        ],
        value in json_values(),
    ) {
        let client = if is_codex { Client::Codex } else { Client::ClaudeCode };
        let fields = ["content", "summary", "arguments", "input", "action", "output", "name", "call_id", "text"];
        let mut inner = json!({ "type": item, "role": "user" });
        for field in fields {
            inner[field] = value.clone();
        }
        let line = json!({
            "type": kind, "timestamp": value, "cwd": value, "uuid": value, "isMeta": value,
            "payload": inner, "message": { "content": [inner, value] },
        });
        let text = format!("{line}\n{line}");
        let mut reader = reader(client, text.as_bytes());
        rest(&mut reader);
        prop_assert_eq!(reader.offset(), text.len() as u64);
    }
}

fn json_values() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|value| json!(value)),
        any::<i64>().prop_map(|value| json!(value)),
        ".{0,12}".prop_map(|value| json!(value)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|list| json!(list)),
            inner.prop_map(|value| json!({ "command": value, "type": "text", "text": value })),
        ]
    })
}

fn said(text: &str) -> String {
    json!({ "type": "user", "sessionId": "s", "message": { "content": text } }).to_string()
}

#[test]
fn a_line_of_megabytes_becomes_records_that_join_to_it() {
    let long = "한글 ".repeat(RECORD_BYTES_MAX / 7 * 2) + "end";
    let text = format!("{}\n{}\n", said(&long), said("next"));
    let mut reader = reader(Client::ClaudeCode, text.as_bytes());
    let entries = rest(&mut reader);
    assert_eq!(entries.len(), 2);
    let parts = &entries[0].records;
    assert!(
        parts.len() > 1
            && parts
                .iter()
                .all(|part| part.content.len() <= RECORD_BYTES_MAX)
    );
    let numbers: Vec<_> = parts.iter().filter_map(|part| part.place.part).collect();
    assert_eq!(numbers, (1..=parts.len()).collect::<Vec<_>>());
    let joined: String = parts.iter().map(|part| part.content.as_str()).collect();
    assert_eq!(joined, long);
    assert_eq!(entries[1].records[0].content, "next");
}

#[test]
fn a_line_over_the_bound_costs_itself_and_is_not_held() {
    let long = "x".repeat(LINE_BYTES_MAX);
    let text = format!("{}\n{}\n{}\n", said("one"), said(&long), said("two"));
    let mut reader = reader(Client::ClaudeCode, text.as_bytes());
    let entries = rest(&mut reader);
    let contents: Vec<&str> = entries
        .iter()
        .map(|entry| entry.records[0].content.as_str())
        .collect();
    assert_eq!(contents, ["one", "two"]);
    assert_eq!(reader.passed().of("line that is too long"), 1);
    assert_eq!(reader.offset(), text.len() as u64);
    let open = format!("{}\n{}", said("one"), &said(&long)[..=LINE_BYTES_MAX]);
    let mut reader = self::reader(Client::ClaudeCode, open.as_bytes());
    assert_eq!(rest(&mut reader).len(), 1);
    assert!(reader.unfinished(), "somebody may still be writing it");
}

#[test]
fn what_is_nested_without_end_costs_its_own_line_alone() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let call = format!(
        r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","name":"T","input":{deep}}}]}}}}"#
    );
    for line in [deep.clone(), format!("{{\"type\":{deep}}}"), call] {
        let text = format!("{line}\n{}\n", said("next"));
        let mut reader = reader(Client::ClaudeCode, text.as_bytes());
        let last = rest(&mut reader).pop().unwrap();
        assert_eq!(last.records[0].content, "next");
    }
}

#[test]
fn what_is_no_text_is_read_as_far_as_it_is_one() {
    let mut text = said("a_b").into_bytes();
    let at = text.iter().position(|byte| *byte == b'_').unwrap();
    text[at] = 0xff;
    text.push(b'\n');
    let mut reader = reader(Client::ClaudeCode, &text);
    assert_eq!(rest(&mut reader)[0].records[0].content, "a\u{fffd}b");
    assert_eq!(reader.mended(), 1);
}
