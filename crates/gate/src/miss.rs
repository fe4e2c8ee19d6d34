//! Why nothing was read of a place.
//!
//! Owns what that means to the gate: refused, not to be told, or gone. It must not know how files are opened.

use sillok_code::open;
use sillok_core::gate::{Reason, Refusal, Sight, Unread};

/// Why nothing was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// It may not be read.
    Refused(Refusal),
    /// It may be read, and cannot be.
    Unread(Unread),
    /// There is nothing.
    Gone,
}

impl From<open::Error> for Miss {
    fn from(error: open::Error) -> Self {
        match error {
            open::Error::Gone => Self::Gone,
            open::Error::Denied => Self::Unread(Unread::Denied),
            open::Error::Changing => Self::Unread(Unread::Changing),
            open::Error::TooLarge => Self::Unread(Unread::TooLarge),
            open::Error::Outside => Self::Refused(Refusal::LinkOut),
            open::Error::Link => Self::Refused(Refusal::LinkLoop),
            open::Error::NoFile => Self::Refused(Refusal::NoFile),
        }
    }
}

impl From<Miss> for Sight {
    fn from(miss: Miss) -> Self {
        match miss {
            Miss::Refused(refusal) => Self::Refused(refusal),
            Miss::Unread(why) => Self::Unread(why),
            Miss::Gone => Self::Gone,
        }
    }
}

impl From<Miss> for Reason {
    fn from(miss: Miss) -> Self {
        match miss {
            Miss::Refused(refusal) => Self::Refused(refusal),
            Miss::Unread(why) => Self::Unread(why),
            Miss::Gone => Self::Gone,
        }
    }
}
