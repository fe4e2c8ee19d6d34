//! The tables of the index and its cursor.
//!
//! Owns which table an entry belongs to, that the cursor never runs ahead of a table, and which
//! tables a request asks. It must not know what a table is made of.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use lance::Dataset;
use lance::session::Session;
use parking_lot::{Mutex, RwLock};
use sillok_core::entry::{Embedding, Kind, Table as EntryTable};
use sillok_core::id::EntryId;
use sillok_core::ports::{
    ClaimRequest, IndexDoc, IndexStats, NeighbourRequest, SearchRequest, VectorTable, vector_table,
};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::claims::Smallest;
use crate::columns::has_direction;
use crate::config::LanceConfig;
use crate::error::Error;
use crate::filter::Filter;
use crate::layout::{directory_of, make, name_of};
use crate::query::Question;
use crate::table::{Shared, Table};
use crate::watermark::{self, OnDisk, Versions, Watermark};
use crate::words::{Words, clip_query};

mod opening;

/// All tables of one directory.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) root: PathBuf,
    shared: Arc<Shared>,
    /// Replaced when something is forgotten: a table made anew has the names and versions of the old.
    session: RwLock<Arc<Session>>,
    tables: RwLock<BTreeMap<VectorTable, Arc<Table>>>,
    /// Held while states are stored or everything is forgotten.
    storing: tokio::sync::Mutex<Storing>,
    watermark: Mutex<Option<Stamp>>,
    /// Whether every entry was noted to have its vector here.
    is_whole: AtomicBool,
    /// Read while indices are built, written while everything is forgotten.
    lifetime: tokio::sync::RwLock<()>,
}

/// What is known to be on the disk.
#[derive(Debug, Default)]
struct Storing {
    files: BTreeMap<PathBuf, OnDisk>,
    versions: Versions,
}

impl Tables {
    /// No tables as yet, in the directory `root`, which is made when it is missing.
    pub(crate) fn new(root: PathBuf, config: LanceConfig) -> Result<Self, Error> {
        config.check()?;
        make(&root)?;
        let session = RwLock::new(session_of(&config));
        Ok(Self {
            root,
            shared: Arc::new(Shared {
                config,
                words: Words::new()?,
            }),
            session,
            tables: RwLock::default(),
            storing: tokio::sync::Mutex::default(),
            watermark: Mutex::default(),
            is_whole: AtomicBool::new(false),
            lifetime: tokio::sync::RwLock::default(),
        })
    }

    /// The cursor.
    pub(crate) fn watermark(&self) -> Option<Stamp> {
        *self.watermark.lock()
    }

    /// Whether every entry was noted to have its vector here.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Acquire)
    }

    /// Notes that, beside the cursor, and so for as long as it counts.
    pub(crate) async fn note_whole(&self) -> Result<(), Error> {
        let storing = self.storing.lock().await;
        self.is_whole.store(true, Ordering::Release);
        let through = self.watermark().unwrap_or(Stamp::ZERO);
        self.write_watermark(through, &storing)
    }

    /// What the tables hold.
    pub(crate) fn stats(&self) -> IndexStats {
        let mut stats = IndexStats::default();
        for table in self.tables.read().values() {
            let view = table.view.read();
            stats.stored += view.rows.len() as u64;
            stats.pending += view.delta.pending() as u64;
        }
        stats
    }

    /// All tables.
    pub(crate) fn all(&self) -> Vec<Arc<Table>> {
        self.tables.read().values().map(Arc::clone).collect()
    }

    /// The table that entries of `scope` and `table` belong to.
    pub(crate) fn table_of(&self, scope: &Scope, table: EntryTable) -> Arc<Table> {
        self.named(vector_table(scope, table))
    }

    /// The table of this name, which may hold nothing.
    pub(crate) fn named(&self, key: VectorTable) -> Arc<Table> {
        if let Some(known) = self.tables.read().get(&key) {
            return Arc::clone(known);
        }
        let directory = directory_of(&self.root, &key.0, key.1);
        let mut tables = self.tables.write();
        let made = tables
            .entry(key)
            .or_insert_with_key(|name| Arc::new(self.new_table(name.clone(), directory)));
        Arc::clone(made)
    }

    fn new_table(&self, name: VectorTable, directory: PathBuf) -> Table {
        Table::new(
            Arc::clone(&self.shared),
            Arc::clone(&self.session.read()),
            name,
            directory,
        )
    }

    /// The vector of a request, when it is one of the searched space that points somewhere.
    fn searchable(&self, embedding: &Embedding) -> Option<Vec<f32>> {
        let config = &self.shared.config;
        let fits =
            embedding.space == config.space && has_direction(&embedding.values, config.dimensions);
        fits.then(|| embedding.values.clone())
    }

    /// Which tables a search asks, and what; and whether there is one more, which is known to be damaged.
    pub(crate) fn questions_of(
        &self,
        request: &SearchRequest,
    ) -> (Vec<(Arc<Table>, Question)>, bool) {
        let text = clip_query(&request.text, self.shared.config.query_words_max);
        let question = Question {
            filter: Filter::of_search(request),
            vector: request
                .embedding
                .as_ref()
                .and_then(|embedding| self.searchable(embedding)),
            terms: self.shared.words.distinct(&text),
            cosine_min: f32::NEG_INFINITY,
            limit: request.limit,
            exact_scores: false,
        };
        if request.limit == 0 || (question.vector.is_none() && question.terms.is_empty()) {
            return (Vec::new(), false);
        }
        let kinds = EntryTable::ALL
            .iter()
            .filter(|table| question.filter.admits_table(**table))
            .map(|table| table.kind());
        let mut keys: Vec<VectorTable> = kinds
            .flat_map(|kind| {
                question
                    .filter
                    .scopes()
                    .iter()
                    .map(move |scope| (scope.org().to_owned(), kind))
            })
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let tables = self.tables.read();
        let (damaged, sound): (Vec<_>, Vec<_>) = keys
            .iter()
            .filter_map(|key| tables.get(key))
            .partition(|table| table.is_damaged());
        let asked = sound
            .into_iter()
            .map(|table| (Arc::clone(table), question.clone()));
        (asked.collect(), !damaged.is_empty())
    }

    /// Which table a search for neighbours asks, and what.
    pub(crate) fn question_of_neighbours(
        &self,
        request: &NeighbourRequest,
    ) -> Vec<(Arc<Table>, Question)> {
        let Some(vector) = self
            .searchable(&request.embedding)
            .filter(|_| request.limit > 0)
        else {
            return Vec::new();
        };
        let question = Question {
            filter: Filter::of_neighbours(request),
            vector: Some(vector),
            terms: Vec::new(),
            cosine_min: request.cosine_min,
            limit: request.limit,
            exact_scores: true,
        };
        let known = self.known(&vector_table(&request.scope, request.table));
        known.map(|table| (table, question)).into_iter().collect()
    }

    /// The entries that declare the key of a claim with another value, in rising order, of all tables of the organisation.
    pub(crate) fn claimants(&self, request: &ClaimRequest) -> Result<Vec<EntryId>, Error> {
        let filter = Filter::of_claimants(request);
        let names = Kind::ALL.map(|kind| (request.scope.org().to_owned(), kind));
        let mut found = Smallest::new(request.limit);
        for table in names.iter().filter_map(|name| self.known(name)) {
            table.check()?;
            table.claimants(request, &filter, &mut found);
        }
        Ok(found.into_vec())
    }

    /// The table of this name, where there is one.
    fn known(&self, name: &VectorTable) -> Option<Arc<Table>> {
        self.tables.read().get(name).map(Arc::clone)
    }

    pub(crate) async fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> Result<(), Error> {
        let mut by_table = BTreeMap::<VectorTable, Vec<IndexDoc>>::new();
        for doc in docs {
            by_table
                .entry(vector_table(&doc.scope, doc.table))
                .or_default()
                .push(doc);
        }
        let mut storing = self.storing.lock().await;
        let stores = !by_table.is_empty();
        let mut rewritten = Vec::new();
        for docs in by_table.into_values() {
            let table = self.table_of(&docs[0].scope, docs[0].table);
            let stored = store_in(&table, docs, through).await;
            let held = stored.map_err(|error| table.named(error))?;
            rewritten.extend(held.map(|held| (Arc::clone(&table), held)));
            storing.sync(&table)?;
        }
        self.remove_older(rewritten, &storing).await?;
        // The tables first: the cursor never speaks for what is not there.
        // It never moves back, but it vouches for the tables as they are now.
        let known = *self.watermark.lock();
        if stores || known < Some(through) {
            let through = known.map_or(through, |known| known.max(through));
            self.write_watermark(through, &storing)?;
        }
        Ok(())
    }

    /// Removes what tables that were written anew held before, while nobody stores. The cursor moves only afterwards:
    /// should this be cut off, the same is stored again, and this done again.
    async fn remove_older(
        &self,
        of: Vec<(Arc<Table>, [Weak<Dataset>; 2])>,
        storing: &Storing,
    ) -> Result<(), Error> {
        if of.is_empty() {
            return Ok(());
        }
        // The versions that are about to go are no longer those that the next start opens.
        let known = *self.watermark.lock();
        if let Some(through) = known {
            self.write_watermark(through, storing)?;
        }
        for (table, before) in of {
            let removed = table.remove_older(&before).await;
            removed.map_err(|error| table.named(error))?;
        }
        Ok(())
    }

    fn write_watermark(&self, through: Stamp, storing: &Storing) -> Result<(), Error> {
        let watermark = Watermark {
            through,
            versions: storing.versions.clone(),
            whole: self.is_whole(),
        };
        watermark::write(&self.root, &watermark)?;
        *self.watermark.lock() = Some(through);
        Ok(())
    }

    pub(crate) async fn optimise(&self) -> Result<(), Error> {
        let _not_while_forgetting = self.lifetime.read().await;
        let mut tables = self.all();
        tables.retain(|table| !table.is_damaged());
        let mut rewritten = Vec::new();
        for table in &tables {
            let before = table.shown();
            let optimised = table.optimise().await;
            if optimised.map_err(|error| table.named(error))? {
                rewritten.push((Arc::clone(table), [before, table.shown()]));
            }
        }
        // What was built counts at the next start only once it is on the disk.
        let mut storing = self.storing.lock().await;
        self.vouch_for(&tables, None, &mut storing)?;
        self.remove_older(rewritten, &storing).await
    }

    /// Brings all tables to the disk, and then the cursor: as it is, where there is one, or `through`.
    pub(crate) async fn vouch(&self, through: Option<Stamp>) -> Result<(), Error> {
        let mut storing = self.storing.lock().await;
        self.vouch_for(&self.all(), through, &mut storing)
    }

    fn vouch_for(
        &self,
        tables: &[Arc<Table>],
        through: Option<Stamp>,
        storing: &mut Storing,
    ) -> Result<(), Error> {
        for table in tables {
            storing.sync(table)?;
        }
        match through.or_else(|| self.watermark()) {
            Some(through) => self.write_watermark(through, storing),
            None => Ok(()),
        }
    }
}

/// Stores states of a table's entries. Where some of them were erased, the table is written anew: the versions that it
/// showed before.
async fn store_in(
    table: &Table,
    docs: Vec<IndexDoc>,
    through: Stamp,
) -> Result<Option<[Weak<Dataset>; 2]>, Error> {
    table.check()?;
    if table.is_overdue() {
        table.index().await?;
    }
    let (erases, before) = (docs.iter().any(IndexDoc::is_erased), table.shown());
    table.store(docs, through).await?;
    if !erases {
        return Ok(None);
    }
    let held = [before, table.shown()];
    table.rewrite().await?;
    Ok(Some(held))
}

impl Storing {
    /// Brings the version that searches see of a table to the disk.
    fn sync(&mut self, table: &Table) -> Result<(), Error> {
        // Its files are complete; those of a later one may be coming while this runs.
        let version = table
            .view
            .read()
            .dataset
            .as_ref()
            .map(|shown| shown.version_id());
        if let Some(version) = version {
            let files = self.files.entry(table.directory.clone()).or_default();
            let synced = files.sync(&table.directory);
            synced.map_err(|error| table.named(error))?;
            let (org, kind) = &table.name;
            self.versions.insert(name_of(org, *kind), version);
        }
        Ok(())
    }
}

/// Caches of the configured sizes, with nothing in them.
pub(crate) fn session_of(config: &LanceConfig) -> Arc<Session> {
    Arc::new(Session::new(
        config.index_cache_bytes,
        config.metadata_cache_bytes,
        Arc::default(),
    ))
}
