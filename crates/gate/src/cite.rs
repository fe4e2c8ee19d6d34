//! Citing a place of a work tree as it is now.
//!
//! Owns that a citation is made as carefully as it is checked. It must not know who cites.

use std::path::PathBuf;

use sillok_core::gate::{Fingerprint, Reason, Text, steps};

use crate::read::{open, read};
use crate::tree::WorkTree;

/// What the lines of a file say, or all of it: what a citation of them holds as its fingerprint.
///
/// # Errors
/// Why it cannot be cited: it is gone, may not be read, or could not be.
pub fn fingerprint(
    tree: &WorkTree,
    path: &str,
    lines: Option<(u32, u32)>,
) -> Result<Fingerprint, Reason> {
    let path: PathBuf = steps(path).map_err(Reason::Refused)?.iter().collect();
    let file = open(tree.root(), &path)?;
    let (bytes, _) = read(tree.root(), &path, file)?;
    Text::of(&bytes).fingerprint(lines).ok_or(Reason::Gone)
}
