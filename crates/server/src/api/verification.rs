//! Verifications and promotions on the wire.

use serde::{Deserialize, Serialize};
use sillok_core::command::Command;
use sillok_core::entry::{self, Table};
use sillok_core::error::Error;
use sillok_core::id::{CommandId, EntryId, Seq, VerificationId};
use sillok_core::promotion;
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use sillok_core::verification::{
    NewFailure, NewVerification, Outcome, Verification, VerificationSource,
};
use utoipa::{IntoParams, ToSchema};

use super::{Actor, Binding, Citation, Disposition, ErrorJudged, PromotionSpent, citation, schema};

/// Records a verification of a task, which starts its promotion.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordVerification {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// How it ended.
    #[schema(value_type = schema::Outcome)]
    pub outcome: Outcome,
    /// Where it comes from.
    #[schema(value_type = schema::VerificationSource)]
    pub source: VerificationSource,
    /// The run, such as a CI job's id. The same run validates an entry once.
    #[schema(value_type = schema::Line)]
    pub run: String,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub citations: Vec<Citation>,
    /// The commit that was verified, if there is a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Commit>,
    /// What went wrong, on failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The approach that was tried, on failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ApproachText>)]
    pub approach: Option<String>,
    /// The files that the approach touched, by their paths from the root of the work tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::PlaceName>, max_items = 64)]
    pub files: Vec<String>,
    /// The symbols that it touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::PlaceName>, max_items = 64)]
    pub symbols: Vec<String>,
    /// Where the knowledge goes; the task's project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Scope>)]
    pub target: Option<String>,
}

/// A commit of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// The commit's hash, in hexadecimal.
    #[schema(value_type = schema::CommitHash)]
    pub hash: String,
    /// The repository, as its remote or path names it.
    #[schema(value_type = schema::Line)]
    pub repository: String,
}

impl Commit {
    /// The binding of what was true at this commit, or of what has no repository.
    pub(super) fn binding(commit: Option<Self>) -> entry::Binding {
        match commit {
            None => entry::Binding::NoRepository,
            Some(Self { hash, repository }) => entry::Binding::Commit { hash, repository },
        }
    }
}

impl RecordVerification {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope` or `invalid_id`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let said = NewVerification {
            outcome: self.outcome,
            source: self.source,
            run: self.run,
            citations: citation::parse_all(self.citations)?,
            binding: Commit::binding(self.commit),
            error: self.error,
            approach: self.approach,
            target: self.target.as_deref().map(Scope::parse).transpose()?,
        };
        let scope = Scope::parse(&self.scope)?;
        let touches = !(self.files.is_empty() && self.symbols.is_empty());
        if said.outcome == Outcome::Passed && !touches {
            return Ok((scope, Command::RecordVerification(Box::new(said))));
        }
        // What passed touches nothing that is told: the rules refuse it.
        let failure = NewFailure {
            said,
            files: self.files,
            symbols: self.symbols,
        };
        Ok((scope, Command::RecordFailure(Box::new(failure))))
    }
}

/// A verification was recorded.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VerificationRecorded {
    /// Its id, and that of its promotion.
    #[schema(value_type = schema::VerificationId)]
    pub verification: VerificationId,
    /// It speaks for the records after this position...
    #[schema(value_type = schema::Seq)]
    pub from: Seq,
    /// ...up to and including this one.
    #[schema(value_type = schema::Seq)]
    pub through: Seq,
    /// Where the knowledge goes.
    #[schema(value_type = schema::Scope)]
    pub target: Scope,
    /// What follows from the error of one that failed; absent where none is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<ErrorJudged>,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was recorded.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// A recorded verification.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VerificationView {
    /// Its id.
    #[schema(value_type = schema::VerificationId)]
    pub id: VerificationId,
    /// How it ended.
    #[schema(value_type = schema::Outcome)]
    pub outcome: Outcome,
    /// Where it comes from.
    #[schema(value_type = schema::VerificationSource)]
    pub source: VerificationSource,
    /// The run.
    pub run: String,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// The commit that was verified.
    pub binding: Binding,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The approach that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approach: Option<String>,
    /// Who recorded it, and so authorised what it promotes.
    pub recorder: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// It speaks for the records after this position...
    #[schema(value_type = schema::Seq)]
    pub from: Seq,
    /// ...up to and including this one.
    #[schema(value_type = schema::Seq)]
    pub through: Seq,
    /// Where the knowledge goes.
    #[schema(value_type = schema::Scope)]
    pub target: Scope,
}

impl From<Verification> for VerificationView {
    fn from(verification: Verification) -> Self {
        let said = verification.said;
        Self {
            id: verification.id,
            outcome: said.outcome,
            source: said.source,
            run: said.run,
            citations: citation::all(said.citations),
            binding: said.binding.into(),
            error: said.error,
            approach: said.approach,
            recorder: verification.recorder.into(),
            time: verification.time,
            from: verification.from,
            through: verification.through,
            target: verification.target,
        }
    }
}

/// Asks what became of a promotion.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PromotionQuery {
    /// The task's scope.
    #[param(value_type = schema::TaskScope)]
    pub scope: String,
    /// The verification that started it.
    #[param(value_type = schema::VerificationId)]
    pub verification: String,
    /// Wait so long for its end, in milliseconds, up to 30000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
}

/// Asks that a promotion on the dead-letter list be tried anew.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryPromotion {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// The verification that started it.
    #[schema(value_type = schema::VerificationId)]
    pub verification: String,
}

/// Where a promotion stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromotionState {
    /// It is under way, or waits for the next attempt.
    Pending,
    /// It has failed as often as it may. It is tried anew when that is asked for.
    Halted,
    /// It is finished.
    Done,
    /// It was given up before anything of it was published.
    Dropped,
}

/// A promotion.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Promotion {
    /// Where it stands.
    pub state: PromotionState,
    /// Attempts so far that failed.
    pub attempts: u32,
    /// Why the last one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What was published, once it is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<PublishReport>,
    /// What drew that, and what its attempts used, once it is finished. Of one that is not, `GET /v1/jobs` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<PromotionSpent>,
    /// Whether it was taken back since: what it published has left recall. Not said of one whose episode a person had merged
    /// into another, or which was erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// What a promotion published.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PublishReport {
    /// The episode: the promotion's result.
    #[schema(value_type = schema::EntryId)]
    pub episode: EntryId,
    /// How many entries were made.
    pub created: usize,
    /// How many products were the same as an entry that was there.
    pub merged: usize,
    /// Every product, in order.
    pub products: Vec<Product>,
    /// Earlier episodes that this one is linked to.
    #[schema(value_type = Vec<schema::EntryId>)]
    pub linked_episodes: Vec<EntryId>,
}

/// One product of a promotion.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Product {
    /// Its table.
    #[schema(value_type = schema::Table)]
    pub table: Table,
    /// The entry that it became, or was merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EntryId>)]
    pub entry: Option<EntryId>,
    /// What became of it.
    pub disposition: Disposition,
}

impl From<promotion::PublishReport> for PublishReport {
    fn from(report: promotion::PublishReport) -> Self {
        let (created, merged) = (report.created(), report.merged());
        let products = report.products.into_iter().map(|product| Product {
            table: product.table,
            entry: product.entry,
            disposition: product.disposition.into(),
        });
        Self {
            episode: report.episode,
            created,
            merged,
            products: products.collect(),
            linked_episodes: report.linked_episodes,
        }
    }
}
