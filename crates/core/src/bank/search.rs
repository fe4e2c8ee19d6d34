//! Searching patterns: which of them answer a question, the best first.
//!
//! Owns what is asked, and the rank: how much of the question a pattern answers, times how well it did, times how lately it was
//! used. Use restores what waiting takes; both are worked out when somebody asks.

use std::collections::BTreeMap;

use super::alike::{Rarity, Room, Words};
use super::pattern::{Group, Pattern, Signature, groups};
use super::trajectory::{TaskKind, Trajectory};
use super::trial::trials;
use crate::circular::FailedApproach;
use crate::config::{BankConfig, RecallConfig};
use crate::decay::recency_at;
use crate::entry::Table;
use crate::error::{Error, ErrorCode};
use crate::limits::{PATTERNS_FOUND_MAX, PATTERNS_FOUND_USUAL, QUERY_BYTES_MAX};
use crate::time::Timestamp;

/// What is asked of the patterns of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternQuery {
    /// In words.
    pub text: String,
    /// Of one sort of task; of all, and of none that is known, where none is named.
    pub kind: Option<TaskKind>,
    /// Whether those are sought that failed, else those that did what was asked.
    pub failures_only: bool,
    /// At most so many.
    pub limit: usize,
}

impl PatternQuery {
    /// A question as somebody asks it; as many patterns as usual where no limit is said.
    ///
    /// # Errors
    /// `invalid_argument` for no words or room for nothing, `too_large`.
    pub fn of(
        text: &str,
        kind: Option<TaskKind>,
        failures_only: bool,
        limit: Option<usize>,
    ) -> Result<Self, Error> {
        let limit = limit.unwrap_or(PATTERNS_FOUND_USUAL);
        let invalid = |why: &str| Err(Error::new(ErrorCode::InvalidArgument, why));
        if text.trim().is_empty() {
            return invalid("a search for patterns says what it is about");
        }
        if limit == 0 {
            return invalid("a search for patterns has room for at least one");
        }
        for (what, max, given) in [
            ("query bytes", QUERY_BYTES_MAX, text.len()),
            ("patterns of a search", PATTERNS_FOUND_MAX, limit),
        ] {
            if given > max {
                return Err(Error::too_large(what, max as u64, given as u64));
            }
        }
        Ok(Self {
            text: text.to_owned(),
            kind,
            failures_only,
            limit,
        })
    }
}

/// A pattern that was found, with what makes its rank.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternFound {
    /// The pattern.
    pub pattern: Pattern,
    /// How much of the question it answers: over 0 to 1.
    pub similarity: f64,
    /// How well it did, or, among failures, how badly: 0 to 1.
    pub strength: f64,
    /// How lately it was used: 0 to 1.
    pub recency: f64,
    /// All three, multiplied.
    pub score: f64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternsFound {
    /// The best first.
    pub patterns: Vec<PatternFound>,
    /// Whether more was found than is told, or more was tried than was looked at.
    pub cut: bool,
}

/// The patterns of these trajectories, and of these approaches that failed verifications, that answer a question. Words are as
/// rare as they are among all patterns.
#[must_use]
pub fn search(
    query: &PatternQuery,
    trajectories: &[Trajectory],
    failed: &[FailedApproach],
    now: Timestamp,
    bank: &BankConfig,
    recall: &RecallConfig,
) -> PatternsFound {
    let asked = Words::of_text(&query.text);
    // What tasks were called counts for warnings alone.
    let called = BTreeMap::new();
    let (trials, mut cut) = trials(trajectories.iter(), failed.iter(), &called, Room::ALL);
    let groups = groups(&trials, bank);
    let mut rarity = Rarity::default();
    for group in groups.values() {
        rarity.take(&group.words);
    }
    let mut found: Vec<(Signature, &Group<'_>, PatternRank)> = Vec::new();
    for (signature, group) in &groups {
        let similarity = rarity.answered(&asked, &group.words);
        if is_sought(query, group) && similarity > 0.0 {
            let rank = PatternRank::of(similarity, group, query.failures_only, now, bank, recall);
            found.push((*signature, group, rank));
        }
    }
    found.sort_by(|(a, _, rank_a), (b, _, rank_b)| {
        let by_score = rank_b.score().total_cmp(&rank_a.score());
        by_score.then_with(|| a.cmp(b))
    });
    cut |= found.len() > query.limit;
    let told = found.into_iter().take(query.limit);
    let patterns = told.map(|(signature, group, rank)| PatternFound {
        pattern: group.told(signature, bank),
        similarity: rank.similarity,
        strength: rank.strength,
        recency: rank.recency,
        score: rank.score(),
    });
    PatternsFound {
        patterns: patterns.collect(),
        cut,
    }
}

fn is_sought(query: &PatternQuery, group: &Group<'_>) -> bool {
    let is_of_kind = query.kind.is_none() || query.kind.as_ref() == group.kind;
    let times = if query.failures_only {
        group.tally.failed
    } else {
        group.tally.succeeded
    };
    is_of_kind && times > 0
}

struct PatternRank {
    similarity: f64,
    strength: f64,
    recency: f64,
}

impl PatternRank {
    fn of(
        similarity: f64,
        group: &Group<'_>,
        failures_only: bool,
        now: Timestamp,
        bank: &BankConfig,
        recall: &RecallConfig,
    ) -> Self {
        let (rate, weight) = (group.tally.success_rate(bank), group.tally.weight);
        let (used, first) = (Some(group.last_used()), group.first_used());
        Self {
            similarity,
            strength: if failures_only {
                (1.0 - weight) * (1.0 - rate)
            } else {
                weight * rate
            },
            recency: recency_at(Table::Patterns, used, first, now, recall),
        }
    }

    fn score(&self) -> f64 {
        self.similarity * self.strength * self.recency
    }
}
