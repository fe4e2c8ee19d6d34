//! Flags of the commands about kinds of relations.

use clap::Args;
use sillok_core::decision::{Reach, RelationName};
use sillok_core::scope::Scope;

use super::{Paging, Within};

/// `decision declare`
#[derive(Debug, Args)]
pub struct KindDeclare {
    /// Its name: 1 to 32 of A-Z 0-9 _, a letter first
    #[arg(value_name = "KIND")]
    pub name: RelationName,
    /// The project or organisation that it is for, with all that lies inside
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// Which way a relation of it carries a change: forward (from the decision to what it is related to),
    /// backward (from that to the decision), both or neither
    #[arg(long, value_name = "REACH")]
    pub reach: Reach,
    /// What it means, in a line
    #[arg(long)]
    pub meaning: String,
}

/// `decision kinds`
#[derive(Debug, Args)]
pub struct KindList {
    /// Where they count: what is declared there and above it.
    #[command(flatten)]
    pub within: Within,
    /// How many.
    #[command(flatten)]
    pub paging: Paging,
}
