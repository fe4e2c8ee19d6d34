//! What a verification publishes of what was proposed: which products, resting on what.

use proptest::prelude::*;

use super::*;
use crate::entry::SpaceId;
use crate::id::Seq;
use crate::limits::{
    CITATION_BYTES_MAX, COGNITION_CHOICES_MAX, COGNITION_EDGES_MAX, EMBEDDING_DIMENSIONS_MAX,
    ENTRY_BYTES_MAX, EPISODE_DETAIL_BYTES_MAX, PRODUCTS_BYTES_MAX,
};
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::secret::mask;
use crate::staging::{LogLevel, RecordKind};
use crate::verification::NewVerification;

fn task() -> Scope {
    Scope::parse("org/a/project/b/worktree/c/task/d").unwrap()
}

pub(super) fn record(seq: u64) -> RecordId {
    RecordId {
        scope: task(),
        seq: Seq::new(seq),
    }
}

pub(super) fn verification(outcome: Outcome) -> Verification {
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

pub(super) fn input(outcome: Outcome) -> CognifyInput {
    let read = |seq| CognifyRecord {
        id: record(seq),
        time: Timestamp::EPOCH,
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content: "the cap is 30 s".into(),
        end: None,
        metadata: Metadata::default(),
        bound: None,
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

pub(super) fn cognition(facts: usize, repeatable: bool, has_skill: bool) -> Cognition {
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

pub(super) fn spent() -> Spent {
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
    let made = products(&said, &read, &cognition(2, true, true), &spent()).entries;
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
    let made = products(&said, &read, &cognition(5, true, true), &spent()).entries;
    let expected = [Table::Episodes, Table::Gotchas, Table::Patterns];
    assert_eq!(tables(&made), expected);
    assert!(made.iter().all(|product| product.failure));
    assert_eq!(made[0].detail.succeeded(), None);
    assert_eq!(made[1].content, "Cap the retries: no route to host");
    assert_eq!(made[2].content, "Failed approach: retry at once");

    let mut unnamed = said;
    unnamed.said.approach = None;
    let made = products(&unnamed, &read, &cognition(5, true, true), &spent()).entries;
    assert_eq!(
        made[2].content,
        "An approach that was not named failed: Cap the retries"
    );
}

#[test]
fn each_product_says_what_drew_it_and_the_episode_what_that_used() {
    for outcome in [Outcome::Passed, Outcome::Failed] {
        let (said, read) = (verification(outcome), input(outcome));
        let made = products(&said, &read, &cognition(2, true, true), &spent()).entries;
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
        events: 3,
        bytes: 70_000,
    };
    let said = verification(Outcome::Passed);
    let made = products(&said, &read, &cognition(2, true, true), &spent()).entries;
    let metadata = made[0].metadata.as_str();
    let unread = r#""unread_bytes":70000,"unread_events":3"#;
    assert!(metadata.contains(unread), "{metadata}");
    let says = |product: &NewEntry| product.metadata.as_str().contains("unread");
    assert!(!made[1..].iter().any(says));
}

/// A verification that cites as much as one may.
fn well_cited() -> Verification {
    let mut said = verification(Outcome::Passed);
    let commit = |number: usize| Citation::Commit {
        hash: format!("{number:040}"),
        repository: "r".repeat(4_000),
    };
    said.said.citations = (0..6).map(commit).collect();
    let bytes: usize = said.said.citations.iter().map(Citation::text_bytes).sum();
    assert!(bytes <= CITATION_BYTES_MAX && bytes > CITATION_BYTES_MAX - 1_000);
    said
}

#[test]
fn a_promotion_takes_the_facts_that_it_has_room_for_and_counts_the_others() {
    let (facts_max, read) = (PRODUCTS_MAX - 2, input(Outcome::Passed));
    let proposed = cognition(facts_max, true, true);
    let few = products(&verification(Outcome::Passed), &read, &proposed, &spent());
    assert_eq!((few.entries.len(), few.left_out), (PRODUCTS_MAX, 0));

    let said = well_cited();
    let made = products(&said, &read, &proposed, &spent());
    let bytes: usize = made.entries.iter().map(room::bytes).sum();
    assert!(bytes <= PRODUCTS_BYTES_MAX, "{bytes}");
    let [_, facts @ .., draft] = made.entries.as_slice() else {
        panic!("{made:?}")
    };
    assert!(!facts.is_empty() && made.left_out > 0);
    assert_eq!(facts.len() + made.left_out, facts_max);
    for (fact, kept) in proposed.facts.iter().zip(facts) {
        assert_eq!(kept.content, fact.content, "the first are kept");
    }
    assert_eq!(draft.table, Table::Skills, "the skill has its place");
    assert!(PRODUCTS_BYTES_MAX - bytes < 2 * CITATION_BYTES_MAX);
}

#[test]
fn the_largest_products_fit_one_value_of_the_store() {
    /// What a value of the store holds, without what an event adds to a product.
    const BYTES_MAX: usize = 100_000 - 2_000;
    let mut read = input(Outcome::Passed);
    read.title = "t".repeat(4 << 10);
    read.description = "d".repeat(32 << 10);
    let text = |number: usize| format!("{number:0256}");
    let edge = |number: usize| CausalEdge {
        cause: format!("{number:0128}"),
        effect: format!("{number:0128}"),
        confidence: 1.0,
    };
    let mut proposed = Cognition {
        critique: "c".repeat(32 << 10),
        result: "r".repeat(32 << 10),
        key_decisions: (0..COGNITION_CHOICES_MAX).map(text).collect(),
        causal_edges: (0..COGNITION_EDGES_MAX).map(edge).collect(),
        ..cognition(1, true, true)
    };
    proposed.facts[0].content = "f".repeat(32 << 10);
    proposed.check(&read).unwrap();
    let made = products(&well_cited(), &read, &proposed, &spent());
    for product in &made.entries {
        let embedding = Embedding {
            space: SpaceId("s".into()),
            values: vec![1.0; EMBEDDING_DIMENSIONS_MAX],
        };
        let whole = NewEntry {
            embedding: Some(embedding),
            ..product.clone()
        };
        let bytes = postcard::to_allocvec(&whole).unwrap().len();
        assert!(bytes <= BYTES_MAX, "{}: {bytes}", product.table);
    }
    let Detail::Episode(large) = &made.entries[0].detail else {
        panic!("{:?}", made.entries[0])
    };
    assert!(large.text_bytes() <= EPISODE_DETAIL_BYTES_MAX);
    assert!(proposed.key_decisions.starts_with(&large.key_decisions));
    assert!(proposed.causal_edges.starts_with(&large.causal_edges));
    assert!(!large.key_decisions.is_empty(), "there is room for some");

    // Beside short texts there is room for more.
    (proposed.critique, proposed.result) = (String::new(), String::new());
    let made = products(&well_cited(), &read, &proposed, &spent());
    let Detail::Episode(small) = &made.entries[0].detail else {
        panic!("{:?}", made.entries[0])
    };
    assert_eq!(small.key_decisions, proposed.key_decisions);
    assert!(small.causal_edges.len() > large.causal_edges.len());
}

#[test]
fn products_that_are_longer_once_their_secrets_are_masked_are_measured_masked() {
    let short = |bytes: usize| "PWD='a1b' ".repeat(bytes / 10);
    let (masked, raw) = (mask(&short(100)).text.len(), short(100).len());
    assert!(masked > 2 * raw, "{masked} of {raw}");
    let mut read = input(Outcome::Passed);
    read.title = short(4 << 10);
    read.description = short(32 << 10);
    let edge = CausalEdge {
        cause: short(120),
        effect: short(120),
        confidence: 1.0,
    };
    let mut proposed = Cognition {
        critique: short(32 << 10),
        result: short(32 << 10),
        key_decisions: vec![short(250); COGNITION_CHOICES_MAX],
        causal_edges: vec![edge; COGNITION_EDGES_MAX],
        ..cognition(PRODUCTS_MAX - 2, true, true)
    };
    for fact in &mut proposed.facts {
        fact.content = short(4 << 10);
        fact.claim = Some(Claim {
            key: "k".into(),
            value: short(1 << 10),
        });
    }
    proposed.check(&read).unwrap();
    let made = products(&well_cited(), &read, &proposed, &spent());
    let bytes: usize = made.entries.iter().map(room::bytes).sum();
    assert!(bytes <= PRODUCTS_BYTES_MAX && made.left_out > 0, "{bytes}");
    let is_masked = |text: &str| mask(text).count == 0;
    for product in &made.entries {
        assert!(is_masked(&product.content));
        let claim = product.claim.as_ref();
        assert!(claim.is_none_or(|claim| is_masked(&claim.value)));
        assert!(product.content.len() + product.detail.text_bytes() <= 2 * ENTRY_BYTES_MAX);
    }
    let Detail::Episode(episode) = &made.entries[0].detail else {
        panic!("{:?}", made.entries[0])
    };
    assert!(episode.text_bytes() <= EPISODE_DETAIL_BYTES_MAX);
    for text in [
        &episode.task,
        &episode.critique,
        &episode.input,
        &episode.output,
    ] {
        assert!(is_masked(text) && !text.contains("a1b"));
    }
    let edges = episode.causal_edges.iter();
    assert!(
        edges
            .clone()
            .all(|edge| is_masked(&edge.cause) && is_masked(&edge.effect))
    );
    assert!(episode.key_decisions.iter().all(|text| is_masked(text)));
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
        let made = tables(&products(&verification(outcome), &input(outcome), &proposed, &spent()).entries);
        prop_assert!(made.len() <= PRODUCTS_MAX);
        let places = |table| made.iter().filter(|made| **made == table).count();
        prop_assert_eq!((made[0], places(Table::Episodes)), (Table::Episodes, 1));
        let drafts = usize::from(passed && repeatable && has_skill);
        prop_assert_eq!(places(Table::Skills), drafts);
        prop_assert_eq!(places(Table::Observations) > 0, passed && facts > 0);
    }
}
