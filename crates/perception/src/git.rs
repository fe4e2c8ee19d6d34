//! What repositories say of their commits: which lies before which.
//!
//! Owns reading git repositories, and where history ends. It only reads: no network, no work tree, no program is
//! started. It must not know what is decided by an answer.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gix::ObjectId;
use parking_lot::Mutex;
use sillok_core::commit::{CommitName, Presence};
use sillok_core::limits::COMMITS_WALKED_MAX;
use sillok_core::ports::{BoxFuture, GitFacts, PortError};
use sillok_core::scope::Scope;
use sillok_core::validity::Ancestry;
use tokio::sync::Semaphore;

mod presence;

/// Commits whose ancestors are kept in memory, and ancestors of one that are.
const KEPT_MAX: usize = 4;
const KEPT_COMMITS_MAX: usize = 250_000;
/// Repositories that are looked into at one time by all who ask.
const AT_ONCE_MAX: usize = 2;
/// How long whoever asks waits for an answer, a write as well. What is being looked up goes on, and the next one finds it.
const WAIT: Duration = Duration::from_secs(2);
/// Repositories in which names are looked up at one time. Nobody waits for a place: a write waits for this.
const LOOKED_UP_AT_ONCE_MAX: usize = 8;

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
    /// It cannot be read.
    #[error("the repository {path} cannot be read: {why}")]
    Read {
        /// Where it lies.
        path: PathBuf,
        /// What stands in the way.
        why: String,
    },
}

/// A commit with all that lies before it, as far as that is there.
#[derive(Debug)]
struct Before {
    at: ObjectId,
    commits: HashSet<ObjectId>,
    /// Whether something lies before it that is not there: a shallow clone, an object that cannot be read, a
    /// history that is too long.
    is_cut: bool,
}

/// A repository, opened anew for each question: what is fetched or rewritten meanwhile counts.
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
        open(&path)?;
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
    /// [`Error::Open`] and [`Error::Read`]. A commit that is missing or cannot be read is no error: it is unknown.
    pub fn judge(&self, at: &str, commits: &[String]) -> Result<Vec<Ancestry>, Error> {
        let repository = open(&self.path)?;
        let Some(at) = resolve(&repository, at) else {
            return Ok(vec![Ancestry::Unknown; commits.len()]);
        };
        let named: Vec<Option<ObjectId>> = commits
            .iter()
            .map(|commit| resolve(&repository, commit))
            .collect();
        let before = self.before(&repository, at)?;
        let others: BTreeSet<ObjectId> = named
            .iter()
            .flatten()
            .filter(|commit| !before.commits.contains(*commit))
            .copied()
            .collect();
        let reached = if before.is_cut || others.is_empty() {
            BTreeSet::new()
        } else {
            self.reached(&repository, &before, others)?
        };
        let judge = |commit: Option<ObjectId>| match commit {
            Some(commit) if before.commits.contains(&commit) => Ancestry::Yes,
            Some(commit) if reached.contains(&commit) => Ancestry::No,
            _ => Ancestry::Unknown,
        };
        Ok(named.into_iter().map(judge).collect())
    }

    /// What lies before a commit, from memory where that is known.
    fn before(&self, repository: &gix::Repository, at: ObjectId) -> Result<Arc<Before>, Error> {
        if let Some(known) = self.kept.lock().iter().find(|known| known.at == at) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(self.walk(repository, at)?);
        if !found.is_cut && found.commits.len() <= KEPT_COMMITS_MAX {
            let mut kept = self.kept.lock();
            kept.retain(|known| known.at != at);
            kept.insert(0, Arc::clone(&found));
            kept.truncate(KEPT_MAX);
        }
        Ok(found)
    }

    fn walk(&self, repository: &gix::Repository, at: ObjectId) -> Result<Before, Error> {
        let shallow = repository.shallow_commits().map_err(self.unread())?;
        let ends = |commit: &ObjectId| {
            let shallow = shallow.as_ref();
            shallow.is_some_and(|ends| ends.iter().any(|end| end == commit))
        };
        let walk = repository.rev_walk([at]).all().map_err(self.unread())?;
        let mut before = Before {
            at,
            commits: HashSet::from([at]),
            is_cut: false,
        };
        for found in walk {
            let Ok(found) = found else {
                before.is_cut = true;
                break;
            };
            before.is_cut |= ends(&found.id);
            before.commits.insert(found.id);
            if before.commits.len() >= COMMITS_WALKED_MAX {
                before.is_cut = true;
                break;
            }
        }
        Ok(before)
    }

    /// Those of `others` that a reference reaches. None of them lies before the commit that `before` is of, so that
    /// what does need not be walked through.
    fn reached(
        &self,
        repository: &gix::Repository,
        before: &Arc<Before>,
        mut others: BTreeSet<ObjectId>,
    ) -> Result<BTreeSet<ObjectId>, Error> {
        let mut tips: BTreeSet<ObjectId> = BTreeSet::new();
        let references = repository.references().map_err(self.unread())?;
        for reference in references.all().map_err(self.unread())? {
            // A reference that is broken, or of something else than a commit, reaches none.
            let commit = reference.ok().and_then(|mut one| {
                let commit = one.peel_to_commit().ok()?;
                Some(commit.id)
            });
            tips.extend(commit);
        }
        tips.extend(repository.head_id().ok().map(gix::Id::detach));
        tips.retain(|tip| !before.commits.contains(tip));
        let known = Arc::clone(before);
        let walk = repository.rev_walk(tips);
        let walk = walk.selected(move |commit| !known.commits.contains(commit));
        let walk = walk.map_err(self.unread())?;
        let mut reached = BTreeSet::new();
        for found in walk.take(COMMITS_WALKED_MAX) {
            let Ok(found) = found else { continue };
            if others.remove(&found.id) {
                reached.insert(found.id);
            }
            if others.is_empty() {
                break;
            }
        }
        Ok(reached)
    }

    fn unread<E: std::fmt::Display>(&self) -> impl Fn(E) -> Error {
        |error| Error::Read {
            path: self.path.clone(),
            why: error.to_string(),
        }
    }
}

/// Opens a repository as it lies there: no variable of the environment leads elsewhere, no configuration but its
/// own is read.
fn open(path: &Path) -> Result<gix::Repository, Error> {
    let opened = gix::open_opts(path, gix::open::Options::isolated());
    opened.map_err(|error| Error::Open {
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// The commit of a name, which may be short; none where there is none of it, or several, or it cannot be read.
fn resolve(repository: &gix::Repository, name: &str) -> Option<ObjectId> {
    let prefix = gix::hash::Prefix::from_hex(name).ok()?;
    let mut candidates = HashSet::new();
    repository
        .objects
        .lookup_prefix(prefix, Some(&mut candidates))
        .ok()?;
    let is_commit = |id: &ObjectId| repository.find_commit(*id).is_ok();
    let mut commits = candidates.into_iter().filter(is_commit);
    let first = commits.next()?;
    commits.next().is_none().then_some(first)
}

/// The repositories of projects, as a server has them on its disk.
#[derive(Debug)]
pub struct Repositories {
    of_project: BTreeMap<Scope, Arc<Repository>>,
    at_once: Arc<Semaphore>,
    lookups: Arc<Semaphore>,
    wait: Duration,
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
            lookups: Arc::new(Semaphore::new(LOOKED_UP_AT_ONCE_MAX)),
            wait: WAIT,
        }
    }

    /// The same, for those who wait so long for an answer.
    #[must_use]
    pub fn with_wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
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
            answered(self.wait, judged).await
        })
    }

    fn presence<'a>(
        &'a self,
        scope: &'a Scope,
        commits: &'a [CommitName],
    ) -> BoxFuture<'a, Result<Option<Vec<Presence>>, PortError>> {
        Box::pin(async move {
            let Some(repository) = self.of(scope) else {
                return Ok(None);
            };
            let Ok(permit) = Arc::clone(&self.lookups).try_acquire_owned() else {
                return Err(PortError::Unavailable("many names are looked up".into()));
            };
            let commits = commits.to_vec();
            let looked_up = async move {
                let looking_up = tokio::task::spawn_blocking(move || {
                    // Held to the end, even when nobody waits any more.
                    let _permit = permit;
                    repository.presence(&commits)
                });
                looking_up.await.map_err(|error| error.to_string())
            };
            answered(self.wait, looked_up).await
        })
    }
}

/// What was asked of a repository, if that answers in time.
async fn answered<T>(
    wait: Duration,
    asked: impl Future<Output = Result<Result<T, Error>, String>>,
) -> Result<Option<T>, PortError> {
    match tokio::time::timeout(wait, asked).await {
        Ok(Ok(Ok(answer))) => Ok(Some(answer)),
        Ok(Ok(Err(error))) => Err(PortError::Unusable(error.to_string())),
        Ok(Err(error)) => Err(PortError::Unavailable(error)),
        Err(_) => Err(PortError::Unavailable("it is still being read".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_no_longer_is_told_that_there_is_no_answer() {
        let never = core::future::pending::<Result<Result<(), Error>, String>>();
        let told = answered(Duration::from_millis(1), never).await;
        assert!(matches!(told, Err(PortError::Unavailable(_))), "{told:?}");
    }
}
