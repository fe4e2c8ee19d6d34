//! What is recorded of a fix that failed.
//!
//! Owns the form. What follows from it is [`crate::circular`]'s.

use serde::{Deserialize, Serialize};

use crate::circular::{Approach, ErrorSeen, Wording};
use crate::id::VerificationId;

/// A fix that failed, as its verification tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixFailed {
    /// The verification.
    pub verification: VerificationId,
    /// What it failed with, by the fingerprint of what it printed, as the build made it that recorded it; none where it says
    /// nothing of that.
    pub error: Option<ErrorSeen>,
    /// What was tried, with secrets masked; none where it is not said.
    pub approach: Option<Approach>,
    /// What went wrong, in short.
    pub reason: String,
    /// How the approach is worded, as the build made it that recorded it; empty where none is said.
    pub wording: Wording,
}
