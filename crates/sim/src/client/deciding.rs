//! What a client asks about decisions.

use super::Client;
use crate::net::{Reply, Request};
use crate::workload::deciding::{Asked, Heard};

impl Client {
    /// The time of the world, in µs.
    pub(crate) fn now_us(&self) -> u64 {
        self.sim.lock().now_us
    }

    /// What any node says about decisions.
    pub(crate) async fn ask_about(&mut self, asked: Asked) -> Option<Heard> {
        let from_us = self.now_us();
        let reply = self.ask(|_| Request::Decisions(asked.clone())).await;
        let Reply::Decisions(Ok(told)) = reply else {
            return None;
        };
        Some(Heard {
            asked,
            told,
            from_us,
            to_us: self.now_us(),
        })
    }
}
