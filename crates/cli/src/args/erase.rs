//! Flags of `erase`.

use clap::Args;
use sillok_core::decision::RelationName;
use sillok_core::id::{AnchorId, DecisionId, EntryId, EvidenceId, ReviewId, VerificationId};
use sillok_core::scope::Scope;

/// `erase`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct Erase {
    /// The scope that holds it
    #[arg(long, env = "SILLOK_SCOPE", value_name = "SCOPE")]
    pub scope: Scope,
    /// Records, and trajectories that were stored, by their positions in the scope's log
    #[arg(long, group = "what", value_delimiter = ',', value_name = "SEQ")]
    pub record: Vec<u64>,
    /// Entries, with all their versions
    #[arg(long, group = "what", value_delimiter = ',', value_name = "ENTRY")]
    pub entry: Vec<EntryId>,
    /// Answered reviews that offered entries to this organisation
    #[arg(long, group = "what", value_delimiter = ',', value_name = "REVIEW")]
    pub offer: Vec<ReviewId>,
    /// Decisions that were withdrawn, with all their versions. Decisions, evidence, anchors and kinds are erased by an order of
    /// their own
    #[arg(long, group = "what", value_delimiter = ',', value_name = "DECISION")]
    pub decision: Vec<DecisionId>,
    /// Evidence
    #[arg(long, group = "what", value_delimiter = ',', value_name = "EVIDENCE")]
    pub evidence: Vec<EvidenceId>,
    /// Anchors that were dropped
    #[arg(long, group = "what", value_delimiter = ',', value_name = "ANCHOR")]
    pub anchor: Vec<AnchorId>,
    /// Kinds of relations that the scope itself declared: what they mean. Names and reaches stay
    #[arg(long, group = "what", value_delimiter = ',', value_name = "KIND", value_parser = RelationName::stored)]
    pub kind: Vec<RelationName>,
    /// Verifications of the task: their errors and approaches, by an order of their own
    #[arg(
        long,
        group = "what",
        value_delimiter = ',',
        value_name = "VERIFICATION"
    )]
    pub verification: Vec<VerificationId>,
    /// Why. It stays
    #[arg(long)]
    pub reason: String,
}
