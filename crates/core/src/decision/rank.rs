//! Ranks: how strong a decision is.
//!
//! Owns their names and their order, which is that of loading. Who may save which is [`crate::permission`]'s.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorCode};

/// How strong a decision is. Ordered as decisions are loaded: the first loads first. The order is that of the stored
/// ordinals, which never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rank {
    /// A policy of a project or an organisation.
    Policy,
    /// What all else turns on.
    Axis,
    /// What stays unless somebody with authority unlocks it.
    Lock,
    /// Any other choice.
    Normal,
}

impl Rank {
    /// All ranks, the first to be loaded first.
    pub const ALL: [Self; 4] = [Self::Policy, Self::Axis, Self::Lock, Self::Normal];

    /// The rank's name in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Axis => "axis",
            Self::Lock => "lock",
            Self::Normal => "normal",
        }
    }

    /// Whether a change that touches a decision of this rank is told to whoever proposes it.
    #[must_use]
    pub const fn is_guarded(self) -> bool {
        matches!(self, Self::Axis | Self::Lock)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Rank {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut ranks = Self::ALL.into_iter();
        ranks.find(|rank| rank.as_str() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            Error::new(ErrorCode::InvalidArgument, format!("the ranks are {names}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_told_by_name_and_stand_in_the_order_of_loading() {
        assert!(Rank::ALL.is_sorted());
        for (ordinal, rank) in Rank::ALL.into_iter().enumerate() {
            assert_eq!(rank.to_string().parse::<Rank>().unwrap(), rank);
            let stored = postcard::to_allocvec(&rank).unwrap();
            assert_eq!(stored, [u8::try_from(ordinal).unwrap()]);
            let json = serde_json::to_string(&rank).unwrap();
            assert_eq!(json, format!("\"{rank}\""));
        }
        for wrong in ["", "Axis", "strong", "policy "] {
            let refused = wrong.parse::<Rank>().unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{wrong:?}");
        }
    }
}
