//! Commits of data: states of entries become rows, each once, together with the cursor.
//!
//! Owns that a repeat writes nothing, that a commit whose answer was lost is found before the next one, and that what is
//! gone leaves. It must not know what searches make of a version.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lance::Dataset;
use lance::dataset::scanner::RowAddrTreeMap;
use lance::dataset::transaction::{Operation, Transaction};
use lance::dataset::{
    CommitBuilder, InsertBuilder, MergeInsertBuilder, WhenMatched, WhenNotMatched, WriteMode,
    WriteParams,
};
use sillok_core::id::EntryId;
use sillok_core::ports::IndexDoc;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::columns::{self, KEY};
use crate::directory::{Gone, fragment_of, place_of};
use crate::error::Error;
use crate::table::Table;

/// The property of a data commit that names the cursor stored with it.
const THROUGH: &str = "sillok.through";

impl Table {
    /// Stores these states with the cursor `through`, in one commit. Each row carries its stamp, in
    /// the same commit: states that the table holds, or holds newer, are passed over, so a repeat
    /// commits nothing. The rows of what is gone are removed, in another one.
    pub(crate) async fn store(&self, docs: Vec<IndexDoc>, through: Stamp) -> Result<(), Error> {
        let _one_at_a_time = self.commits.lock().await;
        let mut newest = BTreeMap::<(Scope, EntryId), IndexDoc>::new();
        for doc in docs {
            let key = (doc.scope.clone(), doc.entry);
            if newest.get(&key).is_none_or(|known| known.stamp < doc.stamp) {
                newest.insert(key, doc);
            }
        }
        let (gone, docs): (Vec<IndexDoc>, _) = newest.into_values().partition(IndexDoc::is_gone);
        self.put(docs, through).await?;
        self.remove(&gone, through).await
    }

    /// Stores states of entries that are not gone.
    async fn put(&self, mut docs: Vec<IndexDoc>, through: Stamp) -> Result<(), Error> {
        let mut attempt = 1;
        while !docs.is_empty() {
            let dataset = self.catch_up().await?;
            self.drop_stored(&mut docs);
            if docs.is_empty() {
                break;
            }
            // Until an index covers them they are searched in memory.
            self.offer(&Vec::from_iter(&docs));
            let committed = match dataset {
                None => self.create(&docs, through).await,
                Some(dataset) => self.merge(dataset, &docs, through).await,
            };
            match committed {
                Ok(dataset) => return self.refresh(dataset).await,
                Err(error) => self.note_overtaken(error, &mut attempt)?,
            }
        }
        Ok(())
    }

    /// Removes the rows of entries that are gone: their places in the data files are marked as empty, and are given
    /// back once there are enough of them.
    async fn remove(&self, gone: &[IndexDoc], through: Stamp) -> Result<(), Error> {
        self.offer(&Vec::from_iter(gone));
        let mut attempt = 1;
        while !gone.is_empty() {
            self.catch_up().await?;
            let Some((dataset, rows)) = self.rows_of(gone) else {
                break;
            };
            match self.delete(dataset, &rows, through).await {
                Ok(dataset) => {
                    self.removed.fetch_add(rows.len(), Ordering::Relaxed);
                    self.refresh_without(dataset, &rows).await?;
                    break;
                }
                Err(error) => self.note_overtaken(error, &mut attempt)?,
            }
        }
        let mut view = self.view.write();
        for doc in gone {
            view.rows.bury(&doc.scope, doc.entry, doc.stamp);
        }
        view.settle_of(gone.iter().map(|doc| (&doc.scope, doc.entry)));
        Ok(())
    }

    /// Notes that another commit came first.
    ///
    /// # Errors
    /// The error itself when it says something else, or that came to pass too often.
    fn note_overtaken(&self, error: Error, attempt: &mut usize) -> Result<(), Error> {
        if !error.is_overtaken() || *attempt >= self.shared.config.commit_attempts_max {
            return Err(error);
        }
        let table = self.directory.display();
        tracing::debug!(%table, attempt, %error, "a commit was overtaken");
        *attempt += 1;
        Ok(())
    }

    /// The rows of older states of these entries, if there are any, and the version in which they lie there.
    fn rows_of(&self, docs: &[IndexDoc]) -> Option<(Arc<Dataset>, Vec<Gone>)> {
        let view = self.view.read();
        let row = |doc: &IndexDoc| {
            let (address, row) = view.rows.get(&doc.scope, doc.entry)?;
            (row.stamp < doc.stamp).then(|| Gone {
                scope: doc.scope.clone(),
                entry: doc.entry,
                address,
            })
        };
        let rows: Vec<Gone> = docs.iter().filter_map(row).collect();
        let dataset = view.dataset.clone().filter(|_| !rows.is_empty())?;
        Some((dataset, rows))
    }

    /// Brings the view up to the latest version: a commit may have succeeded though its answer, or
    /// what came after it, failed.
    async fn catch_up(&self) -> Result<Option<Arc<Dataset>>, Error> {
        let shown = self.view.read().dataset.clone();
        match shown {
            None if !self.exists() => return Ok(None),
            None => self.load().await?,
            Some(shown) => {
                let mut latest = Dataset::clone(&shown);
                latest.checkout_latest().await?;
                self.refresh(latest).await?;
            }
        }
        Ok(self.view.read().dataset.clone())
    }

    /// Leaves the states that the table does not hold, nor newer ones.
    fn drop_stored(&self, docs: &mut Vec<IndexDoc>) {
        let view = self.view.read();
        docs.retain(|doc| {
            let has_vector = columns::searchable(doc, &self.shared.config).is_some();
            let known = view.rows.newness_of(&doc.scope, doc.entry);
            known < Some((doc.stamp, has_vector))
        });
    }

    async fn create(&self, docs: &[IndexDoc], through: Stamp) -> Result<Dataset, Error> {
        let params = WriteParams {
            mode: WriteMode::Create,
            session: Some(Arc::clone(&self.session)),
            max_bytes_per_file: self.shared.config.fragment_bytes_max,
            ..WriteParams::default()
        }
        .with_transaction_properties(properties(through));
        let rows = columns::rows_of(docs, &self.shared.config)?;
        let insert = InsertBuilder::new(self.uri()?).with_params(&params);
        Ok(Box::pin(insert.execute(vec![rows])).await?)
    }

    async fn merge(
        &self,
        dataset: Arc<Dataset>,
        docs: &[IndexDoc],
        through: Stamp,
    ) -> Result<Dataset, Error> {
        let rows = columns::rows_of(docs, &self.shared.config)?;
        let is_new = {
            let view = self.view.read();
            docs.iter()
                .all(|doc| view.rows.get(&doc.scope, doc.entry).is_none())
        };
        let (mut transaction, touched) = if is_new {
            // Nothing to match: the same as a merge, without reading every key.
            let params = WriteParams {
                mode: WriteMode::Append,
                ..WriteParams::default()
            };
            let insert = InsertBuilder::new(Arc::clone(&dataset)).with_params(&params);
            (
                Box::pin(insert.execute_uncommitted(vec![rows])).await?,
                None,
            )
        } else {
            let mut merge =
                MergeInsertBuilder::try_new(Arc::clone(&dataset), vec![KEY.to_owned()])?;
            merge
                .when_matched(WhenMatched::UpdateAll)
                .when_not_matched(WhenNotMatched::InsertAll);
            let job = merge.try_build()?;
            let merged = Box::pin(job.execute_uncommitted_batches(vec![rows])).await?;
            (merged.transaction, merged.affected_rows)
        };
        transaction.transaction_properties = Some(Arc::new(properties(through)));
        let mut commit = CommitBuilder::new(dataset).with_skip_auto_cleanup(true);
        if let Some(touched) = touched {
            commit = commit.with_affected_rows(touched);
        }
        Ok(Box::pin(commit.execute(transaction)).await?)
    }

    async fn delete(
        &self,
        dataset: Arc<Dataset>,
        rows: &[Gone],
        through: Stamp,
    ) -> Result<Dataset, Error> {
        let mut files = BTreeMap::<u64, Vec<u32>>::new();
        for row in rows {
            let places = files.entry(fragment_of(row.address)).or_default();
            places.push(place_of(row.address));
        }
        let (mut left, mut emptied) = (Vec::new(), Vec::new());
        for fragment in dataset.get_fragments() {
            let file = fragment.metadata().id;
            if let Some(places) = files.remove(&file) {
                match Box::pin(fragment.extend_deletions(places)).await? {
                    Some(fragment) => left.push(fragment.metadata().clone()),
                    None => emptied.push(file),
                }
            }
        }
        assert!(
            files.is_empty(),
            "the files of what is shown are in the version that is shown"
        );
        let operation = Operation::Delete {
            updated_fragments: left,
            deleted_fragment_ids: emptied,
            predicate: "the entry is gone".into(),
        };
        let mut transaction = Transaction::new(dataset.version_id(), operation, None);
        transaction.transaction_properties = Some(Arc::new(properties(through)));
        let touched: RowAddrTreeMap = rows.iter().map(|row| row.address).collect();
        let commit = CommitBuilder::new(dataset)
            .with_skip_auto_cleanup(true)
            .with_affected_rows(touched);
        Ok(Box::pin(commit.execute(transaction)).await?)
    }
}

/// What a data commit carries: the cursor, for whoever reads the table's history.
fn properties(through: Stamp) -> HashMap<String, String> {
    HashMap::from([(THROUGH.to_owned(), through.to_string())])
}
