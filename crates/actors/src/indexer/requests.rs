//! Those who wait for the index: what they asked for, and when they are answered.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::ports::Clock;
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use tokio::sync::{mpsc, oneshot};

/// How long somebody waits for the index who cannot wait for ever, in ms.
pub(crate) const CATCH_UP_MS_MAX: u64 = 5_000;

/// Slots that could not be indexed, because something that lies there cannot be read.
pub(crate) type Unreadable = BTreeMap<Slot, Error>;

/// Somebody waits until the index has all that was published in some slots.
pub(super) struct Request {
    /// Those that were not read to their end since.
    pub(super) slots: BTreeSet<Slot>,
    pub(super) unreadable: Unreadable,
    pub(super) reply: oneshot::Sender<Unreadable>,
}

/// What the indexer was asked for.
pub(super) type Requests = mpsc::UnboundedReceiver<Request>;

/// Ways to ask the indexer for something.
pub(crate) struct IndexRequests {
    sender: mpsc::UnboundedSender<Request>,
    /// Held by the indexer while it runs.
    pub(super) receiver: tokio::sync::Mutex<Requests>,
}

impl Default for IndexRequests {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver: tokio::sync::Mutex::new(receiver),
        }
    }
}

impl IndexRequests {
    /// Waits until everything that was published in some slots has been handed to the index, which
    /// reads these first; gives those that could not be read.
    ///
    /// # Errors
    /// `unavailable` when the indexer has ended.
    pub(crate) async fn catch_up(&self, slots: BTreeSet<Slot>) -> Result<Unreadable, Error> {
        let ended = || Error::new(ErrorCode::Unavailable, "the indexer has ended");
        let (reply, caught_up) = oneshot::channel();
        let request = Request {
            slots,
            unreadable: Unreadable::new(),
            reply,
        };
        self.sender.send(request).map_err(|_| ended())?;
        caught_up.await.map_err(|_| ended())
    }

    /// As [`catch_up`](Self::catch_up), for a while only.
    ///
    /// # Errors
    /// `unavailable` when the indexer has ended, or the index lags behind still.
    pub(crate) async fn catch_up_soon(
        &self,
        slots: BTreeSet<Slot>,
        clock: &dyn Clock,
    ) -> Result<Unreadable, Error> {
        tokio::select! {
            biased;
            result = self.catch_up(slots) => result,
            () = clock.sleep(CATCH_UP_MS_MAX) => {
                let why = "the index lags behind what was published";
                Err(Error::new(ErrorCode::Unavailable, why))
            }
        }
    }
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

    /// Answers those who have all that they waited for, and forgets those who wait no more.
    pub(super) fn tell(&mut self, passed: &Passed) {
        self.0.retain(|request| !request.reply.is_closed());
        for request in std::mem::take(&mut self.0) {
            self.0.extend(request.after(passed));
        }
    }
}

impl Request {
    /// What is left of it after a pass.
    fn after(mut self, passed: &Passed) -> Option<Self> {
        let Passed {
            read,
            unread,
            unreadable,
        } = passed;
        for slot in read.difference(unread) {
            if self.slots.remove(slot)
                && let Some(error) = unreadable.get(slot)
            {
                self.unreadable.insert(*slot, error.clone());
            }
        }
        if !self.slots.is_empty() {
            return Some(self);
        }
        // Whoever asked may have gone.
        let _ = self.reply.send(self.unreadable);
        None
    }
}
