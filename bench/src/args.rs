//! The command line.
//!
//! Owns names and help. It must not know how anything is measured.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// What to measure, and how to print it.
#[derive(Debug, Parser)]
#[command(
    name = "sillok-bench",
    about = "Measures Sillok against its floors and against its peers.",
    after_help = "SILLOK_BENCH_DIR names the folder whose disk is measured, SILLOK_BIN the sillok \
                  binary. Exit status: 0 every floor holds; 1 a floor is missed; 2 not measured.",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Args {
    /// Measure this item only; may be given more than once
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) only: Vec<Item>,
    /// Small and short, without floors: shows that every program works
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// A part that is measured in a process of its own.
    #[command(subcommand)]
    pub(crate) child: Option<Child>,
}

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Item {
    /// The disk alone
    Disk,
    /// The store alone
    Store,
    /// Scope actors in process
    Actors,
    /// SQLite
    Sqlite,
    /// A server process over loopback
    Http,
    /// Memory after a million records
    Memory,
    /// Many scopes: memory of each, and activation
    Scopes,
    /// Recall and publishing over a large published store
    Recall,
    /// Recall through the tools of the Model Context Protocol
    Mcp,
    /// Recall over very many entries, before and after half of them is pruned
    Many,
    /// Promotions: tasks in a minute, and the same found by several at once
    Promotion,
    /// Saves of decisions
    Decisions,
    /// Briefs among very many decisions, of one version and of several
    Brief,
    /// What a change of a hub affects, in a large graph of relations
    Impact,
    /// Checks of fixes among approaches that failed, and how fast failures are recorded
    Fixes,
    /// The index of source files: a first look, one changed file, memory
    Code,
    /// The cognitive gate: the entries of one answer in a large work tree
    Gate,
    /// Hooks of a coding agent, their processes included
    Hooks,
    /// Searches of patterns among very many trajectories, and briefs that warn of them
    Bank,
    /// Maintenance: planning, pruning, and appends beside it
    Maintenance,
    /// A year of nightly maintenance
    Year,
    /// Three nodes: routing, delivery, takeover, drain, tails
    Cluster,
}

impl Item {
    /// All items, in the order in which they run.
    pub(crate) const ALL: [Self; 22] = [
        Self::Disk,
        Self::Store,
        Self::Actors,
        Self::Sqlite,
        Self::Http,
        Self::Memory,
        Self::Scopes,
        Self::Recall,
        Self::Mcp,
        Self::Many,
        Self::Promotion,
        Self::Decisions,
        Self::Brief,
        Self::Impact,
        Self::Fixes,
        Self::Code,
        Self::Gate,
        Self::Hooks,
        Self::Bank,
        Self::Maintenance,
        Self::Year,
        Self::Cluster,
    ];

    /// What it measures, for whoever watches.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Disk => "the disk alone",
            Self::Store => "the store alone",
            Self::Actors => "scope actors in process",
            Self::Sqlite => "SQLite",
            Self::Http => "a server over loopback",
            Self::Memory => "memory after many records",
            Self::Scopes => "many scopes",
            Self::Recall => "recall over a large published store",
            Self::Mcp => "recall through tools",
            Self::Many => "recall over very many entries",
            Self::Maintenance => "maintenance of very many entries",
            Self::Year => "a year of nightly maintenance",
            Self::Promotion => "what tasks wrote becomes knowledge",
            Self::Decisions => "saves of decisions",
            Self::Brief => "briefs among very many decisions",
            Self::Impact => "what a change of a hub affects",
            Self::Fixes => "checks of fixes among approaches that failed",
            Self::Code => "the index of source files",
            Self::Gate => "entries held against a work tree",
            Self::Hooks => "hooks of a coding agent",
            Self::Bank => "searches of patterns, and briefs that warn",
            Self::Cluster => "three nodes, and one that many listen to",
        }
    }
}

/// A part that is measured in a process of its own, so that nothing else is in its memory.
#[derive(Debug, Subcommand)]
#[expect(
    clippy::enum_variant_names,
    reason = "the names are those of the commands, which an item of the same name must not have"
)]
pub(crate) enum Child {
    /// Appends records through scope actors, and prints what memory that took
    #[command(hide = true)]
    ChildRecords {
        /// How many.
        records: u64,
        /// An empty folder.
        folder: PathBuf,
    },
    /// Indexes a work tree, and prints how long that took
    #[command(hide = true)]
    ChildCode {
        /// Lines of all its files.
        lines: u64,
        /// An empty folder.
        folder: PathBuf,
    },
    /// Touches many scopes, and prints what memory each took and how fast cold ones answer
    #[command(hide = true)]
    ChildScopes {
        /// How many.
        scopes: u32,
        /// Cold scopes that are asked.
        probes: u32,
        /// An empty folder.
        folder: PathBuf,
    },
    /// Scans and plans over tables, and prints what time and memory that took
    #[command(hide = true)]
    ChildPlan {
        /// Where the tables lie.
        folder: PathBuf,
    },
    /// Opens an index and plans over it, and prints what time and memory that took
    #[command(hide = true)]
    ChildPlanNode {
        /// Where its tables lie.
        folder: PathBuf,
    },
}
