//! Random programs of interleaved transactions over every embedded engine, against an ordered map.
//!
//! The model replays the transactions that committed one after another, in the order of their
//! stamps. A run holds when every read saw its moment, when every committed transaction would have
//! read the same in its place of that order, when every refusal has a reason, and when the store
//! ends up with the model's pairs, also after it was closed and opened again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{
    Error, FjallConfig, FjallStore, KeyRange, Layout, MemoryConfig, MemoryStore, RangeOptions,
    Read, Stamp, Store, Txn,
};
use bytes::Bytes;
use proptest::prelude::*;

type Pairs = BTreeMap<Bytes, Bytes>;

const SLOTS: usize = 4;
const KEYS: u8 = 10;

#[derive(Debug, Clone)]
enum Step {
    Begin,
    Get {
        key: u8,
        read: Read,
    },
    Range {
        begin: u8,
        end: u8,
        limit: usize,
        reverse: bool,
        read: Read,
    },
    ConflictOn {
        begin: u8,
        end: u8,
    },
    Write(Write),
    Commit,
    Drop,
}

#[derive(Debug, Clone)]
enum Write {
    Set { key: u8, value: u8 },
    Clear { key: u8 },
    ClearRange { begin: u8, end: u8 },
    Add { key: u8, delta: i64 },
    SetStamped { value: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..KEYS;
    let read = || prop_oneof![3 => Just(Read::Conflict), 1 => Just(Read::Snapshot)];
    let write = prop_oneof![
        4 => (key(), any::<u8>()).prop_map(|(key, value)| Write::Set { key, value }),
        2 => key().prop_map(|key| Write::Clear { key }),
        1 => (key(), key()).prop_map(|(begin, end)| Write::ClearRange { begin, end }),
        2 => (key(), -5..5i64).prop_map(|(key, delta)| Write::Add { key, delta }),
        1 => any::<u8>().prop_map(|value| Write::SetStamped { value }),
    ];
    prop_oneof![
        2 => Just(Step::Begin),
        4 => (key(), read()).prop_map(|(key, read)| Step::Get { key, read }),
        3 => (key(), 0..=KEYS, 1..6usize, any::<bool>(), read()).prop_map(
            |(begin, end, limit, reverse, read)| Step::Range { begin, end, limit, reverse, read }
        ),
        1 => (key(), key()).prop_map(|(begin, end)| Step::ConflictOn { begin, end }),
        8 => write.prop_map(Step::Write),
        4 => Just(Step::Commit),
        1 => Just(Step::Drop),
    ]
}

fn program() -> impl Strategy<Value = Vec<(usize, Step)>> {
    proptest::collection::vec((0..SLOTS, step()), 1..90)
}

fn key(number: u8) -> Bytes {
    // Behind all other keys lie the stamped ones, so that ranges reach them.
    Bytes::from(if number == KEYS {
        b"x~".to_vec()
    } else {
        vec![b'k', b'0' + number]
    })
}

fn range(begin: u8, end: u8) -> KeyRange {
    KeyRange {
        begin: key(begin),
        end: key(end),
    }
}

/// A read that takes part in conflict detection, with what it saw.
enum Seen {
    Key(Bytes, Option<Bytes>),
    Range(KeyRange, RangeOptions, Vec<(Bytes, Bytes)>),
}

/// What the model knows of one open transaction.
struct Open<T> {
    txn: T,
    began_at: usize,
    writes: Vec<Write>,
    /// Reads with the number of own writes before them.
    seen: Vec<(usize, Seen)>,
    declared: Vec<KeyRange>,
}

/// Every committed state, the first one empty, and the keys that each commit wrote.
struct History {
    states: Vec<Pairs>,
    written: Vec<BTreeSet<Bytes>>,
    cleared: Vec<Vec<KeyRange>>,
    last: Option<Stamp>,
}

fn apply(pairs: &mut Pairs, write: &Write) {
    match write {
        Write::Set { key: number, value } => {
            pairs.insert(key(*number), Bytes::from(vec![*value]));
        }
        Write::Clear { key: number } => {
            pairs.remove(&key(*number));
        }
        Write::ClearRange { begin, end } => {
            let range = range(*begin, *end);
            pairs.retain(|key, _| !range.contains(key));
        }
        Write::Add { key: number, delta } => {
            let mut base = [0; 8];
            if let Some(value) = pairs.get(&key(*number)) {
                let known = value.len().min(8);
                base[..known].copy_from_slice(&value[..known]);
            }
            let sum = i64::from_le_bytes(base).wrapping_add(*delta);
            pairs.insert(key(*number), Bytes::from(sum.to_le_bytes().to_vec()));
        }
        // Its key is known at commit only.
        Write::SetStamped { .. } => {}
    }
}

fn replayed(base: &Pairs, writes: &[Write]) -> Pairs {
    let mut pairs = base.clone();
    writes.iter().for_each(|write| apply(&mut pairs, write));
    pairs
}

fn select(pairs: &Pairs, range: &KeyRange, options: RangeOptions) -> Vec<(Bytes, Bytes)> {
    let inside = pairs.iter().filter(|(key, _)| range.contains(key));
    let mut inside: Vec<_> = inside
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if options.reverse {
        inside.reverse();
    }
    inside.truncate(options.limit);
    inside
}

fn holds(seen: &Seen, pairs: &Pairs) -> bool {
    match seen {
        Seen::Key(key, value) => pairs.get(key) == value.as_ref(),
        Seen::Range(range, options, found) => select(pairs, range, *options) == *found,
    }
}

impl<T: Txn> Open<T> {
    async fn get(&mut self, history: &History, number: u8, read: Read) {
        let found = self.txn.get(&key(number), read).await.unwrap();
        let moment = replayed(&history.states[self.began_at], &self.writes);
        assert_eq!(
            found.as_ref(),
            moment.get(&key(number)),
            "a read sees its moment"
        );
        if read == Read::Conflict {
            self.seen
                .push((self.writes.len(), Seen::Key(key(number), found)));
        }
    }

    async fn range(&mut self, history: &History, range: KeyRange, options: RangeOptions) {
        let found = self.txn.range(&range, options).await.unwrap();
        let moment = replayed(&history.states[self.began_at], &self.writes);
        assert_eq!(
            found,
            select(&moment, &range, options),
            "a range sees its moment"
        );
        if options.read == Read::Conflict {
            self.seen
                .push((self.writes.len(), Seen::Range(range, options, found)));
        }
    }

    fn write(&mut self, write: Write) {
        match &write {
            Write::Set { key: number, value } => self.txn.set(key(*number), vec![*value]),
            Write::Clear { key: number } => self.txn.clear(key(*number)),
            Write::ClearRange { begin, end } => self.txn.clear_range(&range(*begin, *end)),
            Write::Add { key: number, delta } => self.txn.add(key(*number), *delta),
            Write::SetStamped { value } => self.txn.set_stamped("x", vec![*value]),
        }
        self.writes.push(write);
    }

    /// Whether a later commit wrote something that this transaction read or declared.
    fn has_reason_to_conflict(&self, history: &History) -> bool {
        let later = history.written[self.began_at..].iter();
        let later = later.zip(&history.cleared[self.began_at..]);
        let read: Vec<KeyRange> = self
            .seen
            .iter()
            .map(|(_, seen)| match seen {
                Seen::Key(key, _) => KeyRange::key(key),
                Seen::Range(range, ..) => range.clone(),
            })
            .chain(self.declared.iter().cloned())
            .filter(|range| !range.is_empty())
            .collect();
        later.into_iter().any(|(keys, cleared)| {
            read.iter().any(|read| {
                keys.iter().any(|key| read.contains(key))
                    || cleared
                        .iter()
                        .any(|gone| gone.begin < read.end && read.begin < gone.end)
            })
        })
    }

    async fn commit(self, history: &mut History) {
        let effective = self.writes.iter().any(
            |write| !matches!(write, Write::ClearRange { begin, end } if range(*begin, *end).is_empty()),
        );
        let reason = self.has_reason_to_conflict(history);
        let declared_hit = self.declared.iter().any(|range| {
            history.written[self.began_at..]
                .iter()
                .flatten()
                .any(|key| range.contains(key))
        });
        let before = history.states.last().cloned().unwrap_or_default();
        match self.txn.commit().await {
            Err(Error::Conflict) => {
                assert!(effective && reason, "a refusal has a reason");
            }
            Err(other) => panic!("nothing but conflicts is expected, got {other}"),
            Ok(_) if !effective => {}
            Ok(committed) => {
                assert!(Some(committed.stamp) > history.last, "stamps rise");
                assert!(!declared_hit, "a declared conflict counts");
                for (own, seen) in &self.seen {
                    let here = replayed(&before, &self.writes[..*own]);
                    assert!(
                        holds(seen, &here),
                        "the same was read in the place of the commit"
                    );
                }
                history.last = Some(committed.stamp);
                history.push(&before, &self.writes, committed.stamp);
            }
        }
    }
}

impl History {
    fn push(&mut self, before: &Pairs, writes: &[Write], stamp: Stamp) {
        let mut after = replayed(before, writes);
        let mut keys = BTreeSet::new();
        let mut cleared = Vec::new();
        let mut index = 0;
        for write in writes {
            match write {
                Write::Set { key: number, .. }
                | Write::Clear { key: number }
                | Write::Add { key: number, .. } => {
                    keys.insert(key(*number));
                }
                Write::ClearRange { begin, end } => cleared.push(range(*begin, *end)),
                Write::SetStamped { value } => {
                    let stamp = Stamp { index, ..stamp };
                    let key = Bytes::from([b"x".as_slice(), &stamp.to_bytes()].concat());
                    after.insert(key.clone(), Bytes::from(vec![*value]));
                    keys.insert(key);
                    index += 1;
                }
            }
        }
        cleared.retain(|range| !range.is_empty());
        self.states.push(after);
        self.written.push(keys);
        self.cleared.push(cleared);
    }
}

async fn run<S: Store>(store: &S, program: Vec<(usize, Step)>) -> Pairs {
    let states = vec![Pairs::new()];
    let mut history = History {
        states,
        written: Vec::new(),
        cleared: Vec::new(),
        last: None,
    };
    let mut open: [Option<Open<S::Txn>>; SLOTS] = std::array::from_fn(|_| None);
    for (slot, step) in program {
        let began_at = history.states.len() - 1;
        if matches!(step, Step::Begin) || open[slot].is_none() {
            let txn = store.begin().await.unwrap();
            let (writes, seen, declared) = (Vec::new(), Vec::new(), Vec::new());
            open[slot] = Some(Open {
                txn,
                began_at,
                writes,
                seen,
                declared,
            });
        }
        let Some(txn) = &mut open[slot] else { continue };
        match step {
            Step::Begin => {}
            Step::Get { key, read } => txn.get(&history, key, read).await,
            Step::Range {
                begin,
                end,
                limit,
                reverse,
                read,
            } => {
                txn.range(
                    &history,
                    range(begin, end),
                    RangeOptions {
                        limit,
                        reverse,
                        read,
                    },
                )
                .await;
            }
            // It is declared before anything is written.
            Step::ConflictOn { .. } if !txn.writes.is_empty() => {}
            Step::ConflictOn { begin, end } => {
                txn.txn.conflict_on(&range(begin, end));
                txn.declared.push(range(begin, end));
            }
            Step::Write(write) => txn.write(write),
            Step::Commit => {
                if let Some(txn) = open[slot].take() {
                    txn.commit(&mut history).await;
                }
            }
            Step::Drop => open[slot] = None,
        }
    }
    history.states.pop().unwrap_or_default()
}

async fn everything<S: Store>(store: &S) -> Pairs {
    let mut txn = store.begin().await.unwrap();
    let options = RangeOptions::first(usize::MAX, Read::Snapshot);
    txn.range(&KeyRange::all(), options)
        .await
        .unwrap()
        .into_iter()
        .collect()
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn open_fjall(directory: &tempfile::TempDir) -> FjallStore {
    let layout = Layout {
        generation_at_creation: 1,
        slot_count: 4_096,
        slot_hash: "blake3".to_owned(),
    };
    let on_fatal = Arc::new(|reason: &str| panic!("no failure is expected: {reason}"));
    FjallStore::open(&FjallConfig::new(directory.path(), layout, on_fatal)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn memory_is_serializable(program in program()) {
        block_on(async {
            let store = MemoryStore::new(MemoryConfig::default());
            let expected = run(&store, program).await;
            assert_eq!(everything(&store).await, expected);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn fjall_is_serializable_and_keeps_everything(program in program()) {
        let directory = tempfile::TempDir::new().unwrap();
        let expected = block_on(async {
            let store = open_fjall(&directory);
            let expected = run(&store, program).await;
            assert_eq!(everything(&store).await, expected);
            expected
        });
        block_on(async { assert_eq!(everything(&open_fjall(&directory)).await, expected) });
    }
}
