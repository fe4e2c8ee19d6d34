//! The patterns of a project, as a node tells them under its own protocol.

use sillok_core::Error;
use sillok_core::bank::{PatternQuery, PatternsFound};
use sillok_core::scope::Scope;
use sillok_store::Store;

use super::Node;
use crate::protocol::Protocol;

impl<S: Store, P: Protocol> Node<S, P> {
    /// The patterns that answer a question, as
    /// [`Reader::search_patterns`](crate::reads::Reader::search_patterns).
    ///
    /// # Errors
    /// As there.
    pub async fn search_patterns(
        &self,
        scope: &Scope,
        query: &PatternQuery,
    ) -> Result<PatternsFound, Error> {
        let protocol = self.inner.shared.protocol;
        let reader = self.reader();
        reader.search_patterns_under(protocol, scope, query).await
    }
}
