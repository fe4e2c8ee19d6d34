//! Cases about which transactions exclude each other.

use super::{assert_conflict, begin, commit, get, number, peek, put, read, text};
use crate::{KeyRange, RangeOptions, Read, Store, Txn};

/// A read followed by another's write to the key.
pub async fn read_then_written_by_another_conflicts<S: Store>(store: &S) {
    put(store, &[("a", "1")]).await;
    let mut txn = begin(store).await;
    get(&mut txn, "a").await;
    txn.set("b", "mine");
    put(store, &[("a", "2")]).await;
    assert_conflict(txn).await;
    assert_eq!(read(store, "b").await, None);
}

/// A snapshot read takes no part.
pub async fn snapshot_reads_do_not_conflict<S: Store>(store: &S) {
    put(store, &[("a", "1")]).await;
    let mut txn = begin(store).await;
    peek(&mut txn, "a").await;
    let options = RangeOptions::first(usize::MAX, Read::Snapshot);
    txn.range(&KeyRange::all(), options)
        .await
        .expect("a range can be read");
    txn.set("b", "mine");
    put(store, &[("a", "2")]).await;
    commit(txn).await;
    assert_eq!(read(store, "b").await, text("mine"));
}

/// A read that the transaction's own write answers does not depend on others.
pub async fn own_writes_do_not_conflict<S: Store>(store: &S) {
    let mut txn = begin(store).await;
    txn.set("a", "mine");
    assert_eq!(get(&mut txn, "a").await, text("mine"));
    put(store, &[("a", "other")]).await;
    commit(txn).await;
    assert_eq!(read(store, "a").await, text("mine"));
}

/// Blind writes to one key: the later commit wins.
pub async fn writes_without_reads_do_not_conflict<S: Store>(store: &S) {
    let mut first = begin(store).await;
    let mut second = begin(store).await;
    first.set("a", "first");
    second.set("a", "second");
    commit(second).await;
    commit(first).await;
    assert_eq!(read(store, "a").await, text("first"));
}

async fn read_range<T: Txn>(txn: &mut T, range: &KeyRange, limit: usize, reverse: bool) {
    let options = RangeOptions {
        limit,
        reverse,
        read: Read::Conflict,
    };
    txn.range(range, options)
        .await
        .expect("a range can be read");
}

/// A phantom: a key that appears in a range that was read.
pub async fn an_insert_into_a_range_that_was_read_conflicts<S: Store>(store: &S) {
    put(store, &[("a", "1"), ("c", "1")]).await;
    for (inserted, conflicts) in [("b", true), ("a", true), ("d", false), ("0", false)] {
        let mut txn = begin(store).await;
        read_range(&mut txn, &KeyRange::new("a", "d"), usize::MAX, false).await;
        txn.set("mine", "1");
        put(store, &[(inserted, "2")]).await;
        if conflicts {
            assert_conflict(txn).await;
        } else {
            commit(txn).await;
        }
    }
}

/// A key that vanishes from a range that was read.
pub async fn a_removal_from_a_range_that_was_read_conflicts<S: Store>(store: &S) {
    put(store, &[("b", "1")]).await;
    let mut txn = begin(store).await;
    read_range(&mut txn, &KeyRange::new("a", "d"), usize::MAX, true).await;
    txn.set("mine", "1");
    let mut other = begin(store).await;
    other.clear("b");
    commit(other).await;
    assert_conflict(txn).await;
}

/// A cleared range is a write to each of its keys, absent ones included.
pub async fn clearing_a_range_conflicts_with_reads_in_it<S: Store>(store: &S) {
    put(store, &[("b", "1")]).await;
    for (key, conflicts) in [
        ("b", true),
        ("bb", true),
        ("a", true),
        ("d", false),
        ("9", false),
    ] {
        let mut txn = begin(store).await;
        get(&mut txn, key).await;
        txn.set("mine", "1");
        let mut other = begin(store).await;
        other.clear_range(&KeyRange::new("a", "d"));
        commit(other).await;
        if conflicts {
            assert_conflict(txn).await;
        } else {
            commit(txn).await;
        }
    }
    let mut txn = begin(store).await;
    read_range(&mut txn, &KeyRange::new("c", "z"), usize::MAX, false).await;
    txn.set("mine", "1");
    let mut other = begin(store).await;
    other.clear_range(&KeyRange::new("a", "d"));
    commit(other).await;
    assert_conflict(txn).await;
}

/// A range cut by its limit depends on nothing behind the last pair returned.
pub async fn a_limited_range_conflicts_only_where_it_looked<S: Store>(store: &S) {
    put(store, &[("b", "1"), ("d", "1"), ("f", "1")]).await;
    let cases = [
        (false, "g", false),
        (false, "c", true),
        (true, "a", false),
        (true, "e", true),
    ];
    for (reverse, written, conflicts) in cases {
        let mut txn = begin(store).await;
        read_range(&mut txn, &KeyRange::new("a", "z"), 2, reverse).await;
        txn.set("~mine", "1");
        put(store, &[(written, "2")]).await;
        if conflicts {
            assert_conflict(txn).await;
        } else {
            commit(txn).await;
        }
        let mut undo = begin(store).await;
        undo.clear(written);
        commit(undo).await;
    }
}

/// `conflict_on` without a read.
pub async fn a_declared_conflict_counts_like_a_read<S: Store>(store: &S) {
    for (written, conflicts) in [("b", true), ("z", false)] {
        let mut txn = begin(store).await;
        txn.conflict_on(&KeyRange::new("a", "d"));
        txn.set("mine", "1");
        put(store, &[(written, "1")]).await;
        if conflicts {
            assert_conflict(txn).await;
        } else {
            commit(txn).await;
        }
    }
}

/// `conflict_on` a key, then a blind write to it.
pub async fn a_declared_conflict_holds_though_the_key_is_written_after_it<S: Store>(store: &S) {
    let mut txn = begin(store).await;
    txn.conflict_on(&KeyRange::key(b"a"));
    txn.set("a", "mine");
    put(store, &[("a", "other")]).await;
    assert_conflict(txn).await;
    assert_eq!(read(store, "a").await, text("other"));
}

/// That a key is absent is something that was read.
pub async fn absent_keys_that_were_read_conflict<S: Store>(store: &S) {
    let mut txn = begin(store).await;
    assert_eq!(get(&mut txn, "absent").await, None);
    txn.set("absent", "mine");
    put(store, &[("absent", "other")]).await;
    assert_conflict(txn).await;
    assert_eq!(read(store, "absent").await, text("other"));
}

/// A stamped key is an insert into its prefix.
pub async fn stamped_keys_conflict_with_ranges<S: Store>(store: &S) {
    for (prefix, conflicts) in [("x/", true), ("y/", false)] {
        let mut txn = begin(store).await;
        read_range(&mut txn, &KeyRange::prefix(b"x/"), usize::MAX, false).await;
        txn.set("mine", "1");
        let mut other = begin(store).await;
        other.set_stamped(prefix, "v");
        commit(other).await;
        if conflicts {
            assert_conflict(txn).await;
        } else {
            commit(txn).await;
        }
    }
}

/// Two transactions that each read what the other writes: one has to go.
pub async fn write_skew_is_refused<S: Store>(store: &S) {
    put(store, &[("a", "on call"), ("b", "on call")]).await;
    let mut first = begin(store).await;
    let mut second = begin(store).await;
    get(&mut first, "b").await;
    first.set("a", "off");
    get(&mut second, "a").await;
    second.set("b", "off");
    commit(first).await;
    assert_conflict(second).await;
    assert_eq!(read(store, "b").await, text("on call"));
}

/// Nothing of a refused transaction remains: keys, removals, additions, stamped keys.
pub async fn refused_transactions_write_nothing<S: Store>(store: &S) {
    put(store, &[("a", "1"), ("kept", "1")]).await;
    let mut txn = begin(store).await;
    get(&mut txn, "a").await;
    txn.set("set", "1");
    txn.clear("kept");
    txn.add("sum", 1);
    txn.set_stamped("x/", "1");
    put(store, &[("a", "2")]).await;
    assert_conflict(txn).await;
    let mut check = begin(store).await;
    let options = RangeOptions::first(usize::MAX, Read::Snapshot);
    let pairs = check
        .range(&KeyRange::all(), options)
        .await
        .expect("a range can be read");
    let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| key.as_ref()).collect();
    assert_eq!(keys, [b"a".as_slice(), b"kept"]);
}

/// `clear_range` removes what is there at commit, not only what was there at begin.
pub async fn clearing_a_range_removes_what_was_inserted_meanwhile<S: Store>(store: &S) {
    put(store, &[("b", "1")]).await;
    let mut txn = begin(store).await;
    txn.clear_range(&KeyRange::new("a", "d"));
    txn.set("c", "mine");
    put(store, &[("bb", "2"), ("c", "2"), ("d", "2")]).await;
    commit(txn).await;
    assert_eq!(read(store, "b").await, None);
    assert_eq!(read(store, "bb").await, None);
    assert_eq!(read(store, "c").await, text("mine"));
    assert_eq!(read(store, "d").await, text("2"));
}

/// Additions that overlap in time all count.
pub async fn additions_commute<S: Store>(store: &S) {
    let mut first = begin(store).await;
    let mut second = begin(store).await;
    first.add("n", 5);
    second.add("n", 7);
    commit(second).await;
    commit(first).await;
    assert_eq!(number(read(store, "n").await), 12);
    let mut third = begin(store).await;
    third.add("n", -20);
    commit(third).await;
    assert_eq!(number(read(store, "n").await), -8);
}

/// Overflow wraps, and a value that is no number of 8 bytes is cut or filled.
pub async fn additions_wrap_and_fill<S: Store>(store: &S) {
    let mut txn = begin(store).await;
    txn.set("max", i64::MAX.to_le_bytes().to_vec());
    txn.set("short", vec![1u8]);
    txn.set("long", vec![1u8; 12]);
    commit(txn).await;
    let mut txn = begin(store).await;
    for key in ["max", "short", "long"] {
        txn.add(key, 1);
    }
    commit(txn).await;
    assert_eq!(number(read(store, "max").await), i64::MIN);
    assert_eq!(number(read(store, "short").await), 2);
    assert_eq!(number(read(store, "long").await), 0x0101_0101_0101_0102);
}

/// Once the sum was looked at, another's addition matters.
pub async fn a_read_of_a_pending_addition_conflicts<S: Store>(store: &S) {
    let mut txn = begin(store).await;
    txn.add("n", 1);
    assert_eq!(number(get(&mut txn, "n").await), 1);
    let mut other = begin(store).await;
    other.add("n", 1);
    commit(other).await;
    assert_conflict(txn).await;
    assert_eq!(number(read(store, "n").await), 1);
}
