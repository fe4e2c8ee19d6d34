//! The typed configuration: every section, its defaults and its ranges.
//!
//! Owns names and defaults of what the server itself needs, and gathers the sections of the other
//! crates. How values are found is [`layers`]'. It must not know how anything is used.

mod cluster;
mod engines;
mod foundationdb;
mod git;
mod graph;
mod index;
pub mod layers;
mod log;
mod maintenance;
mod mcp;
mod server;
mod telemetry;
mod verification;

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use sillok_actors::config::{AdmissionConfig, IndexerConfig, JobsConfig, NewsConfig, NodeConfig};
use sillok_bus_nats::NatsConfig;
use sillok_core::config::{
    BankConfig, DedupConfig, RecallConfig, RetentionConfig, RulesConfig, TrustConfig,
};
use sillok_core::membership::BeatConfig;
use sillok_core::quota::QuotasConfig;
use sillok_perception::{CognifierConfig, EmbedderConfig};

pub use cluster::ClusterConfig;
pub use foundationdb::FoundationDbConfig;
pub use git::GitConfig;
pub use graph::GraphConfig;
pub use index::{IndexConfig, IndexEngine};
pub use layers::{Error, Layer, Layers, Loaded, Origin};
pub use log::{LogConfig, LogFormat};
pub use maintenance::{CronCalendar, MaintenanceConfig};
pub use mcp::McpConfig;
pub use server::ServerConfig;
pub use telemetry::TelemetryConfig;
pub use verification::{ProjectVerification, VerificationConfig, VerificationUser};

/// The configuration of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `[server]`
    pub server: ServerConfig,
    /// `[node]`
    pub node: NodeSection,
    /// `[cluster]`
    pub cluster: ClusterConfig,
    /// `[store]`
    pub store: StoreConfig,
    /// `[foundationdb]`
    pub foundationdb: FoundationDbConfig,
    /// `[index]`
    pub index: IndexConfig,
    /// `[admission]`
    pub admission: AdmissionConfig,
    /// `[quotas]`
    pub quotas: QuotasConfig,
    /// `[jobs]`
    pub jobs: JobsConfig,
    /// `[cognifier]`
    pub cognifier: CognifierConfig,
    /// `[embedder]`
    pub embedder: EmbedderConfig,
    /// `[trust]`
    pub trust: TrustConfig,
    /// `[recall]`
    pub recall: RecallConfig,
    /// `[retention]`
    pub retention: RetentionConfig,
    /// `[git]`
    pub git: GitConfig,
    /// `[graph]`
    pub graph: GraphConfig,
    /// `[maintenance]`
    pub maintenance: MaintenanceConfig,
    /// `[mcp]`
    pub mcp: McpConfig,
    /// `[verification]`
    pub verification: VerificationConfig,
    /// `[dedup]`
    pub dedup: DedupConfig,
    /// `[bank]`
    pub bank: BankConfig,
    /// `[nats]`
    pub nats: NatsConfig,
    /// `[telemetry]`
    pub telemetry: TelemetryConfig,
    /// `[log]`
    pub log: LogConfig,
}

/// `[node]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeSection {
    /// The node's name.
    pub name: String,
    /// An actor that was idle for so long is put away, in ms.
    pub passivate_after_ms: u64,
    /// How long commits are gathered before the other nodes of a cluster are told of them, in ms.
    pub announce_after_ms: u64,
    /// How often a node of a cluster looks for commits of the others without word of them, in ms.
    pub sweep_every_ms: u64,
}

impl Default for NodeSection {
    fn default() -> Self {
        let node = NodeConfig::default();
        Self {
            name: node.name,
            passivate_after_ms: node.passivate_after_ms,
            announce_after_ms: node.news.announce_after_ms,
            sweep_every_ms: node.news.sweep_every_ms,
        }
    }
}

/// Which engine holds the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreEngine {
    /// In the data directory, for one process.
    Embedded,
    /// A FoundationDB cluster, which the nodes share.
    #[serde(rename = "foundationdb")]
    FoundationDb,
}

/// `[store]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// Which engine holds the records. All that follows here is of the embedded one.
    pub engine: StoreEngine,
    /// Bytes of the table in memory at which it is written out.
    pub memtable_bytes_max: u64,
    /// Bytes of all journals at which tables are written out to drop the oldest.
    pub journal_bytes_max: u64,
    /// Bytes of the cache of blocks.
    pub cache_bytes: u64,
    /// Threads that write out and compact tables.
    pub worker_threads: usize,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            engine: StoreEngine::Embedded,
            memtable_bytes_max: 16 << 20,
            journal_bytes_max: 128 << 20,
            cache_bytes: 64 << 20,
            // A second one spins beside the first and takes from the commands' time.
            worker_threads: 1,
        }
    }
}

impl Config {
    /// The sections that the rules read.
    #[must_use]
    pub fn rules(&self) -> RulesConfig {
        RulesConfig {
            trust: self.trust.clone(),
            recall: self.recall.clone(),
            retention: self.retention.clone(),
            dedup: self.dedup.clone(),
            bank: self.bank.clone(),
        }
    }

    /// The sections that a node reads.
    #[must_use]
    pub fn node_config(&self) -> NodeConfig {
        NodeConfig {
            name: self.node.name.clone(),
            rules: self.rules(),
            admission: self.admission,
            quotas: self.quotas.clone(),
            passivate_after_ms: self.node.passivate_after_ms,
            indexer: IndexerConfig {
                batch_entries: self.index.batch_entries,
                gather_ms: self.index.gather_ms,
                optimise_after_entries: self.index.optimise_after_entries,
                retry_after_ms: self.index.retry_after_ms,
            },
            jobs: self.jobs,
            beat: BeatConfig::default(),
            news: NewsConfig {
                announce_after_ms: self.node.announce_after_ms,
                sweep_every_ms: self.node.sweep_every_ms,
            },
            wire_version: self.cluster.wire_version(),
        }
    }

    /// Checks that a node that shares its store with others can speak with them, and that all of them
    /// know the same secrets.
    ///
    /// # Errors
    /// `invalid_argument` naming the first key that is missing.
    pub fn check_shared(&self) -> Result<(), sillok_core::Error> {
        let wanted = [
            ("nats.servers", self.nats.servers.trim().is_empty()),
            (
                "server.admin_token_file",
                self.server.admin_token_file.as_os_str().is_empty(),
            ),
            (
                "server.token_key_file",
                self.server.token_key_file.as_os_str().is_empty(),
            ),
        ];
        match wanted.into_iter().find(|(_, is_missing)| *is_missing) {
            None => Ok(()),
            Some((name, _)) => Err(sillok_core::Error::new(
                sillok_core::ErrorCode::InvalidArgument,
                format!("configuration {name} is wanted where nodes share a store"),
            )),
        }
    }

    /// Checks that every number lies in its range.
    ///
    /// # Errors
    /// `invalid_argument` naming the first key that does not.
    pub fn check(&self) -> Result<(), sillok_core::Error> {
        self.node_config().check()?;
        self.server.check()?;
        self.store.check()?;
        self.foundationdb.check()?;
        if self.store.engine == StoreEngine::FoundationDb {
            crate::foundationdb::check(&self.foundationdb)?;
        }
        self.check_engines()?;
        self.nats.check()?;
        self.telemetry.check()?;
        self.log.check()?;
        self.git.check()?;
        self.graph.check()?;
        self.maintenance.check()?;
        self.cluster.check()?;
        self.mcp.check()?;
        self.verification.check()?;
        within(
            "node.passivate_after_ms",
            self.node.passivate_after_ms,
            1..=1 << 40,
        )?;
        within("index.threads", self.index.threads, 1..=256)
    }
}

impl StoreConfig {
    fn check(&self) -> Result<(), sillok_core::Error> {
        within(
            "store.memtable_bytes_max",
            self.memtable_bytes_max,
            1 << 20..=1 << 34,
        )?;
        within(
            "store.journal_bytes_max",
            self.journal_bytes_max,
            64 << 20..=1 << 40,
        )?;
        within("store.worker_threads", self.worker_threads, 1..=256)
    }
}

fn within<T: PartialOrd + Display>(
    name: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), sillok_core::Error> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    let why = format!("configuration {name} is out of range: {least} to {most}");
    Err(sillok_core::Error::new(
        sillok_core::ErrorCode::InvalidArgument,
        why,
    ))
}
