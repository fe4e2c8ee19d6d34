//! Declared kinds of relations for the tests of the families, small ones and the largest that may be.

use sillok_core::chain::StoredEvent;
use sillok_core::decision::{
    DeclaredKind, DeclaredRelation, Edge, NewDecision, Node, Reach, Relation, RelationKind,
    RelationName,
};
use sillok_core::event::Body;
use sillok_core::id::{DecisionId, Seq};
use sillok_core::limits::{
    DECISION_TEXTS_BYTES_MAX, RELATION_NAME_BYTES_MAX, RELATIONS_MAX, SHORT_TEXT_BYTES_MAX,
};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;

use super::Parts;
use super::decisions::{largest as largest_text, longest_actor, sealed};

impl Parts {
    pub(in crate::keys) fn relation_name(&self) -> RelationName {
        let name = self.name.replace('-', "_");
        format!("R_{name}").parse().unwrap()
    }

    fn declared_kind(&self) -> DeclaredKind {
        DeclaredKind {
            name: self.relation_name(),
            reach: Reach::ALL[usize::from(self.id[6]) % Reach::ALL.len()],
        }
    }

    pub(in crate::keys) fn declared_relation(&self) -> DeclaredRelation {
        let DeclaredKind { name, reach } = self.declared_kind();
        DeclaredRelation {
            name,
            reach,
            meaning: self.text.clone(),
            by: self.actor(),
            at: self.time(),
            seq: self.seq(),
        }
    }

    /// That the decision is related to one of a wider scope by a kind that was declared.
    pub(in crate::keys) fn declared_edge(&self) -> Edge {
        let mut edge = self.edge();
        edge.kind = RelationKind::Declared(self.declared_kind());
        edge.to = Node::Decision {
            scope: self.scope().parent().unwrap(),
            root: self.root(),
        };
        edge
    }
}

/// A kind with a name and a meaning as long as they may be.
pub(in crate::keys) fn largest() -> DeclaredRelation {
    DeclaredRelation {
        name: "N".repeat(RELATION_NAME_BYTES_MAX).parse().unwrap(),
        reach: Reach::Neither,
        meaning: "m".repeat(SHORT_TEXT_BYTES_MAX),
        by: longest_actor(),
        at: Timestamp::from_ms(u64::MAX),
        seq: Seq::new(u64::MAX),
    }
}

/// The event that such a kind is declared by.
pub(in crate::keys) fn event_of(declared: &DeclaredRelation) -> StoredEvent {
    let body = Body::RelationDeclared {
        name: declared.name,
        reach: declared.reach,
        meaning: declared.meaning.clone(),
    };
    sealed(&body, &declared.by, declared.at)
}

/// A decision with as many relations of such a kind as it may have, and as much of the rest as fits.
pub(in crate::keys) fn largest_related() -> NewDecision {
    let mut text = largest_text(true);
    text.relations.clear();
    let scope = Scope::parse("org/o").unwrap();
    for number in 0..RELATIONS_MAX {
        let id = u8::try_from(number).unwrap();
        text.relations.push(Relation {
            kind: RelationKind::Declared(largest().kind()),
            to: Node::Decision {
                scope: scope.clone(),
                root: DecisionId::from_bytes([id; 16]),
            },
        });
    }
    assert!(text.text_bytes() <= DECISION_TEXTS_BYTES_MAX);
    text
}
