//! The git repository that a work tree is of.
//!
//! Owns where it is looked for, and which of its commits a name means. It must not know work trees' files.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use gix::ObjectId;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;
use sillok_code::ignored::is_repository;
use sillok_core::limits::COMMITS_WALKED_MAX;

use crate::budget::Spending;

/// The repository of a work tree, or of the one that it lies in; none where there is none that can be read.
pub(crate) fn around(root: &Path) -> Option<gix::Repository> {
    let real = root.canonicalize().ok()?;
    let found = real.ancestors().find(|folder| is_repository(folder))?;
    gix::open_opts(found, gix::open::Options::isolated()).ok()
}

/// The commit of a name in hexadecimal, which may be short; none where there is none of it, or several, or it cannot be read.
pub(crate) fn resolve(repository: &gix::Repository, name: &str) -> Option<ObjectId> {
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

/// The commit that a work tree stands at, in hexadecimal; none where there is none.
pub(crate) fn head(root: &Path) -> Option<String> {
    let repository = around(root)?;
    let head = repository.head_id().ok()?;
    Some(head.detach().to_string())
}

/// Those of `commits` that are `at` or lie before it. Of one that is not found in time, or behind a commit that is dated
/// earlier than it, that is not said.
pub(crate) fn before(
    repository: &gix::Repository,
    at: ObjectId,
    commits: &BTreeSet<ObjectId>,
    spending: &Spending,
) -> BTreeSet<ObjectId> {
    let time = |id: &ObjectId| {
        let commit = repository.find_commit(*id).ok()?;
        Some(commit.time().ok()?.seconds)
    };
    let mut found = BTreeSet::new();
    let Some(oldest) = commits.iter().filter_map(time).min() else {
        return found;
    };
    let sorting = Sorting::ByCommitTimeCutoff {
        order: CommitTimeOrder::NewestFirst,
        seconds: oldest,
    };
    let Ok(walk) = repository.rev_walk([at]).sorting(sorting).all() else {
        return found;
    };
    for one in walk.take(COMMITS_WALKED_MAX) {
        // What lies behind a commit that cannot be read is not known.
        let Ok(one) = one else { break };
        if commits.contains(&one.id) {
            found.insert(one.id);
        }
        if found.len() == commits.len() || !spending.has_time() {
            break;
        }
    }
    found
}
