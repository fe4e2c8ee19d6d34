//! What is to be known before a decision is saved, withdrawn or restored.
//!
//! Owns which relations are looked at: those that the decision does not have already.

use super::{Ask, Need};
use crate::command::Command;
use crate::decision::{DecisionHead, Relation};
use crate::id::DecisionId;
use crate::limits::RELATIONS_MAX;
use crate::scope::Level;

/// The relations among `declared` that a decision with this head does not have. One that it has may stay, whatever became
/// of what it leads to.
pub(crate) fn added_relations<'a>(
    head: Option<&'a DecisionHead>,
    declared: &'a [Relation],
) -> impl Iterator<Item = &'a Relation> {
    let had = head.map_or(&[][..], |head| &head.relations);
    declared.iter().filter(|one| !had.contains(one))
}

impl Ask<'_> {
    /// What a command about a decision wants to know.
    pub(super) fn decision(&mut self, command: &Command) {
        match command {
            Command::SaveDecision(save) => match save.change {
                None => self.related(None, &save.text.relations),
                Some(change) => {
                    self.decision_head(change.root);
                    if let Some(head) = self.state.decision(change.root) {
                        self.related(Some(head), &save.text.relations);
                    }
                }
            },
            Command::DeactivateDecision { root, .. } => self.decision_head(*root),
            Command::RestoreDecision { root, version, .. } => {
                self.decision_head(*root);
                self.restored(*root, *version);
            }
            // Elsewhere it is refused, whatever is declared.
            Command::DeclareRelation { name, .. } if self.scope.level() >= Level::Project => {
                self.declaration(*name);
            }
            Command::DeclareRelation { .. } => {}
            _ => unreachable!("only what is about decisions comes here"),
        }
    }

    pub(super) fn decision_head(&mut self, root: DecisionId) {
        if !self.state.knows_decision(root) {
            self.needs.push(Need::Decision(root));
        }
    }

    /// The version of a decision whose text is to hold again.
    fn restored(&mut self, root: DecisionId, number: u64) {
        let Some(head) = self.state.decision(root) else {
            return;
        };
        match self.facts.decision_versions.get(&(root, number)) {
            None => self.needs.push(Need::DecisionVersion(root, number)),
            Some(version) => {
                let text = version.as_ref().and_then(|version| version.text.as_ref());
                if let Some(text) = text {
                    self.related(Some(head), &text.relations);
                }
            }
        }
    }

    /// What further relations lead to, and what is declared of their kinds.
    fn related(&mut self, head: Option<&DecisionHead>, declared: &[Relation]) {
        if declared.len() > RELATIONS_MAX {
            return;
        }
        self.led_to(added_relations(head, declared).map(|relation| &relation.to));
        self.kinds(added_relations(head, declared));
    }
}
