//! Samples of trajectories, small ones and the largest that may be.

use sillok_core::bank::{Ended, Reward, Step, Trajectory};
use sillok_core::chain::StoredEvent;
use sillok_core::circular::{Approach, Wording};
use sillok_core::event::{Body, TrajectoryStored};
use sillok_core::id::Seq;
use sillok_core::limits::{
    TASK_KIND_BYTES_MAX, TRAJECTORY_APPROACH_BYTES_MAX, TRAJECTORY_LESSON_BYTES_MAX,
    TRAJECTORY_STEPS_MAX, TRAJECTORY_TITLE_BYTES_MAX, WORDED_BYTES_MAX,
};
use sillok_core::time::Timestamp;

use super::Parts;
use super::decisions::{longest_actor, longest_scope, sealed};
use crate::keys::trajectory;

impl Parts {
    pub(in crate::keys) fn trajectory(&self) -> Trajectory {
        Trajectory {
            task: self.scope(),
            seq: self.seq(),
            at: self.time(),
            kind: self.name.to_lowercase().parse().unwrap(),
            title: self.text.clone(),
            approach: self.approach(),
            ended: Ended::ALL[usize::from(self.flag)],
            reward: Reward::of(if self.flag { -0.25 } else { 1.0 }).unwrap(),
            lesson: self.text.clone(),
            wording: self.wording(),
            titled: self.wording(),
        }
    }

    pub(in crate::keys) fn trajectory_place(&self) -> trajectory::Key {
        trajectory::Key::of(&self.trajectory())
    }
}

/// Words of two letters, no two of them the same, as far as there is room.
fn words(bytes: usize) -> String {
    let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
    let all = (0..).map(|number| [letter(number), letter(number / 26), ' ']);
    all.flatten().take(bytes).collect()
}

fn said(text: String) -> Approach {
    Approach {
        text,
        ..Approach::default()
    }
}

/// Trajectories that say as much as one may: of a long approach no wording is kept, and of a shorter one all of it.
pub(in crate::keys) fn largest() -> Vec<Trajectory> {
    let title = words(TRAJECTORY_TITLE_BYTES_MAX);
    let sizes = [TRAJECTORY_APPROACH_BYTES_MAX, WORDED_BYTES_MAX].into_iter();
    let of_size = |bytes| {
        let approach = said(words(bytes));
        Trajectory {
            task: longest_scope(),
            seq: Seq::new(u64::MAX),
            at: Timestamp::from_ms(u64::MAX),
            kind: "k".repeat(TASK_KIND_BYTES_MAX).parse().unwrap(),
            wording: Wording::kept(&approach),
            approach,
            ended: Ended::Failed,
            reward: Reward::of(-1.0).unwrap(),
            lesson: "l".repeat(TRAJECTORY_LESSON_BYTES_MAX),
            titled: Wording::of(&said(title.clone())),
            title: title.clone(),
        }
    };
    sizes.map(of_size).collect()
}

/// The event that tells of one, with as many steps as there may be.
pub(in crate::keys) fn event_of(trajectory: &Trajectory) -> StoredEvent {
    let step = Step {
        record: Seq::new(u64::MAX),
        bytes: Some((u32::MAX, u32::MAX)),
    };
    let body = Body::TrajectoryStored(Box::new(TrajectoryStored {
        kind: trajectory.kind.clone(),
        title: trajectory.title.clone(),
        approach: trajectory.approach.clone(),
        ended: trajectory.ended,
        reward: trajectory.reward,
        lesson: trajectory.lesson.clone(),
        steps: vec![step; TRAJECTORY_STEPS_MAX],
        wording: trajectory.wording.clone(),
        titled: trajectory.titled.clone(),
    }));
    sealed(&body, &longest_actor(), trajectory.at)
}
