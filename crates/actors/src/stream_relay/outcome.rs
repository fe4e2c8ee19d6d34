//! What became of telling a stream: of one slot, and of a round over those that are marked.
//!
//! Owns which errors are the fault of one slot, and which keep the relay from all of them.

use sillok_bus::stream::StreamError;
use sillok_core::{Error, ErrorCode};
use sillok_store::Error as StoreError;

use crate::errors::refusal;

/// Why a slot was not told.
#[derive(Debug)]
pub(super) enum Untold {
    /// Something about this slot: the others go on.
    Slot(Error),
    /// The stream or the store does not answer.
    All(Error),
}

/// What became of a round over the slots that are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// All of it was told.
    Whole,
    /// Some rows of each slot were told, and some slots hold more.
    GoesOn,
    /// Some of it could not be told.
    Refused,
}

impl From<StreamError> for Untold {
    fn from(error: StreamError) -> Self {
        let refusal = Error::new(ErrorCode::Unavailable, error.to_string());
        match error {
            StreamError::Unexpected => Self::Slot(refusal),
            StreamError::NoResponders | StreamError::Unavailable(_) => Self::All(refusal),
        }
    }
}

impl From<Error> for Untold {
    fn from(error: Error) -> Self {
        match error.code {
            ErrorCode::Internal => Self::Slot(error),
            _ => Self::All(error),
        }
    }
}

impl From<StoreError> for Untold {
    fn from(error: StoreError) -> Self {
        refusal(&error).into()
    }
}
