//! Flags of `install` and `doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sillok_core::scope::Scope;
use sillok_hook::client::Client;

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClientName {
    /// Claude Code
    ClaudeCode,
    /// Codex
    Codex,
    /// Cursor
    Cursor,
}

impl From<ClientName> for Client {
    fn from(name: ClientName) -> Self {
        match name {
            ClientName::ClaudeCode => Self::ClaudeCode,
            ClientName::Codex => Self::Codex,
            ClientName::Cursor => Self::Cursor,
        }
    }
}

/// Whose configuration is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum InstallScope {
    /// One's own, for all projects
    #[default]
    User,
    /// The project's in the working directory, for all who work on it
    Project,
}

/// `install`
#[derive(Debug, Args)]
pub struct Install {
    /// The coding agent
    #[arg(long, value_name = "CLIENT")]
    pub client: ClientName,
    /// Whose configuration is changed
    #[arg(long, value_name = "WHOSE", default_value = "user")]
    pub scope: InstallScope,
    /// Scope of the memory that hooks and tools use; otherwise SILLOK_SCOPE where they run, or the data directory's default
    #[arg(long = "in", value_name = "SCOPE")]
    pub within: Option<Scope>,
    /// The hook's program; otherwise the sillok-hook beside this program, and for a project the one on the PATH
    #[arg(long, value_name = "FILE")]
    pub hook: Option<PathBuf>,
    /// Print what would be changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Take out what was put in; all else stays as it is
    #[arg(long)]
    pub uninstall: bool,
}

/// `doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// The coding agent whose events are played
    #[arg(long, value_name = "CLIENT", default_value = "claude-code")]
    pub client: ClientName,
    /// Scope of the memory; otherwise the one that hooks find by themselves
    #[arg(long = "in", env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub within: Option<Scope>,
    /// The hook's program; otherwise the sillok-hook beside this program
    #[arg(long, value_name = "FILE")]
    pub hook: Option<PathBuf>,
}
