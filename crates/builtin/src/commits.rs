//! A history of commits in memory.
//!
//! The second engine behind [`GitFacts`]: what a repository says, without one. It owns what ancestry means where
//! history is cut off. It must not know scopes: it answers for all of them alike.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::commit::{CommitName, Presence};
use sillok_core::ports::{BoxFuture, GitFacts, PortError};
use sillok_core::scope::Scope;
use sillok_core::validity::Ancestry;

/// Commits by name, each with its parents. Empty, it stands for no repository at all.
#[derive(Clone, Debug, Default)]
pub struct CommitGraph {
    parents: BTreeMap<String, Vec<String>>,
}

impl CommitGraph {
    /// A history. A parent that is no commit of it is where history is cut off, as in a shallow clone.
    #[must_use]
    pub const fn new(parents: BTreeMap<String, Vec<String>>) -> Self {
        Self { parents }
    }

    /// Whether each of `commits` is `at` or an ancestor of it. What is no commit of this history is unknown: it may
    /// have been written anew under another name.
    #[must_use]
    pub fn judge(&self, at: &str, commits: &[String]) -> Vec<Ancestry> {
        let mut before: BTreeSet<&str> = BTreeSet::new();
        let mut is_cut = !self.parents.contains_key(at);
        let mut next = vec![at];
        while let Some(commit) = next.pop() {
            let Some((commit, parents)) = self.parents.get_key_value(commit) else {
                is_cut = true;
                continue;
            };
            if before.insert(commit) {
                next.extend(parents.iter().map(String::as_str));
            }
        }
        let judge = |commit: &String| {
            if before.contains(commit.as_str()) {
                Ancestry::Yes
            } else if is_cut || !self.parents.contains_key(commit) {
                Ancestry::Unknown
            } else {
                Ancestry::No
            }
        };
        commits.iter().map(judge).collect()
    }

    /// Whether each of `commits` is one of this history, whatever it says of its repository.
    #[must_use]
    pub fn presence(&self, commits: &[CommitName]) -> Vec<Presence> {
        let is_there = |parent: &String| self.parents.contains_key(parent);
        let is_whole = self.parents.values().flatten().all(is_there);
        let presence = |commit: &CommitName| {
            let mut named = self.parents.range(commit.hash.clone()..);
            let next = named.next();
            if next.is_some_and(|(known, _)| known.starts_with(&commit.hash)) {
                Presence::There
            } else if is_whole {
                Presence::Missing
            } else {
                Presence::Unknown
            }
        };
        commits.iter().map(presence).collect()
    }
}

impl GitFacts for CommitGraph {
    fn ancestry<'a>(
        &'a self,
        _scope: &'a Scope,
        at: &'a str,
        commits: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Vec<Ancestry>>, PortError>> {
        let judged = (!self.parents.is_empty()).then(|| self.judge(at, commits));
        Box::pin(core::future::ready(Ok(judged)))
    }

    fn presence<'a>(
        &'a self,
        _scope: &'a Scope,
        commits: &'a [CommitName],
    ) -> BoxFuture<'a, Result<Option<Vec<Presence>>, PortError>> {
        let told = (!self.parents.is_empty()).then(|| self.presence(commits));
        Box::pin(core::future::ready(Ok(told)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(commits: &[(&str, &[&str])]) -> CommitGraph {
        let owned = |parents: &&[&str]| parents.iter().map(ToString::to_string).collect();
        let commits = commits.iter();
        CommitGraph::new(
            commits
                .map(|(commit, parents)| ((*commit).to_owned(), owned(parents)))
                .collect(),
        )
    }

    fn judged(graph: &CommitGraph, at: &str, commit: &str) -> Ancestry {
        graph.judge(at, &[commit.to_owned()])[0]
    }

    #[test]
    fn what_lies_before_is_found_through_every_parent_of_a_merge() {
        let graph = graph(&[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("m", &["b", "c"])]);
        for (at, commit, expected) in [
            ("m", "a", Ancestry::Yes),
            ("m", "c", Ancestry::Yes),
            ("m", "m", Ancestry::Yes),
            ("b", "c", Ancestry::No),
            ("a", "m", Ancestry::No),
            ("m", "elsewhere", Ancestry::Unknown),
            ("elsewhere", "a", Ancestry::Unknown),
        ] {
            assert_eq!(judged(&graph, at, commit), expected, "{commit} at {at}");
        }
    }

    #[test]
    fn where_history_is_cut_off_nothing_is_said_not_to_lie_before() {
        let shallow = graph(&[("b", &["a"]), ("c", &["b"]), ("side", &["b"])]);
        assert_eq!(judged(&shallow, "c", "b"), Ancestry::Yes);
        assert_eq!(judged(&shallow, "c", "a"), Ancestry::Unknown);
        assert_eq!(judged(&shallow, "c", "side"), Ancestry::Unknown);
    }

    #[test]
    fn a_whole_history_says_which_commits_it_has_not_and_a_shallow_one_does_not() {
        let told = |graph: &CommitGraph, name: &str| {
            let name = CommitName::new(name, "r");
            graph.presence(&[name])[0]
        };
        let whole = graph(&[("abcdef01", &[]), ("abcdef23", &["abcdef01"])]);
        let cut = graph(&[("abcdef23", &["abcdef01"])]);
        for (name, whole_says, cut_says) in [
            ("abcdef23", Presence::There, Presence::There),
            ("ABCDEF23", Presence::There, Presence::There),
            ("abcdef2", Presence::There, Presence::There),
            ("abcdef01", Presence::There, Presence::Unknown),
            ("abcdef4", Presence::Missing, Presence::Unknown),
            ("0000000", Presence::Missing, Presence::Unknown),
        ] {
            assert_eq!(told(&whole, name), whole_says, "{name}");
            assert_eq!(told(&cut, name), cut_says, "{name}");
        }
    }
}
