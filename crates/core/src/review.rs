//! Reviews: what only a person can decide about entries.
//!
//! Owns the questions, and the forms of their answers. What a question is raised by and what
//! follows from its answer is [`crate::decide`]'s.

use serde::{Deserialize, Serialize};

use crate::id::{EntryId, ReviewId, Seq};
use crate::principal::Actor;
use crate::promotion::NewEntry;
use crate::scope::Scope;
use crate::time::Timestamp;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Do the two say the same? Approved: the new one is merged into the known one.
    Merge {
        /// The entry that was written later.
        new: EntryId,
        /// The entry that was there.
        known: EntryId,
        /// Their cosine.
        cosine: f64,
    },
    /// Do the two contradict one another? Approved: one of them holds, and replaces the other.
    Contradiction {
        /// The entry that was written later.
        new: EntryId,
        /// The entry that was there.
        known: EntryId,
        /// Why they are held to.
        why: String,
    },
    /// Is the entry wrong, as several tasks say? Approved: it is taken out of recall.
    Wrong {
        /// The entry.
        entry: EntryId,
        /// How many tasks say so.
        tasks: u64,
    },
    /// Does the organisation take over what proved itself in a project? Approved: it is published here.
    Offer(Box<Offer>),
}

/// An entry of a project that is offered to its organisation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The project.
    pub scope: Scope,
    /// The entry.
    pub entry: EntryId,
    /// The version of it that is offered.
    pub version: u64,
    /// What would be published.
    pub product: NewEntry,
}

impl Question {
    /// The names of all questions.
    pub const NAMES: [&'static str; 4] = ["merge", "contradiction", "wrong", "offer"];

    /// Which question it is, by name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Merge { .. } => "merge",
            Self::Contradiction { .. } => "contradiction",
            Self::Wrong { .. } => "wrong",
            Self::Offer(_) => "offer",
        }
    }

    /// The entries of this scope that it is about, the one that may go first.
    #[must_use]
    pub fn entries(&self) -> Vec<EntryId> {
        match self {
            Self::Merge { new, known, .. } | Self::Contradiction { new, known, .. } => {
                vec![*new, *known]
            }
            Self::Wrong { entry, .. } => vec![*entry],
            Self::Offer(_) => Vec::new(),
        }
    }
}

/// A question, and what was said to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// Its id.
    pub id: ReviewId,
    /// What is asked.
    pub question: Question,
    /// When it was raised.
    pub raised_at: Timestamp,
    /// The event that raised it: of entries that were amended behind it, it asks nothing.
    pub raised_by: Seq,
    /// What was said to it; none while it waits.
    pub answer: Option<ReviewAnswer>,
}

/// What was said to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewAnswer {
    /// Whether it was approved.
    pub approved: bool,
    /// Why.
    pub reason: String,
    /// Who said so.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}
