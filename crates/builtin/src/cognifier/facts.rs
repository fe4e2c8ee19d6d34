//! Facts: a bounded list of statements, each once, with what it was drawn from.
//!
//! Owns the order in which facts are kept when there are too many. It must not know how a fact was
//! found.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::citation::Excerpt;
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::RecordId;
use sillok_core::promotion::Fact;

/// Facts that one task gives.
pub(super) const FACTS_MAX: usize = 40;
/// Stretches that one fact names.
const SOURCES_MAX: usize = 8;

/// What a fact is about, the most telling first, with how many of it are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Issue,
    Change,
    Cause,
    Error,
    Outcome,
    Decision,
    Place,
    Note,
    Edited,
}

impl Rank {
    const fn most(self) -> usize {
        match self {
            Self::Issue => 4,
            Self::Change => 10,
            Self::Cause | Self::Error | Self::Outcome | Self::Note => 8,
            Self::Decision | Self::Place | Self::Edited => 6,
        }
    }
}

/// Collects facts.
#[derive(Debug, Default)]
pub(super) struct Facts {
    found: Vec<(Rank, String, BTreeSet<Excerpt>)>,
    places: BTreeMap<[u8; 32], usize>,
}

impl Facts {
    /// Adds a fact, or the sources of one that is known.
    pub(super) fn add(
        &mut self,
        rank: Rank,
        content: String,
        sources: impl IntoIterator<Item = Excerpt>,
    ) {
        assert!(!content.trim().is_empty(), "a fact says something");
        let key = *ContentHash::of(&content.to_lowercase()).as_bytes();
        let place = *self.places.entry(key).or_insert_with(|| {
            self.found.push((rank, content, BTreeSet::new()));
            self.found.len() - 1
        });
        for source in sources {
            if self.found[place].2.len() < SOURCES_MAX {
                self.found[place].2.insert(source);
            }
        }
    }

    /// The facts of one rank, in the order in which they were found.
    pub(super) fn of(&self, rank: Rank) -> impl DoubleEndedIterator<Item = &str> {
        self.found
            .iter()
            .filter(move |fact| fact.0 == rank)
            .map(|fact| fact.1.as_str())
    }

    /// The records that the most telling facts were drawn from, those of `opening` left out: it is none.
    pub(super) fn sources(&self, opening: Option<&RecordId>) -> Vec<RecordId> {
        const EPISODE_SOURCES_MAX: usize = 16;
        let mut telling: Vec<_> = self.found.iter().collect();
        telling.sort_by_key(|fact| fact.0);
        let mut sources = Vec::new();
        for excerpt in telling.into_iter().flat_map(|fact| &fact.2) {
            let source = &excerpt.record;
            if opening == Some(source) {
                continue;
            }
            if sources.len() < EPISODE_SOURCES_MAX && !sources.contains(source) {
                sources.push(source.clone());
            }
        }
        sources.sort();
        sources
    }

    /// The facts to keep, the most telling first.
    pub(super) fn keep(self) -> Vec<Fact> {
        let mut kept = BTreeMap::<Rank, usize>::new();
        let mut found = self.found;
        found.sort_by_key(|fact| fact.0);
        found.retain(|fact| {
            let count = kept.entry(fact.0).or_default();
            *count += 1;
            *count <= fact.0.most()
        });
        found.truncate(FACTS_MAX);
        let fact = |(_, content, sources): (Rank, String, BTreeSet<Excerpt>)| Fact {
            content,
            sources: sources.into_iter().collect(),
            claim: None,
        };
        found.into_iter().map(fact).collect()
    }
}
