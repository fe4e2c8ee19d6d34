//! Opening, refusing, surviving and failing.

mod damage;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ::fjall::AbstractTree as _;
use tempfile::TempDir;

use super::*;
use crate::{Layout, Read, Txn};

fn layout() -> Layout {
    Layout {
        generation_at_creation: 3,
        slot_count: 4_096,
        slot_hash: "blake3".to_owned(),
    }
}

fn config(directory: &TempDir) -> FjallConfig {
    let on_fatal: OnFatal = Arc::new(|reason: &str| panic!("no failure is expected: {reason}"));
    FjallConfig::new(directory.path(), layout(), on_fatal)
}

async fn write(store: &FjallStore, key: String, value: Vec<u8>) -> Committed {
    let mut txn = store.begin().await.unwrap();
    txn.set(key, value);
    txn.commit().await.unwrap()
}

async fn read(store: &FjallStore, key: &str) -> Option<Bytes> {
    store
        .begin()
        .await
        .unwrap()
        .get(key.as_bytes(), Read::Snapshot)
        .await
        .unwrap()
}

#[tokio::test]
async fn everything_acknowledged_is_there_after_reopening_and_stamps_go_on_rising() {
    let directory = TempDir::new().unwrap();
    let mut last = None;
    for life in 0..4 {
        let store = FjallStore::open(&config(&directory)).unwrap();
        assert_eq!(Store::generation(&store), 3);
        for number in 0..50 {
            let committed = write(&store, format!("{life}/{number}"), vec![life; 100]).await;
            assert!(Some(committed.stamp) > last, "stamps rise across restarts");
            last = Some(committed.stamp);
        }
        for earlier in 0..=life {
            for number in 0..50 {
                let value = read(&store, &format!("{earlier}/{number}")).await;
                assert_eq!(value.as_deref(), Some([earlier; 100].as_slice()));
            }
        }
    }
    assert_eq!(last.unwrap().counter, 200);
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "fjall tells nobody when it has merged tables"
)]
async fn what_is_pinned_of_tables_below_the_first_level_is_pinned_after_reopening() {
    const COMMITS_MIN: usize = 8;
    const COMMITS_MAX: usize = 64;
    let directory = TempDir::new().unwrap();
    let store = FjallStore::open(&config(&directory)).unwrap();
    let keyspace = || store.shared.published.get().keyspace.clone();
    // Until the first level was merged into one below it, and with what lay there already: all commits write the same keys, so
    // that no table is moved as it is. Then nothing is left to be merged.
    let mut commits = 0;
    while commits < COMMITS_MIN || keyspace().l0_table_count() > 0 {
        assert!(commits < COMMITS_MAX, "the first level is never merged");
        let mut txn = store.begin().await.unwrap();
        for number in 0..500 {
            txn.set(number.to_string(), vec![1; 100]);
        }
        txn.commit().await.unwrap();
        keyspace().rotate_memtable_and_wait().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        commits += 1;
    }
    let written = pinned(&keyspace());
    assert!(written.0 > 0 && written.1 > 0, "{written:?}");
    drop(store);
    let store = FjallStore::open(&config(&directory)).unwrap();
    assert_eq!(pinned(&store.shared.published.get().keyspace), written);
}

/// Bytes that are kept in memory of filters and of indexes.
fn pinned(keyspace: &Keyspace) -> (usize, usize) {
    let tree = &keyspace.tree;
    (tree.pinned_filter_size(), tree.pinned_block_index_size())
}

#[tokio::test]
async fn more_than_a_group_holds_are_all_committed_without_another_one_coming() {
    const AT_ONCE: usize = 3 * crate::limits::GROUP_TXNS_MAX;
    let directory = TempDir::new().unwrap();
    let store = FjallStore::open(&config(&directory)).unwrap();
    let all = (0..AT_ONCE).map(|number| write(&store, number.to_string(), vec![1]));
    let committed = futures::future::join_all(all).await;
    let stamps: std::collections::BTreeSet<_> = committed.iter().map(|one| one.stamp).collect();
    assert_eq!(stamps.len(), AT_ONCE);
}

#[tokio::test]
async fn a_second_opener_is_refused_until_the_first_is_gone() {
    let directory = TempDir::new().unwrap();
    let store = FjallStore::open(&config(&directory)).unwrap();
    let second = FjallStore::open(&config(&directory));
    assert!(matches!(second, Err(Error::Locked { .. })));
    let txn = store.begin().await.unwrap();
    drop(store);
    assert!(matches!(
        FjallStore::open(&config(&directory)),
        Err(Error::Locked { .. })
    ));
    drop(txn);
    FjallStore::open(&config(&directory)).unwrap();
}

/// Every file with its bytes.
fn content(path: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(content(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

#[tokio::test]
async fn a_newer_format_is_refused_and_not_touched() {
    let directory = TempDir::new().unwrap();
    write(
        &FjallStore::open(&config(&directory)).unwrap(),
        "k".to_owned(),
        vec![1],
    )
    .await;
    fs::write(directory.path().join("FORMAT"), "sillok store format 2\n").unwrap();
    let before = content(directory.path());
    let refused = FjallStore::open(&config(&directory));
    assert!(matches!(
        refused,
        Err(Error::NewerFormat {
            found: 2,
            supported: 1
        })
    ));
    assert!(
        before == content(directory.path()),
        "the refused directory is byte for byte the same"
    );
}

#[tokio::test]
async fn a_newer_format_inside_the_database_is_refused_too() {
    let directory = TempDir::new().unwrap();
    drop(FjallStore::open(&config(&directory)).unwrap());
    let database = Database::builder(directory.path().join("fjall"))
        .open()
        .unwrap();
    let keyspace = database
        .keyspace("sillok", KeyspaceCreateOptions::default)
        .unwrap();
    let format = keyspace
        .get(b"\xffformat")
        .unwrap()
        .expect("the first record has the format");
    assert_eq!(format.as_ref(), crate::header::FORMAT_VERSION.to_be_bytes());
    keyspace.insert(b"\xffformat", 9u32.to_be_bytes()).unwrap();
    drop((database, keyspace));
    let refused = FjallStore::open(&config(&directory));
    assert!(matches!(
        refused,
        Err(Error::NewerFormat {
            found: 9,
            supported: 1
        })
    ));
}

#[tokio::test]
async fn another_layout_is_refused() {
    let directory = TempDir::new().unwrap();
    drop(FjallStore::open(&config(&directory)).unwrap());
    let mut other = config(&directory);
    other.layout.slot_count = 1_024;
    let refused = FjallStore::open(&other);
    assert!(matches!(
        refused,
        Err(Error::LayoutMismatch {
            what: "slot count",
            ..
        })
    ));
    let mut other = config(&directory);
    other.layout.slot_hash = "sha256".to_owned();
    let refused = FjallStore::open(&other);
    assert!(matches!(
        refused,
        Err(Error::LayoutMismatch {
            what: "slot hash",
            ..
        })
    ));
}

#[tokio::test]
async fn a_damaged_or_missing_format_file_is_named() {
    let directory = TempDir::new().unwrap();
    drop(FjallStore::open(&config(&directory)).unwrap());
    let file = directory.path().join("FORMAT");
    for damaged in [b"".as_slice(), b"sillok store format x", b"\xff\xfe"] {
        fs::write(&file, damaged).unwrap();
        assert!(matches!(
            FjallStore::open(&config(&directory)),
            Err(Error::Corrupt { .. })
        ));
    }
    fs::remove_file(&file).unwrap();
    assert!(matches!(
        FjallStore::open(&config(&directory)),
        Err(Error::Corrupt { .. })
    ));
}

/// A reader of two keys that are always written together never sees them differ, and never sees
/// them change, while tables are sealed, written out and compacted around it.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "a reader on a thread of its own, truly at once"
)]
async fn readers_never_see_half_a_commit() {
    let directory = TempDir::new().unwrap();
    let mut config = config(&directory);
    config.memtable_bytes_max = 256 << 10;
    let store = FjallStore::open(&config).unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..8u8 {
        let store = store.clone();
        tasks.spawn(async move {
            for round in 0..200u64 {
                let mut txn = store.begin().await.unwrap();
                txn.set(format!("a{writer}"), round.to_be_bytes().to_vec());
                txn.set(format!("filler {writer} {round}"), vec![writer; 4_000]);
                txn.set(format!("z{writer}"), round.to_be_bytes().to_vec());
                txn.commit().await.unwrap();
            }
        });
    }
    let stop = Arc::new(AtomicUsize::new(0));
    let reader = std::thread::spawn({
        let (store, stop) = (store.clone(), Arc::clone(&stop));
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            let mut rounds = 0;
            while stop.load(Ordering::Relaxed) == 0 || rounds < 100 {
                rounds += 1;
                for writer in 0..8u8 {
                    runtime.block_on(async {
                        let mut txn = store.begin().await.unwrap();
                        let a = txn
                            .get(format!("a{writer}").as_bytes(), Read::Snapshot)
                            .await
                            .unwrap();
                        std::thread::yield_now();
                        let z = txn
                            .get(format!("z{writer}").as_bytes(), Read::Snapshot)
                            .await
                            .unwrap();
                        let again = txn
                            .get(format!("a{writer}").as_bytes(), Read::Snapshot)
                            .await
                            .unwrap();
                        assert_eq!(a, z);
                        assert_eq!(a, again);
                    });
                }
            }
        }
    });
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    stop.store(1, Ordering::Relaxed);
    reader.join().unwrap();
    for writer in 0..8u8 {
        assert_eq!(
            read(&store, &format!("z{writer}")).await.unwrap().as_ref(),
            199u64.to_be_bytes()
        );
    }
}

/// The tables' folder vanishes, so writing one out fails with a true I/O error.
#[tokio::test]
async fn an_io_error_is_fatal_and_nothing_is_acknowledged_afterwards() {
    let directory = TempDir::new().unwrap();
    let fatal = Arc::new(AtomicUsize::new(0));
    let on_fatal: OnFatal = Arc::new({
        let fatal = Arc::clone(&fatal);
        move |reason: &str| {
            assert!(reason.contains("committing"), "{reason}");
            fatal.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut config = FjallConfig::new(directory.path(), layout(), on_fatal);
    config.memtable_bytes_max = 64 << 10;
    let store = FjallStore::open(&config).unwrap();
    write(&store, "before".to_owned(), vec![1]).await;
    fs::remove_dir_all(directory.path().join("fjall").join("keyspaces")).unwrap();
    let mut answer = None;
    for number in 0..2_000 {
        let mut txn = store.begin().await.unwrap();
        txn.set(format!("k{number}"), vec![0; 8_000]);
        if let Err(error) = txn.commit().await {
            answer = Some(error);
            break;
        }
    }
    assert!(matches!(answer, Some(Error::OutcomeUnknown)), "{answer:?}");
    assert_eq!(
        fatal.load(Ordering::SeqCst),
        1,
        "the process would have ended, once"
    );
    assert!(matches!(store.begin().await, Err(Error::Closed)));
}

/// A commit whose caller went away still commits, and the store closes cleanly behind all that wait,
/// which are more than go into one group.
#[tokio::test]
async fn a_store_closes_cleanly_behind_abandoned_commits() {
    const ABANDONED: usize = 8 * crate::limits::GROUP_TXNS_MAX;
    let directory = TempDir::new().unwrap();
    let store = FjallStore::open(&config(&directory)).unwrap();
    for number in 0..ABANDONED {
        let mut txn = store.begin().await.unwrap();
        txn.set(format!("k{number}"), "v");
        let mut commit = Box::pin(txn.commit());
        let once = std::future::poll_fn(|context| {
            std::task::Poll::Ready(commit.as_mut().poll(context).is_ready())
        });
        let _ = once.await;
    }
    drop(store);
    let store = FjallStore::open(&config(&directory)).unwrap();
    for number in 0..ABANDONED {
        assert!(read(&store, &format!("k{number}")).await.is_some());
    }
}

async fn fresh() -> (FjallStore, TempDir) {
    let directory = TempDir::new().unwrap();
    (FjallStore::open(&config(&directory)).unwrap(), directory)
}

crate::conformance_suite!(conformance, fresh());
