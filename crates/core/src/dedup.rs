//! Deduplication on publish: whether a new entry is one that is already known.
//!
//! Owns the verdict and what counts as a contradiction. It must not know how neighbours are found,
//! nor what is written: the owner of the scope turns a verdict into events.

use crate::dedup::negation::differ_by_negation;
use crate::dedup::wording::same_wording;
use crate::entry::{Claim, Table};
use crate::fingerprint::ContentHash;
use crate::id::EntryId;
use crate::limits::LINKS_MAX;
use crate::ports::SpaceThresholds;
use crate::promotion::NewEntry;
use crate::scope::Scope;

mod negation;
mod wording;

/// A text and its negation lie at least this close, in every space. An embedder tells them apart on
/// purpose, so a short text and its negation may lie far under the `similar` of their space; what is
/// compared with a new entry reaches down to here, and [`verdict`] applies the space's thresholds.
pub const CONTRADICTION_COSINE_MIN: f32 = 0.3;

/// The cosine down to which entries are compared with a new one, in a table that merges.
#[must_use]
pub fn compared_from(thresholds: SpaceThresholds) -> f32 {
    thresholds.similar.min(CONTRADICTION_COSINE_MIN)
}

/// A live entry of the same scope that a new one is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The entry.
    pub id: EntryId,
    /// Its table.
    pub table: Table,
    /// Whether it tells of a failure.
    pub failure: bool,
    /// Its text.
    pub content: String,
    /// Hash of its text.
    pub content_hash: ContentHash,
    /// What it claims.
    pub claim: Option<Claim>,
    /// Cosine to the new entry; none when the two lie in different spaces or one has no vector.
    pub cosine: Option<f32>,
    /// The task that succeeded, for an episode that tells of it.
    pub succeeded: Option<Scope>,
}

/// Why two entries are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sameness {
    /// The same text.
    Exact,
    /// Close enough in meaning, in the same words.
    Cosine(f32),
}

/// Why two entries cannot both hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// They declare the same key with other values.
    Claim,
    /// They differ by a negation alone.
    Negation,
}

impl Contradiction {
    /// The reason, for a person.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "declares the same key with another value",
            Self::Negation => "differs by a negation alone",
        }
    }
}

/// What becomes of a new entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It is published.
    New,
    /// It is published, linked, and a merge is suggested.
    Similar {
        /// The closest entry.
        to: EntryId,
        /// Their cosine.
        cosine: f32,
    },
    /// It is not published: the known entry takes its citations.
    Merge {
        /// The known entry.
        into: EntryId,
        /// Why they are one.
        sameness: Sameness,
    },
    /// It is published, linked, and a review item is opened.
    Contradicts {
        /// The known entry.
        with: EntryId,
        /// Why they cannot both hold.
        why: Contradiction,
    },
}

/// Decides what becomes of `new`. The order of `neighbours` does not matter.
///
/// The same text first, then the same words, then contradictions, then the highest cosine; ties go to the smallest
/// id. What says the same as an entry in the same words raises no question anew about what contradicts that entry: it
/// was raised when the two met. Where they never met, [`claim_verdict`] of those that nobody was asked about says so.
/// Only entries of the same table with the same failure mark merge, and only in tables that merge. What declares a key
/// is not merged into what does not: nothing would be found to contradict that any more.
/// What lies over the merge threshold and is worded otherwise is similar: a person sees whether the
/// other word is another way to say it, or another thing.
#[must_use]
pub fn verdict(new: &NewEntry, neighbours: &[Neighbour], thresholds: SpaceThresholds) -> Verdict {
    assert!(
        thresholds.similar <= thresholds.merge,
        "similar is the wider threshold"
    );
    let comparable = || {
        neighbours
            .iter()
            .filter(|known| known.failure == new.failure)
    };
    let mergeable = || comparable().filter(|known| new.table.merges() && known.table == new.table);

    let hash = ContentHash::of(&new.content);
    let same_text = || {
        mergeable()
            .filter(|known| known.content_hash == hash && contradiction(new, known).is_none())
    };
    let exact = same_text().filter(|known| keeps_claim(new, known));
    if let Some(into) = exact.map(|known| known.id).min() {
        return Verdict::Merge {
            into,
            sameness: Sameness::Exact,
        };
    }
    // Cheap first: few neighbours lie over the threshold, and words are compared for those alone.
    let worded = mergeable().filter(|known| {
        known
            .cosine
            .is_some_and(|cosine| cosine >= thresholds.merge)
            && keeps_claim(new, known)
            && same_wording(&new.content, &known.content)
            && contradiction(new, known).is_none()
    });
    if let Some(&(into, cosine)) = closest(worded, thresholds.merge).first() {
        return Verdict::Merge {
            into,
            sameness: Sameness::Cosine(cosine),
        };
    }
    let against =
        comparable().filter_map(|known| contradiction(new, known).map(|why| (known.id, why)));
    if let Some((with, why)) = against.min_by_key(|(id, _)| *id) {
        return Verdict::Contradicts { with, why };
    }
    if let Some(to) = same_text().map(|known| known.id).min() {
        return Verdict::Similar { to, cosine: 1.0 };
    }
    match closest(mergeable(), thresholds.similar).first() {
        Some(&(to, cosine)) => Verdict::Similar { to, cosine },
        None => Verdict::New,
    }
}

/// The earlier episodes that a new episode is linked to as their follower: those at or over
/// `similar` that ended alike, the closest first, ties by id. Episodes never merge.
#[must_use]
pub fn causal_links(
    new: &NewEntry,
    neighbours: &[Neighbour],
    thresholds: SpaceThresholds,
) -> Vec<(EntryId, f32)> {
    if new.table != Table::Episodes {
        return Vec::new();
    }
    let mut links = closest(
        neighbours
            .iter()
            .filter(|known| known.table == Table::Episodes && known.failure == new.failure),
        thresholds.similar,
    );
    links.truncate(LINKS_MAX);
    links
}

/// Whether an episode repeats the success of one of those that it is linked to. A task that is verified
/// twice has succeeded once.
#[must_use]
pub fn repeats(new: &NewEntry, links: &[(EntryId, f32)], neighbours: &[Neighbour]) -> bool {
    let Some(task) = new.detail.succeeded() else {
        return false;
    };
    let linked = |known: &&Neighbour| links.iter().any(|(id, _)| *id == known.id);
    let others = neighbours.iter().filter(linked);
    others
        .filter_map(|known| known.succeeded.as_ref())
        .any(|other| other != task)
}

/// What becomes of `new` by what is declared alone: of entries that contradict it the one with the smallest id.
#[must_use]
pub fn claim_verdict(new: &NewEntry, neighbours: &[Neighbour]) -> Verdict {
    let comparable = neighbours
        .iter()
        .filter(|known| known.failure == new.failure);
    let against =
        comparable.filter(|known| claims_differ(new.claim.as_ref(), known.claim.as_ref()));
    let why = Contradiction::Claim;
    match against.map(|known| known.id).min() {
        Some(with) => Verdict::Contradicts { with, why },
        None => Verdict::New,
    }
}

/// Whether the two declare the same key with other values.
#[must_use]
pub fn claims_differ(ours: Option<&Claim>, theirs: Option<&Claim>) -> bool {
    let both = ours.zip(theirs);
    both.is_some_and(|(ours, theirs)| ours.key == theirs.key && ours.value != theirs.value)
}

/// Whether the known entry declares the key that `new` declares, if it does.
fn keeps_claim(new: &NewEntry, known: &Neighbour) -> bool {
    let theirs = known.claim.as_ref().map(|claim| &claim.key);
    let ours = new.claim.as_ref().map(|claim| &claim.key);
    ours.is_none() || ours == theirs
}

/// Whether the two contradict one another, by a rule.
fn contradiction(new: &NewEntry, known: &Neighbour) -> Option<Contradiction> {
    if let (Some(ours), Some(theirs)) = (&new.claim, &known.claim)
        && ours.key == theirs.key
    {
        return (ours.value != theirs.value).then_some(Contradiction::Claim);
    }
    differ_by_negation(&new.content, &known.content).then_some(Contradiction::Negation)
}

/// The neighbours at or over `cosine_min`, the closest first, ties by id.
fn closest<'a>(
    neighbours: impl Iterator<Item = &'a Neighbour>,
    cosine_min: f32,
) -> Vec<(EntryId, f32)> {
    let mut close: Vec<(EntryId, f32)> = neighbours
        .filter_map(|known| {
            known
                .cosine
                .filter(|cosine| *cosine >= cosine_min)
                .map(|cosine| (known.id, cosine))
        })
        .collect();
    close.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    close
}

#[cfg(test)]
mod tests;
