//! What a client asks about fixes.

use super::Client;
use crate::net::{Reply, Request};
use crate::workload::fixing::{Asked, Heard};

impl Client {
    /// What any node says about fixes that failed.
    pub(crate) async fn ask_about_fixes(&mut self, asked: Asked) -> Option<Heard> {
        let from_us = self.now_us();
        let reply = self.ask(|_| Request::Fixes(asked.clone())).await;
        let Reply::Fixes(Ok(told)) = reply else {
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
