//! How promotions end: noted, dropped, and nothing after that.

use proptest::prelude::*;

use super::world::{PROJECT, TASK, World, append, entry, verification};
use crate::command::{AnswerBody, Command, Publish, VerificationRef};
use crate::entry::Table;
use crate::error::ErrorCode;
use crate::id::{EntryId, Seq, VerificationId};
use crate::principal::PrincipalKind;
use crate::promotion::{PublishReport, Standing, Stands};
use crate::scope::Scope;
use crate::task::{Task, TaskStatus};
use crate::verification::{Outcome, VerificationSource};

fn verify(world: &mut World, outcome: Outcome) -> (VerificationId, u64, u64) {
    let source = match outcome {
        Outcome::Passed => VerificationSource::TestsPassed,
        Outcome::Failed => VerificationSource::TestsFailed,
    };
    world.give(PrincipalKind::Agent, append("x", None)).unwrap();
    let command = verification(outcome, source, None);
    match world.give(PrincipalKind::Orchestrator, command).unwrap() {
        AnswerBody::Verification {
            id, from, through, ..
        } => (id, from.get(), through.get()),
        other => panic!("{other:?}"),
    }
}

fn drop_it(world: &mut World, id: VerificationId) -> Result<AnswerBody, ErrorCode> {
    let drop = Command::DropPromotion {
        verification: id,
        reason: "the model never answers".into(),
    };
    let answer = world.give(PrincipalKind::Orchestrator, drop);
    answer.map_err(|error| error.code)
}

fn report() -> PublishReport {
    PublishReport {
        episode: EntryId::from_bytes([1; 16]),
        products: Vec::new(),
        linked_episodes: Vec::new(),
    }
}

fn note(world: &mut World, id: VerificationId) -> Result<AnswerBody, ErrorCode> {
    let note = Command::NotePromoted {
        verification: id,
        target: Scope::parse(PROJECT).unwrap(),
        report: Box::new(report()),
    };
    let answer = world.give(PrincipalKind::System, note);
    answer.map_err(|error| error.code)
}

fn task(world: &World) -> &Task {
    world.state.task().unwrap()
}

#[test]
fn what_only_the_dropped_one_spoke_for_the_next_one_pins_again() {
    let mut world = World::task();
    let (first, from, through) = verify(&mut world, Outcome::Passed);
    assert_eq!((from, through), (0, 2));
    assert_eq!(
        drop_it(&mut world, first),
        Ok(AnswerBody::Task(TaskStatus::Open))
    );
    assert_eq!(task(&world).promotions_pending, 0);
    let (_, from, _) = verify(&mut world, Outcome::Passed);
    assert_eq!(from, 0, "the records of the first are pinned again");
}

#[test]
fn a_later_passed_verification_keeps_what_it_pinned() {
    for reversed in [false, true] {
        let mut world = World::task();
        let (first, _, _) = verify(&mut world, Outcome::Passed);
        let (second, from, through) = verify(&mut world, Outcome::Passed);
        let (one, other) = if reversed {
            (second, first)
        } else {
            (first, second)
        };
        drop_it(&mut world, one).unwrap();
        let left = if reversed { from } else { through };
        assert_eq!(task(&world).verified_through.get(), left);
        assert_eq!(
            task(&world).status,
            TaskStatus::Verifying,
            "the other one is still under way"
        );
        drop_it(&mut world, other).unwrap();
        assert_eq!(
            task(&world).verified_through,
            Seq::ZERO,
            "whichever was dropped first"
        );
        assert_eq!(task(&world).status, TaskStatus::Open);
    }
}

#[test]
fn a_promotion_ends_once_and_only_one_way() {
    let mut world = World::task();
    let (dropped, ..) = verify(&mut world, Outcome::Passed);
    let (noted, ..) = verify(&mut world, Outcome::Failed);
    let unknown = VerificationId::from_bytes([9; 16]);
    assert_eq!(drop_it(&mut world, unknown), Err(ErrorCode::NotFound));
    drop_it(&mut world, dropped).unwrap();
    assert_eq!(drop_it(&mut world, dropped), Err(ErrorCode::Conflict));
    assert_eq!(note(&mut world, dropped), Err(ErrorCode::Conflict));
    note(&mut world, noted).unwrap();
    assert_eq!(note(&mut world, noted), Err(ErrorCode::Conflict));
    assert_eq!(drop_it(&mut world, noted), Err(ErrorCode::Conflict));
}

#[test]
fn a_promotion_whose_mark_is_there_is_not_dropped_though_nothing_notes_it_yet() {
    let mut world = World::task();
    let (id, ..) = verify(&mut world, Outcome::Passed);
    world.standings.get_mut(&id).unwrap().stands = Stands::Published;
    assert_eq!(drop_it(&mut world, id), Err(ErrorCode::Conflict));
}

#[test]
fn commands_of_one_batch_know_what_the_earlier_ones_ended() {
    let mut world = World::task();
    let (first, ..) = verify(&mut world, Outcome::Passed);
    world.in_batch = true;
    let (second, _, through) = verify(&mut world, Outcome::Passed);
    drop_it(&mut world, first).unwrap();
    assert_eq!(
        task(&world).verified_through.get(),
        through,
        "the second one is not stored yet, and counts"
    );
    assert_eq!(drop_it(&mut world, first), Err(ErrorCode::Conflict));
    assert_eq!(note(&mut world, first), Err(ErrorCode::Conflict));
    drop_it(&mut world, second).unwrap();
    assert_eq!(task(&world).verified_through, Seq::ZERO);
}

#[test]
fn nothing_is_published_of_what_is_not_under_way() {
    let mut source = World::task();
    let (id, ..) = verify(&mut source, Outcome::Passed);
    let named = VerificationRef {
        task: Scope::parse(TASK).unwrap(),
        id,
    };
    let publish = Publish {
        source: named.task.clone(),
        verification: source.verifications[&named].clone(),
        products: vec![entry(Table::Episodes, "what happened")],
    };
    let mut target = World::new(PROJECT);
    let publish = || Command::Publish(Box::new(publish.clone()));
    let refused = target.give(PrincipalKind::System, publish()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict, "its job is gone");
    target.standings = source.standings;
    assert!(target.give(PrincipalKind::System, publish()).is_ok());
}

#[test]
fn who_may_not_record_a_verification_may_not_drop_its_promotion_and_a_drop_says_why() {
    let mut world = World::task();
    let (id, ..) = verify(&mut world, Outcome::Passed);
    let drop = |reason: &str| Command::DropPromotion {
        verification: id,
        reason: reason.into(),
    };
    let refused = world.give(PrincipalKind::Agent, drop("why")).unwrap_err();
    assert_eq!(refused.rule(), Some("control/record_verification"));
    let refused = world.give(PrincipalKind::Human, drop(" ")).unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert!(world.give(PrincipalKind::Human, drop("why")).is_ok());
}

/// What happens to a task, the promotion being one of those that were started.
#[derive(Clone, Copy, Debug)]
enum Step {
    Verify(Outcome),
    Drop(usize),
    Note(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any::<bool>().prop_map(|passed| {
            Step::Verify(if passed { Outcome::Passed } else { Outcome::Failed })
        }),
        3 => any::<prop::sample::Index>().prop_map(|which| Step::Drop(which.index(64))),
        2 => any::<prop::sample::Index>().prop_map(|which| Step::Note(which.index(64))),
    ]
}

proptest! {
    /// Whatever is verified, dropped and noted in whatever order: the task says what its passed
    /// verifications speak for that were not dropped, and counts those that are under way.
    #[test]
    fn a_task_follows_from_how_its_promotions_stand(
        steps in proptest::collection::vec((step(), any::<bool>()), 0..24),
    ) {
        let mut world = World::task();
        let mut model: Vec<Standing> = Vec::new();
        for (step, ends_batch) in steps {
            // Within a batch nothing is stored; at its end all of it is.
            world.in_batch = !ends_batch;
            match step {
                Step::Verify(outcome) => {
                    let (verification, _, through) = verify(&mut world, outcome);
                    model.push(Standing {
                        verification,
                        outcome,
                        through: Seq::new(through),
                        stands: Stands::Pending,
                    });
                }
                Step::Drop(which) if !model.is_empty() => {
                    let which = which % model.len();
                    let one = &mut model[which];
                    let is_pending = one.stands == Stands::Pending;
                    prop_assert_eq!(drop_it(&mut world, one.verification).is_ok(), is_pending);
                    if is_pending {
                        one.stands = Stands::Dropped;
                    }
                }
                Step::Note(which) if !model.is_empty() => {
                    let which = which % model.len();
                    let one = &mut model[which];
                    let is_stored = world.standings.contains_key(&one.verification);
                    let is_noted = note(&mut world, one.verification).is_ok();
                    prop_assert_eq!(is_noted, is_stored && one.stands == Stands::Pending);
                    if is_noted {
                        one.stands = Stands::Published;
                    }
                }
                Step::Drop(_) | Step::Note(_) => {}
            }
            if ends_batch {
                world.standings = model.iter().map(|one| (one.verification, *one)).collect();
            }
            let speaks = model.iter().filter(|one| {
                one.outcome == Outcome::Passed && one.stands != Stands::Dropped
            });
            let through = speaks.map(|one| one.through).max().unwrap_or(Seq::ZERO);
            prop_assert_eq!(task(&world).verified_through, through);
            let pending = model.iter().filter(|one| one.stands == Stands::Pending).count();
            if pending == 0 {
                prop_assert!(task(&world).status != TaskStatus::Verifying, "nothing is left to wait for");
            }
            prop_assert_eq!(task(&world).promotions_pending as usize, pending);
        }
    }
}
