//! What git says about the work tree that a command runs in, and the few git commands of the demo.
//!
//! Owns the calls of the `git` program. It must not know servers or records.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use sillok_core::citation::is_commit_hash;
use sillok_core::commit::plain_name;

/// Why a git command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be started.
    #[error("git cannot be started")]
    Start(#[source] std::io::Error),
    /// It ended with an error.
    #[error("git {command} failed: {message}")]
    Failed {
        /// The arguments.
        command: String,
        /// What it said.
        message: String,
    },
}

/// A commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its hash, in hexadecimal.
    pub hash: String,
    /// The remote named `origin`, or the repository's path when there is none, as [`plain_name`] gives it.
    pub repository: String,
}

/// The commit that `dir`'s work tree stands at; none when `dir` is in no repository, the
/// repository has no commit, or there is no git.
#[must_use]
pub fn head(dir: &Path) -> Option<Commit> {
    let hash = run(dir, ["rev-parse", "HEAD"])
        .ok()
        .filter(|hash| is_commit_hash(hash))?;
    let remote = run(dir, ["config", "--get", "remote.origin.url"]);
    // A path that leads from the repository elsewhere means nothing without it.
    let names_it = |name: &String| !name.is_empty() && !name.starts_with('.');
    let named = remote.ok().map(|url| plain_name(&url)).filter(names_it);
    let of_path = || path(dir).map(|path| plain_name(&path));
    Some(Commit {
        hash,
        repository: named.or_else(of_path)?,
    })
}

/// The commit that a revision names in `dir`'s repository: a hash, a branch, a tag, HEAD~3.
///
/// # Errors
/// [`Error`], with what git said.
pub fn commit_of(dir: &Path, revision: &str) -> Result<String, Error> {
    let commit = format!("{revision}^{{commit}}");
    run(dir, ["rev-parse", "--verify", "--end-of-options", &commit])
}

/// Where `dir`'s repository is read: its work tree, or the bare repository; none when `dir` is in none.
#[must_use]
pub fn root(dir: &Path) -> Option<PathBuf> {
    let tree = run(dir, ["rev-parse", "--show-toplevel"]);
    let found = tree.or_else(|_| run(dir, ["rev-parse", "--absolute-git-dir"]));
    found.ok().map(PathBuf::from)
}

/// The path of the repository itself, which is the same from each of its work trees.
fn path(dir: &Path) -> Option<String> {
    let shared = run(dir, ["rev-parse", "--git-common-dir"]).ok()?;
    let shared = dir.join(shared).canonicalize().ok()?;
    let root = if shared.ends_with(".git") {
        shared.parent()?
    } else {
        &shared
    };
    Some(root.to_string_lossy().into_owned())
}

/// Variables by which a git hook points git at its own repository. What runs inside a hook must not
/// touch that one by mistake.
const HOOK_VARIABLES: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
];

/// Runs `git` in `dir` and returns what it printed, without blanks around it.
///
/// # Errors
/// [`Error`], with what git said.
pub fn run<A: AsRef<OsStr>>(
    dir: &Path,
    args: impl IntoIterator<Item = A>,
) -> Result<String, Error> {
    let args: Vec<A> = args.into_iter().collect();
    let mut command = Command::new("git");
    for variable in HOOK_VARIABLES {
        command.env_remove(variable);
    }
    let output = command
        .arg("-C")
        .arg(dir)
        .args(&args)
        .output()
        .map_err(Error::Start)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let words: Vec<_> = args
        .iter()
        .map(|arg| arg.as_ref().to_string_lossy())
        .collect();
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::Failed {
        command: words.join(" "),
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_repository_has_no_commit() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(head(folder.path()), None);
    }

    #[test]
    fn a_repository_is_named_by_its_remote_or_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        run(dir, ["init", "--quiet"]).unwrap();
        assert_eq!(head(dir), None, "there is no commit yet");
        let name = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "-c",
            "commit.gpgsign=false",
        ];
        run(
            dir,
            name.iter()
                .copied()
                .chain(["commit", "--quiet", "--allow-empty", "-m", "one"]),
        )
        .unwrap();
        let commit = head(dir).unwrap();
        assert!(is_commit_hash(&commit.hash));
        assert!(
            commit
                .repository
                .ends_with(&*dir.file_name().unwrap().to_string_lossy())
        );
        run(
            dir,
            [
                "remote",
                "add",
                "origin",
                "https://user:secret@host/a/b.git",
            ],
        )
        .unwrap();
        assert_eq!(head(dir).unwrap().repository, "host/a/b");
    }

    #[test]
    fn a_failure_says_what_git_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = run(folder.path(), ["checkout", "nowhere"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("checkout nowhere"), "{error}");
    }

    #[test]
    fn a_revision_names_a_commit_and_nothing_that_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        assert_eq!(root(dir), None);
        run(dir, ["init", "--quiet", "--initial-branch=main"]).unwrap();
        assert!(commit_of(dir, "HEAD").is_err(), "there is no commit yet");
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let commit = ["commit", "--quiet", "--allow-empty", "-m", "one"];
        run(dir, identity.iter().chain(&commit)).unwrap();
        let hash = head(dir).unwrap().hash;
        run(dir, ["tag", "first"]).unwrap();
        for revision in ["HEAD", "main", "first", &hash, &hash[..9], "HEAD~0"] {
            assert_eq!(commit_of(dir, revision).unwrap(), hash, "{revision}");
        }
        for none in ["", "nowhere", "HEAD~1", "HEAD:x", "--all", "main..main"] {
            assert!(commit_of(dir, none).is_err(), "{none}");
        }
        assert_eq!(root(dir), dir.canonicalize().ok());
    }
}
