//! What agents ask of the bank, and what they are told.
//!
//! Owns the form of both in the history, and which answers show something that only chance brings about. Whether they are
//! right, `judged` says.

use std::fmt;

use serde::{Deserialize, Serialize};
use sillok_core::bank::{TaskKind, Warning};
use sillok_core::circular::Approach;
use sillok_core::id::{DecisionId, RecordId};
use sillok_core::scope::Scope;

use super::said;
use crate::agent::Agent;

/// The note of an agent that was told something of the bank.
pub(super) const HEARD: &str = "told of the bank";

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Asked {
    /// Which patterns answer a text.
    Patterns {
        scope: Scope,
        text: String,
        failures_only: bool,
    },
    /// What holds in a task, and what it is warned of.
    Brief { task: Scope, items_max: usize },
}

/// For people: what is asked, and where.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patterns { scope, text, .. } => write!(f, "patterns like {text:?} in {scope}"),
            Self::Brief { task, items_max } => write!(f, "brief of {items_max} items in {task}"),
        }
    }
}

/// A pattern that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Found {
    pub(crate) kind: Option<TaskKind>,
    pub(crate) approach: Approach,
    pub(crate) succeeded: u32,
    pub(crate) failed: u32,
    pub(crate) weight: f64,
    pub(crate) success_rate: f64,
    pub(crate) cited: Vec<RecordId>,
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// Patterns, the best first.
    Patterns { found: Vec<Found>, cut: bool },
    /// Decisions that hold, in their order, and warnings.
    Brief {
        decisions: Vec<DecisionId>,
        /// Whether some were cut off.
        is_cut: bool,
        warnings: Vec<Warning>,
        warnings_cut: bool,
    },
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

/// Asks for the patterns around a task that are like an approach.
pub(super) async fn patterns(agent: &mut Agent, task: &Scope, approach: u8, failures_only: bool) {
    let asked = Asked::Patterns {
        scope: task.clone(),
        text: said::approach(approach).text,
        failures_only,
    };
    ask(agent, asked).await;
}

/// Asks for the brief of a task.
pub(super) async fn brief(agent: &mut Agent, task: &Scope, items: u8) {
    let (task, items_max) = (task.clone(), items.into());
    ask(agent, Asked::Brief { task, items_max }).await;
}

/// Asks any node, and notes what it says.
async fn ask(agent: &mut Agent, asked: Asked) {
    let Some(heard) = agent.client().ask_the_bank(asked).await else {
        return;
    };
    if let Some(seen) = seen_by(&heard.told) {
        agent.client().saw(seen);
    }
    let heard = serde_json::to_value(heard).expect("a note is data");
    agent.note(HEARD, heard);
}

/// What an answer shows.
fn seen_by(told: &Told) -> Option<&'static str> {
    match told {
        Told::Patterns { found, .. } => (!found.is_empty()).then_some("pattern found"),
        Told::Brief { warnings, .. } if !warnings.is_empty() => Some("task warned in its brief"),
        Told::Brief { warnings_cut, .. } => {
            warnings_cut.then_some("warning cut off behind decisions")
        }
    }
}
