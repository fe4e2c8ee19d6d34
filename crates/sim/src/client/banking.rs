//! What a client asks about how agents went about tasks.

use super::Client;
use crate::net::{Reply, Request};
use crate::workload::banking::{Asked, Heard};

impl Client {
    /// What any node says about patterns, or warns of.
    pub(crate) async fn ask_the_bank(&mut self, asked: Asked) -> Option<Heard> {
        let from_us = self.now_us();
        let reply = self.ask(|_| Request::Bank(asked.clone())).await;
        let Reply::Bank(Ok(told)) = reply else {
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
