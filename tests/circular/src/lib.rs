//! Labelled pairs of error outputs and of approaches, and how a rule judges them.
//!
//! Owns the pairs, which half each belongs to, and the floors. It is handed the two functions that it
//! judges; it must not know how either of them decides. `make circular-pairs` judges the rules of production.

mod approaches;
mod errors;
mod figures;
mod judge;
mod labelled;
mod told;

pub use approaches::{ApproachLabel, ApproachPair, Task, Tried, approach_pairs};
pub use errors::{ErrorLabel, ErrorPair, Shape, error_pairs};
pub use figures::{Figures, Halves, Part, Report};
pub use judge::{Judged, Outcome, judge_approaches, judge_errors};
pub use labelled::{Half, Labelled, Set};
pub use told::tell;
