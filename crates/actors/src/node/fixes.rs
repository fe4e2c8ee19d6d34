//! Whether an approach failed before, as a node says under its own protocol.

use sillok_core::Error;
use sillok_core::circular::Approach;
use sillok_core::scope::Scope;
use sillok_store::Store;

use super::Node;
use crate::protocol::Protocol;
use crate::reads::FixChecked;

impl<S: Store, P: Protocol> Node<S, P> {
    /// What follows from an approach to a task, as [`Reader::check_fix`](crate::reads::Reader::check_fix).
    ///
    /// # Errors
    /// As there.
    pub async fn check_fix(&self, task: &Scope, proposed: &Approach) -> Result<FixChecked, Error> {
        let protocol = self.inner.shared.protocol;
        let reader = self.reader();
        reader.check_fix_under(protocol, task, proposed).await
    }
}
