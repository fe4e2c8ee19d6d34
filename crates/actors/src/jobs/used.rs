//! What a cognifier's calls have used, and what is left out of their answers: counted for the node, and noted for their
//! promotion.
//!
//! Owns that nothing of it is lost where an answer cannot be used. What it cost, the cognifier says.

use sillok_core::id::VerificationId;
use sillok_core::ports::PortError;
use sillok_core::promotion::{Cognition, NewEntry, Products, Used};
use sillok_store::Store;

use crate::commit::Shared;
use crate::metrics::count;
use crate::protocol::Protocol;

/// Notes what a cognifier's answer has used, whether it can be used or not.
pub(super) fn note<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    id: VerificationId,
    answer: &Result<Cognition, PortError>,
) {
    let used = match answer {
        Ok(cognition) => {
            let left_out = u64::from(cognition.left_out);
            count(&shared.counters.cognified_facts_left_out, left_out);
            cognition.used
        }
        Err(PortError::Wasted { used, .. }) => *used,
        Err(PortError::Unavailable(_) | PortError::Damaged { .. } | PortError::Unusable(_)) => {
            return;
        }
    };
    if used == Used::default() {
        return;
    }
    let counters = &shared.counters;
    for (counter, more) in [
        (&counters.cognifier_prompt_tokens, used.prompt_tokens),
        (
            &counters.cognifier_completion_tokens,
            used.completion_tokens,
        ),
        (&counters.cognifier_micro_dollars, used.micro_dollars),
    ] {
        count(counter, more.unwrap_or_default());
    }
    shared.jobs.used(id, shared.ports.cognifier.name(), used);
}

/// The entries of a promotion, once it is counted how many facts it had no room for.
pub(super) fn fitting<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    made: Products,
) -> Vec<NewEntry> {
    let left_out = made.left_out as u64;
    count(&shared.counters.cognified_facts_left_out, left_out);
    made.entries
}
