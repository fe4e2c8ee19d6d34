//! What a store's answer means to the caller of a command.
//!
//! Owns the mapping from the store's errors to the closed set of `core`.

use sillok_core::{Error, ErrorCode};
use sillok_store::Error as StoreError;

/// The refusal that a caller gets for a store's error. The source is told once, in the message.
pub(crate) fn refusal(error: &StoreError) -> Error {
    let code = match error {
        StoreError::Conflict | StoreError::TooOld => ErrorCode::Busy,
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
