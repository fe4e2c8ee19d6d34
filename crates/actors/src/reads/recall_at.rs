//! Recall at a commit: which of what was found holds there.
//!
//! Owns the way from commits to judgements: what the question itself says, then what a repository at hand says. What
//! neither tells is unknown, and named, so that whoever asks can look into a repository of its own. The rule is
//! `core::validity`'s.

use std::collections::BTreeMap;

use sillok_core::entry::{Head, Lifecycle};
use sillok_core::id::EntryId;
use sillok_core::limits::COMMITS_JUDGED_MAX;
use sillok_core::recall::Hit;
use sillok_core::scope::Scope;
use sillok_core::validity::{Ancestry, AsOf, Validity, validity};
use sillok_store::Store;

use super::Reader;
use crate::protocol::{Protocol, Safeguard};

/// What an answer says of the commit that it was asked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtCommit {
    /// The commit.
    pub commit: String,
    /// Entries that were found and begin at a commit that does not lie before it.
    pub not_yet: u64,
    /// Entries that were found and ended there or before.
    pub ended: u64,
    /// Commits that nobody could judge and that the question says nothing of, those of the best results first; at
    /// most [`COMMITS_JUDGED_MAX`].
    pub unjudged: Vec<String>,
}

/// What is known of commits for one question.
struct Judgement<'a> {
    as_of: &'a AsOf,
    told: BTreeMap<String, Ancestry>,
}

impl Judgement<'_> {
    fn ancestry(&self, commit: &str) -> Ancestry {
        let said = self.as_of.says(commit);
        let told = || self.told.get(&commit.to_ascii_lowercase()).copied();
        match said {
            Some(Ancestry::Yes | Ancestry::No) => said,
            Some(Ancestry::Unknown) | None => told(),
        }
        .unwrap_or(Ancestry::Unknown)
    }

    fn of<P: Protocol>(&self, protocol: P, lifecycle: &Lifecycle) -> Validity {
        let ends_here = || {
            let to = lifecycle.valid_to_commit.as_deref();
            to.is_some_and(|to| to.eq_ignore_ascii_case(&self.as_of.commit))
        };
        if !protocol.keeps(Safeguard::EndsBeforeItsLastCommit) && ends_here() {
            let endless = Lifecycle {
                valid_to_commit: None,
                ..lifecycle.clone()
            };
            return validity(&endless, |commit| self.ancestry(commit));
        }
        validity(lifecycle, |commit| self.ancestry(commit))
    }
}

impl<S: Store> Reader<S> {
    /// Those of `hits`, in order, that hold at a commit or of which that is unknown, each with what is known. What
    /// was replaced and may have ended stands behind all that was not, whatever its score: it takes no place from
    /// what holds.
    pub(super) async fn held<P: Protocol>(
        &self,
        protocol: P,
        (scope, as_of): (&Scope, &AsOf),
        hits: Vec<Hit>,
        heads: &BTreeMap<EntryId, Head>,
    ) -> (Vec<(Hit, Option<Validity>)>, AtCommit) {
        let lifecycles = hits.iter().filter_map(|hit| heads.get(&hit.fused.entry));
        let undecided = as_of.undecided(lifecycles.map(|head| &head.lifecycle));
        let judgement = Judgement {
            as_of,
            told: self.told(scope, as_of, &undecided).await,
        };
        let unjudged = undecided.into_iter().filter(|commit| {
            judgement.ancestry(commit) == Ancestry::Unknown && as_of.says(commit).is_none()
        });
        let mut at = AtCommit {
            commit: as_of.commit.clone(),
            not_yet: 0,
            ended: 0,
            unjudged: unjudged.take(COMMITS_JUDGED_MAX).collect(),
        };
        let (mut held, mut doubtful) = (Vec::new(), Vec::new());
        for hit in hits {
            let head = &heads[&hit.fused.entry];
            let validity = judgement.of(protocol, &head.lifecycle);
            match validity {
                Validity::NotYet => at.not_yet += 1,
                Validity::Ended => at.ended += 1,
                Validity::Unknown if !head.status.is_live() => doubtful.push((hit, Some(validity))),
                Validity::Always | Validity::Holds | Validity::Unknown => {
                    held.push((hit, Some(validity)));
                }
            }
        }
        held.append(&mut doubtful);
        (held, at)
    }

    /// What a repository at hand says of commits; nothing where there is none, or it does not answer.
    async fn told(
        &self,
        scope: &Scope,
        as_of: &AsOf,
        commits: &[String],
    ) -> BTreeMap<String, Ancestry> {
        if commits.is_empty() {
            return BTreeMap::new();
        }
        match self.git.ancestry(scope, &as_of.commit, commits).await {
            Ok(told) => {
                let told = told.unwrap_or_default();
                commits.iter().cloned().zip(told).collect()
            }
            Err(error) => {
                tracing::warn!(%error, "no repository judges the commits of a recall");
                BTreeMap::new()
            }
        }
    }
}
