//! The demo's sample repository: five small tools in POSIX shell, each with a bug and a test.
//!
//! Owns its files and its git work trees. It must not know agents or servers.

use std::path::{Path, PathBuf};

use crate::git;

/// Why the repository could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be written.
    #[error("the sample repository cannot be written to {path}")]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] git::Error),
}

/// Every file of the repository's first commit.
const FILES: [(&str, &str); 12] = [
    ("README.md", include_str!("sample/README.md")),
    ("src/sum.sh", include_str!("sample/src/sum.sh")),
    ("src/count.sh", include_str!("sample/src/count.sh")),
    ("src/slug.sh", include_str!("sample/src/slug.sh")),
    ("src/duration.sh", include_str!("sample/src/duration.sh")),
    ("src/older.sh", include_str!("sample/src/older.sh")),
    ("tests/expect.sh", include_str!("sample/tests/expect.sh")),
    (
        "tests/sum_test.sh",
        include_str!("sample/tests/sum_test.sh"),
    ),
    (
        "tests/count_test.sh",
        include_str!("sample/tests/count_test.sh"),
    ),
    (
        "tests/slug_test.sh",
        include_str!("sample/tests/slug_test.sh"),
    ),
    (
        "tests/duration_test.sh",
        include_str!("sample/tests/duration_test.sh"),
    ),
    (
        "tests/older_test.sh",
        include_str!("sample/tests/older_test.sh"),
    ),
];

/// The settings under which the demo commits, so that nothing of the user's own configuration
/// (signing, hooks, a missing name) gets in its way.
fn settings(author: &str) -> [String; 10] {
    [
        "-c".to_owned(),
        format!("user.name={author}"),
        "-c".to_owned(),
        format!("user.email={author}@localhost"),
        "-c".to_owned(),
        "commit.gpgsign=false".to_owned(),
        "-c".to_owned(),
        "core.hooksPath=/dev/null".to_owned(),
        "-c".to_owned(),
        "init.defaultBranch=main".to_owned(),
    ]
}

/// The repository on disk.
#[derive(Clone, Debug)]
pub struct SampleRepository {
    root: PathBuf,
}

impl SampleRepository {
    /// Writes the files below `parent`, which must not hold a repository yet, and commits them.
    ///
    /// # Errors
    /// [`Error`] when a file or git refuses.
    pub fn create(parent: &Path) -> Result<Self, Error> {
        let root = parent.join("tally");
        for (name, text) in FILES {
            let path = root.join(name);
            let write = |source| Error::Write {
                path: path.clone(),
                source,
            };
            std::fs::create_dir_all(path.parent().expect("it lies below the root"))
                .map_err(write)?;
            std::fs::write(&path, text).map_err(write)?;
        }
        let git = |args: &[&str]| {
            let all = settings("demo")
                .into_iter()
                .chain(args.iter().map(|arg| (*arg).to_owned()));
            git::run(&root, all)
        };
        git(&["init", "--quiet"])?;
        git(&["add", "."])?;
        git(&["commit", "--quiet", "-m", "Five tools and their tests"])?;
        Ok(Self { root })
    }

    /// Where the repository lies.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes a work tree of its own for `name`, on a branch of that name.
    ///
    /// # Errors
    /// [`Error::Git`].
    pub fn worktree(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.root.with_file_name(name);
        let words = ["worktree", "add", "--quiet", "-b", name];
        let all = words.iter().map(AsRef::as_ref).chain([path.as_os_str()]);
        git::run(&self.root, all)?;
        Ok(path)
    }
}

/// Commits what changed in a work tree, and returns the commit's hash.
///
/// # Errors
/// [`git::Error`].
pub fn commit(worktree: &Path, author: &str, message: &str) -> Result<String, git::Error> {
    let words = ["commit", "--quiet", "--all", "-m", message].map(str::to_owned);
    git::run(worktree, settings(author).into_iter().chain(words))?;
    git::run(worktree, ["rev-parse", "HEAD"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_trees_have_branches_and_commits_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let repository = SampleRepository::create(folder.path()).unwrap();
        let (one, two) = (
            repository.worktree("agent-1").unwrap(),
            repository.worktree("agent-2").unwrap(),
        );
        std::fs::write(one.join("src/sum.sh"), "echo 1\n").unwrap();
        let hash = commit(&one, "agent-1", "Change").unwrap();
        assert_eq!(git::head(&one).unwrap().hash, hash);
        assert_ne!(git::head(&two).unwrap().hash, hash);
        assert_eq!(
            git::head(&one).unwrap().repository,
            git::head(&two).unwrap().repository
        );
        assert_eq!(
            git::run(&one, ["log", "-1", "--format=%an"]).unwrap(),
            "agent-1"
        );
        assert!(
            std::fs::read_to_string(two.join("src/sum.sh"))
                .unwrap()
                .contains("while read")
        );
    }

    #[test]
    fn every_source_has_its_test() {
        for (name, _) in FILES.iter().filter(|(name, _)| name.starts_with("src/")) {
            let test = name.replace("src/", "tests/").replace(".sh", "_test.sh");
            assert!(FILES.iter().any(|(other, _)| *other == test), "{test}");
        }
    }
}
