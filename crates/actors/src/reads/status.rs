//! Reading what the store holds as a whole.

use sillok_core::entry::SpaceId;
use sillok_core::ports::IndexStats;
use sillok_core::schedule::Runs;
use sillok_core::scope::Level;
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};

use sillok_store::{Store, Txn, keys};

use super::Reader;
use crate::errors::refusal;
use crate::maintenance::nightly;
use crate::row_stream::RowStream;

/// What the store and the index hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreStatus {
    /// The store's generation: raised by a restore.
    pub generation: u32,
    /// The last commit.
    pub last: Stamp,
    /// Scopes that have events.
    pub scopes: u64,
    /// How many of them are tasks.
    pub tasks: u64,
    /// Events of all scopes.
    pub events: u64,
    /// Promotions that are not finished.
    pub promotions_pending: u64,
    /// What the index holds.
    pub index: IndexStats,
    /// The last commit whose entries the index has stored.
    pub indexed_through: Option<Stamp>,
    /// What is known of runs of maintenance; none where there was none, and no node keeps a calendar.
    pub maintenance: Option<Runs>,
    /// The space of the vectors that are made now.
    pub space: SpaceId,
}

impl<S: Store> Reader<S> {
    /// Counts what the store holds. Goes through the rows of all scopes.
    ///
    /// # Errors
    /// What the store or the index answers.
    pub async fn status(&self) -> Result<StoreStatus, Error> {
        let mut txn = self.snapshot().await?;
        let (mut scopes, mut tasks, mut events) = (0, 0, 0);
        let mut stream = RowStream::new(keys::Family::Scope.range());
        while let Some((key, value)) = stream
            .next(&mut txn)
            .await
            .map_err(|error| refusal(&error))?
        {
            let row = keys::scope::decode(&key, &value).map_err(|error| refusal(&error))?;
            scopes += 1;
            tasks += u64::from(row.scope.level() == Level::Task);
            events += row.tip.seq.get();
        }
        let mut promotions_pending = 0;
        let mut jobs = RowStream::new(keys::job::range_all());
        while jobs
            .next(&mut txn)
            .await
            .map_err(|error| refusal(&error))?
            .is_some()
        {
            promotions_pending += 1;
        }
        let unavailable = |error: sillok_core::ports::PortError| {
            Error::new(ErrorCode::Unavailable, format!("the index: {error}"))
        };
        Ok(StoreStatus {
            generation: self.store.generation(),
            last: last_commit(txn).await?,
            scopes,
            tasks,
            events,
            promotions_pending,
            index: self.index.stats().await.map_err(unavailable)?,
            indexed_through: self.index.watermark().await.map_err(unavailable)?,
            maintenance: nightly::known(&self.store)
                .await
                .map_err(|error| refusal(&error))?,
            space: self.embedder.space(),
        })
    }
}

/// The last commit that a transaction sees. It must not have written anything.
pub(crate) async fn last_commit(txn: impl Txn) -> Result<Stamp, Error> {
    Ok(txn.commit().await.map_err(|error| refusal(&error))?.stamp)
}
