//! Repair: what an operator may have a cluster do.
//!
//! Owns who is told what of it, and that it is said in the log. What may be ordered is core's rule, and
//! the rows are [`crate::claims`]'s. It must not know who counts as an operator.

use std::sync::Arc;

use sillok_core::id::Incarnation;
use sillok_core::membership::FenceOrder;
use sillok_core::principal::Actor;
use sillok_core::quarantine::QuarantineOrder;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use super::{let_go, take};
use crate::claims;
use crate::commit::Shared;
use crate::errors::refusal;
use crate::protocol::Protocol;

/// Orders the end of a node's run.
///
/// # Errors
/// `invalid_state` where there are no other nodes, the refusal of [`check_fence_order`], and what the
/// store answered.
///
/// [`check_fence_order`]: sillok_core::membership::check_fence_order
pub(crate) async fn fence<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    node: &str,
    run: Incarnation,
    by: Actor,
) -> Result<FenceOrder, Error> {
    if shared.is_alone() {
        let why = "this node has its store to itself: nobody would take its slots; start it again";
        return Err(Error::new(ErrorCode::InvalidState, why));
    }
    let at = shared.ports.clock.now();
    let order = FenceOrder { by, at };
    let given = claims::order_fence(&shared.store, node, run, &order, shared.protocol).await;
    let given = given.map_err(|error| refusal(&error))??;
    tracing::warn!(node, run = run.0, by = %given.by, "the end of a run was ordered");
    Ok(given)
}

/// Gives an order about what may be written to a scope: nothing, for a reason, or anything again.
///
/// # Errors
/// The refusal of [`check_order`], and what the store answered.
///
/// [`check_order`]: sillok_core::quarantine::Quarantines::check_order
pub(crate) async fn quarantine<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    scope: Scope,
    reason: Option<String>,
    by: Actor,
) -> Result<QuarantineOrder, Error> {
    let at = shared.ports.clock.now();
    let order = QuarantineOrder {
        scope,
        reason,
        by,
        at,
    };
    let slot = Slot::of(&order.scope);
    let held = shared.ownership.epoch(slot);
    let given = claims::order_quarantine(&shared.store, &order, shared.protocol).await;
    let (given, is_new) = given.map_err(|error| refusal(&error))??;
    if !is_new {
        return Ok(given);
    }
    let (scope, by) = (&given.scope, &given.by);
    match &given.reason {
        Some(reason) => tracing::warn!(%scope, reason, %by, "a scope was quarantined"),
        None => tracing::warn!(%scope, %by, "a quarantine was lifted"),
    }
    if let Some(held) = held.filter(|_| !shared.members.ends()) {
        // Its epoch has passed: it is taken anew at once, before a command finds that out.
        let_go(shared, slot, held);
        if let Err(error) = take(shared, &[slot]).await {
            tracing::warn!(%error, %slot, "the slot is taken again by the next command");
        }
    }
    Ok(given)
}

#[cfg(test)]
mod tests;
