//! Decisions, anchors and declared kinds in a commit: what they were decided from that lies in other scopes, and how their rows
//! are written.
//!
//! Owns the planted bugs of writing them. What they may be related to, `core` knows.

use std::collections::BTreeMap;

use sillok_core::decision::{DecisionHead, DeclaredRelation, RelationName};
use sillok_core::facts::Facts;
use sillok_core::id::{DecisionId, EvidenceId};
use sillok_core::scope::Scope;
use sillok_core::state::Change;
use sillok_store::keys;
use sillok_store::{KeyRange, Store, Txn};

use super::decided::Decided;
use super::transaction::{begin, check_owner};
use super::{Failure, Shared};
use crate::facts::{decision_elsewhere, declared_elsewhere, evidence_elsewhere};
use crate::protocol::{Protocol, Safeguard};
use crate::rows::{self, Place};

/// What a batch was decided from that lies in other scopes.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Heads of decisions.
    decisions: BTreeMap<(Scope, DecisionId), Option<DecisionHead>>,
    /// Whether evidence is there.
    evidence: BTreeMap<(Scope, EvidenceId), bool>,
    /// What they have declared under names of relations.
    declared: BTreeMap<(Scope, RelationName), Option<DeclaredRelation>>,
}

impl Elsewhere {
    /// Takes over what a command was decided from.
    pub(super) fn take(&mut self, facts: &mut Facts) {
        self.decisions.append(&mut facts.decisions_elsewhere);
        self.evidence.append(&mut facts.evidence_elsewhere);
        self.declared.append(&mut facts.declared);
    }
}

/// Makes the commit conflict with any other write to the decisions and anchors that it changes, and with any other
/// declaration of the kinds that it declares.
pub(super) fn conflict_on_heads(txn: &mut impl Txn, place: &Place, changes: &[Change]) {
    for change in changes {
        let key = match change {
            Change::Decision(head) => keys::decision::key(&place.key, head.root),
            Change::Anchor(anchor) => keys::anchor::key(&place.key, anchor.id),
            Change::RelationDeclared(declared) => {
                keys::declared_relation::key(&place.key, declared.name)
            }
            _ => continue,
        };
        txn.conflict_on(&KeyRange::key(&key));
    }
}

/// After the chunks: the decisions and the evidence of other scopes that something leads to, and what those have declared,
/// must be what was decided from.
pub(super) async fn look_again(txn: &mut impl Txn, decided: &Decided) -> Result<(), Failure> {
    for ((scope, root), seen) in &decided.elsewhere.decisions {
        let head = decision_elsewhere(txn, scope, *root).await;
        if head.map_err(|error| Failure::of(&error))? != *seen {
            return Err(Failure::Again);
        }
    }
    for ((scope, id), seen) in &decided.elsewhere.evidence {
        let is_there = evidence_elsewhere(txn, scope, *id).await;
        if is_there.map_err(|error| Failure::of(&error))? != *seen {
            return Err(Failure::Again);
        }
    }
    for ((scope, name), seen) in &decided.elsewhere.declared {
        let declared = declared_elsewhere(txn, scope, *name).await;
        if declared.map_err(|error| Failure::of(&error))? != *seen {
            return Err(Failure::Again);
        }
    }
    Ok(())
}

/// Whether a change is written by the transaction that writes the events: each is, but for the bugs.
pub(super) fn is_written<P: Protocol>(protocol: P, change: &Change) -> bool {
    match change {
        Change::DecisionListed { listed: false, .. } => {
            protocol.keeps(Safeguard::EndsFormerListing)
        }
        Change::ApproachErased(_) => protocol.keeps(Safeguard::ErasesFailedApproaches),
        Change::TrajectoryErased(..) => protocol.keeps(Safeguard::ErasesTrajectories),
        Change::RelationRenamed { .. } if !protocol.keeps(Safeguard::RenamesRelations) => false,
        Change::RelatedTo { .. } | Change::RelationRenamed { .. } => {
            protocol.keeps(Safeguard::SavesRelationsWithDecision)
        }
        _ => true,
    }
}

/// Planted bug: relations are written before the decisions that declare them, by a transaction of their own.
pub(super) async fn relate_apart<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    place: &Place,
    changes: &[Change],
) -> Result<(), Failure> {
    if shared.protocol.keeps(Safeguard::SavesRelationsWithDecision) {
        return Ok(());
    }
    let is_relation = |change: &&Change| {
        matches!(
            change,
            Change::RelatedTo { .. } | Change::RelationRenamed { .. }
        )
    };
    let relations: Vec<&Change> = changes.iter().filter(is_relation).collect();
    if relations.is_empty() {
        return Ok(());
    }
    let mut txn = begin(shared).await?;
    check_owner(shared, &mut txn, place.slot).await?;
    for relation in relations {
        rows::write_change(&mut txn, place, relation);
    }
    txn.commit().await.map_err(|error| Failure::of(&error))?;
    Ok(())
}
