//! Whether commits are there that somebody cites.
//!
//! Owns when a repository may say that it has no such commit: only of itself, by one of its own names, and only where
//! it is whole. What was not fetched yet it lacks all the same. It must not know what comes of that.

use std::collections::HashSet;

use gix::ObjectId;
use gix::objs::Kind;
use sillok_core::commit::{CommitName, Presence, plain_name};

use super::{Error, Repository, open};

impl Repository {
    /// Whether each of `commits` is there. Takes time; it blocks.
    ///
    /// # Errors
    /// [`Error::Open`] and [`Error::Read`]. An object that cannot be read is no error: it is unknown what it is.
    pub fn presence(&self, commits: &[CommitName]) -> Result<Vec<Presence>, Error> {
        let repository = open(&self.path)?;
        let shallow = repository.shallow_commits().map_err(self.unread())?;
        let is_whole = shallow.is_none() && !is_partial(&repository);
        let names = self.names(&repository);
        let presence = |commit: &CommitName| match look_up(&repository, &commit.hash) {
            Presence::Missing if !is_whole || !names.contains(&plain_name(&commit.repository)) => {
                Presence::Unknown
            }
            found => found,
        };
        Ok(commits.iter().map(presence).collect())
    }

    /// What the repository is called: by its remotes, and by the path that it was given by. Any other path to it is as well
    /// one of another machine's.
    fn names(&self, repository: &gix::Repository) -> HashSet<String> {
        let config = repository.config_snapshot();
        let remotes = repository.remote_names();
        let urls = remotes
            .iter()
            .filter_map(|remote| config.string(format!("remote.{remote}.url").as_str()));
        let mut names: HashSet<String> = urls.map(|url| plain_name(&url.to_string())).collect();
        names.insert(plain_name(&self.path.to_string_lossy()));
        names
    }
}

/// Whether objects were left where the clone came from.
fn is_partial(repository: &gix::Repository) -> bool {
    let config = repository.config_snapshot();
    let is_set = |key: &str| config.string(key).is_some();
    let remotes = repository.remote_names();
    let mut remotes = remotes.iter();
    is_set("extensions.partialClone")
        || remotes.any(|remote| is_set(&format!("remote.{remote}.promisor")))
}

/// Whether a name, which may be short, names a commit that is there. What names several is not looked into.
fn look_up(repository: &gix::Repository, name: &str) -> Presence {
    let Ok(prefix) = gix::hash::Prefix::from_hex(name) else {
        return Presence::Unknown;
    };
    let mut candidates: HashSet<ObjectId> = HashSet::new();
    let found = repository
        .objects
        .lookup_prefix(prefix, Some(&mut candidates));
    if found.is_err() {
        return Presence::Unknown;
    }
    let kinds: Vec<Option<Kind>> = candidates
        .iter()
        .map(|id| repository.find_header(*id).ok().map(|header| header.kind()))
        .collect();
    if kinds.contains(&Some(Kind::Commit)) {
        Presence::There
    } else if kinds.contains(&None) {
        Presence::Unknown
    } else {
        Presence::Missing
    }
}
