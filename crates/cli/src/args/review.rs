//! Flags of `review`, `report` and `undo`.

use clap::{Args, Subcommand};
use sillok_core::id::{EntryId, ReviewId, VerificationId};
use sillok_core::reuse::ReuseOutcome;
use sillok_core::scope::Scope;

use super::{Paging, Within};

/// `review`
#[derive(Debug, Subcommand)]
pub enum ReviewCommand {
    /// List what waits for an answer
    List(ReviewList),
    /// Print a question with what it is about, side by side
    Show {
        /// The question's id
        review: ReviewId,
        /// Where it was raised.
        #[command(flatten)]
        within: Within,
    },
    /// Approve: merge, let one of two hold, take out what is wrong, take over what is offered
    Approve(ReviewApprove),
    /// Reject: what is there stays as it is
    Reject {
        /// The question's id
        review: ReviewId,
        /// Where it was raised.
        #[command(flatten)]
        within: Within,
        /// Why
        #[arg(long)]
        reason: String,
    },
}

/// `review list`
#[derive(Debug, Args)]
pub struct ReviewList {
    /// Where to look.
    #[command(flatten)]
    pub within: Within,
    /// List what was answered too
    #[arg(long)]
    pub answered: bool,
    /// How many.
    #[command(flatten)]
    pub paging: Paging,
}

/// `review approve`
#[derive(Debug, Args)]
pub struct ReviewApprove {
    /// The question's id
    pub review: ReviewId,
    /// Where it was raised.
    #[command(flatten)]
    pub within: Within,
    /// Of a contradiction: the entry that holds; otherwise the newer one
    #[arg(long, value_name = "ENTRY")]
    pub keep: Option<EntryId>,
    /// Why
    #[arg(long)]
    pub reason: String,
}

/// `report`
#[derive(Debug, Args)]
pub struct Report {
    /// The entry that was used
    pub entry: EntryId,
    /// What it was: helped, wrong or stale
    #[arg(value_name = "OUTCOME")]
    pub outcome: ReuseOutcome,
    /// The task that used it
    #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
    pub scope: Scope,
}

/// `undo`
#[derive(Debug, Args)]
pub struct Undo {
    /// The verification whose promotion is taken back, as `verify list` names it
    #[arg(value_name = "PROMOTION")]
    pub verification: VerificationId,
    /// The task that it was recorded for
    #[arg(long, env = "SILLOK_SCOPE", value_name = "TASK")]
    pub scope: Scope,
    /// Why
    #[arg(long)]
    pub reason: String,
}
