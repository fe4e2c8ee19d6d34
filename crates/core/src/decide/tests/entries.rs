//! Entries: provenance, citations, merging, contradictions, lines of supersession.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::decide;
use super::world::{PROJECT, START, TASK, World, amend, entry, supersede, verification};
use crate::citation::{Citation, Excerpt, TestOutcome};
use crate::command::{AnswerBody, Command, Replacement, VerificationRef};
use crate::commit::{CommitName, Presence};
use crate::config::RulesConfig;
use crate::entry::{Claim, Embedding, LinkKind, SpaceId, Status, Table};
use crate::error::ErrorCode;
use crate::event::Body;
use crate::facts::RecordFact;
use crate::id::{EntryId, RecordId, Seq};
use crate::ports::{Ranked, SpaceThresholds};
use crate::principal::PrincipalKind;
use crate::promotion::{Disposition, NewEntry};
use crate::scope::Scope;
use crate::verification::{Outcome, VerificationSource};

#[test]
fn an_agent_cannot_verify_itself() {
    let mut world = World::task();
    let claimed = Citation::Test {
        name: "t".into(),
        outcome: TestOutcome::Pass,
        run: "r".into(),
    };
    let draft = NewEntry {
        citations: vec![claimed],
        ..entry(Table::Observations, "it works")
    };
    let (id, _) = world.put(PrincipalKind::Agent, draft.clone()).unwrap();
    let (again, disposition) = world.put(PrincipalKind::Agent, draft).unwrap();
    assert_eq!(
        (again, disposition),
        (id, Disposition::Merged { cosine: 1.0 })
    );
    let head = world.state.head(id).unwrap();
    assert_eq!(
        (head.status, head.trust.validation_count),
        (Status::Hypothesis, 0)
    );
    assert_eq!(head.trust.confidence, 0.3);
}

#[test]
fn an_entry_that_rests_on_a_verification_is_verified() {
    let mut task = World::task();
    task.give(
        PrincipalKind::Orchestrator,
        verification(Outcome::Passed, VerificationSource::TestsPassed, None),
    )
    .unwrap();
    let submission = task.submission(
        PrincipalKind::Orchestrator,
        verification(Outcome::Passed, VerificationSource::PrMerged, None),
    );
    let facts = task.facts(&submission);
    let decision = decide(
        &task.state,
        &submission,
        &facts,
        &RulesConfig::default(),
        task.now,
    )
    .unwrap();
    let Body::VerificationRecorded(recorded) = &decision.bodies[0] else {
        panic!("{decision:?}")
    };
    let named = VerificationRef {
        task: task.state.scope().clone(),
        id: recorded.id,
    };
    let mut project = World::new(PROJECT);
    let write = |verification| Command::PutEntry {
        entry: Box::new(entry(Table::Observations, "the cache is cold at start")),
        verification,
    };
    let error = project
        .give(PrincipalKind::Orchestrator, write(None))
        .unwrap_err();
    assert_eq!(error.rule(), Some("entries/project"));
    let error = project
        .give(PrincipalKind::Orchestrator, write(Some(named.clone())))
        .unwrap_err();
    assert_eq!(
        error.code,
        ErrorCode::NotFound,
        "a verification that nobody recorded stands behind nothing"
    );
    project
        .verifications
        .insert(named.clone(), (**recorded).clone());
    match project
        .give(PrincipalKind::Orchestrator, write(Some(named)))
        .unwrap()
    {
        AnswerBody::Entry { status, .. } => assert_eq!(status, Status::Verified),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failure_stays_a_hypothesis_whoever_rewrites_it() {
    let mut world = World::new(PROJECT);
    let failure = NewEntry {
        failure: true,
        ..entry(Table::Gotchas, "reading line by line does not work")
    };
    let (id, _) = world.put(PrincipalKind::Human, failure).unwrap();
    world
        .give(
            PrincipalKind::Human,
            amend(id, 1, "it does not work at all"),
        )
        .unwrap();
    let head = world.state.head(id).unwrap();
    assert_eq!((head.version, head.status), (2, Status::Hypothesis));
    assert_eq!(
        (head.trust.confidence, head.trust.validation_count),
        (0.3, 0)
    );
}

#[test]
fn a_text_with_a_secret_is_the_same_as_its_masked_copy() {
    let mut world = World::task();
    let secret = "deploy with password = \"hunter2-hunter2\" every night";
    let claim = Claim {
        key: "deploy".into(),
        value: "password = \"hunter2-hunter2\"".into(),
    };
    let told = NewEntry {
        claim: Some(claim),
        ..entry(Table::Observations, secret)
    };
    let (first, _) = world.put(PrincipalKind::Agent, told.clone()).unwrap();
    let (again, disposition) = world.put(PrincipalKind::Agent, told).unwrap();
    assert_eq!(
        (again, disposition),
        (first, Disposition::Merged { cosine: 1.0 })
    );
    let stored = &world.versions[&first];
    assert!(!stored.content.contains("hunter2"), "{}", stored.content);
    assert!(!stored.claim.as_ref().unwrap().value.contains("hunter2"));
}

#[test]
fn a_citation_must_resolve() {
    let mut world = World::task();
    let id = RecordId {
        scope: world.state.scope().clone(),
        seq: Seq::new(1),
    };
    let cited = |id: &RecordId| NewEntry {
        citations: vec![Citation::Log {
            id: id.clone(),
            time: START,
        }],
        ..entry(Table::Observations, "seen")
    };
    let error = world.put(PrincipalKind::Agent, cited(&id)).unwrap_err();
    assert_eq!(error.code, ErrorCode::UnresolvableCitation);
    world.records.insert(id.clone(), RecordFact::Snapshot);
    assert!(
        world.put(PrincipalKind::Agent, cited(&id)).is_err(),
        "a snapshot is no log record"
    );
    world.records.insert(id.clone(), RecordFact::Log);
    assert!(world.put(PrincipalKind::Agent, cited(&id)).is_ok());
    let foreign = RecordId {
        scope: Scope::parse("org/z/project/b/worktree/c/task/d").unwrap(),
        seq: Seq::new(1),
    };
    world.records.insert(foreign.clone(), RecordFact::Log);
    assert!(
        world.put(PrincipalKind::Agent, cited(&foreign)).is_err(),
        "the token does not reach it"
    );
}

#[test]
fn a_cited_stretch_must_stand_where_it_is_said_to() {
    let mut world = World::task();
    let at = |scope: &Scope| Excerpt {
        record: RecordId {
            scope: scope.clone(),
            seq: Seq::new(1),
        },
        from: 0,
        to: 4,
    };
    let cited = |excerpt: &Excerpt| NewEntry {
        citations: vec![Citation::Excerpt(excerpt.clone())],
        ..entry(Table::Observations, "seen")
    };
    let here = at(world.state.scope());
    // That a record stands there is not enough.
    world.records.insert(here.record.clone(), RecordFact::Log);
    let error = world.put(PrincipalKind::Agent, cited(&here)).unwrap_err();
    assert_eq!(error.code, ErrorCode::UnresolvableCitation);
    assert!(error.message.contains("bytes 0 to 4"), "{error}");
    world.excerpts.insert(here.clone());
    assert!(world.put(PrincipalKind::Agent, cited(&here)).is_ok());
    let foreign = at(&Scope::parse("org/z/project/b/worktree/c/task/d").unwrap());
    world.excerpts.insert(foreign.clone());
    assert!(
        world.put(PrincipalKind::Agent, cited(&foreign)).is_err(),
        "the token does not reach it"
    );
}

#[test]
fn a_retry_is_known_by_its_text_whatever_vector_it_brings() {
    let put = |vector: f32, text: &str| {
        let values = vec![vector];
        let embedding = Some(Embedding {
            space: SpaceId("s".into()),
            values,
        });
        let entry = NewEntry {
            embedding,
            ..entry(Table::Observations, text)
        };
        Command::PutEntry {
            entry: Box::new(entry),
            verification: None,
        }
        .digest()
    };
    assert_eq!(put(0.0, "same"), put(1.0, "same"));
    assert_ne!(put(0.0, "same"), put(0.0, "other"));
}

#[test]
fn contradictions_are_never_merged() {
    let mut world = World::task();
    let claim = |value: &str| NewEntry {
        claim: Some(Claim {
            key: "http.framework".into(),
            value: value.into(),
        }),
        ..entry(Table::Observations, "the project uses one http framework")
    };
    let (hono, _) = world.put(PrincipalKind::Agent, claim("hono")).unwrap();
    let (express, disposition) = world.put(PrincipalKind::Agent, claim("express")).unwrap();
    assert_ne!(hono, express);
    assert_eq!(disposition, Disposition::Contradicts { other: hono });
}

/// An entry that declares how long the client waits.
fn waits(table: Table, content: &str, seconds: u32) -> NewEntry {
    NewEntry {
        claim: Some(Claim {
            key: "http.timeout".into(),
            value: format!("{seconds}s"),
        }),
        ..placed(table, content)
    }
}

const LONG: &str = "The HTTP client waits thirty seconds";
const EARLY: &str = "Requests are aborted early by default";

#[test]
fn what_declares_a_key_with_another_value_contradicts_however_far_it_lies() {
    for (theirs, ours) in [
        (Table::Observations, Table::Observations),
        (Table::Observations, Table::Patterns),
        (Table::Gotchas, Table::Gotchas),
        (Table::Stories, Table::Observations),
        (Table::Patterns, Table::Episodes),
        (Table::Episodes, Table::Skills),
    ] {
        // The index finds nothing near, and has been told of all that was written.
        let (mut world, _) = near(&[], &["Something else."]);
        let (known, _) = world
            .put(PrincipalKind::Agent, waits(theirs, LONG, 30))
            .unwrap();
        let (id, disposition) = world
            .put(PrincipalKind::Agent, waits(ours, EARLY, 10))
            .unwrap();
        let against = Disposition::Contradicts { other: known };
        assert_eq!(disposition, against, "{theirs} {ours}");
        let links = &world.state.head(id).unwrap().links;
        assert_eq!(links.len(), 1);
        assert_eq!((links[0].kind, links[0].to), (LinkKind::Contradicts, known));
    }
}

#[test]
fn what_agrees_is_of_another_key_or_failed_contradicts_nothing() {
    let (mut world, _) = near(&[], &["Something else."]);
    let failed = NewEntry {
        failure: true,
        ..waits(Table::Patterns, "Waiting a minute", 60)
    };
    let other = NewEntry {
        claim: Some(Claim {
            key: "http.retries".into(),
            value: "3".into(),
        }),
        ..placed(Table::Observations, "A request is sent three times")
    };
    for apart in [
        failed,
        other,
        waits(Table::Observations, LONG, 30),
        waits(Table::Gotchas, "Half a minute goes by", 30),
    ] {
        let (_, disposition) = world.put(PrincipalKind::Agent, apart).unwrap();
        assert_eq!(disposition, Disposition::Created);
    }
}

#[test]
fn a_claim_is_looked_up_without_a_vector_and_by_its_masked_key() {
    let mut world = World::task();
    let told = |table: Table, content: &str, value: &str| NewEntry {
        claim: Some(Claim {
            key: "password = \"hunter2-hunter2\"".into(),
            value: value.into(),
        }),
        ..entry(table, content)
    };
    let first = told(Table::Tasks, LONG, "rotated");
    let (known, _) = world.put(PrincipalKind::Agent, first).unwrap();
    assert!(
        !world.versions[&known]
            .claim
            .as_ref()
            .unwrap()
            .key
            .contains("hunter2")
    );
    let second = told(Table::Observations, EARLY, "kept");
    let (_, disposition) = world.put(PrincipalKind::Agent, second).unwrap();
    assert_eq!(disposition, Disposition::Contradicts { other: known });
}

#[test]
fn what_the_index_was_not_told_of_is_held_against_a_claim_as_well() {
    let (mut world, _) = near(&[], &["Something else."]);
    world.index_lags = true;
    let first = waits(Table::Gotchas, LONG, 30);
    let (known, _) = world.put(PrincipalKind::Agent, first).unwrap();
    let second = waits(Table::Observations, EARLY, 10);
    let submission = world.submission(
        PrincipalKind::Agent,
        Command::PutEntry {
            entry: Box::new(second),
            verification: None,
        },
    );
    // As the index answers before the batch is decided.
    let mut facts = world.facts(&submission);
    facts.claimants.insert(0, Vec::new());
    let config = RulesConfig::default();
    let decision = decide(&world.state, &submission, &facts, &config, world.now).unwrap();
    match decision.result {
        AnswerBody::Entry { disposition, .. } => {
            assert_eq!(disposition, Disposition::Contradicts { other: known });
        }
        other => panic!("{other:?}"),
    }
}

/// An entry with a vector, so that the index is asked for what is near.
fn placed(table: Table, content: &str) -> NewEntry {
    NewEntry {
        embedding: Some(Embedding {
            space: SpaceId("s".into()),
            values: vec![1.0],
        }),
        ..entry(table, content)
    }
}

/// A task whose index finds everything near that was written so far, in this space.
fn near(scores: &[f32], texts: &[&str]) -> (World, Vec<EntryId>) {
    let mut world = World::task();
    world.thresholds = Some(SpaceThresholds {
        merge: 0.95,
        similar: 0.85,
    });
    let ids: Vec<EntryId> = texts
        .iter()
        .map(|text| {
            let written = world.put(PrincipalKind::Agent, placed(Table::Observations, text));
            written.unwrap().0
        })
        .collect();
    let ranked = |(entry, score): (&EntryId, &f32)| Ranked {
        scope: Scope::parse(TASK).unwrap(),
        entry: *entry,
        score: *score,
    };
    world.near = ids.iter().zip(scores).map(ranked).collect();
    (world, ids)
}

#[test]
fn a_negation_under_the_similar_threshold_contradicts() {
    let (mut world, ids) = near(&[0.5], &["The cache is warm."]);
    let ours = placed(Table::Observations, "The cache is not warm.");
    let (id, disposition) = world.put(PrincipalKind::Agent, ours).unwrap();
    assert_eq!(disposition, Disposition::Contradicts { other: ids[0] });
    assert_ne!(id, ids[0]);
}

#[test]
fn what_lies_under_the_similar_threshold_is_neither_merged_nor_linked() {
    let (mut world, _) = near(&[0.84], &["The cache is warm."]);
    let ours = placed(Table::Observations, "The cache is warm and shared.");
    let (id, disposition) = world.put(PrincipalKind::Agent, ours).unwrap();
    assert_eq!(disposition, Disposition::Created);
    assert!(world.state.head(id).unwrap().links.is_empty());
    // Episodes are linked as their followers, and only from that threshold on.
    let (mut world, _) = near(&[0.84], &["The cache is warm."]);
    let asked = world.submission(
        PrincipalKind::Agent,
        Command::PutEntry {
            entry: Box::new(placed(Table::Episodes, "An episode.")),
            verification: None,
        },
    );
    let facts = world.facts(&asked);
    assert!(facts.neighbours[&0].is_empty(), "{:?}", facts.neighbours);
}

#[test]
fn what_is_the_same_is_found_before_what_is_merely_near() {
    let texts: Vec<String> = (0..20)
        .map(|number| format!("Fact number {number}."))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut scores = [0.6; 20];
    scores[0] = 0.97;
    let (mut world, ids) = near(&scores, &texts);
    let ours = placed(Table::Observations, "The fact number 0");
    let (id, disposition) = world.put(PrincipalKind::Agent, ours).unwrap();
    assert_eq!(id, ids[0]);
    assert!(
        matches!(disposition, Disposition::Merged { .. }),
        "{disposition:?}"
    );
}

#[test]
fn an_existing_entry_joins_no_second_line() {
    let mut world = World::task();
    let ids: Vec<EntryId> = ["a", "b", "c"]
        .map(|text| {
            world
                .put(PrincipalKind::Agent, entry(Table::Patterns, text))
                .unwrap()
                .0
        })
        .into();
    let by = |old, new| supersede(old, 1, Replacement::Existing(new));
    let error = world
        .give(PrincipalKind::Agent, by(ids[0], ids[0]))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidSupersession);
    world
        .give(PrincipalKind::Agent, by(ids[0], ids[1]))
        .unwrap();
    let error = world
        .give(PrincipalKind::Agent, by(ids[2], ids[1]))
        .unwrap_err();
    assert_eq!(
        error.code,
        ErrorCode::InvalidSupersession,
        "it replaced another already"
    );
    let error = world
        .give(PrincipalKind::Agent, by(ids[1], ids[0]))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidSupersession, "no cycle");
    let error = world
        .give(PrincipalKind::Agent, by(ids[0], ids[2]))
        .unwrap_err();
    assert_eq!(
        error.current().unwrap().entry,
        Some(ids[1]),
        "the conflict names the head of the line"
    );
}

/// What a random writer does to a line of entries.
#[derive(Clone, Debug)]
enum Step {
    Supersede { guess: usize, version: u64 },
    Amend { guess: usize, version: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let supersede =
        (0usize..8, 1u64..4).prop_map(|(guess, version)| Step::Supersede { guess, version });
    let amend = (0usize..8, 1u64..4).prop_map(|(guess, version)| Step::Amend { guess, version });
    prop_oneof![supersede, amend]
}

proptest! {
    #[test]
    fn a_line_has_one_head_and_every_loser_learns_what_is_current(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        let mut world = World::task();
        let mut line = vec![world.put(PrincipalKind::Agent, entry(Table::Patterns, "0")).unwrap().0];
        for (number, step) in steps.into_iter().enumerate() {
            let text = format!("text {number}");
            let (guess, expected_version, command) = match step {
                Step::Supersede { guess, version } => {
                    let old = line[guess % line.len()];
                    let new = Replacement::New(Box::new(entry(Table::Patterns, &text)));
                    (old, version, supersede(old, version, new))
                }
                Step::Amend { guess, version } => {
                    let id = line[guess % line.len()];
                    (id, version, amend(id, version, &text))
                }
            };
            let head = *line.last().unwrap();
            let head_version = world.state.head(head).unwrap().version;
            let result = world.give(PrincipalKind::Agent, command);
            if guess == head && expected_version == head_version {
                if let AnswerBody::Superseded { new, .. } = result.unwrap() {
                    line.push(new);
                }
            } else {
                let current = result.unwrap_err().current().unwrap();
                prop_assert_eq!((current.entry, current.version), (Some(head), Some(head_version)));
            }
            let live: Vec<EntryId> =
                line.iter().copied().filter(|id| world.state.head(*id).unwrap().status.is_live()).collect();
            prop_assert_eq!(live, vec![*line.last().unwrap()], "exactly one head");
            prop_assert_eq!(world.state.head(line[0]).unwrap().line_head, *line.last().unwrap());
        }
    }

    #[test]
    fn the_same_text_twice_is_one_entry(texts in proptest::collection::vec("[a-c ]{1,6}", 1..20)) {
        let mut world = World::task();
        let mut by_text: BTreeMap<String, EntryId> = BTreeMap::new();
        for text in texts.iter().filter(|text| !text.trim().is_empty()) {
            let (id, disposition) = world.put(PrincipalKind::Agent, entry(Table::Observations, text)).unwrap();
            let normal = text.split_whitespace().collect::<Vec<_>>().join(" ");
            match by_text.insert(normal, id) {
                Some(known) => prop_assert_eq!((id, disposition), (known, Disposition::Merged { cosine: 1.0 })),
                None => prop_assert_eq!(disposition, Disposition::Created),
            }
        }
    }
}

#[test]
fn a_commit_that_is_known_to_be_missing_is_no_source_and_one_of_which_nobody_can_say_is_a_pointer()
{
    let mut world = World::new("org/a/project/b/worktree/c");
    let name = |hash: &str| CommitName::new(hash, "r");
    world.commits.insert(name("aaaaaaa1"), Presence::There);
    world.commits.insert(name("aaaaaaa2"), Presence::Missing);
    let citing = |hash: &str| NewEntry {
        citations: vec![Citation::Commit {
            hash: hash.into(),
            repository: "r".into(),
        }],
        ..entry(Table::Observations, hash)
    };
    for hash in ["aaaaaaa1", "AAAAAAA1", "aaaaaaa3"] {
        world.put(PrincipalKind::Agent, citing(hash)).unwrap();
    }
    for hash in ["aaaaaaa2", "AAAAAAA2"] {
        let refused = world.put(PrincipalKind::Agent, citing(hash)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::UnresolvableCitation, "{refused}");
    }
    let (id, _) = world.put(PrincipalKind::Agent, citing("aaaaaaa1")).unwrap();
    let head = world.state.head(id).unwrap();
    assert_eq!(head.status, Status::Hypothesis, "a commit proves nothing");
}
