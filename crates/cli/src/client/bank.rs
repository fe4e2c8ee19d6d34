//! The read of the reasoning bank, as a typed call.
//!
//! Owns its path. Bodies are the server's own types.

use sillok_server::api::{PatternsFound, PatternsQuery};

use super::Client;
use crate::failure::Failure;

impl Client {
    /// The patterns that answer a question.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn search_patterns(&self, query: &PatternsQuery) -> Result<PatternsFound, Failure> {
        self.get("/v1/patterns/search", query).await
    }
}
