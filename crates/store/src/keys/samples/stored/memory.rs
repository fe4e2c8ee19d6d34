//! Events of decisions, evidence, anchors and declared relations.

use sillok_core::decision::{
    Act, DeclaredKind, Domain, NewDecision, Node, Rank, Reach, Relation, RelationKind, RelationName,
};
use sillok_core::event::{AnchorAdded, Body, DecisionSaved, EvidenceSaved};
use sillok_core::id::{AnchorId, DecisionId, EvidenceId};

use super::{Sample, claim, contents, only, scope_at, with_each};

pub(super) fn bodies() -> Vec<Sample<Body>> {
    let mut all = decisions();
    all.extend(with_each("content", contents(), |content| {
        Body::EvidenceSaved(Box::new(EvidenceSaved {
            id: EvidenceId::from_bytes([161; 16]),
            title: "what it is".to_owned(),
            source: "where it was".to_owned(),
            media_type: "text/markdown".to_owned(),
            content,
            hash: [162; 32],
            masked: 163,
        }))
    }));
    all.extend(with_each("to", nodes(), |node| {
        Body::AnchorAdded(Box::new(AnchorAdded {
            id: AnchorId::from_bytes([164; 16]),
            hint: "what to read again".to_owned(),
            domain: domain(),
            to: vec![node],
        }))
    }));
    all.push(only(Body::AnchorDropped {
        anchor: AnchorId::from_bytes([165; 16]),
        reason: "why it was dropped".to_owned(),
    }));
    all.extend(with_each("reach", reaches(), |reach| {
        Body::RelationDeclared {
            name: relation_name(),
            reach,
            meaning: "what it means".to_owned(),
        }
    }));
    all
}

fn domain() -> Domain {
    "storage".parse().unwrap()
}

fn relation_name() -> RelationName {
    "RULES_OUT".parse().unwrap()
}

fn ranks() -> Vec<(&'static str, Rank)> {
    each!(Rank {
        Policy,
        Axis,
        Lock,
        Normal
    })
}

fn reaches() -> Vec<(&'static str, Reach)> {
    each!(Reach {
        Forward,
        Backward,
        Both,
        Neither
    })
}

fn declared(reach: Reach) -> RelationKind {
    RelationKind::Declared(DeclaredKind {
        name: relation_name(),
        reach,
    })
}

fn nodes() -> Vec<(&'static str, Node)> {
    each!(Node {
        Decision {
            scope: scope_at("org/gold/project/decides"),
            root: DecisionId::from_bytes([171; 16]),
        },
        File { path: "src/main.rs".to_owned() },
        Symbol { name: "c::d".to_owned(), file: Some("src/c.rs".to_owned()) },
        Evidence {
            scope: scope_at("org/gold/project/keeps"),
            id: EvidenceId::from_bytes([172; 16]),
        },
    })
}

fn decisions() -> Vec<Sample<Body>> {
    let body = |act, before, rank, relation: (RelationKind, Node)| {
        let (kind, to) = relation;
        Body::DecisionSaved(Box::new(DecisionSaved {
            root: DecisionId::from_bytes([173; 16]),
            number: 1_740,
            act,
            before: Some(before),
            text: Some(NewDecision {
                rank,
                domain: domain(),
                phase: Some("design".parse().unwrap()),
                title: "what was decided".to_owned(),
                content: "in full".to_owned(),
                claim: Some(claim()),
                relations: vec![Relation { kind, to }],
            }),
            reason: "why".to_owned(),
        }))
    };
    let node = |number: usize| nodes().swap_remove(number).1;
    let rests = || (RelationKind::RestsOn, node(3));
    let related = |kind| body(Act::Changed, Rank::Axis, Rank::Lock, (kind, node(0)));
    let acts = each!(Act { Begun, Changed, Withdrawn, Restored { from: 1_750 } });
    let kinds = each!(RelationKind {
        DependsOn,
        Constrains,
        Validates,
        AppliesTo,
        RestsOn,
        Declared(DeclaredKind { name: relation_name(), reach: Reach::Both }),
    });
    let mut all = with_each("act", acts, |act| {
        body(act, Rank::Policy, Rank::Lock, rests())
    });
    all.extend(with_each("rank", ranks(), |rank| {
        body(Act::Changed, Rank::Lock, rank, rests())
    }));
    all.extend(with_each("before", ranks(), |before| {
        body(Act::Changed, before, Rank::Axis, rests())
    }));
    all.extend(with_each("relation", kinds, related));
    all.extend(with_each("reach", reaches(), |reach| {
        related(declared(reach))
    }));
    all.extend(with_each("to", nodes(), |to| {
        let relation = (RelationKind::AppliesTo, to);
        body(Act::Changed, Rank::Lock, Rank::Normal, relation)
    }));
    all
}
