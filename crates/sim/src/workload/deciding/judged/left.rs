//! What must hold of proposals once all has come to rest: nothing of them is there.
//!
//! Owns the search for what was only proposed, in every row of the store.

use bytes::Bytes;
use sillok_store::keys::Family;

use super::super::saving::ONLY_PROPOSED;
use crate::workload::End;

/// All rows of the store.
pub(super) fn rows(end: &End<'_>) -> impl Iterator<Item = (Family, Bytes)> {
    Family::ALL.iter().flat_map(|family| {
        let rows = end.rows(*family).into_iter();
        rows.map(|(_, value)| (*family, value))
    })
}

/// A row that holds what was only proposed, if there is one.
pub(super) fn behind(mut rows: impl Iterator<Item = (Family, Bytes)>) -> Option<String> {
    let sought = ONLY_PROPOSED.as_bytes();
    let holds_it = |value: &Bytes| value.windows(sought.len()).any(|part| part == sought);
    let (family, value) = rows.find(|(_, value)| holds_it(value))?;
    let bytes = value.len();
    Some(format!(
        "a row of {family:?}, of {bytes} bytes, says what was only proposed"
    ))
}

#[cfg(test)]
mod tests {
    use sillok_core::decision::{Act, DecisionVersion, Rank};
    use sillok_core::id::Seq;
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::time::Timestamp;
    use sillok_store::keys::decision_version;

    use super::super::super::saving::{decided, proposed};
    use super::super::super::view::tests::{root, text};
    use super::*;

    /// A version that says this, as it is stored.
    fn stored(content: &str) -> Bytes {
        let version = DecisionVersion {
            root: root(1),
            number: 1,
            act: Act::Begun,
            text: Some(text(Rank::Lock, "ui", content)),
            reason: String::new(),
            by: Actor {
                kind: PrincipalKind::Human,
                id: PrincipalId::parse("p").unwrap(),
            },
            at: Timestamp::EPOCH,
            seq: Seq::new(1),
        };
        decision_version::encode(&version).into()
    }

    #[test]
    fn a_row_with_what_was_only_proposed_is_found_and_one_of_a_decision_is_let_pass() {
        let is_wrong = |contents: &[String]| {
            let rows = contents
                .iter()
                .map(|content| (Family::DecisionVersion, stored(content)));
            behind(rows).is_some()
        };
        assert!(!is_wrong(&[]));
        assert!(!is_wrong(&[decided(1, 2), decided(2, 2)]));
        assert!(is_wrong(&[decided(1, 2), proposed(3, 2)]));
    }
}
