//! Every Rust file opens with a `//!` line: what it owns and what it must not know.

use crate::Finding;
use crate::tree::Tree;

/// Findings for Rust files whose first line is not a module docstring with words in it.
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.files
        .iter()
        .filter(|file| file.path.ends_with(".rs"))
        .filter(|file| {
            let first = file.text.lines().next().unwrap_or_default();
            first
                .strip_prefix("//!")
                .is_none_or(|words| words.trim().is_empty())
        })
        .map(|file| {
            Finding::new(
                &file.path,
                1,
                "must open with a `//!` line: what the file owns and what it must not know",
            )
        })
        .collect()
}
