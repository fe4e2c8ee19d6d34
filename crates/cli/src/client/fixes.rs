//! The routes of fixes, as typed calls.
//!
//! Owns their paths. Bodies are the server's own types.

use sillok_server::api::{CheckFix, FailedApproach, FixChecked, ListQuery, Page};

use super::Client;
use crate::failure::Failure;

impl Client {
    /// Whether an approach is one that failed before.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn check_fix(&self, request: &CheckFix) -> Result<FixChecked, Failure> {
        self.ask("/v1/fixes/check", request).await
    }

    /// One page of the approaches to a task that failed.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn failed_approaches(
        &self,
        query: &ListQuery,
    ) -> Result<Page<FailedApproach>, Failure> {
        self.get("/v1/fixes/failed", query).await
    }
}
