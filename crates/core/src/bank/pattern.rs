//! Patterns: what became of one approach to one sort of task, over all that took it.
//!
//! Owns when two trials are of one pattern, how often it did what was asked, and what rewards make of its weight. Nothing here is
//! stored: a pattern follows from trials whenever somebody asks.

use core::fmt;
use std::collections::BTreeMap;

use super::alike::Words;
use super::trajectory::{Ended, Reward, TaskKind};
use super::trial::Trial;
use crate::circular::{Approach, Term, Wording};
use crate::config::BankConfig;
use crate::id::{RecordId, VerificationId};
use crate::limits::BANK_CITED_MAX;
use crate::time::Timestamp;

/// Names an approach to a sort of task, in whatever order its words are said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature([u8; 16]);

impl Signature {
    /// That of an approach to a sort of task; of the approach alone where none is named. Which files and symbols it touches does
    /// not count, unless it says nothing besides.
    #[must_use]
    pub fn of(kind: Option<&TaskKind>, wording: &Wording) -> Self {
        let says = wording.words.iter().any(|word| !word.is_place());
        let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 approach signature");
        hasher.update(kind.map_or("", TaskKind::as_str).as_bytes());
        hasher.update(&[0]);
        let counts = |word: &&Term| !(says && word.is_place());
        for word in wording.words.iter().filter(counts) {
            hasher.update(&word.bits().to_le_bytes());
        }
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        Self(bytes)
    }

    /// The 16 bytes of it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How often an approach did what was asked, and what it weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// How often it did.
    pub succeeded: u32,
    /// How often it did not.
    pub failed: u32,
    /// What it weighs, from 0 to 1.
    pub weight: f64,
}

impl Tally {
    /// That of what nobody tried.
    #[must_use]
    pub const fn none(config: &BankConfig) -> Self {
        Self {
            succeeded: 0,
            failed: 0,
            weight: config.weight_start,
        }
    }

    /// Takes in what a further trial came to. A reward moves the weight a share of the way to what it says, so that the last
    /// ones count most; where none is told, the weight stays.
    pub fn take(&mut self, ended: Ended, reward: Option<Reward>, config: &BankConfig) {
        let count = match ended {
            Ended::Succeeded => &mut self.succeeded,
            Ended::Failed => &mut self.failed,
        };
        *count = count.saturating_add(1);
        if let Some(reward) = reward {
            let says = f64::midpoint(reward.get(), 1.0);
            self.weight += config.weight_rate * (says - self.weight);
        }
    }

    /// How often it does what is asked, from 0 to 1: the mean of the Beta distribution that the prior and all trials make.
    #[must_use]
    pub fn success_rate(&self, config: &BankConfig) -> f64 {
        let succeeded = config.prior_successes + f64::from(self.succeeded);
        succeeded / (succeeded + config.prior_failures + f64::from(self.failed))
    }
}

/// A trial that a pattern or a warning comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Cited {
    /// The event that tells of it.
    pub record: RecordId,
    /// The verification that failed, where one did.
    pub verification: Option<VerificationId>,
    /// What it came to.
    pub ended: Ended,
    /// What it was worth, where that is told.
    pub reward: Option<Reward>,
    /// What its task was called, where that is kept.
    pub title: String,
    /// What is to be known of it, or why it failed.
    pub lesson: String,
    /// When.
    pub at: Timestamp,
}

impl Cited {
    /// That of a trial.
    pub(super) fn of(trial: &Trial<'_>) -> Self {
        Self {
            record: trial.record.clone(),
            verification: trial.verification,
            ended: trial.ended,
            reward: trial.reward,
            title: trial.title.to_owned(),
            lesson: trial.why.to_owned(),
            at: trial.at,
        }
    }
}

/// What became of one approach to one sort of task.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Its name.
    pub signature: Signature,
    /// The sort of task; none where verifications alone tell of the approach, which know none.
    pub kind: Option<TaskKind>,
    /// The approach, as it was told the last time, as far as there is room for it.
    pub approach: Approach,
    /// How often it did what was asked, and what it weighs.
    pub tally: Tally,
    /// How often it does, with the prior.
    pub success_rate: f64,
    /// When it was first used.
    pub first_used: Timestamp,
    /// When it was last used.
    pub last_used: Timestamp,
    /// The trials that it comes from, the newest first, as many as are told.
    pub cited: Vec<Cited>,
    /// Whether there are more, or more is known of the approach than is told.
    pub cut: bool,
}

/// Trials of one pattern.
pub(super) struct Group<'a> {
    pub(super) kind: Option<&'a TaskKind>,
    /// The last ones, the newest first, as many as are told.
    newest: Vec<&'a Trial<'a>>,
    first_used: Timestamp,
    /// The words by which it is found: those of the last ones.
    pub(super) words: Words,
    pub(super) tally: Tally,
}

/// All patterns that follow from trials, which are in the order of their times, by their signatures. A verification knows no sort
/// of task: it counts for each sort at which the same was tried, and by itself where there is none.
pub(super) fn groups<'a>(
    trials: &'a [Trial<'a>],
    config: &BankConfig,
) -> BTreeMap<Signature, Group<'a>> {
    let mut ideas: BTreeMap<Signature, Vec<&'a Trial<'a>>> = BTreeMap::new();
    for trial in trials {
        let idea = Signature::of(None, &trial.wording);
        ideas.entry(idea).or_default().push(trial);
    }
    let mut groups = BTreeMap::new();
    for trials in ideas.into_values() {
        for (kind, taken) in by_kind(&trials) {
            // All of one idea say the same words.
            let signature = taken.first().map(|one| Signature::of(kind, &one.wording));
            groups.extend(signature.map(|signature| (signature, Group::of(kind, &taken, config))));
        }
    }
    groups
}

/// The trials of each sort of task, in the order of their times.
type ByKind<'a> = BTreeMap<Option<&'a TaskKind>, Vec<&'a Trial<'a>>>;

/// The same trials by the sorts of their tasks, with those that know none in each.
fn by_kind<'a>(trials: &[&'a Trial<'a>]) -> ByKind<'a> {
    let mut by_kind = ByKind::new();
    let trials = trials.iter().copied();
    let (known, unknown): (Vec<_>, Vec<_>) = trials.partition(|one| one.kind.is_some());
    for trial in known {
        by_kind.entry(trial.kind).or_default().push(trial);
    }
    if by_kind.is_empty() {
        by_kind.insert(None, Vec::new());
    }
    for taken in by_kind.values_mut() {
        taken.extend(unknown.iter().copied());
        taken.sort_by(|a, b| (a.at, &a.record).cmp(&(b.at, &b.record)));
    }
    by_kind
}

impl<'a> Group<'a> {
    fn of(kind: Option<&'a TaskKind>, taken: &[&'a Trial<'a>], config: &BankConfig) -> Self {
        let mut tally = Tally::none(config);
        for trial in taken {
            tally.take(trial.ended, trial.reward, config);
        }
        let newest = taken.iter().rev().take(BANK_CITED_MAX).copied();
        let newest: Vec<&'a Trial<'a>> = newest.collect();
        // What differs within a pattern are the names that were touched.
        let wordings: Vec<&Wording> = newest.iter().map(|one| &*one.wording).collect();
        Self {
            kind,
            first_used: taken.first().map_or(Timestamp::EPOCH, |first| first.at),
            words: Words::of(&wordings),
            newest,
            tally,
        }
    }

    /// When it was last used.
    pub(super) fn last_used(&self) -> Timestamp {
        self.newest.first().map_or(Timestamp::EPOCH, |last| last.at)
    }

    /// When it was first used.
    pub(super) const fn first_used(&self) -> Timestamp {
        self.first_used
    }

    /// The pattern, as it is told.
    pub(super) fn told(&self, signature: Signature, config: &BankConfig) -> Pattern {
        let cited: Vec<Cited> = self.newest.iter().map(|one| Cited::of(one)).collect();
        let last = self.newest.first();
        let (approach, is_short) = last
            .map(|last| last.approach.in_short())
            .unwrap_or_default();
        let taken = u64::from(self.tally.succeeded) + u64::from(self.tally.failed);
        Pattern {
            signature,
            kind: self.kind.cloned(),
            approach,
            tally: self.tally,
            success_rate: self.tally.success_rate(config),
            first_used: self.first_used,
            last_used: self.last_used(),
            cut: is_short || (cited.len() as u64) < taken,
            cited,
        }
    }
}
