//! What a client asks of what was published.

use sillok_core::scope::Scope;
use sillok_core::validity::AsOf;

use super::Client;
use crate::net::{Reply, Request};
use crate::workload::branches::Seen;

impl Client {
    /// What holds at a commit in a scope and those above it, as any node says, and how many entries it found that
    /// had ended there.
    pub(crate) async fn recall_at(
        &mut self,
        scope: &Scope,
        commit: &str,
    ) -> Option<(Vec<Seen>, u64)> {
        let as_of = AsOf::checked(commit, []).expect("the workload names commits");
        let request = |_| Request::Recall(scope.clone(), as_of.clone());
        match self.ask(request).await {
            Reply::Recalled(Ok(told)) => Some(told),
            _ => None,
        }
    }
}
