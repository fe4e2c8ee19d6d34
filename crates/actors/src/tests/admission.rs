//! Actors that come and go: admission, passivation, shutdown.

use std::collections::BTreeSet;
use std::sync::Arc;

use sillok_core::ErrorCode;
use sillok_core::command::{Command, Submission};
use sillok_core::id::EntryId;
use sillok_core::ports::Forwarded;
use sillok_core::principal::PrincipalKind;
use sillok_core::retention::pace::Writers;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::slot::Slot;

use super::harness::{
    PROJECT, TASK, TestNode, append, first_seq, in_time, node, node_with_task, ports, principal,
    scope, store, submission,
};
use crate::NodeConfig;
use crate::config::AdmissionConfig;

#[tokio::test]
async fn a_full_scope_answers_busy_and_loses_nothing_of_what_it_took() {
    let admission = AdmissionConfig {
        scope_commands: 8,
        ..AdmissionConfig::default()
    };
    let config = NodeConfig {
        admission,
        ..NodeConfig::default()
    };
    let node = TestNode::start(store(), ports(), config).await.unwrap();
    node.submit(submission(
        0,
        PrincipalKind::Agent,
        TASK,
        super::harness::open_task(),
    ))
    .await
    .unwrap();
    let writers: Vec<_> = (1..=100)
        .map(|number| {
            let node = node.clone();
            let line = submission(number, PrincipalKind::Agent, TASK, append("line"));
            tokio::spawn(async move { node.submit(line).await })
        })
        .collect();
    let mut taken = 0;
    for writer in writers {
        match writer.await.unwrap() {
            Ok(_) => taken += 1,
            Err(error) => {
                assert_eq!(error.code, ErrorCode::Busy);
                assert!(error.retry_after_ms().is_some());
            }
        }
    }
    assert!(taken >= 8, "what was admitted was carried out");
    let next = node
        .submit(submission(101, PrincipalKind::Agent, TASK, append("next")))
        .await;
    assert_eq!(first_seq(&next), taken + 2);
}

#[tokio::test]
async fn an_idle_actor_is_put_away_and_comes_back() {
    let store = store();
    let config = NodeConfig {
        passivate_after_ms: 1,
        ..NodeConfig::default()
    };
    let node = TestNode::start(store, ports(), config).await.unwrap();
    node.submit(submission(
        0,
        PrincipalKind::Agent,
        TASK,
        super::harness::open_task(),
    ))
    .await
    .unwrap();
    for _ in 0..10_000 {
        if node.metrics().active_scopes == 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(node.metrics().active_scopes, 0);
    let answer = node
        .submit(submission(1, PrincipalKind::Agent, TASK, append("back")))
        .await;
    assert_eq!(first_seq(&answer), 2);
}

#[tokio::test]
async fn a_node_that_shuts_down_takes_nothing_new_and_keeps_what_it_took() {
    let store = store();
    let node_before = node_with_task(&store).await;
    let answer = node_before
        .submit(submission(1, PrincipalKind::Agent, TASK, append("kept")))
        .await;
    node_before.shutdown().await;
    let error = node_before
        .submit(submission(2, PrincipalKind::Agent, TASK, append("late")))
        .await
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    let node_after = node(&store).await;
    let next = node_after
        .submit(submission(2, PrincipalKind::Agent, TASK, append("late")))
        .await;
    assert_eq!(first_seq(&next), first_seq(&answer) + 1);
}

#[tokio::test]
async fn a_node_that_ends_sends_those_on_who_were_sent_to_it() {
    let node = node_with_task(&store()).await;
    node.shutdown().await;
    let line = || submission(1, PrincipalKind::Agent, TASK, append("line"));
    assert_eq!(
        node.serve(Arc::new(line()), None).await,
        Forwarded::NotOwner
    );
    let refused = node.submit(line()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
}

#[tokio::test]
async fn once_the_node_has_ended_nobody_waits_for_the_index() {
    let node = node_with_task(&store()).await;
    node.shutdown().await;
    let shared = node.shared();
    let slots = BTreeSet::from([Slot::of(&scope(TASK))]);
    let caught_up = shared
        .index_requests
        .catch_up_soon(slots, &*shared.ports.clock);
    let refused = in_time(caught_up).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    assert!(refused.message.contains("has ended"), "{refused}");
}

#[tokio::test]
async fn who_reports_to_a_project_that_its_token_does_not_cover_is_seen_to_write() {
    let node = node(&store()).await;
    assert_eq!(node.router().writers(), Writers::default());
    let report = Command::ReportReuse {
        task: scope(TASK),
        entry: EntryId::from_bytes([3; 16]),
        outcome: ReuseOutcome::Helped,
    };
    let report = Submission {
        principal: principal(PrincipalKind::Agent, TASK),
        ..submission(0, PrincipalKind::Agent, PROJECT, report)
    };
    // There is no such entry: whoever asks in vain waits as long.
    node.submit(report).await.unwrap_err();
    assert!(node.router().writers().last_ms.is_some());
}
