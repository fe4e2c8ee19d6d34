//! What did not hold, as a report or a file says it.
//!
//! Owns the name and the finding, free of where they came from: the invariants of core have names,
//! and so has every invariant that a user adds.

use std::fmt;

use serde::{Deserialize, Serialize};
use sillok_core::invariants;

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The invariant's name.
    pub invariant: String,
    /// What was found instead.
    pub what: String,
}

impl Violation {
    /// A violation of an invariant of one's own.
    #[must_use]
    pub fn new(invariant: &str, what: impl Into<String>) -> Self {
        Self {
            invariant: invariant.to_owned(),
            what: what.into(),
        }
    }
}

impl From<invariants::Violation> for Violation {
    fn from(violation: invariants::Violation) -> Self {
        Self::new(violation.invariant.as_str(), violation.what)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.invariant)
    }
}

impl std::error::Error for Violation {}
