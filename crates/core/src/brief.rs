//! The brief: which decisions and anchors an agent loads, and in which order.
//!
//! Owns the layers, their order ([`loading_order`]), how much of it references may be ([`structural_max`]) and what a budget
//! cuts off ([`Cutter`]). Warnings stand apart, behind all layers, in the room that these leave. It must not know how decisions
//! are listed or read, and nothing in it reorders: what is loaded follows from the rank, the domain and the scope of what
//! stands, never from how much there is, from what a change would affect, or from what texts are alike.

use core::fmt;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::anchor::{Anchor, Lead};
use crate::bank::Warning;
use crate::decision::{DecisionVersion, Edge, Node, Rank};
use crate::error::{Error, ErrorCode};
use crate::impact::{self, Affected, Impact};
use crate::limits::{BRIEF_BYTES_MAX, BRIEF_BYTES_USUAL, BRIEF_ITEMS_MAX, BRIEF_ITEMS_USUAL};
use crate::scope::Scope;

mod cutter;
mod order;

pub use cutter::Cutter;
pub use order::{Lists, Step, loading_order, structural_max};

/// The layers of a brief. Ordered as they are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Policies.
    Policy = 1,
    /// What a change of the nodes at hand affects: references. The text of a decision among them stands in the layer of its
    /// rank, where it holds for the scope and the domain; where not, it does not stand here at all ([`Brief::loaded`]).
    Structural,
    /// Axes that hold everywhere.
    GlobalAxis,
    /// Axes of the domain.
    DomainAxis,
    /// Locks, those that hold everywhere first.
    Lock,
    /// Other decisions, those that hold everywhere first.
    Normal,
    /// Anchors, those that are listed everywhere first: what they point to stands in its own layers.
    Anchor,
}

impl Layer {
    /// All layers, the first to be loaded first.
    pub const ALL: [Self; 7] = [
        Self::Policy,
        Self::Structural,
        Self::GlobalAxis,
        Self::DomainAxis,
        Self::Lock,
        Self::Normal,
        Self::Anchor,
    ];

    /// The layer's name in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Structural => "structural",
            Self::GlobalAxis => "global_axis",
            Self::DomainAxis => "domain_axis",
            Self::Lock => "lock",
            Self::Normal => "normal",
            Self::Anchor => "anchor",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much a brief may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BriefBudget {
    /// At most so many items.
    pub items_max: usize,
    /// At most so many bytes of items, as [`BriefItem::bytes`] counts them.
    pub bytes_max: usize,
}

impl Default for BriefBudget {
    fn default() -> Self {
        Self {
            items_max: BRIEF_ITEMS_USUAL,
            bytes_max: BRIEF_BYTES_USUAL,
        }
    }
}

impl BriefBudget {
    /// What an asker has room for; the usual where nothing is said.
    ///
    /// # Errors
    /// `invalid_argument` for 0, `too_large` for more than the limits allow.
    pub fn of(items_max: Option<usize>, bytes_max: Option<usize>) -> Result<Self, Error> {
        let usual = Self::default();
        let wanted = Self {
            items_max: items_max.unwrap_or(usual.items_max),
            bytes_max: bytes_max.unwrap_or(usual.bytes_max),
        };
        if wanted.items_max == 0 || wanted.bytes_max == 0 {
            return Err(Error::new(
                ErrorCode::InvalidArgument,
                "a brief has room for at least one item and one byte",
            ));
        }
        for (what, limit, given) in [
            ("items of a brief", BRIEF_ITEMS_MAX, wanted.items_max),
            ("bytes of a brief", BRIEF_BYTES_MAX, wanted.bytes_max),
        ] {
            if given > limit {
                return Err(Error::too_large(what, limit as u64, given as u64));
            }
        }
        Ok(wanted)
    }
}

/// One item of a brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BriefItem {
    /// A decision that holds, with its text.
    Decision {
        /// Why it stands where it does.
        layer: Layer,
        /// The scope that holds it.
        scope: Scope,
        /// The version that holds.
        version: DecisionVersion,
        /// How strong it is.
        rank: Rank,
    },
    /// Something that a change of the nodes at hand affects, without its text.
    Structural {
        /// What is affected.
        affected: Affected,
        /// The relations that lead there from the nodes at hand, in order.
        path: Vec<Edge>,
    },
    /// An anchor, without the text of anything.
    Anchor {
        /// The scope that holds it.
        scope: Scope,
        /// The anchor.
        anchor: Anchor,
        /// What it leads to, as [`by_rank`](crate::anchor::by_rank) orders it.
        leads: Vec<Lead>,
    },
}

impl BriefItem {
    /// The reference to the affected node at `index`; none where there is no such node.
    #[must_use]
    pub fn of_impact(impact: &Impact, index: usize) -> Option<Self> {
        let affected = impact.affected.get(index)?.clone();
        let path = impact.path(index).into_iter().cloned().collect();
        Some(Self::Structural { affected, path })
    }

    /// The layer that it stands in.
    #[must_use]
    pub const fn layer(&self) -> Layer {
        match self {
            Self::Decision { layer, .. } => *layer,
            Self::Structural { .. } => Layer::Structural,
            Self::Anchor { .. } => Layer::Anchor,
        }
    }

    /// How much of a budget it takes: its bytes in the form in which decisions are stored. What an answer puts around it
    /// does not count.
    #[must_use]
    pub fn bytes(&self) -> usize {
        postcard::experimental::serialized_size(self).expect("plain data structures always encode")
    }
}

/// What was cut off one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The layer.
    pub layer: Layer,
    /// How many of its items are left out, as far as they were counted.
    pub items: u64,
    /// Whether there are more than were counted.
    pub more: bool,
}

/// What an agent loads before it works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// The items, in the order of loading.
    pub items: Vec<BriefItem>,
    /// The bytes of all of them and of the warnings, as [`BriefItem::bytes`] and [`Warning::bytes`] count them.
    pub bytes: u64,
    /// What was found and left out, by layer: what the budget cut off, and references for which the structural layer has no
    /// room ([`structural_max`]), each of them once. Empty when everything is there that was found.
    pub cut: Vec<Cut>,
    /// What the limits of an impact kept from being found, of the structural layer.
    pub impact_cut: Option<impact::Cut>,
    /// Failures of other tasks that are like this one, in the room that the items leave.
    pub warnings: Vec<Warning>,
    /// Whether there are more of them than are told, or more failed than was looked at.
    pub warnings_cut: bool,
}

impl Brief {
    /// The decisions whose texts stand in it. What is structural and not among them is told by its title alone: an impact
    /// knows no domain and looks inside the scope, the layers do neither, and a budget may have cut it off.
    #[must_use]
    pub fn loaded(&self) -> BTreeSet<Node> {
        let decisions = self.items.iter().filter_map(|item| match item {
            BriefItem::Decision { scope, version, .. } => Some(Node::Decision {
                scope: scope.clone(),
                root: version.root,
            }),
            BriefItem::Structural { .. } | BriefItem::Anchor { .. } => None,
        });
        decisions.collect()
    }
}

#[cfg(test)]
mod tests;
