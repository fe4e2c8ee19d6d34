//! Fetching how promotions stand: marks, jobs, and all of a task.
//!
//! Owns which of these reads are in conflict. What follows from them, `core` knows.

use sillok_core::command::VerificationRef;
use sillok_core::id::VerificationId;
use sillok_core::promotion::{PublishReport, Standing, Stands};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Txn};

use crate::row_stream::RowStream;

/// What a promotion published, if it did.
pub(super) async fn mark(
    txn: &mut impl Txn,
    source: &Scope,
    id: VerificationId,
) -> Result<Option<PublishReport>, StoreError> {
    // In conflict: two promotions of one verification must never both find it missing.
    let key = keys::mark::key(&ScopeKey::of(source), id);
    let value = txn.get(&key, Read::Conflict).await?;
    value
        .map(|value| keys::mark::decode(&key, &value))
        .transpose()
}

/// Whether a verification's promotion is under way.
pub(super) async fn job(txn: &mut impl Txn, named: &VerificationRef) -> Result<bool, StoreError> {
    // In conflict: a promotion must not be published while it is dropped.
    let key = keys::job::key(Slot::of(&named.task), named.id);
    let value = txn.get(&key, Read::Conflict).await?;
    let job = value.map(|value| keys::job::decode(&key, &value));
    Ok(job.transpose()?.is_some())
}

/// How all promotions of a task stand.
pub(super) async fn promotions(
    txn: &mut impl Txn,
    task: &Scope,
) -> Result<Vec<Standing>, StoreError> {
    let mut rows = RowStream::new(keys::verification::range_of_scope(&ScopeKey::of(task)));
    let mut found = Vec::new();
    while let Some((key, value)) = rows.next(txn).await? {
        let verification = keys::verification::decode(&key, &value)?;
        let named = VerificationRef {
            task: task.clone(),
            id: verification.id,
        };
        let stands = if mark(txn, task, named.id).await?.is_some() {
            Stands::Published
        } else if job(txn, &named).await? {
            Stands::Pending
        } else {
            Stands::Dropped
        };
        found.push(Standing {
            verification: named.id,
            outcome: verification.said.outcome,
            through: verification.through,
            stands,
        });
    }
    Ok(found)
}
