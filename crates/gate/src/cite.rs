//! Citing a place of a work tree as it is now.
//!
//! Owns that a citation is made as carefully as it is checked. It must not know who cites.

use std::path::PathBuf;

use sillok_core::gate::{Fingerprint, Reason, Text, steps};

use crate::open::Miss;
use crate::read::{Found, read};
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
    let reason = |miss| match miss {
        Miss::Refused(refusal) => Reason::Refused(refusal),
        Miss::Unread(why) => Reason::Unread(why),
        Miss::Gone => Reason::Gone,
    };
    let found = Found::open(tree.root(), &path).map_err(reason)?;
    let (bytes, _) = read(tree.root(), &path, found).map_err(reason)?;
    Text::of(&bytes).fingerprint(lines).ok_or(Reason::Gone)
}
