//! Events of Cursor: `conversation_id` and `workspace_roots`, and what belongs to the event beside them.

use serde_json::{Value, json};

use super::{Error, Event, Kind, Tool, Used, shown, text};

pub(super) fn read(name: &str, document: &Value) -> Result<Event, Error> {
    let session = text(document, "conversation_id");
    let session = session.or_else(|| text(document, "session_id"));
    let roots = document.get("workspace_roots").and_then(Value::as_array);
    let root = roots.and_then(|roots| roots.first()?.as_str());
    // A directory that a command runs in says less of where the agent works than the folder that is open.
    let directory = root.map(str::to_owned).or_else(|| text(document, "cwd"));
    Ok(Event {
        session: session.ok_or(Error::Session)?,
        directory: directory.map(Into::into),
        agent: text(document, "subagent_id"),
        kind: kind(name, document),
    })
}

fn kind(name: &str, document: &Value) -> Kind {
    let word = |key| text(document, key).unwrap_or_default();
    match name {
        "sessionStart" => Kind::Start {
            source: text(document, "composer_mode").unwrap_or_else(|| "startup".to_owned()),
            model: text(document, "model_id").or_else(|| text(document, "model")),
        },
        "beforeSubmitPrompt" => Kind::Prompt(word("prompt")),
        "preToolUse" => Kind::Before(named(document)),
        "postToolUse" => Kind::After(named(document), used(document, "tool_output", false)),
        "postToolUseFailure" => Kind::After(named(document), used(document, "error_message", true)),
        "beforeShellExecution" => Kind::Before(shell(document)),
        "afterShellExecution" => Kind::After(shell(document), used(document, "output", false)),
        "beforeMCPExecution" => Kind::Before(named(document)),
        "afterMCPExecution" => Kind::After(named(document), used(document, "result_json", false)),
        "afterFileEdit" => Kind::After(written(document), used(document, "", false)),
        "preCompact" => Kind::Compaction {
            trigger: word("trigger"),
        },
        "stop" => Kind::Stop { said: None },
        "subagentStop" => Kind::Stop {
            said: text(document, "summary"),
        },
        "sessionEnd" => Kind::End {
            reason: word("reason"),
        },
        _ => Kind::Other,
    }
}

fn named(document: &Value) -> Tool {
    let input = document.get("tool_input").cloned().unwrap_or_default();
    // Around MCP the arguments are JSON within a text.
    let inner = input
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    Tool {
        name: text(document, "tool_name").unwrap_or_default(),
        id: text(document, "tool_use_id"),
        input: inner.unwrap_or(input),
    }
}

fn shell(document: &Value) -> Tool {
    Tool {
        name: "Shell".to_owned(),
        id: None,
        input: json!({ "command": document.get("command") }),
    }
}

fn written(document: &Value) -> Tool {
    Tool {
        name: "Write".to_owned(),
        id: None,
        input: json!({
            "file_path": document.get("file_path"),
            "edits": document.get("edits"),
        }),
    }
}

fn used(document: &Value, output: &str, failed: bool) -> Used {
    let duration = document.get("duration").and_then(Value::as_f64);
    let whole = duration.filter(|ms| (0.0..1e15).contains(ms));
    Used {
        output: shown(document.get(output)),
        failed,
        // A fraction of a millisecond says nothing.
        duration_ms: whole.and_then(|ms| format!("{ms:.0}").parse().ok()),
    }
}
