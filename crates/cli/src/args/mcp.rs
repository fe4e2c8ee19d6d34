//! Flags of `mcp`.

use std::path::PathBuf;

use clap::Args;
use sillok_core::scope::Scope;
use sillok_mcp::ToolSet;

/// `mcp`
#[derive(Debug, Args)]
pub struct Mcp {
    /// Which tools: work, review or all
    #[arg(long, default_value_t, value_name = "SET")]
    pub tools: ToolSet,
    /// Scope whose task logs and decisions are listed as resources
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Option<Scope>,
    /// Check what is recalled in this work tree, and leave out what is gone from it; or none, to check nothing.
    /// Unless it is said: the git work tree here, if there is one
    #[arg(long, value_name = "PATH")]
    pub work_tree: Option<PathBuf>,
}
