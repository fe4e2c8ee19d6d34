//! The committer, driven by hand.

use super::*;
use crate::write_set::sum;

struct Pairs(BTreeMap<Bytes, Bytes>);

impl Base for Pairs {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.0.get(key).cloned())
    }

    fn keys(&self, range: &KeyRange) -> Result<Vec<Bytes>, Error> {
        Ok(self
            .0
            .keys()
            .filter(|key| range.contains(key))
            .cloned()
            .collect())
    }
}

impl Pairs {
    fn of(pairs: &[(&'static str, &'static str)]) -> Self {
        Self(
            pairs
                .iter()
                .map(|(key, value)| (bytes(key), bytes(value)))
                .collect(),
        )
    }
}

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn request(
    read_version: u64,
    read: &[&'static str],
    write: &[(&'static str, &'static str)],
) -> Request {
    let mut request = Request {
        read_version,
        reads: ReadSet::default(),
        writes: WriteSet::default(),
    };
    for key in read {
        request.reads.add_key(key.as_bytes());
    }
    for (key, value) in write {
        request.writes.set(bytes(key), bytes(value));
    }
    request
}

fn committer() -> Committer<&'static str> {
    Committer::new(CommitterConfig::default(), 7, 100)
}

fn stamps(replies: &[Reply<&'static str>]) -> Vec<(&'static str, Option<u64>)> {
    let counter = |reply: &Result<Committed, Error>| reply.as_ref().ok().map(|c| c.stamp.counter);
    replies
        .iter()
        .map(|(ticket, reply)| (*ticket, counter(reply)))
        .collect()
}

#[test]
fn a_group_commits_in_order_and_refuses_what_an_earlier_one_in_it_overwrote() {
    let mut committer = committer();
    committer
        .enqueue(request(100, &["a"], &[("a", "1")]), "first")
        .unwrap();
    committer
        .enqueue(request(100, &["a"], &[("a", "2"), ("b", "2")]), "loser")
        .unwrap();
    committer
        .enqueue(request(100, &["b"], &[("a", "3")]), "third")
        .unwrap();
    let group = committer.next_group(&Pairs::of(&[])).unwrap().unwrap();
    assert_eq!((group.txns, group.counter), (2, 102));
    assert_eq!(
        group.writes,
        BTreeMap::from([(bytes("a"), Some(bytes("3")))])
    );
    let replies = committer.complete(Outcome::Durable);
    assert_eq!(
        stamps(&replies),
        [("first", Some(101)), ("loser", None), ("third", Some(102))]
    );
    assert!(matches!(replies[1].1, Err(Error::Conflict)));
}

#[test]
fn a_conflict_is_found_in_later_groups_too() {
    let mut committer = committer();
    committer
        .enqueue(request(100, &[], &[("a", "1")]), "winner")
        .unwrap();
    committer.next_group(&Pairs::of(&[])).unwrap();
    committer.complete(Outcome::Durable);
    committer
        .enqueue(request(100, &["a"], &[("c", "1")]), "stale")
        .unwrap();
    committer
        .enqueue(request(101, &["a"], &[("c", "2")]), "fresh")
        .unwrap();
    committer.next_group(&Pairs::of(&[])).unwrap();
    let replies = committer.complete(Outcome::Durable);
    assert_eq!(stamps(&replies), [("stale", None), ("fresh", Some(102))]);
}

#[test]
fn a_group_is_bounded_in_transactions_and_bytes() {
    let config = CommitterConfig {
        group_bytes_max: 4,
        ..CommitterConfig::default()
    };
    let mut small = Committer::new(config, 7, 0);
    let mut large = committer();
    for _ in 0..GROUP_TXNS_MAX + 10 {
        small.enqueue(request(0, &[], &[("a", "1")]), ()).unwrap();
        large
            .enqueue(request(100, &[], &[("a", "1")]), "t")
            .unwrap();
    }
    assert_eq!(small.next_group(&Pairs::of(&[])).unwrap().unwrap().txns, 2);
    assert_eq!(
        large.next_group(&Pairs::of(&[])).unwrap().unwrap().txns,
        GROUP_TXNS_MAX
    );
    assert_eq!(large.queued(), 10);
}

#[test]
fn additions_in_one_group_build_on_each_other_and_on_the_committed_value() {
    let mut committer = committer();
    let mut base = Pairs::of(&[]);
    base.0.insert(bytes("n"), sum(None, 40));
    for ticket in ["first", "second"] {
        let mut request = request(100, &[], &[]);
        request.writes.add(bytes("n"), 1);
        committer.enqueue(request, ticket).unwrap();
    }
    let group = committer.next_group(&base).unwrap().unwrap();
    assert_eq!(
        group.writes,
        BTreeMap::from([(bytes("n"), Some(sum(None, 42)))])
    );
}

#[test]
fn the_first_of_a_group_and_those_behind_it_are_laid_over_what_was_committed_alike() {
    let mut base = Pairs::of(&[("b", "old"), ("c", "old")]);
    base.0.insert(bytes("n"), sum(None, 40));
    let written = || {
        let mut request = request(100, &[], &[("d", "new"), ("b", "new")]);
        request.writes.clear(bytes("c"));
        request.writes.add(bytes("n"), 2);
        request.writes.add(bytes("m"), 1);
        request.writes.set_stamped(bytes("x"), bytes("v"));
        request
    };
    let mut alone = committer();
    alone.enqueue(written(), "first").unwrap();
    let mut behind = committer();
    behind
        .enqueue(request(100, &[], &[("a", "1")]), "another")
        .unwrap();
    behind.enqueue(written(), "second").unwrap();
    let unstamped = [
        (bytes("b"), Some(bytes("new"))),
        (bytes("c"), None),
        (bytes("d"), Some(bytes("new"))),
        (bytes("m"), Some(sum(None, 1))),
        (bytes("n"), Some(sum(None, 42))),
    ];
    for (mut committer, others) in [(alone, 0), (behind, 1)] {
        let group = committer.next_group(&base).unwrap().unwrap();
        let mut writes: Vec<_> = group.writes.into_iter().skip(others).collect();
        let (stamped, value) = writes.pop().unwrap();
        assert!(stamped.starts_with(b"x") && value == Some(bytes("v")));
        assert_eq!(writes, unstamped);
    }
}

#[test]
fn clearing_a_range_removes_committed_keys_and_those_of_the_group_before_it() {
    let mut committer = committer();
    committer
        .enqueue(request(100, &[], &[("b", "new"), ("z", "new")]), "set")
        .unwrap();
    let mut clear = request(100, &[], &[]);
    clear.writes.clear_range(&KeyRange::new("a", "d"));
    clear.writes.set(bytes("c"), bytes("after"));
    committer.enqueue(clear, "clear").unwrap();
    let group = committer
        .next_group(&Pairs::of(&[("a", "old"), ("d", "old")]))
        .unwrap()
        .unwrap();
    let expected = [
        (bytes("a"), None),
        (bytes("b"), None),
        (bytes("c"), Some(bytes("after"))),
        (bytes("z"), Some(bytes("new"))),
    ];
    assert_eq!(group.writes, BTreeMap::from(expected));
}

#[test]
fn stamped_keys_carry_generation_counter_and_index() {
    let mut committer = committer();
    let mut stamped = request(100, &[], &[]);
    stamped.writes.set_stamped(bytes("x"), bytes("0"));
    stamped.writes.set_stamped(bytes("x"), bytes("1"));
    committer.enqueue(stamped, "stamped").unwrap();
    let group = committer.next_group(&Pairs::of(&[])).unwrap().unwrap();
    let stamps: Vec<_> = group
        .writes
        .keys()
        .map(|key| Stamp::from_bytes(&key[1..]))
        .collect();
    let stamp = |index| {
        Some(Stamp {
            generation: 7,
            counter: 101,
            index,
        })
    };
    assert_eq!(stamps, [stamp(0), stamp(1)]);
}

#[test]
fn after_an_unknown_outcome_nothing_commits_any_more() {
    let config = CommitterConfig {
        group_txns_max: 2,
        ..CommitterConfig::default()
    };
    let mut committer = Committer::new(config, 7, 0);
    committer
        .enqueue(request(0, &[], &[("a", "1")]), "in flight")
        .unwrap();
    committer
        .enqueue(request(0, &["a"], &[("a", "1")]), "refused")
        .unwrap();
    committer
        .enqueue(request(0, &[], &[("a", "1")]), "waiting")
        .unwrap();
    committer.next_group(&Pairs::of(&[])).unwrap();
    let replies = committer.complete(Outcome::Unknown);
    assert!(matches!(
        replies[0],
        ("in flight", Err(Error::OutcomeUnknown))
    ));
    assert!(matches!(replies[1], ("refused", Err(Error::Conflict))));
    assert!(matches!(replies[2], ("waiting", Err(Error::Closed))));
    let late = committer.enqueue(request(0, &[], &[("a", "1")]), "late");
    assert!(matches!(late, Err(("late", Err(Error::Closed)))));
}

#[test]
fn a_group_of_refusals_alone_has_nothing_to_make_durable() {
    let mut committer = committer();
    committer
        .enqueue(request(100, &[], &[("a", "1")]), "winner")
        .unwrap();
    committer.next_group(&Pairs::of(&[])).unwrap();
    committer.complete(Outcome::Durable);
    committer
        .enqueue(request(100, &["a"], &[("b", "1")]), "loser")
        .unwrap();
    let group = committer.next_group(&Pairs::of(&[])).unwrap().unwrap();
    assert_eq!((group.txns, group.writes.len(), group.counter), (0, 0, 101));
}
