//! The reasoning bank: how agents went about tasks, what that came to, and what to expect of the same approach again.
//!
//! Owns the form of trajectories, the patterns that follow from them, how these are ranked, and which failures a task is warned
//! of. It must not know how trajectories are kept or who reads them: they come as arguments, in any order, and the same ones give
//! the same patterns.

mod alike;
mod pattern;
mod premortem;
mod search;
mod trajectory;
mod trial;

pub use pattern::{Cited, Pattern, Signature, Tally};
pub use premortem::{Warned, Warning, warnings};
pub use search::{PatternFound, PatternQuery, PatternsFound, search};
pub use trajectory::{Ended, NewTrajectory, Reward, Step, TaskKind, Trajectory};

#[cfg(test)]
mod tests;
