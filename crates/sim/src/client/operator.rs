//! What a client does as an operator of the cluster.
//!
//! Owns who is asked for it, and what that one's answer means. It must not know why it is done.

use sillok_core::ErrorCode;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;

use super::{Client, READ_TIMEOUT_US};
use crate::heap::Place;
use crate::net::{Reply, Request};

impl Client {
    /// The node that owns a scope, by its number; none if nobody ever did.
    #[must_use]
    pub fn owner_of(&self, scope: &Scope) -> Option<u16> {
        let shared = self.sim.lock();
        let owner = shared.monitor.owners.get(&Slot::of(scope))?;
        (0..self.nodes).find(|node| shared.monitor.name_of(Place(*node)) == owner.node)
    }

    /// A node that has not beaten for so long, in ms, though nobody has said that its run is over; none if there is none.
    #[must_use]
    pub fn silent(&self, for_ms: u64) -> Option<u16> {
        let shared = self.sim.lock();
        let is_silent = |node: &u16| {
            let silent_us = shared.monitor.silent_us(Place(*node), shared.now_us);
            silent_us.is_some_and(|silent_us| silent_us >= for_ms * 1_000)
        };
        (0..self.nodes).find(is_silent)
    }

    /// Has any node order the end of the run that a node is in, given by its number. It may not answer.
    pub async fn fence(&mut self, node: u16) {
        let asked = self.rng.index(usize::from(self.nodes));
        let place = Place(u16::try_from(asked).expect("a world has few nodes"));
        let name = self.sim.lock().monitor.name_of(Place(node));
        let request = Request::Fence(name, self.principal(PrincipalKind::Human, "*").actor);
        self.sim
            .call(Place::CLIENTS, place, request, READ_TIMEOUT_US)
            .await;
    }

    /// Has any node order that nothing is written to a scope, for a reason, or anything again. Whether it is
    /// known that the order is in force.
    pub async fn quarantine(&mut self, scope: &Scope, reason: Option<&str>) -> bool {
        let asked = self.rng.index(usize::from(self.nodes));
        let place = Place(u16::try_from(asked).expect("a world has few nodes"));
        let by = self.principal(PrincipalKind::Human, "*").actor;
        let request = Request::Quarantine(scope.clone(), reason.map(str::to_owned), by);
        let reply = self
            .sim
            .call(Place::CLIENTS, place, request, READ_TIMEOUT_US)
            .await;
        match reply {
            Some(Reply::Quarantined(Ok(()))) => true,
            // There is nothing to lift.
            Some(Reply::Quarantined(Err(error))) => error.code == ErrorCode::InvalidState,
            _ => false,
        }
    }
}
