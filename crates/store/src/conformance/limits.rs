//! Cases about bounds, stamps and transactions that write nothing.

use super::{begin, commit, get, put, read, text};
use crate::limits::{
    KEY_BYTES_MAX, STAMPED_KEYS_MAX, TXN_BYTES_MAX, VALUE_BYTES_MAX, read_cost, stamped_cost,
    write_cost,
};
use crate::{Error, KeyRange, RangeOptions, Read, Stamp, Store, Txn};

/// Each bound, passed by one, refuses the whole transaction and names itself.
pub async fn limits_are_refused_and_write_nothing<S: Store>(store: &S) {
    let mut key = begin(store).await;
    key.set(vec![b'k'; KEY_BYTES_MAX + 1], "v");
    let mut stamped = begin(store).await;
    stamped.set_stamped(vec![b'k'; KEY_BYTES_MAX + 1 - Stamp::LEN], "v");
    let mut value = begin(store).await;
    value.set("k", vec![0; VALUE_BYTES_MAX + 1]);
    let mut total = begin(store).await;
    for number in 0..=TXN_BYTES_MAX / VALUE_BYTES_MAX {
        total.set(format!("k{number}"), vec![0; VALUE_BYTES_MAX]);
    }
    let mut many = begin(store).await;
    for _ in 0..=STAMPED_KEYS_MAX {
        many.set_stamped("x", "v");
    }
    let cases = [
        ("key", key),
        ("key", stamped),
        ("value", value),
        ("transaction", total),
        ("stamped keys", many),
    ];
    for (expected, mut txn) in cases {
        txn.set("harmless", "v");
        match txn.commit().await {
            Err(Error::TooLarge { what, limit, got }) => {
                assert_eq!(what, expected);
                assert!(got > limit);
            }
            other => panic!("expected a refusal of the {expected}, got {other:?}"),
        }
    }
    let mut check = begin(store).await;
    let options = RangeOptions::first(1, Read::Snapshot);
    assert!(
        check
            .range(&KeyRange::all(), options)
            .await
            .expect("a range can be read")
            .is_empty()
    );
    let long = vec![b'k'; KEY_BYTES_MAX + 1];
    assert!(matches!(
        check.get(&long, Read::Snapshot).await,
        Err(Error::TooLarge { .. })
    ));
}

/// The largest key with the largest value is stored and read back.
pub async fn bounds_themselves_are_accepted<S: Store>(store: &S) {
    let key = vec![b'k'; KEY_BYTES_MAX];
    let value = vec![7; VALUE_BYTES_MAX];
    let mut txn = begin(store).await;
    txn.set(key.clone(), value.clone());
    txn.set("empty value", "");
    commit(txn).await;
    let mut check = begin(store).await;
    let stored = check
        .get(&key, Read::Snapshot)
        .await
        .expect("a valid key can be read");
    assert_eq!(stored.as_deref(), Some(value.as_slice()));
    assert_eq!(get(&mut check, "empty value").await, text(""));
}

/// How a transaction is filled in [`a_transaction_as_large_as_allowed_commits`].
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fill {
    Sets,
    Removals,
    Ranges,
    Stamped,
    Reads,
}

/// However it is filled, a transaction that is admitted commits, and one more write or read is refused.
pub async fn a_transaction_as_large_as_allowed_commits<S: Store>(store: &S) {
    const PREFIX_BYTES: usize = 30;
    let key = |number: usize| format!("{number:0>PREFIX_BYTES$}");
    for fill in [
        Fill::Sets,
        Fill::Removals,
        Fill::Ranges,
        Fill::Stamped,
        Fill::Reads,
    ] {
        let cost = match fill {
            Fill::Sets => write_cost(PREFIX_BYTES, 8),
            Fill::Removals | Fill::Ranges => write_cost(PREFIX_BYTES, 0),
            Fill::Stamped => stamped_cost(PREFIX_BYTES + Stamp::LEN, 8),
            Fill::Reads => read_cost(PREFIX_BYTES),
        };
        let count = (TXN_BYTES_MAX - write_cost(1, 1)) / cost;
        for (count, is_admitted) in [(count, true), (count + 1, false)] {
            let mut txn = begin(store).await;
            txn.set("x", "v");
            for number in 0..count {
                let (begin, end) = (key(2 * number), key(2 * number + 1));
                match fill {
                    Fill::Sets => txn.set(begin, vec![0; 8]),
                    Fill::Removals => txn.clear(begin),
                    Fill::Ranges => txn.clear_range(&KeyRange::new(begin, end)),
                    Fill::Stamped => txn.set_stamped(begin, vec![0; 8]),
                    Fill::Reads => txn.conflict_on(&KeyRange::new(begin, end)),
                }
            }
            let answer = txn.commit().await;
            let is_too_large = matches!(answer, Err(Error::TooLarge { .. }));
            assert!(
                if is_admitted {
                    answer.is_ok()
                } else {
                    is_too_large
                },
                "{fill:?} {count}: {answer:?}"
            );
        }
    }
}

/// The empty key and those from 0xFF on are no keys of callers, and ranges do not show them.
pub async fn keys_of_the_engine_are_refused<S: Store>(store: &S) {
    for key in [vec![], vec![0xFF], vec![0xFF, 1]] {
        let mut txn = begin(store).await;
        assert!(matches!(
            txn.get(&key, Read::Snapshot).await,
            Err(Error::InvalidKey { .. })
        ));
        txn.set(key, "v");
        assert!(matches!(txn.commit().await, Err(Error::InvalidKey { .. })));
    }
    put(store, &[("a", "1")]).await;
    let mut txn = begin(store).await;
    let options = RangeOptions::last(usize::MAX, Read::Snapshot);
    let range = KeyRange::new("", vec![0xFF; 4]);
    assert_eq!(
        txn.range(&range, options)
            .await
            .expect("a range can be read")
            .len(),
        1
    );
}

/// Stamped keys order like the commits, and like the calls within one.
pub async fn stamped_keys_rise_and_are_unique<S: Store>(store: &S) {
    let mut expected = Vec::new();
    for round in 0..10 {
        let mut txn = begin(store).await;
        for call in 0..3 {
            txn.set_stamped("x/", format!("{round} {call}"));
            expected.push(format!("{round} {call}"));
        }
        let stamp = commit(txn).await.stamp;
        assert_eq!(stamp.generation, store.generation());
    }
    let mut txn = begin(store).await;
    let options = RangeOptions::first(usize::MAX, Read::Snapshot);
    let pairs = txn
        .range(&KeyRange::prefix(b"x/"), options)
        .await
        .expect("a range can be read");
    let values: Vec<_> = pairs.iter().map(|(_, value)| value.as_ref()).collect();
    assert_eq!(
        values,
        expected.iter().map(String::as_bytes).collect::<Vec<_>>()
    );
    let stamps: Vec<_> = pairs
        .iter()
        .map(|(key, _)| Stamp::from_bytes(&key[2..]))
        .collect();
    assert!(stamps.iter().all(Option::is_some));
    assert!(stamps.is_sorted_by(|a, b| a < b));
}

/// The stamp that a commit answers is the one in its keys, and rises.
pub async fn stamps_of_commits_rise<S: Store>(store: &S) {
    let mut last = None;
    for _ in 0..10 {
        let mut txn = begin(store).await;
        txn.set_stamped("x/", "v");
        let stamp = commit(txn).await.stamp;
        assert!(Some(stamp) > last);
        let key = [b"x/".as_slice(), &stamp.to_bytes()].concat();
        let value = begin(store).await.get(&key, Read::Snapshot).await;
        assert_eq!(value.expect("a valid key can be read"), text("v"));
        last = Some(stamp);
    }
}

/// Without writes nothing can conflict, and no commit is counted.
pub async fn read_only_transactions_always_commit<S: Store>(store: &S) {
    let before = put(store, &[("a", "1")]).await.stamp;
    let mut txn = begin(store).await;
    get(&mut txn, "a").await;
    txn.conflict_on(&KeyRange::all());
    let after = put(store, &[("a", "2")]).await.stamp;
    let seen = commit(txn).await.stamp;
    assert!(seen >= before && seen < after, "{before} {seen} {after}");
}

/// Without `commit`, nothing happened.
pub async fn a_dropped_transaction_writes_nothing<S: Store>(store: &S) {
    let mut txn = begin(store).await;
    txn.set("a", "1");
    txn.add("n", 1);
    txn.set_stamped("x/", "v");
    drop(txn);
    assert_eq!(read(store, "a").await, None);
    assert_eq!(read(store, "n").await, None);
}
