//! Questions to a node, under its own protocol, and the vectors of what is written to it.

use sillok_core::entry::Embedding;
use sillok_core::ports::Lost;
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use super::Node;
use crate::protocol::Protocol;
use crate::reads::{RecallAnswer, RecallQuery};
use crate::spaces::{ChangeStatus, embed_one};

impl<S: Store, P: Protocol> Node<S, P> {
    /// Answers a question, as [`Reader::recall`](crate::reads::Reader::recall).
    ///
    /// # Errors
    /// As there.
    pub async fn recall(&self, query: RecallQuery) -> Result<RecallAnswer, Error> {
        let protocol = self.inner.shared.protocol;
        self.reader().recall_under(protocol, query).await
    }

    /// The vector of a text that is to be compared with what is stored; none where the embedder refuses this very text.
    ///
    /// # Errors
    /// `unavailable` where the embedder is away or takes no text at all: nothing would be found to be close.
    pub async fn vector_to_compare(&self, text: &str) -> Result<Option<Embedding>, Error> {
        let embedder = &*self.ports().embedder;
        let vector = embed_one(embedder, &embedder.space(), text).await;
        vector.map_err(|error| {
            let why = format!("what is close to the text is not known without its vector: {error}");
            Error::new(ErrorCode::Unavailable, why)
        })
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
