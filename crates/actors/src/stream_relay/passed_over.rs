//! What a relay passed over: slots whose outbox holds nothing for its stream behind what was told.
//!
//! Owns when that is written down. It stays true whoever writes it, so it needs no owner in its conflict set.

use sillok_core::slot::Slot;
use sillok_store::keys::relay::ReadRow;
use sillok_store::{Error as StoreError, Store, Txn as _};

use super::{Relay, cursors};
use crate::protocol::Protocol;

/// Slots of which it is written down at once.
const KEPT_AT_ONCE: usize = 256;

impl<S: Store, P: Protocol> Relay<S, P> {
    /// Writes down how far the outbox was read of slots that hold nothing for this stream, so that nobody
    /// reads it again, and that it is seen that the stream lacks nothing.
    pub(super) async fn keep_reads(&mut self) {
        let skipped = self.cursors.iter().filter(|(_, cursor)| cursor.skipped > 0);
        let skipped = skipped.map(|(slot, cursor)| (*slot, cursor.now_void()));
        let voids: Vec<(Slot, ReadRow)> = skipped.collect();
        for some in voids.chunks(KEPT_AT_ONCE) {
            if let Err(error) = self.keep_some(some).await {
                tracing::debug!(%error, "what was read is not written down; it is later");
                return;
            }
            for (slot, _) in some {
                if let Some(cursor) = self.cursors.get_mut(slot) {
                    cursor.skipped = 0;
                }
            }
        }
    }

    async fn keep_some(&self, voids: &[(Slot, ReadRow)]) -> Result<(), StoreError> {
        let mut txn = self.shared.store.begin().await?;
        for (slot, void) in voids {
            cursors::write_void(&mut txn, *slot, self.channel, *void);
        }
        txn.commit().await.map(drop)
    }
}
