//! Flags of `task`.

use clap::{Args, Subcommand};
use sillok_core::scope::Scope;

use super::{Paging, Within};

/// `task`
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Open a task
    Open(TaskOpen),
    /// Print one task
    Show {
        /// The task
        scope: Scope,
    },
    /// List the tasks inside a scope
    List(TaskList),
    /// Mark a task stuck
    Stuck {
        /// The task
        scope: Scope,
        /// Why
        #[arg(long)]
        reason: String,
    },
    /// Clear that mark
    Unstick {
        /// The task
        scope: Scope,
    },
    /// Close a task
    Close {
        /// The task
        scope: Scope,
        /// It was given up; otherwise it is done
        #[arg(long)]
        failed: bool,
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Archive a closed task
    Archive {
        /// The task
        scope: Scope,
    },
}

/// `task open`
#[derive(Debug, Args)]
pub struct TaskOpen {
    /// The task's scope: …/task/NAME
    pub scope: Scope,
    /// What is to be done, in a line
    #[arg(long)]
    pub title: String,
    /// What is to be done, in full
    #[arg(long, default_value = "")]
    pub description: String,
}

/// `task list`
#[derive(Debug, Args)]
pub struct TaskList {
    /// Where to look.
    #[command(flatten)]
    pub within: Within,
    /// How much.
    #[command(flatten)]
    pub paging: Paging,
}
