//! Faults below the actors: commits whose outcome is unknown, and a command that panics.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sillok_core::ErrorCode;
use sillok_core::command::{AnswerBody, Command, Submission};
use sillok_core::entry::Table;
use sillok_core::id::Epoch;
use sillok_core::ports::{BoxFuture, Cognifier, PortError, Rng};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{CognifyInput, Cognition, NewEntry};
use sillok_core::slot::Slot;
use sillok_core::verification::Outcome;

use super::harness::{
    CountingRng, PROJECT, TASK, TestNode, TestStore, append, first_seq, open_task, ports, scope,
    store, submission,
};
use super::line::{Fate, Line};
use super::world::{entry, verification};
use crate::jobs::{PromotionState, WaitingJob};
use crate::{NodeConfig, Ports, audit, cluster};

/// Opens the task and stages what is worth a promotion.
async fn stage(node: &TestNode) {
    let give = |number, command| submission(number, PrincipalKind::Orchestrator, TASK, command);
    node.submit(give(0, open_task())).await.unwrap();
    let record = append("root cause: an early stop");
    node.submit(give(1, record)).await.unwrap();
}

/// The verification of that task, which starts its promotion.
fn judged() -> Submission {
    let passed = verification(Outcome::Passed, "run");
    submission(2, PrincipalKind::Orchestrator, TASK, passed)
}

async fn unknown_outcomes(fate: Fate) {
    let memory = store();
    let line = Line::new(&memory, fate);
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    node.submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    for number in 1..=30 {
        let line = submission(
            number,
            PrincipalKind::Agent,
            TASK,
            append(&format!("line {number}")),
        );
        let answer = node.submit(line).await;
        assert_eq!(first_seq(&answer), number + 1, "each line once, in order");
    }
    assert!(line.hit() >= 10, "the fault must have happened");
    assert!(node.metrics().unknown_outcomes > 0);
    let report = audit::verify(&memory, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}

#[tokio::test]
async fn a_commit_that_nobody_heard_of_is_applied_once() {
    unknown_outcomes(Fate::CommitsUnheard).await;
}

#[tokio::test]
async fn a_commit_that_was_lost_is_applied_by_a_later_attempt() {
    unknown_outcomes(Fate::IsLost).await;
}

/// What follows a commit follows it although nobody heard of it: promotions are carried out, and
/// what is published counts as a neighbour at once.
#[tokio::test]
async fn what_follows_a_commit_follows_one_that_nobody_heard_of() {
    let memory = store();
    let line = Line::new(&memory, Fate::CommitsUnheard);
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    for number in 0..12 {
        let task = format!("{PROJECT}/worktree/main/task/{number}");
        let give = |step: u64, command: Command| {
            let number = number * 10 + step;
            submission(number, PrincipalKind::Orchestrator, &task, command)
        };
        node.submit(give(0, open_task())).await.unwrap();
        let text = "root cause: the loop stops one line early";
        node.submit(give(1, append(text))).await.unwrap();
        let run = format!("run {number}");
        let judged = give(2, verification(Outcome::Passed, &run));
        let answer = node.submit(judged).await.unwrap();
        let AnswerBody::Verification { id, .. } = answer.result else {
            panic!("a verification is answered as one");
        };
        let state = node.promotion(&scope(&task), id, 1_000_000).await.unwrap();
        assert!(
            matches!(state, PromotionState::Done(_)),
            "{number}: {state:?}"
        );
    }
    for number in 0..12 {
        let content = format!(
            "the linker needs {} gigabytes on two cores",
            "four".repeat(number)
        );
        let mut ids = Vec::new();
        for again in 0..2_u64 {
            // Close to one another, but not the same text.
            let content = format!("{content}{}", ".".repeat(usize::try_from(again).unwrap()));
            let embedding = node
                .ports()
                .embedder
                .embed(&[&content])
                .await
                .unwrap()
                .pop();
            let put = Command::PutEntry {
                entry: Box::new(NewEntry {
                    embedding,
                    ..entry(Table::Observations, &content)
                }),
                verification: None,
            };
            let number = 1_000 + 10 * u64::try_from(number).unwrap() + again;
            let answer = node
                .submit(submission(number, PrincipalKind::Human, PROJECT, put))
                .await;
            match answer.unwrap().result {
                AnswerBody::Entry { id, .. } => ids.push(id),
                other => panic!("an entry was answered with {other:?}"),
            }
        }
        assert_eq!(ids[0], ids[1], "the second one is merged into the first");
    }
    assert!(line.hit() >= 10, "the fault must have happened");
    let report = audit::verify(&memory, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}

/// Nobody waits for it any more, and nobody asks again: what follows a commit follows it all the same.
#[tokio::test]
async fn what_follows_a_commit_follows_one_that_arrives_when_everybody_has_given_up() {
    let line = Line::new(&store(), Fate::Arrives);
    let node = TestNode::start(line.clone(), ports(), NodeConfig::default())
        .await
        .unwrap();
    stage(&node).await;
    line.hold_next();
    let refused = node.submit(judged()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::OutcomeUnknown);
    assert_eq!(node.waiting_jobs(), []);
    line.land().await.unwrap();
    line.mend();
    let clock = Arc::clone(&node.ports().clock);
    for _ in 0..1_000 {
        if node.metrics().promotions > 0 {
            break;
        }
        clock.sleep(1_000).await;
    }
    assert_eq!(node.metrics().promotions, 1);
}

/// A cognifier that panics, then never answers, then proposes what nobody may, then works.
struct Moody {
    calls: AtomicU64,
    good: Arc<dyn Cognifier>,
}

impl Cognifier for Moody {
    fn name(&self) -> &str {
        "moody"
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        match self.calls.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("the planted defect"),
            1 => Box::pin(std::future::pending()),
            2 => Box::pin(async { Err(PortError::Unusable("not a word of it".into())) }),
            3 => Box::pin(async {
                Ok(Cognition {
                    score: f64::NAN,
                    ..Cognition::default()
                })
            }),
            _ => self.good.cognify(input),
        }
    }
}

#[tokio::test]
async fn a_promotion_survives_a_cognifier_that_panics_hangs_and_fails_and_can_be_retried() {
    let good = ports();
    let cognifier = Arc::new(Moody {
        calls: AtomicU64::new(0),
        good: Arc::clone(&good.cognifier),
    });
    let mut config = NodeConfig::default();
    config.jobs.attempts = 3;
    config.jobs.workers = 1;
    let node = TestNode::start(store(), Ports { cognifier, ..good }, config)
        .await
        .unwrap();
    stage(&node).await;
    let AnswerBody::Verification { id, .. } = node.submit(judged()).await.unwrap().result else {
        panic!("a verification is answered as one");
    };
    let task = scope(TASK);
    let state = node.promotion(&task, id, 10_000_000).await.unwrap();
    assert!(
        matches!(state, PromotionState::Halted { attempts: 3, .. }),
        "{state:?}"
    );
    assert!(node.waiting_jobs()[0].halted);
    assert!(node.retry_promotion(&task, id).await.unwrap());
    let again = node.retry_promotion(&task, id).await.unwrap();
    assert!(!again, "it is no longer on the list");
    let state = node.promotion(&task, id, 10_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    assert_eq!(
        node.metrics().promotion_failures,
        4,
        "the last one improper"
    );
}

/// A cognifier that works, and during whose first work the line to the store is cut.
struct Cutting {
    line: Line,
    calls: AtomicU64,
    good: Arc<dyn Cognifier>,
}

impl Cognifier for Cutting {
    fn name(&self) -> &str {
        "cutting"
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            self.line.cut();
        }
        self.good.cognify(input)
    }
}

#[tokio::test]
async fn a_promotion_outlives_a_store_that_is_out_of_reach_for_more_attempts_than_it_has() {
    let line = Line::new(&store(), Fate::Arrives);
    let good = ports();
    let cognifier = Arc::new(Cutting {
        line: line.clone(),
        calls: AtomicU64::new(0),
        good: Arc::clone(&good.cognifier),
    });
    let counting = Arc::clone(&cognifier);
    let mut config = NodeConfig::default();
    config.jobs.attempts = 2;
    let node = TestNode::start(line.clone(), Ports { cognifier, ..good }, config)
        .await
        .unwrap();
    stage(&node).await;
    let AnswerBody::Verification { id, .. } = node.submit(judged()).await.unwrap().result else {
        panic!("a verification is answered as one");
    };
    let tried_often = |job: &WaitingJob| job.attempts > 6 || job.halted;
    while !node.waiting_jobs().iter().any(tried_often) {
        tokio::task::yield_now().await;
    }
    assert!(!node.waiting_jobs()[0].halted);
    line.mend();
    let state = node.promotion(&scope(TASK), id, 1_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    let calls = counting.calls.load(Ordering::Relaxed);
    assert_eq!(calls, 1, "what was drawn from the records was kept");
}

#[tokio::test]
async fn a_promotion_that_no_transaction_lives_long_enough_for_is_halted() {
    let line = Line::new(&store(), Fate::Arrives);
    let mut config = NodeConfig::default();
    config.jobs.attempts = 2;
    let node = TestNode::start(line.clone(), ports(), config)
        .await
        .unwrap();
    stage(&node).await;
    // A publication looks at more keys than any of the other commands.
    line.live(5);
    let AnswerBody::Verification { id, .. } = node.submit(judged()).await.unwrap().result else {
        panic!("a verification is answered as one");
    };
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    assert!(
        matches!(state, PromotionState::Halted { attempts: 2, .. }),
        "{state:?}"
    );
}

/// A cognifier that never answers.
pub(crate) struct Silent;

impl Cognifier for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn cognify<'a>(&'a self, _: &'a CognifyInput) -> BoxFuture<'a, Result<Cognition, PortError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn promotions_go_with_their_slot_and_stay_when_it_was_taken_again() {
    let cognifier = Arc::new(Silent);
    let ports = Ports {
        cognifier,
        ..ports()
    };
    let node = TestNode::start(store(), ports, NodeConfig::default())
        .await
        .unwrap();
    let give = |number, command| submission(number, PrincipalKind::Orchestrator, TASK, command);
    for (number, command) in [open_task(), append("root cause: an early stop")]
        .into_iter()
        .enumerate()
    {
        node.submit(give(number as u64, command)).await.unwrap();
    }
    node.submit(give(2, verification(Outcome::Passed, "run")))
        .await
        .unwrap();
    assert_eq!(node.waiting_jobs().len(), 1);
    let (shared, slot) = (node.shared(), Slot::of(&scope(TASK)));
    let before = shared.ownership.epoch(slot).unwrap();
    let now = Epoch(before.0 + 1);
    shared
        .ownership
        .take(slot, now, shared.ownership.incarnation());
    cluster::let_go(shared, slot, before);
    assert_eq!(node.waiting_jobs().len(), 1, "it was taken again");
    cluster::let_go(shared, slot, now);
    assert_eq!(node.waiting_jobs().len(), 0);
    assert_eq!(shared.ownership.epoch(slot), None);
}

/// Randomness that meets a defect at some of its draws.
struct Panics {
    calls: Arc<AtomicU64>,
    at: RangeInclusive<u64>,
    rng: CountingRng,
}

impl Rng for Panics {
    fn fill(&mut self, bytes: &mut [u8]) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        assert!(!self.at.contains(&call), "the planted defect");
        self.rng.fill(bytes);
    }
}

/// A node with an open task that meets defects at these draws. The opening draws salt 0.
async fn node_that_panics(store: &TestStore, at: RangeInclusive<u64>) -> TestNode {
    let calls = Arc::new(AtomicU64::new(0));
    let rng = Arc::new(move || -> Box<dyn Rng> {
        Box::new(Panics {
            calls: Arc::clone(&calls),
            at: at.clone(),
            rng: CountingRng::new(),
        })
    });
    let ports = Ports { rng, ..ports() };
    let node = TestNode::start(store.clone(), ports, NodeConfig::default());
    let node = node.await.unwrap();
    node.submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    node
}

/// Appends twenty lines at once: the numbers of those that met a defect.
async fn met_a_defect(node: &TestNode) -> Vec<u64> {
    let lines = (1..=20).map(|number| {
        let node = node.clone();
        let line = submission(number, PrincipalKind::Agent, TASK, append("line"));
        tokio::spawn(async move { (number, node.submit(line).await) })
    });
    let mut failed = Vec::new();
    for line in lines.collect::<Vec<_>>() {
        let (number, answer) = line.await.unwrap();
        if let Err(error) = answer {
            assert_eq!(error.code, ErrorCode::Internal);
            failed.push(number);
        }
    }
    failed
}

#[tokio::test]
async fn many_panics_in_one_batch_cost_their_own_commands_only() {
    // More than the tries that other writers may make in vain.
    let node = node_that_panics(&store(), 1..=9).await;
    let failed = met_a_defect(&node).await;
    assert_eq!(failed.len(), 9, "nine commands pay: {failed:?}");
}

#[tokio::test]
async fn a_panic_costs_its_own_command_only() {
    let store = store();
    // The batch of twenty draws from 1 on, so its fifth command meets salt 5.
    let node = node_that_panics(&store, 5..=5).await;
    let failed = met_a_defect(&node).await;
    assert_eq!(failed.len(), 1, "one command pays: {failed:?}");
    let again = node
        .submit(submission(
            failed[0],
            PrincipalKind::Agent,
            TASK,
            append("line"),
        ))
        .await;
    assert_eq!(
        again.unwrap_err().code,
        ErrorCode::Internal,
        "it is quarantined"
    );
    assert_eq!(
        node.reader()
            .task(&scope(TASK))
            .await
            .unwrap()
            .unwrap()
            .title,
        "Fix the parser"
    );
    let report = audit::verify(&store, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}
