//! Where something was said: what the work tree was at, and what the files were that are named.
//!
//! Owns the form, its limits, and what of it is left where less may be said. It must not know how a work tree is read: that is
//! done where the work tree is, and what comes from there is a caller's word, checked here and believed by nobody else.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::citation::is_commit_hash;
use crate::error::{Error, ErrorCode};
use crate::gate::Fingerprint;
use crate::limits::{
    BOUND_BYTES_MAX, BOUND_FILES_MAX, BOUND_NAME_BYTES_MAX, ENTRY_BOUND_BYTES_MAX,
};
use crate::secret::mask;

/// Whether what is tracked differs from the commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeState {
    /// It does not.
    Clean,
    /// It does: something is changed, staged or gone.
    Changed,
    /// Nobody looked, there is nothing to look at, or it took too long.
    Unknown,
}

impl TreeState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Clean, Self::Changed, Self::Unknown];

    /// The state's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Changed => "changed",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for TreeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a work tree of a repository was at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The repository, as [`plain_name`](crate::commit::plain_name) gives it: by its remote, or by its path when there is none.
    pub repository: String,
    /// The directory inside the repository in which it was said; empty for its root.
    pub project: String,
    /// The commit; none while there is none yet.
    pub commit: Option<String>,
    /// The branch; none where HEAD is detached, or nobody said.
    pub branch: Option<String>,
    /// Whether the work tree differs from the commit.
    pub state: TreeState,
    /// Whether history is cut off behind some commit.
    pub is_shallow: bool,
}

/// The repository that a file belongs to, where that is another one than the place's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    /// The repository.
    pub repository: String,
    /// The commit that its work tree was at; none while there is none.
    pub commit: Option<String>,
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BoundFile {
    /// Its path from the root of the work tree that owns it, with `/` between names.
    pub path: String,
    /// What it was: the fingerprint that a citation of all of it has.
    pub fingerprint: Fingerprint,
    /// The repository that it belongs to, where that is another one: the innermost that holds it.
    pub owner: Option<Owner>,
}

/// Where something was said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// What the work tree was at; none where there is no repository, which is stated in that way.
    pub place: Option<Place>,
    /// The files that are named, each once.
    pub files: Vec<BoundFile>,
    /// How many more are named, which were not read or for which there was no room.
    pub left_out: u32,
}

/// What a fingerprint and what frames a file come to.
const FILE_FRAME_BYTES: usize = 40;

impl BoundFile {
    fn bytes(&self) -> usize {
        let owner = self.owner.as_ref();
        let commit = |owner: &Owner| owner.commit.as_ref().map_or(0, String::len);
        FILE_FRAME_BYTES
            + self.path.len()
            + owner.map_or(0, |owner| owner.repository.len() + commit(owner))
    }

    fn check(&self) -> Result<(), Error> {
        check_path("path of a file", &self.path)?;
        let Some(owner) = &self.owner else {
            return Ok(());
        };
        check_name("repository of a file", &owner.repository)?;
        owner.commit.as_deref().map_or(Ok(()), check_commit)
    }
}

impl Bound {
    /// About how many bytes it comes to.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let place = self.place.as_ref().map_or(0, |place| {
            place.repository.len() + place.project.len() + of(&place.commit) + of(&place.branch)
        });
        place + self.files.iter().map(BoundFile::bytes).sum::<usize>()
    }

    /// Checks what a record is said to be bound to.
    ///
    /// # Errors
    /// `too_large`, naming the limit, or `invalid_argument`.
    pub fn check(&self) -> Result<(), Error> {
        self.check_within(BOUND_BYTES_MAX)
    }

    /// Checks what an entry is said to be bound to.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_of_entry(&self) -> Result<(), Error> {
        self.check_within(ENTRY_BOUND_BYTES_MAX)
    }

    fn check_within(&self, bytes_max: usize) -> Result<(), Error> {
        if self.files.len() > BOUND_FILES_MAX {
            let (limit, got) = (BOUND_FILES_MAX as u64, self.files.len() as u64);
            return Err(Error::too_large("bound files", limit, got));
        }
        if self.bytes() > bytes_max {
            let (limit, got) = (bytes_max as u64, self.bytes() as u64);
            return Err(Error::too_large("bytes of a binding", limit, got));
        }
        if let Some(place) = &self.place {
            check_name("repository", &place.repository)?;
            if !place.project.is_empty() {
                check_path("project", &place.project)?;
            }
            place.commit.as_deref().map_or(Ok(()), check_commit)?;
            let branch = place.branch.as_deref();
            branch.map_or(Ok(()), |branch| check_name("branch", branch))?;
        }
        for (place, file) in self.files.iter().enumerate() {
            file.check()?;
            let is_same = |other: &BoundFile| other.path == file.path && other.owner == file.owner;
            if self.files[..place].iter().any(is_same) {
                return Err(invalid("a file is bound once"));
            }
        }
        Ok(())
    }

    /// The same with its secrets masked, and how many they were.
    #[must_use]
    pub fn masked(&self) -> (Self, u32) {
        let mut masked = self.clone();
        let mut count = 0_u32;
        let mut clean = |text: &mut String| {
            let found = mask(text);
            count = count.saturating_add(found.count);
            if found.count > 0 {
                *text = found.text.into_owned();
            }
        };
        if let Some(place) = &mut masked.place {
            clean(&mut place.repository);
            clean(&mut place.project);
            if let Some(branch) = &mut place.branch {
                clean(branch);
            }
        }
        for file in &mut masked.files {
            clean(&mut file.path);
            if let Some(owner) = &mut file.owner {
                clean(&mut owner.repository);
            }
        }
        // What stands for a short secret is longer than that, and two paths may have become one.
        (masked.within(BOUND_BYTES_MAX), count)
    }

    /// The same with as many of its first files as there is room for, each once.
    #[must_use]
    pub fn within(mut self, bytes_max: usize) -> Self {
        let files = core::mem::take(&mut self.files);
        let mut bytes = self.bytes();
        for file in files {
            let has_room = self.files.len() < BOUND_FILES_MAX && bytes + file.bytes() <= bytes_max;
            let is_known = self
                .files
                .iter()
                .any(|known| known.path == file.path && known.owner == file.owner);
            if has_room && !is_known {
                bytes += file.bytes();
                self.files.push(file);
            } else {
                self.left_out = self.left_out.saturating_add(1);
            }
        }
        self
    }

    /// The same as far as an entry has room for it.
    #[must_use]
    pub fn of_entry(self) -> Self {
        self.within(ENTRY_BOUND_BYTES_MAX)
    }

    /// What is left once what was said is erased: the commit, and nothing that the text named.
    #[must_use]
    pub fn without_files(&self) -> Self {
        Self {
            place: self.place.clone(),
            files: Vec::new(),
            left_out: 0,
        }
    }
}

/// Checks that a path leads from a root to what lies below it.
fn check_path(what: &str, path: &str) -> Result<(), Error> {
    check_name(what, path)?;
    let is_plain = |name: &str| !matches!(name, "" | "." | "..");
    if path.split('/').all(is_plain) {
        return Ok(());
    }
    Err(invalid(&format!(
        "{what}: it leads from the root down, with one / between names"
    )))
}

fn check_name(what: &str, name: &str) -> Result<(), Error> {
    if name.len() > BOUND_NAME_BYTES_MAX {
        let (limit, got) = (BOUND_NAME_BYTES_MAX as u64, name.len() as u64);
        return Err(Error::too_large(&format!("{what} bytes"), limit, got));
    }
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(invalid(&format!(
            "{what}: it is not empty and holds no control characters"
        )));
    }
    Ok(())
}

fn check_commit(hash: &str) -> Result<(), Error> {
    if is_commit_hash(hash) && !hash.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Ok(());
    }
    Err(invalid(
        "a commit is named by 7 to 64 hexadecimal digits, in lower case",
    ))
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests;
