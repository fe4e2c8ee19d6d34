//! Rows of trajectories.
//!
//! Owns which row each change of them lies in. Of one that was erased there is none.

use sillok_core::state::Change;
use sillok_store::keys::related::ScopePath;
use sillok_store::keys::trajectory::{self, Key};

use super::{Place, Row};

/// The row that a change of a trajectory of the task at `place` leads to.
pub(super) fn row_of(place: &Place, change: &Change) -> Row {
    match change {
        Change::TrajectoryStored(stored) => Row::holding(
            trajectory::key(&Key::of(stored)),
            trajectory::encode(stored),
        ),
        Change::TrajectoryErased(seq, at) => {
            let key = Key {
                task: ScopePath::of(&place.scope),
                at: *at,
                seq: *seq,
            };
            Row {
                key: trajectory::key(&key),
                value: None,
            }
        }
        _ => unreachable!("only changes of trajectories come here"),
    }
}
