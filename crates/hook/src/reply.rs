//! The form in which each client takes an answer.
//!
//! Owns which event of which client takes a text, and how. No answer blocks, allows or changes anything: it tells.

use serde_json::{Value, json};

use crate::client::Client;

/// What is printed for an event: a JSON document, or nothing where silence is what the client takes for "go on".
#[must_use]
pub fn of(client: Client, event: &str, told: Option<&str>) -> String {
    let document = match client {
        Client::ClaudeCode | Client::Codex => told.map(|text| shaped(event, text)),
        Client::Cursor => Some(cursor(event, told)),
    };
    document.map_or_else(String::new, |document| document.to_string())
}

/// Whether an event of a client takes a text for the agent.
#[must_use]
pub fn takes_text(client: Client, event: &str) -> bool {
    let events: &[&str] = match client {
        Client::ClaudeCode => &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
        ],
        Client::Codex => &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
        ],
        Client::Cursor => &["sessionStart", "postToolUse"],
    };
    events.contains(&event)
}

fn shaped(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}

fn cursor(event: &str, told: Option<&str>) -> Value {
    match (event, told) {
        ("beforeSubmitPrompt", _) => json!({ "continue": true }),
        (_, Some(text)) => json!({ "additional_context": text }),
        (_, None) => json!({}),
    }
}
