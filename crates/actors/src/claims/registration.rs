//! Registration: the row by which a node begins a run.
//!
//! Owns the bound on how many names of nodes a cluster has. Rows stay when their nodes are gone, and each beat
//! reads all of them.

use sillok_core::id::Incarnation;
use sillok_core::membership::{NodeRow, WireVersion};
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, Family};
use sillok_store::{Error as StoreError, RangeOptions, Read, Store, Txn};

use super::{node_row, retried};

/// Names of nodes that a cluster may ever have registered.
pub(crate) const NODES_MAX: usize = 4_096;
/// Rows of nodes that are read. The names are not counted in conflict, since each beat writes a row of them:
/// so many nodes may register at once over the bound, and are seen all the same.
pub(super) const NODES_READ_MAX: usize = NODES_MAX + 128;

/// Begins a new run of `node`, which reads up to this version. The commit comes after everything that earlier
/// runs wrote. None, and nothing is written, where the name is new and there are as many as there may be: a
/// node that others do not see would be nobody's to fence.
///
/// # Errors
/// What the store answered; after `OutcomeUnknown`, another call begins a further run.
pub(crate) async fn register<S: Store>(
    store: &S,
    node: &str,
    reads: WireVersion,
) -> Result<Option<(Incarnation, Stamp)>, StoreError> {
    retried(|| async {
        let mut txn = store.begin().await?;
        let before = node_row(&mut txn, node, Read::Conflict).await?;
        if before.is_none() && is_full(&mut txn).await? {
            return Ok(None);
        }
        let incarnation = Incarnation(before.map_or(1, |row| row.incarnation.0 + 1));
        let row = NodeRow {
            incarnation,
            beat: 0,
            fenced: false,
            reaches_bus: true,
            is_behind: false,
            reads,
        };
        txn.set(keys::node::key(node), keys::node::encode(&row));
        let committed = txn.commit().await?;
        Ok(Some((incarnation, committed.stamp)))
    })
    .await
}

/// Whether as many names are registered as there may be.
async fn is_full(txn: &mut impl Txn) -> Result<bool, StoreError> {
    let options = RangeOptions::first(NODES_MAX, Read::Snapshot);
    let rows = txn.range(&Family::Node.range(), options).await?;
    Ok(rows.len() == NODES_MAX)
}
