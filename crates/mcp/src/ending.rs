//! How an agent asks for the end of its task, and how it is answered: two memory events of the task's own log.
//!
//! Owns their forms. An agent may append the first one, as any record; it says nothing but that somebody asks. Whoever runs the
//! project's verification appends the second one, under a token of its own, and that kind of author is what makes it count. So an
//! agent starts its verification and cannot answer it (ADR 0047).

use serde::{Deserialize, Serialize};
use sillok_core::circular::{Language, Verdict};
use sillok_core::principal::PrincipalKind;

/// The type of the event that asks.
pub const REQUESTED: &str = "end_requested";
/// The type of the event that answers.
pub const ANSWERED: &str = "end_answered";
/// Bytes of output that an answer carries: the last ones. The whole is a snapshot in the task's log.
pub const OUTPUT_BYTES_MAX: usize = 4 << 10;

/// What an agent says when it asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRequest {
    /// What was done.
    #[serde(default)]
    pub summary: String,
    /// How: recorded as what failed, should it fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approach: Option<String>,
    /// The files that it touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The symbols that it touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
    /// What sort of task it was: kept with how it was gone about, should it pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The command succeeded.
    Passed,
    /// It did not.
    Failed,
    /// The command was not run: `output` says why.
    Unrun,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndAnswer {
    /// The position of the request in the task's log.
    pub request: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// The verification that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<String>,
    /// The command that was run.
    #[serde(default)]
    pub command: String,
    /// The end of what it printed, or why it was not run.
    #[serde(default)]
    pub output: String,
    /// The snapshot of all that it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// What follows from the error of one that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// In which language agents are told that.
    #[serde(default)]
    pub language: Language,
    /// Entries that were published; absent while that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<usize>,
}

/// Whether an author's answer counts.
#[must_use]
pub const fn may_answer(kind: PrincipalKind) -> bool {
    !matches!(kind, PrincipalKind::Agent)
}
