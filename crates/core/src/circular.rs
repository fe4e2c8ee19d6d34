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
mod suggestion;
mod terms;
mod told;
mod tried;
mod wording;
mod wrapping;

pub use approach::{Approach, Likeness, Words};
pub use failures::{ErrorSeen, Failures};
pub use fingerprint::{ErrorHash, core_error, reason_of};
pub use history::{
    ApproachJudged, ErrorJudged, ErrorReason, FailedApproach, Proposed, Verdict, judge_approach,
};
pub use suggestion::suggestion;
pub use told::{Language, order};
pub use tried::{Places, Tried};
pub use wording::{Term, Wording};
pub(crate) use wording::{holds, in_order};

#[cfg(test)]
mod tests;
