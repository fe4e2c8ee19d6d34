//! Decisions for the tests of the families, small ones and the largest that may be.

use sillok_core::chain::{self, Origin, StoredEvent, Tip};
use sillok_core::decision::{
    Act, DecisionHead, DecisionName, DecisionVersion, Domain, Edge, NamedEdge, NewDecision, Node,
    Phase, Rank, Relation, RelationKind,
};
use sillok_core::entry::Claim;
use sillok_core::event::{Body, DecisionSaved};
use sillok_core::id::{CommandId, DecisionId, Epoch, Seq};
use sillok_core::limits::{
    DECISION_BYTES_MAX, DECISION_TEXTS_BYTES_MAX, DOMAIN_BYTES_MAX, PLACE_BYTES_MAX,
    PRINCIPAL_ID_CHARS_MAX, RELATIONS_MAX, SEGMENT_CHARS_MAX, SHORT_TEXT_BYTES_MAX,
};
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;

use super::Parts;
use crate::keys::{decision_claim, decision_listed, related};

impl Parts {
    pub(in crate::keys) fn root(&self) -> DecisionId {
        DecisionId::from_bytes(self.id)
    }

    pub(in crate::keys) fn rank(&self) -> Rank {
        Rank::ALL[usize::from(self.id[3]) % Rank::ALL.len()]
    }

    pub(in crate::keys) fn domain(&self) -> Domain {
        if self.flag {
            self.name.to_lowercase().parse().unwrap()
        } else {
            Domain::global()
        }
    }

    fn phase(&self) -> Option<Phase> {
        self.when(self.name.to_lowercase().parse().unwrap())
    }

    fn relations(&self) -> Vec<Relation> {
        let decision = Node::Decision {
            scope: self.scope().parent().unwrap(),
            root: DecisionId::from_bytes(self.id),
        };
        let file = format!("src/{}.rs", self.name);
        let symbol = Node::symbol(&self.name, self.when(file.as_str())).unwrap();
        let relation = |kind, to| Relation { kind, to };
        vec![
            relation(RelationKind::DependsOn, decision.clone()),
            relation(RelationKind::Constrains, decision.clone()),
            relation(RelationKind::Validates, decision),
            relation(RelationKind::AppliesTo, symbol),
            relation(RelationKind::AppliesTo, Node::file(&file).unwrap()),
        ]
    }

    pub(in crate::keys) fn edge(&self) -> Edge {
        let relations = self.relations();
        let relation = &relations[usize::from(self.id[4]) % relations.len()];
        relation.edge_from(Node::Decision {
            scope: self.scope(),
            root: self.root(),
        })
    }

    /// The edge in its row, with what its decision is called.
    pub(in crate::keys) fn named_edge(&self) -> NamedEdge {
        NamedEdge {
            edge: self.edge(),
            name: Some(self.decision_head().name()),
        }
    }

    pub(in crate::keys) fn claim_key(&self) -> decision_claim::ClaimKey {
        decision_claim::ClaimKey::of(&self.text)
    }

    pub(in crate::keys) fn listed(&self) -> decision_listed::Key {
        decision_listed::Key {
            scope: self.scope_key(),
            rank: self.rank(),
            domain: decision_listed::DomainKey::of(&self.domain()),
            begun: self.seq(),
            root: self.root(),
        }
    }

    pub(in crate::keys) fn related(&self) -> related::Key {
        let edge = self.edge();
        related::Key {
            to: related::NodeKey::of(&edge.to),
            scope: related::ScopePath::of(&self.scope()),
            root: self.root(),
            kind: related::KindKey::of(edge.kind),
        }
    }

    fn decision_claim(&self) -> Option<Claim> {
        self.when(Claim {
            key: self.name.clone(),
            value: self.text.clone(),
        })
    }

    pub(in crate::keys) fn decision_head(&self) -> DecisionHead {
        DecisionHead {
            root: self.root(),
            version: self.number,
            active: self.flag,
            rank: self.rank(),
            domain: self.domain(),
            phase: self.phase(),
            title: self.text.clone(),
            claim: self.decision_claim(),
            relations: self.relations(),
            begun_seq: Seq::new(self.number / 2),
            begun_at: self.time(),
            changed_at: self.time().plus_ms(1),
        }
    }

    pub(in crate::keys) fn decision_version(&self) -> DecisionVersion {
        let acts = [
            Act::Begun,
            Act::Changed,
            Act::Withdrawn,
            Act::Restored {
                from: self.number / 2,
            },
        ];
        let act = acts[usize::from(self.id[5]) % acts.len()];
        let text = NewDecision {
            rank: self.rank(),
            domain: self.domain(),
            phase: self.phase(),
            title: self.name.clone(),
            content: self.text.clone(),
            claim: self.decision_claim(),
            relations: self.relations(),
        };
        DecisionVersion {
            root: self.root(),
            number: self.number,
            act,
            text: (act != Act::Withdrawn).then_some(text),
            reason: self.text.clone(),
            by: self.actor(),
            at: self.time(),
            seq: self.seq(),
        }
    }
}

/// What the rules let a decision say at most, with as much of it in the content as fits, or in the relations.
pub(in crate::keys) fn largest(content_first: bool) -> NewDecision {
    let content = if content_first { DECISION_BYTES_MAX } else { 1 };
    let short = || "s".repeat(SHORT_TEXT_BYTES_MAX);
    let name = || "d".repeat(DOMAIN_BYTES_MAX);
    let mut text = NewDecision {
        rank: Rank::Normal,
        domain: name().parse().unwrap(),
        phase: Some(name().parse().unwrap()),
        title: short(),
        content: "c".repeat(content),
        claim: Some(Claim {
            key: short(),
            value: short(),
        }),
        relations: Vec::new(),
    };
    let mut left = DECISION_TEXTS_BYTES_MAX - text.text_bytes();
    for number in 0..RELATIONS_MAX {
        let bytes = left / (RELATIONS_MAX - number);
        let path = format!("{number:0>width$}", width = bytes - "file:".len());
        let relation = Relation {
            kind: RelationKind::AppliesTo,
            to: Node::file(&path).unwrap(),
        };
        left -= relation.to.text_bytes();
        text.relations.push(relation);
    }
    assert_eq!(text.text_bytes(), DECISION_TEXTS_BYTES_MAX);
    text
}

/// A scope whose path is as long as one may be.
pub(in crate::keys) fn longest_scope() -> Scope {
    let name = "n".repeat(SEGMENT_CHARS_MAX);
    Scope::parse(&format!(
        "org/{name}/project/{name}/worktree/{name}/task/{name}"
    ))
    .unwrap()
}

pub(super) fn longest_actor() -> Actor {
    Actor {
        kind: PrincipalKind::System,
        id: PrincipalId::parse(&"p".repeat(PRINCIPAL_ID_CHARS_MAX)).unwrap(),
    }
}

/// A version that says `text` again, for a reason as long as one may be: a restore adds it to what was saved.
pub(in crate::keys) fn largest_version(text: NewDecision) -> DecisionVersion {
    DecisionVersion {
        root: DecisionId::from_bytes([255; 16]),
        number: u64::MAX,
        act: Act::Restored { from: u64::MAX },
        text: Some(text),
        reason: "r".repeat(SHORT_TEXT_BYTES_MAX),
        by: longest_actor(),
        at: Timestamp::from_ms(u64::MAX),
        seq: Seq::new(u64::MAX),
    }
}

/// The event that such a version is saved by.
pub(in crate::keys) fn largest_event(version: &DecisionVersion) -> StoredEvent {
    let body = Body::DecisionSaved(Box::new(DecisionSaved {
        root: version.root,
        number: version.number,
        act: version.act,
        before: Some(Rank::Normal),
        text: version.text.clone(),
        reason: version.reason.clone(),
    }));
    sealed(&body, &version.by, version.at)
}

/// The last event that a scope can have, which says `body`.
pub(super) fn sealed(body: &Body, actor: &Actor, at: Timestamp) -> StoredEvent {
    let origin = Origin {
        actor: actor.clone(),
        command: CommandId::from_bytes([255; 16]),
        epoch: Epoch(u64::MAX),
    };
    let mut tip = Tip::genesis(&longest_scope());
    tip.seq = Seq::new(u64::MAX - 1);
    chain::seal(&mut tip, body, &origin, at, [255; 16])
}

/// The head of a chain whose newest version says `text`.
pub(in crate::keys) fn head_of(text: NewDecision) -> DecisionHead {
    DecisionHead {
        root: DecisionId::from_bytes([255; 16]),
        version: u64::MAX,
        active: true,
        rank: text.rank,
        domain: text.domain,
        phase: text.phase,
        title: text.title,
        claim: text.claim,
        relations: text.relations,
        begun_seq: Seq::new(u64::MAX),
        begun_at: Timestamp::from_ms(u64::MAX),
        changed_at: Timestamp::from_ms(u64::MAX),
    }
}

/// An edge between a decision and a symbol with names as long as they may be.
pub(in crate::keys) fn longest_edge() -> NamedEdge {
    let place = "p".repeat(PLACE_BYTES_MAX);
    let edge = Edge {
        from: Node::Decision {
            scope: longest_scope(),
            root: DecisionId::from_bytes([255; 16]),
        },
        kind: RelationKind::AppliesTo,
        to: Node::symbol(&place, Some(&place)).unwrap(),
    };
    let title = "t".repeat(SHORT_TEXT_BYTES_MAX);
    let name = Some(DecisionName {
        rank: Rank::Normal,
        title,
    });
    NamedEdge { edge, name }
}
