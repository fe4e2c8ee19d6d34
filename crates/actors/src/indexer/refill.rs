//! An index that begins anew: what it lost is forgotten, and everything is told again.
//!
//! Owns that nothing counts as told before all of it was. It must not know what is damaged.

use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use super::{Indexer, Request, Waiting};
use crate::claims;
use crate::errors::refusal;
use crate::protocol::{Protocol, Safeguard};

impl<S: Store, P: Protocol> Indexer<S, P> {
    /// Stores everything that is marked now: all there is, where the index begins anew.
    ///
    /// # Errors
    /// As [`drain`](Self::drain).
    pub(super) async fn keep_up(
        &mut self,
        waiting: &mut Waiting,
        next_request: impl FnMut() -> Option<Request> + Send,
    ) -> Result<(), Error> {
        if self.shared.spaces.must_begin() {
            self.begin_anew().await?;
        }
        // What lies there is lacking still, however a round ends: they are read again with each.
        for slot in &self.unreadable {
            self.shared.index_feed.mark(*slot);
        }
        self.drain(waiting, next_request).await?;
        if !self.is_refilling {
            // Nothing waits for them: they are read again at the next word of them.
            self.unreadable.clear();
        } else if self.unreadable.is_empty() {
            self.shared.spaces.is_filled();
            self.is_refilling = false;
        }
        Ok(())
    }

    /// As [`keep_up`](Self::keep_up), before anybody searches: damage that is met on the way is made good at once, table
    /// by table.
    ///
    /// # Errors
    /// As [`keep_up`](Self::keep_up).
    pub(super) async fn bring_up(&mut self) -> Result<(), Error> {
        let mut known = self.shared.spaces.lacking();
        loop {
            let brought_up = self.keep_up(&mut Waiting::default(), || None).await;
            let lacking = self.shared.spaces.lacking();
            // Where no more is lost than before, the same would be met again.
            if brought_up.is_ok() || known.has_all_of(&lacking) {
                return brought_up;
            }
            known = lacking;
        }
    }

    /// Has the index forget what is damaged, and all slots read from the beginning; nothing, where another index came to
    /// serve in its place.
    ///
    /// # Errors
    /// What the index or the store answered, and `unavailable` where the index just began anew: nothing is forgotten
    /// then.
    pub(super) async fn begin_anew(&mut self) -> Result<(), Error> {
        let shared = &self.shared;
        let slots = claims::owned_slots(&shared.store).await;
        let slots = slots.map_err(|error| refusal(&error))?;
        if !shared.spaces.must_begin() {
            return Ok(());
        }
        let now_ms = shared.ports.clock.monotonic_ms();
        if shared.spaces.may_begin(now_ms) && shared.protocol.keeps(Safeguard::TellsAllAgain) {
            // Before the index forgets: nobody takes it for nearly full who takes a slot.
            shared.index_requests.cursors.lock().clear();
        }
        if !shared.spaces.begin_anew(now_ms).await? {
            // The sides changed just now: what was cleared is read once more, and nothing is lacking.
            return Ok(());
        }
        if shared.protocol.keeps(Safeguard::TellsAllAgain) {
            for slot in slots {
                shared.index_feed.mark(slot);
            }
            self.floor = Stamp::ZERO;
        }
        (self.part, self.is_stuck, self.is_refilling) = (1, false, true);
        (self.stored_since_optimised, self.rows_since_stored) = (0, 0);
        Ok(())
    }
}

/// Why nothing is stored that is marked.
pub(super) fn damaged() -> Error {
    let why = "the index is damaged, and is to begin anew";
    Error::new(ErrorCode::Unavailable, why)
}
