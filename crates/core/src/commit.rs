//! Commits by name: which one a citation means, and what a repository says of whether it is there.
//!
//! Owns the forms, and which names of a repository are one. Which commit lies before another is
//! [`crate::validity`]'s; what is behind a repository's word, its engine's.

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

/// The name of a repository without what differs between those who say it: how it is reached, as whom, and the ending of a
/// bare repository.
#[must_use]
pub fn plain_name(name: &str) -> String {
    let (scheme, rest) = match name.split_once("://") {
        // What stands behind these may be a password, and is no part of a name.
        Some((scheme, rest)) => (Some(scheme), rest.split(['?', '#']).next().unwrap_or(rest)),
        None => (None, name),
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let said = match scheme {
        // A path, or what `scp` would be told.
        None => format!("{}{path}", host.replacen(':', "/", 1)),
        Some(_) => {
            let host = host.split_once(':').map_or(host, |(host, _)| host);
            format!("{}{path}", host.to_ascii_lowercase())
        }
    };
    let said = said.trim_end_matches('/');
    let said = said.strip_suffix(".git").unwrap_or(said);
    said.trim_end_matches('/').to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_the_same_however_it_is_reached() {
        for same in [
            "https://host/a/b.git",
            "https://kim:secret@Host/a/b",
            "https://host/a/b.git?token=secret#main",
            "ssh://git@host:22/a/b.git/",
            "git@host:a/b.git",
            "host:a/b",
        ] {
            assert_eq!(plain_name(same), "host/a/b", "{same}");
        }
        for same in [
            "/srv/a",
            "/srv/a/",
            "/srv/a/.git",
            "/srv/a.git",
            "file:///srv/a.git",
        ] {
            assert_eq!(plain_name(same), "/srv/a", "{same}");
        }
        assert_eq!(plain_name("/srv/a#1"), "/srv/a#1", "that is its path");
        for other in ["https://host/a/c", "https://other/a/b", "/srv/b", "b", ""] {
            assert_ne!(plain_name(other), "host/a/b", "{other}");
            assert_ne!(plain_name(other), "/srv/a", "{other}");
        }
    }
}
