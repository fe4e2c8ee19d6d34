//! Bursts: many clients that give commands in one scope at the same moment, so that its mailbox is
//! full.
//!
//! Owns those clients. Their commands are in the history, and the world waits for their answers, as
//! for all others.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sillok_actors::protocol::Protocol;
use sillok_core::command::Command;
use sillok_core::principal::PrincipalKind;

use super::World;
use crate::client::Client;
use crate::heap::Place;
use crate::ports::SimClock;
use crate::rng::Stream;
use crate::workload::material::{observation, project, text_of_burst};

/// The number of the first client of the first burst: behind those of all agents.
const FIRST_CLIENT: usize = 1_000;
/// The project whose mailbox is filled: one that agents write to as well.
const PROJECT: u8 = 0;

impl<P: Protocol> World<P> {
    /// Begins the burst of a fault.
    pub(crate) fn burst(&mut self, fault: usize, commands: u16) {
        for number in 0..commands {
            let client = (fault + 1) * FIRST_CLIENT + usize::from(number);
            let rng = Stream::new(self.plan.seed, "burst", client as u64);
            let mut client = self.client(client, rng);
            let done = Arc::clone(&self.agents_done);
            self.agents += 1;
            self.clients.spawn(async move {
                let text = u8::try_from(number % 16).expect("a small number");
                let put = Command::PutEntry {
                    entry: Box::new(observation(&text_of_burst(fault, text))),
                    verification: None,
                };
                let principal = client.principal(PrincipalKind::Human, "org/sim");
                // How it ended is in the history.
                let _ = client.give(principal, &project(PROJECT), put).await;
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        self.settle_clients();
    }

    /// A client of this world.
    pub(crate) fn client(&self, number: usize, rng: Stream) -> Client {
        Client {
            sim: self.sim.clone(),
            clock: SimClock {
                sim: self.sim.clone(),
                place: Place::CLIENTS,
            },
            recorder: self.recorder.clone(),
            nodes: self.plan.profile.nodes,
            number,
            rng,
        }
    }
}
