//! The end of a process at a call of one's choice.
//!
//! Owns the counting of calls. Which of them are counted, whoever plays says.

use sillok_actors::protocol::Protocol;

use super::World;
use crate::heap::Place;

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

impl<P: Protocol> World<P> {
    /// The same world, in which a process ends at one of its calls.
    #[must_use]
    pub fn killing(mut self, kill: Kill) -> Self {
        self.kill = Some(kill);
        self
    }

    /// Counts a call of a node, and says whether its process ends with that.
    pub(super) fn ends_here(&mut self, place: Place) -> Option<Kill> {
        let counts = self.sim.lock().counts_calls;
        let calls = &mut self.calls[usize::from(place.0)];
        *calls += u64::from(counts);
        let call = *calls;
        let here = (place.0, call);
        self.kill
            .filter(|kill| counts && (kill.node, kill.call) == here)
    }
}
