//! Where an entry's text was true first.
//!
//! Owns the forms, and which of them older nodes read. What a binding holds is [`crate::bound`]'s.

use serde::{Deserialize, Serialize};

use crate::bound::Bound;
use crate::error::Error;

/// Where an entry's text was true first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// No repository was at hand; that is stated, not hidden.
    NoRepository,
    /// A commit of a repository.
    Commit {
        /// The commit's hash.
        hash: String,
        /// The repository, as its remote or path names it.
        repository: String,
    },
    /// What a work tree was at, with the files that are named.
    Bound(Box<Bound>),
}

impl Binding {
    /// The commit's hash, if there is one.
    #[must_use]
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::NoRepository => None,
            Self::Commit { hash, .. } => Some(hash),
            Self::Bound(bound) => bound.place.as_ref()?.commit.as_deref(),
        }
    }

    /// Checks the form of what a work tree was at, where that is said.
    ///
    /// # Errors
    /// `too_large` or `invalid_argument`.
    pub fn check_bound(&self) -> Result<(), Error> {
        match self {
            Self::Bound(bound) => bound.check_of_entry(),
            Self::NoRepository | Self::Commit { .. } => Ok(()),
        }
    }

    /// The same without what nodes do not read that know commits alone.
    #[must_use]
    pub fn plain(&self) -> Self {
        let Self::Bound(bound) = self else {
            return self.clone();
        };
        let place = bound.place.as_ref();
        let commit = place.and_then(|place| Some((place, place.commit.as_ref()?)));
        commit.map_or(Self::NoRepository, |(place, hash)| Self::Commit {
            hash: hash.clone(),
            repository: place.repository.clone(),
        })
    }

    /// The same with its secrets masked, as far as an entry has room for it.
    #[must_use]
    pub fn masked(&self) -> Self {
        match self {
            Self::Bound(bound) => Self::Bound(Box::new(bound.masked().0.of_entry())),
            other => other.clone(),
        }
    }

    /// What is left of it once what is bound is erased.
    #[must_use]
    pub fn rest(&self) -> Self {
        match self {
            Self::Bound(bound) => Self::Bound(Box::new(bound.without_files())),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{BoundFile, Place, TreeState};
    use crate::gate::Fingerprint;

    fn bound(commit: Option<&str>) -> Binding {
        Binding::Bound(Box::new(Bound {
            place: Some(Place {
                repository: "host/a".into(),
                project: "api".into(),
                commit: commit.map(str::to_owned),
                branch: None,
                state: TreeState::Changed,
                is_shallow: false,
            }),
            files: vec![BoundFile {
                path: "src/a.rs".into(),
                fingerprint: Fingerprint::of_file(b"a"),
                owner: None,
            }],
            left_out: 0,
        }))
    }

    #[test]
    fn nodes_that_know_commits_alone_are_told_the_commit() {
        let plain = Binding::Commit {
            hash: "0123456".into(),
            repository: "host/a".into(),
        };
        assert_eq!(bound(Some("0123456")).plain(), plain);
        assert_eq!(bound(Some("0123456")).commit(), plain.commit());
        assert_eq!(plain.plain(), plain);
        for none in [
            bound(None),
            Binding::Bound(Box::default()),
            Binding::NoRepository,
        ] {
            assert_eq!(none.plain(), Binding::NoRepository);
            assert_eq!(none.commit(), None);
        }
    }

    #[test]
    fn what_is_left_of_one_keeps_its_commit_and_no_file() {
        let rest = bound(Some("0123456")).rest();
        assert_eq!(rest.commit(), Some("0123456"));
        assert!(!format!("{rest:?}").contains("src"));
        assert_eq!(Binding::NoRepository.rest(), Binding::NoRepository);
    }
}
