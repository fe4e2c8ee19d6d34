//! What a verification publishes of what was proposed: which products, resting on what.

use proptest::prelude::*;

use super::*;
use crate::id::Seq;
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::staging::{LogLevel, RecordKind};
use crate::verification::NewVerification;

fn task() -> Scope {
    Scope::parse("org/a/project/b/worktree/c/task/d").unwrap()
}

fn record(seq: u64) -> RecordId {
    RecordId {
        scope: task(),
        seq: Seq::new(seq),
    }
}

fn verification(outcome: Outcome) -> Verification {
    let passed = outcome == Outcome::Passed;
    Verification {
        id: VerificationId::from_bytes([1; 16]),
        said: NewVerification {
            outcome,
            source: if passed {
                VerificationSource::TestsPassed
            } else {
                VerificationSource::TestsFailed
            },
            run: "run".into(),
            citations: vec![Citation::Commit {
                hash: "0123456789abcdef".into(),
                repository: "r".into(),
            }],
            binding: Binding::NoRepository,
            error: (!passed).then(|| "no route to host".into()),
            approach: (!passed).then(|| "retry at once".into()),
            target: None,
        },
        recorder: Actor {
            kind: PrincipalKind::Orchestrator,
            id: PrincipalId::parse("p").unwrap(),
        },
        time: Timestamp::EPOCH,
        from: Seq::ZERO,
        through: Seq::new(9),
        target: Scope::parse("org/a/project/b").unwrap(),
    }
}

fn input(outcome: Outcome) -> CognifyInput {
    let read = |seq| CognifyRecord {
        id: record(seq),
        time: Timestamp::EPOCH,
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content: "the cap is 30 s".into(),
        end: None,
        metadata: Metadata::default(),
    };
    CognifyInput {
        task: task(),
        title: "Cap the retries".into(),
        description: "They never end.".into(),
        outcome,
        error: None,
        approach: None,
        opening: None,
        records: vec![read(2), read(3)],
        unread: Unread::default(),
    }
}

fn cognition(facts: usize, repeatable: bool, has_skill: bool) -> Cognition {
    let fact = |number: usize| Fact {
        content: format!("Fact {number}."),
        sources: vec![Excerpt {
            record: record(2),
            from: 0,
            to: 7,
        }],
        claim: None,
    };
    Cognition {
        facts: (0..facts).map(fact).collect(),
        critique: "A cap was missing.".into(),
        key_decisions: vec!["cap at 30 s".into()],
        result: "capped".into(),
        score: 0.9,
        repeatable,
        skill: has_skill.then(|| SkillDraft {
            name: "cap-retries".into(),
            description: "Caps retries.".into(),
            code: "min(wait, 30)".into(),
            sources: vec![record(3)],
        }),
        sources: vec![record(2)],
        ..Cognition::default()
    }
}

fn spent() -> Spent {
    Spent {
        prompt_tokens: Some(900),
        ..Spent::nothing("m 1")
    }
}

fn tables(products: &[NewEntry]) -> Vec<Table> {
    products.iter().map(|product| product.table).collect()
}

#[test]
fn a_passed_one_publishes_its_episode_its_facts_and_a_skill() {
    let (said, read) = (verification(Outcome::Passed), input(Outcome::Passed));
    let made = products(&said, &read, &cognition(2, true, true), &spent());
    let expected = [
        Table::Episodes,
        Table::Observations,
        Table::Observations,
        Table::Skills,
    ];
    assert_eq!(tables(&made), expected);
    assert!(made.iter().all(|product| !product.failure));
    let Detail::Episode(episode) = &made[0].detail else {
        panic!("{:?}", made[0])
    };
    assert!(episode.success && episode.task_id == task());
    assert_eq!((episode.task.as_str(), episode.reward), (&*read.title, 0.9));
    let cited = |product: &NewEntry, citation: &Citation| product.citations.contains(citation);
    for product in &made {
        assert_eq!(
            product.citations[0],
            judgement(&said),
            "the judgement first"
        );
        assert!(
            cited(product, &said.said.citations[0]),
            "what the judge cited"
        );
    }
    let stretch = Citation::Excerpt(cognition(1, false, false).facts[0].sources[0].clone());
    assert!(cited(&made[1], &stretch), "a fact names its bytes");
    let whole = input::of_record(&read.records[1]);
    assert!(cited(&made[3], &whole) && !cited(&made[0], &whole));
}

#[test]
fn a_failed_one_publishes_the_failure_and_nothing_else() {
    let (said, read) = (verification(Outcome::Failed), input(Outcome::Failed));
    let made = products(&said, &read, &cognition(5, true, true), &spent());
    let expected = [Table::Episodes, Table::Gotchas, Table::Patterns];
    assert_eq!(tables(&made), expected);
    assert!(made.iter().all(|product| product.failure));
    assert_eq!(made[0].detail.succeeded(), None);
    assert_eq!(made[1].content, "Cap the retries: no route to host");
    assert_eq!(made[2].content, "Failed approach: retry at once");
}

#[test]
fn each_product_says_what_drew_it_and_the_episode_what_that_used() {
    for outcome in [Outcome::Passed, Outcome::Failed] {
        let (said, read) = (verification(outcome), input(outcome));
        let made = products(&said, &read, &cognition(2, true, true), &spent());
        let read: Vec<Option<Spent>> = made.iter().map(|one| Spent::read(&one.metadata)).collect();
        assert_eq!(read[0], Some(spent()));
        let others = Some(Spent::nothing("m 1"));
        assert!(read.len() > 2 && read[1..].iter().all(|one| *one == others));
    }
}

#[test]
fn the_episode_alone_says_what_was_not_read() {
    let mut read = input(Outcome::Passed);
    read.unread = Unread {
        records: 3,
        bytes: 70_000,
    };
    let said = verification(Outcome::Passed);
    let made = products(&said, &read, &cognition(2, true, true), &spent());
    let metadata = made[0].metadata.as_str();
    let unread = r#""unread_bytes":70000,"unread_records":3"#;
    assert!(metadata.contains(unread), "{metadata}");
    let says = |product: &NewEntry| product.metadata.as_str().contains("unread");
    assert!(!made[1..].iter().any(says));
}

proptest! {
    /// Whatever is proposed: an episode comes first and once, no more is made than a promotion may
    /// publish, and a skill is made of what is called repeatable alone.
    #[test]
    fn products_are_bounded_and_begin_with_the_episode(
        facts in 0usize..PRODUCTS_MAX + 4, repeatable: bool, has_skill: bool, passed: bool,
    ) {
        let outcome = if passed { Outcome::Passed } else { Outcome::Failed };
        let proposed = cognition(facts, repeatable, has_skill);
        let made = tables(&products(&verification(outcome), &input(outcome), &proposed, &spent()));
        prop_assert!(made.len() <= PRODUCTS_MAX);
        let places = |table| made.iter().filter(|made| **made == table).count();
        prop_assert_eq!((made[0], places(Table::Episodes)), (Table::Episodes, 1));
        let drafts = usize::from(passed && repeatable && has_skill);
        prop_assert_eq!(places(Table::Skills), drafts);
        prop_assert_eq!(places(Table::Observations) > 0, passed && facts > 0);
    }
}
