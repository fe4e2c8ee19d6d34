//! The index as a whole, behind the port.
//!
//! Owns that everything slow runs on the index's own threads. It must not know files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use sillok_core::entry::Table as EntryTable;
use sillok_core::id::EntryId;
use sillok_core::ports::{
    BoxFuture, ClaimRequest, EntryColumns, IndexDoc, IndexStats, Lost, NeighbourRequest, PortError,
    Ranked, SearchLists, SearchRequest, VectorIndex,
};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;

use crate::config::LanceConfig;
use crate::error::Error;
use crate::planning;
use crate::pool::Pool;
use crate::query::{Answer, Question};
use crate::ranking::best;
use crate::table::Table;
use crate::tables::Tables;

/// An index over Lance tables in one directory.
#[derive(Debug)]
pub struct LanceIndex {
    tables: Arc<Tables>,
    pool: Pool,
}

impl LanceIndex {
    /// Opens the index in the directory `path`, which is made when it is missing, and waits until
    /// its tables are loaded.
    ///
    /// # Errors
    /// [`Error::Config`] when `config` contradicts itself, [`Error::Shape`] when a table there was
    /// made for vectors of other dimensions, [`Error::Io`] and [`Error::Lance`] when files cannot be
    /// read. In the last three cases the directory can be removed and the index built again.
    pub fn open(path: impl Into<PathBuf>, config: LanceConfig) -> Result<Self, Error> {
        let threads = config.threads;
        let tables = Arc::new(Tables::new(path.into(), config)?);
        let pool = Pool::start(threads)?;
        let opening = Arc::clone(&tables);
        match pool.run_blocking(async move { opening.load().await }) {
            Err(error @ Error::Panicked(_)) => {
                tracing::warn!(%error, "the vector index cannot be used: storing everything again");
                tables.forget_files()?;
            }
            loaded => loaded?,
        }
        Ok(Self { tables, pool })
    }

    /// Runs `work` on the pool, as the port wants it.
    fn run<T, F, W>(&self, work: W) -> BoxFuture<'_, Result<T, PortError>>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
        W: FnOnce(Arc<Tables>) -> F,
    {
        let done = self.pool.run(work(Arc::clone(&self.tables)));
        Box::pin(async move { self.judge(done.await).await })
    }

    /// What came of work, with what an error comes to, which is found out on the pool.
    async fn judge<T>(&self, done: Result<T, Error>) -> Result<T, PortError> {
        let error = match done {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let tables = Arc::clone(&self.tables);
        let judged = self.pool.run(async move { Ok(tables.judge(error).await) });
        Err(judged.await.unwrap_or_else(|error| error).into())
    }
}

impl EntryColumns for LanceIndex {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let handed_over = planning::ages(&self.tables, &self.pool, each).await;
            self.judge(handed_over).await
        })
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            let handed_over = planning::worths(&self.tables, &self.pool, each).await;
            self.judge(handed_over).await
        })
    }
}

impl VectorIndex for LanceIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        // Those of a commit are of one scope and of few tables: each is looked for once.
        let mut of_tables: BTreeMap<(&Scope, EntryTable), Vec<&IndexDoc>> = BTreeMap::new();
        for doc in &docs {
            of_tables
                .entry((&doc.scope, doc.table))
                .or_default()
                .push(doc);
        }
        for ((scope, table), docs) in of_tables {
            self.tables.table_of(scope, table).offer(&docs);
        }
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        self.run(|tables| async move { tables.apply(docs, through).await })
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        Box::pin(core::future::ready(Ok(self.tables.watermark())))
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        let limit = request.limit;
        let (asked, partial) = self.tables.questions_of(request);
        self.run(move |_| async move {
            let Answer { vector, text } = ask(asked).await?;
            Ok(SearchLists {
                vector: best(vector, limit),
                text: best(text, limit),
                partial,
                ..SearchLists::default()
            })
        })
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        let limit = request.limit;
        let asked = self.tables.question_of_neighbours(request);
        self.run(move |_| async move { Ok(best(ask(asked).await?.vector, limit)) })
    }

    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>> {
        // Nothing is read for that.
        let found = self.tables.claimants(request);
        Box::pin(async move { self.judge(found).await })
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.run(|tables| async move { tables.optimise().await })
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        Box::pin(core::future::ready(Ok(self.tables.is_whole())))
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.run(|tables| async move { tables.note_whole().await })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.run(|tables| async move { tables.forget(&Lost::All).await })
    }

    fn forget<'a>(&'a self, lost: &'a Lost) -> BoxFuture<'a, Result<(), PortError>> {
        let lost = lost.clone();
        self.run(|tables| async move { tables.forget(&lost).await })
    }

    fn passed_over(&self) -> Lost {
        self.tables.damaged()
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        Box::pin(core::future::ready(Ok(self.tables.stats())))
    }
}

/// Asks several tables at once, and puts their lists together.
async fn ask(asked: Vec<(Arc<Table>, Question)>) -> Result<Answer, Error> {
    let answers = asked.iter().map(|(table, question)| async move {
        table.check()?;
        let answer = table.answer(question).await;
        answer.map_err(|error| table.named(error))
    });
    let mut all = Answer::default();
    for answer in futures::future::try_join_all(answers).await? {
        all.vector.extend(answer.vector);
        all.text.extend(answer.text);
    }
    Ok(all)
}
