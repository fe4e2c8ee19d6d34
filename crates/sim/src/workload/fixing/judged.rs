//! What must hold of fixes, of what is stored and of all that anybody was told.
//!
//! Owns the comparison of answers and rows with a fold of the events. What follows from an error, `naive` says; what follows
//! from an approach, `point` does.

mod folded;

use std::collections::BTreeMap;

use sillok_core::circular::{ErrorHash, FailedApproach};
use sillok_core::id::VerificationId;
use sillok_core::scope::Scope;
use sillok_store::keys::{self, Family, ScopeKey, failed_approach};

use self::folded::{Folded, Judgement};
use super::asked::HEARD;
use super::naive::{Kept, Tries};
use super::written::{Commit, Said, noted};
use super::{Fixing, RECORDED, Recorded, point, said, written};
use crate::violation::Violation;
use crate::workload::{Check, End};

/// Failed approaches by the places of their rows.
type Rows = BTreeMap<failed_approach::Key, FailedApproach>;

impl Check for Fixing {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let commits = written::commits(end);
        let folded = Folded::of(&commits);
        folded
            .shown
            .iter()
            .copied()
            .for_each(|shown| end.saw(shown));
        if let Some(what) = folded.stray {
            return Err(Violation::new("a fix fails with its verification", what));
        }
        if let Some(what) = folded.miscounted {
            let invariant = "an error counts under the verification that failed with it first";
            return Err(Violation::new(invariant, what));
        }
        let recorded: Vec<Recorded> = noted(end, RECORDED).collect();
        let mut answers = recorded.iter();
        let wrong = answers.find_map(|told| wrong_answer(&folded.judgements, told));
        if let Some(what) = wrong.or_else(|| confused(&recorded)) {
            let invariant = "an error is judged by what failed in its task";
            return Err(Violation::new(invariant, what));
        }
        if let Some(what) = forgotten(&folded.tries, &tasks(end)) {
            let invariant = "a task remembers what failed since a pass";
            return Err(Violation::new(invariant, what));
        }
        if let Some(what) = misfit(&rows(end), &expected(&commits)) {
            let invariant = "each approach that failed is one row";
            return Err(Violation::new(invariant, what));
        }
        let wrong = noted(end, HEARD).find_map(|heard| point::wrong(&commits, &heard));
        wrong.map_or(Ok(()), |what| {
            let invariant = "an approach is judged by what failed before";
            Err(Violation::new(invariant, what))
        })
    }
}

/// What the tasks of a world remember.
fn tasks(end: &End<'_>) -> BTreeMap<ScopeKey, Kept> {
    const READ: &str = "the audit has read it";
    let rows = end.rows(Family::Task).into_iter();
    let tasks = rows.map(|(key, value)| {
        let scope = keys::task::parse(&key).expect(READ).scope;
        let task = keys::task::decode(&key, &value).expect(READ);
        (scope, Kept::of(&task.failures))
    });
    tasks.collect()
}

/// The approaches that are stored to have failed.
fn rows(end: &End<'_>) -> Rows {
    const READ: &str = "the audit has read it";
    let rows = end.rows(Family::FailedApproach).into_iter();
    let rows = rows.map(|(key, value)| {
        let place = failed_approach::parse(&key).expect(READ);
        (place, failed_approach::decode(&key, &value).expect(READ))
    });
    rows.collect()
}

/// The approaches that events say failed, but for those that were erased.
fn expected(commits: &[Commit]) -> Rows {
    let mut rows = Rows::new();
    for event in commits.iter().flat_map(|commit| &commit.events) {
        if let Said::Erased(events) = &event.said {
            let is_gone =
                |failed: &FailedApproach| failed.task == event.task && events.contains(&failed.seq);
            rows.retain(|_, failed| !is_gone(failed));
        }
        let failed = event.failed_approach();
        rows.extend(failed.map(|failed| (failed_approach::Key::of(&failed), failed)));
    }
    rows
}

/// What is wrong about what somebody was told who recorded a failed fix, if anything.
fn wrong_answer(
    judgements: &BTreeMap<VerificationId, Judgement<'_>>,
    told: &Recorded,
) -> Option<String> {
    let (error, approach) = told.said();
    let says_nothing = error.is_none() && approach.is_none();
    let Some(judgement) = judgements.get(&told.id) else {
        let is_right = says_nothing && told.judged.is_none();
        return (!is_right).then(|| format!("no event says what {told:?} is judged by"));
    };
    let (event, failed) = (judgement.event, judgement.failed);
    let at = event.header.seq;
    let is_of_it = event.task == told.task
        && at == told.seq
        && failed.error.is_some() == error.is_some()
        && failed.approach == approach;
    if says_nothing || !is_of_it {
        return Some(format!(
            "event {at} of {} says {failed:?} of {told:?}",
            event.task
        ));
    }
    let judged = judgement.judged;
    (judged != told.judged).then(|| format!("{told:?} was to be judged as {judged:?}"))
}

/// An error that is told as two, or two that are told as one, if there are such.
fn confused(recorded: &[Recorded]) -> Option<String> {
    let mut hashes: BTreeMap<usize, ErrorHash> = BTreeMap::new();
    let mut errors: BTreeMap<ErrorHash, usize> = BTreeMap::new();
    let told = recorded.iter().filter_map(|told| {
        let error = said::error_of(told.fix.error?);
        Some((error, told.judged?.error))
    });
    for (error, hash) in told {
        let known = hashes.entry(error).or_insert(hash);
        let same = errors.entry(hash).or_insert(error);
        if *known != hash || *same != error {
            return Some(format!("error {error} is {hash}, {known} is error {same}"));
        }
    }
    None
}

/// A task that does not remember what failed in it since something passed, if there is one.
fn forgotten(tries: &BTreeMap<&Scope, Tries>, tasks: &BTreeMap<ScopeKey, Kept>) -> Option<String> {
    let expected: BTreeMap<ScopeKey, (&Scope, Kept)> = tries
        .iter()
        .map(|(task, tries)| (ScopeKey::of(task), (*task, tries.kept())))
        .collect();
    let wrong = expected.iter().find_map(|(key, (task, expected))| {
        let kept = tasks.get(key);
        let is_wrong = kept != Some(expected);
        is_wrong.then(|| format!("{task} remembers {kept:?} of {expected:?}"))
    });
    wrong.or_else(|| {
        let mut strays = tasks.iter().filter(|(key, _)| !expected.contains_key(*key));
        let (_, kept) = strays.find(|(_, kept)| **kept != Kept::default())?;
        Some(format!("a task in which nothing failed remembers {kept:?}"))
    })
}

/// A row that no event explains, or one that is missing or says something else, if there is such.
fn misfit(stored: &Rows, expected: &Rows) -> Option<String> {
    let mut rows = stored.iter();
    let wrong = rows.find(|(place, failed)| expected.get(*place) != Some(*failed));
    let wrong = wrong.map(|(_, failed)| format!("{failed:?} is stored, and no event says it"));
    wrong.or_else(|| {
        let missing = expected
            .iter()
            .find(|(place, _)| !stored.contains_key(*place))?;
        Some(format!("{:?} is not stored", missing.1))
    })
}

#[cfg(test)]
mod tests;
