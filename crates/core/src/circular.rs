//! Circular fixes: when agents of a task make the same mistake again.
//!
//! Owns when two errors are one, when two approaches are one, what follows from that, and what an agent is told. It must not
//! know how failures are kept or who reads them: they come as arguments, and the same ones give the same verdict.

mod approach;
mod essence;
mod failures;
mod fingerprint;
mod history;
mod lists;
mod normal;
mod origin;
mod paths;
mod shapes;
mod told;
mod wording;
mod wrapping;

pub use approach::{Approach, Words};
pub use failures::{ERROR_TIMES_MAX, ERRORS_KEPT_MAX, ErrorSeen, Failures};
pub use fingerprint::{ErrorHash, core_error, reason_of};
pub use history::{
    ApproachJudged, ErrorJudged, ErrorReason, FailedApproach, Proposed, Tried, Verdict,
    judge_approach,
};
pub use told::{Language, order};
pub use wording::{Term, Wording};

#[cfg(test)]
mod tests;
