//! The tables of the index and its cursor.
//!
//! Owns which table an entry belongs to, that the cursor never runs ahead of a table, and which
//! tables a request asks. It must not know what a table is made of.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
use crate::query::Question;
use crate::table::{Shared, Table, has_dataset};
use crate::watermark::{self, OnDisk, Watermark};
use crate::words::{Words, clip_query};

/// All tables of one directory.
#[derive(Debug)]
pub(crate) struct Tables {
    root: PathBuf,
    shared: Arc<Shared>,
    /// Replaced when everything is forgotten: a table made anew has the names and versions of the old.
    session: RwLock<Arc<Session>>,
    tables: RwLock<BTreeMap<(String, Kind), Arc<Table>>>,
    /// Held while states are stored or everything is forgotten.
    storing: tokio::sync::Mutex<BTreeMap<PathBuf, OnDisk>>,
    watermark: Mutex<Option<Stamp>>,
    /// Read while indices are built, written while everything is forgotten.
    lifetime: tokio::sync::RwLock<()>,
}

impl Tables {
    /// No tables as yet, in the directory `root`.
    pub(crate) fn new(root: PathBuf, config: LanceConfig) -> Result<Self, Error> {
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
            lifetime: tokio::sync::RwLock::default(),
        })
    }

    /// The cursor.
    pub(crate) fn watermark(&self) -> Option<Stamp> {
        *self.watermark.lock()
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

    /// The table that entries of `scope` and `table` belong to.
    pub(crate) fn table_of(&self, scope: &Scope, table: EntryTable) -> Arc<Table> {
        let key = vector_table(scope, table);
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

    /// Loads the tables that lie in the directory, and the cursor.
    pub(crate) async fn load(&self) -> Result<(), Error> {
        for (org, kind) in tables_in(&self.root)? {
            let directory = directory_of(&self.root, &org, kind);
            let table = Arc::new(self.new_table(kind, directory));
            table.load().await?;
            self.tables.write().insert((org, kind), table);
        }
        let stored = watermark::read(&self.root)?.filter(|watermark| {
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
        *self.watermark.lock() = stored.map(|watermark| watermark.through);
        let tables: Vec<Arc<Table>> = self.tables.read().values().map(Arc::clone).collect();
        tokio::spawn(async move {
            for table in tables {
                let dataset = table.view.read().dataset.clone();
                if let Some(dataset) = dataset {
                    table.prewarm(&dataset).await;
                }
            }
        });
        Ok(())
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
                .map(|stamp| (format!("{org}/{kind}"), stamp))
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
        let mut on_disk = self.storing.lock().await;
        for docs in by_table.into_values() {
            let table = self.table_of(&docs[0].scope, docs[0].table);
            if table.is_overdue() {
                table.optimise().await?;
            }
            table.store(docs, through).await?;
            on_disk
                .entry(table.directory.clone())
                .or_default()
                .sync(&table.directory)?;
        }
        // The tables first: the cursor never speaks for what is not there.
        let known = *self.watermark.lock();
        if known < Some(through) {
            watermark::write(
                &self.root,
                &Watermark {
                    through,
                    tables: self.stamps(),
                },
            )?;
            *self.watermark.lock() = Some(through);
        }
        Ok(())
    }

    pub(crate) async fn optimise(&self) -> Result<(), Error> {
        let _not_while_forgetting = self.lifetime.read().await;
        let tables: Vec<Arc<Table>> = self.tables.read().values().map(Arc::clone).collect();
        for table in tables {
            table.optimise().await?;
        }
        Ok(())
    }

    pub(crate) async fn clear(&self) -> Result<(), Error> {
        let _not_while_optimising = self.lifetime.write().await;
        let mut on_disk = self.storing.lock().await;
        // The cursor first: it never speaks for what is gone.
        watermark::remove(&self.root)?;
        *self.watermark.lock() = None;
        on_disk.clear();
        let tables = {
            let mut tables = self.tables.write();
            *self.session.write() = session_of(&self.shared.config);
            core::mem::take(&mut *tables)
        };
        for (_, table) in tables {
            let gone = std::fs::remove_dir_all(&table.directory);
            match gone {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::Io {
                        path: table.directory.clone(),
                        source,
                    });
                }
                _ => {}
            }
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

fn directory_of(root: &Path, org: &str, kind: Kind) -> PathBuf {
    root.join(org).join(format!("{kind}.lance"))
}

/// The tables that lie in `root`.
fn tables_in(root: &Path) -> Result<Vec<(String, Kind)>, Error> {
    let failed = |source| Error::Io {
        path: root.into(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).map_err(failed)? {
        let Ok(org) = entry.map_err(failed)?.file_name().into_string() else {
            continue;
        };
        for kind in Kind::ALL {
            if has_dataset(&directory_of(root, &org, kind)) {
                found.push((org.clone(), kind));
            }
        }
    }
    Ok(found)
}
