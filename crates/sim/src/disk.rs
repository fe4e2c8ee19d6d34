//! The disk of a node that has its store to itself: the real committer, groups that become durable
//! after a while, and what a crash leaves of them.
//!
//! Owns durability. A group is on the disk whole or not at all; what was not answered when the node
//! crashed may be either. A disk that fails ends the process, as in production.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use sillok_core::stamp::Stamp;
use sillok_store::buffered::{BufferedTxn, Engine, View};
use sillok_store::committer::{Committer, CommitterConfig, Group, Outcome, Request};
use sillok_store::versions::Versions;
use sillok_store::{Committed, Error, KeyRange};
use tokio::sync::oneshot;

use crate::heap::{Due, Place, Shared, Sim};
use crate::rng::Purpose;
use crate::writes::Writes;

/// The node that has the disk.
pub(crate) const OWNER: Place = Place(0);
/// Time until a group is durable, in µs, at least and at most.
const SYNC_US: (u64, u64) = (300, 4_000);
/// Groups, of those in which a fault wants actors killed, in which the whole process ends, in a thousandth.
const ENDED_PERMILLE: u32 = 300;
/// Generation of the stamps.
const GENERATION: u32 = 1;

/// Whom to answer, and what the monitor is to be told.
struct Ticket {
    answer: oneshot::Sender<Result<Committed, Error>>,
    writes: Writes,
}

/// What is on the disk, and what is on its way there.
pub(crate) struct Disk {
    durable: Versions,
    committer: Committer<Ticket>,
    in_flight: Option<Group>,
    /// Originals that lie in chunks, among what waits for the next group.
    originals: usize,
    /// Counts crashes, so that what an earlier process began is not ended by a later one.
    process: u64,
    /// Whether a fault makes the group in flight take longer.
    is_slow: bool,
    /// Whether the next group meets an error.
    pub(crate) fails_next: bool,
    /// Whether the process has to end, since its disk failed.
    has_failed: bool,
    /// Planted bug: a new process counts its commits from the beginning.
    pub(crate) forgets_stamps: bool,
    /// The number of the newest commit that was decided.
    given: u64,
}

impl Default for Disk {
    fn default() -> Self {
        Self {
            durable: Versions::default(),
            committer: Committer::new(CommitterConfig::default(), GENERATION, 0),
            in_flight: None,
            originals: 0,
            process: 0,
            is_slow: false,
            fails_next: false,
            has_failed: false,
            forgets_stamps: false,
            given: 0,
        }
    }
}

impl Shared {
    /// Hands a transaction to the disk, which writes it with the next group.
    fn queue(&mut self, request: Request, ticket: Ticket) -> Result<(), Error> {
        if self.disk.has_failed {
            return Err(Error::Closed);
        }
        self.disk.originals += ticket.writes.originals;
        let queued = self.disk.committer.enqueue(request, ticket);
        queued.map_err(|_| Error::Closed)?;
        self.write_next();
        Ok(())
    }

    /// Begins to write the next group, if there is one and none is under way.
    fn write_next(&mut self) {
        if self.disk.in_flight.is_some() {
            return;
        }
        let Disk {
            durable, committer, ..
        } = &mut self.disk;
        let group = committer.next_group(durable);
        let Some(group) = group.expect("memory holds what was written") else {
            return;
        };
        self.disk.given = group.counter;
        let slowness = self.noise.commit_slowness.max(1);
        self.disk.is_slow = slowness > 1;
        let mut sync_us = self.draw_us(Purpose::Disk, OWNER, SYNC_US) * slowness;
        let originals = std::mem::take(&mut self.disk.originals);
        sync_us += self.kill_in_commit(OWNER, originals, ENDED_PERMILLE);
        self.disk.in_flight = Some(group);
        let process = self.disk.process;
        let act = Box::new(move |shared: &mut Self| {
            if shared.disk.process == process {
                shared.synced();
            }
        });
        self.schedule(sync_us, Due::Act(None, act));
    }

    /// The group in flight has ended: durable, or not known to be.
    fn synced(&mut self) {
        let fails = std::mem::take(&mut self.disk.fails_next);
        let is_written = !fails || self.chance(Purpose::Disk, OWNER).permille(500);
        if fails {
            self.effects.saw("disk failed");
            self.disk.has_failed = true;
        }
        self.end_group(is_written, fails);
        if !fails {
            self.write_next();
        }
    }

    fn end_group(&mut self, is_written: bool, fails: bool) {
        let Some(group) = self.disk.in_flight.take() else {
            return;
        };
        let floor = self.disk.committer.floor();
        if group.txns > 1 {
            self.effects.saw("commits that share one sync");
            if self.disk.is_slow {
                self.effects.saw("commits gathered behind a slow sync");
            }
        }
        let mut counter = group.counter - group.txns as u64;
        if group.counter < self.disk.durable.last() {
            self.monitor.note_stamps(group.counter);
        } else if is_written {
            self.disk.durable.apply(group, floor);
        }
        let outcome = if fails {
            Outcome::Unknown
        } else {
            Outcome::Durable
        };
        let replies = self.disk.committer.complete(outcome);
        for (ticket, heard) in replies {
            // What was not refused has its number, whether or not anybody hears of it.
            if matches!(heard, Ok(_) | Err(Error::OutcomeUnknown)) {
                counter += 1;
                if is_written {
                    self.synced_one(&ticket, counter);
                }
            }
            if let Err(Error::Conflict) = heard {
                self.conflicted(OWNER, &ticket.writes, self.disk.is_slow);
            }
            let run = self.run_of(OWNER).unwrap_or(0);
            let answer = ticket.answer;
            let act = Box::new(move |_: &mut Self| drop(answer.send(heard)));
            self.schedule(1, Due::Act(Some((OWNER, run)), act));
        }
    }

    /// A transaction is on the disk.
    fn synced_one(&mut self, ticket: &Ticket, counter: u64) {
        let stamp = Stamp {
            generation: GENERATION,
            counter,
            index: 0,
        };
        self.committed(OWNER, &ticket.writes, stamp);
        let departed = ticket.writes.departed.to_le_bytes();
        self.lines(OWNER, "synced", &[&stamp.to_bytes(), &departed]);
    }

    /// The process ends, with whatever was on its way to the disk.
    pub(crate) fn disk_loses_process(&mut self) {
        if self.disk.in_flight.is_some() {
            let is_written = self.chance(Purpose::Disk, OWNER).permille(500);
            self.effects.saw(if is_written {
                "synced and unheard of"
            } else {
                "crashed before the sync"
            });
            self.end_group(is_written, false);
        }
        self.disk.process += 1;
        self.disk.originals = 0;
        self.disk.has_failed = false;
        let counter = if self.disk.forgets_stamps {
            0
        } else {
            self.disk.durable.last()
        };
        self.disk.given = counter;
        self.disk.committer = Committer::new(CommitterConfig::default(), GENERATION, counter);
    }

    /// Whether the process has to end since its disk failed; asked once.
    pub(crate) fn take_disk_failure(&mut self) -> bool {
        std::mem::take(&mut self.disk.has_failed)
    }
}

/// The disk as a transaction sees it.
#[derive(Clone)]
pub(crate) struct DiskEngine {
    sim: Sim,
    /// What the transaction writes, for the monitor, filled in when it commits.
    pub(crate) writes: Arc<Mutex<Writes>>,
}

/// The disk as of one commit.
pub(crate) struct DiskView {
    sim: Sim,
    version: u64,
}

impl Sim {
    /// A transaction on the disk.
    pub(crate) fn begin_on_disk(&self) -> (BufferedTxn<DiskEngine>, Arc<Mutex<Writes>>) {
        let (version, read_version) = {
            let shared = self.lock();
            let version = shared.disk.durable.last();
            (version, version.min(shared.disk.given))
        };
        let writes = Arc::<Mutex<Writes>>::default();
        let engine = DiskEngine {
            sim: self.clone(),
            writes: Arc::clone(&writes),
        };
        let view = DiskView {
            sim: self.clone(),
            version,
        };
        (BufferedTxn::new(engine, view, read_version), writes)
    }
}

impl Engine for DiskEngine {
    type View = DiskView;

    async fn submit(&self, request: Request) -> Result<Committed, Error> {
        let (answer, receiver) = oneshot::channel();
        let ticket = Ticket {
            answer,
            writes: std::mem::take(&mut self.writes.lock()),
        };
        let queues = move |shared: &mut Shared| shared.queue(request, ticket);
        match self.sim.leaves(OWNER, queues).await {
            Some(Ok(())) => receiver.await.unwrap_or(Err(Error::OutcomeUnknown)),
            Some(Err(error)) => Err(error),
            None => Err(Error::OutcomeUnknown),
        }
    }

    fn generation(&self) -> u32 {
        GENERATION
    }
}

impl View for DiskView {
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error> {
        self.sim.lock().disk.durable.get(key, self.version)
    }

    fn scan<R>(
        &self,
        range: &KeyRange,
        reverse: bool,
        scan: impl FnOnce(&mut dyn Iterator<Item = Result<(Bytes, Bytes), Error>>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let shared = self.sim.lock();
        let durable = &shared.disk.durable;
        durable.scan(range, reverse, self.version, scan)
    }
}
