//! Flags of `import`.

use core::str::FromStr;
use std::path::PathBuf;

use clap::Args;
use sillok_core::scope::Scope;
use sillok_sessions::Format;
use sillok_sessions::format::NoFormat;

/// `import`
#[derive(Debug, Args)]
pub struct Import {
    /// Files, and folders that hold some: `.traj` and `.jsonl`; links in folders are not followed
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What the files are: auto (by name and first lines), traj, claude-code or codex
    #[arg(long, default_value = "auto", value_name = "FORMAT")]
    pub format: Formats,
    /// The worktree that the tasks lie in; in a project, a worktree named `imported` is used
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub into: Scope,
    /// Read the files, and say what would be brought in, without a server
    #[arg(long)]
    pub dry_run: bool,
}

/// Which formats are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formats {
    /// Each file's own.
    Auto,
    /// This one, whatever a file looks like.
    Only(Format),
}

impl FromStr for Formats {
    type Err = NoFormat;

    fn from_str(name: &str) -> Result<Self, NoFormat> {
        match name {
            "auto" => Ok(Self::Auto),
            name => name.parse().map(Self::Only),
        }
    }
}
