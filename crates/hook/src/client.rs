//! The clients: coding agents that run hooks.
//!
//! Owns their names. What their events look like is [`event`](crate::event)'s.

use std::fmt;
use std::str::FromStr;

/// A coding agent that runs hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex, its command line and its desktop form.
    Codex,
    /// Cursor.
    Cursor,
}

impl Client {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Cursor];

    /// Its name on command lines.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no client has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no client: claude-code, codex and cursor are known")]
pub struct Unknown(pub String);

impl FromStr for Client {
    type Err = Unknown;

    fn from_str(name: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|client| client.as_str() == name);
        found.ok_or_else(|| Unknown(name.to_owned()))
    }
}
