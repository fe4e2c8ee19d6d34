//! What an agent is told that goes in circles, for whoever runs it to hand over.
//!
//! Owns the texts, in both languages. It must not know how a verdict is reached.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use super::history::Verdict;
use crate::error::{Error, ErrorCode};

/// The language in which agents are told something.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// Korean.
    Korean,
    /// English.
    #[default]
    English,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::Korean, Self::English];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Korean => "korean",
            Self::English => "english",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|language| language.as_str() == text)
            .ok_or_else(|| {
                Error::new(
                    ErrorCode::InvalidArgument,
                    "the languages are korean and english",
                )
            })
    }
}

/// What whoever runs the agent has to tell it; none where it may go on.
#[must_use]
pub const fn order(verdict: Verdict, language: Language) -> Option<&'static str> {
    match (verdict, language) {
        (Verdict::Allow, _) => None,
        (Verdict::Warn, Language::Korean) => {
            Some("주의: 이전에 실패한 적이 있어. 무엇이 달라졌는지 확인하고 진행해.")
        }
        (Verdict::Warn, Language::English) => {
            Some("Careful: this failed before. See what is different now before you go on.")
        }
        (Verdict::Block | Verdict::Reject, Language::Korean) => {
            Some("멈춰! 같은 방법으로는 해결 안 돼. 다른 전략을 찾거나 사람에게 물어봐")
        }
        (Verdict::Block | Verdict::Reject, Language::English) => {
            Some("Stop! The same way will not solve it. Find another strategy or ask a person.")
        }
    }
}
