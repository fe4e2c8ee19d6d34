//! What repositories say of their commits: which lies before which.
//!
//! Owns reading git repositories through the `git` program, and where history ends. It only reads: no network, no work
//! tree. It must not know what is decided by an answer.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sillok_core::citation::is_commit_hash;
use sillok_core::limits::COMMITS_WALKED_MAX;
use sillok_core::ports::{BoxFuture, GitFacts, PortError};
use sillok_core::scope::Scope;
use sillok_core::validity::Ancestry;
use tokio::sync::Semaphore;

/// Commits whose ancestors are kept in memory, and ancestors of one that are.
const KEPT_MAX: usize = 4;
const KEPT_COMMITS_MAX: usize = 250_000;
/// Repositories that are looked into at one time by all who ask.
const AT_ONCE_MAX: usize = 2;
/// How long whoever asks waits for an answer. What is being looked up goes on, and the next one finds it.
const WAIT: Duration = Duration::from_secs(2);

/// Why a repository says nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is none, or it cannot be opened.
    #[error("{path} is no repository that can be read: {why}")]
    Open {
        /// Where it was looked for.
        path: PathBuf,
        /// What stands in the way.
        why: String,
    },
}

/// Variables by which a git hook points git at its own repository.
const FOREIGN_VARIABLES: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// A commit with all that lies before it, as far as that is there.
#[derive(Debug)]
struct Before {
    at: String,
    commits: HashSet<String>,
    /// Whether something lies before it that is not there: a shallow clone, an object that cannot be read, a
    /// history that is too long.
    is_cut: bool,
}

/// A repository, asked anew for each question: what is fetched or rewritten meanwhile counts.
#[derive(Debug)]
pub struct Repository {
    path: PathBuf,
    /// The newest first. What lies before a commit never changes, where it is whole.
    kept: Mutex<Vec<Arc<Before>>>,
}

impl Repository {
    /// The repository of a work tree, or the bare one, at a path.
    ///
    /// # Errors
    /// [`Error::Open`]
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        git(&path, &["rev-parse", "--git-dir"], "")?;
        Ok(Self {
            path,
            kept: Mutex::default(),
        })
    }

    /// Whether each of `commits` is `at` or an ancestor of it.
    ///
    /// `No` is said only of a commit that some reference still reaches, where all of `at`'s history is there. One
    /// that no reference reaches was written anew under another name, by a rebase, a squash or an amend; whether
    /// it was collected since makes no difference. Takes time; it blocks.
    ///
    /// # Errors
    /// [`Error::Open`]. A commit that is missing or cannot be read is no error: it is unknown.
    pub fn judge(&self, at: &str, commits: &[String]) -> Result<Vec<Ancestry>, Error> {
        let mut named = self.resolve(at, commits)?;
        let Some(at) = named.remove(0) else {
            return Ok(vec![Ancestry::Unknown; commits.len()]);
        };
        let before = self.before(&at)?;
        let named_ones = named.iter().flatten();
        let are_all_before = named_ones
            .clone()
            .all(|commit| before.commits.contains(commit));
        let reached = if before.is_cut || are_all_before {
            HashSet::new()
        } else {
            // What a reference reaches and does not lie before. One that is broken reaches none.
            self.walk(&["--all", "--not", &at])?.0
        };
        let judge = |commit: Option<String>| match commit {
            Some(commit) if before.commits.contains(&commit) => Ancestry::Yes,
            Some(commit) if reached.contains(&commit) => Ancestry::No,
            _ => Ancestry::Unknown,
        };
        Ok(named.into_iter().map(judge).collect())
    }

    /// The commits of names, which may be short, that of `at` first; none where there is none of a name, or several,
    /// or it cannot be read.
    fn resolve(&self, at: &str, commits: &[String]) -> Result<Vec<Option<String>>, Error> {
        let names: Vec<&str> = core::iter::once(at)
            .chain(commits.iter().map(String::as_str))
            // Anything else could be a branch, or a range, or a flag.
            .map(|name| if is_commit_hash(name) { name } else { NO_NAME })
            .collect();
        let check = ["cat-file", "--batch-check=%(objectname) %(objecttype)"];
        let said = git(&self.path, &check, &names.join("\n"))?;
        let commit = |(name, line): (&&str, &str)| {
            let (hash, kind) = line.split_once(' ')?;
            let is_one = kind == "commit" && hash.starts_with(&name.to_ascii_lowercase());
            is_one.then(|| hash.to_owned())
        };
        // A spoilt object may end the program before it has answered all.
        let lines = said.text.lines().chain(core::iter::repeat(""));
        Ok(names.iter().zip(lines).map(commit).collect())
    }

    /// What lies before a commit, from memory where that is known.
    fn before(&self, at: &str) -> Result<Arc<Before>, Error> {
        if let Some(known) = self.kept.lock().iter().find(|known| known.at == at) {
            return Ok(Arc::clone(known));
        }
        let (mut commits, is_whole) = self.walk(&[at])?;
        // Where something before it cannot be read, not even the commit itself may be named.
        commits.insert(at.to_owned());
        let found = Arc::new(Before {
            at: at.to_owned(),
            is_cut: !is_whole || self.ends()?.iter().any(|end| commits.contains(end)),
            commits,
        });
        if !found.is_cut && found.commits.len() <= KEPT_COMMITS_MAX {
            let mut kept = self.kept.lock();
            kept.retain(|known| known.at != at);
            kept.insert(0, Arc::clone(&found));
            kept.truncate(KEPT_MAX);
        }
        Ok(found)
    }

    /// The commits that revisions name, and whether those are all.
    fn walk(&self, revisions: &[&str]) -> Result<(HashSet<String>, bool), Error> {
        let most = format!("--max-count={COMMITS_WALKED_MAX}");
        let args = [&["rev-list", &most], revisions].concat();
        let said = run(&self.path, &args, "")?;
        let commits: HashSet<String> = said.text.lines().map(str::to_owned).collect();
        let is_whole = said.is_well && commits.len() < COMMITS_WALKED_MAX;
        Ok((commits, is_whole))
    }

    /// The commits at which a shallow clone ends.
    fn ends(&self) -> Result<Vec<String>, Error> {
        let file = git(&self.path, &["rev-parse", "--git-path", "shallow"], "")?;
        let file = self.path.join(file.text.trim());
        let text = std::fs::read_to_string(file).unwrap_or_default();
        Ok(text.lines().map(str::to_owned).collect())
    }
}

/// What no commit is called.
const NO_NAME: &str = "-";

/// What the program said.
struct Said {
    text: String,
    why: String,
    is_well: bool,
}

/// As [`run`], for what goes well where there is a repository.
fn git(path: &Path, args: &[&str], input: &str) -> Result<Said, Error> {
    let said = run(path, args, input)?;
    if said.is_well {
        return Ok(said);
    }
    Err(Error::Open {
        path: path.to_owned(),
        why: said.why,
    })
}

/// Runs `git` on the repository at a path, and no other one: no variable of the environment leads elsewhere, none above
/// it is taken. It fetches nothing and asks nobody.
fn run(path: &Path, args: &[&str], input: &str) -> Result<Said, Error> {
    let failed = |error: std::io::Error| Error::Open {
        path: path.to_owned(),
        why: error.to_string(),
    };
    let mut command = Command::new("git");
    for variable in FOREIGN_VARIABLES {
        command.env_remove(variable);
    }
    let mut child = command
        .arg("-C")
        .arg(path)
        .args(args)
        .env("GIT_CEILING_DIRECTORIES", path.parent().unwrap_or(path))
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let stdin = child.stdin.take();
    let written = input.to_owned();
    // Whoever writes all before it reads anything may wait for ever. A program that ended reads no more.
    let writer = std::thread::spawn(move || {
        stdin.map(|mut stdin| stdin.write_all(format!("{written}\n").as_bytes()))
    });
    let done = child.wait_with_output().map_err(failed)?;
    drop(writer.join());
    Ok(Said {
        text: String::from_utf8_lossy(&done.stdout).into_owned(),
        why: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        is_well: done.status.success(),
    })
}

/// The repositories of projects, as a server has them on its disk.
#[derive(Debug)]
pub struct Repositories {
    of_project: BTreeMap<Scope, Arc<Repository>>,
    at_once: Arc<Semaphore>,
}

impl Repositories {
    /// Those of these projects.
    #[must_use]
    pub fn new(of_project: BTreeMap<Scope, Repository>) -> Self {
        let shared = of_project
            .into_iter()
            .map(|(scope, one)| (scope, Arc::new(one)));
        Self {
            of_project: shared.collect(),
            at_once: Arc::new(Semaphore::new(AT_ONCE_MAX)),
        }
    }

    fn of(&self, scope: &Scope) -> Option<Arc<Repository>> {
        let mut above = scope.with_ancestors().into_iter();
        above.find_map(|scope| self.of_project.get(&scope).cloned())
    }
}

impl GitFacts for Repositories {
    fn ancestry<'a>(
        &'a self,
        scope: &'a Scope,
        at: &'a str,
        commits: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Vec<Ancestry>>, PortError>> {
        Box::pin(async move {
            let Some(repository) = self.of(scope) else {
                return Ok(None);
            };
            let (at, commits) = (at.to_owned(), commits.to_vec());
            let at_once = Arc::clone(&self.at_once);
            let judged = async move {
                let permit = at_once.acquire_owned().await;
                let judging = tokio::task::spawn_blocking(move || {
                    // Held to the end, even when nobody waits any more.
                    let _permit = permit;
                    repository.judge(&at, &commits)
                });
                judging.await.map_err(|error| error.to_string())
            };
            match tokio::time::timeout(WAIT, judged).await {
                Ok(Ok(Ok(judged))) => Ok(Some(judged)),
                Ok(Ok(Err(error))) => Err(PortError::Unusable(error.to_string())),
                Ok(Err(error)) => Err(PortError::Unavailable(error)),
                Err(_) => Err(PortError::Unavailable(
                    "its history is still being read".into(),
                )),
            }
        })
    }
}
