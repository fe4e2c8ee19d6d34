//! Recorded agent runs: SWE-agent `.traj` files as tasks with records.
//!
//! Owns the reading of the format and what each part of a step becomes. It must not know sessions of other clients.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use sillok_core::limits::ERROR_TEXT_BYTES_MAX;
use sillok_core::staging::LogLevel;

use crate::error::Error;
use crate::file;
use crate::limits::{TITLE_CHARS_MAX, TRAJECTORY_BYTES_MAX};
use crate::output::shows_error;
use crate::record::{Place, Record, push, shortened, title_of};

/// One recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The file's name without extension.
    pub name: String,
    /// What was to be done, in a line.
    pub title: String,
    /// What was to be done, in full; empty when the run does not say.
    pub description: String,
    /// How many steps it has.
    pub steps: usize,
    /// What happened, in order.
    pub records: Vec<Record>,
    /// BLAKE3 of the file's text: the same file is the same run.
    pub digest: [u8; 32],
}

#[derive(Deserialize)]
struct Document {
    trajectory: Vec<Step>,
    #[serde(default)]
    history: Vec<Message>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(default)]
    thought: Option<String>,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    observation: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    role: Option<String>,
    /// A text, or a list of `{"type": "text", "text": …}` in newer files.
    #[serde(default)]
    content: Value,
    #[serde(default)]
    is_demo: Option<bool>,
}

/// Reads one file.
///
/// # Errors
/// [`Error`], naming the file.
pub fn read(path: &Path) -> Result<Run, Error> {
    let (file, bytes) = file::open(path, TRAJECTORY_BYTES_MAX)?;
    let mut text = String::new();
    // One that grows meanwhile is cut there, and refused by its form.
    file.take(bytes)
        .read_to_string(&mut text)
        .map_err(Error::read(path))?;
    let stem = path
        .file_stem()
        .map_or_else(|| "run".into(), |stem| stem.to_string_lossy());
    parse(&stem, &text).map_err(|why| Error::Form {
        path: path.to_owned(),
        why,
    })
}

/// Reads the text of one file. `name` is what the run is called when it does not say.
///
/// # Errors
/// What is wrong with it, as a sentence without an end.
pub fn parse(name: &str, text: &str) -> Result<Run, String> {
    let document: Document = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if document.trajectory.is_empty() {
        return Err("it has no steps".to_owned());
    }
    let statement = document
        .history
        .iter()
        .find_map(statement)
        .unwrap_or_default();
    let records: Vec<Record> = document
        .trajectory
        .iter()
        .zip(1..)
        .flat_map(|(step, number)| records(step, number))
        .collect();
    if records.is_empty() {
        return Err("its steps are all empty".to_owned());
    }
    let description = shortened(&statement.text, ERROR_TEXT_BYTES_MAX);
    let title = title_of(&description).filter(|_| statement.is_issue);
    Ok(Run {
        name: name.to_owned(),
        title: title.unwrap_or_else(|| name.chars().take(TITLE_CHARS_MAX).collect()),
        description,
        steps: document.trajectory.len(),
        records,
        digest: blake3::hash(text.as_bytes()).into(),
    })
}

/// What the run was asked to do.
#[derive(Default)]
struct Statement {
    text: String,
    /// Whether the text opens with an issue's own title.
    is_issue: bool,
}

/// The problem out of the first message of a user that is no demonstration: what stands between
/// `ISSUE:` and `INSTRUCTIONS:`, where the message has these.
fn statement(message: &Message) -> Option<Statement> {
    if message.role.as_deref() != Some("user") || message.is_demo == Some(true) {
        return None;
    }
    let text = message_text(&message.content);
    let issue = text.split_once("ISSUE:\n").map(|(_, rest)| rest);
    let body = issue.unwrap_or(&text);
    let body = body
        .split_once("\nINSTRUCTIONS:")
        .map_or(body, |(head, _)| head)
        .trim();
    (!body.is_empty()).then(|| Statement {
        text: body.to_owned(),
        is_issue: issue.is_some(),
    })
}

fn message_text(content: &Value) -> String {
    let part = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn records(step: &Step, number: u64) -> Vec<Record> {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let mut records = Vec::new();
    let mut add = |level, text: &str, tool: Option<String>| {
        let record = Record {
            level,
            content: text.to_owned(),
            place: Place {
                step: Some(number),
                tool,
                ..Place::default()
            },
            time: None,
            masked: 0,
        };
        push(&mut records, record);
    };
    if let Some(thought) = said(&step.thought) {
        add(LogLevel::Thought, thought.trim(), None);
    }
    if let Some(action) = said(&step.action) {
        let action = action.trim();
        let tool = action.split_whitespace().next().expect("it is not blank");
        let tool: String = tool.chars().take(TITLE_CHARS_MAX).collect();
        add(LogLevel::Tool, action, Some(tool));
    }
    if let Some(observation) = said(&step.observation) {
        let level = if shows_error(&observation) {
            LogLevel::Error
        } else {
            LogLevel::Info
        };
        add(level, observation.trim_end(), None);
    }
    records
}

#[cfg(test)]
mod tests;
