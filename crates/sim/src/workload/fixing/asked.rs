//! What agents ask about fixes, and what they are told.
//!
//! Owns the form of both in the history, and which answers show something that only chance brings about. Whether they are
//! right, `point` says.

use std::fmt;

use serde::{Deserialize, Serialize};
use sillok_core::ErrorCode;
use sillok_core::circular::{Approach, ApproachJudged, FailedApproach, Verdict};
use sillok_core::scope::Scope;

use super::said;
use crate::agent::Agent;

/// The note of an agent that was told something of fixes.
pub(super) const HEARD: &str = "told of fixes";

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Asked {
    /// What follows from an approach to a task.
    Check { task: Scope, approach: Approach },
    /// Which approaches to a task failed.
    List {
        task: Scope,
        /// At most so many.
        limit: usize,
    },
}

impl Asked {
    /// The task that it is asked of.
    pub(super) const fn task(&self) -> &Scope {
        match self {
            Self::Check { task, .. } | Self::List { task, .. } => task,
        }
    }
}

/// For people: what is asked, and where.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check { task, approach } => write!(f, "check of {:?} in {task}", approach.text),
            Self::List { task, limit } => write!(f, "{limit} failed approaches of {task}"),
        }
    }
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// What follows from an approach.
    Checked {
        judged: ApproachJudged,
        /// Why the task is stuck, if it is.
        stuck: Option<String>,
    },
    /// Approaches that failed.
    Listed(Vec<FailedApproach>),
    /// It is refused.
    Refused(ErrorCode),
}

/// What somebody was told, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) asked: Asked,
    pub(crate) told: Told,
    /// When it was asked, in µs of the world.
    pub(crate) from_us: u64,
    /// When it was answered, in µs of the world.
    pub(crate) to_us: u64,
}

/// Asks what follows from an approach to a task.
pub(super) async fn check(agent: &mut Agent, task: &Scope, approach: u8) {
    let (task, approach) = (task.clone(), said::approach(approach));
    ask(agent, Asked::Check { task, approach }).await;
}

/// Asks which approaches to a task failed.
pub(super) async fn list(agent: &mut Agent, task: &Scope, limit: u8) {
    let (task, limit) = (task.clone(), limit.into());
    ask(agent, Asked::List { task, limit }).await;
}

/// Asks any node, and notes what it says.
async fn ask(agent: &mut Agent, asked: Asked) {
    let Some(heard) = agent.client().ask_about_fixes(asked).await else {
        return;
    };
    if let Some(seen) = seen_by(&heard) {
        agent.client().saw(seen);
    }
    let heard = serde_json::to_value(heard).expect("a note is data");
    agent.note(HEARD, heard);
}

/// What an answer shows.
fn seen_by(heard: &Heard) -> Option<&'static str> {
    let judged = match &heard.told {
        Told::Checked { stuck: Some(_), .. } => return Some("fix of a stuck task blocked"),
        Told::Checked { judged, .. } => judged,
        Told::Listed(failed) => return (!failed.is_empty()).then_some("failed approaches listed"),
        Told::Refused(_) => return None,
    };
    let task = heard.asked.task();
    let is_own = judged.tried.iter().any(|tried| tried.task == *task);
    match judged.verdict {
        Verdict::Reject => Some("approach rejected"),
        Verdict::Warn if is_own => Some("approach that a pass cleared warned of"),
        Verdict::Warn => Some("approach of another task warned of"),
        Verdict::Allow | Verdict::Block => None,
    }
}
