//! Reading promotions that are not finished, whichever node carries them out.

use sillok_core::Error;
use sillok_core::id::VerificationId;
use sillok_core::limits::PAGE_SCAN_ROWS_MAX;
use sillok_core::promotion::{Attempts, Job};
use sillok_core::scope::{Level, ScopePrefix};
use sillok_core::slot::Slot;
use sillok_store::{Error as StoreError, KeyRange, Read, Store, Txn, keys};

use super::{Page, Reader, page_rows};
use crate::errors::refusal;
use crate::jobs::read_attempts;
use crate::row_stream::RowStream;

/// A promotion that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedJob {
    /// The job.
    pub job: Job,
    /// How the attempts went that are kept. One that is under way is not among them.
    pub attempts: Attempts,
}

/// Where a promotion stands in the listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPlace {
    /// The slot of its task.
    pub slot: Slot,
    /// The verification.
    pub verification: VerificationId,
}

impl<S: Store> Reader<S> {
    /// Promotions that are not finished, in a fixed order that means nothing; if `halted` is given, only
    /// those that wait to be wanted tried anew, or only the others. A page may hold fewer rows than asked
    /// for, even none, and still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn promotions(
        &self,
        under: &ScopePrefix,
        halted: Option<bool>,
        after: Option<JobPlace>,
        limit: usize,
    ) -> Result<Page<ListedJob, JobPlace>, Error> {
        let rows_max = page_rows(limit)?;
        let mut range = range_of(under);
        if let Some(after) = after {
            range = keys::job::range_after(range, after.slot, after.verification);
        }
        let mut txn = self.snapshot().await?;
        let page = page_of(&mut txn, under, halted, range, rows_max).await;
        page.map_err(|error| refusal(&error))
    }
}

/// Where the jobs of a scope and of what lies inside it are. All of a project is in one slot.
fn range_of(under: &ScopePrefix) -> KeyRange {
    match under {
        ScopePrefix::Scope(scope) if scope.level() <= Level::Project => {
            keys::job::range_of_slot(Slot::of(scope))
        }
        ScopePrefix::Scope(_) | ScopePrefix::All => keys::job::range_all(),
    }
}

async fn page_of(
    txn: &mut impl Txn,
    under: &ScopePrefix,
    halted: Option<bool>,
    range: KeyRange,
    rows_max: usize,
) -> Result<Page<ListedJob, JobPlace>, StoreError> {
    let mut rows = RowStream::new(range);
    let mut items = Vec::new();
    let mut last = None;
    for _ in 0..PAGE_SCAN_ROWS_MAX {
        if items.len() == rows_max {
            break;
        }
        let Some((key, value)) = rows.next(txn).await? else {
            return Ok(Page { items, next: None });
        };
        let place = keys::job::parse(&key)?;
        let (slot, verification) = (place.slot, place.verification);
        last = Some(JobPlace { slot, verification });
        let job = match keys::job::decode(&key, &value) {
            Ok(job) => job,
            // What is damaged keeps nobody from the rest: the audit names it.
            Err(error) => {
                tracing::warn!(%error, %verification, "a promotion under way cannot be read");
                continue;
            }
        };
        if !under.covers(&job.source) {
            continue;
        }
        let key = keys::attempt::key(slot, verification);
        let value = txn.get(&key, Read::Snapshot).await?;
        let attempts = value.and_then(|value| read_attempts(&key, &value));
        let attempts = attempts.unwrap_or_default();
        if halted.is_none_or(|halted| halted == attempts.halted) {
            items.push(ListedJob { job, attempts });
        }
    }
    Ok(Page { items, next: last })
}
