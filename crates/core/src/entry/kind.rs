//! Kinds of entries.
//!
//! Owns their names. Which table is of which kind is [`Table`](super::Table)'s, and how a kind ages
//! [`decay`](crate::decay)'s.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};

/// How an entry ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Something that happened once.
    Episodic,
    /// Something that goes on being true.
    Knowledge,
    /// Something that is so until it is resolved.
    State,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Episodic, Self::Knowledge, Self::State];

    /// The kind's name in JSON, and the name of its vector table.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Episodic => "episodic",
            Self::Knowledge => "knowledge",
            Self::State => "state",
        }
    }

    /// Whether entries of this kind need a citation above worktree.
    #[must_use]
    pub const fn needs_citation(self) -> bool {
        matches!(self, Self::Knowledge | Self::State)
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::as_str).join(", ");
                Error::new(ErrorCode::InvalidArgument, format!("the kinds are {names}"))
            })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
