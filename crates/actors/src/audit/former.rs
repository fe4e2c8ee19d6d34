//! Rows in a former format: what this build would have written in their place.
//!
//! Owns which families have rows that stay in a former format until what they say changes, though this build writes more
//! into them. Events lead to rows as this build writes them, so that is what rows are compared with.

use bytes::Bytes;
use sillok_core::decision::{DecisionHead, NamedEdge, Node};
use sillok_core::id::DecisionId;
use sillok_store::keys::decision_claim::{self, ClaimKey, Declared};
use sillok_store::keys::{self, Family, ScopeKey, related};
use sillok_store::{Error as StoreError, Txn};

use crate::rows;

/// A row as this build would have written it: the row itself, but for one in a former format. What has to be known for that,
/// other rows say, which are compared as well.
pub(super) async fn as_written_now(
    txn: &mut impl Txn,
    key: &[u8],
    value: Bytes,
) -> Result<Bytes, StoreError> {
    let whole = match Family::of(key) {
        Some(Family::DecisionClaim) => claim(txn, key, &value).await?,
        Some(Family::Related) => relation(txn, key, &value).await?,
        _ => None,
    };
    Ok(whole.map_or(value, Bytes::from))
}

/// A claim that does not say its value, with it; none of any other row, and where no head says it.
async fn claim(
    txn: &mut impl Txn,
    key: &[u8],
    value: &[u8],
) -> Result<Option<Vec<u8>>, StoreError> {
    let (Ok(at), Ok(declared)) = (
        decision_claim::parse(key),
        decision_claim::decode(key, value),
    ) else {
        return Ok(None);
    };
    if declared.value.is_some() {
        return Ok(None);
    }
    let head = head(txn, &at.scope, at.root).await?;
    let claim = head.and_then(|head| head.claim);
    let claim = claim.filter(|claim| ClaimKey::of(&claim.key) == at.claim);
    Ok(claim.map(|claim| {
        let whole = Declared::of(declared.version, &claim.value);
        decision_claim::encode(&whole)
    }))
}

/// A relation that does not say what its decision is called, with that; none of any other row, and where no head says it.
async fn relation(
    txn: &mut impl Txn,
    key: &[u8],
    value: &[u8],
) -> Result<Option<Vec<u8>>, StoreError> {
    let Ok(NamedEdge { edge, name: None }) = related::decode(key, value) else {
        return Ok(None);
    };
    let Node::Decision { scope, root } = &edge.from else {
        return Ok(None);
    };
    let head = head(txn, &ScopeKey::of(scope), *root).await?;
    Ok(head.map(|head| {
        let name = Some(head.name());
        related::encode(&NamedEdge { edge, name })
    }))
}

/// The head of a decision. One that is damaged is found under its own key.
async fn head(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    root: DecisionId,
) -> Result<Option<DecisionHead>, StoreError> {
    let key = keys::decision::key(scope, root);
    match rows::read(txn, &key, keys::decision::decode).await {
        Err(StoreError::Corrupt { .. }) => Ok(None),
        head => head,
    }
}
