//! Walks of several edges: all of them, the nodes that they reach, and the shortest ones.
//!
//! Owns three searches, none of which calls itself: a walk may be as long as the graph has edges. All
//! walks together are more than can be counted on a graph with cycles, so where nothing asks how a node is
//! reached, each node is found once (`Walk::once`), in the order of how near it is.

use std::collections::{BTreeMap, VecDeque};

use grafeo_adapters::query::cypher::Direction;

use crate::meter::Stop;
use crate::plan::{Expr, Shortest, Slot, Walk};
use crate::run::Exec;
use crate::run_match::Next;
use crate::value::{VALUE_BYTES, Value};

/// What one place of a search takes.
const PLACE_BYTES: usize = 96;

/// How a node was reached first: how far away it is, and by which edge of the first node.
#[derive(Clone, Copy)]
struct Reached {
    depth: u32,
    branch: Option<u32>,
}

impl Exec<'_, '_> {
    pub(crate) fn walk(&mut self, next: Next<'_>, walk: &Walk) -> Result<(), Stop> {
        let Value::Node(from) = self.row[walk.from] else {
            return Ok(());
        };
        if walk.once {
            return self.reach(next, walk, from);
        }
        if walk.min == 0 {
            self.arrive(next, walk, from, &[])?;
        }
        if walk.max == 0 {
            return Ok(());
        }
        let mut path: Vec<u32> = Vec::new();
        let mut places = vec![self.around(from, &walk.along)];
        while let Some(place) = places.last_mut() {
            let Some((edge, other)) = place.next() else {
                places.pop();
                if let Some(edge) = path.pop() {
                    self.meter.close(PLACE_BYTES);
                    self.states[next.of.id].used.remove(&edge);
                }
                continue;
            };
            self.meter.step()?;
            if !self.is_along(edge, &walk.along)
                || self.states[next.of.id].used.contains(&edge)
                || !self.each_holds(walk.one, &walk.each, edge)?
            {
                continue;
            }
            path.push(edge);
            self.states[next.of.id].used.insert(edge);
            let length = u32::try_from(path.len()).unwrap_or(u32::MAX);
            if length >= walk.min {
                self.arrive(next, walk, other, &path)?;
            }
            if length < walk.max {
                self.meter.open(PLACE_BYTES)?;
                places.push(self.around(other, &walk.along));
            } else {
                path.pop();
                self.states[next.of.id].used.remove(&edge);
            }
        }
        Ok(())
    }

    fn each_holds(&mut self, slot: Slot, each: &[Expr], edge: u32) -> Result<bool, Stop> {
        if each.is_empty() {
            return Ok(true);
        }
        self.row[slot] = Value::Edge(edge);
        for condition in each {
            if !self.holds(condition)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes on from the end of a walk, where that is the node that was asked for.
    fn arrive(&mut self, next: Next<'_>, walk: &Walk, node: u32, path: &[u32]) -> Result<(), Stop> {
        if walk.to_bound && !matches!(self.row[walk.to], Value::Node(n) if n == node) {
            return Ok(());
        }
        let mark = self.meter.mark();
        if walk.listed {
            self.row[walk.edges] = self.edges(path, walk.reversed)?;
        }
        self.row[walk.to] = Value::Node(node);
        self.go(next)?;
        if walk.listed {
            self.row[walk.edges] = Value::Null;
        }
        self.meter.drop_to(mark);
        Ok(())
    }

    fn edges(&mut self, path: &[u32], reversed: bool) -> Result<Value, Stop> {
        self.meter.take(VALUE_BYTES * (path.len() + 1))?;
        self.meter.work(VALUE_BYTES * path.len(), 1)?;
        let edges = path.iter().copied().map(Value::Edge);
        let edges = if reversed {
            edges.rev().collect()
        } else {
            edges.collect()
        };
        Ok(Value::list(edges)?)
    }

    /// Each node that some walk leads to, once. A nearest node is reached along no edge twice, so only the
    /// first node needs care: it is reached where an edge leads back to it that the way there did not take.
    fn reach(&mut self, next: Next<'_>, walk: &Walk, from: u32) -> Result<(), Stop> {
        if walk.min == 0 {
            self.arrive(next, walk, from, &[])?;
        }
        let both = walk.along.direction == Direction::Undirected;
        let first = Reached {
            depth: 0,
            branch: None,
        };
        let mut reached = BTreeMap::from([(from, first)]);
        let mut queue = VecDeque::from([(from, first)]);
        let mut back = false;
        while let Some((here, how)) = queue.pop_front() {
            if how.depth >= walk.max {
                continue;
            }
            for (edge, other) in self.around(here, &walk.along) {
                self.meter.step()?;
                if !self.is_along(edge, &walk.along)
                    || !self.each_holds(walk.one, &walk.each, edge)?
                {
                    continue;
                }
                let branch = how.branch.unwrap_or(edge);
                let Some(before) = reached.get(&other) else {
                    let next_place = Reached {
                        depth: how.depth + 1,
                        branch: Some(branch),
                    };
                    self.meter.open(PLACE_BYTES)?;
                    reached.insert(other, next_place);
                    queue.push_back((other, next_place));
                    self.arrive(next, walk, other, &[])?;
                    continue;
                };
                let length = how.depth + 1 + if both { before.depth } else { 0 };
                let closes = if !both {
                    other == from
                } else if other == from {
                    here == from || how.branch != Some(edge)
                } else {
                    before.branch != Some(branch)
                };
                back |= closes && length <= walk.max;
            }
        }
        if back && walk.min == 1 {
            self.arrive(next, walk, from, &[])?;
        }
        // What later stages keep stays paid for. The first node was free.
        self.meter.close(PLACE_BYTES * (reached.len() - 1));
        Ok(())
    }

    pub(crate) fn shortest(&mut self, next: Next<'_>, of: &Shortest) -> Result<(), Stop> {
        let (Value::Node(from), Value::Node(to)) = (&self.row[of.from], &self.row[of.to]) else {
            return Ok(());
        };
        let (from, to) = (*from, *to);
        if from == to {
            // A way back to the beginning is no shortest one.
            if of.min == 0 {
                self.row[of.edges] = self.edges(&[], false)?;
                self.go(next)?;
            }
            return Ok(());
        }
        let before = self.meter.opened();
        let ways = self.ways(of, from, to)?;
        let places = self.meter.opened() - before;
        self.follow(next, of, &ways, to)?;
        // What later stages keep stays paid for.
        self.meter.close(places);
        Ok(())
    }

    /// For each node up to the wanted one, how far it is and by which edges it is reached that soon.
    fn ways(&mut self, of: &Shortest, from: u32, to: u32) -> Result<Ways, Stop> {
        let mut ways: Ways = BTreeMap::from([(from, (0, Vec::new()))]);
        let mut queue = VecDeque::from([(from, 0_u32)]);
        let mut last = of.max;
        while let Some((here, depth)) = queue.pop_front() {
            if depth >= last {
                break;
            }
            for (edge, other) in self.around(here, &of.along) {
                self.meter.step()?;
                if !self.is_along(edge, &of.along) {
                    continue;
                }
                let (found, edges) = ways.entry(other).or_insert_with(|| {
                    queue.push_back((other, depth + 1));
                    (depth + 1, Vec::new())
                });
                if *found == depth + 1 && (of.all || edges.is_empty()) {
                    self.meter.open(PLACE_BYTES)?;
                    edges.push((edge, here));
                }
                if other == to {
                    last = depth + 1;
                }
            }
        }
        Ok(ways)
    }

    /// All ways from the end back to the beginning.
    fn follow(&mut self, next: Next<'_>, of: &Shortest, ways: &Ways, to: u32) -> Result<(), Stop> {
        let Some((length, _)) = ways.get(&to) else {
            return Ok(());
        };
        let length = usize::try_from(*length).unwrap_or(usize::MAX);
        let mut path: Vec<u32> = Vec::new();
        let mut places = vec![(to, 0_usize)];
        while let Some((node, tried)) = places.last_mut() {
            self.meter.step()?;
            let edges = ways.get(node).map_or(&[][..], |(_, edges)| edges);
            let Some((edge, before)) = edges.get(*tried) else {
                places.pop();
                path.pop();
                continue;
            };
            *tried += 1;
            path.push(*edge);
            if path.len() == length {
                let mark = self.meter.mark();
                self.row[of.edges] = self.edges(&path, true)?;
                self.go(next)?;
                self.row[of.edges] = Value::Null;
                self.meter.drop_to(mark);
                path.pop();
            } else {
                places.push((*before, 0));
            }
        }
        Ok(())
    }
}

type Ways = BTreeMap<u32, (u32, Vec<(u32, u32)>)>;
