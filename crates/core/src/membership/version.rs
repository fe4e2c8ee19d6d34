//! Versions: what nodes of different releases write to one another and into the store they share.
//!
//! Owns the rule that the older one wins until all are new. It must not know what differs between two
//! versions: whoever writes something in more than one form asks which version is spoken.

use core::fmt;

use serde::{Deserialize, Serialize};

use super::{Nodes, living};

/// A version of what nodes tell one another. Each node reads those before its own as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct WireVersion(u8);

/// A number that is no version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a version is at least 1")]
pub struct NoVersion;

impl WireVersion {
    /// The first one, which nodes read that say nothing of it.
    pub const FIRST: Self = Self(1);
    /// The first one whose nodes heed quarantines.
    pub const WITH_QUARANTINES: Self = Self(2);
    /// The first one whose nodes read reviews, reports of reuse, and entries taken out of recall.
    pub const WITH_REVIEWS: Self = Self(3);
    /// The first one whose nodes know how the attempts at a promotion are kept, and that one is dropped.
    pub const WITH_ATTEMPTS: Self = Self(3);
    /// The first one whose nodes read citations of a stretch of a text.
    pub const WITH_EXCERPTS: Self = Self(3);
    /// The first one whose nodes read that content was erased.
    pub const WITH_ERASURE: Self = Self(4);
    /// The first one whose nodes read that an entry was brought back.
    pub const WITH_RESTORING: Self = Self(5);
    /// The first one whose nodes read which checkpoint a run of maintenance signed.
    pub const WITH_CHECKPOINTS: Self = Self(6);
    /// The first one whose nodes erase vectors that were made anew for an entry.
    pub const WITH_SPACES: Self = Self(6);
    /// The first one whose nodes read decisions.
    pub const WITH_DECISIONS: Self = Self(7);
    /// The first one whose nodes read evidence, anchors, and kinds of relations that are declared.
    pub const WITH_EVIDENCE: Self = Self(8);
    /// The first one whose nodes judge fixes that failed.
    pub const WITH_FAILURES: Self = Self(9);
    /// The first one whose nodes read that an entry's code is gone, or lies elsewhere.
    pub const WITH_GATE: Self = Self(10);
    /// The first one whose nodes keep trajectories.
    pub const WITH_TRAJECTORIES: Self = Self(11);
    /// The first one whose nodes read what a work tree was at.
    pub const WITH_BINDINGS: Self = Self(12);
    /// The newest one that this build knows.
    pub const NEWEST: Self = Self(12);

    /// Its number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for WireVersion {
    /// What is spoken where there are no other nodes.
    fn default() -> Self {
        Self::NEWEST
    }
}

impl TryFrom<u8> for WireVersion {
    type Error = NoVersion;

    /// A version that a later build knows is one too.
    fn try_from(number: u8) -> Result<Self, NoVersion> {
        (number >= Self::FIRST.0)
            .then_some(Self(number))
            .ok_or(NoVersion)
    }
}

impl From<WireVersion> for u8 {
    fn from(version: WireVersion) -> Self {
        version.0
    }
}

impl fmt::Display for WireVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The version that a node writes to all: the newest that it and every living node read. A node whose run
/// is over counts for nothing, however old it was.
#[must_use]
pub fn spoken(own: WireVersion, nodes: &Nodes) -> WireVersion {
    let read = living(nodes).filter_map(|name| nodes.get(name));
    read.map(|row| row.reads).fold(own, WireVersion::min)
}

/// Whether every living node reads a version, so that what came with it is heeded by all.
#[must_use]
pub fn all_read(version: WireVersion, nodes: &Nodes) -> bool {
    spoken(version, nodes) == version
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::Incarnation;
    use crate::membership::NodeRow;

    fn version(number: u8) -> WireVersion {
        WireVersion::try_from(number).unwrap()
    }

    fn nodes(of: &[(u8, bool)]) -> Nodes {
        let row = |(number, (reads, fenced)): (usize, &(u8, bool))| {
            let row = NodeRow {
                incarnation: Incarnation(1),
                beat: 1,
                fenced: *fenced,
                reaches_bus: true,
                is_behind: false,
                reads: version(*reads),
            };
            (format!("n{number}"), row)
        };
        of.iter().enumerate().map(row).collect()
    }

    #[test]
    fn the_older_one_wins_until_all_are_new() {
        let (first, newest) = (WireVersion::FIRST, WireVersion::NEWEST);
        assert_eq!(spoken(newest, &nodes(&[(12, false), (1, false)])), first);
        assert_eq!(spoken(newest, &nodes(&[(12, false), (1, true)])), newest);
        assert_eq!(spoken(newest, &nodes(&[(12, false), (13, false)])), newest);
        assert_eq!(spoken(first, &nodes(&[(8, false)])), first);
        assert_eq!(spoken(newest, &Nodes::new()), newest);
    }

    #[test]
    fn no_version_is_zero() {
        assert_eq!(WireVersion::try_from(0), Err(NoVersion));
        assert!(postcard::from_bytes::<WireVersion>(&[0]).is_err());
        assert_eq!(postcard::from_bytes(&[3]), Ok(version(3)));
    }

    proptest! {
        /// Nobody is written to in a form that it does not read, nor in an older one than need be.
        #[test]
        fn what_is_spoken_is_read_by_all_who_live_and_is_the_newest_such(
            own in 1_u8..9, of in proptest::collection::vec((1_u8..9, any::<bool>()), 0..8),
        ) {
            let found = spoken(version(own), &nodes(&of)).get();
            let alive: Vec<u8> = of.iter().filter(|(_, fenced)| !fenced).map(|(reads, _)| *reads).collect();
            prop_assert!(found <= own && alive.iter().all(|reads| found <= *reads));
            prop_assert!(found == own || alive.contains(&found));
        }

        /// A node that joins can only hold the others back, and one that goes can only let them on.
        #[test]
        fn a_node_more_never_raises_it(
            own in 1_u8..9, of in proptest::collection::vec((1_u8..9, any::<bool>()), 1..8),
        ) {
            let with = spoken(version(own), &nodes(&of));
            let without = spoken(version(own), &nodes(&of[..of.len() - 1]));
            prop_assert!(with <= without);
        }

        /// Any two nodes that see the same rows read what the other one writes, once each is among them.
        #[test]
        fn two_nodes_that_see_one_another_understand_one_another(
            of in proptest::collection::vec((1_u8..9, Just(false)), 2..8),
        ) {
            let all = nodes(&of);
            for (reads, _) in &of {
                for (writes, _) in &of {
                    prop_assert!(spoken(version(*writes), &all) <= version(*reads));
                }
            }
        }
    }
}
