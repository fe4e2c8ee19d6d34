//! Events: what happened to an agent, whichever client tells it.
//!
//! Owns what an event is to a hook. The forms in which clients tell it are [`shaped`]'s, for Claude Code and Codex, and
//! [`cursor`]'s. It must not know what follows from an event: that is [`plan`](crate::plan)'s.

use std::path::PathBuf;

use serde_json::Value;

use crate::client::Client;

mod cursor;
mod edit;
mod shaped;

pub use edit::Edit;

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The client's name for the conversation.
    pub session: String,
    /// The directory that the agent works in.
    pub directory: Option<PathBuf>,
    /// The agent within the conversation, where it is not the first one.
    pub agent: Option<String>,
    /// What happened.
    pub kind: Kind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A conversation begins, or goes on after it was left or compacted.
    Start {
        /// How it begins, in the client's word.
        source: String,
        /// The model, where it is told.
        model: Option<String>,
    },
    /// A person says something.
    Prompt(String),
    /// A tool is about to be used.
    Before(Tool),
    /// A tool was used.
    After(Tool, Used),
    /// The conversation is about to be compacted.
    Compaction {
        /// Why, in the client's word.
        trigger: String,
    },
    /// An agent has finished what it was asked for.
    Stop {
        /// What it said at the end.
        said: Option<String>,
    },
    /// The conversation is over.
    End {
        /// Why, in the client's word.
        reason: String,
    },
    /// Something that hooks do not act on.
    Other,
}

/// A tool and what it is used for.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name, as the client calls it.
    pub name: String,
    /// The client's name for this use of it.
    pub id: Option<String>,
    /// What it is given.
    pub input: Value,
}

/// What became of the use of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Used {
    /// What it gave, as text.
    pub output: String,
    /// Whether it failed.
    pub failed: bool,
    /// How long it took, in ms.
    pub duration_ms: Option<u64>,
}

/// Why an event cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no JSON object.
    #[error("the event is no JSON object")]
    Form,
    /// It does not say of which conversation it is.
    #[error("the event names no conversation")]
    Session,
}

/// Reads an event of a client. A name that is not known is an event that hooks do not act on.
///
/// # Errors
/// [`Error`]
pub fn read(client: Client, name: &str, document: &[u8]) -> Result<Event, Error> {
    let document: Value = serde_json::from_slice(document)
        .or_else(|_| serde_json::from_slice(&whole_characters(document)))
        .map_err(|_| Error::Form)?;
    if !document.is_object() {
        return Err(Error::Form);
    }
    match client {
        Client::ClaudeCode | Client::Codex => shaped::read(name, &document),
        Client::Cursor => cursor::read(name, &document),
    }
}

/// A document with a mark in place of each half of a character. Clients written in JavaScript cut a text between the halves, and
/// escape what is left of it, which is no text to any other reader.
fn whole_characters(document: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(document.len());
    let mut at = 0;
    // Each turn takes at least a byte.
    while let Some(rest) = document.get(at..).filter(|rest| !rest.is_empty()) {
        let (taken, kept): (usize, &[u8]) = match (half(rest), rest) {
            (Some(Half::First), _) if half(&rest[ESCAPE_BYTES..]) == Some(Half::Second) => {
                (ESCAPE_BYTES * 2, &rest[..ESCAPE_BYTES * 2])
            }
            (Some(_), _) => (ESCAPE_BYTES, &br"\ufffd"[..]),
            // Whatever is escaped by a backslash begins no escape itself.
            (None, [b'\\', _, ..]) => (2, &rest[..2]),
            (None, _) => (1, &rest[..1]),
        };
        whole.extend_from_slice(kept);
        at += taken;
    }
    whole
}

/// Bytes of an escape such as `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// Half of a character that UTF-16 has in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// The half whose escape these bytes begin with.
fn half(bytes: &[u8]) -> Option<Half> {
    let digits = bytes.strip_prefix(br"\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    match u32::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

/// A text of a document.
fn text(document: &Value, key: &str) -> Option<String> {
    let text = document.get(key)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// A part of a document as text: as it is where it is one, else its JSON.
fn shown(part: Option<&Value>) -> String {
    match part {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
