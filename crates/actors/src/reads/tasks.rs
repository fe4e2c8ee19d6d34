//! Reading scopes and tasks: where they stand, and what was said of them.

use sillok_core::Error;
use sillok_core::command::ScopeRow;
use sillok_core::id::VerificationId;
use sillok_core::limits::PAGE_SCAN_ROWS_MAX;
use sillok_core::promotion::{Job, PublishReport};
use sillok_core::scope::{Level, Scope, ScopePrefix};
use sillok_core::task::Task;
use sillok_core::verification::Verification;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Store, Txn};

use super::{Page, Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

impl<S: Store> Reader<S> {
    /// The row of a scope; none before its first event.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn scope(&self, scope: &Scope) -> Result<Option<ScopeRow>, Error> {
        let mut txn = self.snapshot().await?;
        let found = rows::read(
            &mut txn,
            &keys::scope::key(&ScopeKey::of(scope)),
            keys::scope::decode,
        )
        .await;
        found.map_err(|error| refusal(&error))
    }

    /// Scopes that have events, in a fixed order that means nothing. A page may hold fewer rows
    /// than asked for, even none, and still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn scopes(
        &self,
        under: &ScopePrefix,
        after: Option<Scope>,
        limit: usize,
    ) -> Result<Page<ScopeRow, Scope>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let mut scan = Scan::new(under, after.as_ref());
        let mut items = Vec::new();
        while items.len() < rows_max {
            let Some(row) = scan.next(&mut txn).await? else {
                break;
            };
            items.push(row);
        }
        Ok(Page {
            items,
            next: scan.next_page(),
        })
    }

    /// The task that a scope names; none when it was never opened.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn task(&self, scope: &Scope) -> Result<Option<Task>, Error> {
        let mut txn = self.snapshot().await?;
        task_of(&mut txn, scope).await
    }

    /// Tasks, in a fixed order that means nothing. A page may hold fewer rows than asked for, even
    /// none, and still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn tasks(
        &self,
        under: &ScopePrefix,
        after: Option<Scope>,
        limit: usize,
    ) -> Result<Page<(Scope, Task), Scope>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let mut scan = Scan::new(under, after.as_ref());
        let mut items = Vec::new();
        while items.len() < rows_max {
            let Some(row) = scan.next(&mut txn).await? else {
                break;
            };
            if row.scope.level() == Level::Task
                && let Some(task) = task_of(&mut txn, &row.scope).await?
            {
                items.push((row.scope, task));
            }
        }
        Ok(Page {
            items,
            next: scan.next_page(),
        })
    }

    /// All verifications of a task, the earliest first.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn verifications(&self, task: &Scope) -> Result<Vec<Verification>, Error> {
        let mut txn = self.snapshot().await?;
        let stream = RowStream::new(keys::verification::range_of_scope(&ScopeKey::of(task)));
        let rows = stream
            .collect(&mut txn)
            .await
            .map_err(|error| refusal(&error))?;
        let decoded = rows
            .iter()
            .map(|(key, value)| keys::verification::decode(key, value));
        let mut found = decoded
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| refusal(&error))?;
        found
            .sort_by_key(|verification| (verification.time, verification.through, verification.id));
        Ok(found)
    }

    /// One verification of a task.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn verification(
        &self,
        task: &Scope,
        id: VerificationId,
    ) -> Result<Option<Verification>, Error> {
        let mut txn = self.snapshot().await?;
        let key = keys::verification::key(&ScopeKey::of(task), id);
        let found = rows::read(&mut txn, &key, keys::verification::decode).await;
        found.map_err(|error| refusal(&error))
    }

    /// What the promotion of a task's verification published; none while it is under way.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn mark(
        &self,
        task: &Scope,
        id: VerificationId,
    ) -> Result<Option<PublishReport>, Error> {
        let mut txn = self.snapshot().await?;
        let key = keys::mark::key(&ScopeKey::of(task), id);
        let found = rows::read(&mut txn, &key, keys::mark::decode).await;
        found.map_err(|error| refusal(&error))
    }

    /// All promotions under way.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn jobs(&self) -> Result<Vec<Job>, Error> {
        let mut txn = self.snapshot().await?;
        let rows = RowStream::new(keys::job::range_all())
            .collect(&mut txn)
            .await;
        let rows = rows.map_err(|error| refusal(&error))?;
        let decoded = rows
            .iter()
            .map(|(key, value)| keys::job::decode(key, value));
        decoded
            .collect::<Result<_, _>>()
            .map_err(|error| refusal(&error))
    }
}

pub(super) async fn task_of(txn: &mut impl Txn, scope: &Scope) -> Result<Option<Task>, Error> {
    let found = rows::read(
        txn,
        &keys::task::key(&ScopeKey::of(scope)),
        keys::task::decode,
    )
    .await;
    found.map_err(|error| refusal(&error))
}

/// Goes through the rows of all scopes and gives those that a prefix covers, up to a number of rows
/// looked at.
struct Scan<'a> {
    under: &'a ScopePrefix,
    stream: RowStream,
    looked_at: usize,
    last: Option<Scope>,
    ended: bool,
}

impl<'a> Scan<'a> {
    fn new(under: &'a ScopePrefix, after: Option<&Scope>) -> Self {
        let range = keys::scope::range_after(after.map(ScopeKey::of).as_ref());
        Self {
            under,
            stream: RowStream::new(range),
            looked_at: 0,
            last: None,
            ended: false,
        }
    }

    async fn next(&mut self, txn: &mut impl Txn) -> Result<Option<ScopeRow>, Error> {
        while self.looked_at < PAGE_SCAN_ROWS_MAX {
            let Some((key, value)) = self
                .stream
                .next(txn)
                .await
                .map_err(|error| refusal(&error))?
            else {
                self.ended = true;
                return Ok(None);
            };
            let row = keys::scope::decode(&key, &value).map_err(|error| refusal(&error))?;
            self.looked_at += 1;
            self.last = Some(row.scope.clone());
            if self.under.covers(&row.scope) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn next_page(self) -> Option<Scope> {
        self.last.filter(|_| !self.ended)
    }
}
