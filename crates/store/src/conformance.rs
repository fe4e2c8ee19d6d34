//! One conformance suite for every engine.
//!
//! An engine instantiates it in its tests with [`conformance_suite!`](crate::conformance_suite).
//! Must not know any engine; every case gets an empty store of its own.

mod concurrency;
mod conflicts;
mod limits;
mod reads;

use std::future::Future;

use bytes::Bytes;

use crate::{Committed, Error, Read, Store, Txn};

pub use concurrency::*;
pub use conflicts::*;
pub use limits::*;
pub use reads::*;

/// Makes a module `$name` with one test per case. `$factory` is an expression that is awaited for
/// each test and gives `(store, guard)`: an empty store, and whatever must outlive it.
#[macro_export]
macro_rules! conformance_suite {
    ($name:ident, $factory:expr) => {
        $crate::conformance_suite!(@cases $name, $factory,
            reads_own_writes,
            ranges_see_own_writes,
            a_transaction_reads_from_one_moment,
            a_snapshot_range_stays_as_it_was,
            ranges_have_limits_and_directions,
            a_commit_is_seen_by_the_next_transaction,
            a_removed_key_is_gone_and_can_come_back,
            read_then_written_by_another_conflicts,
            snapshot_reads_do_not_conflict,
            own_writes_do_not_conflict,
            writes_without_reads_do_not_conflict,
            an_insert_into_a_range_that_was_read_conflicts,
            a_removal_from_a_range_that_was_read_conflicts,
            clearing_a_range_conflicts_with_reads_in_it,
            a_limited_range_conflicts_only_where_it_looked,
            a_declared_conflict_counts_like_a_read,
            a_declared_conflict_holds_though_the_key_is_written_after_it,
            absent_keys_that_were_read_conflict,
            stamped_keys_conflict_with_ranges,
            write_skew_is_refused,
            refused_transactions_write_nothing,
            clearing_a_range_removes_what_was_inserted_meanwhile,
            additions_commute,
            additions_wrap_and_fill,
            a_read_of_a_pending_addition_conflicts,
            stamped_keys_rise_and_are_unique,
            stamps_of_commits_rise,
            limits_are_refused_and_write_nothing,
            bounds_themselves_are_accepted,
            a_transaction_as_large_as_allowed_commits,
            keys_of_the_engine_are_refused,
            read_only_transactions_always_commit,
            a_dropped_transaction_writes_nothing,
            concurrent_increments_lose_nothing,
            concurrent_additions_lose_nothing,
            concurrent_appends_keep_a_gapless_sequence,
        );
    };
    (@cases $name:ident, $factory:expr, $($case:ident,)+) => {
        mod $name {
            #[allow(unused_imports, reason = "the factory may name items of the caller's module")]
            use super::*;
            $(
                #[test]
                fn $case() {
                    $crate::conformance::run(async {
                        let (store, _guard) = $factory.await;
                        $crate::conformance::$case(&store).await;
                    });
                }
            )+
        }
    };
}

/// Runs one case on a runtime of its own, with what an engine over a network needs.
///
/// # Panics
/// When the case fails.
pub fn run(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime
        .expect("the system gives a runtime its drivers")
        .block_on(case);
}

async fn begin<S: Store>(store: &S) -> S::Txn {
    store
        .begin()
        .await
        .expect("an open store begins transactions")
}

async fn get<T: Txn>(txn: &mut T, key: &str) -> Option<Bytes> {
    txn.get(key.as_bytes(), Read::Conflict)
        .await
        .expect("a valid key can be read")
}

async fn peek<T: Txn>(txn: &mut T, key: &str) -> Option<Bytes> {
    txn.get(key.as_bytes(), Read::Snapshot)
        .await
        .expect("a valid key can be read")
}

async fn read<S: Store>(store: &S, key: &str) -> Option<Bytes> {
    peek(&mut begin(store).await, key).await
}

async fn commit<T: Txn>(txn: T) -> Committed {
    txn.commit()
        .await
        .expect("the transaction has nothing to conflict with")
}

async fn assert_conflict<T: Txn>(txn: T) {
    let answer = txn.commit().await;
    assert!(
        matches!(answer, Err(Error::Conflict)),
        "expected a conflict, got {answer:?}"
    );
}

async fn put<S: Store>(store: &S, pairs: &[(&'static str, &'static str)]) -> Committed {
    let mut txn = begin(store).await;
    for (key, value) in pairs {
        txn.set(*key, *value);
    }
    commit(txn).await
}

fn text(value: &'static str) -> Option<Bytes> {
    Some(Bytes::from_static(value.as_bytes()))
}

fn number(value: Option<Bytes>) -> i64 {
    let bytes = value.expect("the number was written");
    i64::from_le_bytes(bytes.as_ref().try_into().expect("a number has 8 bytes"))
}
