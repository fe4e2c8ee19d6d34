//! Rebuilding: the view and the index anew from the events.
//!
//! Owns the order of the work. Events, and what stands beside them (scopes' rows, commands, chunks,
//! the outbox, owners), are never touched; a chain that does not hold is refused before anything is
//! written. Each row is written with its final value only, and only when it is not there yet, so a
//! rebuild that is cut off leaves no older state behind than it found. Runs while no node does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sillok_core::id::Seq;
use sillok_core::ports::{IndexDoc, PortError, VectorIndex};
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, Family, ScopeKey};
use sillok_store::{Error as StoreError, KeyRange, RangeOptions, Read, Store, Txn};

use crate::audit::elsewhere::{is_explained, is_token_explained};
use crate::audit::fold::{Fold, short_hash};
use crate::audit::scope::{
    SOURCES, VIEW, between, differences, fold_events, nothing_between, place_of,
};
use crate::audit::{OnProgress, Progress, Seen, Stop};
use crate::documents;
use crate::long_reads::LongReads;
use crate::row_stream::RowStream;
use crate::row_writer::RowWriter;
use crate::rows::{self, Place, Row};

/// Documents that are handed to the index at once.
const DOCS_AT_ONCE: usize = 1_024;

/// What a rebuild did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebuildReport {
    /// Scopes that were folded.
    pub scopes: u64,
    /// Events that they have.
    pub events: u64,
    /// Rows of the view that the events lead to.
    pub rows: u64,
    /// Rows that were missing or different, and were written.
    pub rows_written: u64,
    /// Rows that no event leads to, and were removed.
    pub rows_removed: u64,
    /// Entries that were handed to the index.
    pub entries: u64,
}

/// Writes the view anew from the events, and fills the index anew from the view.
///
/// # Errors
/// `internal`, naming the place, when the chain of a scope does not hold; nothing was written then.
/// What the store or the index answers; run it again then.
pub async fn rebuild<S: Store>(
    store: &S,
    index: &dyn VectorIndex,
    progress: OnProgress<'_>,
) -> Result<RebuildReport, Error> {
    let store = LongReads::of(store);
    let mut rebuild = Rebuild::of(&store, progress);
    let filled = match rebuild.view().await {
        Ok(()) => rebuild.fill(index).await,
        Err(stop) => Err(stop),
    };
    filled.map(|()| rebuild.report).map_err(refused)
}

/// Writes the view anew from the events, and leaves the index alone.
///
/// # Errors
/// As [`rebuild`].
pub async fn rebuild_view<S: Store>(
    store: &S,
    progress: OnProgress<'_>,
) -> Result<RebuildReport, Error> {
    let store = LongReads::of(store);
    let mut rebuild = Rebuild::of(&store, progress);
    let written = rebuild.view().await;
    written.map(|()| rebuild.report).map_err(refused)
}

fn refused(stop: Stop) -> Error {
    match stop {
        Stop::Failed(error) => error,
        Stop::Found(difference) => Error::new(
            ErrorCode::Internal,
            format!("nothing is rebuilt from events that do not hold: {difference}"),
        ),
    }
}

struct Rebuild<'a, S> {
    store: &'a S,
    report: RebuildReport,
    seen: Seen,
    progress: OnProgress<'a>,
}

impl<'a, S: Store> Rebuild<'a, S> {
    fn of(store: &'a S, progress: OnProgress<'a>) -> Self {
        Self {
            store,
            report: RebuildReport::default(),
            seen: Seen::default(),
            progress,
        }
    }

    async fn view(&mut self) -> Result<(), Stop> {
        while self.check_scope().await? {}
        self.seen = Seen::default();
        while self.write_scope().await? {}
        self.remove_unexplained().await
    }

    /// The row of the scope behind the last one, if there is one.
    async fn next_scope(&self, txn: &mut S::Txn) -> Result<Option<(Place, bytes::Bytes)>, Stop> {
        let range = keys::scope::range_after(self.seen.last.as_ref());
        let Some((key, value)) = txn
            .range(&range, RangeOptions::first(1, Read::Snapshot))
            .await?
            .pop()
        else {
            return Ok(None);
        };
        let scope = keys::scope::parse(&key)?.scope;
        Ok(Some((place_of(txn, &scope, &key, &value).await?, value)))
    }

    /// Checks the chain of the next scope. Whether there was one.
    async fn check_scope(&mut self) -> Result<bool, Stop> {
        let mut txn = self.store.begin().await?;
        let next = self.next_scope(&mut txn).await?;
        let here = next.as_ref().map(|(place, _)| &place.key);
        nothing_between(&mut txn, SOURCES, self.seen.last.as_ref(), here).await?;
        let Some((place, value)) = next else {
            return Ok(false);
        };
        let mut done = Progress {
            scopes: self.report.scopes,
            events: self.report.events,
            entries: 0,
        };
        fold_events(&mut txn, &place, &value, &mut done, self.progress).await?;
        (self.progress)(done);
        self.report.events = done.events;
        self.seen.last = Some(place.key);
        self.report.scopes += 1;
        Ok(true)
    }

    /// Writes what differs in the view of the next scope. Whether there was one.
    async fn write_scope(&mut self) -> Result<bool, Stop> {
        let mut txn = self.store.begin().await?;
        let next = self.next_scope(&mut txn).await?;
        let here = next.as_ref().map(|(place, _)| place.key);
        let mut writer = RowWriter::new(self.store).await?;
        self.report.rows_removed +=
            remove_between(&mut txn, &mut writer, self.seen.last, here).await?;
        if let Some((place, value)) = &next {
            let mut again = Progress::default();
            let fold = fold_events(&mut txn, place, value, &mut again, &|_| {}).await?;
            self.report.rows += fold.rows.len() as u64;
            let mut wrong: BTreeMap<Vec<u8>, Seq> = BTreeMap::new();
            for (key, seq, _) in differences(&mut txn, place, &fold).await? {
                match seq.filter(|_| fold.rows.contains_key(&key)) {
                    Some(seq) => drop(wrong.insert(key, seq)),
                    None => {
                        writer.write(Row { key, value: None }).await?;
                        self.report.rows_removed += 1;
                    }
                }
            }
            self.report.rows_written += wrong.len() as u64;
            if !wrong.is_empty() {
                write_wrong(&mut writer, place, &fold, wrong).await?;
            }
            self.seen.minted.extend(fold.told.minted);
        }
        writer.finish().await?;
        self.seen.last = here.or(self.seen.last);
        Ok(next.is_some())
    }

    /// Removes rows that are not kept by scope and that no event leads to.
    async fn remove_unexplained(&mut self) -> Result<(), Stop> {
        let mut txn = self.store.begin().await?;
        let mut writer = RowWriter::new(self.store).await?;
        for family in [
            Family::Location,
            Family::Related,
            Family::FailedApproach,
            Family::Trajectory,
            Family::Job,
            Family::Attempt,
            Family::Mark,
            Family::Token,
            Family::Vector,
        ] {
            let mut stream = RowStream::new(family.range());
            while let Some((key, value)) = stream.next(&mut txn).await? {
                if !self.explains(&mut txn, family, &key, &value).await? {
                    self.report.rows_removed += 1;
                    if writer
                        .write(Row {
                            key: key.to_vec(),
                            value: None,
                        })
                        .await?
                    {
                        txn = self.store.begin().await?;
                    }
                }
            }
        }
        Ok(writer.finish().await?)
    }

    async fn explains(
        &self,
        txn: &mut S::Txn,
        family: Family,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, Stop> {
        if family == Family::Token {
            return match (keys::token::parse(key), keys::token::decode(key, value)) {
                (Ok(key), Ok(token)) => {
                    is_token_explained(txn, &self.seen, &key.hash, &token).await
                }
                _ => Ok(false),
            };
        }
        match is_explained(txn, family, key, value).await {
            Ok(explained) => Ok(explained),
            // What it would follow from was written just now, so the row itself is damaged.
            Err(StoreError::Corrupt { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands every entry to an emptied index. The cursor is stored last: an index that was filled
    /// in part is filled again from the outbox.
    async fn fill(&mut self, index: &dyn VectorIndex) -> Result<(), Stop> {
        index.clear().await.map_err(unavailable)?;
        let txn = self.store.begin().await?;
        let stamp = txn.commit().await?.stamp;
        let mut heads = RowStream::new(Family::Head.range());
        let mut txn = self.store.begin().await?;
        let mut docs: Vec<IndexDoc> = Vec::new();
        while let Some((key, value)) = heads.next(&mut txn).await? {
            let head = keys::head::decode(&key, &value)?;
            docs.push(documents::load(&mut txn, &head, stamp).await?);
            if docs.len() == DOCS_AT_ONCE {
                self.hand_over(index, &mut docs).await?;
            }
        }
        self.hand_over(index, &mut docs).await?;
        index.apply(Vec::new(), stamp).await.map_err(unavailable)?;
        index.optimise().await.map_err(unavailable)
    }

    async fn hand_over(
        &mut self,
        index: &dyn VectorIndex,
        docs: &mut Vec<IndexDoc>,
    ) -> Result<(), Stop> {
        if docs.is_empty() {
            return Ok(());
        }
        self.report.entries += docs.len() as u64;
        index
            .apply(core::mem::take(docs), Stamp::ZERO)
            .await
            .map_err(unavailable)?;
        let RebuildReport {
            scopes,
            events,
            entries,
            ..
        } = self.report;
        (self.progress)(Progress {
            scopes,
            events,
            entries,
        });
        Ok(())
    }
}

fn unavailable(error: PortError) -> Stop {
    Stop::Failed(Error::new(
        ErrorCode::Unavailable,
        format!("the index: {error}"),
    ))
}

/// Removes rows of the view that lie between two scopes. How many.
async fn remove_between<S: Store>(
    txn: &mut S::Txn,
    writer: &mut RowWriter<'_, S>,
    after: Option<ScopeKey>,
    before: Option<ScopeKey>,
) -> Result<u64, Stop> {
    let mut removed = 0;
    for family in VIEW {
        let range: KeyRange = between(family, after.as_ref(), before.as_ref());
        let mut stream = RowStream::new(range);
        while let Some((key, _)) = stream.next(txn).await? {
            removed += 1;
            if writer
                .write(Row {
                    key: key.to_vec(),
                    value: None,
                })
                .await?
            {
                *txn = writer.store.begin().await?;
            }
        }
    }
    Ok(removed)
}

/// Folds a scope once more and writes those rows that are wrong, each with its final value.
async fn write_wrong<S: Store>(
    writer: &mut RowWriter<'_, S>,
    place: &Place,
    fold: &Fold,
    mut wrong: BTreeMap<Vec<u8>, Seq>,
) -> Result<(), Stop> {
    let mut again = Fold::new(place);
    let mut events = RowStream::new(keys::event::range_of_scope(&place.key));
    let mut txn = writer.store.begin().await?;
    while let Some((key, value)) = events.next(&mut txn).await? {
        let folded = again.event(&mut txn, &key, &value).await?;
        for change in &folded.changes {
            let row = rows::row_of(place, change);
            let is_final = wrong.get(&row.key) == Some(&folded.seq)
                && row
                    .value
                    .as_ref()
                    .is_some_and(|value| fold.rows[&row.key].hash == short_hash(value));
            if is_final {
                wrong.remove(&row.key);
                if writer.write(row).await? {
                    txn = writer.store.begin().await?;
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "every row that an event leads to was written"
    );
    Ok(())
}
