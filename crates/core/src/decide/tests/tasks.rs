//! Tasks, logs, verifications, clocks and denials.

use super::super::{decide, denial};
use super::world::{PROJECT, TASK, World, append, open, verification};
use crate::command::{AnswerBody, Command};
use crate::config::RulesConfig;
use crate::error::ErrorCode;
use crate::event::Body;
use crate::facts::Facts;
use crate::id::CommandId;
use crate::limits::{CLOCK_AHEAD_MS_MAX, CLOCK_BEHIND_MS_MAX, COMMAND_RETRY_MS_MAX};
use crate::principal::PrincipalKind;
use crate::task::TaskStatus;
use crate::time::Timestamp;
use crate::verification::{Outcome, VerificationSource};

#[test]
fn a_log_belongs_to_an_opened_task() {
    let error = World::new(TASK)
        .give(PrincipalKind::Agent, append("x", None))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    let error = World::new(PROJECT)
        .give(PrincipalKind::Agent, append("x", None))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidScope);
    let error = World::task()
        .give(PrincipalKind::Agent, open("again"))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict);
}

#[test]
fn secrets_are_masked_before_they_are_staged() {
    let mut world = World::task();
    let text = format!("export GITHUB_TOKEN=ghp_{}", "a1B2".repeat(9));
    let submission = world.submission(PrincipalKind::Agent, append(&text, None));
    let decision = decide(
        &world.state,
        &submission,
        &Facts::default(),
        &RulesConfig::default(),
        world.now,
    )
    .unwrap();
    assert!(!format!("{decision:?}").contains("a1B2a1B2"));
    assert!(
        matches!(decision.result, AnswerBody::Appended { masked: 1, .. }),
        "{:?}",
        decision.result
    );
}

#[test]
fn times_far_ahead_are_refused() {
    let mut world = World::task();
    let ahead = world.now.plus_ms(CLOCK_AHEAD_MS_MAX + 1);
    let error = world
        .give(PrincipalKind::Agent, append("x", Some(ahead)))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    let mut submission = world.submission(PrincipalKind::Agent, append("x", None));
    submission.id = CommandId::from_parts(ahead, [1; 10]);
    assert_eq!(
        world.carry_out(&submission).unwrap_err().code,
        ErrorCode::InvalidId
    );
}

#[test]
fn a_command_below_the_floor_is_never_executed() {
    let mut world = World::task();
    let old = world.submission(PrincipalKind::Agent, append("late", None));
    world.now = world.now.plus_ms(COMMAND_RETRY_MS_MAX + 1);
    world
        .give(PrincipalKind::Agent, append("moves the floor", None))
        .unwrap();
    assert_eq!(world.carry_out(&old).unwrap_err().code, ErrorCode::Expired);
}

#[test]
fn behind_a_clock_that_was_ahead_by_hours_a_scope_goes_on_and_by_more_than_a_day_it_waits() {
    let mut world = World::task();
    let tip = world.state.row().tip.time;
    world.now = Timestamp::from_ms(tip.ms() - CLOCK_BEHIND_MS_MAX);
    world
        .give(PrincipalKind::Agent, append("x", None))
        .expect("a day is let pass");
    let row = world.state.row();
    assert_eq!(row.tip.time, tip, "dated by the one before it");
    let longest_retry = 30 * crate::time::DAY_MS;
    assert!(
        world.now.since_ms(row.floor) >= longest_retry,
        "the floor trails by the longest retry"
    );
    world.now = Timestamp::from_ms(tip.ms() - CLOCK_BEHIND_MS_MAX - 1);
    let error = world
        .give(PrincipalKind::Agent, append("y", None))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
}

#[test]
fn promotion_goes_strictly_upward() {
    let passed = |target| {
        verification(
            Outcome::Passed,
            VerificationSource::TestsPassed,
            Some(target),
        )
    };
    for bad in [TASK, "org/a/project/other", "org/z"] {
        let error = World::task()
            .give(PrincipalKind::Orchestrator, passed(bad))
            .unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidPromotion, "{bad}");
    }
    assert!(
        World::task()
            .give(
                PrincipalKind::Orchestrator,
                passed("org/a/project/b/worktree/c")
            )
            .is_ok()
    );
    let error = World::task()
        .give(PrincipalKind::Orchestrator, passed("org/a"))
        .unwrap_err();
    assert_eq!(error.rule(), Some("entries/org"));
    assert!(
        World::task()
            .give(PrincipalKind::Human, passed("org/a"))
            .is_ok()
    );
}

#[test]
fn a_verification_speaks_for_what_came_after_the_last_passed_one() {
    let mut world = World::task();
    let pin = |world: &mut World, outcome, source| {
        world.give(PrincipalKind::Agent, append("x", None)).unwrap();
        match world
            .give(
                PrincipalKind::Orchestrator,
                verification(outcome, source, None),
            )
            .unwrap()
        {
            AnswerBody::Verification { from, through, .. } => (from.get(), through.get()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        pin(&mut world, Outcome::Failed, VerificationSource::TestsFailed),
        (0, 2)
    );
    assert_eq!(
        pin(&mut world, Outcome::Passed, VerificationSource::TestsPassed),
        (0, 4)
    );
    assert_eq!(
        pin(&mut world, Outcome::Passed, VerificationSource::TestsPassed),
        (4, 6)
    );
}

#[test]
fn denials_are_sampled_and_counted() {
    let mut world = World::task();
    let mut noted = Vec::new();
    for _ in 0..4 {
        let submission = world.submission(
            PrincipalKind::Agent,
            verification(Outcome::Passed, VerificationSource::PrMerged, None),
        );
        let error = world.carry_out(&submission).unwrap_err();
        let now = world.now;
        noted.extend(denial(&mut world.state, &submission, &error, now));
        world.now = world.now.plus_ms(400);
    }
    let counts: Vec<u64> = noted
        .iter()
        .map(|body| match body {
            Body::Denied { unsampled, .. } => *unsampled,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        counts,
        [0, 2],
        "the first, and one a second later that counts the two between"
    );
}

#[test]
fn only_a_person_approves_as_a_person() {
    let approval = || verification(Outcome::Passed, VerificationSource::HumanApproved, None);
    let mut world = World::task();
    let error = world
        .give(PrincipalKind::Orchestrator, approval())
        .unwrap_err();
    assert_eq!(error.rule(), Some("verification/human_approved"));
    assert!(world.give(PrincipalKind::Human, approval()).is_ok());
}

#[test]
fn a_failed_verification_does_not_clear_a_halt() {
    let mut world = World::task();
    let give = |world: &mut World, kind, command| world.give(kind, command).unwrap();
    let status = |world: &World| world.state.task().unwrap().status;
    let failed = || verification(Outcome::Failed, VerificationSource::TestsFailed, None);
    let stuck = || Command::MarkStuck {
        reason: "it goes in circles".into(),
    };
    give(&mut world, PrincipalKind::Agent, stuck());
    give(&mut world, PrincipalKind::Orchestrator, failed());
    let task = world.state.task().unwrap();
    assert_eq!(task.status, TaskStatus::Stuck);
    assert_eq!(task.stuck_reason.as_deref(), Some("it goes in circles"));
    // A person takes it out, and after that a failure leaves it open.
    give(&mut world, PrincipalKind::Human, Command::ClearStuck);
    give(&mut world, PrincipalKind::Orchestrator, failed());
    assert_eq!(status(&world), TaskStatus::Open);
    // So does a verification that has passed.
    give(&mut world, PrincipalKind::Agent, stuck());
    let passed = verification(Outcome::Passed, VerificationSource::TestsPassed, None);
    give(&mut world, PrincipalKind::Orchestrator, passed);
    let task = world.state.task().unwrap();
    assert_eq!(
        (task.status, &task.stuck_reason),
        (TaskStatus::Verifying, &None)
    );
}
