//! Rows of approaches that failed.
//!
//! Owns which row each change of them lies in. Of one that was erased there is none.

use sillok_core::state::Change;
use sillok_store::keys::failed_approach::{self, Key};
use sillok_store::keys::related::ScopePath;

use super::{Place, Row};

/// The row that a change of an approach that failed in the task at `place` leads to.
pub(super) fn row_of(place: &Place, change: &Change) -> Row {
    match change {
        Change::ApproachFailed(failed) => Row::holding(
            failed_approach::key(&Key::of(failed)),
            failed_approach::encode(failed),
        ),
        Change::ApproachErased(seq) => {
            let task = ScopePath::of(&place.scope);
            let key = failed_approach::key(&Key { task, seq: *seq });
            Row { key, value: None }
        }
        _ => unreachable!("only changes of approaches that failed come here"),
    }
}
