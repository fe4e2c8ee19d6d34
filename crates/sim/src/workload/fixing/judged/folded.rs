//! The fold of what failed in tasks, event by event.
//!
//! Owns what each task came to, how each failed fix was to be judged, and what the order of the events shows. It must not know
//! who was told what.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::chain::Header;
use sillok_core::circular::{ErrorJudged, ErrorSeen};
use sillok_core::event::FixFailed;
use sillok_core::id::VerificationId;
use sillok_core::scope::Scope;

use super::super::naive::Tries;
use super::super::written::{Commit, Event, Said};

/// How a failed fix was to be judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judgement<'a> {
    pub(super) event: &'a Event,
    pub(super) failed: &'a FixFailed,
    /// What followed from its error; none where it names none.
    pub(super) judged: Option<ErrorJudged>,
}

/// What all events come to.
#[derive(Debug, Default)]
pub(super) struct Folded<'a> {
    /// What failed in each task since something passed there.
    pub(super) tries: BTreeMap<&'a Scope, Tries>,
    pub(super) judgements: BTreeMap<VerificationId, Judgement<'a>>,
    /// A failed fix that is not told right behind its verification, if there is one.
    pub(super) stray: Option<String>,
    /// An error that counts under another verification than the one that failed with it first, if there is one.
    pub(super) miscounted: Option<String>,
    /// What the order of the events shows.
    pub(super) shown: Vec<&'static str>,
    /// The last event of each task that is told of here.
    last: BTreeMap<&'a Scope, &'a Event>,
    /// The tasks that are stuck.
    stuck: BTreeSet<&'a Scope>,
    /// The errors of each task since something passed there, each with the event that tells of it.
    errors: BTreeMap<&'a Scope, Vec<(ErrorSeen, &'a Event)>>,
}

impl<'a> Folded<'a> {
    pub(super) fn of(commits: &'a [Commit]) -> Self {
        let mut folded = Self::default();
        for commit in commits {
            for event in &commit.events {
                folded.add(event);
            }
            let failed = commit.events.iter().filter(
                |event| matches!(&event.said, Said::Failed(failed) if failed.error.is_some()),
            );
            if failed.count() > 1 {
                folded.shown.push("errors judged in one batch");
            }
        }
        folded
    }

    fn add(&mut self, event: &'a Event) {
        match &event.said {
            Said::Failed(failed) => self.fail(event, failed),
            Said::Passed => {
                let tries = self.tries.entry(&event.task).or_default();
                if tries.pass(event.header.seq) {
                    self.shown.push("failures cleared by a pass");
                }
                self.errors.remove(&event.task);
                self.stuck.remove(&event.task);
            }
            Said::Stuck(_) => {
                self.stuck.insert(&event.task);
            }
            Said::Free => {
                self.stuck.remove(&event.task);
            }
            Said::Erased(events) => self.tries.entry(&event.task).or_default().erase(events),
            Said::Opened | Said::NotPassed(_) => {}
        }
        self.last.insert(&event.task, event);
    }

    fn fail(&mut self, event: &'a Event, failed: &'a FixFailed) {
        let before = self.last.get(&event.task);
        let follows = before.is_some_and(|before| {
            let is_of_it = matches!(before.said, Said::NotPassed(id) if id == failed.verification);
            is_of_it
                && before.header.seq.next() == event.header.seq
                && before.header.command == event.header.command
        });
        if !follows {
            let (task, seq) = (&event.task, event.header.seq);
            let before = before.map(|before| &before.said);
            let stray = || format!("event {seq} of {task} says {failed:?} behind {before:?}");
            self.stray.get_or_insert_with(stray);
        }
        let is_stuck = self.stuck.contains(&event.task);
        let tries = self.tries.entry(&event.task).or_default();
        let counts = failed
            .error
            .map(|seen| (seen, tries.seen(seen.error, failed.verification)));
        if let Some((told, seen)) = counts.filter(|(told, seen)| told != seen) {
            let (task, seq) = (&event.task, event.header.seq);
            let what = || format!("event {seq} of {task} counts {told:?} and not {seen:?}");
            self.miscounted.get_or_insert_with(what);
        }
        let judgement = Judgement {
            event,
            failed,
            judged: failed.error.map(|seen| tries.judged_in(is_stuck, seen)),
        };
        if failed
            .error
            .is_some_and(|seen| tries.is_erased_in_part(seen))
        {
            self.shown.push("error of an erased verification counted");
        }
        tries.fail(failed, event.header.seq);
        self.judgements.insert(failed.verification, judgement);
        if let Some(seen) = failed.error {
            self.show(event, seen);
        }
    }

    /// Notes what it shows that this error came up now.
    fn show(&mut self, event: &'a Event, seen: ErrorSeen) {
        let errors = self.errors.entry(&event.task).or_default();
        let same = errors.iter().filter(|(known, _)| known.first == seen.first);
        let before: Vec<&Header> = same.map(|(_, before)| &before.header).collect();
        if before
            .iter()
            .any(|before| before.actor != event.header.actor)
        {
            self.shown.push("error of another agent counted");
        }
        if before
            .iter()
            .any(|before| before.epoch != event.header.epoch)
        {
            self.shown.push("error under a former epoch counted");
        }
        errors.push((seen, event));
    }
}
