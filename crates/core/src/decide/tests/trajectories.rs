//! Trajectories: what is stored of them, by whom and when, and what is refused.

use proptest::prelude::*;
use proptest::sample::select;

use super::world::*;
use crate::bank::{Ended, NewTrajectory, Reward, Step, Trajectory};
use crate::circular::{Approach, Wording};
use crate::citation::Excerpt;
use crate::command::{AnswerBody, Command};
use crate::erasure::Erase;
use crate::error::ErrorCode;
use crate::event::Body;
use crate::facts::RecordFact;
use crate::id::{RecordId, Seq};
use crate::limits::{
    BATCH_BYTES_MAX, TRAJECTORY_APPROACH_BYTES_MAX, TRAJECTORY_LESSON_BYTES_MAX,
    TRAJECTORY_STEPS_MAX,
};
use crate::membership::WireVersion;
use crate::principal::PrincipalKind::{self, Agent, Human, Orchestrator, System};
use crate::scope::Scope;
use crate::state::Change;
use crate::task::{Closing, TaskStatus};
use crate::verification::{Outcome, VerificationSource};

/// A secret of which no file of the project holds the whole.
fn secret() -> String {
    ["gh", "p_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9"].concat()
}

fn step(record: u64) -> Step {
    Step {
        record: Seq::new(record),
        bytes: None,
    }
}

fn new(ended: Ended) -> NewTrajectory {
    NewTrajectory {
        kind: "bugfix".parse().unwrap(),
        approach: Approach {
            text: "cache the parsed headers".to_owned(),
            files: vec!["src/http.rs".to_owned()],
            symbols: Vec::new(),
        },
        ended,
        reward: Reward::of(-0.5).unwrap(),
        lesson: "headers change between requests".to_owned(),
        steps: vec![step(2)],
    }
}

fn store(new: NewTrajectory) -> Command {
    Command::StoreTrajectory(Box::new(new))
}

fn close(closing: Closing) -> Command {
    Command::CloseTask {
        closing,
        reason: String::new(),
    }
}

/// A task with a record, closed so.
fn closed(closing: Closing) -> World {
    let mut world = logged();
    world.give(Orchestrator, close(closing)).unwrap();
    world
}

/// A task with one record, which is known to stand there.
fn logged() -> World {
    let mut world = World::task();
    world.give(Agent, append("tried it", None)).unwrap();
    let id = RecordId {
        scope: world.state.scope().clone(),
        seq: Seq::new(2),
    };
    world.records.insert(id, RecordFact::Log);
    world
}

fn rows(world: &World) -> Vec<Trajectory> {
    let changes = world.changes.iter().filter_map(|change| match change {
        Change::TrajectoryStored(stored) => Some((**stored).clone()),
        _ => None,
    });
    changes.collect()
}

fn code(world: &mut World, kind: PrincipalKind, new: NewTrajectory) -> Option<ErrorCode> {
    world.give(kind, store(new)).err().map(|error| error.code)
}

#[test]
fn a_trajectory_is_one_event_and_one_row_which_its_answer_names() {
    let mut world = closed(Closing::Failed);
    let told = new(Ended::Failed);
    let answer = world.give(Orchestrator, store(told.clone())).unwrap();
    let seq = Seq::new(4);
    assert_eq!(answer, AnswerBody::TrajectoryStored { seq });
    let row = Trajectory {
        task: Scope::parse(TASK).unwrap(),
        seq,
        at: world.now,
        kind: told.kind,
        title: "t".to_owned(),
        wording: Wording::of(&told.approach),
        approach: told.approach,
        ended: told.ended,
        reward: told.reward,
        lesson: told.lesson,
        titled: Wording::of(&Approach {
            text: "t".to_owned(),
            ..Approach::default()
        }),
    };
    assert_eq!(rows(&world), [row]);
    let event = world.event(seq).unwrap().body.unwrap();
    let Body::TrajectoryStored(stored) = event else {
        panic!("{event:?}")
    };
    assert_eq!(stored.steps, told.steps);
    assert_eq!(world.state.task().unwrap().status, TaskStatus::Failed);
}

#[test]
fn an_orchestrator_alone_stores_one() {
    for kind in [Agent, Human, System] {
        let mut world = closed(Closing::Done);
        let refused = code(&mut world, kind, new(Ended::Failed));
        assert_eq!(refused, Some(ErrorCode::Forbidden), "{kind}");
        assert_eq!(rows(&world), []);
    }
}

#[test]
fn a_task_that_goes_on_has_none_and_one_that_was_given_up_did_not_succeed() {
    let invalid = Some(ErrorCode::InvalidState);
    for ended in Ended::ALL {
        let mut world = logged();
        assert_eq!(code(&mut world, Orchestrator, new(ended)), invalid);
        let stuck = Command::MarkStuck { reason: "r".into() };
        world.give(Agent, stuck).unwrap();
        assert_eq!(code(&mut world, Orchestrator, new(ended)), invalid);
        let mut verifying = logged();
        let passed = verification(Outcome::Passed, VerificationSource::TestsPassed, None);
        verifying.give(Orchestrator, passed).unwrap();
        assert_eq!(code(&mut verifying, Orchestrator, new(ended)), None);
        let mut done = closed(Closing::Done);
        assert_eq!(code(&mut done, Orchestrator, new(ended)), None);
        done.give(System, Command::ArchiveTask).unwrap();
        assert_eq!(code(&mut done, Orchestrator, new(ended)), invalid);
    }
    let mut failed = closed(Closing::Failed);
    let succeeded = code(&mut failed, Orchestrator, new(Ended::Succeeded));
    assert_eq!(succeeded, invalid);
    assert_eq!(code(&mut failed, Orchestrator, new(Ended::Failed)), None);
}

#[test]
fn steps_stand_in_the_log_of_the_task_and_follow_one_another() {
    let excerpt = Step {
        record: Seq::new(2),
        bytes: Some((0, 5)),
    };
    let (unresolvable, invalid) = (
        Some(ErrorCode::UnresolvableCitation),
        Some(ErrorCode::InvalidArgument),
    );
    for (steps, expected) in [
        (vec![step(2)], None),
        (vec![step(2), excerpt], None),
        (vec![excerpt, step(2)], invalid),
        (vec![step(2), step(2)], invalid),
        (vec![], invalid),
        (vec![step(1)], unresolvable),
        (vec![step(2), step(9)], unresolvable),
        (
            vec![Step {
                bytes: Some((0, 6)),
                ..excerpt
            }],
            unresolvable,
        ),
    ] {
        let mut world = closed(Closing::Done);
        world.excerpts.insert(Excerpt {
            record: excerpt.record_of(world.state.scope()),
            from: 0,
            to: 5,
        });
        let new = NewTrajectory {
            steps: steps.clone(),
            ..new(Ended::Failed)
        };
        assert_eq!(code(&mut world, Orchestrator, new), expected, "{steps:?}");
    }
}

#[test]
fn what_is_too_large_is_refused_and_the_largest_is_stored() {
    let large = Some(ErrorCode::TooLarge);
    let approach = |bytes: usize| Approach {
        text: "t".repeat(bytes - 1),
        files: vec!["f".to_owned()],
        symbols: Vec::new(),
    };
    let steps = |count: usize| -> Vec<Step> {
        let bytes = (0..).zip(1..).map(|bytes| Step {
            record: Seq::new(2),
            bytes: Some(bytes),
        });
        bytes.take(count).collect()
    };
    for (over, expected) in [(0, None), (1, large)] {
        for one in [
            NewTrajectory {
                approach: approach(TRAJECTORY_APPROACH_BYTES_MAX + over),
                ..new(Ended::Failed)
            },
            NewTrajectory {
                lesson: "l".repeat(TRAJECTORY_LESSON_BYTES_MAX + over),
                ..new(Ended::Failed)
            },
            NewTrajectory {
                steps: steps(TRAJECTORY_STEPS_MAX + over),
                ..new(Ended::Failed)
            },
        ] {
            let mut world = closed(Closing::Done);
            for step in &one.steps {
                world.excerpts.extend(step.excerpt_of(world.state.scope()));
            }
            assert!(store(one.clone()).size_bytes() < BATCH_BYTES_MAX);
            assert_eq!(code(&mut world, Orchestrator, one), expected);
        }
    }
}

#[test]
fn secrets_are_masked_in_all_that_is_told() {
    let mut world = closed(Closing::Done);
    let told = NewTrajectory {
        approach: Approach {
            text: format!("use {}", secret()),
            files: vec![secret()],
            symbols: vec![secret()],
        },
        lesson: format!("never {}", secret()),
        ..new(Ended::Failed)
    };
    world.give(Orchestrator, store(told)).unwrap();
    let stored = format!("{:?} {:?}", rows(&world), world.event(Seq::new(4)));
    assert!(!stored.contains(&secret()), "{stored}");
    assert!(stored.contains("[masked:"), "{stored}");
}

#[test]
fn while_an_older_node_lives_none_is_stored() {
    let mut world = closed(Closing::Done);
    world.spoken = WireVersion::WITH_FAILURES;
    let refused = code(&mut world, Orchestrator, new(Ended::Failed));
    assert_eq!(refused, Some(ErrorCode::Unavailable));
}

#[test]
fn what_is_erased_of_one_leaves_what_it_was_worth_and_no_row() {
    let mut world = closed(Closing::Failed);
    world.give(Orchestrator, store(new(Ended::Failed))).unwrap();
    let seq = Seq::new(4);
    let order = Command::Erase(Box::new(Erase {
        records: vec![seq],
        reason: "asked for".into(),
        ..Erase::default()
    }));
    let answer = world.give(Human, order.clone()).unwrap();
    assert!(matches!(answer, AnswerBody::Erased { events: 1, .. }));
    let gone = Change::TrajectoryErased(seq, world.now);
    assert_eq!(world.changes.last(), Some(&gone));
    let Body::ContentErased(erased) = world.event(Seq::new(5)).unwrap().body.unwrap() else {
        panic!("an erasure")
    };
    let Body::TrajectoryStored(rest) = &erased.events[0].rest else {
        panic!("a trajectory")
    };
    assert_eq!(rest.approach, Approach::default());
    assert_eq!((&*rest.lesson, &*rest.title), ("", ""));
    assert_eq!(
        (&rest.wording, &rest.titled),
        (&Wording::default(), &Wording::default())
    );
    assert_eq!((rest.ended, rest.reward.get()), (Ended::Failed, -0.5));
    assert_eq!(rest.steps, [step(2)]);
    let again = world.give(Human, order).unwrap();
    assert_eq!(answer_known(&again), 1);
}

fn answer_known(answer: &AnswerBody) -> u32 {
    match answer {
        AnswerBody::Erased { known, .. } => *known,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn a_reward_is_a_number_from_minus_one_to_one(value in prop_oneof![
        any::<f64>(), -2.0..2.0, select(vec![-1.0, 1.0, 0.0, -0.0, f64::NAN, f64::INFINITY]),
    ]) {
        let fits = (-1.0..=1.0).contains(&value);
        prop_assert_eq!(Reward::of(value).is_ok(), fits);
        if let Ok(reward) = Reward::of(value) {
            let stored = postcard::to_allocvec(&reward).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Reward>(&stored).unwrap(), reward);
            prop_assert!(reward.get().is_sign_positive() || reward.get() < 0.0);
        }
        // What is stored is held against the same bounds.
        let stored = postcard::to_allocvec(&value).unwrap();
        prop_assert_eq!(postcard::from_bytes::<Reward>(&stored).is_ok(), fits);
    }
}
