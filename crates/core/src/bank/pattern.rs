//! Patterns: what became of one approach to one sort of task, over all trajectories that took it.
//!
//! Owns when two trajectories are of one pattern, how often it did what was asked, and what rewards make of its weight. Nothing
//! here is stored: a pattern follows from trajectories whenever somebody asks.

use core::fmt;
use std::collections::BTreeMap;

use super::alike::{Room, Words};
use super::trajectory::{Ended, Reward, TaskKind, Trajectory};
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
    /// That of a trajectory.
    pub(super) fn of(trajectory: &Trajectory) -> Self {
        Self {
            record: trajectory.record(),
            verification: None,
            ended: trajectory.ended,
            reward: Some(trajectory.reward),
            title: trajectory.title.clone(),
            lesson: trajectory.lesson.clone(),
            at: trajectory.at,
        }
    }
}

/// What became of one approach to one sort of task.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Its name.
    pub signature: Signature,
    /// The sort of task.
    pub kind: TaskKind,
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
    /// The trajectories that it comes from, the newest first, as many as are told.
    pub cited: Vec<Cited>,
    /// Whether there are more, or more is known of the approach than is told.
    pub cut: bool,
}

/// Trajectories of one pattern, in the order of their times.
pub(super) struct Group<'a> {
    pub(super) kind: &'a TaskKind,
    pub(super) taken: Vec<&'a Trajectory>,
    /// The words by which it is found: those of all of them.
    pub(super) words: Words,
    pub(super) tally: Tally,
}

/// All patterns that follow from trajectories, by their signatures, and whether some had no room.
pub(super) fn groups<'a>(
    trajectories: &'a [Trajectory],
    config: &BankConfig,
) -> (BTreeMap<Signature, Group<'a>>, bool) {
    let (mut room, mut cut) = (Room::ALL, false);
    let mut groups: BTreeMap<Signature, (Group<'a>, Vec<Wording>)> = BTreeMap::new();
    for trajectory in in_time(trajectories) {
        let Some(wording) = room.worded(&trajectory.wording, &trajectory.approach) else {
            cut = true;
            continue;
        };
        let signature = Signature::of(Some(&trajectory.kind), &wording);
        let group = groups.entry(signature).or_insert_with(|| {
            let none = Group {
                kind: &trajectory.kind,
                taken: Vec::new(),
                words: Words::default(),
                tally: Tally::none(config),
            };
            (none, Vec::new())
        });
        let (group, wordings) = group;
        let reward = Some(trajectory.reward);
        group.tally.take(trajectory.ended, reward, config);
        group.taken.push(trajectory);
        // All of one pattern say the same; what differs are the names that they touch.
        if wordings.len() < BANK_CITED_MAX {
            wordings.push(wording.into_owned());
        }
    }
    let worded = groups.into_iter().map(|(signature, (group, wordings))| {
        let all: Vec<&Wording> = wordings.iter().collect();
        let words = Words::of(&all);
        (signature, Group { words, ..group })
    });
    (worded.collect(), cut)
}

/// Trajectories by their times, and of one time by where they are told.
pub(super) fn in_time(trajectories: &[Trajectory]) -> Vec<&Trajectory> {
    let mut all: Vec<&Trajectory> = trajectories.iter().collect();
    all.sort_by(|a, b| (a.at, &a.task, a.seq).cmp(&(b.at, &b.task, b.seq)));
    all
}

impl Group<'_> {
    /// When it was last used.
    pub(super) fn last_used(&self) -> Timestamp {
        self.taken.last().map_or(Timestamp::EPOCH, |last| last.at)
    }

    /// When it was first used.
    pub(super) fn first_used(&self) -> Timestamp {
        self.taken
            .first()
            .map_or(Timestamp::EPOCH, |first| first.at)
    }

    /// The pattern, as it is told.
    pub(super) fn told(&self, signature: Signature, config: &BankConfig) -> Pattern {
        let newest = self.taken.iter().rev();
        let cited: Vec<Cited> = newest
            .take(BANK_CITED_MAX)
            .map(|one| Cited::of(one))
            .collect();
        let last = self.taken.last();
        let (approach, is_short) = last
            .map(|last| last.approach.in_short())
            .unwrap_or_default();
        Pattern {
            signature,
            kind: self.kind.clone(),
            approach,
            tally: self.tally,
            success_rate: self.tally.success_rate(config),
            first_used: self.first_used(),
            last_used: self.last_used(),
            cut: is_short || cited.len() < self.taken.len(),
            cited,
        }
    }
}
