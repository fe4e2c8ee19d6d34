//! Events of Claude Code and Codex, which have one form: `session_id`, `cwd` and `hook_event_name`, and what belongs to the
//! event beside them.

use serde_json::Value;

use super::{Error, Event, Kind, Tool, Used, shown, text};

pub(super) fn read(name: &str, document: &Value) -> Result<Event, Error> {
    let session = text(document, "session_id");
    // What Codex hands to `notify` has names of its own.
    let session = session.or_else(|| text(document, "thread-id"));
    Ok(Event {
        session: session.ok_or(Error::Session)?,
        directory: text(document, "cwd").map(Into::into),
        agent: text(document, "agent_id"),
        kind: kind(name, document),
    })
}

fn kind(name: &str, document: &Value) -> Kind {
    let word = |key| text(document, key).unwrap_or_default();
    match name {
        "SessionStart" => Kind::Start {
            source: word("source"),
            model: text(document, "model"),
        },
        "UserPromptSubmit" => Kind::Prompt(word("prompt")),
        "PreToolUse" => Kind::Before(tool(document)),
        "PostToolUse" => Kind::After(tool(document), used(document, "tool_response", false)),
        "PostToolUseFailure" => Kind::After(tool(document), used(document, "error", true)),
        "PreCompact" => Kind::Compaction {
            trigger: word("trigger"),
        },
        "Stop" | "SubagentStop" => Kind::Stop {
            said: text(document, "last_assistant_message"),
        },
        "notify" => Kind::Stop {
            said: text(document, "last-assistant-message"),
        },
        "SessionEnd" => Kind::End {
            reason: word("reason"),
        },
        _ => Kind::Other,
    }
}

fn tool(document: &Value) -> Tool {
    Tool {
        name: text(document, "tool_name").unwrap_or_default(),
        id: text(document, "tool_use_id"),
        input: document.get("tool_input").cloned().unwrap_or_default(),
    }
}

fn used(document: &Value, output: &str, failed: bool) -> Used {
    Used {
        output: shown(document.get(output)),
        failed,
        duration_ms: document.get("duration_ms").and_then(Value::as_u64),
    }
}
