//! Cases about what a transaction sees.

use bytes::Bytes;

use super::{begin, commit, get, number, peek, put, read, text};
use crate::{KeyRange, RangeOptions, Read, Store, Txn};

async fn keys<T: Txn>(txn: &mut T, range: &KeyRange, options: RangeOptions) -> Vec<String> {
    let pairs = txn
        .range(range, options)
        .await
        .expect("a range can be read");
    pairs
        .into_iter()
        .map(|(key, _)| String::from_utf8_lossy(&key).into_owned())
        .collect()
}

fn everything() -> RangeOptions {
    RangeOptions::first(usize::MAX, Read::Conflict)
}

/// Set, clear, clear range and add are seen by `get` before the commit, and the same after it.
pub async fn reads_own_writes<S: Store>(store: &S) {
    put(
        store,
        &[("a", "old"), ("b", "old"), ("c", "old"), ("d", "old")],
    )
    .await;
    let mut txn = begin(store).await;
    txn.set("a", "new");
    txn.clear("b");
    txn.clear_range(&KeyRange::new("c", "e"));
    txn.set("d", "after");
    txn.add("n", 5);
    txn.add("n", -2);
    assert_eq!(get(&mut txn, "a").await, text("new"));
    assert_eq!(get(&mut txn, "b").await, None);
    assert_eq!(get(&mut txn, "c").await, None);
    assert_eq!(get(&mut txn, "d").await, text("after"));
    assert_eq!(number(get(&mut txn, "n").await), 3);
    commit(txn).await;
    assert_eq!(read(store, "a").await, text("new"));
    assert_eq!(read(store, "b").await, None);
    assert_eq!(read(store, "c").await, None);
    assert_eq!(read(store, "d").await, text("after"));
    assert_eq!(number(read(store, "n").await), 3);
}

/// Ranges merge the transaction's own writes with the committed pairs, in both directions.
pub async fn ranges_see_own_writes<S: Store>(store: &S) {
    put(
        store,
        &[("a", "1"), ("c", "1"), ("e", "1"), ("g", "1"), ("i", "1")],
    )
    .await;
    let mut txn = begin(store).await;
    txn.set("b", "own");
    txn.set("c", "own");
    txn.clear("e");
    txn.clear_range(&KeyRange::new("f", "h"));
    txn.set("z", "own");
    txn.add("n", 1);
    let range = KeyRange::new("a", "z");
    assert_eq!(
        keys(&mut txn, &range, everything()).await,
        ["a", "b", "c", "i", "n"]
    );
    let backwards = RangeOptions::last(3, Read::Conflict);
    assert_eq!(keys(&mut txn, &range, backwards).await, ["n", "i", "c"]);
    let pairs = txn.range(&KeyRange::key(b"c"), everything()).await;
    let expected = (Bytes::from_static(b"c"), Bytes::from_static(b"own"));
    assert_eq!(pairs.expect("a range can be read"), [expected]);
}

/// Every read of a transaction is of the moment of its begin.
pub async fn a_transaction_reads_from_one_moment<S: Store>(store: &S) {
    put(store, &[("a", "1"), ("b", "1")]).await;
    let mut txn = begin(store).await;
    assert_eq!(peek(&mut txn, "a").await, text("1"));
    put(store, &[("a", "2"), ("b", "2"), ("c", "2")]).await;
    assert_eq!(peek(&mut txn, "a").await, text("1"));
    assert_eq!(peek(&mut txn, "b").await, text("1"));
    assert_eq!(peek(&mut txn, "c").await, None);
}

/// Ranges too are of the moment of the begin, removals included.
pub async fn a_snapshot_range_stays_as_it_was<S: Store>(store: &S) {
    put(store, &[("a", "1"), ("b", "1")]).await;
    let mut txn = begin(store).await;
    put(store, &[("aa", "2")]).await;
    let mut other = begin(store).await;
    other.clear_range(&KeyRange::all());
    commit(other).await;
    assert_eq!(
        keys(&mut txn, &KeyRange::all(), everything()).await,
        ["a", "b"]
    );
    let mut later = begin(store).await;
    assert!(
        keys(&mut later, &KeyRange::all(), everything())
            .await
            .is_empty()
    );
}

/// Limits cut from the side that is read first; bounds are half open; empty ranges are empty.
pub async fn ranges_have_limits_and_directions<S: Store>(store: &S) {
    put(store, &[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")]).await;
    let mut txn = begin(store).await;
    let range = KeyRange::new("a", "d");
    assert_eq!(
        keys(&mut txn, &range, RangeOptions::first(2, Read::Snapshot)).await,
        ["a", "b"]
    );
    assert_eq!(
        keys(&mut txn, &range, RangeOptions::last(2, Read::Snapshot)).await,
        ["c", "b"]
    );
    assert_eq!(keys(&mut txn, &range, everything()).await, ["a", "b", "c"]);
    assert!(
        keys(&mut txn, &range, RangeOptions::first(0, Read::Snapshot))
            .await
            .is_empty()
    );
    assert!(
        keys(&mut txn, &KeyRange::new("c", "c"), everything())
            .await
            .is_empty()
    );
    assert!(
        keys(&mut txn, &KeyRange::new("d", "a"), everything())
            .await
            .is_empty()
    );
    assert_eq!(
        keys(&mut txn, &KeyRange::all(), everything()).await,
        ["a", "b", "c", "d"]
    );
}

/// What was acknowledged is seen by everything that begins afterwards.
pub async fn a_commit_is_seen_by_the_next_transaction<S: Store>(store: &S) {
    for round in 0..20 {
        let mut txn = begin(store).await;
        txn.set("round", round.to_string());
        commit(txn).await;
        let mut next = begin(store).await;
        assert_eq!(
            get(&mut next, "round").await,
            Some(Bytes::from(round.to_string()))
        );
    }
}

/// Removal of a key, of an absent key, and a new value after it.
pub async fn a_removed_key_is_gone_and_can_come_back<S: Store>(store: &S) {
    put(store, &[("a", "1")]).await;
    let mut txn = begin(store).await;
    txn.clear("a");
    txn.clear("never there");
    commit(txn).await;
    assert_eq!(read(store, "a").await, None);
    put(store, &[("a", "2")]).await;
    assert_eq!(read(store, "a").await, text("2"));
}
