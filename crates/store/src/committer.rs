//! The committer: decides which transactions commit, in which order and with which stamps, and
//! merges them into batches.
//!
//! Owns the commit counter, the queue and the index of recent writes. Does no I/O and knows no
//! thread, clock or engine: a driver asks for the next group, makes its batch durable in whatever
//! way, and reports back. In production a thread drives it, in a simulation the world does.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use crate::limits::GROUP_TXNS_MAX;
use crate::occ::Index;
use crate::write_set::{ReadSet, Write, WriteSet, sum};
use crate::{Committed, Error, KeyRange, Stamp};

/// What a committer may be tuned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitterConfig {
    /// Transactions of one group at most; never over [`GROUP_TXNS_MAX`].
    pub group_txns_max: usize,
    /// Bytes of one group's writes at which it takes no further transaction.
    pub group_bytes_max: usize,
    /// Memory for remembered writes. A transaction that began before them is `TooOld`.
    pub window_bytes_max: usize,
}

impl Default for CommitterConfig {
    fn default() -> Self {
        Self {
            group_txns_max: GROUP_TXNS_MAX,
            group_bytes_max: 16 << 20,
            window_bytes_max: 16 << 20,
        }
    }
}

/// A transaction that wants to commit.
#[derive(Debug, Clone)]
pub struct Request {
    /// Commit counter of the last commit that the transaction saw.
    pub read_version: u64,
    /// What it read in conflict.
    pub reads: ReadSet,
    /// What it writes.
    pub writes: WriteSet,
}

/// The committed pairs that a group is laid over: everything that completed, and nothing else.
pub trait Base {
    /// The value of `key`.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt`: the driver has to stop the committer.
    fn get(&self, key: &[u8]) -> Result<Option<Bytes>, Error>;

    /// The keys of `range`, in key order.
    ///
    /// # Errors
    /// As [`Base::get`].
    fn keys(&self, range: &KeyRange) -> Result<Vec<Bytes>, Error>;
}

/// Transactions merged into one batch, to be made durable as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The last value of each key that the group writes; `None` removes the key.
    pub writes: BTreeMap<Bytes, Option<Bytes>>,
    /// Counter of the last commit in the group; belongs into the same batch.
    pub counter: u64,
    /// Transactions that commit with this group. With 0, there is nothing to make durable.
    pub txns: usize,
}

/// Whether a group became durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The batch and its counter are durable, and visible to the next `begin`.
    Durable,
    /// It is not known whether the batch is durable. Nothing may commit after it.
    Unknown,
}

/// A ticket with its answer.
pub type Reply<T> = (T, Result<Committed, Error>);

/// The state machine. `T` is the ticket by which the driver finds whom to answer.
#[derive(Debug)]
pub struct Committer<T> {
    config: CommitterConfig,
    generation: u32,
    counter: u64,
    index: Index,
    queue: VecDeque<(Request, T)>,
    in_flight: Option<Vec<Reply<T>>>,
    stopped: bool,
}

impl<T> Committer<T> {
    /// A committer whose last commit was number `counter`.
    #[must_use]
    pub fn new(config: CommitterConfig, generation: u32, counter: u64) -> Self {
        let group_txns_max = config.group_txns_max.clamp(1, GROUP_TXNS_MAX);
        Self {
            config: CommitterConfig {
                group_txns_max,
                ..config
            },
            generation,
            counter,
            index: Index::new(counter, config.window_bytes_max),
            queue: VecDeque::new(),
            in_flight: None,
            stopped: false,
        }
    }

    /// Appends a transaction to the queue.
    ///
    /// # Errors
    /// Gives the ticket back with `Closed` once a group's outcome was unknown.
    pub fn enqueue(&mut self, request: Request, ticket: T) -> Result<(), Reply<T>> {
        if self.stopped {
            return Err((ticket, Err(Error::Closed)));
        }
        self.queue.push_back((request, ticket));
        Ok(())
    }

    /// Transactions that wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The counter from which on a view's reads can be judged; older ones are `TooOld`.
    #[must_use]
    pub fn floor(&self) -> u64 {
        self.index.floor()
    }

    /// Takes the next transactions off the queue in order, judges each against recent writes and
    /// against those before it in the group, and merges those that commit. `None` when nothing
    /// waits. The group has to be answered by [`Committer::complete`] before the next one.
    ///
    /// # Errors
    /// Whatever `base` answers; the group must then be completed as [`Outcome::Unknown`].
    pub fn next_group(&mut self, base: &impl Base) -> Result<Option<Group>, Error> {
        assert!(self.in_flight.is_none(), "one group is in flight at a time");
        assert!(
            !self.stopped || self.queue.is_empty(),
            "a stopped committer has no queue"
        );
        if self.queue.is_empty() {
            return Ok(None);
        }
        let mut group = Group {
            writes: BTreeMap::new(),
            counter: self.counter,
            txns: 0,
        };
        let mut bytes = 0;
        let taken = self.config.group_txns_max.min(self.queue.len());
        let replies = self.in_flight.insert(Vec::with_capacity(taken));
        while replies.len() < taken && bytes < self.config.group_bytes_max {
            let Some((request, ticket)) = self.queue.pop_front() else {
                break;
            };
            if let Err(refused) = self.index.check(request.read_version, &request.reads) {
                replies.push((ticket, Err(refused)));
                continue;
            }
            self.counter += 1;
            bytes += request.writes.bytes();
            let stamp = Stamp {
                generation: self.generation,
                counter: self.counter,
                index: 0,
            };
            replies.push((ticket, Ok(Committed { stamp })));
            merge(
                &mut group.writes,
                &mut self.index,
                stamp,
                request.writes,
                base,
            )?;
            group.counter = self.counter;
            group.txns += 1;
        }
        assert!(
            group.writes.is_empty() || group.txns > 0,
            "only a commit writes"
        );
        Ok(Some(group))
    }

    /// Ends the group in flight and gives the answers of its transactions. Refusals are answered
    /// with the group, not before it, so that whoever runs anew sees what it lost against. After
    /// [`Outcome::Unknown`] the queue is answered too, and nothing commits any more.
    pub fn complete(&mut self, outcome: Outcome) -> Vec<Reply<T>> {
        let mut replies = self
            .in_flight
            .take()
            .expect("a group is completed once it was taken");
        if outcome == Outcome::Unknown {
            self.stopped = true;
            for (_, reply) in &mut replies {
                if reply.is_ok() {
                    *reply = Err(Error::OutcomeUnknown);
                }
            }
            let waiting = self
                .queue
                .drain(..)
                .map(|(_, ticket)| (ticket, Err(Error::Closed)));
            replies.extend(waiting);
        }
        replies
    }
}

/// Lays the writes of one transaction over those of the group so far, and remembers them.
fn merge(
    group: &mut BTreeMap<Bytes, Option<Bytes>>,
    index: &mut Index,
    stamp: Stamp,
    writes: WriteSet,
    base: &impl Base,
) -> Result<(), Error> {
    for range in writes.cleared().iter() {
        for (_, value) in group.range_mut::<Bytes, _>(&range.begin..&range.end) {
            *value = None;
        }
        group.extend(base.keys(&range)?.into_iter().map(|key| (key, None)));
    }
    let stamped: Vec<(Bytes, Bytes)> = writes
        .stamped()
        .iter()
        .zip(0u16..=u16::MAX)
        .map(|((prefix, value), index)| {
            (stamped_key(prefix, Stamp { index, ..stamp }), value.clone())
        })
        .collect();
    assert!(
        stamped.len() == writes.stamped().len(),
        "a stamp's index fits its 16 bits"
    );
    let keys = writes
        .keys()
        .keys()
        .chain(stamped.iter().map(|(key, _)| key));
    index.record(stamp.counter, keys, writes.cleared().iter());
    let (keys, _) = writes.into_parts();
    if group.is_empty() {
        // The keys come in order: a map that is made of them at once looks for no key's place.
        let values = keys.into_iter().map(|(key, write)| {
            let value = value_after(write, || base.get(&key))?;
            Ok((key, value))
        });
        *group = values.collect::<Result<_, Error>>()?;
    } else {
        for (key, write) in keys {
            let before = || match group.get(&key) {
                Some(value) => Ok(value.clone()),
                None => base.get(&key),
            };
            let value = value_after(write, before)?;
            group.insert(key, value);
        }
    }
    group.extend(stamped.into_iter().map(|(key, value)| (key, Some(value))));
    Ok(())
}

/// The value of a key after `write`, where only an addition asks what it was `before`; none where it is removed.
fn value_after(
    write: Write,
    before: impl FnOnce() -> Result<Option<Bytes>, Error>,
) -> Result<Option<Bytes>, Error> {
    Ok(match write {
        Write::Set(value) => Some(value),
        Write::Clear => None,
        Write::Add(delta) => Some(sum(before()?.as_ref(), delta)),
    })
}

fn stamped_key(prefix: &[u8], stamp: Stamp) -> Bytes {
    let mut key = Vec::with_capacity(prefix.len() + Stamp::LEN);
    key.extend_from_slice(prefix);
    key.extend_from_slice(&stamp.to_bytes());
    Bytes::from(key)
}

#[cfg(test)]
mod tests;
