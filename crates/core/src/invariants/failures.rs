//! Invariant 5 for fixes that failed: each is that of a failed verification, and says what this one says.

use super::{Invariant, Violation, ensure};
use crate::event::{Body, FixFailed};
use crate::verification::{Outcome, Verification};

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

/// Whether a verification says that this failed. Of what was erased, neither says anything.
fn tells(recorded: &Verification, failed: &FixFailed) -> bool {
    let said = &recorded.said;
    let is_it = recorded.id == failed.verification && said.outcome == Outcome::Failed;
    let says_error = said
        .error
        .as_ref()
        .is_some_and(|error| !error.trim().is_empty());
    let error = match &failed.error {
        Some(_) => said.error.is_some(),
        None => !says_error,
    };
    let reason = says_error || failed.reason.is_empty();
    let approach = match (&said.approach, &failed.approach) {
        (Some(said), Some(approach)) => {
            let is_named = !(approach.files.is_empty() && approach.symbols.is_empty());
            *said == approach.text && !(is_named && said.is_empty())
        }
        (said, failed) => said.is_none() && failed.is_none(),
    };
    is_it && error && reason && approach
}

#[cfg(test)]
mod tests;
