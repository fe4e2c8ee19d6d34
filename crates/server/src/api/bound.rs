//! What a work tree was at, on the wire.
//!
//! Owns the form in JSON. What is refused of it is the rules'.

use serde::{Deserialize, Serialize};
use sillok_core::bound::{self, TreeState};
use sillok_core::entry;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::gate::Fingerprint;
use utoipa::ToSchema;

use super::{Commit, schema};

/// Where something was said: what the work tree was at, and the files that are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// What the work tree was at; absent where there is no repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The files that are named, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BoundFile>,
    /// How many more are named, which were not read or for which there was no room.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
}

/// What a work tree of a repository was at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The repository, by its remote, or by its path when there is none.
    pub repository: String,
    /// The directory inside the repository in which it was said; absent for its root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// The commit, in lower-case hexadecimal; absent while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The branch; absent where HEAD is detached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether what is tracked differs from the commit.
    #[schema(value_type = schema::TreeState)]
    pub state: TreeState,
    /// Whether history is cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shallow: bool,
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundFile {
    /// Its path from the root of the work tree that owns it.
    pub path: String,
    /// BLAKE3 of its text with each CR LF as one LF, in hexadecimal: what a citation of the whole file has.
    pub fingerprint: String,
    /// The repository that it belongs to, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The commit that that one was at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands a reference over"
)]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl From<bound::Bound> for Bound {
    fn from(bound: bound::Bound) -> Self {
        Self {
            place: bound.place.map(Into::into),
            files: bound.files.into_iter().map(Into::into).collect(),
            left_out: bound.left_out,
        }
    }
}

impl From<bound::Place> for Place {
    fn from(place: bound::Place) -> Self {
        Self {
            repository: place.repository,
            project: place.project,
            commit: place.commit,
            branch: place.branch,
            state: place.state,
            shallow: place.is_shallow,
        }
    }
}

impl From<bound::BoundFile> for BoundFile {
    fn from(file: bound::BoundFile) -> Self {
        let (repository, commit) = match file.owner {
            Some(owner) => (Some(owner.repository), owner.commit),
            None => (None, None),
        };
        Self {
            path: file.path,
            fingerprint: file.fingerprint.to_string(),
            repository,
            commit,
        }
    }
}

impl TryFrom<Bound> for bound::Bound {
    type Error = Error;

    fn try_from(bound: Bound) -> Result<Self, Error> {
        let files = bound.files.into_iter().map(TryInto::try_into);
        Ok(Self {
            place: bound.place.map(|place| bound::Place {
                repository: place.repository,
                project: place.project,
                commit: place.commit,
                branch: place.branch,
                state: place.state,
                is_shallow: place.shallow,
            }),
            files: files.collect::<Result<_, _>>()?,
            left_out: bound.left_out,
        })
    }
}

impl TryFrom<BoundFile> for bound::BoundFile {
    type Error = Error;

    fn try_from(file: BoundFile) -> Result<Self, Error> {
        let owner = match (file.repository, file.commit) {
            (Some(repository), commit) => Some(bound::Owner { repository, commit }),
            (None, None) => None,
            (None, Some(_)) => {
                let why = "a file's commit is that of its repository, and none is named";
                return Err(Error::new(ErrorCode::InvalidArgument, why));
            }
        };
        let fingerprint = Fingerprint::parse(&file.fingerprint).ok_or_else(|| {
            let why = "a fingerprint is 64 hexadecimal digits";
            Error::new(ErrorCode::InvalidArgument, why)
        })?;
        Ok(Self {
            path: file.path,
            fingerprint,
            owner,
        })
    }
}

/// The binding of what was said there, or was true at this commit, or of what has no repository.
///
/// # Errors
/// `invalid_argument` where both are given: what a work tree was at says its commit.
pub(super) fn binding(
    bound: Option<Bound>,
    commit: Option<Commit>,
) -> Result<entry::Binding, Error> {
    match (bound, commit) {
        (Some(_), Some(_)) => {
            let why = "bound says the commit: leave commit out";
            Err(Error::new(ErrorCode::InvalidArgument, why))
        }
        (Some(bound), None) => Ok(entry::Binding::Bound(Box::new(bound.try_into()?))),
        (None, commit) => Ok(Commit::binding(commit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> Bound {
        let file = BoundFile {
            path: "src/a.rs".into(),
            fingerprint: "0a".repeat(32),
            repository: None,
            commit: None,
        };
        Bound {
            place: Some(Place {
                repository: "host/a/b".into(),
                project: "api".into(),
                commit: Some("0123456".into()),
                branch: None,
                state: TreeState::Changed,
                shallow: false,
            }),
            files: vec![
                BoundFile {
                    repository: Some("host/lib".into()),
                    commit: Some("abcdef0".into()),
                    ..file.clone()
                },
                file,
            ],
            left_out: 3,
        }
    }

    #[test]
    fn what_a_work_tree_was_at_survives_its_form() {
        let read = bound::Bound::try_from(bound()).unwrap();
        assert_eq!(Bound::from(read), bound());
        let written = serde_json::to_string(&bound()).unwrap();
        assert_eq!(serde_json::from_str::<Bound>(&written).unwrap(), bound());
        assert!(serde_json::from_str::<Bound>("{}").unwrap().place.is_none());
    }

    #[test]
    fn what_is_no_fingerprint_or_no_owner_is_refused() {
        let with = |change: fn(&mut BoundFile)| {
            let mut bound = bound();
            change(&mut bound.files[1]);
            bound::Bound::try_from(bound)
        };
        assert!(with(|_| {}).is_ok());
        assert!(with(|file| file.fingerprint = "0a".into()).is_err());
        assert!(with(|file| file.commit = Some("0123456".into())).is_err());
    }

    #[test]
    fn one_of_the_two_says_the_commit() {
        let commit = Commit {
            hash: "0123456".into(),
            repository: "host/a/b".into(),
        };
        assert!(binding(Some(bound()), Some(commit.clone())).is_err());
        let one = binding(Some(bound()), None).unwrap();
        assert_eq!(one.commit(), binding(None, Some(commit)).unwrap().commit());
        assert_eq!(binding(None, None).unwrap(), entry::Binding::NoRepository);
    }
}
