//! Messages: word that a run of events was committed.
//!
//! Owns the form. A message refers to events; it never carries them, so nothing is lost with it.

use serde::{Deserialize, Serialize};
use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

/// Word of one run of events of one scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The slot.
    pub slot: Slot,
    /// The commit.
    pub stamp: Stamp,
    /// The message before this one in the slot: a listener that has not heard it reads the store.
    pub previous: Stamp,
    /// The scope.
    pub scope: Scope,
    /// The first event.
    pub first: Seq,
    /// The last event.
    pub last: Seq,
}
