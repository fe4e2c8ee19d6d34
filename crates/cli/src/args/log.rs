//! Flags of `log` and `snapshot`.

use clap::{Args, Subcommand};
use sillok_core::bundle::BundleConfig;
use sillok_core::id::RecordId;
use sillok_core::scope::Scope;
use sillok_core::staging::LogLevel;

use super::{Paging, Within};

/// `log`
#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// Append one record
    Add(LogAdd),
    /// Print one record
    Show {
        /// The record: SCOPE#NUMBER
        record: RecordId,
        /// Only these bytes of its text, as a citation names them
        #[arg(long, value_name = "FROM-TO", value_parser = super::entry::bytes)]
        bytes: Option<(u32, u32)>,
    },
    /// List the records of a scope
    List(LogList),
    /// Append every line of standard input as a record
    Import(LogImport),
}

/// `log add`
#[derive(Debug, Args)]
pub struct LogAdd {
    /// The text; - reads standard input
    pub content: String,
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// info, warn, error, thought or tool
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub level: LogLevel,
    /// A JSON object
    #[arg(long, value_name = "JSON", value_parser = super::entry::object)]
    pub metadata: Option<serde_json::Value>,
}

/// `log list`
#[derive(Debug, Args)]
pub struct LogList {
    /// Where to look.
    #[command(flatten)]
    pub within: Within,
    /// Begin behind this position
    #[arg(long, default_value_t = 0, value_name = "SEQ")]
    pub after: u64,
    /// How much.
    #[command(flatten)]
    pub paging: Paging,
}

/// `log import`
#[derive(Debug, Args)]
pub struct LogImport {
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// info, warn, error, thought or tool
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub level: LogLevel,
    /// How long lines are gathered into one append, in ms
    #[arg(long, default_value_t = BundleConfig::default().window_ms, value_name = "MS")]
    pub window_ms: u64,
}

/// `snapshot`
#[derive(Debug, Subcommand)]
pub enum SnapshotCommand {
    /// Append what a terminal showed
    Add(SnapshotAdd),
}

/// `snapshot add`
#[derive(Debug, Args)]
pub struct SnapshotAdd {
    /// The text; - reads standard input
    #[arg(default_value = "-")]
    pub content: String,
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// It was taken because something went wrong
    #[arg(long)]
    pub error: bool,
}
