//! Invariants 1 and 5 for fixes that failed: each is that of a failed verification, says what this one says, and counts its error
//! under a verification that failed with it.

use super::{Invariant, Violation, ensure};
use crate::circular::{ErrorHash, Wording, reason_of};
use crate::event::{Body, FixFailed};
use crate::secret::is_masked;
use crate::state::State;
use crate::verification::{Outcome, Verification};

/// Whether an error counts under the verification that failed with it first, as far as the task remembers.
pub(super) fn failure_applies(state: &State, failed: &FixFailed) -> Result<(), Violation> {
    let id = failed.verification;
    let applies = state.task().is_some_and(|task| {
        let seen = failed.error;
        seen.is_none_or(|seen| task.failures.may_be(seen, id))
    });
    ensure(applies, Invariant::Chained, || {
        format!("the error of verification {id} counts under one that did not fail with it first")
    })
}

/// Invariant 5: what failed of a fix stands behind the verification which says so, in one command. `bodies` are all events of it
/// but its records.
///
/// # Errors
/// What does not hold.
pub fn failure_is_told(bodies: &[Body]) -> Result<(), Violation> {
    let mut before: Option<&Body> = None;
    for body in bodies {
        if let Body::FixFailed(failed) = body {
            let told = match before {
                Some(Body::VerificationRecorded(recorded)) => tells(recorded, failed),
                _ => false,
            };
            ensure(told, Invariant::Backed, || {
                let id = failed.verification;
                format!("what failed of a fix is not what verification {id} says")
            })?;
        }
        before = Some(body);
    }
    Ok(())
}

/// Whether a verification says that this failed. Of what was erased, neither says anything. Which files and symbols an approach
/// touches, and how another release words or normalises, no verification says.
fn tells(recorded: &Verification, failed: &FixFailed) -> bool {
    let said = &recorded.said;
    let is_it = recorded.id == failed.verification && said.outcome == Outcome::Failed;
    let text = said.error.as_deref();
    let text = text.filter(|error| !error.trim().is_empty());
    let error = match &failed.error {
        Some(_) => said.error.is_some(),
        None => text.is_none(),
    };
    let reason = text.map_or(failed.reason.is_empty(), |text| gives_reason(text, failed));
    let approach = match (&said.approach, &failed.approach) {
        (Some(said), Some(approach)) => {
            let is_named = !(approach.files.is_empty() && approach.symbols.is_empty());
            *said == approach.text && !(is_named && said.is_empty())
        }
        (said, failed) => said.is_none() && failed.is_none(),
    };
    is_it && error && reason && approach && is_worded(failed)
}

/// Whether an error gives this reason, as far as the shorter of both goes. That is known where it is normalised here as it was
/// then, which its fingerprint says, and where no secret was taken out of the reason.
fn gives_reason(error: &str, failed: &FixFailed) -> bool {
    let is_same = |seen: ErrorHash| seen == ErrorHash::of(error);
    if !failed.error.is_some_and(|seen| is_same(seen.error)) || is_masked(&failed.reason) {
        return true;
    }
    let (made, reason) = (reason_of(error), &failed.reason);
    let begins = made.starts_with(reason.as_str()) || reason.starts_with(&made);
    begins && made.is_empty() == reason.is_empty()
}

/// Whether the approach has this wording, where the rule of this build made that.
fn is_worded(failed: &FixFailed) -> bool {
    match &failed.approach {
        Some(approach) => !failed.wording.is_current() || failed.wording == Wording::of(approach),
        None => failed.wording == Wording::default(),
    }
}

#[cfg(test)]
mod tests;
