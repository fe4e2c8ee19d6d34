//! The typed configuration: every section, its defaults and its ranges.
//!
//! Owns names and defaults of what the server itself needs, and gathers the sections of the other
//! crates. How values are found is [`layers`]'. It must not know how anything is used.

mod cluster;
mod engines;
mod foundationdb;
mod git;
mod index;
pub mod layers;
mod log;
mod maintenance;
mod telemetry;

use std::fmt::Display;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sillok_actors::config::{AdmissionConfig, IndexerConfig, JobsConfig, NewsConfig, NodeConfig};
use sillok_bus_nats::NatsConfig;
use sillok_core::circular::Language;
use sillok_core::config::{DedupConfig, RecallConfig, RetentionConfig, RulesConfig, TrustConfig};
use sillok_core::limits::{PAGE_ROWS_MAX, RECORD_BYTES_MAX};
use sillok_core::membership::BeatConfig;
use sillok_core::quota::QuotasConfig;
use sillok_perception::{CognifierConfig, EmbedderConfig};

pub use cluster::ClusterConfig;
pub use foundationdb::FoundationDbConfig;
pub use git::GitConfig;
pub use index::{IndexConfig, IndexEngine};
pub use layers::{Error, Layer, Layers, Loaded, Origin};
pub use log::{LogConfig, LogFormat};
pub use maintenance::{CronCalendar, MaintenanceConfig};
pub use telemetry::TelemetryConfig;

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
    /// `[maintenance]`
    pub maintenance: MaintenanceConfig,
    /// `[dedup]`
    pub dedup: DedupConfig,
    /// `[nats]`
    pub nats: NatsConfig,
    /// `[telemetry]`
    pub telemetry: TelemetryConfig,
    /// `[log]`
    pub log: LogConfig,
}

/// `[server]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Where it listens. Port 0 stands for any free one.
    pub address: SocketAddr,
    /// The data directory.
    pub data: PathBuf,
    /// A file with the administrator's token, the same on all nodes of a cluster. Without one it is made,
    /// and lies in the data directory.
    pub admin_token_file: PathBuf,
    /// A file with the key that secrets of tokens are derived from: 64 hexadecimal digits, the same on all
    /// nodes of a cluster. Without one it is made, and lies in the data directory.
    pub token_key_file: PathBuf,
    /// Bytes of one request body. A record of 8 MiB, escaped as JSON, fits.
    pub body_bytes_max: usize,
    /// Bytes of request bodies that are held at one time.
    pub bodies_bytes_max: usize,
    /// How long the whole body of a request may take to arrive, in ms.
    pub body_ms_max: u64,
    /// Requests that are under way at one time.
    pub requests_in_flight_max: usize,
    /// Requests of one principal in a second, in the long run.
    pub principal_requests_per_s: u32,
    /// Requests of one principal at once, before that rate counts.
    pub principal_burst: u32,
    /// A verified token is looked up again after so long, in ms.
    pub token_check_ms: u64,
    /// The longest that a call may wait for a promotion, in ms.
    pub promotion_wait_ms_max: u64,
    /// Tails that are open at one time.
    pub tails_max: usize,
    /// Tails of one principal that are open at one time.
    pub tails_per_principal_max: usize,
    /// A tail without events sends a comment so often, in ms.
    pub tail_heartbeat_ms: u64,
    /// Events that a tail reads at once.
    pub tail_page_rows: usize,
    /// Queries of graphs that are under way at one time. Each holds a graph, and what it works out.
    pub graph_queries_max: usize,
    /// Queries of graphs of one organisation that are under way at one time.
    pub graph_queries_per_org_max: usize,
    /// Searches behind anchors that are under way at one time. Each reads originals, and counts their words.
    pub anchor_searches_max: usize,
    /// Searches behind anchors of one organisation that are under way at one time.
    pub anchor_searches_per_org_max: usize,
    /// In which language agents are told something, where whoever asks names none.
    pub language: Language,
    /// How long whoever is sent a backup may take nothing of it, in ms: it keeps old versions of rows.
    pub backup_stall_ms_max: u64,
    /// How long open connections may take to end at shutdown, in ms.
    pub shutdown_ms_max: u64,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 7411)),
            data: default_data_directory(),
            admin_token_file: PathBuf::new(),
            token_key_file: PathBuf::new(),
            body_bytes_max: 64 << 20,
            bodies_bytes_max: 192 << 20,
            body_ms_max: 60_000,
            requests_in_flight_max: 4_096,
            principal_requests_per_s: 50_000,
            principal_burst: 100_000,
            token_check_ms: 1_000,
            promotion_wait_ms_max: 30_000,
            tails_max: 1_024,
            tails_per_principal_max: 64,
            tail_heartbeat_ms: 15_000,
            tail_page_rows: 256,
            graph_queries_max: 4,
            graph_queries_per_org_max: 2,
            anchor_searches_max: 4,
            anchor_searches_per_org_max: 2,
            language: Language::default(),
            backup_stall_ms_max: 60_000,
            shutdown_ms_max: 10_000,
        }
    }
}

/// `$XDG_DATA_HOME/sillok`, else `~/.local/share/sillok`, else `./sillok-data`.
fn default_data_directory() -> PathBuf {
    let named = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = || named("HOME").map(|home| home.join(".local/share"));
    let data = named("XDG_DATA_HOME")
        .filter(|path| path.is_absolute())
        .or_else(home);
    data.map_or_else(|| PathBuf::from("sillok-data"), |data| data.join("sillok"))
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
        self.maintenance.check()?;
        self.cluster.check()?;
        within(
            "node.passivate_after_ms",
            self.node.passivate_after_ms,
            1..=1 << 40,
        )?;
        within("index.threads", self.index.threads, 1..=256)
    }
}

impl ServerConfig {
    fn check(&self) -> Result<(), sillok_core::Error> {
        self.check_requests()?;
        self.check_tails()?;
        self.check_turns()?;
        within(
            "server.principal_requests_per_s",
            self.principal_requests_per_s,
            1..=u32::MAX,
        )?;
        within("server.principal_burst", self.principal_burst, 1..=u32::MAX)?;
        within("server.token_check_ms", self.token_check_ms, 0..=60_000)?;
        within(
            "server.promotion_wait_ms_max",
            self.promotion_wait_ms_max,
            0..=600_000,
        )?;
        within(
            "server.backup_stall_ms_max",
            self.backup_stall_ms_max,
            10..=3_600_000,
        )?;
        within("server.shutdown_ms_max", self.shutdown_ms_max, 0..=600_000)
    }

    fn check_requests(&self) -> Result<(), sillok_core::Error> {
        within(
            "server.body_bytes_max",
            self.body_bytes_max,
            RECORD_BYTES_MAX..=1 << 30,
        )?;
        within(
            "server.bodies_bytes_max",
            self.bodies_bytes_max,
            self.body_bytes_max..=1 << 36,
        )?;
        within("server.body_ms_max", self.body_ms_max, 1..=3_600_000)?;
        within(
            "server.requests_in_flight_max",
            self.requests_in_flight_max,
            1..=1 << 20,
        )
    }

    fn check_turns(&self) -> Result<(), sillok_core::Error> {
        let turns = |name, most| within(name, most, 1..=1_024);
        turns("server.graph_queries_max", self.graph_queries_max)?;
        turns(
            "server.graph_queries_per_org_max",
            self.graph_queries_per_org_max,
        )?;
        turns("server.anchor_searches_max", self.anchor_searches_max)?;
        turns(
            "server.anchor_searches_per_org_max",
            self.anchor_searches_per_org_max,
        )
    }

    fn check_tails(&self) -> Result<(), sillok_core::Error> {
        within("server.tails_max", self.tails_max, 1..=1 << 20)?;
        within(
            "server.tails_per_principal_max",
            self.tails_per_principal_max,
            1..=1 << 20,
        )?;
        within(
            "server.tail_heartbeat_ms",
            self.tail_heartbeat_ms,
            10..=600_000,
        )?;
        within(
            "server.tail_page_rows",
            self.tail_page_rows,
            1..=PAGE_ROWS_MAX,
        )
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
