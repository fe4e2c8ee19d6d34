//! Reviews and reports of reuse on the wire: what people and tasks say of entries.

use serde::{Deserialize, Serialize};
use sillok_core::command::{self, Command};
use sillok_core::commit::CommitName;
use sillok_core::entry::Status;
use sillok_core::error::Error;
use sillok_core::id::{CommandId, EntryId, ReviewId, Seq};
use sillok_core::reuse::{self, ReuseOutcome};
use sillok_core::review;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use super::{Actor, Citation, EntryView, schema};

/// Says for a task what an entry was to it. The task's last word counts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportReuse {
    /// The task, inside the entry's scope.
    #[schema(value_type = schema::Scope)]
    pub task: String,
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: String,
    /// What it was.
    #[schema(value_type = schema::ReuseOutcome)]
    pub outcome: ReuseOutcome,
}

/// Says for a task what the cognitive gate found of an entry at the project's main branch. Whoever may write entries in the
/// entry's scope takes it out of recall by that, or has its citations name where its code lies; of others two tasks have to
/// find it stale, and their word for a place changes nothing. What left recall can be restored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportGate {
    /// The task, inside the entry's scope.
    #[schema(value_type = schema::Scope)]
    pub task: String,
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: String,
    /// The version of it that was looked at.
    pub expected_version: u64,
    /// The commit of the main branch.
    pub commit: String,
    /// The repository, as its remote or path names it.
    pub repository: String,
    /// What the entry is there.
    pub found: GateFound,
}

/// What an entry is at the main branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "verdict", rename_all = "snake_case", deny_unknown_fields)]
pub enum GateFound {
    /// What it rests on is gone. It has no fields, and is no unit, for which serde lets unknown ones pass.
    Stale {},
    /// The same lies elsewhere.
    Moved {
        /// All that it rests on, in its order, with the places where it lies. What they say is as it was.
        citations: Vec<Citation>,
    },
}

impl ReportGate {
    /// What it says of this entry.
    ///
    /// # Errors
    /// `invalid_*` for what is no task or no citation.
    pub(crate) fn parse(self, entry: EntryId) -> Result<command::GateReport, Error> {
        let found = match self.found {
            GateFound::Stale {} => command::GateFound::Stale,
            GateFound::Moved { citations } => {
                let citations = citations.into_iter().map(TryInto::try_into);
                let citations: Result<Vec<_>, Error> = citations.collect();
                command::GateFound::Moved {
                    citations: citations?,
                }
            }
        };
        Ok(command::GateReport {
            task: Scope::parse(&self.task)?,
            entry,
            expected_version: self.expected_version,
            at: CommitName::new(&self.commit, &self.repository),
            found,
        })
    }
}

/// How many tasks say what of an entry. Each counts once, with its last word.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    /// Tasks that it helped.
    pub helped: u64,
    /// Tasks that found it wrong.
    pub wrong: u64,
    /// Tasks that found it stale.
    pub stale: u64,
    /// The share of uses that went well, 0 to 1; what published the entry counts as one of them.
    pub success_rate: f64,
}

impl From<reuse::Usage> for Usage {
    fn from(usage: reuse::Usage) -> Self {
        Self {
            helped: usage.helped,
            wrong: usage.wrong,
            stale: usage.stale,
            success_rate: usage.success_rate(),
        }
    }
}

/// What a task said of an entry is counted.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReuseReported {
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: EntryId,
    /// What all tasks say.
    pub usage: Usage,
    /// Its status.
    #[schema(value_type = schema::Status)]
    pub status: Status,
    /// The question for a person that this raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ReviewId>)]
    pub review: Option<ReviewId>,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was counted.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// Asks for the questions of a scope.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReviewsQuery {
    /// The scope.
    pub scope: String,
    /// Whether those that were answered are listed too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// Go on behind this cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// At most so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Asks for one question.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReviewQuery {
    /// The scope.
    pub scope: String,
    /// The question.
    pub id: String,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "question")]
pub enum Question {
    /// Do the two say the same? Approved: the new one is merged into the known one.
    Merge {
        /// The entry that was written later.
        #[schema(value_type = schema::EntryId)]
        new: EntryId,
        /// The entry that was there.
        #[schema(value_type = schema::EntryId)]
        known: EntryId,
        /// Their cosine.
        cosine: f64,
    },
    /// Do the two contradict one another? Approved: one of them replaces the other.
    Contradiction {
        /// The entry that was written later.
        #[schema(value_type = schema::EntryId)]
        new: EntryId,
        /// The entry that was there.
        #[schema(value_type = schema::EntryId)]
        known: EntryId,
        /// Why they are held to.
        why: String,
    },
    /// Is the entry wrong, as several tasks say? Approved: it is taken out of recall.
    Wrong {
        /// The entry.
        #[schema(value_type = schema::EntryId)]
        entry: EntryId,
        /// How many tasks say so.
        tasks: u64,
    },
    /// Does the organisation take over what proved itself in a project? Approved: it is published here.
    Offer {
        /// The project.
        #[schema(value_type = schema::Scope)]
        scope: Scope,
        /// The entry there.
        #[schema(value_type = schema::EntryId)]
        entry: EntryId,
        /// The version of it that is offered.
        version: u64,
        /// What would be published.
        content: String,
    },
}

impl From<review::Question> for Question {
    fn from(question: review::Question) -> Self {
        match question {
            review::Question::Merge { new, known, cosine } => Self::Merge { new, known, cosine },
            review::Question::Contradiction { new, known, why } => {
                Self::Contradiction { new, known, why }
            }
            review::Question::Wrong { entry, tasks } => Self::Wrong { entry, tasks },
            review::Question::Offer(offer) => Self::Offer {
                scope: offer.scope,
                entry: offer.entry,
                version: offer.version,
                content: offer.product.content,
            },
        }
    }
}

/// What was said to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReviewAnswer {
    /// Whether it was approved.
    pub approved: bool,
    /// Why.
    pub reason: String,
    /// Who said so.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
}

/// A question for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReviewView {
    /// Its id.
    #[schema(value_type = schema::ReviewId)]
    pub id: ReviewId,
    /// What is asked.
    #[serde(flatten)]
    pub question: Question,
    /// When it was raised.
    #[schema(value_type = schema::Timestamp)]
    pub raised_at: Timestamp,
    /// What was said to it; absent while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<ReviewAnswer>,
}

impl From<review::Review> for ReviewView {
    fn from(review: review::Review) -> Self {
        Self {
            id: review.id,
            question: review.question.into(),
            raised_at: review.raised_at,
            answer: review.answer.map(|answer| ReviewAnswer {
                approved: answer.approved,
                reason: answer.reason,
                by: answer.by.into(),
                at: answer.at,
            }),
        }
    }
}

/// A question with what it is about, side by side.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReviewEvidence {
    /// The question.
    pub review: ReviewView,
    /// The entries, as they are now, with what each rests on: the later one first.
    pub entries: Vec<EntryView>,
}

/// Answers a question.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerReview {
    /// The scope that the question was raised in.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The question.
    #[schema(value_type = schema::ReviewId)]
    pub review: String,
    /// Whether it is approved.
    pub approve: bool,
    /// Of a contradiction that is approved: the entry that holds; the newer one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EntryId>)]
    pub keep: Option<String>,
    /// Why.
    pub reason: String,
}

impl AnswerReview {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope` or `invalid_id`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let answer = command::AnswerReview {
            review: self.review.parse()?,
            approve: self.approve,
            keep: self.keep.as_deref().map(str::parse).transpose()?,
            reason: self.reason,
        };
        let scope = Scope::parse(&self.scope)?;
        Ok((scope, Command::AnswerReview(Box::new(answer))))
    }
}

/// A question was answered.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Reviewed {
    /// The question.
    #[schema(value_type = schema::ReviewId)]
    pub review: ReviewId,
    /// The entry that holds, where the answer says so of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EntryId>)]
    pub kept: Option<EntryId>,
    /// The entry that was taken out of recall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EntryId>)]
    pub retired: Option<EntryId>,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was answered.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// Resolves a state: it holds no longer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveState {
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: String,
    /// The version that the caller has seen.
    pub expected_version: u64,
    /// How it was resolved.
    pub reason: String,
    /// The verification that it rests on, where the level needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<super::VerificationRef>,
}

/// Brings an entry back that maintenance took out of recall.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreEntry {
    /// The entry.
    #[schema(value_type = schema::EntryId)]
    pub entry: String,
    /// Why.
    pub reason: String,
}

/// Takes a promotion back.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoPromotion {
    /// The task whose verification was promoted.
    #[schema(value_type = schema::Scope)]
    pub scope: String,
    /// The verification.
    #[schema(value_type = schema::VerificationId)]
    pub verification: String,
    /// Why.
    pub reason: String,
}

/// A promotion was taken back.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PromotionUndone {
    /// The scope that it had been published in.
    #[schema(value_type = schema::Scope)]
    pub target: Scope,
    /// Entries that it had made, and that were taken out of recall.
    #[schema(value_type = Vec<schema::EntryId>)]
    pub retired: Vec<EntryId>,
    /// Entries that hold again.
    #[schema(value_type = Vec<schema::EntryId>)]
    pub restored: Vec<EntryId>,
    /// Entries that lost the support which it had given them.
    #[schema(value_type = Vec<schema::EntryId>)]
    pub revised: Vec<EntryId>,
    /// Entries of it that somebody had replaced or taken out of recall before.
    #[schema(value_type = Vec<schema::EntryId>)]
    pub left: Vec<EntryId>,
    /// The target's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was taken back.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}
