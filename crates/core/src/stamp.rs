//! Stamps: the place of a commit in the order of one store.
//!
//! Owns the form and its order. A stamp rises with every commit, across restarts, and a restored
//! store starts a new generation, so a stamp from before a restore is never taken for a later one.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};

/// (store generation, commit counter, index in the transaction). Ordered in that order, and its
/// fourteen big-endian bytes sort the same way.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Stamp {
    /// Raised by each restore of the store.
    pub generation: u32,
    /// Raised by each commit.
    pub counter: u64,
    /// Counts the stamped keys of one transaction from 0.
    pub index: u16,
}

impl Stamp {
    /// Bytes of the encoded form.
    pub const LEN: usize = 14;

    /// Before every stamp that a store gives.
    pub const ZERO: Self = Self {
        generation: 0,
        counter: 0,
        index: 0,
    };

    /// The sortable bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&self.generation.to_be_bytes());
        bytes[4..12].copy_from_slice(&self.counter.to_be_bytes());
        bytes[12..].copy_from_slice(&self.index.to_be_bytes());
        bytes
    }

    /// The stamp with these bytes; none when there are not [`Self::LEN`] of them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LEN] = bytes.try_into().ok()?;
        let (generation, rest) = bytes.split_first_chunk::<4>()?;
        let (counter, rest) = rest.split_first_chunk::<8>()?;
        let index = rest.first_chunk::<2>()?;
        Some(Self {
            generation: u32::from_be_bytes(*generation),
            counter: u64::from_be_bytes(*counter),
            index: u16::from_be_bytes(*index),
        })
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", hex::encode(self.to_bytes()))
    }
}

impl FromStr for Stamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bytes = hex::decode(text).ok();
        bytes.and_then(|b| Self::from_bytes(&b)).ok_or_else(|| {
            Error::new(
                ErrorCode::InvalidArgument,
                "not a cursor that this system gave out",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_and_text_round_trip_and_sort_alike(a: (u32, u64, u16), b: (u32, u64, u16)) {
            let stamp = |t: (u32, u64, u16)| Stamp { generation: t.0, counter: t.1, index: t.2 };
            let (a, b) = (stamp(a), stamp(b));
            prop_assert_eq!(Stamp::from_bytes(&a.to_bytes()), Some(a));
            prop_assert_eq!(a.to_string().parse::<Stamp>().unwrap(), a);
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
        }
    }
}
