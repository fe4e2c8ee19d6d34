//! The family of declared kinds of relations, and the rows of relations that use one: what their ranges hold, in which
//! order, and that the largest values fit.

use proptest::prelude::*;
use sillok_core::decision::{Edge, NamedEdge, Node, RelationKind};
use sillok_core::limits::RELATION_NAME_BYTES_MAX;

use super::{assert_corrupt, compare_golden};
use crate::keys::samples::{decisions, declared, golden, parts};
use crate::keys::{self, Family, declared_relation, related};
use crate::limits::VALUE_BYTES_MAX;

proptest! {
    #[test]
    fn what_a_scope_declared_lies_in_the_order_of_the_names(a in parts(), b in parts()) {
        let (scope, other) = (a.scope_key(), b.scope_key());
        let (one, two) = (a.relation_name(), b.relation_name());
        let all = declared_relation::range_of_scope(&scope);
        let key = declared_relation::key(&scope, two);
        prop_assert!(all.contains(&key));
        prop_assert_eq!(all.contains(&declared_relation::key(&other, one)), scope == other);
        let behind = declared_relation::range_after(&scope, Some(one));
        prop_assert_eq!(behind.contains(&key), two > one);
        prop_assert_eq!(key > declared_relation::key(&scope, one), two > one);
        prop_assert_eq!(declared_relation::range_after(&scope, None), all);
    }

    #[test]
    fn a_relation_of_a_declared_kind_lies_where_its_edge_says(p in parts()) {
        let edge = p.declared_edge();
        let place = related::Key::of(&edge).unwrap();
        let key = related::key(&place);
        prop_assert_eq!(related::parse(&key).unwrap(), place);
        prop_assert!(related::range_from(&edge.to, &p.scope()).contains(&key));
        let own = Node::Decision { scope: p.scope(), root: p.root() };
        prop_assert!(!related::range_from(&own, &p.scope()).contains(&key));
        let named = NamedEdge { edge, name: p.named_edge().name };
        let value = related::encode(&named);
        prop_assert_eq!(related::decode(&key, &value).unwrap(), named);
    }

    #[test]
    fn two_kinds_between_the_same_decisions_have_a_row_each(a in parts(), b in parts()) {
        let edge = a.declared_edge();
        let mut other = edge.clone();
        other.kind = b.declared_edge().kind;
        let key = |edge: &Edge| related::key(&related::Key::of(edge).unwrap());
        let same = a.relation_name() == b.relation_name();
        prop_assert_eq!(key(&edge) == key(&other), same);
        for kind in RelationKind::BUILT_IN {
            other.kind = kind;
            prop_assert_ne!(key(&edge), key(&other));
        }
    }
}

/// A key, with what stands for its name replaced.
fn named(key: &[u8], name: &str, instead: &[u8]) -> Vec<u8> {
    let mut key = key.strip_suffix(name.as_bytes()).unwrap().to_vec();
    key.extend_from_slice(instead);
    key
}

#[test]
fn a_name_that_is_none_or_is_written_otherwise_is_corrupt() {
    let p = golden();
    let name = p.relation_name();
    let declared = declared_relation::key(&p.scope_key(), name);
    let relation = related::key(&related::Key::of(&p.declared_edge()).unwrap());
    let long = "N".repeat(RELATION_NAME_BYTES_MAX + 1);
    let odd: [&[u8]; 6] = [
        b"",
        b"causes",
        b"_CAUSES",
        b"CAUSES\0",
        b"\xff",
        long.as_bytes(),
    ];
    for odd in odd {
        let key = named(&declared, name.as_str(), odd);
        assert_corrupt(
            Family::DeclaredRelation,
            &key,
            declared_relation::parse(&key),
        );
        let key = named(&relation, name.as_str(), odd);
        assert_corrupt(Family::Related, &key, related::parse(&key));
    }
}

#[test]
fn the_stored_form_of_a_relation_of_a_declared_kind_never_changes() {
    let edge = golden().declared_edge();
    let key = related::key(&related::Key::of(&edge).unwrap());
    compare_golden("related_declared.txt", &key, &related::encode(&edge.into()));
}

#[test]
fn the_largest_kind_and_the_decision_that_uses_most_of_them_fit_one_value_each() {
    let largest = declared::largest();
    let text = declared::largest_related();
    let version = decisions::largest_version(text.clone());
    for (what, value) in [
        ("kind", declared_relation::encode(&largest)),
        (
            "its event",
            keys::event::encode(&declared::event_of(&largest)),
        ),
        ("head", keys::decision::encode(&decisions::head_of(text))),
        ("version", keys::decision_version::encode(&version)),
        (
            "its event",
            keys::event::encode(&decisions::largest_event(&version)),
        ),
    ] {
        assert!(value.len() <= VALUE_BYTES_MAX, "{what}: {}", value.len());
    }
}
