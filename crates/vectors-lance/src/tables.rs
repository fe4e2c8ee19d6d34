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
use sillok_core::ports::{IndexDoc, IndexStats, NeighbourRequest, SearchRequest, vector_table};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::columns::has_direction;
use crate::config::LanceConfig;
use crate::error::Error;
use crate::filter::Filter;
use crate::layout::{directory_of, make, name_of, remove, tables_in};
use crate::query::Question;
use crate::table::{Shared, Table};
use crate::watermark::{self, OnDisk, Versions, Watermark};
use crate::words::{Words, clip_query};

/// All tables of one directory.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) root: PathBuf,
    shared: Arc<Shared>,
    /// Replaced when everything is forgotten: a table made anew has the names and versions of the old.
    session: RwLock<Arc<Session>>,
    tables: RwLock<BTreeMap<(String, Kind), Arc<Table>>>,
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
    pub(crate) fn named(&self, key: (String, Kind)) -> Arc<Table> {
        if let Some(known) = self.tables.read().get(&key) {
            return Arc::clone(known);
        }
        let directory = directory_of(&self.root, &key.0, key.1);
        let mut tables = self.tables.write();
        let made = tables
            .entry(key)
            .or_insert_with_key(|(_, kind)| Arc::new(self.new_table(*kind, directory)));
        Arc::clone(made)
    }

    fn new_table(&self, kind: Kind, directory: PathBuf) -> Table {
        Table::new(
            Arc::clone(&self.shared),
            Arc::clone(&self.session.read()),
            kind,
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

    /// Which tables a search asks, and what.
    pub(crate) fn questions_of(&self, request: &SearchRequest) -> Vec<(Arc<Table>, Question)> {
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
            return Vec::new();
        }
        let kinds = EntryTable::ALL
            .iter()
            .filter(|table| question.filter.admits_table(**table))
            .map(|table| table.kind());
        let mut keys: Vec<(String, Kind)> = kinds
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
        keys.iter()
            .filter_map(|key| tables.get(key))
            .map(|table| (Arc::clone(table), question.clone()))
            .collect()
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
        let known = self
            .tables
            .read()
            .get(&vector_table(&request.scope, request.table))
            .map(Arc::clone);
        known.map(|table| (table, question)).into_iter().collect()
    }

    /// Loads the tables that lie in the directory, and the cursor. What is not known to be on the
    /// disk is taken back first; where what is left cannot be read, the index begins anew.
    pub(crate) async fn load(&self) -> Result<(), Error> {
        let stored = watermark::read(&self.root)?;
        let loaded = self.load_tables(stored.as_ref()).await;
        match loaded {
            Err(error @ (Error::Io { .. } | Error::Lance(_) | Error::Older { .. })) => {
                tracing::warn!(%error, "the vector index cannot be used: storing everything again");
                self.forget_files()
            }
            loaded => {
                loaded?;
                self.begin_at(stored).await;
                Ok(())
            }
        }
    }

    async fn load_tables(&self, stored: Option<&Watermark>) -> Result<(), Error> {
        let none = Versions::new();
        let versions = match stored {
            // A file of an older build names no versions: all that is there counts, as it did then.
            Some(stored) => stored.versions.as_ref(),
            None => Some(&none),
        };
        for (org, kind) in tables_in(&self.root)? {
            let directory = directory_of(&self.root, &org, kind);
            match versions.map(|versions| versions.get(&name_of(&org, kind))) {
                None => {}
                Some(Some(version)) => watermark::take_back(&directory, *version)?,
                Some(None) => {
                    remove(&directory)?;
                    continue;
                }
            }
            let table = Arc::new(self.new_table(kind, directory));
            table.load().await?;
            self.tables.write().insert((org, kind), table);
        }
        Ok(())
    }

    /// Removes all tables that lie in the directory, and the cursor before them.
    fn forget_files(&self) -> Result<(), Error> {
        watermark::remove(&self.root)?;
        self.tables.write().clear();
        *self.session.write() = session_of(&self.shared.config);
        for (org, kind) in tables_in(&self.root)? {
            remove(&directory_of(&self.root, &org, kind))?;
        }
        Ok(())
    }

    /// Takes up the cursor, unless a table is behind it.
    async fn begin_at(&self, stored: Option<Watermark>) {
        let stored = stored.filter(|watermark| {
            let latest = self.stamps();
            let lost = watermark
                .tables
                .iter()
                .find(|(name, stamp)| latest.get(*name).is_none_or(|found| found < *stamp));
            if let Some((name, _)) = lost {
                tracing::warn!(
                    table = name,
                    "a table of the vector index is behind its cursor: storing everything again"
                );
            }
            lost.is_none()
        });
        *self.watermark.lock() = stored.as_ref().map(|watermark| watermark.through);
        let is_whole = stored.as_ref().is_some_and(|watermark| watermark.whole);
        self.is_whole.store(is_whole, Ordering::Release);
        let versions = stored.and_then(|watermark| watermark.versions);
        self.storing.lock().await.versions = versions.unwrap_or_default();
        let tables = self.all();
        tokio::spawn(async move {
            for table in tables {
                let dataset = table.view.read().dataset.clone();
                if let Some(dataset) = dataset {
                    table.prewarm(&dataset).await;
                }
            }
        });
    }

    /// The latest stamp of each table that holds rows.
    fn stamps(&self) -> BTreeMap<String, Stamp> {
        let tables = self.tables.read();
        let latest = tables.iter().filter_map(|((org, kind), table)| {
            table
                .view
                .read()
                .rows
                .stamp_max()
                .map(|stamp| (name_of(org, *kind), stamp))
        });
        latest.collect()
    }

    pub(crate) async fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> Result<(), Error> {
        let mut by_table = BTreeMap::<(String, Kind), Vec<IndexDoc>>::new();
        for doc in docs {
            by_table
                .entry(vector_table(&doc.scope, doc.table))
                .or_default()
                .push(doc);
        }
        let mut storing = self.storing.lock().await;
        let stores = !by_table.is_empty();
        let mut rewritten = Vec::new();
        for (key, docs) in by_table {
            let table = self.table_of(&docs[0].scope, docs[0].table);
            if table.is_overdue() {
                table.optimise().await?;
            }
            let (erases, before) = (docs.iter().any(IndexDoc::is_erased), table.shown());
            table.store(docs, through).await?;
            if erases {
                rewritten.push((Arc::clone(&table), [before, table.shown()]));
                table.rewrite().await?;
            }
            storing.sync(&name_of(&key.0, key.1), &table)?;
        }
        if !rewritten.is_empty() {
            self.remove_older(rewritten, &storing).await?;
        }
        // The tables first: the cursor never speaks for what is not there.
        // It never moves back, but it vouches for the tables as they are now.
        let known = *self.watermark.lock();
        if stores || known < Some(through) {
            let through = known.map_or(through, |known| known.max(through));
            self.write_watermark(through, &storing)?;
        }
        Ok(())
    }

    /// Removes what tables that were written anew held before. The cursor moves only afterwards: should this be cut off,
    /// the same is stored again, and this done again.
    async fn remove_older(
        &self,
        of: Vec<(Arc<Table>, [Weak<Dataset>; 2])>,
        storing: &Storing,
    ) -> Result<(), Error> {
        // The versions that are about to go are no longer those that the next start opens.
        let known = *self.watermark.lock();
        if let Some(through) = known {
            self.write_watermark(through, storing)?;
        }
        for (table, before) in of {
            table.remove_older(&before).await?;
        }
        Ok(())
    }

    fn write_watermark(&self, through: Stamp, storing: &Storing) -> Result<(), Error> {
        let watermark = Watermark {
            through,
            tables: self.stamps(),
            versions: Some(storing.versions.clone()),
            whole: self.is_whole(),
        };
        watermark::write(&self.root, &watermark)?;
        *self.watermark.lock() = Some(through);
        Ok(())
    }

    pub(crate) async fn optimise(&self) -> Result<(), Error> {
        let _not_while_forgetting = self.lifetime.read().await;
        for table in self.all() {
            table.optimise().await?;
        }
        // What was built counts at the next start only once it is on the disk.
        self.vouch(None).await
    }

    /// Brings all tables to the disk, and then the cursor: as it is, where there is one, or `through`.
    pub(crate) async fn vouch(&self, through: Option<Stamp>) -> Result<(), Error> {
        let mut storing = self.storing.lock().await;
        for ((org, kind), table) in self.tables.read().iter() {
            storing.sync(&name_of(org, *kind), table)?;
        }
        match through.or_else(|| self.watermark()) {
            Some(through) => self.write_watermark(through, &storing),
            None => Ok(()),
        }
    }

    pub(crate) async fn clear(&self) -> Result<(), Error> {
        let _not_while_optimising = self.lifetime.write().await;
        let mut storing = self.storing.lock().await;
        // The cursor first: it never speaks for what is gone.
        watermark::remove(&self.root)?;
        *self.watermark.lock() = None;
        self.is_whole.store(false, Ordering::Release);
        *storing = Storing::default();
        let tables = {
            let mut tables = self.tables.write();
            *self.session.write() = session_of(&self.shared.config);
            core::mem::take(&mut *tables)
        };
        for (_, table) in tables {
            remove(&table.directory)?;
        }
        Ok(())
    }
}

impl Storing {
    /// Brings the version that searches see of a table to the disk.
    fn sync(&mut self, name: &str, table: &Table) -> Result<(), Error> {
        // Its files are complete; those of a later one may be coming while this runs.
        let version = table
            .view
            .read()
            .dataset
            .as_ref()
            .map(|shown| shown.version_id());
        if let Some(version) = version {
            let files = self.files.entry(table.directory.clone()).or_default();
            files.sync(&table.directory)?;
            self.versions.insert(name.to_owned(), version);
        }
        Ok(())
    }
}

fn session_of(config: &LanceConfig) -> Arc<Session> {
    Arc::new(Session::new(
        config.index_cache_bytes,
        config.metadata_cache_bytes,
        Arc::default(),
    ))
}
