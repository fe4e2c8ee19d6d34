//! What fixes that failed do to the view of a task.

use super::*;
use crate::circular::{Approach, ErrorHash, ErrorReason, ErrorSeen, Verdict, Wording};
use crate::entry::Binding;
use crate::id::VerificationId;
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::scope::Scope;
use crate::time::Timestamp;
use crate::verification::{NewVerification, VerificationSource};

const TASK: &str = "org/a/project/b/worktree/c/task/d";

fn at(seq: u64) -> Stamped {
    Stamped {
        seq: Seq::new(seq),
        time: Timestamp::from_ms(10 * seq),
        actor: Actor {
            kind: PrincipalKind::Orchestrator,
            id: PrincipalId::parse("ci").unwrap(),
        },
    }
}

fn opened() -> State {
    let mut state = State::new(&Scope::parse(TASK).unwrap(), None, None);
    let body = Body::TaskOpened {
        title: "t".into(),
        description: String::new(),
    };
    state.apply(&body, &at(1));
    state
}

fn error(number: u8) -> ErrorSeen {
    ErrorSeen {
        error: ErrorHash::from_bytes([number; 32]),
        first: VerificationId::from_bytes([3; 16]),
    }
}

fn approach() -> Approach {
    Approach {
        text: "read line by line".into(),
        files: vec!["src/parse.rs".into()],
        symbols: vec!["parse".into()],
    }
}

fn failed(error: Option<ErrorSeen>, approach: Option<Approach>) -> Body {
    Body::FixFailed(Box::new(FixFailed {
        verification: VerificationId::from_bytes([3; 16]),
        error,
        wording: approach.as_ref().map(Wording::of).unwrap_or_default(),
        approach,
        reason: "it hangs".into(),
    }))
}

fn verified(outcome: Outcome, through: u64) -> Body {
    let passed = outcome == Outcome::Passed;
    Body::VerificationRecorded(Box::new(Verification {
        id: VerificationId::from_bytes([4; 16]),
        said: NewVerification {
            outcome,
            source: if passed {
                VerificationSource::TestsPassed
            } else {
                VerificationSource::TestsFailed
            },
            run: "r".into(),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error: None,
            approach: None,
            target: None,
        },
        recorder: at(1).actor,
        time: Timestamp::EPOCH,
        from: Seq::ZERO,
        through: Seq::new(through),
        target: Scope::parse("org/a/project/b").unwrap(),
    }))
}

fn failures(state: &State) -> &Failures {
    &state.task().unwrap().failures
}

#[test]
fn a_fix_that_failed_is_remembered_by_its_task_and_its_approach_by_a_row_of_its_own() {
    let mut state = opened();
    let changes = state.apply(&failed(Some(error(1)), Some(approach())), &at(3));
    let [Change::Task(task), Change::ApproachFailed(row)] = changes.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!(**task, *state.task().unwrap());
    let told = FailedApproach {
        task: Scope::parse(TASK).unwrap(),
        seq: Seq::new(3),
        verification: VerificationId::from_bytes([3; 16]),
        approach: approach(),
        reason: "it hangs".into(),
        at: Timestamp::from_ms(30),
        wording: Wording::of(&approach()),
    };
    assert_eq!(**row, told);
    assert_eq!(
        failures(&state).judge(error(1)).reason,
        ErrorReason::Repeated
    );
}

#[test]
fn what_is_not_said_changes_no_more_than_the_task() {
    let mut state = opened();
    let changes = state.apply(&failed(Some(error(1)), None), &at(3));
    assert!(
        matches!(changes.as_slice(), [Change::Task(_)]),
        "{changes:?}"
    );
    // An approach without an error counts no error.
    let changes = state.apply(&failed(None, Some(approach())), &at(5));
    assert!(matches!(
        changes.as_slice(),
        [Change::Task(_), Change::ApproachFailed(_)]
    ));
    let judged = failures(&state).judge(error(1));
    assert_eq!((judged.verdict, judged.count), (Verdict::Allow, 2));
}

#[test]
fn a_pass_clears_what_failed_up_to_it_and_a_failure_clears_nothing() {
    let mut state = opened();
    for seq in [3, 5, 7] {
        state.apply(&failed(Some(error(1)), Some(approach())), &at(seq));
    }
    assert_eq!(failures(&state).judge(error(1)).verdict, Verdict::Block);
    state.apply(&verified(Outcome::Failed, 7), &at(8));
    assert_eq!(failures(&state).judge(error(1)).count, 4);
    state.apply(&verified(Outcome::Passed, 8), &at(9));
    assert_eq!(failures(&state).judge(error(1)).reason, ErrorReason::New);
    assert_eq!(failures(&state).cleared_through, Seq::new(9));
    // Nothing failed since: what was cleared stays so.
    state.apply(&verified(Outcome::Passed, 9), &at(10));
    assert_eq!(failures(&state).cleared_through, Seq::new(9));
}

#[test]
fn a_pass_of_a_task_in_which_nothing_failed_leaves_nothing_to_remember() {
    let mut state = opened();
    state.apply(&verified(Outcome::Passed, 1), &at(2));
    assert_eq!(*failures(&state), Failures::default());
}

#[test]
fn only_an_approach_that_failed_is_cleared_as_well() {
    let mut state = opened();
    state.apply(&failed(None, Some(approach())), &at(3));
    state.apply(&verified(Outcome::Passed, 3), &at(4));
    assert_eq!(failures(&state).cleared_through, Seq::new(4));
}
