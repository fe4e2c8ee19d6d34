//! Commits by name: which one a citation means, and what a repository says of whether it is there.
//!
//! Owns the forms. Which commit lies before another is [`crate::validity`]'s; what is behind a repository's word, its
//! engine's.

use serde::{Deserialize, Serialize};

/// A commit, as a citation names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CommitName {
    /// Its hash or the beginning of that, in lower-case hexadecimal.
    pub hash: String,
    /// The repository, as its remote or path names it.
    pub repository: String,
}

impl CommitName {
    /// The name with these parts. Hashes are the same in upper and in lower case.
    #[must_use]
    pub fn new(hash: &str, repository: &str) -> Self {
        Self {
            hash: hash.to_ascii_lowercase(),
            repository: repository.to_owned(),
        }
    }
}

/// Whether a commit is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    /// It is.
    There,
    /// Not in the copy of the repository that is at hand, and that leaves nothing out of what it was told of. Others may
    /// have the commit: such a copy is as new as its last fetch.
    Missing,
    /// Nobody at hand can say.
    Unknown,
}
