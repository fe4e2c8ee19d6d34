//! Cases with many transactions at once.

use std::future::Future;

use super::{begin, commit, get, number, read};
use crate::{Error, KeyRange, RangeOptions, Read, Store, Txn};

const TASKS: i64 = 16;
const ROUNDS: i64 = 20;

async fn in_tasks<F: Future<Output = ()> + Send + 'static>(task: impl Fn(i64) -> F) {
    let mut running = tokio::task::JoinSet::new();
    for number in 0..TASKS {
        running.spawn(task(number));
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("no task panics");
    }
}

/// Runs `step` in fresh transactions until one commits.
async fn until_committed<S: Store>(store: &S, step: impl AsyncFn(&mut S::Txn)) {
    for _ in 0..10_000 {
        let mut txn = begin(store).await;
        step(&mut txn).await;
        match txn.commit().await {
            Ok(_) => return,
            Err(Error::Conflict) => {}
            Err(other) => panic!("only conflicts are expected, got {other}"),
        }
    }
    panic!("somebody always wins, so a transaction gets through");
}

/// Read, then write one more: the classic lost update.
pub async fn concurrent_increments_lose_nothing<S: Store>(store: &S) {
    in_tasks(|_| {
        let store = store.clone();
        async move {
            for _ in 0..ROUNDS {
                let mut won = false;
                while !won {
                    let mut txn = begin(&store).await;
                    let before = get(&mut txn, "n")
                        .await
                        .map_or(0, |value| number(Some(value)));
                    // Lets others in between the read and the commit.
                    tokio::task::yield_now().await;
                    txn.set("n", (before + 1).to_le_bytes().to_vec());
                    won = match txn.commit().await {
                        Ok(_) => true,
                        Err(Error::Conflict) => false,
                        Err(other) => panic!("only conflicts are expected, got {other}"),
                    };
                }
            }
        }
    })
    .await;
    assert_eq!(number(read(store, "n").await), TASKS * ROUNDS);
}

/// Additions need no second try.
pub async fn concurrent_additions_lose_nothing<S: Store>(store: &S) {
    in_tasks(|task| {
        let store = store.clone();
        async move {
            for _ in 0..ROUNDS {
                let mut txn = begin(&store).await;
                tokio::task::yield_now().await;
                txn.add("n", task);
                commit(txn).await;
            }
        }
    })
    .await;
    assert_eq!(
        number(read(store, "n").await),
        ROUNDS * TASKS * (TASKS - 1) / 2
    );
}

/// Each appends behind the last key that it sees: no gap, and no number given twice.
pub async fn concurrent_appends_keep_a_gapless_sequence<S: Store>(store: &S) {
    in_tasks(|_| {
        let store = store.clone();
        async move {
            for _ in 0..ROUNDS {
                until_committed(&store, append).await;
            }
        }
    })
    .await;
    let mut txn = begin(store).await;
    let options = RangeOptions::first(usize::MAX, Read::Snapshot);
    let pairs = txn
        .range(&KeyRange::prefix(b"e/"), options)
        .await
        .expect("a range can be read");
    let expected: Vec<_> = (1..=TASKS * ROUNDS)
        .map(|seq| format!("e/{seq:08}"))
        .collect();
    assert_eq!(pairs.len(), expected.len());
    for ((key, _), expected) in pairs.iter().zip(&expected) {
        assert_eq!(key.as_ref(), expected.as_bytes());
    }
}

async fn append<T: Txn>(txn: &mut T) {
    let last = txn
        .range(
            &KeyRange::prefix(b"e/"),
            RangeOptions::last(1, Read::Conflict),
        )
        .await;
    let last = last.expect("a range can be read").pop();
    tokio::task::yield_now().await;
    let seq = last.map_or(0, |(key, _)| {
        let digits = std::str::from_utf8(&key[2..]).expect("the key was written by this case");
        digits
            .parse::<i64>()
            .expect("the key was written by this case")
    });
    txn.set(format!("e/{:08}", seq + 1), "event");
}
