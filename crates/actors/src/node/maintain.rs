//! Maintenance that a node is asked for, and how far it is.

use sillok_core::Error;
use sillok_store::Store;

use super::Node;
use crate::maintenance::{self, Maintain, Maintained, Progress};
use crate::protocol::Protocol;

impl<S: Store, P: Protocol> Node<S, P> {
    /// Looks at all that is published, takes out of recall whose time is over, and offers what proved itself.
    ///
    /// # Errors
    /// `busy` while another run is under way in the cluster; `fenced` where this one lost the lease meanwhile; what the
    /// store, the index or the owner of a scope answered. What was done before stays done.
    pub async fn maintain(&self, asked: &Maintain) -> Result<Maintained, Error> {
        maintenance::by_hand(&self.inner.shared, &self.inner.router, asked).await
    }

    /// How far the run of maintenance is that is under way here, if one is.
    #[must_use]
    pub fn maintenance_progress(&self) -> Option<Progress> {
        self.inner.shared.maintenance.progress()
    }
}
