//! Flags of `code`.

use clap::{Args, Subcommand};
use sillok_core::decision::Node;

use super::Within;

/// `code`
#[derive(Debug, Subcommand)]
pub enum CodeCommand {
    /// Say what the server knows of the work tree of a scope, or of the nearest one around it
    Status(CodeStatus),
    /// List the symbols of a file, or those of a name, with their signatures
    Symbols(CodeSymbols),
    /// Say what depends on a file or a symbol: what imports and calls it, and what imports and calls that
    Dependents(CodeDependents),
}

/// `code status`
#[derive(Debug, Args)]
pub struct CodeStatus {
    /// Where to stand.
    #[command(flatten)]
    pub within: Within,
}

/// `code symbols`
#[derive(Debug, Args)]
pub struct CodeSymbols {
    /// The name: the qualified one, such as Client::read, or the last part of it
    #[arg(required_unless_present = "file")]
    pub name: Option<String>,
    /// Of this file, by its path from the root of the work tree
    #[arg(long, value_name = "PATH")]
    pub file: Option<String>,
    /// Where to stand.
    #[command(flatten)]
    pub within: Within,
    /// At most so many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// `code dependents`
#[derive(Debug, Args)]
pub struct CodeDependents {
    /// What others depend on: file:PATH, symbol:NAME@PATH or symbol:NAME
    pub of: Node,
    /// Where to stand.
    #[command(flatten)]
    pub within: Within,
    /// At most so many
    #[arg(long, value_name = "N")]
    pub nodes_max: Option<usize>,
    /// At most so many steps away
    #[arg(long, value_name = "N")]
    pub depth_max: Option<u32>,
}
