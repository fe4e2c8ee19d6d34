//! Those who wait for the index: what they asked for, and when they are answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use sillok_core::ports::{BoxFuture, Clock};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use tokio::sync::mpsc;

/// How long somebody waits for the index who cannot wait for ever, in ms.
pub(crate) const CATCH_UP_MS_MAX: u64 = 5_000;

/// Slots that could not be indexed, because something that lies there cannot be read.
pub(crate) type Unreadable = BTreeMap<Slot, Error>;

/// Slots of which the index has all that was published when they were asked for, and such as cannot be
/// read.
pub(crate) type CaughtUp = (BTreeSet<Slot>, Unreadable);

/// Somebody waits until the index has all that was published in some slots.
pub(super) struct Request {
    /// Those that were not read to their end since.
    pub(super) slots: BTreeSet<Slot>,
    pub(super) reply: mpsc::UnboundedSender<CaughtUp>,
}

/// How far each slot was read: everything up to the stamp is stored.
pub(crate) type Cursors = BTreeMap<Slot, Stamp>;

/// What the indexer was asked for.
pub(super) type Requests = mpsc::UnboundedReceiver<Request>;

/// Ways to ask the indexer for something.
pub(crate) struct IndexRequests {
    sender: mpsc::UnboundedSender<Request>,
    /// Held by the indexer while it runs.
    pub(super) receiver: tokio::sync::Mutex<Requests>,
    steps: AtomicU64,
    /// Moved by the indexer alone.
    pub(crate) cursors: Mutex<Cursors>,
}

impl Default for IndexRequests {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver: tokio::sync::Mutex::new(receiver),
            steps: AtomicU64::new(0),
            cursors: Mutex::default(),
        }
    }
}

impl IndexRequests {
    /// Asks that everything that was published in some slots be handed to the index, which reads these
    /// first. Under a clock for a while only.
    ///
    /// # Errors
    /// `unavailable` when the indexer has ended.
    pub(crate) fn follow(
        &self,
        slots: BTreeSet<Slot>,
        clock: Option<&dyn Clock>,
    ) -> Result<CatchingUp, Error> {
        let (reply, caught_up) = mpsc::unbounded_channel();
        let left = slots.clone();
        let asked = self.sender.send(Request { slots, reply });
        asked.map_err(|_| ended())?;
        let late = clock.map(|clock| clock.sleep(CATCH_UP_MS_MAX));
        Ok(CatchingUp {
            left,
            caught_up,
            late,
        })
    }

    /// Notes that the indexer got on with what it has to do: it read a slot, or stored a part.
    pub(super) fn got_on(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the indexer got on. One that tries the same again gets on no more.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Waits until the index has everything that was published in some slots, for as long as it gets on. How many of
    /// them cannot be read.
    ///
    /// # Errors
    /// `unavailable` when the indexer has ended, or has not got on for a while.
    pub(crate) async fn catch_up(
        &self,
        slots: BTreeSet<Slot>,
        clock: &dyn Clock,
    ) -> Result<u64, Error> {
        let mut catching_up = self.follow(slots, Some(clock))?;
        let (mut steps, mut unreadable) = (self.steps(), 0);
        loop {
            match catching_up.next().await {
                Ok(Some((_, damaged))) => unreadable += damaged.len() as u64,
                Ok(None) => return Ok(unreadable),
                Err(error) if self.steps() == steps => return Err(error),
                Err(_late) => {
                    steps = self.steps();
                    catching_up.late = Some(clock.sleep(CATCH_UP_MS_MAX));
                }
            }
        }
    }

    /// Waits for a while until the index has everything that was published in some slots and that can be
    /// read.
    ///
    /// # Errors
    /// `unavailable` when the indexer has ended, or the index lags behind still.
    pub(crate) async fn catch_up_soon(
        &self,
        slots: BTreeSet<Slot>,
        clock: &dyn Clock,
    ) -> Result<(), Error> {
        let mut catching_up = self.follow(slots, Some(clock))?;
        while catching_up.next().await?.is_some() {}
        Ok(())
    }
}

/// The index on its way to what was published in some slots.
pub(crate) struct CatchingUp {
    left: BTreeSet<Slot>,
    caught_up: mpsc::UnboundedReceiver<CaughtUp>,
    /// Nobody waits beyond its end.
    late: Option<BoxFuture<'static, ()>>,
}

impl CatchingUp {
    /// The next of the slots, some at a time; nothing once there were all. Nothing is lost if it is dropped.
    ///
    /// # Errors
    /// `unavailable` when the indexer has ended, or the index lags behind still.
    pub(crate) async fn next(&mut self) -> Result<Option<CaughtUp>, Error> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let late = async {
            match &mut self.late {
                Some(late) => late.await,
                None => core::future::pending().await,
            }
        };
        let (mut ready, mut unreadable) = tokio::select! {
            biased;
            caught_up = self.caught_up.recv() => caught_up.ok_or_else(ended)?,
            () = late => {
                let why = "the index lags behind what was published";
                return Err(Error::new(ErrorCode::Unavailable, why));
            }
        };
        // The others came before, or are ready in another way.
        ready.retain(|slot| self.left.remove(slot));
        unreadable.retain(|slot, _| self.left.remove(slot));
        Ok(Some((ready, unreadable)))
    }

    /// Waits no longer for slots that are ready in another way. Gives those of them that were waited for.
    pub(crate) fn are_ready(&mut self, mut slots: Vec<Slot>) -> BTreeSet<Slot> {
        slots.retain(|slot| self.left.remove(slot));
        slots.into_iter().collect()
    }

    /// The slots that are still waited for.
    pub(crate) const fn left(&self) -> &BTreeSet<Slot> {
        &self.left
    }
}

fn ended() -> Error {
    Error::new(ErrorCode::Unavailable, "the indexer has ended")
}

/// What became of the slots of one pass.
#[derive(Default)]
pub(super) struct Passed {
    /// Those that were read.
    pub(super) read: BTreeSet<Slot>,
    /// Those of them of which something is left.
    pub(super) unread: BTreeSet<Slot>,
    /// Those of them that cannot be read.
    pub(super) unreadable: Unreadable,
}

impl Passed {
    /// Notes that something about one slot is wrong: the others go on, and it is read again, all of it,
    /// at the next word of it.
    pub(super) fn note_unreadable(&mut self, slot: Slot, error: Error) {
        tracing::error!(%error, %slot, "what a slot published could not be indexed");
        self.unread.remove(&slot);
        self.unreadable.insert(slot, error);
    }
}

/// Those who wait for the index.
#[derive(Default)]
pub(super) struct Waiting(pub(super) Vec<Request>);

impl Waiting {
    /// The slots that somebody waits for.
    pub(super) fn slots(&self) -> BTreeSet<Slot> {
        self.0
            .iter()
            .flat_map(|request| &request.slots)
            .copied()
            .collect()
    }

    /// Tells each what the pass did for it, and forgets those who have all or wait no more.
    pub(super) fn tell(&mut self, passed: &Passed) {
        self.0.retain_mut(|request| request.is_left_after(passed));
    }
}

impl Request {
    /// Whether something of it is left after a pass.
    fn is_left_after(&mut self, passed: &Passed) -> bool {
        let Passed {
            read,
            unread,
            unreadable,
        } = passed;
        let (mut ready, mut broken) = (BTreeSet::new(), Unreadable::new());
        for slot in read.difference(unread) {
            if !self.slots.remove(slot) {
                continue;
            }
            match unreadable.get(slot) {
                Some(error) => drop(broken.insert(*slot, error.clone())),
                None => drop(ready.insert(*slot)),
            }
        }
        if !ready.is_empty() || !broken.is_empty() {
            // Whoever asked may have gone.
            let _ = self.reply.send((ready, broken));
        }
        !self.slots.is_empty() && !self.reply.is_closed()
    }
}
