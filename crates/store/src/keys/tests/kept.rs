//! The families of evidence and anchors: what their ranges hold, in which order, and that the largest values fit.

use proptest::prelude::*;
use sillok_core::decision::{NamedEdge, Node, RelationKind};

use crate::keys::samples::{evidence, golden, parts};
use crate::keys::{self, related};
use crate::limits::VALUE_BYTES_MAX;

proptest! {
    #[test]
    fn ranges_of_evidence_and_anchors_hold_their_own_rows_and_no_others(a in parts(), b in parts()) {
        let (scope, other) = (a.scope_key(), b.scope_key());
        let same = scope == other;
        let evidence = keys::evidence::range_of_scope(&scope);
        prop_assert!(evidence.contains(&keys::evidence::key(&scope, b.evidence_id())));
        prop_assert_eq!(evidence.contains(&keys::evidence::key(&other, a.evidence_id())), same);
        let behind = keys::evidence::range_after(&scope, Some(a.evidence_id()));
        let key = keys::evidence::key(&scope, b.evidence_id());
        prop_assert_eq!(behind.contains(&key), b.evidence_id() > a.evidence_id());
        prop_assert_eq!(keys::evidence::range_after(&scope, None), evidence);

        let anchors = keys::anchor::range_of_scope(&scope);
        prop_assert!(anchors.contains(&keys::anchor::key(&scope, b.anchor_id())));
        prop_assert_eq!(anchors.contains(&keys::anchor::key(&other, a.anchor_id())), same);
        let behind = keys::anchor::range_after(&scope, Some(a.anchor_id()));
        let key = keys::anchor::key(&scope, b.anchor_id());
        prop_assert_eq!(behind.contains(&key), b.anchor_id() > a.anchor_id());
        prop_assert_eq!(keys::anchor::range_after(&scope, None), anchors);
    }

    #[test]
    fn a_listing_of_anchors_holds_one_domain_in_the_order_of_additions(a in parts(), b in parts()) {
        let (place, mut other) = (a.anchor_place(), b.anchor_place());
        let all = keys::anchor_listed::range_after(&place.scope, place.domain, None);
        prop_assert!(all.contains(&keys::anchor_listed::key(&place)));
        let foreign = keys::anchor_listed::key(&other);
        let listed = (other.scope, other.domain) == (place.scope, place.domain);
        prop_assert_eq!(all.contains(&foreign), listed);

        other.scope = place.scope;
        other.domain = place.domain;
        let key = keys::anchor_listed::key(&other);
        let last = Some((place.added, place.anchor));
        let behind = keys::anchor_listed::range_after(&place.scope, place.domain, last);
        let is_behind = (other.added, other.anchor) > (place.added, place.anchor);
        prop_assert_eq!(behind.contains(&key), is_behind);
        prop_assert_eq!(key > keys::anchor_listed::key(&place), is_behind);
    }

    #[test]
    fn what_rests_on_evidence_lies_under_it(p in parts()) {
        let edge = p.rests();
        let place = related::Key::of(&edge).unwrap();
        let key = related::key(&place);
        prop_assert_eq!(related::parse(&key).unwrap(), place);
        prop_assert_eq!(place.kind, related::KindKey::of(RelationKind::RestsOn));
        prop_assert_eq!(place.to, related::NodeKey::of(&edge.to));
        prop_assert!(related::range_from(&edge.to, &p.scope()).contains(&key));
        let decision = Node::Decision { scope: p.scope(), root: p.root() };
        prop_assert!(!related::range_from(&decision, &p.scope()).contains(&key));
        let named = NamedEdge { edge, name: p.named_edge().name };
        let value = related::encode(&named);
        prop_assert_eq!(related::decode(&key, &value).unwrap(), named);
    }
}

#[test]
fn the_kind_of_a_relation_to_evidence_never_changes_its_ordinal() {
    let place = related::Key::of(&golden().rests()).unwrap();
    assert_eq!(related::key(&place).last(), Some(&4));
}

#[test]
fn the_largest_evidence_and_the_largest_anchor_and_their_events_fit_one_value_each() {
    let largest = evidence::largest();
    let anchor = evidence::largest_anchor();
    for (what, value) in [
        ("evidence", keys::evidence::encode(&largest)),
        (
            "its event",
            keys::event::encode(&evidence::event_of(&largest)),
        ),
        ("anchor", keys::anchor::encode(&anchor)),
        (
            "its event",
            keys::event::encode(&evidence::event_of_anchor(&anchor)),
        ),
    ] {
        assert!(value.len() <= VALUE_BYTES_MAX, "{what}: {}", value.len());
    }
}
