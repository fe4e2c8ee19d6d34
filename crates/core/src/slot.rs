//! Slots: the unit of ownership. A project with all its worktrees and tasks lies in one slot.
//!
//! Owns the slot count and the hash that places a scope. Both are stored in a database when it is
//! made and checked when it is opened: changing either would move every scope.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::scope::Scope;

/// Number of slots in every installation.
pub const SLOTS: u16 = 4_096;

/// Name of the placement function, as stored in the database.
pub const SLOT_HASH: &str = "blake3-org-project-mod-4096";

/// One of the [`SLOTS`] slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct Slot(u16);

impl Slot {
    /// The slot that `scope` lies in: BLAKE3 of `org/project`, or of `org` for an organisation's
    /// own scope; the first eight bytes as a little-endian number, modulo [`SLOTS`].
    #[must_use]
    pub fn of(scope: &Scope) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(scope.org().as_bytes());
        if let Some(project) = scope.project() {
            hasher.update(b"/");
            hasher.update(project.as_bytes());
        }
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        let slot = u64::from_le_bytes(first) % u64::from(SLOTS);
        Self(u16::try_from(slot).expect("a remainder by SLOTS fits in 16 bits"))
    }

    /// A slot by its number; none when the number is not below [`SLOTS`].
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        if number < SLOTS {
            Some(Self(number))
        } else {
            None
        }
    }

    /// The slot's number, below [`SLOTS`].
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// A number that is no slot's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no slot: they are numbered from 0 to {last}", last = SLOTS - 1)]
pub struct NoSlot(u16);

impl TryFrom<u16> for Slot {
    type Error = NoSlot;

    fn try_from(number: u16) -> Result<Self, NoSlot> {
        Self::new(number).ok_or(NoSlot(number))
    }
}

impl From<Slot> for u16 {
    fn from(slot: Slot) -> Self {
        slot.0
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_and_all_inside_it_share_a_slot() {
        let project = Scope::parse("org/acme/project/api").unwrap();
        let task = Scope::parse("org/acme/project/api/worktree/main/task/42").unwrap();
        assert_eq!(Slot::of(&project), Slot::of(&task));
    }

    #[test]
    fn placement_never_changes() {
        let project = Scope::parse("org/acme/project/api").unwrap();
        let org = Scope::parse("org/acme").unwrap();
        assert_eq!(
            (Slot::of(&project).number(), Slot::of(&org).number()),
            (529, 4027)
        );
    }

    #[test]
    fn what_is_read_is_a_slot() {
        let last = Slot::new(SLOTS - 1).unwrap();
        assert_eq!(serde_json::to_string(&last).unwrap(), "4095");
        assert_eq!(serde_json::from_str::<Slot>("4095").unwrap(), last);
        let refused = serde_json::from_str::<Slot>("4096").unwrap_err();
        assert!(refused.to_string().contains("4096 is no slot"), "{refused}");
    }
}
