//! The typed parts of an entry's text: claims, episodes, skills.
//!
//! Owns their fields. It must not know how they come to be: promotion and callers make them.

use serde::{Deserialize, Serialize};

use crate::promotion::CausalEdge;
use crate::scope::Scope;

/// What the published text says under a key: two entries that declare the same key with other
/// values contradict one another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What the claim is about, such as `http.framework`.
    pub key: String,
    /// What is claimed.
    pub value: String,
}

/// What became of one task, in the shape of a Reflexion episode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// The task's scope.
    pub task_id: Scope,
    /// What was to be done.
    pub task: String,
    /// What was learnt.
    pub critique: String,
    /// 0 to 1.
    pub reward: f64,
    /// Whether it succeeded.
    pub success: bool,
    /// What the agent started from.
    pub input: String,
    /// What came out.
    pub output: String,
    /// Choices that were made on the way. They are no decisions until somebody saves them.
    pub key_decisions: Vec<String>,
    /// What brought about what; this episode is their source.
    pub causal_edges: Vec<CausalEdge>,
}

/// A way of doing something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skill {
    /// A short name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// How it is done.
    pub code: String,
    /// How often it was used.
    pub usage_count: u64,
    /// Share of uses that helped, 0 to 1.
    pub success_rate: f64,
}

/// The typed part of an entry's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Plain text.
    #[default]
    Plain,
    /// An episode.
    Episode(Box<Episode>),
    /// A skill.
    Skill(Box<Skill>),
}

impl Detail {
    /// The task that succeeded, for an episode that tells of it.
    #[must_use]
    pub fn succeeded(&self) -> Option<&Scope> {
        match self {
            Self::Episode(episode) if episode.success => Some(&episode.task_id),
            _ => None,
        }
    }
}
