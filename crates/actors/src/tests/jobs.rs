//! Promotions that are not finished: what outlives the node that tried them, and giving them up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use sillok_builtin::RuleCognifier;
use sillok_core::ErrorCode;
use sillok_core::command::{AnswerBody, Command, Publish, Submission};
use sillok_core::entry::Table;
use sillok_core::id::{Seq, VerificationId};
use sillok_core::invariants::Invariant;
use sillok_core::ports::{BoxFuture, Cognifier, PortError};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{Attempts, CognifyInput, Cognition};
use sillok_core::scope::ScopePrefix;
use sillok_core::slot::Slot;
use sillok_core::task::TaskStatus;
use sillok_core::time::{DAY_MS, Timestamp};
use sillok_core::verification::Outcome;
use sillok_store::keys::{Family, attempt};
use sillok_store::{RangeOptions, Read, Store, Txn as _};

use super::faults::Silent;
use super::harness::{
    AS_MEANT, PROJECT, TASK, TestNode, TestStore, append, clock_at, in_time, open_task, ports,
    scope, store, submission,
};
use super::world::{entry, verification};
use crate::audit::{self, AuditReport};
use crate::cluster::tests::among_others;
use crate::jobs::{self, PromotionState};
use crate::protocol::{Safeguard, Without};
use crate::reads::{JobPlace, ListedJob};
use crate::{NodeConfig, Ports};

/// A cognifier that always fails, and counts how often it was asked.
#[derive(Default)]
struct Failing(AtomicU64);

impl Cognifier for Failing {
    fn name(&self) -> &str {
        "failing 1"
    }

    fn cognify<'a>(&'a self, _: &'a CognifyInput) -> BoxFuture<'a, Result<Cognition, PortError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Err(PortError::Unusable("the model babbles".into())) })
    }
}

/// A cognifier that is out of reach so many times, and then answers.
struct Away(AtomicU64);

impl Cognifier for Away {
    fn name(&self) -> &str {
        "away 1"
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        let left = self.0.load(Ordering::Relaxed);
        if left == 0 {
            return Box::pin(async move { RuleCognifier.cognify(input).await });
        }
        self.0.store(left - 1, Ordering::Relaxed);
        Box::pin(async { Err(PortError::Unavailable("nobody listens".into())) })
    }
}

#[tokio::test]
async fn an_engine_that_is_out_of_reach_for_long_halts_nothing() {
    let memory = store();
    let away = Arc::new(Away(AtomicU64::new(20)));
    let cognifier = Arc::clone(&away) as Arc<dyn Cognifier>;
    let node = started(&memory, 0, Some(cognifier), 2, AS_MEANT).await;
    let id = verified(&node).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    assert_eq!(away.0.load(Ordering::Relaxed), 0);
    node.shutdown().await;
}

/// A node some days later than the first one, with this cognifier and so many attempts.
pub(super) async fn started(
    memory: &TestStore,
    days: u64,
    cognifier: Option<Arc<dyn Cognifier>>,
    attempts: u32,
    protocol: Without,
) -> TestNode {
    let ports = Ports {
        clock: clock_at(days * DAY_MS),
        ..ports()
    };
    let ports = match cognifier {
        Some(cognifier) => Ports { cognifier, ..ports },
        None => ports,
    };
    let mut config = NodeConfig::default();
    config.jobs.attempts = attempts;
    config.jobs.workers = 1;
    TestNode::start_as(memory.clone(), ports, config, protocol)
        .await
        .unwrap()
}

fn by(number: u64, command: Command) -> Submission {
    submission(number, PrincipalKind::Orchestrator, TASK, command)
}

/// Opens the task, stages what is worth a promotion, and has it judged.
pub(super) async fn verified(node: &TestNode) -> VerificationId {
    node.submit(by(0, open_task())).await.unwrap();
    let line = append("root cause: an early stop");
    node.submit(by(1, line)).await.unwrap();
    let passed = verification(Outcome::Passed, "run");
    match node.submit(by(2, passed)).await.unwrap().result {
        AnswerBody::Verification { id, .. } => id,
        other => panic!("a verification was answered with {other:?}"),
    }
}

fn drop_of(verification: VerificationId) -> Command {
    Command::DropPromotion {
        verification,
        reason: "the model never answers".into(),
    }
}

pub(super) async fn listed(node: &TestNode) -> Vec<ListedJob> {
    let all = node.reader().promotions(&ScopePrefix::All, None, None, 10);
    all.await.unwrap().items
}

async fn kept_rows(memory: &TestStore) -> usize {
    let mut txn = memory.begin().await.unwrap();
    let all = RangeOptions::first(10, Read::Snapshot);
    txn.range(&Family::Attempt.range(), all)
        .await
        .unwrap()
        .len()
}

async fn audited(memory: &TestStore) -> AuditReport {
    audit::verify(memory, &|_| {}).await.unwrap()
}

/// A store on which a promotion has halted after two attempts. Nothing runs there any more.
async fn halted() -> (TestStore, VerificationId) {
    let memory = store();
    let node = started(&memory, 0, Some(Arc::new(Failing::default())), 2, AS_MEANT).await;
    let id = verified(&node).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    assert!(
        matches!(state, PromotionState::Halted { attempts: 2, .. }),
        "{state:?}"
    );
    in_time(async {
        while !listed(&node).await.iter().any(|job| job.attempts.halted) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    node.shutdown().await;
    (memory, id)
}

#[tokio::test]
async fn a_promotion_that_has_halted_stays_so_over_a_restart_until_it_is_wanted_tried_anew() {
    let (memory, id) = halted().await;
    let node = started(&memory, 1, None, 2, AS_MEANT).await;
    let state = node.promotion(&scope(TASK), id, 100_000).await.unwrap();
    let PromotionState::Halted {
        attempts: 2,
        last_error: Some(error),
    } = state
    else {
        panic!("it stays halted: {state:?}")
    };
    assert_eq!(error.code, ErrorCode::Internal);
    assert!(error.message.contains("the model babbles"));
    let job = listed(&node).await.remove(0);
    assert_eq!(job.job.source, scope(TASK));
    assert_eq!((job.attempts.failures, job.attempts.round), (2, 0));
    assert_eq!(job.attempts.spent.unwrap().cognifier, "failing 1");
    assert_eq!(audited(&memory).await.first, None);
    let other = VerificationId::from_bytes([9; 16]);
    let unknown = node.retry_promotion(&scope(TASK), other).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::NotFound);
    assert!(node.retry_promotion(&scope(TASK), id).await.unwrap());
    let state = node.promotion(&scope(TASK), id, 1_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    assert!(!node.retry_promotion(&scope(TASK), id).await.unwrap());
    assert_eq!(kept_rows(&memory).await, 0, "it goes with the job");
    assert_eq!(audited(&memory).await.first, None);
}

#[tokio::test]
async fn whoever_resumes_a_promotion_goes_on_counting_its_failures() {
    let memory = store();
    let silent: Arc<dyn Cognifier> = Arc::new(Silent);
    let node = started(&memory, 0, Some(silent), 1_000, AS_MEANT).await;
    let id = verified(&node).await;
    node.shutdown().await;
    // What the former owner has kept of it, at last.
    let kept = Attempts {
        made: 6,
        failures: 2,
        ..Attempts::default()
    };
    let mut txn = memory.begin().await.unwrap();
    let key = attempt::key(Slot::of(&scope(TASK)), id);
    txn.set(key, attempt::encode(&kept));
    txn.commit().await.unwrap();
    let cognifier = Arc::new(Failing::default());
    let node = started(&memory, 1, Some(cognifier.clone()), 5, AS_MEANT).await;
    let state = node.promotion(&scope(TASK), id, 10_000_000).await.unwrap();
    let PromotionState::Halted { attempts, .. } = state else {
        panic!("it halts: {state:?}")
    };
    assert_eq!(attempts, 9);
    let asked = cognifier.0.load(Ordering::Relaxed);
    assert_eq!(asked, 3, "what failed before counts");
}

#[tokio::test]
async fn what_a_takeover_finds_of_a_promotion_is_what_its_former_owner_knew() {
    let (memory, id) = halted().await;
    let bob = among_others(&memory, "bob");
    let slots = [Slot::of(&scope(TASK))].into();
    let found = jobs::of_slots(&memory, jobs::pace_of(&bob), &slots);
    let mut found = found.await.unwrap();
    assert_eq!(found.len(), 1);
    bob.jobs.add_found(found.remove(0));
    let waiting = bob.jobs.list().remove(0);
    assert!(waiting.halted && waiting.attempts == 2, "{waiting:?}");
    // Somebody else wants it tried anew, and this node finds that out.
    let carol = among_others(&memory, "carol");
    assert!(jobs::retry(&carol, &scope(TASK), id).await.unwrap());
    assert!(carol.jobs.list().is_empty(), "it is none of hers");
    bob.jobs.look_again(Slot::of(&scope(TASK)));
    jobs::read_unread(&bob).await.unwrap();
    assert!(!bob.jobs.list().remove(0).halted);
}

#[tokio::test]
async fn a_wish_that_another_node_heard_is_found_by_the_owner_itself() {
    let (memory, id) = halted().await;
    let node = started(&memory, 1, None, 2, AS_MEANT).await;
    let carol = among_others(&memory, "carol");
    assert!(jobs::retry(&carol, &scope(TASK), id).await.unwrap());
    let state = node.promotion(&scope(TASK), id, 1_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
}

#[tokio::test]
async fn a_dropped_promotion_is_gone_and_its_records_are_pinned_again() {
    let (memory, id) = halted().await;
    let node = started(&memory, 1, None, 2, AS_MEANT).await;
    let dropped = node.submit(by(3, drop_of(id))).await.unwrap();
    assert_eq!(dropped.result, AnswerBody::Task(TaskStatus::Open));
    let again = node.submit(by(3, drop_of(id))).await.unwrap();
    assert_eq!(again, dropped, "a retry of the command is answered alike");
    let state = node.promotion(&scope(TASK), id, 0).await.unwrap();
    assert_eq!(state, PromotionState::Dropped);
    assert!(listed(&node).await.is_empty() && node.waiting_jobs().is_empty());
    assert_eq!(kept_rows(&memory).await, 0);
    let refused = node.submit(by(4, drop_of(id))).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert!(!node.retry_promotion(&scope(TASK), id).await.unwrap());
    let passed = verification(Outcome::Passed, "another run");
    let answer = node.submit(by(5, passed)).await.unwrap();
    let AnswerBody::Verification { id, from, .. } = answer.result else {
        panic!("a verification is answered as one")
    };
    assert_eq!(from, Seq::ZERO);
    let state = node.promotion(&scope(TASK), id, 1_000_000).await.unwrap();
    let PromotionState::Done(finished) = state else {
        panic!("the records are promoted: {state:?}")
    };
    assert!(finished.report.created() > 0);
    assert_eq!(audited(&memory).await.first, None);
}

#[tokio::test]
async fn a_wait_is_never_longer_than_it_was_whatever_clock_wrote_it_down() {
    let (memory, id) = halted().await;
    let slot = Slot::of(&scope(TASK));
    for (made, wait_ms) in [(1, 200), (3, 800), (40, 60_000)] {
        let ahead = Attempts {
            made,
            next_at: Some(Timestamp::from_ms(u64::MAX / 2)),
            ..Attempts::default()
        };
        let mut txn = memory.begin().await.unwrap();
        txn.set(attempt::key(slot, id), attempt::encode(&ahead));
        txn.commit().await.unwrap();
        let bob = among_others(&memory, "bob");
        let slots = [slot].into();
        let found = jobs::of_slots(&memory, jobs::pace_of(&bob), &slots);
        let due_ms = found.await.unwrap()[0].due_ms;
        let now_ms = bob.ports.clock.monotonic_ms();
        assert!(
            (wait_ms..wait_ms + 10).contains(&due_ms),
            "{due_ms} at {now_ms}"
        );
    }
}

/// A cognifier in whose midst somebody drops the promotion.
struct Dropping {
    node: OnceLock<TestNode>,
    good: Arc<dyn Cognifier>,
}

impl Cognifier for Dropping {
    fn name(&self) -> &str {
        "dropping"
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        Box::pin(async move {
            let node = self.node.get().expect("it runs");
            let id = node.reader().jobs().await.unwrap()[0].verification;
            node.submit(by(3, drop_of(id))).await.unwrap();
            self.good.cognify(input).await
        })
    }
}

/// What becomes of a promotion that is dropped while a worker carries it out, and what an audit says.
async fn dropped_under_way(protocol: Without) -> (bool, AuditReport) {
    let memory = store();
    let cognifier = Arc::new(Dropping {
        node: OnceLock::new(),
        good: ports().cognifier,
    });
    let node = started(&memory, 0, Some(cognifier.clone()), 2, protocol).await;
    assert!(cognifier.node.set(node.clone()).is_ok());
    let id = verified(&node).await;
    let ended = async {
        while node.metrics().promotion_failures + node.metrics().promotions == 0 {
            tokio::task::yield_now().await;
        }
    };
    in_time(ended).await;
    node.shutdown().await;
    let mark = node.reader().mark(&scope(TASK), id).await.unwrap();
    assert!(listed(&node).await.is_empty() && node.waiting_jobs().is_empty());
    (mark.is_some(), audited(&memory).await)
}

#[tokio::test]
async fn what_is_dropped_while_it_is_carried_out_is_not_published() {
    let (is_published, report) = dropped_under_way(AS_MEANT).await;
    assert!(!is_published);
    assert_eq!(report.first, None);
}

#[tokio::test]
async fn without_a_look_at_its_job_what_was_dropped_is_published_and_an_audit_says_so() {
    let blind = Without(Some(Safeguard::PublishesPending));
    let (is_published, report) = dropped_under_way(blind).await;
    assert!(is_published);
    assert_eq!(report.first.unwrap().invariant, Invariant::EndsOnce);
}

/// A store in which a promotion is published, and its task does not say so yet. Nobody can drop it.
async fn published_and_not_noted() -> (TestStore, VerificationId) {
    let memory = store();
    let silent: Arc<dyn Cognifier> = Arc::new(Silent);
    let node = started(&memory, 0, Some(silent), 2, AS_MEANT).await;
    let id = verified(&node).await;
    let recorded = node.reader().verification(&scope(TASK), id).await;
    let publish = Publish {
        source: scope(TASK),
        verification: recorded.unwrap().unwrap(),
        products: vec![entry(Table::Episodes, "it stopped one item early")],
    };
    let publish = Command::Publish(Box::new(publish));
    let publish = submission(3, PrincipalKind::System, PROJECT, publish);
    node.submit(publish).await.unwrap();
    let refused = node.submit(by(4, drop_of(id))).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Conflict);
    assert!(refused.message.contains("is published"), "{refused}");
    node.shutdown().await;
    (memory, id)
}

/// What an audit says once such a promotion is noted.
async fn noted_later(protocol: Without) -> AuditReport {
    let (memory, id) = published_and_not_noted().await;
    let node = started(&memory, 1, None, 2, protocol).await;
    let state = node.promotion(&scope(TASK), id, 1_000_000).await.unwrap();
    assert!(matches!(state, PromotionState::Done(_)), "{state:?}");
    audited(&memory).await
}

#[tokio::test]
async fn what_is_published_and_not_noted_yet_cannot_be_dropped_and_is_noted_in_the_end() {
    assert_eq!(noted_later(AS_MEANT).await.first, None);
}

#[tokio::test]
async fn without_a_look_at_its_mark_a_promotion_is_published_twice_and_an_audit_says_so() {
    let blind = Without(Some(Safeguard::PublishesOnce));
    let found = noted_later(blind).await.first.unwrap();
    assert_eq!(found.invariant, Invariant::PublishedOnce);
}

#[tokio::test]
async fn an_attempt_that_belongs_to_no_job_is_found_and_removed() {
    let (memory, _) = halted().await;
    let slot = Slot::of(&scope(TASK));
    let orphan = attempt::key(slot, VerificationId::from_bytes([9; 16]));
    let mut txn = memory.begin().await.unwrap();
    txn.set(orphan, attempt::encode(&Default::default()));
    txn.commit().await.unwrap();
    let first = audited(&memory).await.first.unwrap();
    assert_eq!(
        (&*first.family, &*first.what),
        ("attempt", "no event leads to the row")
    );
    crate::rebuild::rebuild_view(&memory, &|_| {})
        .await
        .unwrap();
    assert_eq!(audited(&memory).await.first, None);
    assert_eq!(kept_rows(&memory).await, 1, "that of the job stays");
}

#[tokio::test]
async fn a_listing_goes_page_by_page_over_what_a_prefix_covers() {
    let memory = store();
    let silent: Arc<dyn Cognifier> = Arc::new(Silent);
    let node = started(&memory, 0, Some(silent), 2, AS_MEANT).await;
    let mut all = Vec::new();
    for (number, path) in [
        "org/acme/project/a",
        "org/acme/project/b",
        "org/acme/project/b/worktree/w",
    ]
    .into_iter()
    .enumerate()
    {
        let worktree = if path.contains("worktree") {
            ""
        } else {
            "/worktree/main"
        };
        let task = format!("{path}{worktree}/task/t");
        let number = 10 * number as u64;
        let by =
            |step, command| submission(number + step, PrincipalKind::Orchestrator, &task, command);
        node.submit(by(0, open_task())).await.unwrap();
        node.submit(by(1, append("a line"))).await.unwrap();
        let passed = verification(Outcome::Passed, "run");
        node.submit(by(2, passed)).await.unwrap();
        all.push(task);
    }
    let page = async |under: &str, halted, after: Option<JobPlace>| {
        let under = under.parse().unwrap();
        node.reader()
            .promotions(&under, halted, after, 1)
            .await
            .unwrap()
    };
    let list = async |under: &str, halted| {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = page(under, halted, after).await;
            found.extend(page.items.iter().map(|job| job.job.source.to_string()));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        found.sort();
        found
    };
    all.sort();
    assert_eq!(list("*", None).await, all);
    assert_eq!(list("org/acme", Some(false)).await, all);
    assert_eq!(list("org/acme/project/b", None).await, all[1..]);
    assert_eq!(list("org/acme/project/b/worktree/w", None).await, all[2..]);
    assert!(list("*", Some(true)).await.is_empty());
    assert!(list("org/other", None).await.is_empty());
    let none = node.reader().promotions(&ScopePrefix::All, None, None, 0);
    assert_eq!(none.await.unwrap_err().code, ErrorCode::InvalidArgument);
}
