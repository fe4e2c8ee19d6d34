//! `[foundationdb]`: the cluster that nodes share, and whose keys are ours.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::within;

/// `[foundationdb]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FoundationDbConfig {
    /// The file that names the cluster's coordinators.
    pub cluster_file: PathBuf,
    /// Whose keys these are: several installations may share a cluster, each under its own name.
    pub installation: String,
    /// How long the cluster may take to begin a transaction, in ms: after that the store is out of reach.
    pub begin_timeout_ms: u32,
}

impl Default for FoundationDbConfig {
    fn default() -> Self {
        Self {
            cluster_file: PathBuf::from("/etc/foundationdb/fdb.cluster"),
            installation: "sillok".to_owned(),
            begin_timeout_ms: 1_000,
        }
    }
}

impl FoundationDbConfig {
    pub(super) fn check(&self) -> Result<(), sillok_core::Error> {
        within(
            "foundationdb.begin_timeout_ms",
            self.begin_timeout_ms,
            100..=60_000,
        )
    }
}
