//! The store on a real cluster, which `FDB_CLUSTER_FILE` names. Run by `make test-fdb`.
//!
//! Each test is a process of its own there, since the client library's network can be started only once
//! in a process, and has to be stopped before it ends.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sillok_store::{Error, Layout, Read, Store as _, Txn as _};
use sillok_store_fdb::{FdbConfig, FdbStore, Installation, OpenError, stop_network};

fn cluster_file() -> PathBuf {
    let named = std::env::var_os("FDB_CLUSTER_FILE");
    PathBuf::from(named.expect("FDB_CLUSTER_FILE names a cluster: see `make test-fdb`"))
}

fn layout() -> Layout {
    Layout {
        generation_at_creation: 3,
        slot_count: 4_096,
        slot_hash: "blake3".to_owned(),
    }
}

/// An installation that nobody has used before.
fn unused() -> Installation {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_us = now.expect("it is after 1970").as_micros() % 1_000_000_000;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("t{}-{now_us}-{number}", std::process::id());
    name.parse().expect("a short name of plain characters")
}

fn config(installation: &Installation) -> FdbConfig {
    FdbConfig {
        cluster_file: cluster_file(),
        installation: installation.clone(),
        layout: layout(),
        begin_timeout_ms: 5_000,
    }
}

/// Stops the network when a test ends.
struct Network;

impl Drop for Network {
    fn drop(&mut self) {
        stop_network();
    }
}

async fn fresh() -> (FdbStore, Network) {
    let opened = FdbStore::open(&config(&unused())).await;
    (opened.expect("the cluster answers"), Network)
}

sillok_store::conformance_suite!(conformance, fresh());

fn run(test: impl Future<Output = ()>) {
    sillok_store::conformance::run(async {
        let _network = Network;
        test.await;
    });
}

#[test]
fn what_is_written_is_there_after_opening_again_and_for_no_other_installation() {
    run(async {
        let (one, other) = (unused(), unused());
        let store = FdbStore::open(&config(&one)).await.unwrap();
        assert_eq!(store.generation() >> 16, 3);
        let mut txn = store.begin().await.unwrap();
        txn.set("key", "value");
        let written = txn.commit().await.unwrap();
        for (installation, expected) in [(&one, Some("value")), (&other, None)] {
            let store = FdbStore::open(&config(installation)).await.unwrap();
            let mut txn = store.begin().await.unwrap();
            let value = txn.get(b"key", Read::Conflict).await.unwrap();
            assert_eq!(value.as_deref(), expected.map(str::as_bytes));
            let seen = txn.commit().await.unwrap();
            assert!(
                seen.stamp >= written.stamp,
                "a transaction that wrote nothing"
            );
        }
    });
}

#[test]
fn another_layout_is_refused() {
    run(async {
        let installation = unused();
        drop(FdbStore::open(&config(&installation)).await.unwrap());
        let mut other = config(&installation);
        other.layout.slot_count = 1_024;
        let refused = FdbStore::open(&other).await.err();
        assert!(
            matches!(
                refused,
                Some(OpenError::Store(Error::LayoutMismatch { .. }))
            ),
            "{refused:?}"
        );
    });
}

#[test]
fn nodes_that_create_an_installation_at_once_agree() {
    run(async {
        let config = config(&unused());
        let opening = (0..8).map(|_| FdbStore::open(&config));
        for opened in futures::future::join_all(opening).await {
            assert_eq!(opened.unwrap().generation() >> 16, 3);
        }
    });
}

#[test]
fn what_is_older_than_five_seconds_is_too_old_and_not_an_unknown_outcome() {
    run(async {
        let store = FdbStore::open(&config(&unused())).await.unwrap();
        let (mut reads, mut commits) = (store.begin().await.unwrap(), store.begin().await.unwrap());
        commits.get(b"key", Read::Conflict).await.unwrap();
        commits.set("key", "value");
        tokio::time::sleep(Duration::from_millis(5_500)).await;
        // Reads may be answered for a little longer.
        let read = reads.get(b"key", Read::Snapshot).await;
        assert!(matches!(read, Ok(None) | Err(Error::TooOld)), "{read:?}");
        let committed = commits.commit().await;
        assert!(matches!(committed, Err(Error::TooOld)), "{committed:?}");
    });
}

#[test]
fn a_file_that_names_no_cluster_is_no_outage() {
    run(async {
        let folder = std::env::temp_dir().join(format!("sillok-fdb-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let broken = folder.join("broken.cluster");
        std::fs::write(&broken, "no cluster").unwrap();
        for file in [folder.join("missing.cluster"), broken] {
            let mut config = config(&unused());
            config.cluster_file = file;
            let refused = FdbStore::open(&config).await.err();
            assert!(
                matches!(refused, Some(OpenError::ClusterFile(_))),
                "{refused:?}"
            );
        }
        std::fs::remove_dir_all(&folder).unwrap();
    });
}

#[test]
fn a_cluster_that_does_not_answer_is_unavailable_after_the_time_out() {
    run(async {
        let folder = std::env::temp_dir().join(format!("sillok-fdb-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let nowhere = folder.join("fdb.cluster");
        // Nobody listens at the discard port.
        std::fs::write(&nowhere, "nobody:nobody@127.0.0.1:9").unwrap();
        let mut config = config(&unused());
        config.cluster_file = nowhere;
        config.begin_timeout_ms = 500;
        let refused = FdbStore::open(&config).await.err();
        assert!(
            matches!(refused, Some(OpenError::Store(Error::Unavailable { .. }))),
            "{refused:?}"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    });
}
