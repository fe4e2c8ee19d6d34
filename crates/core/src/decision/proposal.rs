//! Proposals: decisions that nobody has made yet.
//!
//! Owns the rule that a proposal lives at run time only: it begins no chain, overwrites nothing and stands in for no
//! decision. The type has no form in which it could be stored:
//!
//! ```compile_fail,E0277
//! # use sillok_core::decision::{NewDecision, Proposal};
//! fn store(said: NewDecision) -> Vec<u8> {
//!     let proposal = Proposal::of(said);
//!     postcard::to_allocvec(&proposal).unwrap()
//! }
//! ```
//!
//! and no command takes it for a decision:
//!
//! ```compile_fail,E0308
//! # use sillok_core::command::{Command, SaveDecision};
//! # use sillok_core::decision::{NewDecision, Proposal};
//! fn save(said: NewDecision) -> Command {
//!     let proposal = Proposal::of(said);
//!     Command::SaveDecision(Box::new(SaveDecision {
//!         change: None,
//!         text: proposal,
//!         reason: String::new(),
//!     }))
//! }
//! ```
//!
//! What was proposed is stored and saved by saying it once more, as a decision:
//!
//! ```
//! # use sillok_core::command::{Command, SaveDecision};
//! # use sillok_core::decision::{NewDecision, Proposal};
//! fn store(said: NewDecision) -> Vec<u8> {
//!     let _proposal = Proposal::of(said.clone());
//!     postcard::to_allocvec(&said).unwrap()
//! }
//!
//! fn save(said: NewDecision) -> Command {
//!     let proposal = Proposal::of(said.clone());
//!     assert_eq!(proposal.text(), &said);
//!     Command::SaveDecision(Box::new(SaveDecision {
//!         change: None,
//!         text: said,
//!         reason: String::new(),
//!     }))
//! }
//! ```

use super::{Domain, NewDecision, Node, Rank};
use crate::entry::Claim;
use crate::id::DecisionId;
use crate::impact::Impact;
use crate::scope::Scope;

/// A decision that nobody has made yet.
#[derive(Debug)]
pub struct Proposal {
    said: NewDecision,
}

impl Proposal {
    /// A proposal that says this.
    #[must_use]
    pub const fn of(said: NewDecision) -> Self {
        Self { said }
    }

    /// What it says.
    #[must_use]
    pub const fn text(&self) -> &NewDecision {
        &self.said
    }
}

/// What a save would mean, or has meant, to decisions that stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposed {
    /// What it reaches.
    pub impact: Impact,
    /// The guarded decisions that it touches: the one that is changed itself, by what it was before that, and behind it those
    /// that are reached, in the same order.
    pub guards: Vec<Guard>,
    /// The decisions that declare its key with another value.
    pub contradictions: Contradictions,
    /// Its domain, where no other decision that holds in its scope or around it is of that. No domain is unknown, so one that is
    /// misspelt shows by this alone. What applies everywhere is never new.
    pub new_domain: Option<Domain>,
}

/// A decision that is not to be touched without its being told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The decision.
    pub node: Node,
    /// Its rank.
    pub rank: Rank,
    /// What it says, in a line.
    pub title: String,
    /// Its number among what is affected, by which its path is found; none of the decision that is changed, to which nothing
    /// leads.
    pub path: Option<usize>,
}

/// What a decision was before it was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Former {
    /// The decision.
    pub node: Node,
    /// The rank that it had.
    pub rank: Rank,
    /// What it said, in a line.
    pub title: String,
}

/// A decision that declares the same key with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The scope that holds it.
    pub scope: Scope,
    /// The decision.
    pub root: DecisionId,
    /// Its rank.
    pub rank: Rank,
    /// What it says, in a line.
    pub title: String,
    /// What it claims.
    pub claim: Claim,
}

/// The decisions that declare a key with another value, those of the widest scope first, and of one scope by their roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contradictions {
    /// Those that are told of.
    pub told: Vec<Contradiction>,
    /// Whether there may be more: of each scope there is room for so many, and so many are looked at.
    pub cut: bool,
}

impl Proposed {
    /// What a save means that changes `former`, unless it begins a chain, that reaches `impact`, that `contradictions`
    /// speak against, and that is of a domain of which nothing else is, where there is a `new_domain`. A walk never reaches where
    /// it starts, so what is changed is told of here: to change, to weaken or to withdraw a lock touches a lock, also where
    /// nothing depends on it.
    #[must_use]
    pub fn of(
        former: Option<Former>,
        impact: Impact,
        contradictions: Contradictions,
        new_domain: Option<Domain>,
    ) -> Self {
        let guarded = former.filter(|former| former.rank.is_guarded());
        let mut guards: Vec<Guard> = guarded
            .into_iter()
            .map(|former| Guard {
                node: former.node,
                rank: former.rank,
                title: former.title,
                path: None,
            })
            .collect();
        for (path, affected) in impact.affected.iter().enumerate() {
            if let Some(rank) = affected.rank.filter(|rank| rank.is_guarded()) {
                guards.push(Guard {
                    node: affected.node.clone(),
                    rank,
                    title: affected.title.clone().unwrap_or_default(),
                    path: Some(path),
                });
            }
        }
        Self {
            impact,
            guards,
            contradictions,
            new_domain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Edge, RelationKind};
    use crate::impact::{Affected, Source};

    fn node(number: u8) -> Node {
        Node::Decision {
            scope: Scope::parse("org/a").unwrap(),
            root: DecisionId::from_bytes([number; 16]),
        }
    }

    fn affected(number: u8, rank: Option<Rank>) -> Affected {
        Affected {
            node: node(number),
            depth: 1,
            from: Source::Start(0),
            by: Edge {
                from: node(0),
                kind: RelationKind::Constrains,
                to: node(number),
            },
            title: rank.map(|rank| format!("{rank} {number}")),
            rank,
        }
    }

    #[test]
    fn the_guard_tells_of_every_axis_and_lock_that_is_reached_and_of_nothing_else() {
        let ranks = [
            Some(Rank::Normal),
            Some(Rank::Lock),
            None,
            Some(Rank::Policy),
            Some(Rank::Axis),
        ];
        let numbered = (1..).zip(ranks);
        let impact = Impact {
            start: vec![node(0)],
            affected: numbered
                .map(|(number, rank)| affected(number, rank))
                .collect(),
            cut: None,
        };
        let (nothing, no_domain) = (Contradictions::default(), None);
        let proposed = Proposed::of(None, impact.clone(), nothing, no_domain);
        let guards = proposed.guards.iter();
        let told: Vec<_> = guards
            .map(|guard| (guard.path, guard.rank, guard.title.as_str()))
            .collect();
        let expected = [
            (Some(1), Rank::Lock, "lock 2"),
            (Some(4), Rank::Axis, "axis 5"),
        ];
        assert_eq!(told, expected);
        for guard in &proposed.guards {
            let place = guard.path.unwrap();
            assert_eq!(impact.affected[place].node, guard.node);
            let path = impact.path(place);
            assert_eq!(path.last().map(|edge| &edge.to), Some(&guard.node));
        }
        assert_eq!(proposed.impact, impact);
    }

    #[test]
    fn the_guard_tells_first_of_an_axis_or_lock_that_is_changed_itself() {
        let impact = Impact {
            start: vec![node(0)],
            affected: vec![affected(1, Some(Rank::Axis))],
            cut: None,
        };
        for rank in Rank::ALL {
            let former = Former {
                node: node(0),
                rank,
                title: "as it was".to_owned(),
            };
            let (nothing, no_domain) = (Contradictions::default(), None);
            let proposed = Proposed::of(Some(former), impact.clone(), nothing, no_domain);
            let (own, reached) = proposed.guards.split_at(proposed.guards.len() - 1);
            assert_eq!(reached[0].path, Some(0));
            let itself = Guard {
                node: node(0),
                rank,
                title: "as it was".to_owned(),
                path: None,
            };
            let is_guarded = matches!(rank, Rank::Axis | Rank::Lock);
            let expected = is_guarded.then_some(itself);
            assert_eq!(own, expected.as_slice());
        }
    }
}
