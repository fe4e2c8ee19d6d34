//! Fetching decisions: heads of the scope and of those around it, and versions.
//!
//! Owns which of these reads are in conflict, and that the versions of its own batch are seen.

use std::collections::BTreeMap;

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
use crate::row_stream::RowStream;

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
            Need::DecisionSeqs(root, numbers) => self.saved_by(root, numbers).await?,
            _ => unreachable!("only what is asked of decisions comes here"),
        }
        Ok(())
    }

    /// The events that saved versions of a decision. The stored ones are read as a range: there may be thousands.
    async fn saved_by(&mut self, root: DecisionId, numbers: Vec<u64>) -> Result<(), Unfetched> {
        let mut found = unstored_seqs(self.unstored, root).map_err(broken)?;
        let further = numbers.iter().copied();
        let stored: Vec<u64> = further
            .filter(|number| !found.contains_key(number))
            .collect();
        if let (Some(first), Some(last)) = (stored.iter().min(), stored.iter().max()) {
            let before = first.saturating_sub(1);
            let range = keys::decision_version::range_after(&self.here, root, Some(before));
            let mut rows = RowStream::new(range);
            while let Some((key, value)) = rows.next(self.txn).await? {
                let number = keys::decision_version::parse(&key)?.number;
                if number > *last {
                    break;
                }
                let version = keys::decision_version::decode(&key, &value)?;
                found.insert(number, version.seq);
            }
        }
        let known = numbers.into_iter();
        let known = known.map(|number| ((root, number), found.get(&number).copied()));
        self.facts.decision_seqs.extend(known);
        Ok(())
    }
}

/// The events of commands before, of the same batch, that lead to versions of a decision, by the numbers of these.
fn unstored_seqs(
    unstored: &[(Seq, StoredEvent)],
    root: DecisionId,
) -> Result<BTreeMap<u64, Seq>, Broken> {
    let mut found = BTreeMap::new();
    for (seq, event) in unstored {
        if event.decode_header()?.kind != EventKind::DecisionSaved {
            continue;
        }
        if let Some(Body::DecisionSaved(saved)) = event.decode_body()?
            && saved.root == root
        {
            found.insert(saved.number, *seq);
        }
    }
    Ok(found)
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
