//! Flags of the commands that run a server or open a data directory themselves.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
    },
    /// End the run of a node that is held for bad, though it may still beat
    Fence {
        /// The node's name
        node: String,
        /// The run that is to end; without it, the one that the node is in
        #[arg(long)]
        run: Option<u64>,
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
    },
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
