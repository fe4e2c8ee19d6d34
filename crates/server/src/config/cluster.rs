//! `[cluster]`: what a node does among others of other releases.

use serde::{Deserialize, Serialize};
use sillok_core::membership::WireVersion;

use super::within;

/// `[cluster]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterConfig {
    /// The newest version of what nodes tell one another that this one writes, reads, and says that it reads.
    /// An older one than it knows has it ask nothing of others in a later form, and answer nothing that is.
    pub wire_version: u8,
}

impl Default for ClusterConfig {
    fn default() -> Self {
        Self {
            wire_version: WireVersion::NEWEST.get(),
        }
    }
}

impl ClusterConfig {
    /// The version.
    #[must_use]
    pub fn wire_version(&self) -> WireVersion {
        // No other number passes the check.
        WireVersion::try_from(self.wire_version).unwrap_or(WireVersion::FIRST)
    }

    pub(super) fn check(&self) -> Result<(), sillok_core::Error> {
        let known = WireVersion::FIRST.get()..=WireVersion::NEWEST.get();
        within("cluster.wire_version", self.wire_version, known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_can_be_held_to_an_older_version_and_to_no_unknown_one() {
        assert_eq!(ClusterConfig::default().wire_version(), WireVersion::NEWEST);
        let at = |wire_version| ClusterConfig { wire_version };
        assert_eq!(at(1).wire_version(), WireVersion::FIRST);
        assert!(at(1).check().is_ok());
        for unknown in [0, WireVersion::NEWEST.get() + 1] {
            let refused = at(unknown).check().unwrap_err();
            assert!(
                refused.message.contains("cluster.wire_version"),
                "{refused}"
            );
        }
    }
}
