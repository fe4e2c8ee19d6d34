//! What failed, and what follows for who tries it again, on the wire.

use serde::{Deserialize, Serialize};
use sillok_actors::reads::FixChecked as Checked;
use sillok_core::circular::{
    self, ErrorJudged as Judged, ErrorReason, FailedApproach as Failed, Language, Likeness,
    Verdict, order, suggestion,
};
use sillok_core::error::Error;
use sillok_core::id::{Seq, VerificationId};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_core::verification::check_approach;
use utoipa::ToSchema;

use super::schema;

/// Asks whether an approach to a task is one that failed before.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckFix {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// What is to be tried, in words.
    #[schema(value_type = schema::ApproachText)]
    pub approach: String,
    /// The files that it touches, by their paths from the root of the work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::PlaceName>, max_items = 64)]
    pub files: Vec<String>,
    /// The symbols that it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::PlaceName>, max_items = 64)]
    pub symbols: Vec<String>,
    /// The language of what is to be told to the agent, `english` or `korean`; the one that the server is set to when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Language>)]
    pub language: Option<String>,
}

/// What a [`CheckFix`] asks.
#[derive(Clone, Debug)]
pub struct FixAsked {
    /// The task.
    pub task: Scope,
    /// What is to be tried.
    pub approach: circular::Approach,
    /// The language, where one is named.
    pub language: Option<Language>,
}

impl CheckFix {
    /// What is asked.
    ///
    /// # Errors
    /// `invalid_scope`, `too_large`, `invalid_argument`.
    pub fn parse(self) -> Result<FixAsked, Error> {
        let approach = circular::Approach {
            text: self.approach,
            files: self.files,
            symbols: self.symbols,
        };
        check_approach(&approach)?;
        let language = self.language.as_deref().map(str::parse).transpose()?;
        Ok(FixAsked {
            task: Scope::parse(&self.scope)?,
            approach,
            language,
        })
    }
}

/// What somebody tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Approach {
    /// In words.
    pub text: String,
    /// The files that it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The symbols that it touches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
}

impl From<circular::Approach> for Approach {
    fn from(approach: circular::Approach) -> Self {
        Self {
            text: approach.text,
            files: approach.files,
            symbols: approach.symbols,
        }
    }
}

/// What failed before and is like what is proposed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Tried {
    /// The task in which it failed.
    #[schema(value_type = schema::Scope)]
    pub task: Scope,
    /// How far it is what is proposed.
    #[schema(value_type = schema::Likeness)]
    pub likeness: Likeness,
    /// The approach that is most like it, the newest of several that are: 1 KiB of its text, of its files, and of its symbols.
    pub approach: Approach,
    /// How many words both have of all that either has, from 0 to 1.
    pub similarity: f64,
    /// How often it was tried.
    pub attempts: u32,
    /// When the last time.
    #[schema(value_type = schema::Timestamp)]
    pub last: Timestamp,
    /// How it failed, the last time first, each reason once: the newest 8.
    pub reasons: Vec<String>,
    /// Files that all attempts touched: 1 KiB of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_files: Vec<String>,
    /// Symbols that all attempts touched: 1 KiB of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_symbols: Vec<String>,
    /// Whether there are further reasons, or more of the approach, than is told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl From<circular::Tried> for Tried {
    fn from(tried: circular::Tried) -> Self {
        Self {
            task: tried.task,
            likeness: tried.likeness,
            approach: tried.approach.into(),
            similarity: tried.similarity,
            attempts: tried.attempts,
            last: tried.last,
            reasons: tried.reasons,
            shared_files: tried.places.files,
            shared_symbols: tried.places.symbols,
            cut: tried.cut,
        }
    }
}

/// Whether an agent may go on with an approach.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FixChecked {
    /// What it may do.
    #[schema(value_type = schema::Verdict)]
    pub verdict: Verdict,
    /// What whoever runs the agent has to tell it; absent where it may go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// What it should do instead, by what failed and why, or whom to ask where the task is stuck; absent where it may go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Why the task is stuck; absent where it is not. A task that is stuck takes no fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
    /// What failed before and is like it: what counts in the task first, then what was cleared there, then that of others, and of
    /// these the most alike; 16 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// Whether more failed in the project than was looked at, or more of it is like what is proposed than is told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl FixChecked {
    /// What was found of an approach to a task, told in a language.
    #[must_use]
    pub fn of(checked: Checked, task: &Scope, language: Language) -> Self {
        let Checked { judged, stuck } = checked;
        let verdict = judged.verdict;
        Self {
            verdict,
            order: order(verdict, language).map(str::to_owned),
            suggestion: suggestion(&judged, task, stuck.as_deref(), language),
            stuck,
            tried: judged.tried.into_iter().map(Into::into).collect(),
            cut: judged.cut,
        }
    }
}

/// What follows from an error that came up in a task.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorJudged {
    /// What the agent may do.
    #[schema(value_type = schema::Verdict)]
    pub verdict: Verdict,
    /// Why.
    #[schema(value_type = schema::ErrorReason)]
    pub reason: ErrorReason,
    /// The fingerprint of the error, in hexadecimal: the same error has the same one. Zeros once it was erased.
    pub error: String,
    /// How often it came up since a verification passed, this time too.
    pub count: u32,
    /// What whoever runs the agent has to tell it, in the language that the server is set to; absent where it may go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
}

impl ErrorJudged {
    /// What follows, told in a language.
    #[must_use]
    pub fn of(judged: Judged, language: Language) -> Self {
        Self {
            verdict: judged.verdict,
            reason: judged.reason,
            error: judged.error.to_string(),
            count: judged.count,
            order: order(judged.verdict, language).map(str::to_owned),
        }
    }
}

/// An approach to a task that failed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FailedApproach {
    /// The position of the event that says so.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// The verification that failed.
    #[schema(value_type = schema::VerificationId)]
    pub verification: VerificationId,
    /// The approach.
    pub approach: Approach,
    /// How it failed, in short.
    pub reason: String,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

impl From<Failed> for FailedApproach {
    fn from(failed: Failed) -> Self {
        Self {
            seq: failed.seq,
            verification: failed.verification,
            approach: failed.approach.into(),
            reason: failed.reason,
            at: failed.at,
        }
    }
}
