//! The audit of a scope's decisions: each is one chain of versions, of which at most the newest is active.
//!
//! Owns which rows make up a chain. Each event was checked when it was folded, and each row when it was compared with the
//! fold; this asks once more of the outcome, so that a defect of the fold itself is no silent one. It holds one
//! version at a time.

use bytes::Bytes;
use sillok_core::invariants::{DecisionChain, Violation};
use sillok_store::Txn;
use sillok_store::keys::{self, Family};

use super::Stop;
use super::fold::{Fold, reason};
use crate::row_stream::RowStream;
use crate::rows::Place;

/// Checks the chain of every decision of a scope.
pub(super) async fn check_chains(
    txn: &mut impl Txn,
    place: &Place,
    fold: &Fold,
) -> Result<(), Stop> {
    let mut heads = RowStream::new(keys::decision::range_of_scope(&place.key));
    while let Some((key, value)) = heads.next(txn).await? {
        check_chain(txn, place, fold, &key, &value).await?;
    }
    Ok(())
}

async fn check_chain(
    txn: &mut impl Txn,
    place: &Place,
    fold: &Fold,
    key: &[u8],
    value: &Bytes,
) -> Result<(), Stop> {
    let seq = fold.rows.get(key).map(|row| row.seq);
    let seq = seq.unwrap_or(fold.row().tip.seq);
    let at = |what: String| Stop::at(place, seq, Family::Decision, key, what);
    let head = keys::decision::decode(key, value).map_err(|error| at(reason(error)))?;
    let range = keys::decision_version::range_after(&place.key, head.root, None);
    let mut rows = RowStream::new(range);
    let violated = |violation: Violation| at(violation.to_string()).of(violation.invariant);
    let mut chain = DecisionChain::new(&head);
    while let Some((key, value)) = rows.next(txn).await? {
        let version = keys::decision_version::decode(&key, &value);
        let version = version.map_err(|error| at(reason(error)))?;
        chain.version(&version).map_err(violated)?;
    }
    chain.finish().map_err(violated)
}
