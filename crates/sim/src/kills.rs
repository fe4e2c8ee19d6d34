//! The end of actors, or of a whole process, while a commit is on its way.
//!
//! Owns how often that comes, and how much longer such a commit takes. That a fault wants it at all, the list of faults says.

use crate::heap::{Due, Place, Shared};
use crate::rng::Purpose;

/// Commits on whose way actors are killed, while a fault wants that, in a thousandth.
const KILLED_PERMILLE: u32 = 150;
/// The same of those that save an original in chunks: there are few.
const KILLED_IN_CHUNKS_PERMILLE: u32 = 700;
/// When they are killed, in µs after the commit left them.
const KILLED_US: u64 = 100;
/// How much longer such a commit takes, in µs, at least and at most.
const KILLED_LATE_US: (u64, u64) = (5_000, 150_000);

impl Shared {
    /// Has a node's actors killed while a commit is on its way that saves so many originals in chunks, if a fault wants
    /// that, or its process ended, so often in a thousandth: how much longer the commit takes then, in µs.
    pub(crate) fn kill_in_commit(
        &mut self,
        place: Place,
        originals: usize,
        ended_permille: u32,
    ) -> u64 {
        let permille = match originals {
            0 => KILLED_PERMILLE,
            _ => KILLED_IN_CHUNKS_PERMILLE,
        };
        if !self.kills_in_commit.contains(&place)
            || !self.chance(Purpose::Commit, place).permille(permille)
        {
            return 0;
        }
        if originals > 0 {
            self.effects.saw("ended while evidence in chunks was saved");
        }
        let chance = self.chance(Purpose::Commit, place);
        let due = if chance.permille(ended_permille) {
            Due::Crash(place)
        } else {
            Due::KillActors(place)
        };
        self.schedule(KILLED_US, due);
        self.draw_us(Purpose::Commit, place, KILLED_LATE_US)
    }
}
