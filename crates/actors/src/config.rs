//! What an operator may tune about a node.
//!
//! Owns names and defaults; ranges that matter for safety are bounds of `core::limits`.

use serde::{Deserialize, Serialize};
use sillok_bus::subject;
use sillok_core::config::RulesConfig;
use sillok_core::limits::{
    NODE_NAME_BYTES_MAX, NODE_QUEUE_BYTES_MAX, NODE_QUEUE_MAX, SCOPE_QUEUE_MAX,
};
use sillok_core::membership::{BeatConfig, WireVersion};
use sillok_core::promotion::Patience;
use sillok_core::quota::QuotasConfig;
use sillok_core::{Error, ErrorCode};

/// A node's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeConfig {
    /// The node's name.
    pub name: String,
    /// The rules' configuration.
    pub rules: RulesConfig,
    /// How much may wait.
    pub admission: AdmissionConfig,
    /// How much organisations may write.
    pub quotas: QuotasConfig,
    /// An actor that was idle for so long is put away, in ms.
    pub passivate_after_ms: u64,
    /// How the index is kept up.
    pub indexer: IndexerConfig,
    /// How promotions are carried out.
    pub jobs: JobsConfig,
    /// How a node among others shows that it lives.
    pub beat: BeatConfig,
    /// How a node among others hears of their commits.
    pub news: NewsConfig,
    /// The newest version of what nodes tell one another that this one writes, reads and says that it reads.
    pub wire_version: WireVersion,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            name: "local".to_owned(),
            rules: RulesConfig::default(),
            admission: AdmissionConfig::default(),
            quotas: QuotasConfig::default(),
            passivate_after_ms: 60_000,
            indexer: IndexerConfig::default(),
            jobs: JobsConfig::default(),
            beat: BeatConfig::default(),
            news: NewsConfig::default(),
            wire_version: WireVersion::NEWEST,
        }
    }
}

/// `[admission]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdmissionConfig {
    /// Commands that may wait for one scope.
    pub scope_commands: usize,
    /// Commands that may wait in the node.
    pub node_commands: usize,
    /// Bytes of commands that may wait in the node.
    pub node_bytes: usize,
    /// Batches that are on their way to the store at once. Where more wait, organisations take turns.
    pub commits_at_once: usize,
    /// What a caller that is turned away is told to wait, in ms.
    pub retry_after_ms: u64,
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self {
            scope_commands: SCOPE_QUEUE_MAX,
            node_commands: NODE_QUEUE_MAX,
            node_bytes: NODE_QUEUE_BYTES_MAX / 4,
            commits_at_once: 256,
            retry_after_ms: 100,
        }
    }
}

/// `[index]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexerConfig {
    /// Entries that are stored at once; of those that have left recall, four times as many.
    pub batch_entries: usize,
    /// How long writes are gathered before they are stored, in ms. They are visible before.
    pub gather_ms: u64,
    /// The index is optimised after so many stored entries.
    pub optimise_after_entries: u64,
    /// How long to wait after the index did not answer, in ms.
    pub retry_after_ms: u64,
}

impl Default for IndexerConfig {
    fn default() -> Self {
        Self {
            batch_entries: 2_048,
            gather_ms: 200,
            optimise_after_entries: 5_000,
            retry_after_ms: 1_000,
        }
    }
}

/// `[jobs]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobsConfig {
    /// Promotions that run at once.
    pub workers: usize,
    /// Failed attempts before a promotion waits until somebody wants it retried. Those that found the
    /// store or a scope out of reach are not counted.
    pub attempts: u32,
    /// How long one attempt may take, in ms.
    pub attempt_ms_max: u64,
    /// The wait before the second attempt, in ms; it doubles with each.
    pub backoff_ms: u64,
    /// Bytes of one record that a cognifier reads: of a longer one its beginning and its end, half each.
    pub record_bytes: usize,
}

impl JobsConfig {
    /// How often, and how soon, a promotion is tried again.
    pub(crate) const fn patience(&self) -> Patience {
        Patience {
            failures_max: self.attempts,
            backoff_ms: self.backoff_ms,
        }
    }
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            workers: 2,
            attempts: 8,
            attempt_ms_max: 300_000,
            backoff_ms: 200,
            record_bytes: 16 << 10,
        }
    }
}

/// How a node among others hears of their commits, and they of its.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewsConfig {
    /// How long commits are gathered before the other nodes are told of them, in ms.
    pub announce_after_ms: u64,
    /// How often what others committed is looked for without word of it, in ms.
    pub sweep_every_ms: u64,
}

impl Default for NewsConfig {
    fn default() -> Self {
        Self {
            announce_after_ms: 20,
            sweep_every_ms: 30_000,
        }
    }
}

/// The longest that news may be gathered or looked for, in ms.
const NEWS_MS_MAX: u64 = 3_600_000;

impl NodeConfig {
    /// Checks that every number lies in its range.
    ///
    /// # Errors
    /// `invalid_argument` naming the first field that does not.
    pub fn check(&self) -> Result<(), Error> {
        // Others hand commands over to it under this name.
        if self.name.len() > NODE_NAME_BYTES_MAX || subject::commands_to(&self.name).is_none() {
            let why = format!(
                "configuration node.name is 1 to {NODE_NAME_BYTES_MAX} of A-Za-z0-9_-, not {:?}",
                self.name
            );
            return Err(Error::new(ErrorCode::InvalidArgument, why));
        }
        self.rules.check()?;
        self.beat.check()?;
        self.quotas.check()?;
        let bounds = [
            (
                "admission.scope_commands",
                self.admission.scope_commands,
                SCOPE_QUEUE_MAX,
            ),
            (
                "admission.node_commands",
                self.admission.node_commands,
                NODE_QUEUE_MAX,
            ),
            (
                "admission.node_bytes",
                self.admission.node_bytes,
                NODE_QUEUE_BYTES_MAX,
            ),
            (
                "admission.commits_at_once",
                self.admission.commits_at_once,
                1 << 16,
            ),
            ("index.batch_entries", self.indexer.batch_entries, 1 << 16),
            ("jobs.workers", self.jobs.workers, 64),
            ("jobs.record_bytes", self.jobs.record_bytes, 1 << 20),
        ];
        for (name, value, max) in bounds {
            if value == 0 || value > max {
                let why = format!("configuration {name} is out of range: 1 to {max}");
                return Err(Error::new(ErrorCode::InvalidArgument, why));
            }
        }
        let spans = [
            ("node.announce_after_ms", self.news.announce_after_ms),
            ("node.sweep_every_ms", self.news.sweep_every_ms),
        ];
        for (name, value) in spans {
            if value == 0 || value > NEWS_MS_MAX {
                let why = format!("configuration {name} is out of range: 1 to {NEWS_MS_MAX}");
                return Err(Error::new(ErrorCode::InvalidArgument, why));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_part_of_a_subject_is_refused() {
        let named = |name: &str| NodeConfig {
            name: name.to_owned(),
            ..NodeConfig::default()
        };
        let long = "a".repeat(NODE_NAME_BYTES_MAX);
        for name in ["ada", "sillok-0", "A_1", &long] {
            assert!(named(name).check().is_ok(), "{name}");
        }
        for name in [
            "",
            "ada.example.com",
            "ada 1",
            "*",
            ">",
            "ä",
            &format!("{long}a"),
        ] {
            let refused = named(name).check().unwrap_err();
            assert!(refused.message.contains("node.name"), "{refused}");
        }
    }

    #[test]
    fn defaults_are_in_range_and_a_bad_value_is_named() {
        assert!(NodeConfig::default().check().is_ok());
        let mut config = NodeConfig::default();
        config.jobs.workers = 0;
        assert!(config.check().unwrap_err().message.contains("jobs.workers"));
        for wrong in [0, NEWS_MS_MAX + 1] {
            let mut config = NodeConfig::default();
            config.news.sweep_every_ms = wrong;
            let refused = config.check().unwrap_err();
            assert!(refused.message.contains("node.sweep_every_ms"), "{refused}");
        }
    }
}
