//! Events: everything that ever changes, as data.
//!
//! Owns the bodies of events and their ordinals. An event carries the values that result, not the
//! rule that made them, so replaying old events under a newer configuration gives the same state.
//! What an event does to the view is [`crate::state`]'s.

mod evidence;
mod failure;
mod kinds;
mod record;
mod trajectory;
mod worth;

use serde::{Deserialize, Serialize};

use crate::citation::Citation;
use crate::decision::{Act, NewDecision, Rank, Reach, RelationName};
use crate::entry::{Binding, Claim, Detail, Embedding, Link, Metadata, Status, Table};
use crate::erasure::ContentErased;
use crate::fingerprint::ContentHash;
use crate::id::{AnchorId, DecisionId, EntryId, ReviewId, Seq, TokenId, VerificationId};
use crate::principal::PrincipalKind;
use crate::promotion::PublishReport;
use crate::retention::Retirement;
use crate::review::Question;
use crate::scope::Scope;
use crate::staging::{BoundRecord, Record};
use crate::task::{Closing, TaskStatus};
use crate::time::Timestamp;
use crate::token::{Token, TokenHash};
use crate::trust::Trust;
use crate::verification::Verification;

pub use evidence::{AnchorAdded, EvidenceSaved};
pub use failure::FixFailed;
pub use kinds::EventKinds;
pub use trajectory::TrajectoryStored;
pub use worth::{CitationsRefreshed, EntryRestored, ReuseReported, TrustRevised};

/// What happened. Variants are only ever added at the end: their order is their stored ordinal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Body {
    /// A task was opened.
    TaskOpened {
        /// What is to be done, in a line.
        title: String,
        /// What is to be done, in full.
        description: String,
    },
    /// A record was staged.
    RecordAppended(Box<Record>),
    /// A task was marked stuck.
    StuckMarked {
        /// Why.
        reason: String,
    },
    /// That mark was cleared.
    StuckCleared,
    /// A task was closed.
    TaskClosed {
        /// How it ended.
        closing: Closing,
        /// Why.
        reason: String,
    },
    /// A task was archived.
    TaskArchived,
    /// A verification was recorded, and with it the job that carries it out.
    VerificationRecorded(Box<Verification>),
    /// A promotion that started in this scope is finished.
    Promoted {
        /// The verification.
        verification: VerificationId,
        /// Where it went.
        target: Scope,
        /// The task's status from now on.
        status: TaskStatus,
        /// What was published.
        report: Box<PublishReport>,
    },
    /// A promotion from another scope published here. The entries' own events come before it.
    Published {
        /// Where it came from.
        source: Scope,
        /// The verification.
        verification: VerificationId,
        /// What was published.
        report: Box<PublishReport>,
    },
    /// An entry was made.
    EntryCreated(Box<EntryCreated>),
    /// An entry got a new version.
    EntryAmended(Box<EntryAmended>),
    /// Something that would have been a new entry was the same as this one.
    Merged(Box<EntryMerged>),
    /// An entry was replaced by another.
    Superseded {
        /// The entry that replaces.
        new: EntryId,
        /// The entry that is replaced.
        old: EntryId,
        /// The first entry of the old one's line.
        line: EntryId,
        /// Why.
        reason: String,
        /// The commit that ended the old one, if there is a repository.
        commit: Option<String>,
    },
    /// Two entries were related to one another.
    Linked {
        /// The entry that gets the link.
        entry: EntryId,
        /// The link.
        link: Link,
    },
    /// A token was made.
    TokenMinted {
        /// The hash under which it is stored.
        hash: TokenHash,
        /// The token.
        token: Box<Token>,
    },
    /// A token was revoked.
    TokenRevoked {
        /// The hash under which it is stored.
        hash: TokenHash,
        /// The token's public id.
        token: TokenId,
    },
    /// A command was denied. Sampled when denials flood.
    Denied {
        /// The rule that denied it.
        rule: String,
        /// The kind of principal.
        kind: PrincipalKind,
        /// What was asked for.
        command: String,
        /// How many further denials in this scope were not written since the last one that was.
        unsampled: u64,
    },
    /// A task said what an entry was to it.
    ReuseReported(Box<ReuseReported>),
    /// A question for a person was raised.
    ReviewRaised {
        /// Its id.
        id: ReviewId,
        /// What is asked.
        question: Box<Question>,
    },
    /// It was answered. What follows from the answer are events of their own behind this one.
    ReviewAnswered {
        /// The question.
        id: ReviewId,
        /// Whether it was approved.
        approved: bool,
        /// Why.
        reason: String,
    },
    /// What stands behind an entry was judged anew.
    TrustRevised(Box<TrustRevised>),
    /// Entries were taken out of recall. Their events stay.
    EntriesRetired {
        /// The entries.
        entries: Vec<EntryId>,
        /// Why.
        why: Retirement,
    },
    /// A state holds no longer.
    StateResolved {
        /// The entry.
        entry: EntryId,
        /// How.
        reason: String,
    },
    /// A replacement of one entry by another was taken back: the old one holds again.
    SupersessionUndone {
        /// The entry that replaced.
        new: EntryId,
        /// The entry that was replaced.
        old: EntryId,
        /// The first entry of the old one's line.
        line: EntryId,
        /// The old one's status from now on.
        status: Status,
    },
    /// A promotion was taken back. What that did are events of their own before this one.
    PromotionUndone {
        /// Where it came from.
        source: Scope,
        /// The verification.
        verification: VerificationId,
        /// Why.
        reason: String,
    },
    /// A promotion that started in this scope was given up for good before anything of it was published.
    PromotionDropped {
        /// The verification.
        verification: VerificationId,
        /// Why.
        reason: String,
        /// The task's status from now on.
        status: TaskStatus,
        /// The last position that a passed verification still speaks for. What lies behind it, the next
        /// one pins again.
        verified_through: Seq,
    },
    /// A person had content of earlier events destroyed.
    ContentErased(Box<ContentErased>),
    /// An entry was brought back that maintenance had taken out of recall.
    EntryRestored(Box<EntryRestored>),
    /// A decision got a version: its first one, or a further one.
    DecisionSaved(Box<DecisionSaved>),
    /// Evidence was saved.
    EvidenceSaved(Box<EvidenceSaved>),
    /// An anchor was added.
    AnchorAdded(Box<AnchorAdded>),
    /// An anchor was dropped: it is listed no more.
    AnchorDropped {
        /// The anchor.
        anchor: AnchorId,
        /// Why.
        reason: String,
    },
    /// A kind of relation was declared, for good.
    RelationDeclared {
        /// Its name.
        name: RelationName,
        /// Which way it carries a change.
        reach: Reach,
        /// What it means, with secrets masked.
        meaning: String,
    },
    /// A fix failed: what a failed verification says of it.
    FixFailed(Box<FixFailed>),
    /// What an entry rests on lies elsewhere at the project's main branch, and its citations name where.
    CitationsRefreshed(Box<CitationsRefreshed>),
    /// How an agent went about the task, with its reward.
    TrajectoryStored(Box<TrajectoryStored>),
    /// A record was staged that says where it was said.
    BoundRecordAppended(Box<BoundRecord>),
}

/// A version of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionSaved {
    /// The decision.
    pub root: DecisionId,
    /// The number of the version.
    pub number: u64,
    /// How it came to be.
    pub act: Act,
    /// The rank that the decision had before; none when it began.
    pub before: Option<Rank>,
    /// What it says from now on, with secrets masked; none when it was withdrawn.
    pub text: Option<NewDecision>,
    /// Why.
    pub reason: String,
}

/// A new entry with its first version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryCreated {
    /// The entry.
    pub id: EntryId,
    /// Its table.
    pub table: Table,
    /// Its text.
    pub text: Text,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// Where it was true first.
    pub binding: Binding,
    /// Its status.
    pub status: Status,
    /// Its trust.
    pub trust: Trust,
    /// Whether it tells of a failure.
    pub failure: bool,
    /// The promotion that published it, if one did.
    pub promotion: Option<VerificationId>,
}

/// One version's text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Text {
    /// The text that is searched, with secrets masked.
    pub content: String,
    /// Its typed part.
    pub detail: Detail,
    /// Free metadata.
    pub metadata: Metadata,
    /// What it claims, if it declares that.
    pub claim: Option<Claim>,
    /// Hash of the normalised content.
    pub content_hash: ContentHash,
    /// The vector of the text; none when no embedder answered.
    pub embedding: Option<Embedding>,
}

/// A new version of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryAmended {
    /// The entry.
    pub id: EntryId,
    /// The number of the new version.
    pub version: u64,
    /// Its text.
    pub text: Text,
    /// What the entry rests on from now on.
    pub citations: Vec<Citation>,
    /// Its status from now on.
    pub status: Status,
    /// Its trust from now on.
    pub trust: Trust,
}

/// A repetition that was merged into an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EntryMerged {
    /// The entry that stays.
    pub into: EntryId,
    /// The text that was not stored as an entry of its own.
    pub content: String,
    /// Its cosine to the entry; 1 for the same text.
    pub cosine: f64,
    /// What the entry rests on from now on.
    pub citations: Vec<Citation>,
    /// Its status from now on.
    pub status: Status,
    /// Its trust from now on.
    pub trust: Trust,
    /// The promotion that repeated it, if one did.
    pub promotion: Option<VerificationId>,
    /// When it counts as used last.
    pub used_at: Timestamp,
}

macro_rules! kinds {
    ($($pattern:pat => $variant:ident = $name:literal;)*) => {
        /// What sort of event, without its content: this stays when content is erased.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum EventKind {
            $(
                #[doc = concat!("`", $name, "`")]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl EventKind {
            /// All kinds, in the order of their stored ordinals.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The kind's name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }

        impl Body {
            /// What sort of event this is.
            #[must_use]
            pub const fn kind(&self) -> EventKind {
                match self { $($pattern => EventKind::$variant),* }
            }
        }
    };
}

kinds! {
    Self::TaskOpened { .. } => TaskOpened = "TASK_OPENED";
    Self::RecordAppended(_) => RecordAppended = "RECORD_APPENDED";
    Self::StuckMarked { .. } => StuckMarked = "STUCK_MARKED";
    Self::StuckCleared => StuckCleared = "STUCK_CLEARED";
    Self::TaskClosed { .. } => TaskClosed = "TASK_CLOSED";
    Self::TaskArchived => TaskArchived = "TASK_ARCHIVED";
    Self::VerificationRecorded(_) => VerificationRecorded = "VERIFICATION_RECORDED";
    Self::Promoted { .. } => Promoted = "PROMOTED";
    Self::Published { .. } => Published = "PUBLISHED";
    Self::EntryCreated(_) => EntryCreated = "ENTRY_CREATED";
    Self::EntryAmended(_) => EntryAmended = "ENTRY_AMENDED";
    Self::Merged(_) => Merged = "MERGED";
    Self::Superseded { .. } => Superseded = "SUPERSEDED";
    Self::Linked { .. } => Linked = "LINKED";
    Self::TokenMinted { .. } => TokenMinted = "TOKEN_MINTED";
    Self::TokenRevoked { .. } => TokenRevoked = "TOKEN_REVOKED";
    Self::Denied { .. } => Denied = "DENIED";
    Self::ReuseReported(_) => ReuseReported = "REUSE_REPORTED";
    Self::ReviewRaised { .. } => ReviewRaised = "REVIEW_RAISED";
    Self::ReviewAnswered { .. } => ReviewAnswered = "REVIEW_ANSWERED";
    Self::TrustRevised(_) => TrustRevised = "TRUST_REVISED";
    Self::EntriesRetired { .. } => EntriesRetired = "ENTRIES_RETIRED";
    Self::StateResolved { .. } => StateResolved = "STATE_RESOLVED";
    Self::SupersessionUndone { .. } => SupersessionUndone = "SUPERSESSION_UNDONE";
    Self::PromotionUndone { .. } => PromotionUndone = "PROMOTION_UNDONE";
    Self::PromotionDropped { .. } => PromotionDropped = "PROMOTION_DROPPED";
    Self::ContentErased(_) => ContentErased = "CONTENT_ERASED";
    Self::EntryRestored(_) => EntryRestored = "ENTRY_RESTORED";
    Self::DecisionSaved(_) => DecisionSaved = "DECISION_SAVED";
    Self::EvidenceSaved(_) => EvidenceSaved = "EVIDENCE_SAVED";
    Self::AnchorAdded(_) => AnchorAdded = "ANCHOR_ADDED";
    Self::AnchorDropped { .. } => AnchorDropped = "ANCHOR_DROPPED";
    Self::RelationDeclared { .. } => RelationDeclared = "RELATION_DECLARED";
    Self::FixFailed(_) => FixFailed = "FIX_FAILED";
    Self::CitationsRefreshed(_) => CitationsRefreshed = "CITATIONS_REFRESHED";
    Self::TrajectoryStored(_) => TrajectoryStored = "TRAJECTORY_STORED";
    Self::BoundRecordAppended(_) => BoundRecordAppended = "BOUND_RECORD_APPENDED";
}
