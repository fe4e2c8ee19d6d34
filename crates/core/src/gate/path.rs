//! Which paths of citations may be followed at all.
//!
//! Owns what a path may not hold, and the names of refusals. That no link on the way leads elsewhere is seen by whoever
//! opens it. It must not know any file system.

use serde::{Deserialize, Serialize};

/// Why a place is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The path is absolute, or leads upward.
    Outside,
    /// It holds what no path holds.
    NoPath,
    /// It names what git keeps for itself.
    GitDirectory,
    /// A link on the way leads out of the work tree.
    LinkOut,
    /// Links on the way lead in a circle, or there are too many.
    LinkLoop,
    /// It is a device, a pipe, a socket or a directory.
    NoFile,
}

impl Refusal {
    /// What it means, for a person: the end of a sentence that begins with the citation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Outside => "was not read: the path leads out of the work tree",
            Self::NoPath => "was not read: that is no path",
            Self::GitDirectory => "was not read: that is git's own",
            Self::LinkOut => "was not read: a link leads out of the work tree",
            Self::LinkLoop => "was not read: links lead in a circle",
            Self::NoFile => "was not read: that is no regular file",
        }
    }
}

/// The names on the way from the root of a work tree to a file that a citation names.
///
/// # Errors
/// Why it is not followed.
pub fn steps(path: &str) -> Result<Vec<&str>, Refusal> {
    if path.starts_with('/') {
        return Err(Refusal::Outside);
    }
    if path.contains('\0') || path.ends_with('/') {
        return Err(Refusal::NoPath);
    }
    let steps: Vec<&str> = path
        .split('/')
        .filter(|step| !matches!(*step, "" | "."))
        .collect();
    if steps.contains(&"..") {
        return Err(Refusal::Outside);
    }
    // Some file systems hold that in any case.
    if steps.iter().any(|step| step.eq_ignore_ascii_case(".git")) {
        return Err(Refusal::GitDirectory);
    }
    if steps.is_empty() {
        return Err(Refusal::NoPath);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_the_root_is_a_path() {
        assert_eq!(steps("src/a.rs"), Ok(vec!["src", "a.rs"]));
        assert_eq!(steps("./src//a.rs"), Ok(vec!["src", "a.rs"]));
        assert_eq!(steps("..a/b.."), Ok(vec!["..a", "b.."]));
        for (path, refusal) in [
            ("/etc/passwd", Refusal::Outside),
            ("..", Refusal::Outside),
            ("a/../../b", Refusal::Outside),
            ("a/../b", Refusal::Outside),
            ("", Refusal::NoPath),
            (".", Refusal::NoPath),
            ("a/", Refusal::NoPath),
            ("a\0b", Refusal::NoPath),
            (".git/config", Refusal::GitDirectory),
            ("sub/.GIT", Refusal::GitDirectory),
        ] {
            assert_eq!(steps(path), Err(refusal), "{path:?}");
        }
    }
}
