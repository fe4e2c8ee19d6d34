//! What becomes of a promotion's products: a skill is published where the success of another task repeats.

use super::governance::{project, task};
use super::world::{PROJECT, START, World};
use crate::command::{AnswerBody, Command, Publish};
use crate::entry::{Binding, Embedding, SpaceId, Table};
use crate::id::{EntryId, Seq, VerificationId};
use crate::ports::{Ranked, SpaceThresholds};
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::promotion::{
    CognifyInput, Cognition, Disposition, NewEntry, PublishReport, SkillDraft, Spent, Standing,
    Stands, Unread, products,
};
use crate::scope::Scope;
use crate::verification::{NewVerification, Outcome, Verification, VerificationSource};

/// A project in which every text lies close to every other one.
fn close_together() -> World {
    let mut world = project();
    world.thresholds = Some(SpaceThresholds {
        merge: 0.95,
        similar: 0.85,
    });
    world
}

fn skill() -> Cognition {
    Cognition {
        repeatable: true,
        skill: Some(SkillDraft {
            name: "cap-retries".into(),
            description: "Caps retries.".into(),
            code: "min(wait, 30)".into(),
            sources: Vec::new(),
        }),
        ..Cognition::default()
    }
}

/// Publishes what a verification of a task is worth whose run is `run`.
fn publish(world: &mut World, of: u32, run: u8, outcome: Outcome) -> PublishReport {
    let source = match outcome {
        Outcome::Passed => VerificationSource::TestsPassed,
        Outcome::Failed => VerificationSource::TestsFailed,
    };
    let verification = Verification {
        id: VerificationId::from_bytes([run; 16]),
        said: NewVerification {
            outcome,
            source,
            run: run.to_string(),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error: None,
            approach: None,
            target: None,
        },
        recorder: Actor {
            kind: PrincipalKind::Orchestrator,
            id: PrincipalId::parse("p").unwrap(),
        },
        time: START,
        from: Seq::ZERO,
        through: Seq::new(9),
        target: Scope::parse(PROJECT).unwrap(),
    };
    let input = CognifyInput {
        task: task(of),
        title: "Cap the retries".into(),
        description: String::new(),
        outcome,
        error: None,
        approach: None,
        opening: None,
        records: Vec::new(),
        unread: Unread::default(),
    };
    let placed = |product: NewEntry| NewEntry {
        embedding: Some(Embedding {
            space: SpaceId("s".into()),
            values: vec![1.0],
        }),
        ..product
    };
    let standing = Standing {
        verification: verification.id,
        outcome,
        through: verification.through,
        stands: Stands::Pending,
    };
    world.standings.insert(verification.id, standing);
    let made = products(&verification, &input, &skill(), &Spent::nothing("m 1"));
    let publish = Publish {
        source: task(of),
        verification,
        products: made.entries.into_iter().map(placed).collect(),
    };
    match world.give(PrincipalKind::System, Command::Publish(Box::new(publish))) {
        Ok(AnswerBody::Published(report)) => *report,
        other => panic!("{other:?}"),
    }
}

/// Has the index find an episode near everything.
fn index(world: &mut World, entry: EntryId) {
    world.near.push(Ranked {
        scope: Scope::parse(PROJECT).unwrap(),
        entry,
        score: 0.99,
    });
}

fn became_of_skill(report: &PublishReport) -> &Disposition {
    let skills = report.products.iter();
    let skill = skills.rev().find(|product| product.table == Table::Skills);
    let skill = skill.expect("a passed verification proposes one");
    assert_eq!(
        skill.entry.is_none(),
        skill.disposition == Disposition::LeftOut
    );
    &skill.disposition
}

#[test]
fn a_success_that_two_tasks_had_is_a_skill_and_one_that_a_task_had_twice_is_none() {
    for is_indexed in [true, false] {
        let mut world = close_together();
        world.index_lags = !is_indexed;
        let first = publish(&mut world, 0, 1, Outcome::Passed);
        assert_eq!(became_of_skill(&first), &Disposition::LeftOut, "once");
        if is_indexed {
            index(&mut world, first.episode);
        }
        let again = publish(&mut world, 0, 2, Outcome::Passed);
        assert_eq!(again.linked_episodes, [first.episode]);
        assert_eq!(became_of_skill(&again), &Disposition::LeftOut, "one task");
        let other = publish(&mut world, 1, 3, Outcome::Passed);
        assert!(other.linked_episodes.contains(&first.episode));
        assert_eq!(became_of_skill(&other), &Disposition::Created, "two tasks");
    }
}

#[test]
fn what_another_task_failed_at_is_no_success_to_repeat() {
    for is_indexed in [true, false] {
        let mut world = close_together();
        world.index_lags = !is_indexed;
        let failed = publish(&mut world, 0, 1, Outcome::Failed);
        assert!(
            failed
                .products
                .iter()
                .all(|product| product.entry.is_some())
        );
        if is_indexed {
            // The index searches either failures or the rest; the rules do not lean on it.
            index(&mut world, failed.episode);
        }
        let passed = publish(&mut world, 1, 2, Outcome::Passed);
        assert!(passed.linked_episodes.is_empty());
        assert_eq!(became_of_skill(&passed), &Disposition::LeftOut);
    }
}

#[test]
fn what_one_task_had_verified_again_and_again_does_not_hide_the_success_of_another() {
    let mut world = close_together();
    let other = publish(&mut world, 1, 0, Outcome::Passed);
    for run in 1..=9 {
        let again = publish(&mut world, 0, run, Outcome::Passed);
        assert_eq!(became_of_skill(&again), &Disposition::LeftOut, "one task");
        index(&mut world, again.episode);
    }
    // It lies behind all of those.
    index(&mut world, other.episode);
    let last = publish(&mut world, 0, 10, Outcome::Passed);
    assert_eq!(became_of_skill(&last), &Disposition::Created, "two tasks");
}
