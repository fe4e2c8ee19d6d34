//! Faults below the actors: commits whose outcome is unknown, and a command that panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use sillok_core::ErrorCode;
use sillok_core::ports::Rng;
use sillok_core::principal::PrincipalKind;
use sillok_store::{Committed, Error, KeyRange, MemoryStore, RangeOptions, Read, Store, Txn};

use super::harness::{CountingRng, TASK, append, first_seq, open_task, ports, store, submission};
use crate::{Node, NodeConfig, Ports, audit};

/// What happens to every third commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It commits, and nobody is told.
    CommitsUnheard,
    /// It does not commit, and nobody is told.
    IsLost,
}

/// The memory engine behind a line that sometimes drops the answer.
#[derive(Clone)]
struct Unreliable {
    store: MemoryStore,
    fate: Fate,
    commits: Arc<AtomicU64>,
    unknown: Arc<AtomicU64>,
}

struct UnreliableTxn {
    txn: <MemoryStore as Store>::Txn,
    line: Unreliable,
}

impl Store for Unreliable {
    type Txn = UnreliableTxn;

    async fn begin(&self) -> Result<UnreliableTxn, Error> {
        Ok(UnreliableTxn {
            txn: self.store.begin().await?,
            line: self.clone(),
        })
    }

    fn generation(&self) -> u32 {
        self.store.generation()
    }
}

impl Txn for UnreliableTxn {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        self.txn.get(key, read).await
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        self.txn.range(range, options).await
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.txn.set(key, value);
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        self.txn.clear(key);
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.txn.clear_range(range);
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        self.txn.add(key, delta);
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.txn.set_stamped(prefix, value);
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        self.txn.conflict_on(range);
    }

    async fn commit(self) -> Result<Committed, Error> {
        // The first commits are the claim and the opening of the task.
        if self.line.commits.fetch_add(1, Ordering::Relaxed) % 3 != 2 {
            return self.txn.commit().await;
        }
        self.line.unknown.fetch_add(1, Ordering::Relaxed);
        if self.line.fate == Fate::CommitsUnheard {
            self.txn.commit().await?;
        }
        Err(Error::OutcomeUnknown)
    }
}

async fn unknown_outcomes(fate: Fate) {
    let memory = store();
    let unreliable = Unreliable {
        store: memory.clone(),
        fate,
        commits: Arc::default(),
        unknown: Arc::default(),
    };
    let unknown = Arc::clone(&unreliable.unknown);
    let node = Node::start(unreliable, ports(), NodeConfig::default())
        .await
        .unwrap();
    node.submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    for number in 1..=30 {
        let line = submission(
            number,
            PrincipalKind::Agent,
            TASK,
            append(&format!("line {number}")),
        );
        let answer = node.submit(line).await;
        assert_eq!(first_seq(&answer), number + 1, "each line once, in order");
    }
    assert!(
        unknown.load(Ordering::Relaxed) >= 10,
        "the fault must have happened"
    );
    assert!(node.metrics().unknown_outcomes > 0);
    let report = audit::verify(&memory, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}

#[tokio::test]
async fn a_commit_that_nobody_heard_of_is_applied_once() {
    unknown_outcomes(Fate::CommitsUnheard).await;
}

#[tokio::test]
async fn a_commit_that_was_lost_is_applied_by_a_later_attempt() {
    unknown_outcomes(Fate::IsLost).await;
}

/// Randomness that fails once.
struct PanicsOnce {
    calls: Arc<AtomicU64>,
    at: u64,
    rng: CountingRng,
}

impl Rng for PanicsOnce {
    fn fill(&mut self, bytes: &mut [u8]) {
        assert!(
            self.calls.fetch_add(1, Ordering::Relaxed) != self.at,
            "the planted defect"
        );
        self.rng.fill(bytes);
    }
}

#[tokio::test]
async fn a_panic_costs_its_own_command_only() {
    let store = store();
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    // The opening draws salt 0; the batch of twenty draws from 1 on, so its fifth command meets salt 5.
    let rng = Arc::new(move || -> Box<dyn Rng> {
        Box::new(PanicsOnce {
            calls: Arc::clone(&counted),
            at: 5,
            rng: CountingRng::new(),
        })
    });
    let node = Node::start(
        store.clone(),
        Ports { rng, ..ports() },
        NodeConfig::default(),
    )
    .await
    .unwrap();
    node.submit(submission(0, PrincipalKind::Agent, TASK, open_task()))
        .await
        .unwrap();
    let lines = (1..=20).map(|number| {
        let node = node.clone();
        let line = submission(number, PrincipalKind::Agent, TASK, append("line"));
        tokio::spawn(async move { (number, node.submit(line).await) })
    });
    let mut failed = Vec::new();
    for line in lines.collect::<Vec<_>>() {
        let (number, answer) = line.await.unwrap();
        if let Err(error) = answer {
            assert_eq!(error.code, ErrorCode::Internal);
            failed.push(number);
        }
    }
    assert_eq!(failed.len(), 1, "one command pays: {failed:?}");
    let again = node
        .submit(submission(
            failed[0],
            PrincipalKind::Agent,
            TASK,
            append("line"),
        ))
        .await;
    assert_eq!(
        again.unwrap_err().code,
        ErrorCode::Internal,
        "it is quarantined"
    );
    assert_eq!(
        node.reader()
            .task(&super::harness::scope(TASK))
            .await
            .unwrap()
            .unwrap()
            .title,
        "Fix the parser"
    );
    let report = audit::verify(&store, &|_| {}).await.unwrap();
    assert!(report.first.is_none(), "{report:?}");
}
