//! What a server measures of its own work: how long commands take, how they share transactions and wait, and
//! what becomes of records on their way to entries.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::world::{log, verify};
use crate::harness::{Client, PROJECT, World};

/// How long a count may come late.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much a metric grew while something was done.
struct Growth<'a> {
    admin: &'a Client,
    name: &'static str,
    before: u64,
}

impl<'a> Growth<'a> {
    async fn of(admin: &'a Client, name: &'static str) -> Self {
        let before = admin.metric(name).await;
        Self {
            admin,
            name,
            before,
        }
    }

    /// It is that much, in a moment at the latest: a promotion is counted once it is published.
    async fn is(self, expected: u64) {
        let begun = Instant::now();
        loop {
            let grown = self.admin.metric::<u64>(self.name).await - self.before;
            if grown == expected {
                return;
            }
            assert!(
                grown < expected && begun.elapsed() < PATIENCE,
                "{} grew by {grown}, not {expected}",
                self.name
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn what_becomes_of_records_is_counted_on_their_way_to_entries() {
    let world = World::start().await;
    let admin = world.admin();
    let task = world.task().await;
    let records = Growth::of(&admin, "sillok_events_total{kind=\"RECORD_APPENDED\"}").await;
    let passed = Growth::of(
        &admin,
        "sillok_events_total{kind=\"VERIFICATION_RECORDED\"}",
    )
    .await;
    let started = Growth::of(&admin, "sillok_promotions_started_total").await;
    let finished = Growth::of(&admin, "sillok_promotions_total").await;
    let entries = Growth::of(&admin, "sillok_events_total{kind=\"ENTRY_CREATED\"}").await;
    let created = Growth::of(
        &admin,
        "sillok_promotion_products_total{disposition=\"created\"}",
    )
    .await;
    let failed = Growth::of(&admin, "sillok_promotion_failures_total").await;
    let asked = Growth::of(
        &admin,
        "sillok_engine_calls_total{engine=\"cognifier\",outcome=\"answered\"}",
    )
    .await;
    let embedded = Growth::of(
        &admin,
        "sillok_engine_calls_total{engine=\"embedder\",outcome=\"answered\"}",
    )
    .await;
    for line in 0..3 {
        log(&admin, &task, &format!("the build needs flag -j{line}")).await;
    }
    verify(&admin, &task, PROJECT).await;
    records.is(3).await;
    passed.is(1).await;
    started.is(1).await;
    finished.is(1).await;
    failed.is(0).await;
    asked.is(1).await;
    embedded.is(1).await;
    let made: u64 = admin
        .metric("sillok_promotion_products_total{disposition=\"created\"}")
        .await;
    assert!(made > 0, "a promotion makes entries");
    created.is(made).await;
    entries.is(made).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_are_timed_and_a_full_mailbox_shows_in_its_depth() {
    const COMMANDS: u64 = 64;
    let world = World::start().await;
    let admin = world.admin();
    let task = world.task().await;
    let timed = Growth::of(&admin, "sillok_command_seconds_count").await;
    let applied = Growth::of(&admin, "sillok_commands_total").await;
    let writes = (0..COMMANDS).map(|line| {
        let (admin, task) = (admin.clone(), task.clone());
        async move { log(&admin, &task, &format!("line {line}")).await }
    });
    futures::future::join_all(writes).await;
    timed.is(COMMANDS).await;
    applied.is(COMMANDS).await;
    let together: f64 = admin.metric("sillok_batch_commands_sum").await;
    let alone: f64 = admin.metric("sillok_commands_total").await;
    assert!((together - alone).abs() < 0.5, "{together}, {alone}");
    let batches: u64 = admin.metric("sillok_batches_total").await;
    let measured: u64 = admin.metric("sillok_commit_seconds_count").await;
    assert_eq!(batches, measured);
    let mailboxes: u64 = admin.metric("sillok_mailbox_commands_count").await;
    let alone: u64 = admin
        .metric("sillok_mailbox_commands_bucket{le=\"1.0\"}")
        .await;
    assert!(alone < mailboxes, "some batch began with more than one");
    let seconds: f64 = admin.metric("sillok_command_seconds_sum").await;
    let commits: f64 = admin.metric("sillok_commit_seconds_sum").await;
    assert!(0.0 < commits && commits < seconds, "{commits} of {seconds}");
    // What is refused is none of them.
    let refused = Growth::of(&admin, "sillok_command_seconds_count").await;
    let closed = json!({ "scope": task, "content": "" });
    let reply = admin.post("/v1/records", &closed).await;
    assert!(reply.status >= 400, "{}", reply.text);
    refused.is(0).await;
}
