//! Flags of `jobs`.

use clap::{Args, Subcommand};
use sillok_core::id::VerificationId;
use sillok_core::scope::{Scope, ScopePrefix};

use super::Paging;

/// `jobs`
#[derive(Debug, Subcommand)]
pub enum JobsCommand {
    /// List the promotions that are not finished, on all nodes
    List(JobsList),
    /// Try a promotion anew that has failed as often as it may
    Retry {
        /// The task
        #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
        scope: Scope,
        /// The verification, as `jobs list` names it
        #[arg(value_name = "VERIFICATION")]
        verification: VerificationId,
    },
    /// Give a promotion up for good; its records stay
    Drop {
        /// The task
        #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
        scope: Scope,
        /// The verification, as `jobs list` names it
        #[arg(value_name = "VERIFICATION")]
        verification: VerificationId,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}

/// `jobs list`
#[derive(Debug, Args)]
pub struct JobsList {
    /// Those of the tasks in this scope; otherwise all that the token covers, if it covers everything
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE", default_value = "*")]
    pub scope: ScopePrefix,
    /// Only those that have failed as often as they may
    #[arg(long)]
    pub halted: bool,
    /// One page of them.
    #[command(flatten)]
    pub paging: Paging,
    /// Begin behind this cursor, which the page before gave
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}
