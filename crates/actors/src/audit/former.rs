//! Rows in a former format: what this build would have written in their place.
//!
//! Owns which families have rows that stay in a former format until what they say changes, though this build writes more
//! into them. Events lead to rows as this build writes them, so that is what rows are compared with.

use bytes::Bytes;
use sillok_core::decision::{NamedEdge, Node};
use sillok_store::keys::decision_claim::{self, ClaimKey, Declared};
use sillok_store::keys::{Family, decision_listed, related};

use super::fold::Fold;

/// A row as this build would have written it: the row itself, but for one in a former format. What has to be known for that,
/// the events of its scope say, and no other row: one that is damaged must not make this one differ.
pub(super) fn as_written_now(fold: &Fold, key: &[u8], value: Bytes) -> Bytes {
    let whole = match Family::of(key) {
        Some(Family::DecisionListed) => listed(key, &value),
        Some(Family::DecisionClaim) => claim(fold, key, &value),
        Some(Family::Related) => relation(fold, key, &value),
        _ => None,
    };
    whole.map_or(value, Bytes::from)
}

/// A place in a list that says the number of a version, without it; none of any other row.
fn listed(key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let number = decision_listed::decode(key, value).ok()?;
    number.map(|_| decision_listed::encode(&None))
}

/// A claim that does not say its value, with it; none of any other row, and where no decision says it.
fn claim(fold: &Fold, key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let at = decision_claim::parse(key).ok()?;
    let declared = decision_claim::decode(key, value).ok()?;
    if declared.value.is_some() {
        return None;
    }
    let claim = fold.state.decision(at.root)?.claim.as_ref()?;
    let is_its_own = ClaimKey::of(&claim.key) == at.claim;
    let whole = Declared::of(declared.version, &claim.value);
    is_its_own.then(|| decision_claim::encode(&whole))
}

/// A relation of a former format as it is written now, with what its decision is called where it does not say that; none of any
/// other row, of one that lies where it does not belong, and where there is no such decision.
fn relation(fold: &Fold, key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    if !related::is_former(value) {
        return None;
    }
    let NamedEdge { edge, name } = related::decode(key, value).ok()?;
    // Former rows say of which decision they are, and later ones leave that to their key.
    if related::Key::of(&edge) != related::parse(key).ok() {
        return None;
    }
    let Node::Decision { root, .. } = &edge.from else {
        return None;
    };
    let name = match name {
        Some(name) => name,
        None => fold.state.decision(*root)?.name(),
    };
    let name = Some(name);
    Some(related::encode(&NamedEdge { edge, name }))
}
