//! Repair: what an operator may have a cluster do.
//!
//! Owns who is told what of it, and that it is said in the log. What may be ordered is core's rule, and
//! the rows are [`crate::claims`]'s. It must not know who counts as an operator.

use std::sync::Arc;

use sillok_core::id::Incarnation;
use sillok_core::membership::FenceOrder;
use sillok_core::principal::Actor;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

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

#[cfg(test)]
mod tests;
