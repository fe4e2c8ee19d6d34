//! News of other nodes' commits: word of them as they come, and a sweep for word that was lost.
//!
//! Owns which slots this node has word to give of, and when it looks without having heard any. News
//! says where to look, never what is there: everything is read from the store, so that lost news
//! makes a listener late and no news can make it wrong.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::slot::Slot;
use sillok_store::Store;
use tokio::sync::Notify;

use crate::claims;
use crate::commit::Shared;
use crate::metrics::count;
use crate::protocol::{Protocol, Safeguard};

/// Slots that the other nodes are to hear of.
#[derive(Debug, Default)]
pub(crate) struct News {
    slots: Mutex<BTreeSet<Slot>>,
    added: Notify,
}

impl News {
    /// Something was committed in a slot.
    pub(crate) fn add(&self, slot: Slot) {
        self.slots.lock().insert(slot);
        self.added.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<Slot> {
        std::mem::take(&mut *self.slots.lock())
            .into_iter()
            .collect()
    }
}

/// Tells the other nodes of what was committed here, until the node ends. What is committed within a
/// few milliseconds is told at once.
pub(crate) async fn announce<S: Store, P: Protocol>(shared: Arc<Shared<S, P>>) {
    let Some(peers) = shared.ports.peers.clone() else {
        return;
    };
    loop {
        shared.news.added.notified().await;
        let gather_ms = shared.config.news.announce_after_ms;
        shared.ports.clock.sleep(gather_ms).await;
        let slots = shared.news.take();
        if !slots.is_empty() {
            peers.announce(&slots).await;
            count(&shared.counters.announced_slots, slots.len() as u64);
        }
    }
}

/// Looks at every slot in use, now and then, until the node ends: nobody says whether news was heard.
pub(crate) async fn sweep<S: Store, P: Protocol>(shared: Arc<Shared<S, P>>) {
    if !shared.protocol.keeps(Safeguard::SweepsOutbox) {
        return;
    }
    loop {
        match claims::owned_slots(&shared.store).await {
            Ok(slots) => {
                let others = slots
                    .iter()
                    .filter(|slot| shared.ownership.epoch(**slot).is_none());
                others.for_each(|slot| shared.mark_for_listeners(*slot));
                count(&shared.counters.sweeps, 1);
            }
            Err(error) => tracing::warn!(%error, "what others committed is looked at later"),
        }
        let every_ms = shared.config.news.sweep_every_ms;
        shared.ports.clock.sleep(every_ms).await;
    }
}

#[cfg(test)]
mod tests;
