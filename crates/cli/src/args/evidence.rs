//! Flags of `evidence`.

use clap::{Args, Subcommand};
use sillok_core::id::EvidenceId;
use sillok_core::scope::Scope;

use super::{Paging, Within};

/// `evidence`
#[derive(Debug, Subcommand)]
pub enum EvidenceCommand {
    /// Save an original as it is now: it is never changed, and never fades
    Save(EvidenceSave),
    /// List the evidence of a scope
    List(EvidenceList),
    /// Print what there is to know of evidence, without its text
    Show(EvidenceNamed),
    /// Print the text of evidence, or a part of it
    Text(EvidenceText),
}

/// `evidence save`
#[derive(Debug, Args)]
pub struct EvidenceSave {
    /// The text; - reads standard input
    pub content: String,
    /// Where
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// What it is, in a line
    #[arg(long)]
    pub title: String,
    /// Where the original was, such as a path or an address
    #[arg(long, default_value = "")]
    pub source: String,
    /// Its media type; text/plain unless it is said
    #[arg(long, value_name = "TYPE/SUBTYPE")]
    pub media_type: Option<String>,
}

/// `evidence list`
#[derive(Debug, Args)]
pub struct EvidenceList {
    /// Where to look: in this scope alone.
    #[command(flatten)]
    pub within: Within,
    /// How much.
    #[command(flatten)]
    pub paging: Paging,
}

/// `evidence show`
#[derive(Debug, Args)]
pub struct EvidenceNamed {
    /// The evidence
    #[arg(value_name = "EVIDENCE")]
    pub id: EvidenceId,
    /// Where it was saved.
    #[command(flatten)]
    pub within: Within,
}

/// `evidence text`
#[derive(Debug, Args)]
pub struct EvidenceText {
    /// What is read.
    #[command(flatten)]
    pub named: EvidenceNamed,
    /// Only these bytes of it, as whole characters
    #[arg(long, value_name = "FROM-TO", value_parser = super::entry::bytes)]
    pub bytes: Option<(u32, u32)>,
}
