//! The pre-mortem: which failures a task is warned of before it begins.
//!
//! Owns which of them are like the task, how they are told together, and in which order. It must not know the clock: the same
//! failures give the same warnings whenever a brief is asked for. Nor may it know decisions: a warning moves none of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::alike::{Room, Words};
use super::pattern::{Signature, Tally};
use super::trajectory::{Ended, TaskKind, Trajectory};
use super::trial::{Trial, trials};
use crate::circular::{Approach, FailedApproach, Wording};
use crate::config::BankConfig;
use crate::id::{RecordId, VerificationId};
use crate::limits::{BANK_CITED_MAX, FIX_REASONS_MAX, WARNINGS_MAX};
use crate::scope::Scope;
use crate::time::Timestamp;

/// A failure that a warning comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warned {
    /// The event that tells of it.
    pub record: RecordId,
    /// The verification that failed; none where a trajectory tells of it.
    pub verification: Option<VerificationId>,
    /// When.
    pub at: Timestamp,
}

/// What failed before and may fail here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The approach, as it was told the last time, as far as there is room for it.
    pub approach: Approach,
    /// The sorts of task that it was tried at, as far as they are known.
    pub kinds: Vec<TaskKind>,
    /// How often it failed.
    pub failed: u32,
    /// How often it did what was asked all the same.
    pub succeeded: u32,
    /// When it failed the last time.
    pub last: Timestamp,
    /// Why, the last time first, each reason once.
    pub reasons: Vec<String>,
    /// The failures that this comes from, the last one first.
    pub failures: Vec<Warned>,
    /// Whether there are more of them, or more is known than is told.
    pub cut: bool,
}

impl Warning {
    /// How much of the room of a brief it takes: its bytes in the form in which decisions are stored.
    #[must_use]
    pub fn bytes(&self) -> usize {
        postcard::experimental::serialized_size(self).expect("plain data structures always encode")
    }
}

/// Trials of one approach, in the order of their times.
struct Group<'a> {
    trials: Vec<Trial<'a>>,
    tally: Tally,
    words: Words,
}

/// What a task is warned of by the texts that say what it is about, each by itself, such as the words that it was opened with:
/// approaches of other tasks that failed and whose words, or those of what their tasks were called, are like one of these.
/// Trajectories say what theirs was called; of approaches that failed, `titles` does, as far as it is known. What is most alike
/// and did worst comes first. Says as well whether there is more than is told.
#[must_use]
pub fn warnings(
    task: &Scope,
    asked: &[&str],
    failed: &[FailedApproach],
    titles: &BTreeMap<Scope, String>,
    trajectories: &[Trajectory],
    config: &BankConfig,
) -> (Vec<Warning>, bool) {
    let asked = asked.iter().map(|text| Words::of_text(text));
    let asked: Vec<Words> = asked.filter(|words| !words.is_empty()).collect();
    if asked.is_empty() {
        return (Vec::new(), false);
    }
    let called = titles.iter().map(|(task, title)| (task, worded(title)));
    let called: BTreeMap<&Scope, Wording> = called.collect();
    let elsewhere = trajectories.iter().filter(|one| one.task != *task);
    let failed = failed.iter().filter(|one| one.task != *task);
    let (trials, mut cut) = trials(elsewhere, failed, &called, Room::ALL);
    let groups = groups(trials, config);
    let mut alike: Vec<(f64, Signature, &Group<'_>)> = Vec::new();
    for (signature, group) in &groups {
        let shares = asked.iter().filter_map(|one| one.in_common(&group.words));
        let share = shares.max_by(f64::total_cmp);
        if let Some(share) = share.filter(|_| group.tally.failed > 0) {
            let rate = group.tally.success_rate(config);
            let rank = share * (1.0 - group.tally.weight) * (1.0 - rate);
            alike.push((rank, *signature, group));
        }
    }
    alike.sort_by(|(rank_a, a, _), (rank_b, b, _)| rank_b.total_cmp(rank_a).then(a.cmp(b)));
    cut |= alike.len() > WARNINGS_MAX;
    let told = alike.into_iter().take(WARNINGS_MAX);
    (told.map(|(_, _, group)| group.told()).collect(), cut)
}

/// How a title is worded.
fn worded(title: &str) -> Wording {
    Wording::of(&Approach {
        text: title.to_owned(),
        ..Approach::default()
    })
}

/// Trials of one approach together, whatever sort of task they were at: a verification knows none.
fn groups<'a>(trials: Vec<Trial<'a>>, config: &BankConfig) -> BTreeMap<Signature, Group<'a>> {
    let mut groups: BTreeMap<Signature, Group<'a>> = BTreeMap::new();
    for trial in trials {
        let signature = Signature::of(None, &trial.wording);
        let group = groups.entry(signature).or_insert_with(|| Group {
            trials: Vec::new(),
            tally: Tally::none(config),
            words: Words::default(),
        });
        group.tally.take(trial.ended, trial.reward, config);
        group.trials.push(trial);
    }
    for group in groups.values_mut() {
        let newest = group.trials.iter().rev().take(BANK_CITED_MAX);
        let wordings = newest.flat_map(|trial| [&*trial.wording, trial.titled]);
        group.words = Words::of(&wordings.collect::<Vec<_>>());
    }
    groups
}

impl Group<'_> {
    fn told(&self) -> Warning {
        let failed = || {
            let newest = self.trials.iter().rev();
            newest.filter(|trial| trial.ended == Ended::Failed)
        };
        let mut reasons: Vec<String> = Vec::new();
        for why in failed()
            .map(|trial| trial.why)
            .filter(|why| !why.is_empty())
        {
            if reasons.len() == FIX_REASONS_MAX {
                break;
            }
            if !reasons.iter().any(|known| known == why) {
                reasons.push(why.to_owned());
            }
        }
        let kinds: BTreeSet<&TaskKind> = self.trials.iter().filter_map(|one| one.kind).collect();
        let failures: Vec<Warned> = failed()
            .take(BANK_CITED_MAX)
            .map(|trial| Warned {
                record: trial.record.clone(),
                verification: trial.verification,
                at: trial.at,
            })
            .collect();
        let last = failed().next();
        let (approach, is_short) = last
            .map(|trial| trial.approach.in_short())
            .unwrap_or_default();
        let kinds_told = kinds.len().min(BANK_CITED_MAX);
        Warning {
            approach,
            kinds: kinds
                .iter()
                .take(kinds_told)
                .map(|kind| (*kind).clone())
                .collect(),
            failed: self.tally.failed,
            succeeded: self.tally.succeeded,
            last: last.map_or(Timestamp::EPOCH, |trial| trial.at),
            reasons,
            cut: is_short || kinds_told < kinds.len() || failed().count() > failures.len(),
            failures,
        }
    }
}
