//! What an event changes: the rows of the view, and what later writes are compared with.
//!
//! Owns the forms. Which event changes which row is `apply`'s.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::anchor::Anchor;
use crate::bank::Trajectory;
use crate::circular::FailedApproach;
use crate::decision::{
    DecisionHead, DecisionName, DecisionVersion, DeclaredRelation, Domain, Edge, Rank,
};
use crate::entry::{Claim, Detail, Embedding, Head, Version};
use crate::evidence::Evidence;
use crate::facts::HashKey;
use crate::id::{AnchorId, DecisionId, EntryId, Seq, VerificationId};
use crate::principal::Actor;
use crate::promotion::{Job, PublishReport};
use crate::reuse::Report;
use crate::review::Review;
use crate::scope::Scope;
use crate::task::Task;
use crate::time::Timestamp;
use crate::token::{Token, TokenHash};
use crate::verification::Verification;

/// An entry that was written since the index was last told: the text that later writes are
/// compared with.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// The entry.
    pub id: EntryId,
    /// Its text.
    pub content: String,
    /// What it claims.
    pub claim: Option<Claim>,
    /// The vector of the text.
    pub embedding: Option<Embedding>,
    /// The typed part of its text.
    pub detail: Detail,
}

/// A row of the view that an event changed. The value is the one after the event.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The task.
    Task(Arc<Task>),
    /// The head of an entry.
    Head(Arc<Head>),
    /// A new version, never changed afterwards.
    Version(Box<Version>),
    /// Where an entry lives.
    Located(EntryId),
    /// The entry that has a text; none when no live one has it any more.
    ByHash(HashKey, Option<EntryId>),
    /// A verification.
    Verification(Box<Verification>),
    /// An approach that failed, never changed afterwards.
    ApproachFailed(Box<FailedApproach>),
    /// An approach that failed, of which the event with this position told before it was erased.
    ApproachErased(Seq),
    /// How an agent went about the task, never changed afterwards.
    TrajectoryStored(Box<Trajectory>),
    /// A trajectory, of which the event with this position and time told before it was erased.
    TrajectoryErased(Seq, Timestamp),
    /// A promotion to carry out.
    JobAdded(Job),
    /// A promotion that is finished.
    JobRemoved(VerificationId),
    /// The mark of what a promotion published.
    Mark {
        /// The task that it came from.
        source: Scope,
        /// The verification.
        verification: VerificationId,
        /// What was published.
        report: Box<PublishReport>,
    },
    /// A token.
    Token(TokenHash, Box<Token>),
    /// What a task says of an entry.
    Report(Box<Report>),
    /// A question for a person.
    Review(Arc<Review>),
    /// The head of a decision.
    Decision(Arc<DecisionHead>),
    /// A new version of a decision, never changed afterwards.
    DecisionVersion(Box<DecisionVersion>),
    /// Where an active decision is listed.
    DecisionListed {
        /// Its rank.
        rank: Rank,
        /// Its domain.
        domain: Domain,
        /// The event that began it.
        begun: Seq,
        /// The decision.
        root: DecisionId,
        /// Whether it is listed there from now on; else it was withdrawn, or moved to another rank or domain.
        listed: bool,
    },
    /// What an active decision claims.
    DecisionClaim {
        /// The key.
        key: String,
        /// The value; the last one when it does not declare the key any more.
        value: String,
        /// The decision.
        root: DecisionId,
        /// Its active version; none when it does not declare the key any more.
        version: Option<u64>,
    },
    /// A relation of an active decision.
    RelatedTo {
        /// The relation.
        edge: Edge,
        /// What the decision is called from now on; none when it does not declare the relation any more.
        name: Option<DecisionName>,
    },
    /// A relation of an active decision that stands as it did, though the decision is called otherwise from now on.
    RelationRenamed {
        /// The relation.
        edge: Edge,
        /// What the decision is called.
        name: DecisionName,
    },
    /// Evidence, never changed afterwards.
    Evidence(Box<Evidence>),
    /// An anchor.
    Anchor(Arc<Anchor>),
    /// Where an anchor is listed.
    AnchorListed {
        /// Its domain.
        domain: Domain,
        /// The event that added it.
        seq: Seq,
        /// The anchor.
        anchor: AnchorId,
        /// Whether it is listed there from now on; else it was dropped.
        listed: bool,
    },
    /// A kind of relation that was declared. Nothing of it changes afterwards, unless what it means is erased.
    RelationDeclared(Box<DeclaredRelation>),
}

/// When, where in the chain, and by whom an event was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped {
    /// The event's position.
    pub seq: Seq,
    /// The event's time.
    pub time: Timestamp,
    /// Who acted.
    pub actor: Actor,
}
