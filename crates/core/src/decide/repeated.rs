//! Deciding what becomes of an entry that was said once more, where another one contradicts it.
//!
//! Owns that a person is asked once about two that may never have met. How entries are linked is [`super::entry`]'s.

use super::Draft;
use super::entry::relate;
use super::restore::was_asked;
use crate::dedup::{self, Contradiction, Neighbour, Verdict};
use crate::id::EntryId;
use crate::limits::LINKS_MAX;
use crate::membership::WireVersion;
use crate::promotion::NewEntry;

/// Asks a person about what contradicts an entry that was said once more, by what both declare, where nobody was asked
/// about the two: they may never have met. One that keeps no more links is asked about no more: nothing would tell that it
/// was, and each repetition would ask again. While a node lives that reads no questions nothing is linked either: nobody
/// would ever be asked about two that are linked.
pub(super) fn relate_repeated(
    draft: &mut Draft<'_>,
    number: usize,
    (into, entry): (EntryId, &NewEntry),
    mut neighbours: Vec<Neighbour>,
) {
    if draft.context.facts.spoken < WireVersion::WITH_REVIEWS {
        return;
    }
    let head = draft.state.head(into);
    let head = head.expect("a verdict names a live entry that the state knows");
    if head.links.len() >= LINKS_MAX {
        return;
    }
    neighbours.retain(|known| {
        let against = Verdict::Contradicts {
            with: known.id,
            why: Contradiction::Claim,
        };
        known.id != into && !was_asked(draft, head, against)
    });
    let verdict = dedup::claim_verdict(entry, &neighbours);
    relate(draft, number, into, verdict);
}
