//! One table: a Lance dataset of one organisation and kind, with what memory holds of it.
//!
//! Owns what searches see: a version of the dataset, where its rows lie, and
//! the states that its indices do not cover. All of these change at once, under one lock. It must
//! not know how a request is answered, how data is committed, nor when indices are built.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use lance::Dataset;
use lance::dataset::builder::DatasetBuilder;
use lance::session::Session;
use parking_lot::RwLock;
use sillok_core::id::EntryId;
use sillok_core::ports::{IndexDoc, VectorTable};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::columns::{self, DIRECTORY, TextAndVector};
use crate::config::LanceConfig;
use crate::damage::Health;
use crate::delta::{Delta, DeltaRow};
use crate::directory::{Directory, Gone, Row, fragment_of};
use crate::error::Error;
use crate::filter::Attributes;
use crate::indices::Indices;
use crate::words::Words;

/// States that are offered at once: searches wait for these, and for no more of them.
const OFFERED_AT_ONCE: usize = 256;

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
    pub(crate) session: Arc<Session>,
    pub(crate) name: VectorTable,
    pub(crate) directory: PathBuf,
    /// What was found of the files.
    pub(crate) health: Health,
    pub(crate) view: RwLock<View>,
    /// Held while data is committed: one data commit at a time.
    pub(crate) commits: tokio::sync::Mutex<()>,
    /// Held while the view is brought up to a version.
    refreshes: tokio::sync::Mutex<()>,
    /// Held while indices are built.
    pub(crate) maintenance: tokio::sync::Mutex<()>,
    /// Rows that were removed since the table was last written anew: whole data files may be gone with them, which
    /// older versions and indices have still.
    pub(crate) removed: AtomicUsize,
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
    /// None while the table is too small for indices.
    pub(crate) indices: Option<Arc<Indices>>,
}

impl View {
    /// Whether searches see this version, or a later one.
    fn shows(&self, dataset: &Dataset) -> bool {
        let shown = self.dataset.as_ref();
        shown.is_some_and(|shown| shown.version_id() >= dataset.version_id())
    }

    /// Forgets what need not be held in memory any more.
    pub(crate) fn settle(&mut self) {
        let (rows, indices) = (&self.rows, self.indices.as_deref());
        self.delta
            .settle(|scope, entry| held(rows, indices, scope, entry));
    }

    /// The same of these entries alone.
    pub(crate) fn settle_of<'a>(
        &mut self,
        entries: impl IntoIterator<Item = (&'a Scope, EntryId)>,
    ) {
        let (rows, indices) = (&self.rows, self.indices.as_deref());
        self.delta
            .settle_of(entries, |scope, entry| held(rows, indices, scope, entry));
    }
}

/// The stamp of an entry's row in the table, or when it left it, and whether indices cover that.
fn held(
    rows: &Directory,
    indices: Option<&Indices>,
    scope: &Scope,
    entry: EntryId,
) -> Option<(Stamp, bool)> {
    match rows.get(scope, entry) {
        Some((address, row)) => {
            let file = fragment_of(address);
            let is_covered = indices.is_some_and(|indices| indices.covered.contains(&file));
            Some((row.stamp, is_covered))
        }
        // Of what is gone nothing is left to be covered.
        None => Some((rows.left_at(scope, entry)?, true)),
    }
}

impl Table {
    /// A table at `directory` without a dataset as yet.
    pub(crate) fn new(
        shared: Arc<Shared>,
        session: Arc<Session>,
        name: VectorTable,
        directory: PathBuf,
    ) -> Self {
        Self {
            shared,
            session,
            name,
            directory,
            health: Health::default(),
            view: RwLock::default(),
            commits: tokio::sync::Mutex::default(),
            refreshes: tokio::sync::Mutex::default(),
            maintenance: tokio::sync::Mutex::default(),
            removed: AtomicUsize::new(0),
        }
    }

    /// Whether there is a dataset on the disk: there is from its first version on.
    pub(crate) fn exists(&self) -> bool {
        self.directory.join("_versions").is_dir()
    }

    pub(crate) fn uri(&self) -> Result<&str, Error> {
        self.directory
            .to_str()
            .ok_or(Error::Config("the path of the index is valid Unicode"))
    }

    /// Reads the dataset that lies there.
    pub(crate) async fn load(&self) -> Result<(), Error> {
        self.refresh(self.open().await?).await
    }

    /// Opens the dataset for scans of its columns alone: nothing of it comes into memory, and no search finds it.
    pub(crate) async fn load_columns(&self) -> Result<(), Error> {
        let dataset = self.open().await?;
        self.view.write().dataset = Some(Arc::new(dataset));
        Ok(())
    }

    /// Opens the dataset that lies there, if it has the columns that this version writes.
    async fn open(&self) -> Result<Dataset, Error> {
        let dataset = DatasetBuilder::from_uri(self.uri()?)
            .with_session(Arc::clone(&self.session))
            .load()
            .await?;
        let expected = columns::schema(self.shared.config.dimensions);
        let found = arrow_schema::Schema::from(dataset.schema());
        for field in expected.fields() {
            let (table, column) = (self.directory.display().to_string(), field.name().clone());
            match found.field_with_name(&column) {
                Ok(known) if known.data_type() == field.data_type() => {}
                Ok(_) => {
                    let why = format!("column {column}");
                    return Err(Error::Shape { table, why });
                }
                Err(_) => return Err(Error::Older { table, column }),
            }
        }
        Ok(dataset)
    }

    /// Makes states visible to searches, each unless a newer one is.
    pub(crate) fn offer(&self, docs: &[&IndexDoc]) {
        for some in docs.chunks(OFFERED_AT_ONCE) {
            let of = |doc: &&IndexDoc| {
                // What is gone hides what is stored of it until that is removed, and nothing finds it.
                let counts = match doc.is_gone() {
                    true => BTreeMap::new(),
                    false => self.shared.words.count(&doc.content),
                };
                (self.delta_row(doc), counts)
            };
            let rows: Vec<_> = some.iter().map(of).collect();
            let mut view = self.view.write();
            for (row, counts) in rows {
                let known = view.rows.newness_of(&row.scope, row.entry);
                if known < Some((row.stamp, row.vector.is_some())) {
                    view.delta.offer(row, counts);
                }
            }
        }
    }

    fn delta_row(&self, doc: &IndexDoc) -> DeltaRow {
        DeltaRow {
            scope: doc.scope.clone(),
            entry: doc.entry,
            stamp: doc.stamp,
            attributes: Attributes::of(doc),
            vector: columns::searchable(doc, &self.shared.config)
                .filter(|_| !doc.is_gone())
                .map(<[f32]>::to_vec),
            stored: false,
        }
    }

    /// Shows searches the version `dataset`, unless they see a later one.
    pub(crate) async fn refresh(&self, dataset: Dataset) -> Result<(), Error> {
        self.refresh_without(dataset, &[]).await
    }

    /// The same of a version that these rows are gone from.
    pub(crate) async fn refresh_without(
        &self,
        dataset: Dataset,
        gone: &[Gone],
    ) -> Result<(), Error> {
        let _one_at_a_time = self.refreshes.lock().await;
        if self.view.read().shows(&dataset) {
            return Ok(());
        }
        let dataset = Arc::new(dataset);
        let present: BTreeSet<u64> = dataset
            .fragments()
            .iter()
            .map(|fragment| fragment.id)
            .collect();
        let indices = Indices::open(&dataset).await?.map(Arc::new);
        let no_files = BTreeSet::new();
        let covered = indices
            .as_ref()
            .map_or(&no_files, |indices| &indices.covered);
        let (known, unread, covers_same) = {
            let view = self.view.read();
            // New files, and files that an index does not cover any more.
            let shown = view
                .indices
                .as_ref()
                .map_or(&no_files, |indices| &indices.covered);
            let uncovered = shown
                .difference(covered)
                .filter(|file| present.contains(file));
            let unread: BTreeSet<u64> = present
                .difference(&view.fragments)
                .chain(uncovered)
                .copied()
                .collect();
            (view.fragments.clone(), unread, shown == covered)
        };
        let rows = self.read_directory(&dataset, &unread).await?;
        let tail = self.read_tail(&dataset, &rows, covered).await?;
        let more_gone = self.unheard_of(&dataset, &rows, gone).await?;
        let same_rows = rows.is_empty() && more_gone.is_empty() && known == present;
        let only_lacks = same_rows && covers_same;

        let mut view = self.view.write();
        known
            .difference(&present)
            .for_each(|gone| view.rows.remove_fragment(*gone));
        rows.into_iter()
            .for_each(|(scope, address, row)| view.rows.insert(scope, address, row));
        for Gone {
            scope,
            entry,
            address,
        } in gone
        {
            view.rows.remove(scope, *entry, *address);
        }
        for (fragment, deleted) in more_gone {
            view.rows
                .remove_of(fragment, |place| deleted.contains(&place));
        }
        tail.into_iter()
            .for_each(|(row, counts)| view.delta.offer(row, counts));
        view.fragments = present;
        view.indices = indices;
        view.dataset = Some(dataset);
        if only_lacks {
            // There may be very much that waits to be stored: it stands with that as before.
            view.settle_of(gone.iter().map(|row| (&row.scope, row.entry)));
        } else {
            view.settle();
        }
        Ok(())
    }

    /// Rows that were removed from data files by a commit whose answer was lost: which those are, a file says that has
    /// fewer rows than are known of it, without what is known to have moved or to be `gone`.
    async fn unheard_of(
        &self,
        dataset: &Dataset,
        moved: &[(Scope, u64, Row)],
        gone: &[Gone],
    ) -> Result<Vec<(u64, BTreeSet<u32>)>, Error> {
        let known = self.view.read().rows.rows_after(moved, gone);
        let mut found = Vec::new();
        for fragment in dataset.get_fragments() {
            let file = fragment.metadata();
            if file.num_rows() != Some(known.get(&file.id).copied().unwrap_or(0)) {
                let deleted = fragment.get_deletion_vector().await?;
                found.extend(deleted.map(|deleted| (file.id, deleted.iter().collect())));
            }
        }
        Ok(found)
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

    /// The states of those `rows` that neither an index nor memory holds, with the terms of their texts.
    async fn read_tail(
        &self,
        dataset: &Dataset,
        rows: &[(Scope, u64, Row)],
        covered: &BTreeSet<u64>,
    ) -> Result<Vec<(DeltaRow, BTreeMap<String, u32>)>, Error> {
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
            let state = DeltaRow {
                scope: (*scope).clone(),
                entry: row.entry,
                stamp: row.stamp,
                attributes: row.attributes,
                vector: vector.filter(|_| row.has_vector),
                stored: true,
            };
            Some((state, self.shared.words.count(&text)))
        };
        Ok(found.into_iter().filter_map(state).collect())
    }
}
