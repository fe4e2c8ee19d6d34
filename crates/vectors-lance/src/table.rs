//! One table: a Lance dataset of one organisation and kind, with what memory holds of it.
//!
//! Owns commits of data, and what searches see: a version of the dataset, where its rows lie, and
//! the states that its indices do not cover. All of these change at once, under one lock. It must
//! not know how a request is answered, nor when indices are built.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use lance::Dataset;
use lance::dataset::builder::DatasetBuilder;
use lance::dataset::{
    CommitBuilder, InsertBuilder, MergeInsertBuilder, WhenMatched, WhenNotMatched, WriteMode,
    WriteParams,
};
use lance::index::DatasetIndexExt;
use lance::session::Session;
use parking_lot::RwLock;
use sillok_core::entry::Kind;
use sillok_core::id::EntryId;
use sillok_core::ports::IndexDoc;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::columns::{self, DIRECTORY, KEY, TextAndVector};
use crate::config::LanceConfig;
use crate::delta::{Delta, DeltaRow};
use crate::directory::{Directory, Row, fragment_of};
use crate::error::Error;
use crate::filter::Attributes;
use crate::words::Words;

/// Name of the full-text index.
pub(crate) const TEXT_INDEX: &str = "content_bm25";
/// Name of the vector index.
pub(crate) const VECTOR_INDEX: &str = "vector_hnsw";
/// The property of a data commit that names the cursor stored with it.
const THROUGH: &str = "sillok.through";

/// What all tables share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: LanceConfig,
    pub(crate) words: Words,
}

/// One table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) shared: Arc<Shared>,
    /// Lance's caches, one for all tables.
    session: Arc<Session>,
    pub(crate) kind: Kind,
    pub(crate) directory: PathBuf,
    pub(crate) view: RwLock<View>,
    /// Held while data is committed: one data commit at a time.
    commits: tokio::sync::Mutex<()>,
    /// Held while the view is brought up to a version.
    refreshes: tokio::sync::Mutex<()>,
    /// Held while indices are built.
    pub(crate) maintenance: tokio::sync::Mutex<()>,
}

/// What searches see of a table.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// None before the first commit.
    pub(crate) dataset: Option<Arc<Dataset>>,
    pub(crate) rows: Directory,
    pub(crate) delta: Delta,
    /// The data files of the version.
    fragments: BTreeSet<u64>,
    /// Those of them that both indices cover.
    pub(crate) covered: BTreeSet<u64>,
}

impl View {
    fn settle(&mut self) {
        let (rows, covered) = (&self.rows, &self.covered);
        self.delta.settle(|scope, entry| {
            rows.get(scope, entry)
                .map(|(address, row)| (row.stamp, covered.contains(&fragment_of(address))))
        });
    }
}

impl Table {
    /// A table at `directory` without a dataset as yet.
    pub(crate) fn new(
        shared: Arc<Shared>,
        session: Arc<Session>,
        kind: Kind,
        directory: PathBuf,
    ) -> Self {
        Self {
            shared,
            session,
            kind,
            directory,
            view: RwLock::default(),
            commits: tokio::sync::Mutex::default(),
            refreshes: tokio::sync::Mutex::default(),
            maintenance: tokio::sync::Mutex::default(),
        }
    }

    fn uri(&self) -> Result<&str, Error> {
        self.directory
            .to_str()
            .ok_or(Error::Config("the path of the index is valid Unicode"))
    }

    /// Opens the dataset that lies there.
    pub(crate) async fn load(&self) -> Result<(), Error> {
        let dataset = DatasetBuilder::from_uri(self.uri()?)
            .with_session(Arc::clone(&self.session))
            .load()
            .await?;
        let expected = columns::schema(self.shared.config.dimensions);
        let found = arrow_schema::Schema::from(dataset.schema());
        let differs = expected.fields().iter().find(|field| {
            found
                .field_with_name(field.name())
                .map_or(true, |known| known.data_type() != field.data_type())
        });
        if let Some(field) = differs {
            let table = self.directory.display().to_string();
            return Err(Error::Shape {
                table,
                why: format!("column {}", field.name()),
            });
        }
        self.refresh(dataset).await
    }

    /// Makes a state visible to searches, unless a newer one is.
    pub(crate) fn offer(&self, doc: &IndexDoc) {
        let row = self.delta_row(doc);
        let mut view = self.view.write();
        if view
            .rows
            .get(&row.scope, row.entry)
            .is_none_or(|(_, stored)| stored.stamp < row.stamp)
        {
            view.delta.offer(row);
        }
    }

    fn delta_row(&self, doc: &IndexDoc) -> DeltaRow {
        DeltaRow {
            scope: doc.scope.clone(),
            entry: doc.entry,
            stamp: doc.stamp,
            attributes: Attributes::of(doc),
            vector: columns::searchable(doc, &self.shared.config).map(<[f32]>::to_vec),
            terms: self.shared.words.count(&doc.content),
            stored: false,
        }
    }

    /// Stores these states with the cursor `through`, in one commit. States that the table holds,
    /// or holds newer, are passed over, so a repeat commits nothing.
    pub(crate) async fn store(&self, docs: Vec<IndexDoc>, through: Stamp) -> Result<(), Error> {
        let _one_at_a_time = self.commits.lock().await;
        let mut newest = BTreeMap::<(Scope, EntryId), IndexDoc>::new();
        for doc in docs {
            let key = (doc.scope.clone(), doc.entry);
            if newest.get(&key).is_none_or(|known| known.stamp < doc.stamp) {
                newest.insert(key, doc);
            }
        }
        {
            let view = self.view.read();
            newest.retain(|(scope, entry), doc| {
                view.rows
                    .get(scope, *entry)
                    .is_none_or(|(_, row)| row.stamp < doc.stamp)
            });
        }
        if newest.is_empty() {
            return Ok(());
        }
        let docs: Vec<IndexDoc> = newest.into_values().collect();
        // Until an index covers them they are searched in memory.
        docs.iter().for_each(|doc| self.offer(doc));
        let dataset = Box::pin(self.commit(&docs, through)).await?;
        self.refresh(dataset).await
    }

    /// Commits rows, again when another commit came first.
    async fn commit(&self, docs: &[IndexDoc], through: Stamp) -> Result<Dataset, Error> {
        let mut attempt = 1;
        loop {
            let current = self.view.read().dataset.clone();
            let result = match current {
                None => self.create(docs, through).await,
                Some(known) => {
                    let mut latest = Dataset::clone(&known);
                    latest.checkout_latest().await?;
                    self.merge(Arc::new(latest), docs, through).await
                }
            };
            match result {
                Err(error)
                    if error.is_overtaken() && attempt < self.shared.config.commit_attempts_max =>
                {
                    tracing::debug!(table = %self.directory.display(), attempt, %error, "a commit was overtaken");
                    attempt += 1;
                }
                result => return result,
            }
        }
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
        Ok(InsertBuilder::new(self.uri()?)
            .with_params(&params)
            .execute(vec![rows])
            .await?)
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
            let insert = InsertBuilder::new(Arc::clone(&dataset));
            (
                insert
                    .with_params(&params)
                    .execute_uncommitted(vec![rows])
                    .await?,
                None,
            )
        } else {
            let mut merge =
                MergeInsertBuilder::try_new(Arc::clone(&dataset), vec![KEY.to_owned()])?;
            merge
                .when_matched(WhenMatched::UpdateAll)
                .when_not_matched(WhenNotMatched::InsertAll);
            let merged = merge
                .try_build()?
                .execute_uncommitted_batches(vec![rows])
                .await?;
            (merged.transaction, merged.affected_rows)
        };
        transaction.transaction_properties = Some(Arc::new(properties(through)));
        let mut commit = CommitBuilder::new(dataset).with_skip_auto_cleanup(true);
        if let Some(touched) = touched {
            commit = commit.with_affected_rows(touched);
        }
        Ok(commit.execute(transaction).await?)
    }

    /// Shows searches the version `dataset`, unless they see a later one.
    pub(crate) async fn refresh(&self, dataset: Dataset) -> Result<(), Error> {
        let _one_at_a_time = self.refreshes.lock().await;
        let dataset = Arc::new(dataset);
        let present: BTreeSet<u64> = dataset
            .fragments()
            .iter()
            .map(|fragment| fragment.id)
            .collect();
        let covered = covered(&dataset)
            .await?
            .intersection(&present)
            .copied()
            .collect::<BTreeSet<u64>>();
        let (known, unread) = {
            let view = self.view.read();
            if view
                .dataset
                .as_ref()
                .is_some_and(|shown| shown.version_id() >= dataset.version_id())
            {
                return Ok(());
            }
            // New files, and files that an index does not cover any more.
            let uncovered = view
                .covered
                .difference(&covered)
                .filter(|fragment| present.contains(fragment));
            let unread: BTreeSet<u64> = present
                .difference(&view.fragments)
                .chain(uncovered)
                .copied()
                .collect();
            (view.fragments.clone(), unread)
        };
        let rows = self.read_directory(&dataset, &unread).await?;
        let tail = self.read_tail(&dataset, &rows, &covered).await?;

        let mut view = self.view.write();
        known
            .difference(&present)
            .for_each(|gone| view.rows.remove_fragment(*gone));
        rows.into_iter()
            .for_each(|(scope, address, row)| view.rows.insert(scope, address, row));
        tail.into_iter().for_each(|row| view.delta.offer(row));
        view.fragments = present;
        view.covered = covered;
        view.dataset = Some(dataset);
        view.settle();
        Ok(())
    }

    /// The directory's part for these data files.
    async fn read_directory(
        &self,
        dataset: &Dataset,
        fragments: &BTreeSet<u64>,
    ) -> Result<Vec<(Scope, u64, Row)>, Error> {
        if fragments.is_empty() {
            return Ok(Vec::new());
        }
        let mut scan = dataset.scan();
        let wanted = dataset
            .fragments()
            .iter()
            .filter(|fragment| fragments.contains(&fragment.id));
        scan.with_fragments(wanted.cloned().collect())
            .project(&DIRECTORY)?
            .with_row_id();
        columns::directory_rows(&scan.try_into_batch().await?, &self.shared.config)
    }

    /// The states of those `rows` that neither an index nor memory holds.
    async fn read_tail(
        &self,
        dataset: &Dataset,
        rows: &[(Scope, u64, Row)],
        covered: &BTreeSet<u64>,
    ) -> Result<Vec<DeltaRow>, Error> {
        let missing: BTreeMap<u64, (&Scope, &Row)> = {
            let view = self.view.read();
            let in_memory = |scope: &Scope, row: &Row| {
                view.delta
                    .get(scope, row.entry)
                    .is_some_and(|d| d.stamp >= row.stamp)
            };
            let missing = rows.iter().filter(|(scope, address, row)| {
                !covered.contains(&fragment_of(*address)) && !in_memory(scope, row)
            });
            missing
                .map(|(scope, address, row)| (*address, (scope, row)))
                .collect()
        };
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        let fragments: BTreeSet<u64> = missing
            .keys()
            .map(|address| fragment_of(*address))
            .collect();
        let mut scan = dataset.scan();
        let wanted = dataset
            .fragments()
            .iter()
            .filter(|fragment| fragments.contains(&fragment.id));
        scan.with_fragments(wanted.cloned().collect())
            .project(&[columns::CONTENT, columns::VECTOR])?
            .with_row_id();
        let found = columns::texts_and_vectors(&scan.try_into_batch().await?)?;
        let state = |(address, text, vector): TextAndVector| {
            let (scope, row) = missing.get(&address)?;
            Some(DeltaRow {
                scope: (*scope).clone(),
                entry: row.entry,
                stamp: row.stamp,
                attributes: row.attributes,
                vector: vector.filter(|_| row.has_vector),
                terms: self.shared.words.count(&text),
                stored: true,
            })
        };
        Ok(found.into_iter().filter_map(state).collect())
    }
}

/// What a data commit carries: the cursor, for whoever reads the table's history.
fn properties(through: Stamp) -> HashMap<String, String> {
    HashMap::from([(THROUGH.to_owned(), through.to_string())])
}

/// The data files that both indices cover; none when one of the indices is missing.
async fn covered(dataset: &Dataset) -> Result<BTreeSet<u64>, Error> {
    let indices = dataset.load_indices().await?;
    let of = |name: &str| -> BTreeSet<u64> {
        let segments = indices.iter().filter(|index| index.name == name);
        segments
            .filter_map(|index| index.fragment_bitmap.as_ref())
            .flatten()
            .map(u64::from)
            .collect()
    };
    Ok(of(TEXT_INDEX)
        .intersection(&of(VECTOR_INDEX))
        .copied()
        .collect())
}
