//! Planted bugs: each safeguard of the commit path, left out, must be seen to break something.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sillok_core::ErrorCode;
use sillok_core::command::Submission;
use sillok_core::limits::CLOCK_AHEAD_MS_MAX;
use sillok_core::ports::{BoxFuture, Clock};
use sillok_core::principal::PrincipalKind;
use sillok_core::time::Timestamp;
use sillok_store::Error as StoreError;

use super::harness::{
    AS_MEANT, TASK, TestNode, append, first_seq, node, open_task, ports, scope, store, submission,
};
use super::line::{Fate, Line};
use crate::audit;
use crate::protocol::{Safeguard, Without};
use crate::{NodeConfig, Ports};

/// Two nodes that both believe they hold the slots: what a lost fence would look like. They write
/// at the same time, and each commit lingers, so that both have read before either writes. Gives
/// how many lines were acknowledged, their positions, and whether the audit passes.
async fn two_owners(protocol: Without, rounds: u64, text: &str) -> (usize, BTreeSet<u64>, bool) {
    let memory = store();
    let line = Line::new(&memory, Fate::Lingers);
    let first = TestNode::start_as(line, ports(), NodeConfig::default(), protocol)
        .await
        .unwrap();
    let second = first.twin().await.unwrap();
    first
        .submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    let mut acknowledged = Vec::new();
    for round in 1..=rounds {
        let line = |number| submission(number, PrincipalKind::Agent, TASK, append(text));
        let (one, other) = tokio::join!(
            first.submit(line(2 * round)),
            second.submit(line(2 * round + 1))
        );
        acknowledged.extend([first_seq(&one), first_seq(&other)]);
    }
    let distinct = acknowledged.iter().copied().collect();
    let sound = audit::verify(&memory, &|_| {})
        .await
        .is_ok_and(|report| report.first.is_none());
    (acknowledged.len(), distinct, sound)
}

#[tokio::test]
async fn two_owners_of_a_scope_lose_nothing() {
    let (acknowledged, positions, sound) = two_owners(AS_MEANT, 50, "line").await;
    assert_eq!(positions.len(), acknowledged);
    assert!(sound);
}

/// Large content is written first, in transactions of its own, and the scope may go on meanwhile.
#[tokio::test]
async fn two_owners_of_a_scope_lose_nothing_of_large_content() {
    let large = "line\n".repeat(14_000);
    let (acknowledged, positions, sound) = two_owners(AS_MEANT, 10, &large).await;
    assert_eq!(positions.len(), acknowledged);
    assert!(sound);
}

#[tokio::test]
async fn without_the_tip_in_the_conflict_set_updates_are_lost() {
    let (acknowledged, positions, sound) =
        two_owners(Without(Some(Safeguard::ConflictsOnTip)), 50, "line").await;
    assert!(
        positions.len() < acknowledged && !sound,
        "the planted bug must be seen"
    );
}

/// A command and its retry that wait together, behind another command that holds the scope up.
async fn retry_in_one_batch(protocol: Without) -> BTreeSet<u64> {
    let store = store();
    let node = TestNode::start_as(store, ports(), NodeConfig::default(), protocol)
        .await
        .unwrap();
    node.submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    let same = || submission(1, PrincipalKind::Agent, TASK, append("once"));
    let submit = |submission: Submission| {
        let node = node.clone();
        async move { node.submit(submission).await }
    };
    let held_up = submit(submission(2, PrincipalKind::Agent, TASK, append("before")));
    let (before, first, second) = tokio::join!(held_up, submit(same()), submit(same()));
    before.unwrap();
    let total = node
        .submit(submission(3, PrincipalKind::Agent, TASK, append("after")))
        .await;
    // The opening, "before", "once", "after": the last one stands at 4 unless "once" was applied twice.
    [first_seq(&first), first_seq(&second), first_seq(&total)]
        .into_iter()
        .collect()
}

#[tokio::test]
async fn a_retry_in_the_same_batch_is_applied_once() {
    assert_eq!(retry_in_one_batch(AS_MEANT).await, [3, 4].into());
}

#[tokio::test]
async fn without_the_dedupe_within_a_batch_a_retry_is_applied_twice() {
    assert_eq!(
        retry_in_one_batch(Without(Some(Safeguard::DeduplicatesBatch))).await,
        [3, 4, 5].into(),
        "the planted bug must be seen"
    );
}

/// A clock whose time of day can be set back.
struct SetBack {
    clock: Arc<dyn Clock>,
    back_ms: AtomicU64,
}

impl Clock for SetBack {
    fn now(&self) -> Timestamp {
        let back_ms = self.back_ms.load(Ordering::Relaxed);
        self.clock.now().minus_ms(back_ms)
    }

    fn monotonic_us(&self) -> u64 {
        self.clock.monotonic_us()
    }

    fn sleep(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.clock.sleep(ms)
    }
}

/// A command whose commit is held up in the network, and which is refused for good when it is tried
/// again. Gives what the late commit then met, and whether the command was applied in the end.
async fn refused_while_on_its_way(protocol: Without) -> (Option<StoreError>, bool) {
    let line = Line::new(&store(), Fate::Arrives);
    let ports = ports();
    let clock = Arc::new(SetBack {
        clock: Arc::clone(&ports.clock),
        back_ms: AtomicU64::new(0),
    });
    let ports = Ports {
        clock: clock.clone(),
        ..ports
    };
    let node = TestNode::start_as(line.clone(), ports, NodeConfig::default(), protocol)
        .await
        .unwrap();
    let open = || submission(0, PrincipalKind::Agent, TASK, open_task());
    line.hold_next();
    let unknown = node.submit(open()).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::OutcomeUnknown);
    line.mend();
    // Meanwhile the clock is corrected, and the command's id lies in the future.
    clock
        .back_ms
        .store(2 * CLOCK_AHEAD_MS_MAX, Ordering::Relaxed);
    let refused = node.submit(open()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidId);
    let met = line.land().await.err();
    let applied = node.reader().task(&scope(TASK)).await.unwrap().is_some();
    (met, applied)
}

#[tokio::test]
async fn who_is_refused_for_good_is_not_obeyed_later() {
    let (met, applied) = refused_while_on_its_way(AS_MEANT).await;
    assert!(matches!(met, Some(StoreError::Conflict)), "{met:?}");
    assert!(!applied);
}

#[tokio::test]
async fn without_the_bar_a_refused_command_is_applied_by_its_late_commit() {
    let without = Without(Some(Safeguard::BarsRefused));
    let (met, applied) = refused_while_on_its_way(without).await;
    assert!(met.is_none() && applied, "the planted bug must be seen");
}

#[tokio::test]
async fn a_new_node_fences_the_old_one() {
    let store = store();
    let old = node(&store).await;
    let new = node(&store).await;
    assert!(new.ownership().incarnation() > old.ownership().incarnation());
}
