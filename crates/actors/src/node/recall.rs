//! Questions to a node, under its own protocol.

use sillok_core::Error;
use sillok_store::Store;

use super::Node;
use crate::protocol::Protocol;
use crate::reads::{RecallAnswer, RecallQuery};

impl<S: Store, P: Protocol> Node<S, P> {
    /// Answers a question, as [`Reader::recall`](crate::reads::Reader::recall).
    ///
    /// # Errors
    /// As there.
    pub async fn recall(&self, query: RecallQuery) -> Result<RecallAnswer, Error> {
        let protocol = self.inner.shared.protocol;
        self.reader().recall_under(protocol, query).await
    }
}
