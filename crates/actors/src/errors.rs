//! What a store's or an engine's answer means to the caller of a command.
//!
//! Owns the mapping from their errors to the closed set of `core`.

use sillok_core::ports::PortError;
use sillok_core::{Error, ErrorCode};
use sillok_store::Error as StoreError;

/// What a caller who met another writer is told to wait, in ms.
const RETRY_AFTER_MS: u64 = 100;

/// The refusal that a caller gets for a store's error. The source is told once, in the message.
pub(crate) fn refusal(error: &StoreError) -> Error {
    let code = match error {
        StoreError::Conflict | StoreError::TooOld => {
            return Error::busy(error.to_string(), RETRY_AFTER_MS);
        }
        StoreError::TooLarge { what, limit, got } => {
            return Error::too_large(what, *limit as u64, *got as u64);
        }
        StoreError::OutcomeUnknown => ErrorCode::OutcomeUnknown,
        StoreError::Unavailable { .. } | StoreError::Closed | StoreError::Locked { .. } => {
            ErrorCode::Unavailable
        }
        StoreError::InvalidKey { .. }
        | StoreError::NewerFormat { .. }
        | StoreError::LayoutMismatch { .. }
        | StoreError::Corrupt { .. } => ErrorCode::Internal,
    };
    Error::new(code, error.to_string())
}

/// The refusal of whoever waits for a slot that could not be claimed. Whether a claim of which nobody
/// heard went through is seen when the slot is looked at again.
pub(crate) fn claim_refusal(error: &StoreError) -> Error {
    let mut refused = refusal(error);
    if refused.code == ErrorCode::OutcomeUnknown {
        refused.code = ErrorCode::Unavailable;
    }
    refused
}

/// The refusal that a caller gets for the error of an engine.
pub(crate) fn engine_refusal(error: &PortError) -> Error {
    let code = match error {
        // What is damaged is made anew.
        PortError::Unavailable(_) | PortError::Damaged { .. } => ErrorCode::Unavailable,
        // Asking again does not help.
        PortError::Unusable(_) | PortError::Wasted { .. } => ErrorCode::Internal,
    };
    Error::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use sillok_core::ports::Lost;

    use super::*;

    #[test]
    fn who_met_another_writer_is_told_when_to_come_back() {
        for error in [StoreError::Conflict, StoreError::TooOld] {
            let refused = refusal(&error);
            assert_eq!(refused.code, ErrorCode::Busy);
            assert_eq!(refused.retry_after_ms(), Some(RETRY_AFTER_MS));
        }
    }

    #[test]
    fn an_engine_that_asking_again_does_not_help_is_not_out_of_reach() {
        let of = |error: PortError| engine_refusal(&error).code;
        assert_eq!(
            of(PortError::Unavailable("later".into())),
            ErrorCode::Unavailable
        );
        assert_eq!(
            of(PortError::Damaged {
                why: "anew".into(),
                lost: Lost::All
            }),
            ErrorCode::Unavailable
        );
        assert_eq!(of(PortError::Unusable("never".into())), ErrorCode::Internal);
    }
}
