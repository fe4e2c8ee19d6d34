//! What is to be known before anchors are added or dropped, and of what they and relations lead to.

use std::collections::BTreeSet;

use super::{Ask, Need};
use crate::anchor::NewAnchor;
use crate::decision::Node;
use crate::id::AnchorId;
use crate::limits::{ANCHOR_NODES_MAX, ANCHORS_PER_COMMAND_MAX};

impl Ask<'_> {
    /// What anchors are to lead to.
    pub(super) fn anchors(&mut self, anchors: &[NewAnchor]) {
        let is_bounded = |anchor: &NewAnchor| anchor.to.len() <= ANCHOR_NODES_MAX;
        if anchors.len() <= ANCHORS_PER_COMMAND_MAX && anchors.iter().all(is_bounded) {
            self.led_to(anchors.iter().flat_map(|anchor| &anchor.to));
        }
    }

    pub(super) fn anchor(&mut self, id: AnchorId) {
        if !self.state.knows_anchor(id) {
            self.needs.push(Need::Anchor(id));
        }
    }

    /// The decisions and the evidence that something leads to, as far as the scope sees them.
    pub(super) fn led_to<'n>(&mut self, nodes: impl Iterator<Item = &'n Node>) {
        let mut seen = BTreeSet::new();
        for node in nodes {
            if seen.insert(node) {
                let need = self.node(node);
                self.needs.extend(need);
            }
        }
    }

    fn node(&self, node: &Node) -> Option<Need> {
        let (state, facts) = (self.state, self.facts);
        match node {
            Node::Decision { scope, root } if scope == self.scope => {
                (!state.knows_decision(*root)).then_some(Need::Decision(*root))
            }
            Node::Evidence { scope, id } if scope == self.scope => {
                (!state.knows_evidence(*id)).then_some(Need::Evidence(*id))
            }
            Node::Decision { scope, root } if scope.contains(self.scope) => {
                let named = (scope.clone(), *root);
                let is_known = facts.decisions_elsewhere.contains_key(&named);
                (!is_known).then_some(Need::DecisionElsewhere(named.0, named.1))
            }
            Node::Evidence { scope, id } if scope.contains(self.scope) => {
                let named = (scope.clone(), *id);
                let is_known = facts.evidence_elsewhere.contains_key(&named);
                (!is_known).then_some(Need::EvidenceElsewhere(named.0, named.1))
            }
            _ => None,
        }
    }
}
