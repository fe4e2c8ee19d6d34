//! The formats, and how a file's beginning tells which one it has.
//!
//! Owns their names. It must not know what their lines say beyond what tells them apart.

use core::fmt;
use core::str::FromStr;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::file;
use crate::json::{self, Raw, text};
use crate::limits::{DETECTION_LINES_MAX, HEAD_BYTES_MAX, SESSION_BYTES_MAX};
use crate::lines::{Found, Lines};

/// How recorded work is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A run of SWE-agent, as one JSON document.
    Traj,
    /// A session of Claude Code, as JSON lines.
    ClaudeCode,
    /// A session of Codex, as JSON lines.
    Codex,
}

/// Clients that write a session line by line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the formats are {}", Format::names())]
pub struct NoFormat;

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Traj, Self::ClaudeCode, Self::Codex];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Traj => "traj",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// The names of all of them, for people.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }

    /// The client that writes it line by line.
    #[must_use]
    pub const fn client(self) -> Option<Client> {
        match self {
            Self::Traj => None,
            Self::ClaudeCode => Some(Client::ClaudeCode),
            Self::Codex => Some(Client::Codex),
        }
    }

    /// The format of a file, by its name and its first lines; none where these tell of none.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::NoFile`], [`Error::TooLarge`]
    pub fn of(path: &Path) -> Result<Option<Self>, Error> {
        if path
            .extension()
            .is_some_and(|extension| extension == "traj")
        {
            return Ok(Some(Self::Traj));
        }
        let io = Error::read(path);
        let (file, _) = file::open(path, SESSION_BYTES_MAX)?;
        let mut lines = Lines::new(BufReader::new(file.take(HEAD_BYTES_MAX)));
        for _ in 0..DETECTION_LINES_MAX {
            match lines.advance().map_err(&io)? {
                Found::End => break,
                Found::TooLong => continue,
                Found::Line | Found::Tail => {}
            }
            let line = String::from_utf8_lossy(lines.line());
            let found = json::line(&line).and_then(|line: Line<'_>| told(&line));
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = NoFormat;

    fn from_str(name: &str) -> Result<Self, NoFormat> {
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.as_str() == name).ok_or(NoFormat)
    }
}

/// What tells the formats of lines apart.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
    #[serde(borrow, default)]
    payload: Raw<'a>,
    #[serde(borrow, default, rename = "sessionId")]
    session: Raw<'a>,
    #[serde(borrow, default, rename = "leafUuid")]
    leaf: Raw<'a>,
    #[serde(borrow, default)]
    snapshot: Raw<'a>,
    #[serde(borrow, default)]
    id: Raw<'a>,
    #[serde(borrow, default)]
    timestamp: Raw<'a>,
    #[serde(borrow, default)]
    git: Raw<'a>,
    #[serde(borrow, default)]
    instructions: Raw<'a>,
}

/// The format that one line tells of.
fn told(line: &Line<'_>) -> Option<Format> {
    const OF_CODEX: [&str; 5] = [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
    ];
    let kind = text(line.kind);
    let kind = kind.as_deref();
    if line.payload.is_some() && kind.is_some_and(|kind| OF_CODEX.contains(&kind)) {
        return Some(Format::Codex);
    }
    // Codex wrote the first line without a kind, once.
    let is_former = line.git.is_some() || line.instructions.is_some();
    if kind.is_none() && line.id.is_some() && line.timestamp.is_some() && is_former {
        return Some(Format::Codex);
    }
    let is_said = matches!(kind, Some("user" | "assistant" | "system"));
    let is_kept = kind == Some("summary") && line.leaf.is_some()
        || kind == Some("file-history-snapshot") && line.snapshot.is_some();
    let of_session = line.session.is_some() && kind.is_some();
    (is_said && line.session.is_some() || is_kept || of_session).then_some(Format::ClaudeCode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Option<Format> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Format::of(&path).unwrap()
    }

    #[test]
    fn a_format_is_told_by_its_lines_and_nothing_else_is_taken_for_one() {
        let codex = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"1"}}"#;
        let former = r#"{"id":"1","timestamp":"t","instructions":null,"git":{}}"#;
        let claude = r#"{"type":"user","sessionId":"s","message":{}}"#;
        let title = r#"{"type":"summary","summary":"s","leafUuid":"u"}"#;
        for (text, expected) in [
            (codex, Some(Format::Codex)),
            (former, Some(Format::Codex)),
            (claude, Some(Format::ClaudeCode)),
            (title, Some(Format::ClaudeCode)),
            (r#"{"type":"user","name":"x"}"#, None),
            (r#"{"a":1}"#, None),
            ("", None),
            ("[1]\n\u{0}\n7", None),
        ] {
            assert_eq!(of("a.jsonl", text), expected, "{text}");
            assert_eq!(of("a.jsonl", &format!("no\n\n{text}\n")), expected);
        }
        assert_eq!(of("a.traj", ""), Some(Format::Traj));
        let late = format!("{}{claude}\n", "{}\n".repeat(DETECTION_LINES_MAX));
        assert_eq!(of("a.jsonl", &late), None);
    }

    #[test]
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(format.as_str().parse(), Ok(format));
            assert_eq!(
                serde_json::to_string(&format).unwrap(),
                format!("\"{format}\"")
            );
        }
        assert_eq!("jsonl".parse::<Format>(), Err(NoFormat));
    }
}
