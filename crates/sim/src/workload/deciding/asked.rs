//! What agents ask about decisions, and what they are told.
//!
//! Owns the form of both in the history: no more of an answer than is judged. It must not know what is right.

use std::fmt;

use serde::{Deserialize, Serialize};
use sillok_core::ErrorCode;
use sillok_core::anchor::Lead;
use sillok_core::brief::{Cut, Layer};
use sillok_core::command::DecisionRef;
use sillok_core::decision::{Domain, Edge, NewDecision, Node, Rank};
use sillok_core::entry::Claim;
use sillok_core::id::{AnchorId, DecisionId, EvidenceId, Seq};
use sillok_core::limits::{IMPACT_DEPTH_MAX, IMPACT_NODES_MAX};
use sillok_core::scope::{Scope, ScopePrefix};

use super::original::Original;

/// The note of an agent that was told something about decisions.
pub(super) const HEARD: &str = "told of decisions";

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asker {
    /// Where.
    pub(crate) scope: Scope,
    /// What the token covers, which may lie inside of that.
    pub(crate) prefix: ScopePrefix,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Asked {
    /// Which decisions hold for work in a scope and a domain.
    Brief {
        by: Asker,
        domain: Domain,
        /// The nodes at hand.
        at: Vec<Node>,
        /// Room for so many items.
        items_max: usize,
    },
    /// What a change of some nodes affects, as it is seen from a scope.
    Impact {
        by: Asker,
        start: Vec<Node>,
        limits: Limits,
    },
    /// What it means to others that a version of a decision of the scope was saved.
    Meaning {
        by: Asker,
        root: DecisionId,
        number: u64,
    },
    /// What a decision of the scope would mean to others that nobody has made yet, or a change of one.
    Proposal {
        by: Asker,
        change: Option<DecisionRef>,
        text: Box<NewDecision>,
    },
    /// What the versions of a decision say.
    History {
        scope: Scope,
        root: DecisionId,
        /// Those behind this one.
        after: Option<u64>,
        /// At most so many.
        limit: usize,
    },
    /// What evidence of the scope says.
    Text {
        scope: Scope,
        id: EvidenceId,
        /// What was saved.
        original: Original,
        /// From which byte to which other one; all of it where that is not said.
        part: Option<(u64, u64)>,
    },
    /// What an anchor of the scope points to, from the originals.
    Followed { by: Asker, id: AnchorId },
    /// What the anchors lead to that a brief for the scope and a domain tells of, as far as it has one of these words.
    Search {
        by: Asker,
        domain: Domain,
        words: Vec<String>,
        /// At most so many.
        hits_max: usize,
    },
}

/// How far an impact goes: as far as any may, where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// At most so many nodes.
    pub(crate) nodes_max: Option<usize>,
    /// At most so many relations between what changes and any of them.
    pub(crate) depth_max: Option<u32>,
}

impl Limits {
    /// How many nodes there is room for, and over how many relations.
    pub(super) fn numbers(self) -> (usize, u32) {
        (
            self.nodes_max.unwrap_or(IMPACT_NODES_MAX),
            self.depth_max.unwrap_or(IMPACT_DEPTH_MAX),
        )
    }
}

impl Asked {
    /// Who asks about nodes that have to stand, and about which.
    pub(super) fn at_hand(&self) -> Option<(&Asker, &[Node])> {
        match self {
            Self::Brief { by, at, .. } => Some((by, at.as_slice())),
            Self::Impact { by, start, .. } => Some((by, start.as_slice())),
            Self::Meaning { .. }
            | Self::Proposal { .. }
            | Self::History { .. }
            | Self::Text { .. }
            | Self::Followed { .. }
            | Self::Search { .. } => None,
        }
    }
}

/// For people: what is asked, and where.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Brief { by, domain, .. } => write!(f, "brief for {domain} in {by}"),
            Self::Impact { by, start, limits } => {
                write!(f, "impact of {} nodes in {by}{limits}", start.len())
            }
            Self::Meaning { by, root, number } => {
                write!(f, "meaning of version {number} of {root} in {by}")
            }
            Self::Proposal { by, change, text } => match change {
                None => write!(f, "proposal of {:?} in {by}", text.content),
                Some(of) => write!(f, "proposal of {:?} for {} in {by}", text.content, of.root),
            },
            Self::History { scope, root, .. } => write!(f, "history of {root} in {scope}"),
            Self::Text { scope, id, .. } => write!(f, "text of evidence {id} in {scope}"),
            Self::Followed { by, id } => write!(f, "what anchor {id} points to in {by}"),
            Self::Search { by, words, .. } => {
                write!(f, "search for {words:?} behind anchors in {by}")
            }
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(nodes_max) = self.nodes_max {
            write!(f, ", {nodes_max} nodes at most")?;
        }
        if let Some(depth_max) = self.depth_max {
            write!(f, ", {depth_max} relations away at most")?;
        }
        Ok(())
    }
}

impl fmt::Display for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by a token of {}", self.scope, self.prefix)
    }
}

/// What is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Told {
    /// The items of a brief, and what was left out of it.
    Brief {
        lines: Vec<Line>,
        cut: Vec<Cut>,
        /// How many nodes the limits of the impact kept from being found.
        unfound: u64,
    },
    /// What is affected, and whether a limit cut anything off.
    Impact { reached: Vec<Reached>, is_cut: bool },
    /// The numbers of versions, and what they say; nothing of one that withdrew the decision.
    History(Vec<(u64, Option<String>)>),
    /// What a decision means to others, or would mean.
    Means(Means),
    /// What evidence says; nothing where there is none.
    Text(Option<Excerpt>),
    /// The anchor, and what it points to, in its order; nothing where there is none.
    Followed(Option<(Pointer, Vec<Goal>)>),
    /// What is found behind anchors, and what was not looked at.
    Found {
        hits: Vec<Hit>,
        /// Whether anything was not.
        is_cut: bool,
        /// How much of it cannot be read.
        unreadable: u64,
    },
    /// That it is refused, and why.
    Refused(ErrorCode),
}

/// What a decision means to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Means {
    /// What it reaches.
    pub(crate) reached: Vec<Reached>,
    /// Whether a limit cut anything of that off.
    pub(crate) is_cut: bool,
    /// What it touches and should not without being told: itself, and of what it reaches.
    pub(crate) guards: Vec<Guarded>,
    /// What speaks against it.
    pub(crate) against: Vec<Against>,
    /// Whether there may be more of that.
    pub(crate) is_against_cut: bool,
    /// Its domain, where nothing else that holds there or around is of it.
    pub(crate) new_domain: Option<Domain>,
}

/// A decision that is guarded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Guarded {
    /// Its place among what is reached; none of the one that is changed.
    pub(crate) place: Option<usize>,
    pub(crate) node: Node,
    pub(crate) rank: Rank,
    pub(crate) title: String,
}

/// A decision that declares the same key with another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Against {
    pub(crate) scope: Scope,
    pub(crate) root: DecisionId,
    pub(crate) rank: Rank,
    pub(crate) title: String,
    pub(crate) claim: Claim,
}

/// An item of a brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Line {
    /// A decision that holds.
    Decision(Holding),
    /// What a change of the nodes at hand affects.
    Structural(Reached),
    /// An anchor, and what it leads to.
    Anchor(Pointer, Vec<Lead>),
}

/// An anchor, as it is told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pointer {
    pub(crate) scope: Scope,
    pub(crate) id: AnchorId,
    /// The event that added it.
    pub(crate) seq: Seq,
    pub(crate) hint: String,
    pub(crate) domain: Domain,
    pub(crate) to: Vec<Node>,
    pub(crate) dropped: bool,
}

/// What an anchor points to, from the original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Goal {
    /// A decision, with the version that said something last.
    Decision {
        scope: Scope,
        root: DecisionId,
        number: u64,
        active: bool,
        content: Option<String>,
    },
    /// Evidence, with its text where that fits a row.
    Evidence {
        scope: Scope,
        id: EvidenceId,
        title: String,
        hash: [u8; 32],
        text: Option<String>,
    },
    /// Something that is not there.
    Gone(Node),
}

/// Something that is found behind an anchor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hit {
    /// The anchor that is named, and its scope.
    pub(crate) anchor: (Scope, AnchorId),
    /// How many others lead there.
    pub(crate) others: u64,
    pub(crate) lead: Lead,
    /// The version whose text it is, of a decision.
    pub(crate) version: Option<u64>,
    /// Bytes of the whole text.
    pub(crate) bytes: u64,
    /// Where the excerpt begins.
    pub(crate) from: u64,
    /// How many bytes it has.
    pub(crate) len: u64,
    /// The hash of what it says.
    pub(crate) said: [u8; 32],
    /// How well it answers, as the bits of an `f32`, which are in the order of what they stand for where that is over 0.
    pub(crate) score: u32,
}

/// A part of evidence, or all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Excerpt {
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) media_type: String,
    /// The event that saved it.
    pub(crate) seq: Seq,
    /// Bytes of the whole text.
    pub(crate) bytes: u64,
    /// The hash of the whole text, as the evidence says it.
    pub(crate) hash: [u8; 32],
    pub(crate) masked: u32,
    /// Where the part begins.
    pub(crate) from: u64,
    /// How many bytes it has.
    pub(crate) len: u64,
    /// The hash of what it says: a history is not to hold every text that was read.
    pub(crate) said: [u8; 32],
}

/// A decision that holds, as a brief tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holding {
    pub(crate) layer: Layer,
    pub(crate) scope: Scope,
    pub(crate) root: DecisionId,
    pub(crate) number: u64,
    pub(crate) rank: Rank,
    pub(crate) content: Option<String>,
}

/// A node that a change affects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reached {
    pub(crate) node: Node,
    pub(crate) depth: u32,
    pub(crate) rank: Option<Rank>,
    /// The relations that lead there from what changes, in order.
    pub(crate) path: Vec<Edge>,
}

/// What somebody was told, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) asked: Asked,
    pub(crate) told: Told,
    /// When it was asked, in µs of the world.
    pub(crate) from_us: u64,
    /// When it was answered, in µs of the world.
    pub(crate) to_us: u64,
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Somebody who asks in a scope with a token of another one.
    pub(in super::super) fn asker(scope: &str, prefix: &str) -> Asker {
        Asker {
            scope: Scope::parse(scope).unwrap(),
            prefix: prefix.parse().unwrap(),
        }
    }
}
