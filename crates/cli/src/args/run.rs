//! Flags of the commands that run a server or open a data directory themselves.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use sillok_core::id::RecordId;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;

/// `serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// Address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<SocketAddr>,
}

/// `demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// How many agents work at once
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=64), value_name = "N")]
    pub agents: u16,
    /// Replay the `.traj` files of this folder instead of making a sample repository
    #[arg(long, value_name = "DIR")]
    pub trajectories: Option<PathBuf>,
    /// Your word for how the recorded runs ended, since they carry no verdict of their own
    #[arg(long, value_enum, requires = "trajectories", value_name = "OUTCOME")]
    pub assume: Option<Assume>,
    /// Address of the demo's server; otherwise a free port
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    pub address: SocketAddr,
    /// Stay up at the end even when standard output is no terminal
    #[arg(long)]
    pub keep: bool,
}

/// `maintain`
#[derive(Debug, Args)]
pub struct Maintain {
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// A part to do: archive, prune, offer, forget, optimise or sign. May be repeated; all of them without it
    #[arg(long, value_name = "PART")]
    pub only: Vec<String>,
    /// Take out most of a scope, too, where that is due
    #[arg(long)]
    pub force: bool,
    /// Look into this scope, and what lies inside it, alone; tables and checkpoint are of everything all the same
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<Scope>,
}

/// What the operator vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Assume {
    /// Every run reached its aim
    Passed,
}

/// `cluster`
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Show nodes, slots and what is wrong, as the node sees it that is asked
    Status {
        /// List each slot too
        #[arg(long)]
        slots: bool,
        /// List each order that an operator ever gave
        #[arg(long)]
        orders: bool,
    },
    /// End the run of a node that is held for bad, though it may still beat
    Fence {
        /// The node's name
        node: String,
        /// The run that is to end; without it, the one that the node is in
        #[arg(long)]
        run: Option<u64>,
    },
    /// Have nothing be written to a scope, and what lies inside it, until that is lifted
    #[command(group = ArgGroup::new("order").required(true))]
    Quarantine {
        /// The scope
        scope: String,
        /// Why, in one line: whoever wants to write there is told
        #[arg(long, group = "order")]
        reason: Option<String>,
        /// Lift the quarantine
        #[arg(long, group = "order")]
        lift: bool,
    },
}

/// `audit`
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Recompute every chain and every view, and name the first difference
    Verify {
        /// Open the data directory itself; no server may be running
        #[arg(long)]
        offline: bool,
        /// What it is held against besides.
        #[command(flatten)]
        against: Against,
    },
    /// Sign the ends of all chains into a file, to be kept where the store is not
    Checkpoint {
        /// The file to write
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// What an audit is held against besides.
#[derive(Clone, Debug, Default, Args)]
pub struct Against {
    /// Prove as well that nothing before this checkpoint was changed or cut off
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// The key that the checkpoint has to be signed by, in hexadecimal
    #[arg(long, value_name = "KEY", requires = "checkpoint")]
    pub key: Option<String>,
}

/// `backup`
#[derive(Clone, Debug, Args)]
pub struct Backup {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    pub force: bool,
    /// Open the data directory itself (no server may be running)
    #[arg(long)]
    pub offline: bool,
}

/// `restore`
#[derive(Clone, Debug, Args)]
pub struct Restore {
    /// The backup; the directory that --data names must be empty or not there
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Leave out the first commit with an event after this time, and all behind it
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with = "to_event")]
    pub to_time: Option<Timestamp>,
    /// Leave out all behind the commit that holds this event: SCOPE#SEQ
    #[arg(long, value_name = "SCOPE#SEQ")]
    pub to_event: Option<RecordId>,
}

/// A point in time, as RFC 3339 has it.
fn parse_time(text: &str) -> Result<Timestamp, String> {
    let time: jiff::Timestamp = text
        .parse()
        .map_err(|_| "a time such as 2026-11-22T10:00:00Z is expected".to_owned())?;
    let ms = u64::try_from(time.as_millisecond());
    ms.map(Timestamp::from_ms)
        .map_err(|_| "the time lies before 1970".to_owned())
}

/// `config`
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the configuration in force
    Show {
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
    },
}
