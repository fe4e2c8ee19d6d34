//! Where reading a session goes on: behind which byte, provided that what lies before it is still the same.
//!
//! Owns its form. It must not know where cursors are kept.

use serde::{Deserialize, Serialize};

use crate::state::State;

/// Where reading goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cursor {
    /// The byte behind the last line that was read.
    pub offset: u64,
    /// BLAKE3 of all bytes before it, in hexadecimal.
    pub digest: String,
    /// What the lines before it leave to be remembered.
    pub state: State,
}
