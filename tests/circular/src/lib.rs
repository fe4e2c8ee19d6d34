//! Labelled pairs of error outputs, which a rule is to tell apart.
//!
//! Owns the pairs, and which half each belongs to. It must not know how any rule decides.

mod errors;
mod labelled;

pub use errors::{ErrorLabel, ErrorPair, Shape, error_pairs};
pub use labelled::{Half, Labelled, Set};
