//! Who gives up on a node that it waits for, since that is gone, or is taken for gone.
//!
//! Owns how soon the end of a run is found out, and that the bus may say so of a node that lives.

use super::Calling;
use crate::heap::{Due, Place, Shared};

/// After how long a node finds out that the run of another one is over which it waits for, in µs, at least and at most.
const LOOK_US: (u64, u64) = (100_000, 250_000);
/// The same where a living one is taken for gone: sooner than it could answer, too.
const WRONG_US: (u64, u64) = (1_000, 250_000);

impl Shared {
    /// After how many µs a node takes another one for gone that it asks something, though that is there: what the bus
    /// says of it need not be true.
    pub(super) fn takes_for_gone_us(&mut self, from: Place, to: Place) -> Option<u64> {
        let is_between_nodes = from != Place::CLIENTS && to != Place::CLIENTS;
        let wrong = self.noise.drop_permille;
        let chance = self.chance_between(from, to);
        let takes = is_between_nodes && chance.permille(wrong);
        takes.then(|| chance.between(WRONG_US.0, WRONG_US.1))
    }

    /// A caller takes a node for gone that lives, and has not answered yet what came to it.
    pub(super) fn takes_for_gone(&mut self, call: u64) {
        let runs = &self.runs;
        if let Some(calling) = self.net.calls.get_mut(&call)
            && calling.answer.is_some()
            && calling.lost.is_none()
            && runs.contains_key(&calling.to)
        {
            calling.lost = Some("no answer, since a living node was taken for gone");
            calling.is_taken_for_gone = true;
            self.give_up(call);
        }
    }

    /// Forgets the calls of a node whose run is over. Other nodes find out soon that it does not answer theirs.
    pub(crate) fn forget_calls_of(&mut self, place: Place) {
        self.net.calls.retain(|_, calling| calling.from != place);
        let cut = &self.net.cut;
        let is_cut_off = |from| {
            let ways = [(from, Place::STREAM), (Place::STREAM, from)];
            ways.iter().any(|way| cut.contains_key(way))
        };
        let waits = |calling: &Calling| {
            let is_node = calling.from != Place::CLIENTS && calling.answer.is_some();
            // Without the bus it finds out nothing.
            is_node && calling.to == place && !is_cut_off(calling.from)
        };
        let calls = self.net.calls.iter_mut();
        let waiting = calls.filter(|(_, calling)| waits(calling));
        let found_out: Vec<(u64, Place)> = waiting
            .map(|(call, calling)| {
                calling
                    .lost
                    .get_or_insert("no answer, since the node's run was over");
                (*call, calling.from)
            })
            .collect();
        for (call, from) in found_out {
            let look_us = self
                .chance_between(from, place)
                .between(LOOK_US.0, LOOK_US.1);
            let run = self.run_of(from).unwrap_or(0);
            let gives_up = Box::new(move |shared: &mut Self| shared.give_up(call));
            self.schedule(look_us, Due::Act(Some((from, run)), gives_up));
        }
    }
}
