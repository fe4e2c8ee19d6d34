//! Fixes that failed: what is recorded of them, what is answered, and what is refused.

use proptest::prelude::*;
use proptest::sample::select;

use super::world::*;
use crate::circular::{
    Approach, ErrorHash, ErrorJudged, ErrorReason, ErrorSeen, FailedApproach, Failures, Verdict,
    Wording, reason_of,
};
use crate::command::{AnswerBody, Command};
use crate::error::ErrorCode;
use crate::event::{Body, FixFailed};
use crate::id::{Seq, VerificationId};
use crate::limits::{
    APPROACH_BYTES_MAX, APPROACH_NAME_BYTES_MAX, APPROACH_NAMES_MAX, BATCH_BYTES_MAX,
    ERROR_TEXT_BYTES_MAX, FAILURE_REASON_BYTES_MAX, WORDED_BYTES_MAX,
};
use crate::membership::WireVersion;
use crate::principal::PrincipalKind::{self, Agent, Human, Orchestrator, System};
use crate::state::Change;
use crate::task::{Closing, TaskStatus};
use crate::verification::{Outcome, Verification, VerificationSource};

const ERROR: &str = "KeyError: 'user_id'";

/// Records a failure: its verification, and what follows from the error.
fn fail(world: &mut World, error: &str) -> (VerificationId, ErrorJudged) {
    let command = failure(Some(error), Some("catch it"), &["src/a.py"]);
    match world.give(Orchestrator, command).unwrap() {
        AnswerBody::Failed {
            id,
            judged: Some(judged),
            ..
        } => (id, judged),
        other => panic!("{other:?}"),
    }
}

fn pass(world: &mut World) {
    let passed = verification(Outcome::Passed, VerificationSource::TestsPassed, None);
    world.give(Orchestrator, passed).unwrap();
}

fn bodies(world: &World) -> Vec<Body> {
    let bodies = world.events.iter().map(|event| event.decode_body());
    bodies.map(|body| body.unwrap().unwrap()).collect()
}

/// The last verification that was recorded, and what failed of its fix, if that was the last event.
fn last(world: &World) -> (Verification, Option<FixFailed>) {
    let mut bodies = bodies(world);
    let fix = match bodies.last() {
        Some(Body::FixFailed(fix)) => Some((**fix).clone()),
        _ => None,
    };
    bodies.truncate(bodies.len() - usize::from(fix.is_some()));
    match bodies.pop() {
        Some(Body::VerificationRecorded(recorded)) => (*recorded, fix),
        other => panic!("{other:?}"),
    }
}

/// The rows of approaches that failed, in the order in which they were written.
fn rows(world: &World) -> Vec<FailedApproach> {
    let changes = world.changes.iter().filter_map(|change| match change {
        Change::ApproachFailed(failed) => Some((**failed).clone()),
        _ => None,
    });
    changes.collect()
}

#[test]
fn a_failure_is_its_verification_and_behind_it_what_failed_in_one_command() {
    let mut world = World::task();
    world.give(Agent, append("x", None)).unwrap();
    let command = failure(Some(ERROR), Some("catch it"), &["src/a.py"]);
    let answer = world.give(Orchestrator, command).unwrap();
    let (recorded, fix) = last(&world);
    let fix = fix.expect("it is told what failed");
    assert_eq!(world.events.len(), 4);
    let expected = AnswerBody::Failed {
        id: recorded.id,
        from: Seq::ZERO,
        through: Seq::new(2),
        target: recorded.target.clone(),
        judged: Some(ErrorJudged {
            verdict: Verdict::Allow,
            reason: ErrorReason::New,
            error: ErrorHash::of(ERROR),
            count: 1,
        }),
    };
    assert_eq!(answer, expected);
    assert_eq!(recorded.said.error.as_deref(), Some(ERROR));
    let approach = Approach {
        text: "catch it".to_owned(),
        files: vec!["src/a.py".to_owned()],
        symbols: Vec::new(),
    };
    let told = FixFailed {
        verification: recorded.id,
        error: Some(ErrorSeen {
            error: ErrorHash::of(ERROR),
            first: recorded.id,
        }),
        approach: Some(approach.clone()),
        reason: reason_of(ERROR),
        wording: Wording::of(&approach),
    };
    assert_eq!(fix, told);
    let headers = world.events[2..].iter();
    let commands: Vec<_> = headers
        .map(|event| event.decode_header().unwrap().command)
        .collect();
    assert_eq!(commands[0], commands[1]);
    let row = FailedApproach {
        task: world.state.scope().clone(),
        seq: Seq::new(4),
        verification: recorded.id,
        wording: Wording::of(&approach),
        approach,
        reason: reason_of(ERROR),
        at: world.now,
    };
    assert_eq!(rows(&world), [row]);
}

#[test]
fn a_failure_that_says_neither_error_nor_approach_is_its_verification_alone() {
    for error in [None, Some(""), Some(" \n")] {
        let mut world = World::task();
        let answer = world.give(Orchestrator, failure(error, None, &[])).unwrap();
        assert!(
            matches!(answer, AnswerBody::Failed { judged: None, .. }),
            "{answer:?}"
        );
        assert_eq!(world.events.len(), 2);
        assert_eq!(last(&world).1, None);
        let task = world.state.task().unwrap();
        assert_eq!(task.failures, Failures::default());
    }
    // An approach alone is told, and judges no error.
    let mut world = World::task();
    let command = failure(None, Some("catch it"), &[]);
    let answer = world.give(Orchestrator, command).unwrap();
    assert!(matches!(answer, AnswerBody::Failed { judged: None, .. }));
    let fix = last(&world).1.unwrap();
    assert_eq!((fix.error, fix.reason.as_str()), (None, ""));
    assert!(fix.approach.is_some());
}

#[test]
fn errors_are_judged_by_what_failed_in_the_task_whoever_recorded_it_until_it_passes() {
    use ErrorReason::{CameBack, New, Repeated, TakesTurns, TooOften};
    let mut world = World::task();
    let verdicts = |world: &mut World, errors: &[&str]| -> Vec<(ErrorReason, u32)> {
        let kinds = [Orchestrator, Human].into_iter().cycle();
        let judged = errors.iter().zip(kinds).map(|(error, kind)| {
            let command = failure(Some(error), None, &[]);
            match world.give(kind, command).unwrap() {
                AnswerBody::Failed {
                    judged: Some(judged),
                    ..
                } => (judged.reason, judged.count),
                other => panic!("{other:?}"),
            }
        });
        judged.collect()
    };
    let (a, b) = ("KeyError: 'a'", "KeyError: 'b'");
    let told = verdicts(&mut world, &[a, b, a, b]);
    assert_eq!(told, [(New, 1), (New, 1), (CameBack, 2), (TakesTurns, 2)]);
    pass(&mut world);
    let told = verdicts(&mut world, &[b, b, b, a]);
    assert_eq!(told, [(New, 1), (Repeated, 2), (TooOften, 3), (New, 1)]);
}

#[test]
fn secrets_are_masked_wherever_they_are_said() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let mut world = World::task();
    let Command::RecordFailure(mut said) = failure(
        Some(&format!("ValueError: {token} is no token")),
        Some(&format!("use {token} in its place")),
        &[&format!("src/{token}.py"), "src/plain.py"],
    ) else {
        panic!("it is a failure")
    };
    said.symbols = vec![token.clone(), "Client::login".to_owned()];
    let answer = world.give(Orchestrator, Command::RecordFailure(said));
    let left = format!("{answer:?} {:?} {:?}", bodies(&world), world.changes);
    assert!(!left.contains(&token), "{left}");
    let fix = last(&world).1.unwrap();
    let approach = fix.approach.unwrap();
    assert_eq!(approach.files[1], "src/plain.py");
    assert_eq!(approach.symbols[1], "Client::login");
    for masked in [
        &fix.reason,
        &approach.text,
        &approach.files[0],
        &approach.symbols[0],
    ] {
        assert!(masked.contains("[masked:github_token]"), "{masked}");
    }
}

#[test]
fn a_secret_that_colours_split_is_masked_wherever_it_is_said() {
    let (head, tail) = ("ghp_abcdefghijklmnopqrstuv", "wxyz0123456789");
    let split = format!("{head}\u{1b}[0m{tail}");
    let mut world = World::task();
    let Command::RecordFailure(mut said) = failure(
        Some(&format!("ValueError: {split} is no token")),
        Some(&format!("use {split} in its place")),
        &[&format!("src/{split}.py")],
    ) else {
        panic!("it is a failure")
    };
    said.symbols = vec![split.clone()];
    let answer = world.give(Orchestrator, Command::RecordFailure(said));
    let left = format!("{answer:?} {:?} {:?}", bodies(&world), world.changes);
    for part in [head, tail] {
        assert!(!left.contains(part), "{left}");
    }
    let (recorded, fix) = last(&world);
    let fix = fix.unwrap();
    let approach = fix.approach.unwrap();
    let error = "ValueError: [masked:github_token] is no token";
    assert_eq!(recorded.said.error.as_deref(), Some(error));
    assert!(fix.reason.contains("is no token"), "{}", fix.reason);
    assert_eq!(approach.text, "use [masked:github_token] in its place");
    // What stands right behind the colour may be the end of the secret.
    assert_eq!(approach.files, ["src/[masked:github_token]"]);
    assert_eq!(approach.symbols, ["[masked:github_token]"]);
}

#[test]
fn an_error_keeps_its_colours_and_an_approach_has_none() {
    let error = "\u{1b}[31mKeyError\u{1b}[0m: 'user_id'";
    let mut world = World::task();
    let approach = "\u{1b}[1mcatch\u{1b}[0m it";
    let command = failure(Some(error), Some(approach), &["src/\u{7}a.py"]);
    world.give(Orchestrator, command).unwrap();
    let (recorded, fix) = last(&world);
    assert_eq!(recorded.said.error.as_deref(), Some(error));
    assert_eq!(recorded.said.approach.as_deref(), Some("catch it"));
    let approach = fix.unwrap().approach.unwrap();
    assert_eq!(
        (&*approach.text, &*approach.files[0]),
        ("catch it", "src/a.py")
    );
    // Nothing but colours says nothing.
    for (approach, file) in [("\u{1b}[0m", "a.py"), ("catch it", "\u{1b}[0m")] {
        let command = failure(Some(error), Some(approach), &[file]);
        let refused = world.give(Orchestrator, command).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
    }
}

#[test]
fn what_is_masked_is_cut_where_there_is_no_room_for_it() {
    // In place of a short secret more stands.
    let line = "password=hunter2x\n";
    let long = line.repeat(ERROR_TEXT_BYTES_MAX / line.len());
    let name = "password=hunter2x;".repeat(APPROACH_NAME_BYTES_MAX / line.len());
    let mut world = World::task();
    let command = failure(Some(&long), Some(&long), &[&name]);
    world.give(Orchestrator, command).unwrap();
    let (recorded, fix) = last(&world);
    let fix = fix.unwrap();
    let approach = fix.approach.unwrap();
    for (text, most) in [
        (recorded.said.error.unwrap(), ERROR_TEXT_BYTES_MAX),
        (recorded.said.approach.unwrap(), ERROR_TEXT_BYTES_MAX),
        (approach.files[0].clone(), APPROACH_NAME_BYTES_MAX),
        (fix.reason, FAILURE_REASON_BYTES_MAX),
    ] {
        assert!(text.len() <= most, "{}", text.len());
        assert!(!text.contains("hunter2x"));
    }
    assert!(
        approach.text.len() > ERROR_TEXT_BYTES_MAX - 100,
        "as much as there is room for"
    );
}

#[test]
fn the_largest_failure_fits_one_value_of_the_store_in_each_of_its_events() {
    /// The most that one value of the store takes.
    const VALUE_BYTES_MAX: usize = 100_000;
    let text = "t".repeat(ERROR_TEXT_BYTES_MAX);
    let name_bytes = (APPROACH_BYTES_MAX - ERROR_TEXT_BYTES_MAX) / (2 * APPROACH_NAMES_MAX);
    let names = vec!["n".repeat(name_bytes); APPROACH_NAMES_MAX];
    let Command::RecordFailure(mut said) = failure(Some(&text), Some(&text), &[]) else {
        panic!("it is a failure")
    };
    (said.files, said.symbols) = (names.clone(), names);
    let mut world = World::task();
    let command = Command::RecordFailure(said);
    world.give(Orchestrator, command).unwrap();
    for event in &world.events {
        let bytes = postcard::to_allocvec(event).unwrap().len();
        assert!(bytes < VALUE_BYTES_MAX - 4_000, "{bytes}");
    }
    let row = rows(&world).pop().unwrap();
    let bytes = postcard::to_allocvec(&row).unwrap().len();
    assert!(bytes < VALUE_BYTES_MAX - 4_000, "{bytes}");
}

/// Bytes of what a failure writes of an error and an approach, and as how much it counts.
fn written_and_counted(error: &str, approach: &str, names: &[String]) -> (usize, usize) {
    let Command::RecordFailure(mut said) = failure(Some(error), Some(approach), &[]) else {
        panic!("it is a failure")
    };
    (said.files, said.symbols) = (names.to_vec(), names.to_vec());
    let command = Command::RecordFailure(said);
    let counted = command.size_bytes();
    let mut world = World::task();
    world.changes.clear();
    world.give(Orchestrator, command).unwrap();
    let bytes = |value: Result<Vec<u8>, postcard::Error>| value.unwrap().len();
    let events = world.events[1..].iter();
    let events: usize = events
        .map(|event| bytes(postcard::to_allocvec(event)))
        .sum();
    let rows = world.changes.iter().map(|change| match change {
        Change::Verification(row) => bytes(postcard::to_allocvec(row)),
        Change::ApproachFailed(row) => bytes(postcard::to_allocvec(row)),
        _ => 0,
    });
    (events + rows.sum::<usize>(), counted)
}

#[test]
fn a_failure_counts_its_texts_as_often_as_they_are_written_and_the_largest_fits_one_transaction() {
    /// The most that one transaction of the store takes, and what stands around the texts.
    const TRANSACTION_BYTES_MAX: usize = 10_000_000;
    const FRAME_BYTES_MAX: usize = 4_000;
    let text = "t".repeat(ERROR_TEXT_BYTES_MAX);
    let name_bytes = (APPROACH_BYTES_MAX - ERROR_TEXT_BYTES_MAX) / (2 * APPROACH_NAMES_MAX);
    let names = vec!["n".repeat(name_bytes); APPROACH_NAMES_MAX];
    let (written, counted) = written_and_counted(&text, &text, &names);
    assert!(written > 2 * (ERROR_TEXT_BYTES_MAX + APPROACH_BYTES_MAX));
    let around = written - FRAME_BYTES_MAX..written + FRAME_BYTES_MAX;
    assert!(around.contains(&counted), "{written} {counted}");
    // A batch holds no more than it has room for, or one command alone.
    assert!(counted.max(BATCH_BYTES_MAX) < TRANSACTION_BYTES_MAX / 8);
    // Of an approach that keeps its wording, that may be most of it.
    let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
    let words = 0..WORDED_BYTES_MAX / 3;
    let words: String = words
        .flat_map(|number| [letter(number), letter(number / 26), ' '])
        .collect();
    let (written, counted) = written_and_counted("e", &words, &[]);
    assert!(written > 4 * WORDED_BYTES_MAX, "{written}");
    assert!(counted + FRAME_BYTES_MAX > written, "{written} {counted}");
    let none = written_and_counted("e", "a", &[]);
    assert!(none.1 + FRAME_BYTES_MAX > none.0, "{none:?}");
}

#[test]
fn what_did_not_fail_or_is_told_of_no_approach_is_refused_and_nothing_recorded() {
    let mut world = World::task();
    let Command::RecordFailure(said) = failure(Some(ERROR), Some("catch it"), &[]) else {
        panic!("it is a failure")
    };
    let mut passed = said.clone();
    passed.said.outcome = Outcome::Passed;
    passed.said.source = VerificationSource::TestsPassed;
    let mut of_nothing = said.clone();
    of_nothing.said.approach = None;
    of_nothing.files = vec!["src/a.py".to_owned()];
    let mut unnamed = said.clone();
    unnamed.symbols = vec![" ".to_owned()];
    let mut many = said.clone();
    many.files = vec!["src/a.py".to_owned(); APPROACH_NAMES_MAX + 1];
    let mut long = said;
    long.said.error = Some("e".repeat(ERROR_TEXT_BYTES_MAX + 1));
    for (wrong, code) in [
        (passed, ErrorCode::InvalidArgument),
        (of_nothing, ErrorCode::InvalidArgument),
        (unnamed, ErrorCode::InvalidArgument),
        (many, ErrorCode::TooLarge),
        (long, ErrorCode::TooLarge),
    ] {
        let refused = world.give(Orchestrator, Command::RecordFailure(wrong));
        assert_eq!(refused.unwrap_err().code, code);
    }
    assert_eq!(world.events.len(), 1);
}

#[test]
fn whoever_may_not_record_a_verification_records_no_failure() {
    for kind in PrincipalKind::ALL {
        let mut world = World::task();
        let given = world.give(kind, failure(Some(ERROR), None, &[]));
        let of_other = world.give(
            kind,
            verification(Outcome::Failed, VerificationSource::TestsFailed, None),
        );
        assert_eq!(given.is_ok(), of_other.is_ok(), "{kind}");
        if let Err(refused) = given {
            assert_eq!(refused.code, ErrorCode::Forbidden);
            assert_eq!(refused.rule(), of_other.unwrap_err().rule());
        }
    }
}

#[test]
fn a_stuck_task_stays_stuck_and_a_closed_one_takes_no_failure() {
    let mut world = World::task();
    let stuck = Command::MarkStuck {
        reason: "it goes in circles".into(),
    };
    world.give(Agent, stuck).unwrap();
    for count in 1..=4 {
        // It is counted as ever, and whatever came up before, nobody is to try anything.
        let (id, judged) = fail(&mut world, ERROR);
        let told = (judged.verdict, judged.reason, judged.count);
        assert_eq!(told, (Verdict::Block, ErrorReason::Stuck, count));
        let task = world.state.task().unwrap();
        assert_eq!(task.status, TaskStatus::Stuck);
        let seen = task.failures.seen(judged.error, id);
        assert_eq!(task.failures.judge(seen).count, count + 1);
    }
    let close = Command::CloseTask {
        closing: Closing::Failed,
        reason: "given up".into(),
    };
    world.give(Human, close).unwrap();
    let refused = world.give(Orchestrator, failure(Some(ERROR), None, &[]));
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidState);
    world.give(System, Command::ArchiveTask).unwrap();
    let refused = world.give(Orchestrator, failure(Some(ERROR), None, &[]));
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidState);
    let mut unopened = World::new(TASK);
    let refused = unopened.give(Orchestrator, failure(Some(ERROR), None, &[]));
    assert_eq!(refused.unwrap_err().code, ErrorCode::NotFound);
    let mut project = World::new(PROJECT);
    let refused = project.give(Orchestrator, failure(Some(ERROR), None, &[]));
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidScope);
}

#[test]
fn whoever_clears_a_stuck_task_and_what_passes_in_it_has_errors_judged_by_what_they_are() {
    let mut world = World::task();
    let stuck = || Command::MarkStuck {
        reason: "it goes in circles".into(),
    };
    world.give(Agent, stuck()).unwrap();
    assert_eq!(fail(&mut world, ERROR).1.reason, ErrorReason::Stuck);
    world.give(Human, Command::ClearStuck).unwrap();
    // What failed meanwhile counts.
    let (_, judged) = fail(&mut world, ERROR);
    assert_eq!((judged.reason, judged.count), (ErrorReason::Repeated, 2));
    world.give(Agent, stuck()).unwrap();
    assert_eq!(fail(&mut world, ERROR).1.reason, ErrorReason::Stuck);
    pass(&mut world);
    let (_, judged) = fail(&mut world, ERROR);
    assert_eq!((judged.reason, judged.count), (ErrorReason::New, 1));
}

#[test]
fn while_an_older_node_lives_a_failure_is_recorded_as_its_verification_and_judged_by_nobody() {
    let mut world = World::task();
    world.spoken = WireVersion::WITH_EVIDENCE;
    for _ in 0..3 {
        let command = failure(Some(ERROR), Some("catch it"), &["src/a.py"]);
        let answer = world.give(Orchestrator, command).unwrap();
        let (recorded, fix) = last(&world);
        assert_eq!(fix, None);
        let expected = AnswerBody::Verification {
            id: recorded.id,
            from: recorded.from,
            through: recorded.through,
            target: recorded.target.clone(),
        };
        assert_eq!(answer, expected);
        assert_eq!(recorded.said.error.as_deref(), Some(ERROR));
        assert_eq!(recorded.said.approach.as_deref(), Some("catch it"));
    }
    let task = world.state.task().unwrap();
    assert_eq!(
        (&task.failures, rows(&world)),
        (&Failures::default(), vec![])
    );
    // What was recorded so counts for nothing, and a wrong form is refused as ever.
    let refused = world.give(Orchestrator, failure(Some(ERROR), None, &["src/a.py"]));
    assert_eq!(refused.unwrap_err().code, ErrorCode::InvalidArgument);
    world.spoken = WireVersion::WITH_FAILURES;
    assert_eq!(fail(&mut world, ERROR).1.reason, ErrorReason::New);
}

#[derive(Clone, Debug)]
enum Step {
    Fail(u8),
    Pass,
    Mark,
    Clear,
    Append,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0_u8..4).prop_map(Step::Fail),
        1 => Just(Step::Pass),
        1 => Just(Step::Mark),
        1 => Just(Step::Clear),
        1 => Just(Step::Append),
    ];
    proptest::collection::vec(step, 1..24)
}

proptest! {
    /// Whatever lies between failures, each is judged by those since the last pass and by whether the task is stuck, and by
    /// nothing else.
    #[test]
    fn a_failure_is_judged_by_those_since_the_last_pass(steps in steps(), lags in select(vec![false, true])) {
        let mut world = World::task();
        world.in_batch = lags;
        let (mut known, mut is_stuck) = (Failures::default(), false);
        for step in steps {
            match step {
                Step::Fail(number) => {
                    let error = format!("KeyError: 'key_{number}'");
                    let (id, judged) = fail(&mut world, &error);
                    let seen = known.seen(ErrorHash::of(&error), id);
                    let mut expected = known.judge(seen);
                    if is_stuck {
                        (expected.verdict, expected.reason) = (Verdict::Block, ErrorReason::Stuck);
                    }
                    prop_assert_eq!(judged, expected);
                    prop_assert_eq!(last(&world).1.unwrap().error, Some(seen));
                    known.came_up(seen, world.state.row().tip.seq);
                }
                Step::Pass => {
                    pass(&mut world);
                    (known, is_stuck) = (Failures::default(), false);
                }
                Step::Mark => {
                    let stuck = Command::MarkStuck { reason: "no way on".into() };
                    // Only an open task is marked.
                    is_stuck |= world.give(Agent, stuck).is_ok();
                }
                Step::Clear => is_stuck &= world.give(Human, Command::ClearStuck).is_err(),
                Step::Append => drop(world.give(Agent, append("x", None))),
            }
        }
        let failed = bodies(&world).iter().filter(|body| matches!(body, Body::FixFailed(_))).count();
        prop_assert_eq!(rows(&world).len(), failed);
    }
}
