//! Trials: what is told of an approach that was tried once, by a trajectory or by a verification that failed.
//!
//! Owns what both say alike, their order, and which of them are left out where there is no room to word all anew: the older ones.
//! It must not know what follows from trials.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::alike::Room;
use super::trajectory::{Ended, Reward, TaskKind, Trajectory};
use crate::circular::{Approach, FailedApproach, Wording};
use crate::id::{RecordId, Seq, VerificationId};
use crate::scope::Scope;
use crate::time::Timestamp;

/// One trial of an approach, wherever it is told.
pub(super) struct Trial<'a> {
    pub(super) record: RecordId,
    pub(super) verification: Option<VerificationId>,
    pub(super) at: Timestamp,
    pub(super) approach: &'a Approach,
    /// A verification knows none.
    pub(super) kind: Option<&'a TaskKind>,
    pub(super) ended: Ended,
    pub(super) reward: Option<Reward>,
    /// What its task was called, where that is kept.
    pub(super) title: &'a str,
    pub(super) why: &'a str,
    pub(super) wording: Cow<'a, Wording>,
    pub(super) titled: &'a Wording,
}

/// A title that nobody knows, or that another rule worded: nothing is like it.
static UNTITLED: Wording = Wording {
    rule: 0,
    words: Vec::new(),
    names: Vec::new(),
    said: Vec::new(),
};

/// All trials in the order of their times, and of one time by where they are told. `called` says what the tasks were called in
/// which approaches failed, as far as it is known. Says as well whether some had no room: it is spent on the newest first.
pub(super) fn trials<'a>(
    trajectories: impl Iterator<Item = &'a Trajectory>,
    failed: impl Iterator<Item = &'a FailedApproach>,
    called: &'a BTreeMap<&Scope, Wording>,
    mut room: Room,
) -> (Vec<Trial<'a>>, bool) {
    let told = trajectories.map(Told::Trajectory);
    let told = told.chain(failed.map(Told::Failure));
    let mut told: Vec<Told<'a>> = told.collect();
    told.sort_by_key(|one| Reverse(one.place()));
    let (mut all, mut cut) = (Vec::new(), false);
    for one in told {
        let trial = match one {
            Told::Trajectory(one) => Trial::of_trajectory(one, &mut room),
            Told::Failure(one) => {
                let titled = called.get(&one.task).unwrap_or(&UNTITLED);
                Trial::of_failure(one, titled, &mut room)
            }
        };
        cut |= trial.is_none();
        all.extend(trial);
    }
    all.reverse();
    (all, cut)
}

/// What tells of a trial.
#[derive(Clone, Copy)]
enum Told<'a> {
    Trajectory(&'a Trajectory),
    Failure(&'a FailedApproach),
}

impl<'a> Told<'a> {
    const fn place(self) -> (Timestamp, &'a Scope, Seq) {
        match self {
            Self::Trajectory(one) => (one.at, &one.task, one.seq),
            Self::Failure(one) => (one.at, &one.task, one.seq),
        }
    }
}

impl<'a> Trial<'a> {
    /// What a trajectory tells; none where there is no room to word it.
    fn of_trajectory(one: &'a Trajectory, room: &mut Room) -> Option<Self> {
        let wording = room.worded(&one.wording, &one.approach)?;
        Some(Self {
            record: one.record(),
            verification: None,
            at: one.at,
            approach: &one.approach,
            kind: Some(&one.kind),
            ended: one.ended,
            reward: Some(one.reward),
            title: &one.title,
            why: &one.lesson,
            wording,
            // Words of another rule are none.
            titled: if one.titled.is_current() {
                &one.titled
            } else {
                &UNTITLED
            },
        })
    }

    /// What a verification that failed tells, in a task that was called so; none where there is no room to word it.
    fn of_failure(one: &'a FailedApproach, titled: &'a Wording, room: &mut Room) -> Option<Self> {
        let wording = room.worded(&one.wording, &one.approach)?;
        Some(Self {
            record: RecordId {
                scope: one.task.clone(),
                seq: one.seq,
            },
            verification: Some(one.verification),
            at: one.at,
            approach: &one.approach,
            kind: None,
            ended: Ended::Failed,
            reward: None,
            title: "",
            why: &one.reason,
            wording,
            titled,
        })
    }
}
