//! Why an audit stops: what it found, and where.
//!
//! Owns how a difference is told. It must not know what is compared.

use sillok_core::Error;
use sillok_core::id::Seq;
use sillok_core::invariants::{Invariant, Violation};
use sillok_store::Error as StoreError;
use sillok_store::keys::{self, Family};

use super::{Difference, Stop};
use crate::rows::Place;

pub(super) fn violated(place: &Place, seq: Seq, violation: &Violation) -> Stop {
    Stop::at(
        place,
        seq,
        Family::Event,
        &keys::event::key(&place.key, seq),
        violation.to_string(),
    )
    .of(violation.invariant)
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(crate::errors::refusal(&error))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    /// A difference at an event.
    pub(super) fn at(
        place: &Place,
        seq: Seq,
        family: Family,
        key: &[u8],
        what: impl Into<String>,
    ) -> Self {
        Self::Found(Box::new(Difference {
            scope: Some(place.scope.clone()),
            seq: Some(seq),
            family: family.as_str().to_owned(),
            key: Some(hex::encode(key)),
            what: what.into(),
            invariant: Invariant::ViewIsFold,
        }))
    }

    /// The same, as a breach of another invariant than that the view follows from the events.
    pub(super) fn of(mut self, invariant: Invariant) -> Self {
        if let Self::Found(difference) = &mut self {
            difference.invariant = invariant;
        }
        self
    }
}
