//! Labelled pairs of lessons, and how deduplication judges them in an embedding space.
//!
//! Owns the pairs, which half each belongs to, and the floors. It asks the rule that a scope's owner
//! asks; it must not know any one embedder, nor have a rule of its own.
//!
//! `make dedup-pairs` judges by the built-in embedder; with `MODEL` by a sentence transformer too, or by a provider's
//! model, which `MODEL_ARGS='--provider ollama'` says.

mod figures;
mod judge;
mod pair;
mod told;

pub use figures::{Figures, Report};
pub use judge::{Judged, Outcome, at_once, judge, outcome};
pub use pair::{Half, Label, Pair, pairs};
pub use told::tell;
