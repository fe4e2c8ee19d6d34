//! Validity: at which commits an entry holds.
//!
//! Owns the rule, and the form of a question that names a commit. An entry holds from a commit up to, not
//! including, the commit that ended it (section 9 of the specification), and what comes before what is a matter of
//! ancestry, never of time. It must not know how ancestry is found out: that is behind the
//! [`GitFacts`](crate::ports::GitFacts) port, or the asker's own word for its own answer.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::citation::is_commit_hash;
use crate::entry::{Head, Lifecycle, Status};
use crate::error::{Error, ErrorCode};
use crate::limits::COMMITS_JUDGED_MAX;

/// Whether one commit is another one, or an ancestor of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ancestry {
    /// It is.
    Yes,
    /// It is not, and all that came before the other is known.
    No,
    /// Nobody can tell: the commit is not there any more, or history is cut off.
    Unknown,
}

/// Whether an entry holds at a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// It is bound to no commit: it holds wherever it is asked for.
    Always,
    /// It holds there.
    Holds,
    /// It begins at a commit that does not lie before.
    NotYet,
    /// The commit that ended it lies before, or is the very one.
    Ended,
    /// Ancestry does not tell.
    Unknown,
}

impl Validity {
    /// Whether a question that names the commit is answered with the entry. What nobody can tell is given and
    /// marked, and not left out in silence.
    #[must_use]
    pub const fn is_recalled(self) -> bool {
        matches!(self, Self::Always | Self::Holds | Self::Unknown)
    }
}

/// Whether an entry of this lifecycle holds at a commit, where `ancestry` tells of a commit whether it is that one
/// or an ancestor of it.
///
/// What has ended stays so whatever is known of its beginning, and what has not begun whatever is known of its end:
/// only what neither decides is unknown.
#[must_use]
pub fn validity(lifecycle: &Lifecycle, ancestry: impl Fn(&str) -> Ancestry) -> Validity {
    let of = |commit: &Option<String>| commit.as_deref().map(&ancestry);
    match (
        of(&lifecycle.valid_from_commit),
        of(&lifecycle.valid_to_commit),
    ) {
        (None, None) => Validity::Always,
        (_, Some(Ancestry::Yes)) => Validity::Ended,
        (Some(Ancestry::No), _) => Validity::NotYet,
        (Some(Ancestry::Unknown), _) | (_, Some(Ancestry::Unknown)) => Validity::Unknown,
        (Some(Ancestry::Yes) | None, Some(Ancestry::No) | None) => Validity::Holds,
    }
}

/// Whether an entry was replaced at a commit that is known, and so holds at others still. One that was replaced
/// and nobody said where is over everywhere.
#[must_use]
pub fn is_replaced_at_a_commit(head: &Head) -> bool {
    head.status == Status::Deprecated
        && head.lifecycle.superseded_by.is_some()
        && head.lifecycle.valid_to_commit.is_some()
}

/// The commits that decide whether an entry holds.
pub fn commits(lifecycle: &Lifecycle) -> impl Iterator<Item = &str> {
    [&lifecycle.valid_from_commit, &lifecycle.valid_to_commit]
        .into_iter()
        .flatten()
        .map(String::as_str)
}

/// A commit at which a question is asked, with what the asker knows of others by its own repository. That narrows
/// the asker's own answer, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsOf {
    /// The commit, in lower-case hexadecimal.
    pub commit: String,
    /// Commits that the asker has judged: whether each is `commit` or an ancestor of it.
    pub judged: BTreeMap<String, Ancestry>,
}

impl AsOf {
    /// Checks the form, and puts hashes in lower case.
    ///
    /// # Errors
    /// `invalid_argument` for what names no commit, and for a commit that is judged twice, otherwise each time;
    /// `too_large` for more than [`COMMITS_JUDGED_MAX`] judged ones.
    pub fn checked(
        commit: &str,
        judged: impl IntoIterator<Item = (String, Ancestry)>,
    ) -> Result<Self, Error> {
        let commit = named(commit)?;
        let mut known = BTreeMap::new();
        let mut count = 0_usize;
        for (one, ancestry) in judged {
            count += 1;
            if count > COMMITS_JUDGED_MAX {
                return Err(Error::too_large(
                    "judged commits",
                    COMMITS_JUDGED_MAX as u64,
                    count as u64,
                ));
            }
            let before = known.insert(named(&one)?, ancestry);
            if before.is_some_and(|before| before != ancestry) {
                return Err(invalid("a commit is judged twice, and not alike"));
            }
        }
        Ok(Self {
            commit,
            judged: known,
        })
    }

    /// What the question itself says of a commit; none where it says nothing.
    #[must_use]
    pub fn says(&self, commit: &str) -> Option<Ancestry> {
        let commit = commit.to_ascii_lowercase();
        if commit == self.commit {
            return Some(Ancestry::Yes);
        }
        self.judged.get(&commit).copied()
    }

    /// Those of `lifecycles`' commits that the question does not decide, each once, in order, in lower case.
    #[must_use]
    pub fn undecided<'a>(
        &self,
        lifecycles: impl IntoIterator<Item = &'a Lifecycle>,
    ) -> Vec<String> {
        let mut known = BTreeSet::new();
        let all = lifecycles.into_iter().flat_map(commits);
        all.filter(|commit| matches!(self.says(commit), None | Some(Ancestry::Unknown)))
            .map(str::to_ascii_lowercase)
            .filter(|commit| known.insert(commit.clone()))
            .collect()
    }
}

/// The name of a commit, in lower case.
fn named(commit: &str) -> Result<String, Error> {
    if is_commit_hash(commit) {
        Ok(commit.to_ascii_lowercase())
    } else {
        Err(invalid("a commit is named by 7 to 64 hexadecimal digits"))
    }
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests;
