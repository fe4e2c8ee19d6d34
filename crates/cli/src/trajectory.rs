//! Recorded agent runs: SWE-agent `.traj` files as tasks with records.
//!
//! Owns the reading of the format and what each part of a step becomes. It must not know servers,
//! scopes or how records are sent.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sillok_core::limits::{ERROR_TEXT_BYTES_MAX, RECORD_BYTES_MAX};
use sillok_core::staging::LogLevel;

/// Bytes of one file. Recorded runs are a few hundred kilobytes; this is ample.
pub const FILE_BYTES_MAX: u64 = 256 << 20;
/// Characters of a title.
const TITLE_CHARS_MAX: usize = 120;

/// Why a file is no recorded run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("{path} cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is too large to be one.
    #[error("{path} has more than {FILE_BYTES_MAX} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It has another form.
    #[error("{path} is no SWE-agent trajectory: {why}")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

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
    pub records: Vec<Line>,
    /// BLAKE3 of the file's text: the same file is the same run.
    pub digest: [u8; 32],
}

/// One record of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Where it stems from.
    pub level: LogLevel,
    /// Its text, at most as long as a record may be.
    pub content: String,
    /// Where in the run it stands.
    pub metadata: Place,
}

/// Where in a run a record stands. Its fields are in the order of the alphabet, and stay so: an import that is
/// repeated sends the same bytes, whatever a JSON library makes of the order of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Which part of a text it is that was too long for one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<usize>,
    /// The step, from 1.
    pub step: usize,
    /// The program that an action ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
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
    let io = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(io)?;
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(io)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Error::TooLarge {
            path: path.to_owned(),
        });
    }
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
    let records: Vec<Line> = document
        .trajectory
        .iter()
        .zip(1..)
        .flat_map(|(step, number)| lines(step, number))
        .collect();
    if records.is_empty() {
        return Err("its steps are all empty".to_owned());
    }
    Ok(Run {
        name: name.to_owned(),
        title: title(name, &statement),
        description: clip_bytes(&statement.text, ERROR_TEXT_BYTES_MAX).to_owned(),
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

fn title(name: &str, statement: &Statement) -> String {
    let first = statement
        .text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty());
    let line = first.filter(|_| statement.is_issue).unwrap_or(name);
    line.chars().take(TITLE_CHARS_MAX).collect()
}

fn lines(step: &Step, number: usize) -> Vec<Line> {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let place = Place {
        step: number,
        ..Place::default()
    };
    let mut lines = Vec::new();
    if let Some(thought) = said(&step.thought) {
        push(&mut lines, LogLevel::Thought, thought.trim(), &place);
    }
    if let Some(action) = said(&step.action) {
        let action = action.trim();
        let tool = action.split_whitespace().next().expect("it is not blank");
        let tool: String = tool.chars().take(TITLE_CHARS_MAX).collect();
        let action_place = Place {
            tool: Some(tool),
            ..place.clone()
        };
        push(&mut lines, LogLevel::Tool, action, &action_place);
    }
    if let Some(observation) = said(&step.observation) {
        let level = if shows_error(&observation) {
            LogLevel::Error
        } else {
            LogLevel::Info
        };
        push(&mut lines, level, observation.trim_end(), &place);
    }
    lines
}

/// Adds a text as one record, or as several when it is longer than a record may be.
fn push(lines: &mut Vec<Line>, level: LogLevel, text: &str, place: &Place) {
    let mut rest = text;
    let mut part = 1;
    while !rest.is_empty() {
        let piece = clip_bytes(rest, RECORD_BYTES_MAX);
        rest = &rest[piece.len()..];
        let mut metadata = place.clone();
        metadata.part = (part > 1 || !rest.is_empty()).then_some(part);
        lines.push(Line {
            level,
            content: piece.to_owned(),
            metadata,
        });
        part += 1;
    }
}

/// The longest beginning of `text` of at most `bytes_max` bytes that ends at a character.
#[must_use]
pub fn clip_bytes(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// Whether an output tells of something that went wrong: a traceback, or a line in one of the
/// forms in which interpreters and shells report errors.
#[must_use]
pub fn shows_error(output: &str) -> bool {
    output.lines().any(|line| {
        let line = line.trim();
        let head = line.split(':').next().unwrap_or_default();
        let names_error = line.len() > head.len()
            && head
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
            && (head.ends_with("Error") || head.ends_with("Exception"));
        names_error
            || line.starts_with("Traceback (most recent call last)")
            || ["error:", "ERROR:", "fatal:", "E   "]
                .iter()
                .any(|start| line.starts_with(start))
            || line.ends_with(": command not found")
            || line.ends_with(": No such file or directory")
            || line.contains("introduced new syntax error")
    })
}

#[cfg(test)]
mod tests;
