//! The end of a process at a call of one's choice.
//!
//! Owns the counting of calls, and what is found where a process ended at one. Which of them are counted, whoever plays says.

use sillok_actors::protocol::Protocol;
use sillok_core::stamp::Stamp;

use super::{START_ANEW_US, World};
use crate::heap::{Act, Place};

/// The end of a node's process at one of the calls that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kill {
    /// The node, by its number.
    pub node: u16,
    /// Which of its calls that are counted, from 1.
    pub call: u64,
    /// Whether the call is carried out before, with nobody left to hear of it.
    pub carried_out: bool,
}

/// What the next run of a process finds that ended at a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// For each of its indices how many entries are stored in it, and through which commit.
    pub indexed: Vec<(usize, Option<Stamp>)>,
    /// Commits of all nodes so far that wrote events.
    pub commits: u64,
}

/// The calls that were counted, and the process that ends at one of them.
pub(super) struct Counted {
    kill: Option<Kill>,
    /// By the number of the node.
    pub(super) calls: Vec<u64>,
    /// The node whose process has ended, until it is started again.
    ended: Option<Place>,
    pub(super) found: Option<Found>,
}

impl Counted {
    /// None so far, of so many nodes.
    pub(super) fn of(nodes: usize) -> Self {
        Self {
            kill: None,
            calls: vec![0; nodes],
            ended: None,
            found: None,
        }
    }
}

impl<P: Protocol> World<P> {
    /// The same world, in which a process ends at one of its calls.
    #[must_use]
    pub fn killing(mut self, kill: Kill) -> Self {
        self.counted.kill = Some(kill);
        self
    }

    /// Counts a call of a node, and says whether its process ends with that.
    pub(super) fn ends_here(&mut self, place: Place) -> Option<Kill> {
        let counts = self.sim.lock().counts_calls();
        let calls = &mut self.counted.calls[usize::from(place.0)];
        *calls += u64::from(counts);
        let call = *calls;
        let here = (place.0, call);
        self.counted
            .kill
            .filter(|kill| counts && (kill.node, kill.call) == here)
    }

    /// Ends the process of a node at a call, before it does anything or right after it.
    pub(super) fn kill(&mut self, place: Place, kill: Kill, act: Act) {
        if kill.carried_out {
            act(&mut self.sim.lock());
        }
        self.crash(place, START_ANEW_US);
        self.counted.ended = Some(place);
    }

    /// Notes what a node finds that is started again after that.
    pub(super) fn note_found(&mut self, place: Place) {
        if self.counted.ended != Some(place) {
            return;
        }
        self.counted.ended = None;
        let stored = self.nodes[usize::from(place.0)].stored.values();
        self.counted.found = Some(Found {
            indexed: stored.map(|stored| stored.lock().extent()).collect(),
            commits: self.sim.lock().monitor.commits(),
        });
    }
}
