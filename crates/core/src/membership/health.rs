//! Health: what is wrong with a cluster, as one node sees it.
//!
//! Owns the reasons for which a cluster counts as unhealthy. Pure: rows, silence and what waits are
//! arguments. Nothing is done about a reason here, and nothing that is safe rests on one.

use core::fmt;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{BeatConfig, Nodes, OwnerRow, is_claimable, living};
use crate::slot::Slot;

/// Commits of one slot that a stream may lack before that counts as unhealthy.
pub const UNTOLD_MAX: u64 = 100;
/// Beats that a node may miss, as seen by another, before that counts as unhealthy.
const BEATS_MISSED_MAX: u64 = 2;

/// A cluster at one moment, as one node sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// All nodes that ever registered.
    pub nodes: &'a Nodes,
    /// Who owns each slot that was ever owned.
    pub owners: &'a BTreeMap<Slot, OwnerRow>,
    /// For how long no new beat of a node was seen, in ms.
    pub silent_ms: &'a BTreeMap<String, u64>,
    /// Commits of each slot that a stream of all nodes was not told of, counted up to
    /// [`UNTOLD_MAX`].
    pub untold: &'a BTreeMap<Slot, u64>,
}

/// Why a cluster is unhealthy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// No node counts as living: nobody takes a write.
    NobodyLives,
    /// A node that counts as living was not heard of.
    Silent {
        /// Its name.
        node: String,
        /// For how long, in ms.
        silent_ms: u64,
    },
    /// A node that counts as living says that it does not reach the bus.
    OffBus {
        /// Its name.
        node: String,
    },
    /// A node that counts as living has taken slots that it does not serve yet.
    Behind {
        /// Its name.
        node: String,
    },
    /// Slots belong to a run that is over. The next command for one finds it a new owner.
    OwnerGone {
        /// The node whose run it was.
        node: String,
        /// How many slots.
        slots: u64,
    },
    /// A stream of all nodes lacks many commits of some slots.
    Untold {
        /// How many slots.
        slots: u64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NobodyLives => write!(f, "no node counts as living"),
            Self::Silent { node, silent_ms } => {
                write!(f, "node {node} has been silent for {silent_ms} ms")
            }
            Self::OffBus { node } => write!(f, "node {node} does not reach the bus"),
            Self::Behind { node } => {
                write!(f, "node {node} owns slots that it does not serve yet")
            }
            Self::OwnerGone { node, slots } => {
                write!(
                    f,
                    "{slots} slots belong to a run of node {node} that is over"
                )
            }
            Self::Untold { slots } => write!(
                f,
                "of {slots} slots a stream lacks {UNTOLD_MAX} commits or more"
            ),
        }
    }
}

/// Why a cluster is unhealthy: nothing if it is not.
#[must_use]
pub fn reasons(sight: &Sight<'_>, config: &BeatConfig) -> Vec<Reason> {
    let mut found = Vec::new();
    if living(sight.nodes).next().is_none() {
        found.push(Reason::NobodyLives);
    }
    // A beat is seen by a beat of one's own, which may lie just before it.
    let heard_within_ms = config.every_ms.saturating_mul(BEATS_MISSED_MAX + 1);
    for node in living(sight.nodes) {
        if let Some(silent_ms) = sight.silent_ms.get(node)
            && *silent_ms > heard_within_ms
        {
            found.push(Reason::Silent {
                node: node.to_owned(),
                silent_ms: *silent_ms,
            });
        }
        if !sight.nodes[node].reaches_bus {
            found.push(Reason::OffBus {
                node: node.to_owned(),
            });
        }
        if sight.nodes[node].is_behind {
            found.push(Reason::Behind {
                node: node.to_owned(),
            });
        }
    }
    let mut gone: BTreeMap<&str, u64> = BTreeMap::new();
    for owner in sight.owners.values() {
        if is_claimable(Some(owner), sight.nodes.get(&owner.node)) {
            *gone.entry(&owner.node).or_default() += 1;
        }
    }
    found.extend(gone.into_iter().map(|(node, slots)| Reason::OwnerGone {
        node: node.to_owned(),
        slots,
    }));
    let behind = sight.untold.values().filter(|rows| **rows >= UNTOLD_MAX);
    let slots = behind.count() as u64;
    if slots > 0 {
        found.push(Reason::Untold { slots });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Epoch, Incarnation};
    use crate::membership::NodeRow;
    use crate::membership::WireVersion;

    fn node(incarnation: u64, fenced: bool) -> NodeRow {
        NodeRow {
            incarnation: Incarnation(incarnation),
            beat: 7,
            fenced,
            reaches_bus: true,
            is_behind: false,
            reads: WireVersion::FIRST,
        }
    }

    fn owner(node: &str, incarnation: u64) -> OwnerRow {
        OwnerRow {
            node: node.to_owned(),
            incarnation: Incarnation(incarnation),
            epoch: Epoch(3),
        }
    }

    fn owners(of: &[(&str, u64)]) -> BTreeMap<Slot, OwnerRow> {
        let numbered = of.iter().zip(0..);
        numbered
            .map(|((name, run), slot)| (Slot::new(slot).unwrap(), owner(name, *run)))
            .collect()
    }

    /// What is wrong with nodes `a` and `b`, in their second runs.
    fn judged(
        b_is_fenced: bool,
        owned: &[(&str, u64)],
        silent_ms: &[(&str, u64)],
        untold: &[u64],
    ) -> Vec<Reason> {
        let nodes = Nodes::from([
            ("a".to_owned(), node(2, false)),
            ("b".to_owned(), node(2, b_is_fenced)),
        ]);
        let silent = silent_ms.iter();
        let rows = untold.iter().zip(0..);
        let sight = Sight {
            nodes: &nodes,
            owners: &owners(owned),
            silent_ms: &silent.map(|(name, ms)| ((*name).to_owned(), *ms)).collect(),
            untold: &rows
                .map(|(rows, slot)| (Slot::new(slot).unwrap(), *rows))
                .collect(),
        };
        reasons(&sight, &BeatConfig::default())
    }

    #[test]
    fn nothing_is_wrong_with_a_cluster_that_beats_and_owns_its_slots() {
        let untold = [0, UNTOLD_MAX - 1];
        assert_eq!(
            judged(false, &[("a", 2), ("b", 2)], &[("b", 3_000)], &untold),
            []
        );
        // Who has left and owns nothing is missed by nobody.
        assert_eq!(judged(true, &[("a", 2)], &[("b", 90_000)], &[]), []);
    }

    #[test]
    fn silence_slots_of_runs_that_are_over_and_a_stream_that_lags_are_named() {
        let found = judged(
            false,
            &[("a", 2), ("b", 1), ("b", 1), ("gone", 4)],
            &[("b", 3_001)],
            &[UNTOLD_MAX, 0, UNTOLD_MAX],
        );
        let (b, gone) = ("b".to_owned(), "gone".to_owned());
        let expected = [
            Reason::Silent {
                node: b.clone(),
                silent_ms: 3_001,
            },
            Reason::OwnerGone { node: b, slots: 2 },
            Reason::OwnerGone {
                node: gone,
                slots: 1,
            },
            Reason::Untold { slots: 2 },
        ];
        assert_eq!(found, expected);
        let said: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(said[1], "2 slots belong to a run of node b that is over");
        let fenced = judged(true, &[("b", 2)], &[], &[]);
        assert!(matches!(&fenced[..], [Reason::OwnerGone { slots: 1, .. }]));
    }

    /// What is wrong with two nodes that own nothing and have rows as `row` makes them, `a` living and `b` fenced.
    fn judged_by_rows(row: impl Fn(NodeRow) -> NodeRow) -> Vec<Reason> {
        let row = |fenced| row(node(1, fenced));
        let nodes = Nodes::from([("a".to_owned(), row(false)), ("b".to_owned(), row(true))]);
        let sight = Sight {
            nodes: &nodes,
            owners: &BTreeMap::new(),
            silent_ms: &BTreeMap::new(),
            untold: &BTreeMap::new(),
        };
        reasons(&sight, &BeatConfig::default())
    }

    #[test]
    fn a_living_node_without_the_bus_is_named() {
        let found = judged_by_rows(|row| NodeRow {
            reaches_bus: false,
            ..row
        });
        let node = "a".to_owned();
        assert_eq!(found, [Reason::OffBus { node }]);
        assert_eq!(found[0].to_string(), "node a does not reach the bus");
    }

    #[test]
    fn a_living_node_that_owns_more_than_it_serves_is_named() {
        let found = judged_by_rows(|row| NodeRow {
            is_behind: true,
            ..row
        });
        let node = "a".to_owned();
        assert_eq!(found, [Reason::Behind { node }]);
        let said = found[0].to_string();
        assert_eq!(said, "node a owns slots that it does not serve yet");
    }

    #[test]
    fn that_nobody_lives_is_said_first() {
        let sight = Sight {
            nodes: &Nodes::from([("a".to_owned(), node(1, true))]),
            owners: &owners(&[("a", 1)]),
            silent_ms: &BTreeMap::new(),
            untold: &BTreeMap::new(),
        };
        let found = reasons(&sight, &BeatConfig::default());
        assert_eq!(found[0], Reason::NobodyLives);
        assert_eq!(found.len(), 2);
    }
}
