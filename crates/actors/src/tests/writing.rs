//! Writing through a node: order, retries, refusals, large content, promotion, recall.

use std::collections::BTreeSet;

use sillok_core::ErrorCode;
use sillok_core::citation::{Citation, Excerpt};
use sillok_core::command::{AnswerBody, Command, VerificationRef};
use sillok_core::entry::{Binding, Link, LinkKind, Table};
use sillok_core::event::EventKinds;
use sillok_core::id::{RecordId, Seq};
use sillok_core::limits::{CHUNK_BYTES, RECORD_BYTES_MAX};
use sillok_core::principal::PrincipalKind;
use sillok_core::staging::RecordKind;
use sillok_core::task::TaskStatus;
use sillok_core::verification::{NewVerification, Outcome, VerificationSource};

use super::harness::{
    PROJECT, TASK, TestNode, append, append_as, first_seq, node, node_with_task, open_task, ports,
    scope, store, submission,
};
use super::line::{Fate, Line};
use super::world::{World, entry};
use crate::jobs::PromotionState;
use crate::{NodeConfig, audit};

fn passed(run: &str) -> Command {
    Command::RecordVerification(Box::new(NewVerification {
        outcome: Outcome::Passed,
        source: VerificationSource::TestsPassed,
        run: run.into(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        error: None,
        approach: None,
        target: None,
    }))
}

#[tokio::test]
async fn many_writers_of_one_scope_get_positions_of_their_own() {
    let store = store();
    let node = node_with_task(&store).await;
    let writers = (1..=200).map(|number| {
        let node = node.clone();
        tokio::spawn(async move {
            node.submit(submission(
                number,
                PrincipalKind::Agent,
                TASK,
                append(&format!("line {number}")),
            ))
            .await
        })
    });
    let mut positions = BTreeSet::new();
    for writer in writers.collect::<Vec<_>>() {
        positions.insert(first_seq(&writer.await.unwrap()));
    }
    assert_eq!(positions, (2..=201).collect(), "no gap, no position twice");
    assert!(
        node.metrics().batches < 100,
        "commands that wait together are committed together"
    );
    let report = audit::verify(&store, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}

#[tokio::test]
async fn a_retry_gets_the_first_answer_and_writes_nothing() {
    let store = store();
    let node = node_with_task(&store).await;
    let first = node
        .submit(submission(1, PrincipalKind::Agent, TASK, append("once")))
        .await;
    let again = node
        .submit(submission(1, PrincipalKind::Agent, TASK, append("once")))
        .await;
    assert_eq!(first, again);
    let other = node
        .submit(submission(1, PrincipalKind::Agent, TASK, append("another")))
        .await
        .unwrap_err();
    assert_eq!(other.code, ErrorCode::CommandReused);
    let next = node
        .submit(submission(2, PrincipalKind::Agent, TASK, append("next")))
        .await;
    assert_eq!(first_seq(&next), first_seq(&first) + 1);
}

#[tokio::test]
async fn what_was_acknowledged_is_there_for_the_next_node() {
    let store = store();
    let first = node_with_task(&store).await;
    let answer = first
        .submit(submission(1, PrincipalKind::Agent, TASK, append("kept")))
        .await;
    let late = submission(2, PrincipalKind::Agent, TASK, append("late"));
    let second = node(&store).await;
    let error = first.submit(late.clone()).await.unwrap_err();
    assert_eq!(
        error.code,
        ErrorCode::Fenced,
        "the slots belong to the next node now"
    );
    let id = RecordId {
        scope: scope(TASK),
        seq: Seq::new(first_seq(&answer)),
    };
    assert_eq!(
        second.reader().record(&id).await.unwrap().unwrap().content,
        "kept"
    );
    assert_eq!(
        first_seq(&second.submit(late).await),
        first_seq(&answer) + 1
    );
}

#[tokio::test]
async fn a_large_record_comes_back_whole() {
    let store = store();
    let node = node_with_task(&store).await;
    let text = "한글 line\n".repeat(200_000);
    let answer = node
        .submit(submission(1, PrincipalKind::Agent, TASK, append(&text)))
        .await;
    let id = RecordId {
        scope: scope(TASK),
        seq: Seq::new(first_seq(&answer)),
    };
    assert!(
        node.reader().record(&id).await.unwrap().unwrap().content == text,
        "all of it, in order"
    );
    let report = audit::verify(&store, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}

/// A scope in which nothing was written has no row yet that could have changed while its chunks were.
#[tokio::test]
async fn large_content_may_be_the_first_that_a_scope_holds() {
    let store = store();
    let node = node(&store).await;
    let (worktree, _) = TASK
        .split_once("/task/")
        .expect("a task lies in a worktree");
    let text = "line\n".repeat(200_000);
    let kind = RecordKind::MemoryEvent {
        event_type: "import".into(),
    };
    let event = append_as(kind, &text);
    let answer = node
        .submit(submission(0, PrincipalKind::Agent, worktree, event))
        .await;
    let id = RecordId {
        scope: scope(worktree),
        seq: Seq::new(first_seq(&answer)),
    };
    let stored = node.reader().record(&id).await.unwrap().unwrap();
    assert!(stored.content == text && id.seq.get() == 1, "{}", id.seq);
}

/// The largest record there may be takes transactions of two mebibytes each, 31 chunks.
#[tokio::test]
async fn the_chunks_of_large_content_are_written_a_few_at_a_time() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    node.submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    line.allow(31);
    let large = append(&"x".repeat(RECORD_BYTES_MAX));
    let answer = node
        .submit(submission(1, PrincipalKind::Agent, TASK, large))
        .await;
    assert_eq!((first_seq(&answer), line.hit()), (2, 0));
}

/// A character lies across the seam of the first two chunks: its second half begins the second chunk.
#[tokio::test]
async fn a_stretch_of_large_content_takes_no_character_apart() {
    let seam = u32::try_from(CHUNK_BYTES).unwrap();
    let store = store();
    let node = node_with_task(&store).await;
    let text = format!(
        "{}é{}",
        "x".repeat(CHUNK_BYTES - 1),
        "y".repeat(CHUNK_BYTES)
    );
    let large = node.submit(submission(1, PrincipalKind::Agent, TASK, append(&text)));
    let record = RecordId {
        scope: scope(TASK),
        seq: Seq::new(first_seq(&large.await)),
    };
    for (number, from, to, stands) in [
        (2, 0, seam - 1, true),
        (3, seam - 1, seam + 1, true),
        (4, seam + 1, 2 * seam + 1, true),
        (5, seam - 1, seam, false),
        (6, seam, seam + 1, false),
        (7, seam, 2 * seam + 1, false),
        (8, 0, 2 * seam + 2, false),
    ] {
        let cited = Excerpt {
            record: record.clone(),
            from,
            to,
        };
        let read = node.reader().excerpt(&cited).await.unwrap();
        assert_eq!(read.is_some(), stands, "{from}-{to} is read");
        let mut put = entry(Table::Observations, &format!("cites {from} to {to}"));
        put.citations.push(Citation::Excerpt(cited));
        let put = Command::PutEntry {
            entry: Box::new(put),
            verification: None,
        };
        let written = node.submit(submission(number, PrincipalKind::Agent, TASK, put));
        let refused = written.await.err().map(|error| error.code);
        let expected = (!stands).then_some(ErrorCode::UnresolvableCitation);
        assert_eq!(refused, expected, "{from}-{to} is cited");
    }
}

#[tokio::test]
async fn a_denial_names_its_rule_and_is_noted_once_in_a_while() {
    let store = store();
    let node = node_with_task(&store).await;
    for number in 1..=5 {
        let error = node
            .submit(submission(number, PrincipalKind::Agent, TASK, passed("r")))
            .await
            .unwrap_err();
        assert_eq!(error.rule(), Some("control/record_verification"));
    }
    let events = node
        .reader()
        .events(&scope(TASK), &EventKinds::ALL, Seq::ZERO, 100)
        .await
        .unwrap();
    assert_eq!(
        events.items.len(),
        2,
        "the opening and one denial of five within a second"
    );
}

#[tokio::test]
async fn a_passed_verification_is_promoted_once_and_can_be_recalled() {
    let store = store();
    let node = node_with_task(&store).await;
    for (number, text) in [
        (1, "AssertionError: parse() lost the last line"),
        (2, "root cause: the loop stops one line early"),
    ] {
        node.submit(submission(number, PrincipalKind::Agent, TASK, append(text)))
            .await
            .unwrap();
    }
    let answer = node
        .submit(submission(
            3,
            PrincipalKind::Orchestrator,
            TASK,
            passed("run-1"),
        ))
        .await
        .unwrap();
    let AnswerBody::Verification {
        id, from, through, ..
    } = answer.result
    else {
        panic!("{answer:?}")
    };
    assert_eq!((from, through), (Seq::ZERO, Seq::new(3)));
    let state = node.promotion(&scope(TASK), id, 1_000_000).await.unwrap();
    let PromotionState::Done(finished) = state else {
        panic!("{state:?}")
    };
    assert!(finished.report.created() >= 1);
    let again = node.promotion(&scope(TASK), id, 0).await.unwrap();
    assert_eq!(again, PromotionState::Done(finished.clone()));
    let report = finished.report.clone();
    assert_eq!(
        node.reader()
            .task(&scope(TASK))
            .await
            .unwrap()
            .unwrap()
            .status,
        TaskStatus::Done
    );
    let episode = node.reader().entry(report.episode).await.unwrap().unwrap();
    assert_eq!(episode.head.scope, scope(PROJECT));
    assert!(episode.head.trust.confidence >= 0.6);
    // Taken back, it stands as such.
    let undo = Command::UndoPromotion {
        promotion: VerificationRef {
            task: scope(TASK),
            id,
        },
        reason: "it was another branch".into(),
    };
    node.submit(submission(4, PrincipalKind::Human, PROJECT, undo))
        .await
        .unwrap();
    let state = node.promotion(&scope(TASK), id, 0).await.unwrap();
    let PromotionState::Done(after) = state else {
        panic!("{state:?}")
    };
    assert!(after.is_undone && !finished.is_undone);
    let report = audit::verify(&store, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}

#[tokio::test]
async fn a_short_text_and_its_negation_contradict_whichever_comes_first() {
    let mut world = World::new().await;
    for (first, second) in [
        ("The cache is warm.", "The cache is not warm."),
        ("The parser never accepts tabs.", "The parser accepts tabs."),
        ("서버가 재개한다", "서버가 못 재개한다"),
    ] {
        let ours = |content| entry(Table::Observations, content);
        let known = world.put(PrincipalKind::Human, PROJECT, ours(first)).await;
        let denial = world.put(PrincipalKind::Human, PROJECT, ours(second)).await;
        assert_ne!(known, denial);
        let links = world.head(denial).await.links;
        let contradicts = |link: &&Link| link.kind == LinkKind::Contradicts && link.to == known;
        assert_eq!(
            links.iter().filter(contradicts).count(),
            1,
            "{second}: {links:?}"
        );
        // Said again, it is the same entry, and what is merely alike contradicts nothing.
        assert_eq!(
            world.put(PrincipalKind::Human, PROJECT, ours(second)).await,
            denial
        );
    }
    let alike = entry(Table::Observations, "The cache is large.");
    let alike = world.put(PrincipalKind::Human, PROJECT, alike).await;
    assert!(world.head(alike).await.links.is_empty());
    let report = audit::verify(&world.store, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}
