//! Flags of `fix`.

use clap::{Args, Subcommand};
use sillok_core::circular::Language;
use sillok_core::scope::Scope;

use super::Paging;

/// `fix`
#[derive(Debug, Subcommand)]
pub enum FixCommand {
    /// Ask whether an approach is one that failed before. Exit status 1 where it is not to be tried again
    Check(FixCheck),
    /// List the approaches to a task that failed, the first one first
    Failed(FixFailed),
}

/// What an approach touches.
#[derive(Clone, Debug, Default, Args)]
pub struct Touched {
    /// A file that the approach touches, by its path from the root of the work tree; may be repeated
    #[arg(long = "file", value_name = "PATH", requires = "approach")]
    pub files: Vec<String>,
    /// A symbol that it touches, such as `Client::read`; may be repeated
    #[arg(long = "symbol", value_name = "NAME", requires = "approach")]
    pub symbols: Vec<String>,
}

/// `fix check`
#[derive(Debug, Args)]
pub struct FixCheck {
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
    pub scope: Scope,
    /// What is to be tried, in words
    #[arg(value_name = "APPROACH")]
    pub approach: String,
    /// What it touches.
    #[command(flatten)]
    pub touched: Touched,
    /// english or korean: what the agent is to be told is written so. As the server is set without it
    #[arg(long, value_name = "LANGUAGE")]
    pub language: Option<Language>,
}

/// `fix failed`
#[derive(Debug, Args)]
pub struct FixFailed {
    /// The task
    #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
    pub scope: Scope,
    /// How much.
    #[command(flatten)]
    pub paging: Paging,
}
