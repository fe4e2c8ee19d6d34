//! Who reaches the bus, and what a node does that does not: whoever cannot be handed a command leaves its
//! slots to others that can.
//!
//! Owns when a node counts as cut off. Pure: the state of its connection and the rows of all nodes are
//! arguments. No write rests on what is decided here: slots change hands as always.

use super::{NodeRow, Nodes, living};

/// How long a node was without the bus when its beats begin to say so, in ms of its boot clock. A bus that is
/// started again is back by then.
const LOST_AFTER_MS: u64 = 3_000;
/// Beats in a row in which another living node reached the bus and this one did not. When the bus itself is
/// gone, nodes find that out some seconds apart, and nobody is to move slots for it.
const BEATS_CUT_OFF: u32 = 5;

/// The names of the nodes that slots belong on, in order: of the living ones those that reach the bus. All of
/// them where none does: another one would be no better place.
#[must_use]
pub fn homes(nodes: &Nodes) -> Vec<&str> {
    let reach = |name: &&str| nodes[*name].reaches_bus;
    let reaching: Vec<&str> = living(nodes).filter(reach).collect();
    if reaching.is_empty() {
        living(nodes).collect()
    } else {
        reaching
    }
}

/// What a node knows of its own way to the bus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    lost_at_ms: Option<u64>,
    beats_cut_off: u32,
}

impl Reach {
    /// Before a beat that starts at `now_ms`: what it says of this node.
    pub fn before_beat(&mut self, is_connected: bool, now_ms: u64) -> bool {
        if is_connected {
            *self = Self::default();
            return true;
        }
        let lost_at_ms = *self.lost_at_ms.get_or_insert(now_ms);
        now_ms.saturating_sub(lost_at_ms) < LOST_AFTER_MS
    }

    /// After a beat that committed, said of `me` that it `reaches` the bus or does not, and saw `nodes`:
    /// whether the node is cut off, so that its slots go to others.
    pub fn after_beat(&mut self, me: &str, reaches: bool, nodes: &Nodes) -> bool {
        let others_reach =
            |(name, row): (&String, &NodeRow)| name != me && !row.fenced && row.reaches_bus;
        self.beats_cut_off = if !reaches && nodes.iter().any(others_reach) {
            self.beats_cut_off.saturating_add(1)
        } else {
            0
        };
        self.beats_cut_off >= BEATS_CUT_OFF
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::Incarnation;
    use crate::membership::WireVersion;

    fn nodes(of: &[(&str, bool, bool)]) -> Nodes {
        let row = |fenced, reaches_bus| NodeRow {
            incarnation: Incarnation(1),
            beat: 1,
            fenced,
            reaches_bus,
            is_behind: false,
            reads: WireVersion::FIRST,
        };
        of.iter()
            .map(|(name, fenced, reaches)| ((*name).to_owned(), row(*fenced, *reaches)))
            .collect()
    }

    #[test]
    fn slots_belong_on_living_nodes_that_reach_the_bus_or_else_on_all_living_ones() {
        let of = nodes(&[("a", false, true), ("b", false, false), ("c", true, true)]);
        assert_eq!(homes(&of), ["a"]);
        let of = nodes(&[("a", false, false), ("b", false, false), ("c", true, true)]);
        assert_eq!(homes(&of), ["a", "b"]);
        assert!(homes(&nodes(&[("c", true, true)])).is_empty());
    }

    #[test]
    fn a_node_is_cut_off_when_others_reach_the_bus_for_some_beats_and_it_does_not() {
        let others = nodes(&[("a", false, true), ("b", false, true)]);
        let mut reach = Reach::default();
        let mut cut_off_at = None;
        for now_ms in (0..20_000).step_by(1_000) {
            let reaches = reach.before_beat(false, now_ms);
            assert_eq!(reaches, now_ms < LOST_AFTER_MS);
            if reach.after_beat("a", reaches, &others) {
                cut_off_at.get_or_insert(now_ms);
            }
        }
        let beats_ms = u64::from(BEATS_CUT_OFF - 1) * 1_000;
        assert_eq!(cut_off_at, Some(LOST_AFTER_MS + beats_ms));
        // It is back with the first beat that finds it connected.
        assert!(reach.before_beat(true, 20_000));
        assert!(!reach.after_beat("a", true, &others));
    }

    proptest! {
        /// When the bus is gone for all, nobody is cut off, however far apart they find it out within the
        /// beats that are waited for.
        #[test]
        fn nobody_is_cut_off_from_a_bus_that_is_gone(found_ms in proptest::array::uniform3(0_u64..3_000)) {
            let names = ["a", "b", "c"];
            let mut reaches = [true; 3];
            let mut reach: [Reach; 3] = Default::default();
            for beat in 0..60_u64 {
                for me in 0..3 {
                    let now_ms = beat * 1_000 + me as u64 * 300;
                    let is_connected = now_ms < 5_000 + found_ms[me];
                    reaches[me] = reach[me].before_beat(is_connected, now_ms);
                    let rows: Vec<_> = (0..3).map(|at| (names[at], false, reaches[at])).collect();
                    prop_assert!(!reach[me].after_beat(names[me], reaches[me], &nodes(&rows)));
                }
            }
        }
    }
}
