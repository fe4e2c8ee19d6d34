//! The simulated store: FoundationDB's semantics over the engine in memory, at the world's pace.
//!
//! Owns when an operation happens and what its caller hears of it. What conflicts is decided by the
//! same index as in production. A commit on its way happens even if its sender crashes.

use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use sillok_core::stamp::Stamp;
use sillok_store::buffered::BufferedTxn;
use sillok_store::{Committed, Error, KeyRange, MemoryStore, RangeOptions, Read, Store, Txn};
use tokio::sync::oneshot;

use crate::heap::{Due, Place, Shared, Sim};
use crate::rng::Purpose;
use crate::storage::{Storage, StorageTxn};
use crate::trace::key_name;
use crate::writes::Writes;

/// Time of a read on its way, in µs, at least and at most.
const READ_US: (u64, u64) = (100, 600);
/// Time of a read from the node's own disk, in µs, at least and at most.
const DISK_READ_US: (u64, u64) = (1, 20);
/// Time of a commit until it happens, in µs, at least and at most.
const COMMIT_US: (u64, u64) = (500, 3_000);
/// Time of its answer, in µs, at least and at most.
const ANSWER_US: (u64, u64) = (100, 1_000);
/// How much later a commit may happen whose sender was told that its outcome is unknown, in µs.
const LATE_US: (u64, u64) = (1_000, 3_000_000);
/// The longest life of a transaction, in µs.
const LIFE_US_MAX: u64 = 5_000_000;
/// How long a caller waits for a store that does not answer, in µs.
const OUT_US: u64 = 1_000_000;
/// Commits that do not reach the store when their node is cut off while they are on their way, in a
/// thousandth.
const CUT_OFF_PERMILLE: u32 = 500;

/// The store as one node reaches it.
#[derive(Clone)]
pub(crate) struct SimStore {
    pub(crate) sim: Sim,
    pub(crate) place: Place,
    pub(crate) store: Storage,
    /// Whether others than nodes write to it: what they write means nothing.
    pub(crate) is_foreign: bool,
}

/// A transaction of a node.
pub(crate) struct SimTxn {
    sim: Sim,
    place: Place,
    begun_us: u64,
    txn: StorageTxn,
    writes: Writes,
}

/// What becomes of a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Heard,
    CommitsUnheard,
    IsLost,
    CommitsLate,
}

#[derive(Debug, thiserror::Error)]
#[error("the store does not answer")]
struct Out;

fn out() -> Error {
    Error::Unavailable {
        doing: "reaching the store",
        source: Arc::new(Out),
    }
}

impl Shared {
    fn reaches_store(&self, place: Place) -> bool {
        !self.noise.store_is_out && !self.without_store.contains(&place)
    }

    fn fate(&mut self, place: Place) -> Fate {
        let noise = &self.noise;
        let (committed, lost, late) = (
            noise.committed_unheard_permille,
            noise.lost_unheard_permille,
            noise.commits_late_permille,
        );
        let chance = self.chance(Purpose::Fate, place);
        if chance.permille(committed) {
            Fate::CommitsUnheard
        } else if chance.permille(lost) {
            Fate::IsLost
        } else if chance.permille(late) {
            Fate::CommitsLate
        } else {
            Fate::Heard
        }
    }
}

impl Sim {
    /// Waits for the store, as long as it takes to come back or to give up.
    async fn reach_store(
        &self,
        place: Place,
        what: &'static str,
        read_us: (u64, u64),
    ) -> Result<(), Error> {
        let wait_us = {
            let mut shared = self.lock();
            if shared.reaches_store(place) {
                shared.draw_us(Purpose::Read, place, read_us)
            } else {
                OUT_US
            }
        };
        let answer = self.after(place, wait_us, move |shared| {
            let reached = shared.reaches_store(place);
            if !reached {
                shared.effects.saw(if shared.noise.store_is_out {
                    "store out of reach of everybody"
                } else {
                    "store out of reach of a node"
                });
            }
            shared.line(place, what, &[u8::from(reached)]);
            reached
        });
        match answer.await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(out()),
        }
    }
}

impl Store for SimStore {
    type Txn = SimTxn;

    async fn begin(&self) -> Result<SimTxn, Error> {
        let txn = self.store.begin().await?;
        let read_us = txn.read_us();
        self.sim.reach_store(self.place, "begin", read_us).await?;
        let begun_us = self.sim.lock().now_us;
        Ok(SimTxn {
            sim: self.sim.clone(),
            place: self.place,
            begun_us,
            txn,
            writes: Writes::by(self.is_foreign),
        })
    }

    fn generation(&self) -> u32 {
        self.store.generation()
    }
}

impl StorageTxn {
    const fn read_us(&self) -> (u64, u64) {
        match self {
            Self::Shared(_) => READ_US,
            Self::Disk(..) => DISK_READ_US,
        }
    }
}

impl SimTxn {
    fn check_age(&self) -> Result<(), Error> {
        let mut shared = self.sim.lock();
        if shared.now_us - self.begun_us > LIFE_US_MAX {
            shared.effects.saw("transaction too old");
            return Err(Error::TooOld);
        }
        Ok(())
    }
}

impl Txn for SimTxn {
    async fn get(&mut self, key: &[u8], read: Read) -> Result<Option<Bytes>, Error> {
        let read_us = self.txn.read_us();
        self.sim.reach_store(self.place, "get", read_us).await?;
        self.check_age()?;
        let value = self.txn.get(key, read).await?;
        let mut shared = self.sim.lock();
        let found = [u8::from(read == Read::Conflict), u8::from(value.is_some())];
        let value_bytes = value.as_deref().unwrap_or_default();
        shared.lines(self.place, "got", &[&found, key, value_bytes]);
        shared.about(|| key_name(key));
        Ok(value)
    }

    async fn range(
        &mut self,
        range: &KeyRange,
        options: RangeOptions,
    ) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let read_us = self.txn.read_us();
        self.sim.reach_store(self.place, "range", read_us).await?;
        self.check_age()?;
        let pairs = self.txn.range(range, options).await?;
        let mut shared = self.sim.lock();
        let asked = [
            u8::from(options.read == Read::Conflict),
            u8::from(options.reverse),
        ];
        let limits = [options.limit as u64, pairs.len() as u64].map(u64::to_le_bytes);
        let parts: [&[u8]; 4] = [&asked, limits.as_flattened(), &range.begin, &range.end];
        shared.lines(self.place, "ranged", &parts);
        shared.about(|| format!("{} rows from {}", pairs.len(), key_name(&range.begin)));
        for (key, value) in &pairs {
            shared.line(self.place, "row", key);
            shared.about(|| key_name(key));
            shared.line(self.place, "value", value);
        }
        Ok(pairs)
    }

    fn set(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        let (key, value) = (key.into(), value.into());
        self.writes.set(&key, &value);
        self.txn.set(key, value);
    }

    fn clear(&mut self, key: impl Into<Bytes>) {
        let key = key.into();
        self.writes.cleared(&key);
        self.txn.clear(key);
    }

    fn clear_range(&mut self, range: &KeyRange) {
        self.writes.cleared_range(range);
        self.txn.clear_range(range);
    }

    fn add(&mut self, key: impl Into<Bytes>, delta: i64) {
        let key = key.into();
        self.writes.added(&key, delta);
        self.txn.add(key, delta);
    }

    fn set_stamped(&mut self, prefix: impl Into<Bytes>, value: impl Into<Bytes>) {
        let (prefix, value) = (prefix.into(), value.into());
        self.writes.stamped(&prefix, &value);
        self.txn.set_stamped(prefix, value);
    }

    fn conflict_on(&mut self, range: &KeyRange) {
        self.writes.conflicts_on(range);
        self.txn.conflict_on(range);
    }

    async fn commit(self) -> Result<Committed, Error> {
        self.check_age()?;
        let Self {
            sim,
            place,
            txn,
            mut writes,
            ..
        } = self;
        match txn {
            StorageTxn::Shared(txn) => {
                let commit = OnItsWay {
                    place,
                    txn,
                    writes,
                    is_slow: false,
                };
                let departs = move |shared: &mut Shared| shared.depart(commit);
                match sim.leaves(place, departs).await {
                    Some(answer) => answer.await.unwrap_or(Err(Error::OutcomeUnknown)),
                    None => Err(Error::OutcomeUnknown),
                }
            }
            StorageTxn::Disk(txn, told) => {
                sim.lock().note_departure(place, &mut writes);
                *told.lock() = writes;
                // It leaves as it is handed to the disk.
                txn.commit().await
            }
        }
    }
}

type Answer = oneshot::Receiver<Result<Committed, Error>>;

/// A commit that has left its sender.
struct OnItsWay {
    place: Place,
    txn: BufferedTxn<MemoryStore>,
    writes: Writes,
    /// Whether a fault makes it take longer.
    is_slow: bool,
}

impl OnItsWay {
    fn happen(self, shared: &mut Shared) -> Result<Committed, Error> {
        let Self {
            place,
            txn,
            writes,
            is_slow,
        } = self;
        let result = txn
            .commit()
            .now_or_never()
            .expect("the engine in memory answers at once");
        let stamp = result.as_ref().map(|committed| committed.stamp);
        let what = match &stamp {
            Ok(stamp) => {
                shared.committed(place, &writes, *stamp);
                "committed"
            }
            Err(Error::Conflict) => {
                shared.conflicted(place, &writes, is_slow);
                "conflicted"
            }
            Err(_) => "not committed",
        };
        let stamp = stamp.map(Stamp::to_bytes).unwrap_or_default();
        shared.lines(place, what, &[&stamp, &writes.departed.to_le_bytes()]);
        shared.about(|| writes.to_string());
        result
    }
}

impl Shared {
    /// A commit leaves its sender, whatever becomes of it.
    fn note_departure(&mut self, place: Place, writes: &mut Writes) {
        self.line(place, "commits", writes.told());
        self.about(|| writes.to_string());
        writes.departed = self.trace.lines();
    }

    /// Sends a commit on its way, and says where its answer will be heard.
    fn depart(&mut self, mut commit: OnItsWay) -> Answer {
        let (answer, receiver) = oneshot::channel();
        let place = commit.place;
        self.note_departure(place, &mut commit.writes);
        let fate = self.fate(place);
        let slowness = self.noise.commit_slowness.max(1);
        commit.is_slow = slowness > 1;
        let mut happens_us = self.draw_us(Purpose::Commit, place, COMMIT_US) * slowness;
        happens_us += self.kill_in_commit(place, commit.writes.originals, 0);
        let conflicts = self.noise.conflict_permille;
        if self.chance(Purpose::Commit, place).permille(conflicts) {
            let seen = Some("conflict without a writer");
            self.hear(place, happens_us, answer, Err(Error::Conflict), seen);
            return receiver;
        }
        match fate {
            Fate::Heard => self.happens(commit, happens_us, answer, true),
            Fate::CommitsUnheard => self.happens(commit, happens_us, answer, false),
            Fate::IsLost => {
                let seen = Some("commit lost and unheard of");
                self.hear(place, happens_us, answer, Err(Error::OutcomeUnknown), seen);
            }
            Fate::CommitsLate => {
                let late_us = happens_us + self.draw_us(Purpose::Commit, place, LATE_US);
                self.hear(place, happens_us, answer, Err(Error::OutcomeUnknown), None);
                let act = Box::new(move |shared: &mut Self| {
                    let what = match commit.happen(shared) {
                        Ok(_) => "committed after the outcome was unknown",
                        Err(_) => "refused after the outcome was unknown",
                    };
                    shared.effects.saw(what);
                });
                self.schedule(late_us, Due::Act(None, act));
            }
        }
        receiver
    }

    fn happens(
        &mut self,
        commit: OnItsWay,
        happens_us: u64,
        answer: oneshot::Sender<Result<Committed, Error>>,
        is_heard: bool,
    ) {
        let place = commit.place;
        let answers_us = self.draw_us(Purpose::Commit, place, ANSWER_US);
        let act = Box::new(move |shared: &mut Self| {
            // A node that was cut off meanwhile hears nothing, whether its commit came through or not.
            if !shared.reaches_store(place) {
                let chance = shared.chance(Purpose::Commit, place);
                let seen = if chance.permille(CUT_OFF_PERMILLE) {
                    Some("commit that did not reach the store")
                } else {
                    let happened = commit.happen(shared);
                    happened.ok().map(|_| "commit whose answer was cut off")
                };
                return shared.hear(place, OUT_US, answer, Err(Error::OutcomeUnknown), seen);
            }
            let (heard, seen) = match commit.happen(shared) {
                Ok(_) if !is_heard => {
                    let seen = Some("committed and unheard of");
                    (Err(Error::OutcomeUnknown), seen)
                }
                result => (result, None),
            };
            shared.hear(place, answers_us, answer, heard, seen);
        });
        self.schedule(happens_us, Due::Act(None, act));
    }

    /// Lets a caller hear something after a while; `seen` once it is heard.
    fn hear<T: Send + 'static>(
        &mut self,
        place: Place,
        after_us: u64,
        answer: oneshot::Sender<T>,
        what: T,
        seen: Option<&'static str>,
    ) {
        let run = self.run_of(place).unwrap_or(0);
        let act = Box::new(move |shared: &mut Self| {
            if let (Ok(()), Some(seen)) = (answer.send(what), seen) {
                shared.effects.saw(seen);
            }
        });
        self.schedule(after_us, Due::Act(Some((place, run)), act));
    }
}

#[cfg(test)]
mod tests;
