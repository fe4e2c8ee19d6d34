//! Tables at a start, and tables that are forgotten.
//!
//! Owns which of the tables that lie in the directory count: those that are as the cursor's file says. It must not know
//! what is searched.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sillok_core::ports::{Lost, VectorTable};

use super::{Storing, Tables, session_of};
use crate::damage::Says;
use crate::error::Error;
use crate::layout::{directory_of, name_of, remove, tables_in};
use crate::watermark::{self, Versions, Watermark};

impl Tables {
    /// Loads the tables that lie in the directory, and the cursor. What is not known to be on the disk is taken back
    /// first. A table that cannot be read then is removed, and the cursor with it: all that was published is told again.
    pub(crate) async fn load(&self) -> Result<(), Error> {
        let stored = watermark::read(&self.root)?;
        self.load_tables(stored.as_ref()).await?;
        self.begin_at(stored).await
    }

    async fn load_tables(&self, stored: Option<&Watermark>) -> Result<(), Error> {
        let versions = stored.map(|stored| &stored.versions);
        for name in tables_in(&self.root)? {
            let directory = directory_of(&self.root, &name.0, name.1);
            let version = versions.and_then(|versions| versions.get(&name_of(&name.0, name.1)));
            let Some(version) = version else {
                remove(&directory)?;
                continue;
            };
            let table = Arc::new(self.new_table(name.clone(), directory.clone()));
            let loaded = match watermark::take_back(&directory, *version) {
                Ok(()) => table.load().await,
                Err(error) => Err(error),
            };
            match loaded {
                Ok(()) => {
                    self.tables.write().insert(name, table);
                }
                Err(error) if may_be_damaged(&error) => {
                    let (org, kind) = name;
                    tracing::warn!(%error, org, %kind, "a table of the vector index cannot be used: it is built again");
                    // The cursor first: a new table may come to the version of the old one.
                    watermark::remove(&self.root)?;
                    remove(&directory)?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes all tables that lie in the directory, and the cursor before them.
    pub(crate) fn forget_files(&self) -> Result<(), Error> {
        watermark::remove(&self.root)?;
        *self.session.write() = session_of(&self.shared.config);
        for (org, kind) in tables_in(&self.root)? {
            remove(&directory_of(&self.root, &org, kind))?;
        }
        self.tables.write().clear();
        Ok(())
    }

    /// Takes up the cursor, unless a table is not as its file says. That file counts for nothing then, whatever becomes
    /// of the tables.
    async fn begin_at(&self, stored: Option<Watermark>) -> Result<(), Error> {
        let stored = stored.filter(|watermark| {
            let found = self.versions();
            let lost = watermark
                .versions
                .iter()
                .find(|(name, version)| found.get(*name) != Some(*version));
            if let Some((name, _)) = lost {
                tracing::warn!(
                    table = name,
                    "a table of the vector index is not at its cursor: what was published is stored again where it is lacking"
                );
            }
            lost.is_none()
        });
        if stored.is_none() {
            watermark::remove(&self.root)?;
        }
        *self.watermark.lock() = stored.as_ref().map(|watermark| watermark.through);
        let is_whole = stored.as_ref().is_some_and(|watermark| watermark.whole);
        self.is_whole.store(is_whole, Ordering::Release);
        let versions = stored.map(|watermark| watermark.versions);
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
        Ok(())
    }

    /// The version of each table that searches see.
    fn versions(&self) -> Versions {
        let tables = self.tables.read();
        let shown = tables.iter().filter_map(|((org, kind), table)| {
            let view = table.view.read();
            let version = view.dataset.as_ref()?.version_id();
            Some((name_of(org, *kind), version))
        });
        shown.collect()
    }

    /// Forgets these tables, with all that lies in their directories, and the cursor.
    pub(crate) async fn forget(&self, lost: &Lost) -> Result<(), Error> {
        let _not_while_optimising = self.lifetime.write().await;
        let mut storing = self.storing.lock().await;
        // The cursor first: it never speaks for what is gone.
        watermark::remove(&self.root)?;
        *self.watermark.lock() = None;
        self.is_whole.store(false, Ordering::Release);
        *storing = Storing::default();
        // Somebody may have removed all of it.
        std::fs::create_dir_all(&self.root).map_err(|source| Error::Io {
            path: self.root.clone(),
            source,
        })?;
        *self.session.write() = session_of(&self.shared.config);
        let mut names: BTreeSet<VectorTable> = self.tables.read().keys().cloned().collect();
        names.extend(tables_in(&self.root)?);
        names.retain(|name| lost.has(name));
        for name in names {
            remove(&directory_of(&self.root, &name.0, name.1))?;
            // Not before: whoever tries again is to find it.
            self.tables.write().remove(&name);
        }
        Ok(())
    }
}

/// Whether a table that met this error at a start is built again.
fn may_be_damaged(error: &Error) -> bool {
    matches!(error, Error::Io { .. } | Error::Lance(_)) || Says::of(error) == Says::Damage
}
