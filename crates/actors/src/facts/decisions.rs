//! Fetching decisions: heads of the scope and of those around it, and versions.
//!
//! Owns which of these reads are in conflict, and that the versions of its own batch are seen.

use sillok_core::chain::{Broken, StoredEvent};
use sillok_core::decision::{DecisionHead, DecisionVersion};
use sillok_core::event::{Body, EventKind};
use sillok_core::facts::Need;
use sillok_core::id::{DecisionId, Seq};
use sillok_core::scope::Scope;
use sillok_core::state::{Stamped, version_saved};
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Txn};

use super::{Fetch, Unfetched, broken, row};
use crate::protocol::Protocol;

impl<T: Txn, P: Protocol> Fetch<'_, T, P> {
    /// What there is of a decision.
    pub(super) async fn of_decision(&mut self, need: Need) -> Result<(), Unfetched> {
        let here = self.here;
        match need {
            Need::Decision(root) => {
                let key = keys::decision::key(&here, root);
                let head = row(self.txn, key, keys::decision::decode).await?;
                self.state.learn_decision(root, head);
            }
            Need::DecisionElsewhere(scope, root) => {
                let head = decision_elsewhere(self.txn, &scope, root).await?;
                self.facts.decisions_elsewhere.insert((scope, root), head);
            }
            Need::DecisionVersion(root, number) => {
                let version = match unstored_version(self.unstored, root, number).map_err(broken)? {
                    Some(version) => Some(version),
                    None => {
                        let key = keys::decision_version::key(&here, root, number);
                        row(self.txn, key, keys::decision_version::decode).await?
                    }
                };
                let versions = &mut self.facts.decision_versions;
                versions.insert((root, number), version);
            }
            _ => unreachable!("only what is asked of decisions comes here"),
        }
        Ok(())
    }
}

/// The version of a decision that a command before, of the same batch, leads to.
fn unstored_version(
    unstored: &[(Seq, StoredEvent)],
    root: DecisionId,
    number: u64,
) -> Result<Option<DecisionVersion>, Broken> {
    for (_, event) in unstored {
        let header = event.decode_header()?;
        if header.kind != EventKind::DecisionSaved {
            continue;
        }
        if let Some(Body::DecisionSaved(saved)) = event.decode_body()?
            && (saved.root, saved.number) == (root, number)
        {
            let at = Stamped {
                seq: header.seq,
                time: header.time,
                actor: header.actor,
            };
            return Ok(Some(version_saved(&saved, &at)));
        }
    }
    Ok(None)
}

/// A decision of another scope.
pub(crate) async fn decision_elsewhere(
    txn: &mut impl Txn,
    scope: &Scope,
    root: DecisionId,
) -> Result<Option<DecisionHead>, StoreError> {
    // In conflict: no relation begins to a decision that its scope withdraws meanwhile.
    let key = keys::decision::key(&ScopeKey::of(scope), root);
    let value = txn.get(&key, Read::Conflict).await?;
    value
        .map(|value| keys::decision::decode(&key, &value))
        .transpose()
}
