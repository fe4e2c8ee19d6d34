//! Tests of what a trajectory has to be of: each case breaks one rule, and nothing else.

use super::*;
use crate::bank::{Reward, Step};
use crate::circular::Failures;
use crate::id::Seq;
use crate::principal::Actor;
use crate::scope::Scope;
use crate::task::Task;
use crate::time::Timestamp;

fn state(status: TaskStatus) -> State {
    let scope = Scope::parse("org/a/project/b/worktree/c/task/d").unwrap();
    let task = Task {
        title: "t".into(),
        description: String::new(),
        status,
        stuck_reason: None,
        verified_through: Seq::ZERO,
        promotions_pending: 0,
        opened_by: Actor::system(),
        opened_at: Timestamp::EPOCH,
        updated_at: Timestamp::EPOCH,
        failures: Failures::default(),
    };
    let mut state = State::new(&scope, None, Some(task));
    let tip = crate::chain::Tip {
        seq: Seq::new(5),
        ..state.row().tip
    };
    state.advance(tip);
    state
}

fn stored() -> TrajectoryStored {
    let approach = Approach {
        text: "cache the headers".into(),
        ..Approach::default()
    };
    let title = Approach {
        text: "t".into(),
        ..Approach::default()
    };
    let step = |record| Step {
        record: Seq::new(record),
        bytes: None,
    };
    TrajectoryStored {
        kind: "bugfix".parse().unwrap(),
        title: title.text.clone(),
        wording: Wording::kept(&approach),
        approach,
        ended: Ended::Succeeded,
        reward: Reward::of(1.0).unwrap(),
        lesson: String::new(),
        steps: vec![step(2), step(5)],
        titled: Wording::of(&title),
    }
}

fn holds(status: TaskStatus, stored: &TrajectoryStored) -> bool {
    trajectory_applies(&state(status), stored).is_ok()
}

#[test]
fn a_trajectory_is_of_a_task_that_is_over() {
    use TaskStatus as S;
    for status in S::ALL {
        let is_over = matches!(status, S::Verifying | S::Done);
        assert_eq!(holds(status, &stored()), is_over, "{status:?}");
    }
    let failed = TrajectoryStored {
        ended: Ended::Failed,
        ..stored()
    };
    assert!(holds(S::Failed, &failed));
}

#[test]
fn it_goes_by_what_stands_before_it_in_order() {
    for change in [
        |stored: &mut TrajectoryStored| stored.steps.clear(),
        |stored: &mut TrajectoryStored| stored.steps.reverse(),
        |stored: &mut TrajectoryStored| stored.steps[1].record = Seq::new(6),
    ] {
        let mut stored = stored();
        change(&mut stored);
        assert!(!holds(TaskStatus::Done, &stored));
    }
}

#[test]
fn it_is_worded_as_it_says_where_this_rule_made_that() {
    let mut other = stored();
    other.approach.text.push_str(" twice");
    assert!(!holds(TaskStatus::Done, &other));
    other.wording.rule ^= 1;
    assert!(holds(TaskStatus::Done, &other));
    let mut other = stored();
    other.title.push_str(" retries");
    assert!(!holds(TaskStatus::Done, &other));
    other.titled = Wording::default();
    assert!(holds(TaskStatus::Done, &other));
}
