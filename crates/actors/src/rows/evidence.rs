//! Rows of evidence and anchors.
//!
//! Owns which row each change of them lies in. An anchor that was dropped is listed no more.

use sillok_core::state::Change;
use sillok_store::keys::anchor_listed;
use sillok_store::keys::decision_listed::DomainKey;
use sillok_store::keys::{self, ScopeKey};

use super::Row;

/// The row that a change of evidence or of an anchor of this scope leads to.
pub(super) fn row_of(scope: &ScopeKey, change: &Change) -> Row {
    match change {
        Change::Evidence(evidence) => Row::holding(
            keys::evidence::key(scope, evidence.id),
            keys::evidence::encode(evidence),
        ),
        Change::Anchor(anchor) => Row::holding(
            keys::anchor::key(scope, anchor.id),
            keys::anchor::encode(anchor),
        ),
        Change::AnchorListed {
            domain,
            seq,
            anchor,
            listed,
        } => Row {
            key: anchor_listed::key(&anchor_listed::Key {
                scope: *scope,
                domain: DomainKey::of(domain),
                added: *seq,
                anchor: *anchor,
            }),
            value: listed.then(|| anchor_listed::encode(&())),
        },
        _ => unreachable!("only changes of evidence and anchors come here"),
    }
}
