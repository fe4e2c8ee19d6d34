//! Anchors: hints that lead from where a conversation was compacted to what is to be read again.
//!
//! Owns what an anchor is, and in which order what it leads to is told. An anchor only points: nothing that it leads to
//! changes its rank, its layer or its place by that. It must not know how what it leads to is read.

use serde::{Deserialize, Serialize};

use crate::decision::{Domain, Node, Rank};
use crate::error::{Error, ErrorCode};
use crate::id::{AnchorId, Seq};
use crate::limits::{ANCHOR_HINT_BYTES_MAX, ANCHOR_NODES_MAX, ANCHORS_PER_COMMAND_MAX};
use crate::principal::Actor;
use crate::time::Timestamp;

pub mod search;

/// An anchor as a caller hands it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewAnchor {
    /// What it says, in a line.
    pub hint: String,
    /// Where it is listed: everywhere, or in one field of work.
    pub domain: Domain,
    /// What it points to: decisions and evidence.
    pub to: Vec<Node>,
}

impl NewAnchor {
    /// Bytes of all its texts, those of what it points to included.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let to: usize = self.to.iter().map(Node::text_bytes).sum();
        self.hint.len() + self.domain.as_str().len() + to
    }
}

/// An anchor as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Its id.
    pub id: AnchorId,
    /// What it says, in a line, with secrets masked.
    pub hint: String,
    /// Where it is listed.
    pub domain: Domain,
    /// What it points to, in the order in which that was declared.
    pub to: Vec<Node>,
    /// Who added it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// The event that it was added by.
    pub seq: Seq,
    /// The event that dropped it: it is listed no more.
    pub dropped: Option<Seq>,
}

impl Anchor {
    /// Whether it was dropped.
    #[must_use]
    pub const fn is_dropped(&self) -> bool {
        self.dropped.is_some()
    }

    /// Whether what it said was erased: no anchor that says something does so in an empty hint.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.hint.is_empty()
    }
}

/// How something stands that an anchor leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A decision that applies, or evidence.
    Holds,
    /// A decision that was withdrawn.
    Withdrawn,
    /// It was erased, or is not there.
    Gone,
}

impl Standing {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Holds, Self::Withdrawn, Self::Gone];

    /// The name in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Withdrawn => "withdrawn",
            Self::Gone => "gone",
        }
    }
}

/// One thing that an anchor leads to, without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    /// What it is.
    pub to: Node,
    /// Its title; empty where it is gone.
    pub title: String,
    /// Its rank, if it is a decision that is there.
    pub rank: Option<Rank>,
    /// How it stands.
    pub standing: Standing,
}

impl Lead {
    /// What is not there any more.
    #[must_use]
    pub const fn gone(to: Node) -> Self {
        Self {
            to,
            title: String::new(),
            rank: None,
            standing: Standing::Gone,
        }
    }

    /// The place of what is there: decisions by their rank, and behind them evidence.
    const fn place(&self) -> Place {
        match (self.standing, self.rank) {
            (Standing::Gone, _) => Place::Gone,
            (Standing::Holds | Standing::Withdrawn, Some(rank)) => Place::Decision(rank),
            (Standing::Holds | Standing::Withdrawn, None) => Place::Evidence,
        }
    }
}

/// Where a lead stands among others. Ordered as they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Decision(Rank),
    Evidence,
    Gone,
}

/// What an anchor leads to, in the order in which it is told and followed: decisions by their rank, then evidence, then what
/// is gone, and among those alike in the order declared. So no hint puts a weaker decision before a stronger one.
#[must_use]
pub fn by_rank(mut leads: Vec<Lead>) -> Vec<Lead> {
    leads.sort_by_key(Lead::place);
    leads
}

/// Checks how many anchors one command adds, and what they point to. Whether that is there is told by who knows.
pub(crate) fn check_anchors(anchors: &[NewAnchor]) -> Result<(), Error> {
    if anchors.is_empty() {
        return Err(invalid("at least one anchor is added"));
    }
    check_count("anchors", ANCHORS_PER_COMMAND_MAX, anchors.len())?;
    let mut numbered = (1..).zip(anchors);
    numbered.try_for_each(|(number, anchor)| check_nodes(number, &anchor.to))
}

/// Checks the hint of the `ordinal`-th anchor of a command, as it is stored.
pub(crate) fn check_hint(ordinal: u32, hint: &str) -> Result<(), Error> {
    if hint.trim().is_empty() {
        let number = ordinal + 1;
        return Err(invalid(format!("the hint of anchor {number} is not empty")));
    }
    check_count("anchor hint bytes", ANCHOR_HINT_BYTES_MAX, hint.len())
}

/// Checks the domain of the `ordinal`-th anchor of a command. It is stored as it stands, so that one with a secret in it is
/// refused, not masked.
pub(crate) fn check_domain(ordinal: u32, domain: &Domain) -> Result<(), Error> {
    if domain.holds_secret() {
        let number = ordinal + 1;
        return Err(invalid(format!(
            "the domain of anchor {number} holds a secret"
        )));
    }
    Ok(())
}

fn check_nodes(number: usize, nodes: &[Node]) -> Result<(), Error> {
    if nodes.is_empty() {
        return Err(invalid(format!("anchor {number} points to something")));
    }
    check_count("nodes of an anchor", ANCHOR_NODES_MAX, nodes.len())?;
    for (index, node) in nodes.iter().enumerate() {
        match node {
            Node::Decision { .. } | Node::Evidence { .. } => {}
            // Without the node itself: a place may hold a secret.
            Node::File { .. } | Node::Symbol { .. } => {
                return Err(invalid(format!(
                    "node {} of anchor {number} is a place: an anchor points to decisions and evidence",
                    index + 1
                )));
            }
        }
        if nodes[..index].contains(node) {
            return Err(invalid(format!("anchor {number} points to {node} twice")));
        }
    }
    Ok(())
}

fn check_count(what: &str, limit: usize, got: usize) -> Result<(), Error> {
    if got <= limit {
        return Ok(());
    }
    Err(Error::too_large(what, limit as u64, got as u64))
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests;
