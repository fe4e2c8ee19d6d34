//! Where a slot is served: here, on another node, or nowhere yet.
//!
//! Owns what the router believes of other nodes' slots, and that a slot without a living owner is taken.

use std::sync::Arc;

use sillok_core::command::Submission;
use sillok_core::membership::{home, is_owner_living};
use sillok_core::ports::{Forwarded, PeerError, Peers};
use sillok_core::slot::Slot;
use sillok_core::trace::{SpanKind, TraceContext};
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use super::Router;
use super::tried::Tried;
use crate::claims;
use crate::cluster;
use crate::errors::refusal;
use crate::metrics::count;
use crate::protocol::Protocol;
use crate::spans::keys;

/// Where a slot is served.
pub(super) enum Place {
    Here,
    There(Elsewhere),
}

/// Another node that a command is for.
pub(super) struct Elsewhere {
    pub(super) node: String,
    /// Whether the slot's row says so, which was read just now, and that node's run is not over. It is no more than
    /// where the slot belongs, or was, otherwise.
    pub(super) is_owner: bool,
}

impl Elsewhere {
    const fn maybe(node: String) -> Self {
        let is_owner = false;
        Self { node, is_owner }
    }
}

/// Why it is not known where a slot is served.
pub(super) enum Lost {
    /// The store does not say who owns it.
    StoreGone(Error),
    /// It may be known soon.
    NotYet(Error),
    /// This node alone is cut off from the others, which serve it.
    CutOff(Error),
}

impl From<Error> for Lost {
    fn from(error: Error) -> Self {
        Self::NotYet(error)
    }
}

impl<S: Store, P: Protocol> Router<S, P> {
    /// Where a slot is served. A slot without a living owner is taken, if it belongs here or all
    /// nodes on which it belongs before are passed over, by what was `tried`. One that is being handed over takes no
    /// commands until it has fallen quiet and is another's, which is soon.
    pub(super) async fn locate(&self, slot: Slot, tried: &Tried) -> Result<Place, Lost> {
        let ownership = &self.shared.ownership;
        if ownership.is_leaving(slot) {
            count(&self.shared.counters.handover_waits, 1);
            let why = "the scope is being handed to another node";
            return Err(Error::new(ErrorCode::Unavailable, why).into());
        }
        if ownership.epoch(slot).is_some() {
            return Ok(Place::Here);
        }
        if let Some(node) = self.owners_elsewhere.lock().get(&slot) {
            return Ok(Place::There(Elsewhere::maybe(node.clone())));
        }
        let (owner, nodes) = claims::owner_of(&self.shared.store, slot)
            .await
            .map_err(|error| Lost::StoreGone(refusal(&error)))?;
        let living_owner = owner.filter(|owner| is_owner_living(owner, nodes.get(&owner.node)));
        let target = match living_owner {
            Some(owner) if ownership.is_ours(&owner) => None,
            Some(owner) => {
                let node = owner.node;
                self.expect_at(slot, &node);
                let is_owner = true;
                Some(Elsewhere { node, is_owner })
            }
            None => {
                let homes = self.shared.members.homes(ownership.node(), &nodes);
                let is_cut_off = self.shared.members.is_cut_off();
                let reachable = homes.into_iter().filter(|node| !tried.passes_over(node));
                let target = home(slot, reachable).filter(|node| *node != ownership.node());
                if target.is_none() && is_cut_off {
                    let why = "this node is cut off from the others, which reach one another: ask another node";
                    return Err(Lost::CutOff(Error::new(ErrorCode::Unavailable, why)));
                }
                target.map(|node| Elsewhere::maybe(node.to_owned()))
            }
        };
        match target {
            Some(elsewhere) => Ok(Place::There(elsewhere)),
            None if cluster::take_for_command(&self.shared, slot).await? => Ok(Place::Here),
            None => Err(cluster::run_over().into()),
        }
    }

    /// Whether this node owns a slot, or could take it because nobody living does.
    pub(super) async fn owns_or_takes(&self, slot: Slot) -> Result<bool, Error> {
        let ownership = &self.shared.ownership;
        if ownership.is_leaving(slot) {
            count(&self.shared.counters.handover_waits, 1);
            return Ok(false);
        }
        if ownership.epoch(slot).is_some() {
            return Ok(true);
        }
        if self.shared.is_alone() {
            return Ok(false);
        }
        Ok(cluster::take_for_command(&self.shared, slot).await? && ownership.epoch(slot).is_some())
    }

    /// Notes which node holds a slot now. A belief: that node may say otherwise.
    pub(crate) fn expect_at(&self, slot: Slot, node: &str) {
        self.owners_elsewhere.lock().insert(slot, node.to_owned());
    }
}

impl<S: Store, P: Protocol> Router<S, P> {
    /// Whether another node has certainly beaten since then: its last beat was seen so much later that it was made
    /// behind that moment.
    pub(super) fn has_beaten(&self, node: &str, since_ms: u64, now_ms: u64) -> bool {
        let silent_ms = self.shared.members.silent_ms(now_ms);
        let every_ms = self.shared.config.beat.every_ms;
        let since = now_ms.saturating_sub(since_ms);
        silent_ms
            .get(node)
            .is_some_and(|silent_ms| silent_ms + every_ms <= since)
    }

    /// Hands a command to the node that is believed to own its slot, in a form that all nodes read.
    pub(super) async fn forward(
        &self,
        peers: &dyn Peers,
        node: &str,
        submission: &Arc<Submission>,
        trace: Option<TraceContext>,
    ) -> Result<Forwarded, PeerError> {
        count(&self.shared.counters.forwarded, 1);
        let spans = &self.shared.spans;
        let mut span = spans.begin("forward", SpanKind::Client, trace);
        span.note(keys::TO, node);
        let submission = match submission.command.read_by(self.shared.spoken()) {
            Some(command) => Arc::new(Submission {
                command,
                ..(**submission).clone()
            }),
            None => Arc::clone(submission),
        };
        peers.forward(node, submission, span.or(trace)).await
    }
}
