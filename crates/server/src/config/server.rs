//! `[server]`: where it listens, its files, and how much of each sort is under way at one time.
//!
//! Owns the section's form, its defaults and its ranges. It must not know how any of it is used.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sillok_core::Error;
use sillok_core::circular::Language;
use sillok_core::limits::{PAGE_ROWS_MAX, RECORD_BYTES_MAX};

use super::within;

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
    /// Checks of fixes that are under way at one time. Each reads what failed, and compares it with what is proposed.
    pub fix_checks_max: usize,
    /// Checks of fixes of one organisation that are under way at one time.
    pub fix_checks_per_org_max: usize,
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
            // Agents ask before each thing that they try, and a check is short.
            fix_checks_max: 64,
            fix_checks_per_org_max: 32,
            language: Language::default(),
            backup_stall_ms_max: 60_000,
            shutdown_ms_max: 10_000,
        }
    }
}

impl ServerConfig {
    pub(super) fn check(&self) -> Result<(), Error> {
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

    fn check_requests(&self) -> Result<(), Error> {
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

    fn check_turns(&self) -> Result<(), Error> {
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
        )?;
        turns("server.fix_checks_max", self.fix_checks_max)?;
        turns("server.fix_checks_per_org_max", self.fix_checks_per_org_max)
    }

    fn check_tails(&self) -> Result<(), Error> {
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
