//! Questions to a node, under its own protocol.

use sillok_core::Error;
use sillok_core::ports::Lost;
use sillok_store::Store;

use super::Node;
use crate::protocol::Protocol;
use crate::reads::{RecallAnswer, RecallQuery};
use crate::spaces::ChangeStatus;

impl<S: Store, P: Protocol> Node<S, P> {
    /// Answers a question, as [`Reader::recall`](crate::reads::Reader::recall).
    ///
    /// # Errors
    /// As there.
    pub async fn recall(&self, query: RecallQuery) -> Result<RecallAnswer, Error> {
        let protocol = self.inner.shared.protocol;
        self.reader().recall_under(protocol, query).await
    }

    /// What the index lost to damage, and was not told again: nothing is decided by what it lacks.
    #[must_use]
    pub fn index_lacks(&self) -> Lost {
        self.inner.shared.spaces.lacking()
    }

    /// The change of the embedder that is under way, or has come to its end since the node started.
    pub async fn embedder_change(&self) -> Option<ChangeStatus> {
        self.inner.shared.spaces.status().await
    }
}
