//! Recorded events of each client, read and answered. Their sources stand in `testdata/README.md`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::place::Place;
use crate::plan::{Handing, Plan, Question};
use crate::reply;
use crate::wording::Level;
use sillok_core::scope::Scope;

/// All recorded events of a client, by name.
fn recorded(client: Client) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(client.as_str());
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    let named = |path: PathBuf| {
        (
            path.file_stem().unwrap().to_string_lossy().into_owned(),
            fs::read(path).unwrap(),
        )
    };
    found.into_iter().map(named).collect()
}

fn one(client: Client, name: &str) -> Event {
    let all = recorded(client);
    let (_, document) = all.iter().find(|(other, _)| other == name).unwrap();
    read(client, name, document).unwrap()
}

fn place() -> Place {
    let scope = Scope::parse("org/a/project/b/worktree/c").unwrap();
    Place::of(&scope, Client::Codex, "s", Some(Path::new("/project"))).unwrap()
}

fn plan(client: Client, name: &str) -> Plan {
    Plan::of(client, name, &one(client, name), &place())
}

#[test]
fn every_recorded_event_is_read_with_its_conversation_and_directory() {
    for client in Client::ALL {
        for (name, document) in recorded(client) {
            let event = read(client, &name, &document).unwrap();
            assert_ne!(event.kind, Kind::Other, "{client} {name}");
            assert_eq!(
                event.directory.as_deref(),
                Some(Path::new("/project")),
                "{client} {name}"
            );
            assert!(event.session.len() > 3, "{client} {name}");
        }
    }
}

#[test]
fn every_event_that_is_installed_was_recorded() {
    for client in Client::ALL {
        let known: Vec<String> = recorded(client).into_iter().map(|(name, _)| name).collect();
        for (event, _) in crate::install::entries::events(client) {
            assert!(known.contains(&(*event).to_owned()), "{client} {event}");
        }
    }
}

#[test]
fn a_start_asks_for_the_brief_and_a_prompt_for_what_is_known_of_it() {
    for (client, start, prompt) in [
        (Client::ClaudeCode, "SessionStart", "UserPromptSubmit"),
        (Client::Codex, "SessionStart", "UserPromptSubmit"),
        (Client::Cursor, "sessionStart", "beforeSubmitPrompt"),
    ] {
        let start = plan(client, start);
        assert_eq!(
            (start.question, start.handing),
            (Some(Question::Brief), Handing::All)
        );
        let prompt = plan(client, prompt);
        assert!(matches!(prompt.question, Some(Question::Recall(text)) if text.len() > 10));
        assert_eq!(prompt.handing, Handing::Own);
        // The task is opened with what a person says; that a conversation begins can be held until then.
        assert!(start.holds && start.words.is_none());
        assert!(!prompt.holds && prompt.words.is_some());
    }
}

#[test]
fn a_change_is_checked_where_its_client_takes_a_word_on_it() {
    let asked = |client, name| match plan(client, name).question {
        Some(Question::Fix { approach, files }) => (approach, files),
        other => panic!("{client} {name}: {other:?}"),
    };
    let (approach, files) = asked(Client::ClaudeCode, "PreToolUse");
    assert_eq!(
        (approach.as_str(), files),
        (
            "Change src/client.rs: timeout(30)",
            vec!["src/client.rs".to_owned()]
        )
    );
    let (approach, files) = asked(Client::Codex, "PreToolUse");
    assert_eq!(files, ["src/client.rs", "src/retry.rs"]);
    assert!(
        approach.contains("timeout(30)")
            && approach.contains("pub fn retry()")
            && !approach.contains("timeout(5)")
    );
    let (_, files) = asked(Client::Cursor, "postToolUse");
    assert_eq!(files, ["src/client.ts"]);
    assert_eq!(plan(Client::ClaudeCode, "PostToolUse").question, None);
    assert_eq!(plan(Client::Cursor, "preToolUse").question, None);
}

#[test]
fn a_change_is_asked_about_without_what_is_no_name() {
    let long = "x".repeat(600);
    let patch =
        format!("*** Update File: /project\n*** Update File: {long}\n*** Update File: a.rs\n+b");
    let document = serde_json::json!({ "session_id": "abc123", "cwd": "/project", "tool_name": "apply_patch",
        "tool_input": { "command": patch } });
    let event = read(Client::Codex, "PreToolUse", document.to_string().as_bytes()).unwrap();
    let plan = Plan::of(Client::Codex, "PreToolUse", &event, &place());
    let Some(Question::Fix { approach, files }) = plan.question else {
        panic!("a file is changed")
    };
    assert_eq!(
        (approach.as_str(), files),
        ("Change a.rs: b\n", vec!["a.rs".to_owned()])
    );
}

#[test]
fn the_use_of_a_tool_is_written_and_handed_over_with_others() {
    for (client, name, level, part) in [
        (
            Client::ClaudeCode,
            "PostToolUse",
            Level::Tool,
            "file content",
        ),
        (
            Client::ClaudeCode,
            "PostToolUseFailure",
            Level::Error,
            "non-zero status",
        ),
        (Client::Codex, "PostToolUse", Level::Tool, "3 passed"),
        (
            Client::Cursor,
            "postToolUseFailure",
            Level::Error,
            "timed out",
        ),
        (
            Client::Cursor,
            "afterShellExecution",
            Level::Tool,
            "All tests passed",
        ),
        (
            Client::Cursor,
            "afterMCPExecution",
            Level::Tool,
            "\"query\":\"timeouts\"",
        ),
        (Client::Cursor, "afterFileEdit", Level::Tool, "timeout(30)"),
    ] {
        let plan = plan(client, name);
        let written = plan.written.unwrap();
        assert_eq!(
            (written.level, plan.handing),
            (level, Handing::OwnIfDue),
            "{client} {name}"
        );
        assert!(written.content.contains(part), "{}", written.content);
        assert_eq!(written.metadata["client"], client.as_str());
    }
    let durations = [
        one(Client::ClaudeCode, "PostToolUse"),
        one(Client::Cursor, "postToolUse"),
    ];
    for (event, expected) in durations.into_iter().zip([12, 54]) {
        let Kind::After(_, used) = event.kind else {
            panic!("a tool was used")
        };
        assert_eq!(used.duration_ms, Some(expected));
    }
}

#[test]
fn a_compaction_leaves_an_anchor_and_an_end_hands_all_over() {
    for (client, compaction, stop, end) in [
        (Client::ClaudeCode, "PreCompact", "Stop", "SessionEnd"),
        (Client::Codex, "PreCompact", "Stop", "SessionEnd"),
        (Client::Cursor, "preCompact", "stop", "sessionEnd"),
    ] {
        let asked = plan(client, compaction).question;
        assert!(matches!(asked, Some(Question::Anchor(hint)) if hint.contains("was compacted")));
        let stop = plan(client, stop);
        assert_eq!(
            (stop.question, stop.handing, stop.ends),
            (None, Handing::Own, false)
        );
        let end = plan(client, end);
        assert_eq!(
            (end.question, end.handing, end.ends),
            (None, Handing::All, true)
        );
    }
    let said = plan(Client::Codex, "notify").written.unwrap().content;
    assert!(said.contains("Rename complete"), "{said}");
    let agent = plan(Client::ClaudeCode, "SubagentStop").written.unwrap();
    assert_eq!(agent.metadata["agent"], "def456");
}

#[test]
fn an_answer_has_the_form_of_its_client_and_never_decides_anything() {
    for client in Client::ALL {
        for (name, _) in recorded(client) {
            for told in [None, Some("what is told")] {
                let answer = reply::of(
                    client,
                    &name,
                    told.filter(|_| reply::takes_text(client, &name)),
                );
                let document: Value = match (client, answer.as_str()) {
                    (Client::ClaudeCode | Client::Codex, "") => continue,
                    (_, text) => serde_json::from_str(text).unwrap(),
                };
                let text = answer.to_lowercase();
                for word in [
                    "decision",
                    "permission",
                    "block",
                    "deny",
                    "updated",
                    "followup",
                ] {
                    assert!(!text.contains(word), "{client} {name}: {answer}");
                }
                assert_ne!(document["continue"], false);
                if told.is_some() && reply::takes_text(client, &name) {
                    let inner = &document["hookSpecificOutput"];
                    let shaped = (&inner["hookEventName"], &inner["additionalContext"]);
                    let is_shaped =
                        shaped == (&Value::from(name.as_str()), &Value::from("what is told"));
                    assert!(
                        is_shaped || document["additional_context"] == "what is told",
                        "{answer}"
                    );
                }
            }
        }
    }
    assert_eq!(
        reply::of(Client::Cursor, "beforeSubmitPrompt", None),
        "{\"continue\":true}"
    );
    assert_eq!(reply::of(Client::ClaudeCode, "Stop", None), "");
}

#[test]
fn what_is_no_event_is_refused_and_a_name_that_is_not_known_is_passed_over() {
    for wrong in [
        b"".as_slice(),
        b"[]",
        b"\"x\"",
        b"{\"session_id\":",
        b"\xff{}",
    ] {
        assert_eq!(read(Client::ClaudeCode, "Stop", wrong), Err(Error::Form));
    }
    for client in Client::ALL {
        assert_eq!(read(client, "Stop", b"{}"), Err(Error::Session));
        let document = b"{\"session_id\": \"s\"}";
        assert_eq!(read(client, "Unheard", document).unwrap().kind, Kind::Other);
    }
}

#[test]
fn half_a_character_costs_a_mark_and_not_the_event() {
    for (written, expected) in [
        (r"cut \ud83d", "cut \u{fffd}"),
        (r"\ude00 rest", "\u{fffd} rest"),
        (r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (r"\\ud83d \uD83D\n", "\\ud83d \u{fffd}\n"),
    ] {
        let document = format!(
            r#"{{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "{written}"}}"#
        );
        let event = read(Client::ClaudeCode, "UserPromptSubmit", document.as_bytes());
        assert_eq!(
            event.unwrap().kind,
            Kind::Prompt(expected.to_owned()),
            "{written}"
        );
    }
    let broken = read(Client::ClaudeCode, "Stop", br#"{"session_id": "\ud83d"#);
    assert_eq!(broken, Err(Error::Form));
}
