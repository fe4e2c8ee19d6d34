//! Flags of `verify`.

use clap::{Args, Subcommand};
use sillok_core::id::VerificationId;
use sillok_core::scope::Scope;
use sillok_core::verification::VerificationSource;

use super::{Cite, Touched};

/// `verify`: runs a command, records a verdict from elsewhere, or lists what was recorded.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(
    override_usage = "sillok verify --scope TASK [OPTIONS] -- COMMAND…\n       sillok verify record --scope TASK --source SOURCE --run RUN [OPTIONS]\n       sillok verify list --scope TASK\n       sillok verify retry --scope TASK VERIFICATION"
)]
pub struct Verify {
    /// Record a verdict that was reached elsewhere, list what was recorded, or retry a promotion
    #[command(subcommand)]
    pub command_given: Option<VerifyCommand>,
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK", required = true)]
    pub scope: Option<Scope>,
    /// Name of the run; otherwise a new one
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// The approach that was tried; kept when the command fails
    #[arg(long, value_name = "TEXT")]
    pub approach: Option<String>,
    /// What it touches.
    #[command(flatten)]
    pub touched: Touched,
    /// Where the knowledge goes; otherwise the task's project
    #[arg(long, value_name = "SCOPE")]
    pub target: Option<Scope>,
    /// The command, behind --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What else `verify` does.
#[derive(Debug, Subcommand)]
pub enum VerifyCommand {
    /// Record a verdict that was reached elsewhere
    Record(VerifyRecord),
    /// List a task's verifications, the earliest first, with the ids that `undo` takes
    List {
        /// The task
        #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
        scope: Scope,
    },
    /// Try a promotion anew that has failed as often as it may
    Retry(VerifyRetry),
}

/// `verify retry`
#[derive(Debug, Args)]
pub struct VerifyRetry {
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
    pub scope: Scope,
    /// The verification, as `verify list` and `jobs list` name it
    #[arg(value_name = "VERIFICATION")]
    pub verification: VerificationId,
}

/// `verify record`
#[derive(Debug, Args)]
pub struct VerifyRecord {
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
    pub scope: Scope,
    /// tests_passed, tests_failed, pr_merged, human_approved or repeated_success
    #[arg(long, value_name = "SOURCE")]
    pub source: VerificationSource,
    /// Name of the run, such as a CI job's id
    #[arg(long, value_name = "RUN")]
    pub run: String,
    /// What it rests on.
    #[command(flatten)]
    pub cite: Cite,
    /// What went wrong, on failure
    #[arg(long, value_name = "TEXT")]
    pub error: Option<String>,
    /// The approach that was tried, on failure
    #[arg(long, value_name = "TEXT")]
    pub approach: Option<String>,
    /// What it touches.
    #[command(flatten)]
    pub touched: Touched,
    /// Where the knowledge goes; otherwise the task's project
    #[arg(long, value_name = "SCOPE")]
    pub target: Option<Scope>,
    /// Do not wait for what it publishes
    #[arg(long)]
    pub no_wait: bool,
}
