//! Promotions that are not finished, on the wire.

use serde::{Deserialize, Serialize};
use sillok_actors::reads::ListedJob;
use sillok_core::command::Command;
use sillok_core::error::Error;
use sillok_core::id::VerificationId;
use sillok_core::promotion::{LastError, Spent};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use super::schema;

/// Asks for one page of the promotions that are not finished.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobQuery {
    /// Those of the tasks in this scope, or `*`.
    #[param(value_type = schema::ScopePrefix)]
    pub scope: String,
    /// Only those that have failed as often as they may (`true`), or only the others (`false`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted: Option<bool>,
    /// The cursor that the page before gave as `next`; from the start when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many items, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// A promotion that is not finished, whichever node carries it out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WaitingPromotion {
    /// The task whose verification it carries out.
    #[schema(value_type = schema::Scope)]
    pub source: Scope,
    /// The verification.
    #[schema(value_type = schema::VerificationId)]
    pub verification: VerificationId,
    /// When it was written.
    #[schema(value_type = schema::Timestamp)]
    pub created_at: Timestamp,
    /// Whether it has failed as often as it may, and waits until somebody wants it tried anew.
    pub halted: bool,
    /// Attempts that failed since it was last wanted tried anew.
    pub attempts: u32,
    /// How many of them count. That a store or a scope was out of reach is none of the promotion's.
    pub failures: u32,
    /// How often it was taken up again after it had halted.
    pub retried: u32,
    /// When the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub last_failed_at: Option<Timestamp>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<AttemptError>,
    /// When the next attempt is due; absent where none has failed, and where none follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Timestamp>)]
    pub next_at: Option<Timestamp>,
    /// What its attempts have used, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<PromotionSpent>,
}

/// Why an attempt failed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AttemptError {
    /// The code, which is one of those of refusals.
    pub code: String,
    /// What went wrong.
    pub message: String,
}

/// What a cognifier has used for a promotion.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PromotionSpent {
    /// Name and version of the cognifier that was asked last.
    pub cognifier: String,
    /// Tokens that it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Tokens that it gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// What that cost, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_dollars: Option<u64>,
}

/// Gives a promotion up for good. Its records stay, and the next passed verification of the task speaks
/// for them, unless a later one does already.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DropPromotion {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// The verification that started it.
    #[schema(value_type = schema::VerificationId)]
    pub verification: String,
    /// Why.
    #[schema(value_type = schema::Line)]
    pub reason: String,
}

impl DropPromotion {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope` or `invalid_id`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let command = Command::DropPromotion {
            verification: self.verification.parse()?,
            reason: self.reason,
        };
        Ok((Scope::parse(&self.scope)?, command))
    }
}

impl From<ListedJob> for WaitingPromotion {
    fn from(listed: ListedJob) -> Self {
        let (job, attempts) = (listed.job, listed.attempts);
        Self {
            source: job.source,
            verification: job.verification,
            created_at: job.created_at,
            halted: attempts.halted,
            attempts: attempts.made,
            failures: attempts.failures,
            retried: attempts.round,
            last_failed_at: attempts.last_failed_at,
            last_error: attempts.last_error.map(Into::into),
            next_at: attempts.next_at,
            spent: attempts.spent.map(Into::into),
        }
    }
}

impl From<LastError> for AttemptError {
    fn from(LastError { code, message }: LastError) -> Self {
        Self { code, message }
    }
}

impl From<Spent> for PromotionSpent {
    fn from(spent: Spent) -> Self {
        Self {
            cognifier: spent.cognifier,
            prompt_tokens: spent.prompt_tokens,
            completion_tokens: spent.completion_tokens,
            micro_dollars: spent.micro_dollars,
        }
    }
}
