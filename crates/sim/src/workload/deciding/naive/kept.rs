//! What anchors a brief tells of and where they lead, found in the plainest way.
//!
//! Owns a second telling of the order of anchors, of the order of what each leads to, and of how that stands. It shares no
//! code with what nodes do.

use std::cmp::Reverse;

use sillok_core::anchor::{Lead, Standing};
use sillok_core::decision::{Domain, Node};
use sillok_core::id::AnchorId;
use sillok_core::scope::Scope;
use sillok_core::staging::Content;

use super::super::asked::{Goal, Pointer};
use super::super::view::{Pinned, View};
use super::lies_in;

/// An anchor that a brief tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Anchored {
    pub(in super::super) anchor: Pointer,
    pub(in super::super) leads: Vec<Lead>,
}

fn pointer(scope: &Scope, id: AnchorId, anchor: &Pinned<'_>) -> Pointer {
    Pointer {
        scope: scope.clone(),
        id,
        seq: anchor.added,
        hint: anchor.said.hint.clone(),
        domain: anchor.said.domain.clone(),
        to: anchor.said.to.clone(),
        dropped: anchor.dropped,
    }
}

/// The place of what an anchor leads to: the strongest decisions first, then evidence, then what is gone.
fn place(lead: &Lead) -> u8 {
    match (lead.standing, lead.rank) {
        (Standing::Gone, _) => u8::MAX,
        (_, Some(rank)) => rank as u8,
        (_, None) => u8::MAX - 1,
    }
}

impl View<'_> {
    /// The anchors that a brief for a scope and a domain tells of, in the order of loading.
    pub(in super::super) fn anchored(&self, scope: &Scope, domain: &Domain) -> Vec<Anchored> {
        let mut found = Vec::new();
        for (&(holder, id), anchor) in &self.anchors {
            let is_global = anchor.said.domain.is_global();
            let is_around = lies_in(scope.as_str(), holder.as_str());
            let is_of_it = is_global || anchor.said.domain == *domain;
            if anchor.dropped || !is_around || !is_of_it {
                continue;
            }
            let key = (!is_global, Reverse(holder.level()), anchor.added);
            let anchored = Anchored {
                anchor: pointer(holder, id, anchor),
                leads: self.leads(&anchor.said.to),
            };
            found.push((key, anchored));
        }
        found.sort_by_key(|(key, _)| *key);
        found.into_iter().map(|(_, anchored)| anchored).collect()
    }

    /// What an anchor leads to: each thing behind all that are stronger, and behind those as strong that are named before it.
    fn leads(&self, to: &[Node]) -> Vec<Lead> {
        let leads: Vec<Lead> = to.iter().map(|node| self.lead(node)).collect();
        let mut keys: Vec<(u8, usize)> = leads.iter().map(place).zip(0..).collect();
        keys.sort_unstable();
        keys.iter().map(|(_, at)| leads[*at].clone()).collect()
    }

    fn lead(&self, node: &Node) -> Lead {
        let (title, rank, standing) = match node {
            Node::Decision { scope, root } => {
                let chain = self.chains.get(&(scope, *root));
                let said = chain.and_then(|chain| chain.last_said());
                match said {
                    Some((_, text, true)) => (&*text.title, Some(text.rank), Standing::Holds),
                    Some((_, text, false)) => (&*text.title, Some(text.rank), Standing::Withdrawn),
                    None => ("", None, Standing::Gone),
                }
            }
            Node::Evidence { scope, id } => match self.evidence.get(&(scope, *id)) {
                Some((_, said)) => (&*said.title, None, Standing::Holds),
                None => ("", None, Standing::Gone),
            },
            Node::File { .. } | Node::Symbol { .. } => ("", None, Standing::Gone),
        };
        Lead {
            to: node.clone(),
            title: title.to_owned(),
            rank,
            standing,
        }
    }

    /// An anchor of a scope and the originals that it points to, in the order in which it leads there; none where there is
    /// no such anchor.
    pub(in super::super) fn followed(
        &self,
        scope: &Scope,
        id: AnchorId,
    ) -> Option<(Pointer, Vec<Goal>)> {
        let anchor = self.anchors.get(&(scope, id))?;
        let leads = self.leads(&anchor.said.to);
        let goals = leads.into_iter().map(|lead| self.goal(lead.to));
        Some((pointer(scope, id, anchor), goals.collect()))
    }

    fn goal(&self, node: Node) -> Goal {
        let found = match &node {
            Node::Decision { scope, root } => {
                let chain = self.chains.get(&(scope, *root));
                let said = chain.and_then(|chain| chain.last_said());
                said.map(|(number, text, active)| Goal::Decision {
                    scope: scope.clone(),
                    root: *root,
                    number,
                    active,
                    content: Some(text.content.clone()),
                })
            }
            Node::Evidence { scope, id } => {
                let found = self.evidence.get(&(scope, *id));
                found.map(|(_, said)| Goal::Evidence {
                    scope: scope.clone(),
                    id: *id,
                    title: said.title.clone(),
                    hash: said.hash,
                    text: match &said.content {
                        Content::Inline(text) => Some(text.clone()),
                        Content::Chunked { .. } => None,
                    },
                })
            }
            Node::File { .. } | Node::Symbol { .. } => None,
        };
        found.unwrap_or(Goal::Gone(node))
    }
}

#[cfg(test)]
mod tests;
