//! Erasing what verifications say: the error and the approach of one, with the files and symbols that this touched, and why it
//! failed in short.
//!
//! Owns their rests. Of the errors of a task it goes on being told which are one, by the verification that failed with each
//! first, and so how often each came up; fingerprints go. It must not know how events are read.

use serde::{Deserialize, Serialize};

use crate::circular::{Approach, ErrorHash, ErrorSeen, Wording};
use crate::error::{Error, ErrorCode};
use crate::event::{Body, FixFailed};
use crate::id::{Seq, VerificationId};
use crate::limits::ERASED_MAX;
use crate::verification::{NewVerification, Verification};

/// What a person orders erased of the verifications of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraseVerifications {
    /// Verifications whose promotions have ended: their errors and approaches.
    pub verifications: Vec<VerificationId>,
    /// Why. It stays.
    pub reason: String,
}

impl EraseVerifications {
    /// # Errors
    /// `invalid_argument` when nothing is named, `too_large` when too much is.
    pub fn check(&self) -> Result<(), Error> {
        let named = self.verifications.len();
        if named == 0 {
            let why = "an order to erase names verifications";
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        if named > ERASED_MAX {
            let max = ERASED_MAX as u64;
            return Err(Error::too_large("things to erase", max, named as u64));
        }
        Ok(())
    }
}

/// Where the events of a verification stand that speaks for all up to `through`: the one that recorded it is the next, and what
/// failed of its fix, where that is told, stands behind that.
pub(crate) const fn events_of(through: Seq) -> [Seq; 2] {
    let recorded = through.next();
    [recorded, recorded.next()]
}

impl ErrorHash {
    /// What stands in place of it once what was recorded was erased.
    pub const ERASED: Self = Self::from_bytes([0; 32]);
}

impl Verification {
    /// What is left of it: how it ended, and what it rests on.
    pub(crate) fn rest(&self) -> Self {
        let said = |text: &Option<String>| text.as_ref().map(|_| String::new());
        Self {
            said: NewVerification {
                error: said(&self.said.error),
                approach: said(&self.said.approach),
                // Its files are those that the error and the approach name.
                binding: self.said.binding.rest(),
                ..self.said.clone()
            },
            ..self.clone()
        }
    }
}

impl FixFailed {
    /// What is left of it: that an approach failed, where one was told, and under which verification its error counts.
    pub(crate) fn rest(&self) -> Self {
        Self {
            verification: self.verification,
            error: self.error.map(|seen| ErrorSeen {
                error: ErrorHash::ERASED,
                ..seen
            }),
            approach: self.approach.as_ref().map(|_| Approach::default()),
            reason: String::new(),
            wording: Wording::default(),
        }
    }
}

/// What is left of a body that is about a verification; none of any other.
pub(super) fn rest_of(body: &Body) -> Option<Body> {
    Some(match body {
        Body::VerificationRecorded(recorded) => {
            Body::VerificationRecorded(Box::new(recorded.rest()))
        }
        Body::FixFailed(failed) => Body::FixFailed(Box::new(failed.rest())),
        _ => return None,
    })
}
