//! Rows of decisions, and of the kinds of relations that a scope declares.
//!
//! Owns which row each change of them lies in. What a decision does not say any more has no row.

use sillok_core::decision::{DecisionName, Edge, NamedEdge};
use sillok_core::state::Change;
use sillok_store::keys::decision_claim::{self, ClaimKey, Declared};
use sillok_store::keys::decision_listed::{self, DomainKey};
use sillok_store::keys::{self, ScopeKey};

use super::Row;

/// The row that a change of a decision, or a declaration, of this scope leads to.
pub(super) fn row_of(scope: &ScopeKey, change: &Change) -> Row {
    match change {
        Change::Decision(head) => Row::holding(
            keys::decision::key(scope, head.root),
            keys::decision::encode(head),
        ),
        Change::DecisionVersion(version) => Row::holding(
            keys::decision_version::key(scope, version.root, version.number),
            keys::decision_version::encode(version),
        ),
        Change::DecisionListed {
            rank,
            domain,
            begun,
            root,
            listed,
        } => Row {
            key: decision_listed::key(&decision_listed::Key {
                scope: *scope,
                rank: *rank,
                domain: DomainKey::of(domain),
                begun: *begun,
                root: *root,
            }),
            value: listed.then(|| decision_listed::encode(&None)),
        },
        Change::DecisionClaim {
            key,
            value,
            root,
            version,
        } => Row {
            key: decision_claim::key(scope, ClaimKey::of(key), *root),
            value: version.map(|version| decision_claim::encode(&Declared::of(version, value))),
        },
        Change::RelatedTo { edge, name } => related(edge, name.as_ref()),
        Change::RelationRenamed { edge, name } => related(edge, Some(name)),
        Change::RelationDeclared(declared) => Row::holding(
            keys::declared_relation::key(scope, declared.name),
            keys::declared_relation::encode(declared),
        ),
        _ => unreachable!("only changes of decisions come here"),
    }
}

/// The row of a relation of a decision that is called so; of one that ended, none.
fn related(edge: &Edge, name: Option<&DecisionName>) -> Row {
    let place = keys::related::Key::of(edge).expect("an edge begins at a decision");
    let value = name.map(|name| {
        let (edge, name) = (edge.clone(), Some(name.clone()));
        keys::related::encode(&NamedEdge { edge, name })
    });
    let key = keys::related::key(&place);
    Row { key, value }
}
