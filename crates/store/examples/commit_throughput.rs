//! Measures durable commits a second of the embedded store: `commit_throughput [TXNS] [CLIENTS]`.
//!
//! Each transaction reads three keys in conflict and writes the rows of one 500-byte record. Owns
//! nothing but the load; the figures of the whole system come from the benchmarks.

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use sillok_store::{FjallConfig, FjallStore, Layout, Read, Store, Txn};

#[expect(clippy::print_stdout, reason = "the figures are the product")]
fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number"));
    let txns: u64 = arguments.next().unwrap_or(1_000_000);
    let clients: u64 = arguments.next().unwrap_or(512);
    let directory = tempfile::TempDir::new_in(".").expect("the folder is writable");
    let layout = Layout {
        generation_at_creation: 1,
        slot_count: 4_096,
        slot_hash: "blake3".to_owned(),
    };
    let on_fatal = Arc::new(|reason: &str| panic!("{reason}"));
    let config = FjallConfig::new(directory.path(), layout, on_fatal);
    let store = FjallStore::open(&config).expect("a new store opens");
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let mut waits: Vec<Duration> = runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for client in 0..clients {
            tasks.spawn(load(store.clone(), client, txns / clients));
        }
        let mut waits = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            waits.extend(ended.expect("no client fails"));
        }
        waits
    });
    let seconds = started.elapsed().as_secs_f64();
    waits.sort_unstable();
    let done = waits.len();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index"
        )]
        let index = (done as f64 * share) as usize;
        waits[index.min(done - 1)]
    };
    println!(
        "{done} transactions, {clients} clients, {seconds:.2} s, {:.0}/s",
        done as f64 / seconds
    );
    println!(
        "acknowledged p50 {:?} p99 {:?} max {:?}",
        at(0.5),
        at(0.99),
        at(1.0)
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status
        .lines()
        .filter(|line| line.starts_with("VmHWM") || line.starts_with("VmRSS"))
    {
        println!("{line}");
    }
}

async fn load(store: FjallStore, client: u64, txns: u64) -> Vec<Duration> {
    let mut waits = Vec::new();
    let scope = blake3::hash(&client.to_be_bytes());
    let scope = &scope.as_bytes()[..16];
    let key = |family: u8, rest: &[u8]| [&[family], scope, rest].concat();
    let mut hash = scope.to_vec();
    for seq in 0..txns {
        let mut record = vec![0; 500];
        let noise = blake3::hash(&[scope, &seq.to_be_bytes()].concat());
        for chunk in record.chunks_mut(64) {
            chunk[..32].copy_from_slice(noise.as_bytes());
        }
        let command = key(b'c', noise.as_bytes());
        let began = Instant::now();
        let mut txn = store.begin().await.expect("the store is open");
        for read in [&key(b'o', &[]), &key(b'q', &[]), &command] {
            txn.get(read, Read::Conflict)
                .await
                .expect("the key is valid");
        }
        txn.set(key(b'e', &seq.to_be_bytes()), record);
        txn.set(key(b'q', &[]), hash.clone());
        txn.set(command, noise.as_bytes().to_vec());
        txn.set_stamped(vec![b'x', 0, 0], key(b'e', &seq.to_be_bytes()));
        txn.commit().await.expect("nobody else writes this scope");
        waits.push(began.elapsed());
        hash = noise.as_bytes().to_vec();
    }
    waits
}
