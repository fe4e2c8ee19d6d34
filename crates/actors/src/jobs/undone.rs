//! Whether a promotion was taken back, as its episode tells: of a promotion itself only events of its target say so.
//!
//! Owns the look. What taking one back leads to is core's.

use sillok_core::Error;
use sillok_core::entry::{Head, Status};
use sillok_core::id::VerificationId;
use sillok_core::promotion::PublishReport;
use sillok_core::retention::Retirement;
use sillok_core::scope::Scope;
use sillok_store::Store;
use sillok_store::keys::{self, ScopeKey};

use super::promote::{row, verification};
use crate::commit::Shared;
use crate::errors::refusal;
use crate::facts::{Unfetched, stored_retirement};
use crate::long_reads::LongReads;
use crate::protocol::Protocol;

/// Whether the episode left recall because its promotion was taken back. Not known, and so not said, of one that a person
/// had merged into another, or whose head has changed since, as by an erasure.
///
/// # Errors
/// What the store answered.
pub(super) async fn is_undone<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    source: &Scope,
    id: VerificationId,
    report: &PublishReport,
) -> Result<bool, Error> {
    let target = ScopeKey::of(&verification(shared, source, id).await?.target);
    let key = keys::head::key(&target, report.episode);
    let head: Option<Head> = row(shared, &key, keys::head::decode).await?;
    let Some(head) = head.filter(|head| head.status == Status::Archived) else {
        return Ok(false);
    };
    let Some(scope) = row(shared, &keys::scope::key(&target), keys::scope::decode).await? else {
        return Ok(false);
    };
    let begun = LongReads::of(&shared.store).begin().await;
    let mut txn = begun.map_err(|error| refusal(&error))?;
    let (tip, left) = (scope.tip.seq, (report.episode, head.updated_at));
    match stored_retirement(&mut txn, &target, tip, left).await {
        Ok(Some(Retirement::Undone {
            source: task,
            verification,
        })) => Ok(task == *source && verification == id),
        Ok(_) => Ok(false),
        Err(Unfetched::Store(error)) => Err(refusal(&error)),
        Err(Unfetched::Refused(error)) => Err(error),
    }
}
