//! Routing where there is nobody else: a node that has its store to itself.
//!
//! Owns what such a node does that is without a slot for a moment.

use std::sync::Arc;

use sillok_core::command::{Answer, Submission};
use sillok_core::slot::Slot;
use sillok_core::trace::TraceContext;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use super::{ATTEMPTS_MAX, ROUTE_WAIT_MS, Router};
use crate::cluster;
use crate::protocol::Protocol;

impl<S: Store, P: Protocol> Router<S, P> {
    /// Sees a command through on a node that has its store to itself. It is without a slot for a moment when
    /// an order of the operator has it taken again.
    pub(super) async fn alone(
        &self,
        slot: Slot,
        submission: Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> Result<Answer, Error> {
        let mut wait_ms = ROUTE_WAIT_MS;
        for _ in 1..ATTEMPTS_MAX {
            match self.here(slot, Arc::clone(&submission), trace).await {
                Err(error) if error.code == ErrorCode::Fenced => {}
                result => return result,
            }
            self.shared.ports.clock.sleep(wait_ms).await;
            wait_ms *= 2;
            if self.shared.ownership.epoch(slot).is_none() {
                cluster::take_for_command(&self.shared, slot).await?;
            }
        }
        self.here(slot, submission, trace).await
    }
}
