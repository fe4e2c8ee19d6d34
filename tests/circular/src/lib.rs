//! Labelled pairs of error outputs and of approaches, which a rule is to tell apart.
//!
//! Owns the pairs, and which half each belongs to. It must not know how any rule decides.

mod approaches;
mod errors;
mod labelled;

pub use approaches::{ApproachLabel, ApproachPair, Task, Tried, approach_pairs};
pub use errors::{ErrorLabel, ErrorPair, Shape, error_pairs};
pub use labelled::{Half, Labelled, Set};
