//! Fingerprints of errors: when two failures are the same one.
//!
//! Owns the hash. What goes into it is [`super::essence`]'s, and how a line of that is written is [`super::normal`]'s.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::essence;
use crate::error::{Error, ErrorCode};
use crate::limits::FAILURE_REASON_BYTES_MAX;

/// SHA-256 of the core of an error's text, normalised: the same failure has the same one on another day, in another checkout
/// and behind other lines of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorHash([u8; 32]);

impl ErrorHash {
    /// The fingerprint of what a failed verification printed.
    #[must_use]
    pub fn of(error: &str) -> Self {
        let mut hasher = Sha256::new();
        for line in essence::core(error) {
            hasher.update(line.as_bytes());
            hasher.update(b"\n");
        }
        Self(hasher.finalize().into())
    }

    /// The fingerprint with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes of it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// What [`ErrorHash::of`] hashes, a line each: for whoever asks why two errors are the same, or are not.
#[must_use]
pub fn core_error(error: &str) -> String {
    let lines: Vec<String> = essence::core(error).into_iter().collect();
    lines.join("\n")
}

/// What went wrong, in short: the lines of [`core_error`] behind one another, as far as there is room for them. An audit makes it
/// anew of each error whose fingerprint is still the same: whoever writes it otherwise has to leave the former form there.
#[must_use]
pub fn reason_of(error: &str) -> String {
    let whole = core_error(error).replace('\n', "; ");
    let end = whole.floor_char_boundary(FAILURE_REASON_BYTES_MAX);
    whole[..end].to_owned()
}

impl fmt::Display for ErrorHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ErrorHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ErrorHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| {
            Error::new(
                ErrorCode::InvalidId,
                "an error hash has 64 hexadecimal digits",
            )
        })?;
        Ok(Self(bytes))
    }
}
