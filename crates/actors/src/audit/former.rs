//! Rows in a former format: what this build would have written in their place.
//!
//! Owns which families have rows that stay in a former format until what they say changes, though this build writes more
//! into them. Events lead to rows as this build writes them, so that is what rows are compared with.

use bytes::Bytes;
use sillok_store::keys::decision_claim::{self, ClaimKey, Declared};
use sillok_store::keys::{self, Family};
use sillok_store::{Error as StoreError, Txn};

use crate::rows;

/// A row as this build would have written it: the row itself, but for one in a former format. What has to be known for that,
/// other rows say, which are compared as well.
pub(super) async fn as_written_now(
    txn: &mut impl Txn,
    key: &[u8],
    value: Bytes,
) -> Result<Bytes, StoreError> {
    if Family::of(key) != Some(Family::DecisionClaim) {
        return Ok(value);
    }
    let (Ok(at), Ok(declared)) = (
        decision_claim::parse(key),
        decision_claim::decode(key, &value),
    ) else {
        return Ok(value);
    };
    if declared.value.is_some() {
        return Ok(value);
    }
    let head = keys::decision::key(&at.scope, at.root);
    let head = match rows::read(txn, &head, keys::decision::decode).await {
        // What is damaged is found under its own key.
        Err(StoreError::Corrupt { .. }) => None,
        head => head?,
    };
    let claim = head.and_then(|head| head.claim);
    let claim = claim.filter(|claim| ClaimKey::of(&claim.key) == at.claim);
    Ok(claim.map_or(value, |claim| {
        let whole = Declared::of(declared.version, &claim.value);
        decision_claim::encode(&whole).into()
    }))
}
