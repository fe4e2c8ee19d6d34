//! The state of a cluster on the wire.

use serde::{Deserialize, Serialize};
use sillok_actors::Orders;
use sillok_actors::cluster_status::ClusterStatus;
use sillok_core::id::Incarnation;
use sillok_core::membership::health::Reason;
use sillok_core::membership::{FenceOrder, WireVersion};
use sillok_core::quarantine::QuarantineOrder;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use super::{Actor, schema};

/// What is asked of a cluster.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterQuery {
    /// Whether to list each slot too.
    pub slots: bool,
    /// Whether to list each order that an operator ever gave.
    pub orders: bool,
}

/// A cluster, as the node sees it that is asked.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ClusterView {
    /// The node that says so.
    pub node: String,
    /// Whether it has its store to itself.
    pub alone: bool,
    /// Whether nothing is wrong.
    pub healthy: bool,
    /// The version of what it writes to the other nodes now: the newest that all living ones read.
    #[serde(default = "first")]
    pub wire_version: u8,
    /// What is wrong.
    pub reasons: Vec<ReasonView>,
    /// All nodes that ever registered, by name.
    pub nodes: Vec<ClusterNode>,
    /// Slots that were ever owned.
    pub slots_used: u64,
    /// How many of them have a living owner.
    pub slots_owned: u64,
    /// Commits that a stream of all nodes was not told of, up to 100 of each slot. Absent where there are
    /// no such streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold: Option<u64>,
    /// What is quarantined, by scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quarantines: Vec<QuarantineView>,
    /// The slots, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<ClusterSlot>>,
    /// All orders that operators ever gave, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<OrdersView>,
}

/// All orders that operators of a cluster ever gave, each kind from the first one on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct OrdersView {
    /// Ends of runs.
    pub fences: Vec<FenceView>,
    /// Quarantines; one without a reason lifted what was quarantined.
    pub quarantines: Vec<QuarantineView>,
}

impl From<Orders> for OrdersView {
    fn from(orders: Orders) -> Self {
        let fences = orders.fences.into_iter();
        Self {
            fences: fences
                .map(|(node, run, order)| FenceView::of(&node, run, order))
                .collect(),
            quarantines: orders.quarantines.into_iter().map(Into::into).collect(),
        }
    }
}

/// Has nothing be written to a scope, and what lies inside it, or anything again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuarantineScope {
    /// The scope.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// Why, in one line of at most 1,000 bytes. Without one the quarantine is lifted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::QuarantineReason>)]
    pub reason: Option<String>,
}

/// An operator's order about what may be written to a scope.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct QuarantineView {
    /// The scope.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Why nothing may be written; absent where the order lifts the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who gave it.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

impl From<QuarantineOrder> for QuarantineView {
    fn from(order: QuarantineOrder) -> Self {
        let QuarantineOrder {
            scope,
            reason,
            by,
            at,
        } = order;
        Self {
            scope,
            reason,
            by: by.into(),
            at,
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReasonView {
    /// What, for programs: `nobody_lives`, `silent`, `off_bus`, `behind`, `owner_gone` or `untold`.
    pub reason: String,
    /// The node that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What, for people.
    pub message: String,
}

/// A node of a cluster.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ClusterNode {
    /// Its name.
    pub name: String,
    /// Its newest run; each start of the node is another one.
    pub incarnation: u64,
    /// Whether that run counts as living: it was not fenced, and has not ended.
    pub living: bool,
    /// Slots that this run owns.
    pub slots: u64,
    /// The newest version of what nodes tell one another that this run reads.
    #[serde(default = "first")]
    pub wire_version: u8,
    /// How long ago the node that is asked saw a new beat of it, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_ms: Option<u64>,
    /// The operator's order by which its newest run ends, or the one before it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<FenceView>,
}

/// What a server says that says nothing of versions.
const fn first() -> u8 {
    WireVersion::FIRST.get()
}

/// Ends the run of a node.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FenceNode {
    /// The node's name.
    pub node: String,
    /// The run that is to end: a request that comes late or twice does not end the one after it.
    #[schema(value_type = schema::Incarnation)]
    pub incarnation: u64,
}

/// An operator's order that a run of a node ends.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FenceView {
    /// The node's name.
    pub node: String,
    /// The run.
    pub incarnation: u64,
    /// Who gave it.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

impl FenceView {
    /// The wire form of an order.
    #[must_use]
    pub fn of(node: &str, run: Incarnation, order: FenceOrder) -> Self {
        Self {
            node: node.to_owned(),
            incarnation: run.0,
            by: order.by.into(),
            at: order.at,
        }
    }
}

/// A slot of a cluster.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ClusterSlot {
    /// Its number.
    pub slot: u16,
    /// The node that took it last.
    pub node: String,
    /// The run that took it.
    pub incarnation: u64,
    /// Raised by every change of owner.
    pub epoch: u64,
    /// Whether that run counts as living.
    pub owned: bool,
    /// Commits that a stream of all nodes was not told of, up to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold: Option<u64>,
}

impl ClusterView {
    /// The wire form of what a node sees.
    #[must_use]
    pub fn of(status: ClusterStatus, with_slots: bool, orders: Option<Orders>) -> Self {
        let ClusterStatus {
            node,
            is_alone,
            spoken,
            nodes,
            slots,
            quarantines,
            reasons,
        } = status;
        let untold = slots.iter().map(|slot| slot.untold).sum();
        let owned = slots.iter().filter(|slot| slot.is_owned).count();
        let shown = nodes.into_iter().map(|node| ClusterNode {
            fence: node
                .fence
                .map(|(run, order)| FenceView::of(&node.name, run, order)),
            name: node.name,
            incarnation: node.incarnation.0,
            living: node.is_living,
            slots: node.slots,
            wire_version: node.reads.get(),
            silent_ms: node.silent_ms,
        });
        let slots_used = slots.len() as u64;
        let of_slots = slots.into_iter().map(|slot| ClusterSlot {
            slot: slot.slot.number(),
            node: slot.node,
            incarnation: slot.incarnation.0,
            epoch: slot.epoch.0,
            owned: slot.is_owned,
            untold: slot.untold,
        });
        Self {
            node,
            alone: is_alone,
            healthy: reasons.is_empty(),
            wire_version: spoken.get(),
            reasons: reasons.iter().map(ReasonView::of).collect(),
            nodes: shown.collect(),
            slots_used,
            slots_owned: owned as u64,
            untold,
            quarantines: quarantines.into_iter().map(Into::into).collect(),
            slots: with_slots.then(|| of_slots.collect()),
            orders: orders.map(Into::into),
        }
    }
}

impl ReasonView {
    fn of(reason: &Reason) -> Self {
        let (name, node) = match reason {
            Reason::NobodyLives => ("nobody_lives", None),
            Reason::Silent { node, .. } => ("silent", Some(node)),
            Reason::OffBus { node } => ("off_bus", Some(node)),
            Reason::Behind { node } => ("behind", Some(node)),
            Reason::OwnerGone { node, .. } => ("owner_gone", Some(node)),
            Reason::Untold { .. } => ("untold", None),
        };
        Self {
            reason: name.to_owned(),
            node: node.cloned(),
            message: reason.to_string(),
        }
    }
}
