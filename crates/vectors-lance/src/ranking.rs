//! Ranked lists: order, ties and length.
//!
//! Owns that the better score comes first and that ties are broken the same way everywhere. It
//! must not know how scores are made.

use sillok_core::ports::Ranked;

/// The `limit` best, best first; equal scores in the order of entry and scope.
pub(crate) fn best(mut found: Vec<Ranked>, limit: usize) -> Vec<Ranked> {
    let order = |a: &Ranked, b: &Ranked| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (a.entry, &a.scope).cmp(&(b.entry, &b.scope)))
    };
    if limit > 0 && limit < found.len() {
        found.select_nth_unstable_by(limit - 1, order);
    }
    found.truncate(limit);
    found.sort_unstable_by(order);
    found
}
