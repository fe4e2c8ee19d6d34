//! Tidying up: when the indexer has the index optimised.
//!
//! Owns that no node is left out. A night's run optimises the index of its own node alone, and each change leaves files and
//! versions behind on all.

use sillok_core::time::DAY_MS;
use sillok_store::Store;

use super::Indexer;
use crate::protocol::Protocol;

/// The longest that an index which changes is left as it is, in ms, by a process that runs for as long.
const OPTIMISE_EVERY_MS: u64 = DAY_MS;

impl<S: Store, P: Protocol> Indexer<S, P> {
    /// Optimises the index where much was stored since it was, or anything has changed and a day has passed. Nobody wakes
    /// up for that: what is to be tidied comes with changes, and each is followed by a look. An index does not say when it
    /// was optimised last: the day begins with the process, and what that finds counts as changed.
    pub(super) async fn optimise_if_due(&mut self) {
        let much = self.shared.config.indexer.optimise_after_entries;
        if self.stored_since_optimised < much && !(self.has_changed && self.a_day_has_passed()) {
            return;
        }
        match self.shared.ports.index.optimise().await {
            Ok(()) => {
                (self.stored_since_optimised, self.has_changed) = (0, false);
                self.optimised_at_ms = self.shared.ports.clock.monotonic_ms();
            }
            Err(error) => {
                tracing::warn!(%error, "the index was not optimised; it is tried again later")
            }
        }
    }

    fn a_day_has_passed(&self) -> bool {
        let now_ms = self.shared.ports.clock.monotonic_ms();
        now_ms.saturating_sub(self.optimised_at_ms) >= OPTIMISE_EVERY_MS
    }
}
