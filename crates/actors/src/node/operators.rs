//! What operators see of a cluster, and order in it, through a node.
//!
//! Owns nothing: what an order does is the cluster's.

use sillok_core::Error;
use sillok_core::id::Incarnation;
use sillok_core::membership::FenceOrder;
use sillok_core::principal::Actor;
use sillok_core::quarantine::QuarantineOrder;
use sillok_core::scope::Scope;
use sillok_store::Store;

use super::Node;
use crate::claims::{self, Orders};
use crate::cluster;
use crate::cluster_status::{self, ClusterStatus};
use crate::errors::refusal;
use crate::protocol::Protocol;

impl<S: Store, P: Protocol> Node<S, P> {
    /// The cluster, as this node sees it.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn cluster(&self) -> Result<ClusterStatus, Error> {
        cluster_status::of(&self.inner.shared).await
    }

    /// All orders that operators of the cluster ever gave.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn orders(&self) -> Result<Orders, Error> {
        let orders = claims::orders(&self.inner.shared.store).await;
        orders.map_err(|error| refusal(&error))
    }

    /// Orders the end of a run of a node, this one or another, which it may still be beating in. Whoever
    /// orders it again is told of the first order.
    ///
    /// # Errors
    /// `not_found`, `invalid_state` where the run is over, or there are no others; what the store answers.
    pub async fn fence(&self, of: &str, run: Incarnation, by: Actor) -> Result<FenceOrder, Error> {
        cluster::fence(&self.inner.shared, of, run, by).await
    }

    /// Orders that nothing is written to a scope, and what lies inside it, for a reason; or, without one,
    /// that anything may be written again. What is under way may still be written before the order; nothing
    /// is behind it. An organisation's order covers its own scope only, since its projects lie elsewhere.
    ///
    /// # Errors
    /// `invalid_argument` for a bad reason, `invalid_state` where there is nothing to lift; what the store
    /// answers.
    pub async fn quarantine(
        &self,
        scope: Scope,
        reason: Option<String>,
        by: Actor,
    ) -> Result<QuarantineOrder, Error> {
        cluster::quarantine(&self.inner.shared, scope, reason, by).await
    }
}
