//! The two rules that labelled pairs judge, as production has them.
//!
//! Must not know what any pair is labelled.

use sillok_circular_pairs::{Task, Tried};
use sillok_core::circular::{Approach, ErrorHash, Words};

/// By which errors are told apart.
pub(crate) fn hash(error: &str) -> [u8; 32] {
    *ErrorHash::of(error).as_bytes()
}

/// Whether what is proposed to a task is what failed before.
pub(crate) fn is_repeat(task: &Task, failed: &Tried, proposed: &Tried) -> bool {
    let words = |tried: &Tried| Words::of(&approach(tried), &task.description);
    words(proposed).is_like(&words(failed))
}

fn approach(tried: &Tried) -> Approach {
    Approach {
        text: tried.approach.clone(),
        files: tried.files.clone(),
        symbols: tried.symbols.clone(),
    }
}
