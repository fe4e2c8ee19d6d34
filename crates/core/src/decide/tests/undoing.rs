//! Promotions that are taken back: what they made, what that replaced, what they supported.

use proptest::prelude::*;

use super::governance::{answer, human, project, questions, task};
use super::world::{PROJECT, START, World, entry, supersede};
use crate::citation::Citation;
use crate::command::{AnswerBody, Command, Publish, Replacement, VerificationRef};
use crate::entry::{Binding, Detail, Embedding, Episode, Head, SpaceId, Status, Table};
use crate::error::ErrorCode;
use crate::id::{EntryId, RecordId, ReviewId, Seq, VerificationId};
use crate::ports::{Ranked, SpaceThresholds};
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::promotion::{NewEntry, Standing, Stands};
use crate::retention::Retirement;
use crate::review::Question;
use crate::scope::Scope;
use crate::time::DAY_MS;
use crate::verification::{NewVerification, Outcome, Verification, VerificationSource};

mod older;
mod repeats;

/// A verification that was recorded for the first task, and what it publishes.
fn promotion(run: &str, facts: &[NewEntry]) -> (VerificationRef, Verification, Command) {
    let said = NewVerification {
        outcome: Outcome::Passed,
        source: VerificationSource::TestsPassed,
        run: run.into(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: None,
        approach: None,
        target: None,
    };
    let bytes: [u8; 16] = core::array::from_fn(|place| *run.as_bytes().get(place).unwrap_or(&0));
    let verification = Verification {
        id: VerificationId::from_bytes(bytes),
        said,
        recorder: Actor {
            kind: PrincipalKind::Orchestrator,
            id: PrincipalId::parse("p").unwrap(),
        },
        time: START,
        from: Seq::ZERO,
        through: Seq::new(9),
        target: Scope::parse(PROJECT).unwrap(),
    };
    let episode = Episode {
        task_id: task(0),
        task: run.into(),
        critique: String::new(),
        reward: 1.0,
        success: true,
        input: String::new(),
        output: String::new(),
        key_decisions: Vec::new(),
        causal_edges: Vec::new(),
    };
    let episode = NewEntry {
        detail: Detail::Episode(Box::new(episode)),
        ..entry(Table::Episodes, run)
    };
    let source = Citation::Log {
        id: RecordId {
            scope: task(0),
            seq: Seq::new(3),
        },
        time: START,
    };
    let cited = |product: &NewEntry| NewEntry {
        citations: vec![source.clone()],
        ..product.clone()
    };
    let products = core::iter::once(&episode).chain(facts).map(cited).collect();
    let publish = Publish {
        source: task(0),
        verification: verification.clone(),
        products,
    };
    let named = VerificationRef {
        task: task(0),
        id: verification.id,
    };
    (named, verification, Command::Publish(Box::new(publish)))
}

/// Publishes a promotion whose job is under way.
fn publish(
    world: &mut World,
    promotion: (VerificationRef, Verification, Command),
) -> VerificationRef {
    publish_asking(world, promotion).0
}

/// The same, with the questions that it raises.
fn publish_asking(
    world: &mut World,
    promotion: (VerificationRef, Verification, Command),
) -> (VerificationRef, Vec<(ReviewId, Question)>) {
    let (named, recorded, publish) = promotion;
    let standing = Standing {
        verification: recorded.id,
        outcome: recorded.said.outcome,
        through: recorded.through,
        stands: Stands::Pending,
    };
    world.standings.insert(recorded.id, standing);
    world.verifications.insert(named.clone(), recorded);
    let raised = questions(world, PrincipalKind::System, publish);
    (named, raised)
}

/// A promotion whose fact a person found to say what an entry says that is held already.
struct Merged {
    named: VerificationRef,
    /// The entry that got what the fact was worth, as it was before.
    before: Head,
}

fn approved_merge(world: &mut World) -> Merged {
    let placed = |content: &str| NewEntry {
        embedding: Some(Embedding {
            space: SpaceId("s".into()),
            values: vec![1.0],
        }),
        ..entry(Table::Observations, content)
    };
    world.thresholds = Some(SpaceThresholds {
        merge: 0.95,
        similar: 0.85,
    });
    let (known, _) = world
        .put(PrincipalKind::Human, placed("Retries need a cap."))
        .unwrap();
    let before = world.state.head(known).unwrap().clone();
    world.near = vec![Ranked {
        scope: Scope::parse(PROJECT).unwrap(),
        entry: known,
        score: 0.9,
    }];
    let promoted = promotion("two", &[placed("Put a cap on retries.")]);
    // The index has not heard of it when the question is answered: its text is in the state alone.
    world.index_lags = true;
    let (named, raised) = publish_asking(world, promoted);
    let [(review, Question::Merge { new, .. })] = raised.as_slice() else {
        panic!("{raised:?}")
    };
    world.versions.remove(new);
    world
        .give(PrincipalKind::Human, answer(*review, true, None))
        .unwrap();
    world.index_lags = false;
    world.merges.insert(*new, known);
    Merged { named, before }
}

#[test]
fn undoing_takes_back_what_an_approved_merge_handed_on() {
    let mut world = project();
    let Merged { named, before } = approved_merge(&mut world);
    let known = before.id;
    let merged = world.state.head(known).unwrap().clone();
    assert_eq!(merged.trust.validation_count, 3);
    let undone = world.give(PrincipalKind::Human, undo(&named)).unwrap();
    let AnswerBody::Undone { revised, left, .. } = undone else {
        panic!("{undone:?}")
    };
    assert_eq!((revised.as_slice(), left.len()), ([known].as_slice(), 0));
    let after = world.state.head(known).unwrap();
    // The person's own word stays, and the person's answer that the two say the same.
    assert_eq!(after.trust.validation_count, 2);
    assert_eq!(after.citations, before.citations);
    assert_eq!(after.status, Status::Verified);
}

fn undo(promotion: &VerificationRef) -> Command {
    Command::UndoPromotion {
        promotion: promotion.clone(),
        reason: "it was the wrong branch".into(),
    }
}

#[test]
fn undoing_takes_back_what_a_promotion_made_and_what_it_supported() {
    let mut world = project();
    let fact = entry(Table::Observations, "the linker is mold");
    let first = publish(&mut world, promotion("one", core::slice::from_ref(&fact)));
    let known = world.marks[&(first.task.clone(), first.id)].products[1]
        .entry
        .unwrap();
    let before = world.state.head(known).unwrap().clone();
    let second = publish(
        &mut world,
        promotion("two", &[fact, entry(Table::Observations, "CI runs on arm")]),
    );
    assert_eq!(world.state.head(known).unwrap().trust.validation_count, 2);

    let denied = world.give(PrincipalKind::Orchestrator, undo(&second));
    assert_eq!(
        denied.unwrap_err().rule(),
        Some("control/decide_from_project")
    );
    let undone = world.give(PrincipalKind::Human, undo(&second)).unwrap();
    let AnswerBody::Undone {
        retired,
        restored,
        revised,
        left,
    } = undone
    else {
        panic!("{undone:?}")
    };
    assert_eq!((retired.len(), restored.len(), left.len()), (2, 0, 0));
    assert_eq!(revised, [known]);
    let after = world.state.head(known).unwrap();
    assert!((after.trust.confidence - before.trust.confidence).abs() < 1e-12);
    assert_eq!(after.trust.counted, before.trust.counted);
    assert_eq!(after.status, before.status);
    for id in retired {
        assert_eq!(world.state.head(id).unwrap().status, Status::Archived);
    }
    let again = world.give(PrincipalKind::Human, undo(&second)).unwrap_err();
    assert_eq!(again.code, ErrorCode::Conflict);
    let unknown = VerificationRef {
        task: task(1),
        id: second.id,
    };
    let unknown = world
        .give(PrincipalKind::Human, undo(&unknown))
        .unwrap_err();
    assert_eq!(unknown.code, ErrorCode::NotFound);
}

#[test]
fn undoing_gives_back_what_was_replaced() {
    let mut world = project();
    let old = human(&mut world, Table::Observations, "the linker is lld");
    let named = publish(
        &mut world,
        promotion("one", &[entry(Table::Observations, "the linker is mold")]),
    );
    let new = world.marks[&(named.task.clone(), named.id)].products[1]
        .entry
        .unwrap();
    world
        .give(
            PrincipalKind::Human,
            supersede(old, 1, Replacement::Existing(new)),
        )
        .unwrap();
    assert_eq!(world.state.head(old).unwrap().status, Status::Deprecated);
    let undone = world.give(PrincipalKind::Human, undo(&named)).unwrap();
    let AnswerBody::Undone { restored, .. } = undone else {
        panic!("{undone:?}")
    };
    assert_eq!(restored, [old]);
    let head = world.state.head(old).unwrap();
    assert_eq!((head.status, head.line_head), (Status::Verified, old));
    assert_eq!(head.lifecycle.superseded_by, None);
    crate::invariants::one_head_of_line(&[head]).unwrap();
    crate::invariants::one_head_of_line(&[world.state.head(new).unwrap()]).unwrap();
    let (again, disposition) = world
        .put(
            PrincipalKind::Human,
            entry(Table::Observations, "the linker is lld"),
        )
        .unwrap();
    assert_eq!(again, old, "its text is found again: {disposition:?}");
}

#[test]
fn what_was_taken_back_while_it_was_replaced_is_not_given_back() {
    let mut world = project();
    let oldest = human(&mut world, Table::Observations, "the linker is ld");
    let mut made = Vec::new();
    for (run, linker) in [("one", "lld"), ("two", "gold"), ("three", "mold")] {
        let fact = entry(Table::Observations, &format!("the linker is {linker}"));
        let named = publish(&mut world, promotion(run, &[fact]));
        let products = &world.marks[&(named.task.clone(), named.id)].products;
        let id = products[1].entry.unwrap();
        let old = made.last().map_or(oldest, |(_, id)| *id);
        let replace = supersede(old, 1, Replacement::Existing(id));
        world.give(PrincipalKind::Human, replace).unwrap();
        made.push((named, id));
    }
    let [(first, one), (second, two), (third, three)] = made.try_into().unwrap();
    for (named, id) in [(first, one), (second, two)] {
        let undone = world.give(PrincipalKind::Human, undo(&named)).unwrap();
        let AnswerBody::Undone {
            retired,
            restored,
            left,
            ..
        } = undone
        else {
            panic!("{undone:?}")
        };
        assert!(retired.contains(&id), "{retired:?}");
        assert_eq!((restored.len(), left.len()), (0, 0));
        assert_eq!(world.state.head(id).unwrap().status, Status::Archived);
    }
    assert_eq!(world.state.head(three).unwrap().status, Status::Verified);
    let undone = world.give(PrincipalKind::Human, undo(&third)).unwrap();
    let AnswerBody::Undone { restored, .. } = undone else {
        panic!("{undone:?}")
    };
    assert_eq!(restored, [oldest], "and none of what was taken back");
    for id in [one, two, three] {
        let head = world.state.head(id).unwrap();
        assert_eq!(head.status, Status::Archived);
    }
    let head = world.state.head(oldest).unwrap();
    assert_eq!((head.status, head.line_head), (Status::Verified, oldest));
    assert_eq!(head.lifecycle.superseded_by, None);
}

#[test]
fn what_a_promotion_made_and_replaced_itself_goes_with_it() {
    for (first, second) in [(1, 2), (2, 1)] {
        let mut world = project();
        let facts = ["the port is 80", "the host is beta"];
        let facts = facts.map(|text| entry(Table::Observations, text));
        let named = publish(&mut world, promotion("one", &facts));
        let products = &world.marks[&(named.task.clone(), named.id)].products;
        let [old, new] = [first, second].map(|place: usize| products[place].entry.unwrap());
        let replace = supersede(old, 1, Replacement::Existing(new));
        world.give(PrincipalKind::Human, replace).unwrap();
        let undone = world.give(PrincipalKind::Human, undo(&named)).unwrap();
        let AnswerBody::Undone {
            retired,
            restored,
            left,
            ..
        } = undone
        else {
            panic!("{undone:?}")
        };
        assert_eq!((retired.len(), restored.len(), left.len()), (3, 0, 0));
        for id in [old, new] {
            assert!(retired.contains(&id));
            assert_eq!(world.state.head(id).unwrap().status, Status::Archived);
        }
    }
}

#[test]
fn what_another_validation_rests_on_too_stays_cited() {
    let mut world = project();
    let fact = entry(Table::Observations, "the linker is mold");
    let first = publish(&mut world, promotion("ci-7", core::slice::from_ref(&fact)));
    let known = world.marks[&(first.task.clone(), first.id)].products[1]
        .entry
        .unwrap();
    // Another promotion of the same run says the same, and is taken back.
    let (mut named, mut recorded, publish_it) = promotion("ci-7", &[fact]);
    let Command::Publish(mut again) = publish_it else {
        panic!("it publishes")
    };
    recorded.id = VerificationId::from_bytes([9; 16]);
    again.verification = recorded.clone();
    named.id = recorded.id;
    let second = publish(&mut world, (named, recorded, Command::Publish(again)));
    let undone = world.give(PrincipalKind::Human, undo(&second)).unwrap();
    let AnswerBody::Undone { .. } = undone else {
        panic!("{undone:?}")
    };
    let head = world.state.head(known).unwrap();
    assert_eq!(head.status, Status::Verified);
    assert!(head.citations.iter().any(Citation::can_verify));
}

/// One of the things that may be done to what a promotion published, in any order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Undo,
    /// All that is held has its time over.
    Retire,
    /// Somebody brings back all that may come back.
    Restore,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = proptest::sample::select(vec![Step::Undo, Step::Retire, Step::Restore]);
    proptest::collection::vec(step, 0..7)
}

fn take(world: &mut World, step: Step, named: &VerificationRef, entries: &[EntryId]) {
    match step {
        // It may have been undone before.
        Step::Undo => drop(world.give(PrincipalKind::Human, undo(named))),
        Step::Retire => {
            world.now = world.now.plus_ms(91 * DAY_MS);
            let retire = Command::Retire {
                entries: entries.iter().map(|entry| (*entry, 1)).collect(),
                why: Retirement::Aged,
            };
            world.give(PrincipalKind::System, retire).unwrap();
        }
        Step::Restore => {
            for entry in entries {
                let reason = "the clock was wrong".into();
                let restore = Command::RestoreEntry {
                    entry: *entry,
                    reason,
                };
                drop(world.give(PrincipalKind::Human, restore));
            }
        }
    }
}

proptest! {
    /// In whatever order entries leave for their age, come back and a promotion is taken back: nothing that it made is
    /// held in the end, and nothing is held for what it said.
    #[test]
    fn what_an_undone_promotion_gave_does_not_come_back(before in steps(), after in steps()) {
        let mut world = project();
        let known = human(&mut world, Table::Observations, "the linker is mold");
        let worth = world.state.head(known).unwrap().clone();
        let facts = ["the linker is mold", "CI runs on arm"];
        let facts = facts.map(|text| entry(Table::Observations, text));
        let named = publish(&mut world, promotion("one", &facts));
        let products = world.marks[&(named.task.clone(), named.id)].products.clone();
        let made: Vec<EntryId> = [0, 2].map(|place: usize| products[place].entry.unwrap()).into();
        prop_assert_eq!(products[1].entry, Some(known));
        let all: Vec<EntryId> = made.iter().copied().chain([known]).collect();
        for step in before.iter().chain(&[Step::Undo]).chain(&after) {
            take(&mut world, *step, &named, &all);
        }
        for id in &made {
            prop_assert_eq!(world.state.head(*id).unwrap().status, Status::Archived);
        }
        let (head, status) = (world.state.head(known).unwrap().clone(), worth.status);
        prop_assert_eq!(&head.trust.counted, &worth.trust.counted);
        prop_assert_eq!(&head.citations, &worth.citations);
        prop_assert!(head.trust.confidence <= worth.trust.confidence + 1e-12);
        // What a person wrote comes back as that.
        take(&mut world, Step::Restore, &named, &all);
        prop_assert_eq!(world.state.head(known).unwrap().status, status);
        let again = world.give(PrincipalKind::Human, undo(&named)).unwrap_err();
        prop_assert_eq!(again.code, ErrorCode::Conflict);
    }
}

#[test]
fn what_an_aged_entry_had_replaced_holds_again() {
    let mut world = project();
    let old = human(&mut world, Table::Observations, "the linker is lld");
    let fact = entry(Table::Observations, "the linker is mold");
    let named = publish(&mut world, promotion("one", &[fact]));
    let products = &world.marks[&(named.task.clone(), named.id)].products;
    let new = products[1].entry.unwrap();
    let replace = supersede(old, 1, Replacement::Existing(new));
    world.give(PrincipalKind::Human, replace).unwrap();
    take(&mut world, Step::Retire, &named, &[new]);
    let undone = world.give(PrincipalKind::Human, undo(&named)).unwrap();
    let AnswerBody::Undone {
        retired, restored, ..
    } = undone
    else {
        panic!("{undone:?}")
    };
    assert!(retired.contains(&new));
    assert_eq!(restored, [old]);
    assert_eq!(world.state.head(old).unwrap().status, Status::Verified);
}
