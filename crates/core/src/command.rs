//! Commands: what a caller wants done in one scope, and the answer it gets.
//!
//! Owns their forms, what access each needs, and the record that makes a retry harmless. What a
//! command leads to is [`crate::decide`]'s.

use serde::{Deserialize, Serialize};

use crate::anchor::NewAnchor;
use crate::bank::NewTrajectory;
use crate::citation::Citation;
use crate::commit::CommitName;
use crate::decision::{Rank, Reach, RelationName};
use crate::erasure::{Erase, EraseMemory, EraseVerifications};
use crate::evidence::NewEvidence;
use crate::id::{AnchorId, Attempt, CommandId, DecisionId, EntryId, ReviewId, VerificationId};
use crate::permission::{Access, Control};
use crate::principal::{Principal, PrincipalKind};
use crate::promotion::{NewEntry, PublishReport};
use crate::retention::Retirement;
use crate::reuse::ReuseOutcome;
use crate::review::Offer;
use crate::scope::Scope;
use crate::staging::{NewBoundRecord, NewRecord};
use crate::task::Closing;
use crate::token::TokenHash;
use crate::verification::{NewFailure, NewVerification, Verification};

mod answer;
mod bound;
mod decision;
mod digest;
mod entry;
mod since;
mod size;
mod vectors;

pub use answer::{Answer, AnswerBody, CommandRecord, ScopeRow};
pub use decision::{DecisionRef, SaveDecision};
pub use digest::Digest;
pub use entry::{AmendEntry, Replacement, Supersede};

/// A verification of a task, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VerificationRef {
    /// The task.
    pub task: Scope,
    /// The verification.
    pub id: VerificationId,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Open the task that the scope names.
    OpenTask {
        /// What is to be done, in a line.
        title: String,
        /// What is to be done, in full.
        description: String,
    },
    /// Stage records, in order.
    Append {
        /// The records.
        records: Vec<NewRecord>,
    },
    /// Mark the task stuck.
    MarkStuck {
        /// Why.
        reason: String,
    },
    /// Clear that mark.
    ClearStuck,
    /// Close the task.
    CloseTask {
        /// How it ended.
        closing: Closing,
        /// Why.
        reason: String,
    },
    /// Archive the task.
    ArchiveTask,
    /// Record a verification of the task, which starts its promotion.
    RecordVerification(Box<NewVerification>),
    /// Write an entry.
    PutEntry {
        /// The entry.
        entry: Box<NewEntry>,
        /// The verification that it rests on, where the level needs one.
        verification: Option<VerificationRef>,
    },
    /// Give an entry a new version.
    AmendEntry(Box<AmendEntry>),
    /// Replace one entry by another.
    Supersede(Box<Supersede>),
    /// Publish what a verification authorised.
    Publish(Box<Publish>),
    /// Note in the task's own log that its promotion is finished.
    NotePromoted {
        /// The verification.
        verification: VerificationId,
        /// Where it went.
        target: Scope,
        /// What was published.
        report: Box<PublishReport>,
    },
    /// Make a token whose prefix is this scope.
    MintToken {
        /// The hash of its secret.
        hash: TokenHash,
        /// The kind of principal that it stands for.
        kind: PrincipalKind,
        /// The principal's id.
        id: crate::principal::PrincipalId,
        /// How long it counts, in milliseconds.
        lifetime_ms: u64,
    },
    /// Revoke a token whose prefix is this scope.
    RevokeToken {
        /// The hash of its secret.
        hash: TokenHash,
    },
    /// Say for a task what an entry of this scope was to it.
    ReportReuse {
        /// The task, which lies inside this scope.
        task: Scope,
        /// The entry.
        entry: EntryId,
        /// What it was.
        outcome: ReuseOutcome,
    },
    /// Resolve a state: it holds no longer.
    ResolveState {
        /// The entry.
        entry: EntryId,
        /// The version of it that the caller has seen.
        expected_version: u64,
        /// How it was resolved.
        reason: String,
        /// The verification that it rests on, where the level needs one.
        verification: Option<VerificationRef>,
    },
    /// Answer a question that waits for a person.
    AnswerReview(Box<AnswerReview>),
    /// Take a promotion into this scope back.
    UndoPromotion {
        /// The verification that it carried out.
        promotion: VerificationRef,
        /// Why.
        reason: String,
    },
    /// Take entries out of recall whose time is over, each in the version that the plan saw. One that
    /// changed since is left as it is.
    Retire {
        /// The entries and their versions.
        entries: Vec<(EntryId, u64)>,
        /// Why.
        why: Retirement,
    },
    /// Offer an entry of a project to this organisation.
    Offer(Box<Offer>),
    /// Give up for good a promotion of the task that is not finished, and of which nothing is published.
    DropPromotion {
        /// The verification.
        verification: VerificationId,
        /// Why.
        reason: String,
    },
    /// Destroy content of this scope, for good.
    Erase(Box<Erase>),
    /// Bring an entry back that maintenance took out of recall.
    RestoreEntry {
        /// The entry.
        entry: EntryId,
        /// Why.
        reason: String,
    },
    /// Save a decision: begin a chain, or give one a further version.
    SaveDecision(Box<SaveDecision>),
    /// Withdraw a decision: it applies no longer.
    DeactivateDecision {
        /// The decision.
        root: DecisionId,
        /// The version of it that the caller has seen.
        expected_version: u64,
        /// Why.
        reason: String,
    },
    /// Have a decision apply again that was withdrawn.
    RestoreDecision {
        /// The decision.
        root: DecisionId,
        /// The version of it that the caller has seen.
        expected_version: u64,
        /// The version whose text holds again.
        version: u64,
        /// Why.
        reason: String,
    },
    /// Save evidence: an original, which is never changed.
    SaveEvidence(Box<NewEvidence>),
    /// Add anchors, in order.
    AddAnchors {
        /// The anchors.
        anchors: Vec<NewAnchor>,
    },
    /// Drop an anchor: it is listed no more.
    DropAnchor {
        /// The anchor.
        anchor: AnchorId,
        /// Why.
        reason: String,
    },
    /// Destroy what decisions, evidence and anchors of this scope say, for good.
    EraseMemory(Box<EraseMemory>),
    /// Declare a kind of relation, for good, to this scope and all inside it.
    DeclareRelation {
        /// Its name.
        name: RelationName,
        /// Which way it carries a change.
        reach: Reach,
        /// What it means.
        meaning: String,
    },
    /// Record a failed verification of the task, with what the fix was that failed.
    RecordFailure(Box<NewFailure>),
    /// Destroy what verifications of the task say of errors and approaches, for good.
    EraseVerifications(Box<EraseVerifications>),
    /// Say for a task what the cognitive gate found of an entry of this scope at the project's main branch.
    ReportGate(Box<GateReport>),
    /// Store how an agent went about the task, with its reward, once that is over.
    StoreTrajectory(Box<NewTrajectory>),
    /// Stage records, in order, that say where they were said.
    AppendBound {
        /// The records.
        records: Vec<NewBoundRecord>,
    },
}

/// What the cognitive gate found at a commit of the project's main branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// The task that says so, which lies inside the entry's scope.
    pub task: Scope,
    /// The entry.
    pub entry: EntryId,
    /// The version of it that was looked at.
    pub expected_version: u64,
    /// The commit of the main branch.
    pub at: CommitName,
    /// What it is there.
    pub found: GateFound,
}

/// What an entry is at the main branch, where something follows from that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GateFound {
    /// What it rests on is gone.
    Stale,
    /// The same lies elsewhere.
    Moved {
        /// All that it rests on, in its order, with the places where it lies.
        citations: Vec<Citation>,
    },
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerReview {
    /// The question.
    pub review: ReviewId,
    /// Whether it is approved.
    pub approve: bool,
    /// Of a contradiction that is approved: the entry that holds; the newer one when none is named.
    pub keep: Option<EntryId>,
    /// Why.
    pub reason: String,
}

/// What a verification authorised, ready to be published in the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publish {
    /// The task that it came from.
    pub source: Scope,
    /// The verification, as the task's scope recorded it.
    pub verification: Verification,
    /// What is to be published, the episode first.
    pub products: Vec<NewEntry>,
}

impl Command {
    /// What leave the command needs.
    #[must_use]
    pub const fn access(&self) -> Access {
        match self {
            Self::OpenTask { .. } => Access::Control(Control::OpenTask),
            Self::Append { .. } | Self::AppendBound { .. } => Access::Control(Control::AppendLog),
            Self::MarkStuck { .. } => Access::Control(Control::MarkStuck),
            Self::ClearStuck => Access::Control(Control::ClearStuck),
            Self::CloseTask { .. } => Access::Control(Control::CloseTask),
            Self::ArchiveTask => Access::Control(Control::Maintain),
            // Whoever may have it promoted may have it given up.
            Self::RecordVerification(_) | Self::RecordFailure(_) | Self::DropPromotion { .. } => {
                Access::Control(Control::RecordVerification)
            }
            Self::PutEntry { .. } | Self::AmendEntry(_) | Self::Supersede(_) => Access::Entries,
            Self::Publish(_) | Self::NotePromoted { .. } => Access::CarryOut,
            Self::MintToken {
                kind: PrincipalKind::Agent,
                ..
            } => Access::Control(Control::MintAgentToken),
            Self::MintToken { .. } | Self::RevokeToken { .. } => {
                Access::Control(Control::ManageTokens)
            }
            Self::ResolveState { .. } => Access::Entries,
            Self::ReportReuse { .. } | Self::ReportGate(_) => {
                Access::Control(Control::ReportOutcome)
            }
            Self::AnswerReview(_) | Self::UndoPromotion { .. } | Self::RestoreEntry { .. } => {
                Access::Decide
            }
            Self::Retire { .. } | Self::Offer(_) => Access::Control(Control::Maintain),
            Self::Erase(_) | Self::EraseMemory(_) | Self::EraseVerifications(_) => {
                Access::Control(Control::Erase)
            }
            Self::StoreTrajectory(_) => Access::Control(Control::StoreTrajectory),
            Self::SaveDecision(save) => Access::Save(save.text.rank),
            // The least that it can need: deciding looks at the ranks that are at stake.
            Self::DeactivateDecision { .. } | Self::RestoreDecision { .. } => {
                Access::Save(Rank::Normal)
            }
            // It says how far a change reaches, as far as there are decisions in there.
            Self::DeclareRelation { .. } => Access::Save(Rank::Lock),
            // What neither decides anything nor moves what is decided.
            Self::SaveEvidence(_) | Self::AddAnchors { .. } | Self::DropAnchor { .. } => {
                Access::Save(Rank::Normal)
            }
        }
    }

    /// Where the principal acts when it gives the command to `scope`: whoever reports speaks for its task,
    /// and need not reach the scope whose entry it used.
    #[must_use]
    pub fn acts_in<'a>(&'a self, scope: &'a Scope) -> &'a Scope {
        match self {
            Self::ReportReuse { task, .. } => task,
            Self::ReportGate(said) => &said.task,
            _ => scope,
        }
    }

    /// The command's name in audits and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::OpenTask { .. } => "open_task",
            Self::Append { .. } | Self::AppendBound { .. } => "append",
            Self::MarkStuck { .. } => "mark_stuck",
            Self::ClearStuck => "clear_stuck",
            Self::CloseTask { .. } => "close_task",
            Self::ArchiveTask => "archive_task",
            Self::RecordVerification(_) => "record_verification",
            Self::RecordFailure(_) => "record_failure",
            Self::PutEntry { .. } => "put_entry",
            Self::AmendEntry(_) => "amend_entry",
            Self::Supersede(_) => "supersede",
            Self::Publish(_) => "publish",
            Self::NotePromoted { .. } => "note_promoted",
            Self::MintToken { .. } => "mint_token",
            Self::RevokeToken { .. } => "revoke_token",
            Self::ReportReuse { .. } => "report_reuse",
            Self::ResolveState { .. } => "resolve_state",
            Self::AnswerReview(_) => "answer_review",
            Self::UndoPromotion { .. } => "undo_promotion",
            Self::Retire { .. } => "retire",
            Self::Offer(_) => "offer",
            Self::DropPromotion { .. } => "drop_promotion",
            Self::Erase(_) => "erase",
            Self::RestoreEntry { .. } => "restore_entry",
            Self::SaveDecision(_) => "save_decision",
            Self::DeactivateDecision { .. } => "deactivate_decision",
            Self::RestoreDecision { .. } => "restore_decision",
            Self::SaveEvidence(_) => "save_evidence",
            Self::AddAnchors { .. } => "add_anchors",
            Self::DropAnchor { .. } => "drop_anchor",
            Self::EraseMemory(_) => "erase_memory",
            Self::EraseVerifications(_) => "erase_verifications",
            Self::DeclareRelation { .. } => "declare_relation",
            Self::ReportGate(_) => "report_gate",
            Self::StoreTrajectory(_) => "store_trajectory",
        }
    }

    /// Whether the floor of command ids does not apply: the end of a promotion carries the
    /// verification's id, however long ago that was recorded.
    #[must_use]
    pub const fn is_exempt_from_floor(&self) -> bool {
        matches!(self, Self::Publish(_) | Self::NotePromoted { .. })
    }
}

/// A command with who gives it, where, and which attempt this is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// Where.
    pub scope: Scope,
    /// Who.
    pub principal: Principal,
    /// The command's id, the same on every retry.
    pub id: CommandId,
    /// Which attempt.
    pub attempt: Attempt,
    /// What.
    pub command: Command,
}
