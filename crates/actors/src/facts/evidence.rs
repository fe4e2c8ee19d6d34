//! Fetching evidence and anchors: whether evidence is there, in the scope and in those around it, and how anchors stand.
//!
//! Owns which of these reads are in conflict. What may be led to, `core` knows.

use sillok_core::facts::Need;
use sillok_core::id::EvidenceId;
use sillok_core::scope::Scope;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Txn};

use super::{Fetch, Unfetched, row};
use crate::protocol::Protocol;

impl<T: Txn, P: Protocol> Fetch<'_, T, P> {
    /// What there is of evidence, or of an anchor.
    pub(super) async fn of_evidence(&mut self, need: Need) -> Result<(), Unfetched> {
        let here = self.here;
        match need {
            Need::Evidence(id) => {
                let key = keys::evidence::key(&here, id);
                let found = row(self.txn, key, keys::evidence::decode).await?;
                self.state.learn_evidence(id, found.as_ref());
            }
            Need::EvidenceElsewhere(scope, id) => {
                let found = evidence_elsewhere(self.txn, &scope, id).await?;
                self.facts.evidence_elsewhere.insert((scope, id), found);
            }
            Need::Anchor(id) => {
                let key = keys::anchor::key(&here, id);
                let anchor = row(self.txn, key, keys::anchor::decode).await?;
                self.state.learn_anchor(id, anchor);
            }
            _ => unreachable!("only what is asked of evidence and anchors comes here"),
        }
        Ok(())
    }
}

/// Whether another scope has evidence that was not erased.
pub(crate) async fn evidence_elsewhere(
    txn: &mut impl Txn,
    scope: &Scope,
    id: EvidenceId,
) -> Result<bool, StoreError> {
    // In conflict: nothing begins to rest on evidence that its scope erases meanwhile.
    let key = keys::evidence::key(&ScopeKey::of(scope), id);
    let Some(value) = txn.get(&key, Read::Conflict).await? else {
        return Ok(false);
    };
    let evidence = keys::evidence::decode(&key, &value)?;
    Ok(!evidence.is_erased())
}
