//! An index in memory: exact cosine over all vectors, and BM25 over all words.
//!
//! The reference for engines that approximate, and the second engine behind
//! [`VectorIndex`]. It owns what a search means: filters first, then rank. It must not know how
//! lists are fused, nor what an entry's confidence is now.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sillok_core::entry::{ClaimHash, Embedding, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::{
    BoxFuture, ClaimRequest, EntryColumns, IndexDoc, IndexStats, Lost, NeighbourRequest, PortError,
    Ranked, SearchLists, SearchRequest, VectorIndex, vector_table,
};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_core::words::bm25::{self, Counted, Query, TermCounts};

mod ages;

/// The index.
#[derive(Debug, Default)]
pub struct ExactIndex {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By scope first, so that a search reads its scopes' rows alone.
    rows: BTreeMap<Scope, BTreeMap<EntryId, Row>>,
    /// Entries that have left, so that no older state brings them back.
    gone: BTreeMap<(Scope, EntryId), Gone>,
    stored_through: Option<Stamp>,
    is_whole: bool,
}

/// When an entry left, and whether what is stored knows of it.
#[derive(Debug)]
struct Gone {
    table: Table,
    stamp: Stamp,
    stored: bool,
}

/// The newest known state of one entry.
#[derive(Debug)]
struct Row {
    doc: IndexDoc,
    terms: TermCounts,
    stored: bool,
}

impl ExactIndex {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An entry as searches see it, live or not; none if the index has never heard of it, or it is gone.
    #[must_use]
    pub fn get(&self, scope: &Scope, entry: EntryId) -> Option<IndexDoc> {
        let state = self.read();
        let row = state.rows.get(scope)?.get(&entry)?;
        Some(row.doc.clone())
    }

    /// All entries, by scope.
    fn columns(&self) -> ages::Columns {
        let state = self.read();
        let rows = state.rows.values().flat_map(BTreeMap::values);
        ages::Columns::of(rows.map(|row| &row.doc))
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        // Every change leaves the state whole after each row, so a panic elsewhere spoils nothing.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EntryColumns for ExactIndex {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        // What is handed over may ask the index itself.
        let columns = self.columns();
        each(&columns.ages());
        Box::pin(core::future::ready(Ok(())))
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        let columns = self.columns();
        each(&columns.worths());
        Box::pin(core::future::ready(Ok(())))
    }
}

impl VectorIndex for ExactIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        let mut state = self.write();
        docs.into_iter().for_each(|doc| state.take(doc, false));
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        let mut state = self.write();
        docs.into_iter().for_each(|doc| state.take(doc, true));
        // `Option` orders none before every stamp: the cursor never goes back.
        state.stored_through = state.stored_through.max(Some(through));
        Box::pin(core::future::ready(Ok(())))
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        Box::pin(core::future::ready(Ok(self.read().stored_through)))
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        Box::pin(core::future::ready(Ok(self.read().search(request))))
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        Box::pin(core::future::ready(Ok(self.read().neighbours(request))))
    }

    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>> {
        Box::pin(core::future::ready(Ok(self.read().claimants(request))))
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        // An exact index has nothing to build.
        Box::pin(core::future::ready(Ok(())))
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        Box::pin(core::future::ready(Ok(self.read().is_whole)))
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.write().is_whole = true;
        Box::pin(core::future::ready(Ok(())))
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        *self.write() = State::default();
        Box::pin(core::future::ready(Ok(())))
    }

    fn forget<'a>(&'a self, lost: &'a Lost) -> BoxFuture<'a, Result<(), PortError>> {
        let mut state = self.write();
        for (scope, rows) in &mut state.rows {
            rows.retain(|_, row| !lost.has(&vector_table(scope, row.doc.table)));
        }
        state.rows.retain(|_, rows| !rows.is_empty());
        state
            .gone
            .retain(|(scope, _), gone| !lost.has(&vector_table(scope, gone.table)));
        state.stored_through = None;
        state.is_whole = false;
        Box::pin(core::future::ready(Ok(())))
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        let state = self.read();
        let rows = state.rows.values().flat_map(BTreeMap::values);
        let mut stats = IndexStats::default();
        for row in rows {
            stats.stored += u64::from(row.stored);
            stats.pending += u64::from(!row.stored);
        }
        let leaving = state.gone.values().filter(|gone| !gone.stored);
        stats.pending += leaving.count() as u64;
        Box::pin(core::future::ready(Ok(stats)))
    }
}

impl State {
    /// Takes a state of an entry unless a newer one is known. The known one becomes stored when it
    /// comes again to be stored.
    fn take(&mut self, doc: IndexDoc, stored: bool) {
        let key = (doc.scope.clone(), doc.entry);
        if let Some(gone) = self.gone.get_mut(&key) {
            if gone.stamp >= doc.stamp {
                gone.stored |= stored && gone.stamp == doc.stamp;
                return;
            }
            self.gone.remove(&key);
        }
        let rows = self.rows.entry(doc.scope.clone()).or_default();
        match rows.get_mut(&doc.entry) {
            Some(row) if row.doc.stamp > doc.stamp => {}
            // With a vector a state is newer than without.
            Some(row)
                if row.doc.stamp == doc.stamp
                    && (row.doc.embedding.is_some() || doc.embedding.is_none()) =>
            {
                row.stored |= stored;
            }
            _ if doc.is_gone() => {
                rows.remove(&doc.entry);
                let (table, stamp) = (doc.table, doc.stamp);
                let gone = Gone {
                    table,
                    stamp,
                    stored,
                };
                self.gone.insert(key, gone);
            }
            _ => {
                let terms = TermCounts::of(&doc.content);
                rows.insert(doc.entry, Row { doc, terms, stored });
            }
        }
    }

    fn search(&self, request: &SearchRequest) -> SearchLists {
        let mut scopes: Vec<&Scope> = request.scopes.iter().collect();
        scopes.sort_unstable();
        scopes.dedup();
        let rows = scopes
            .into_iter()
            .filter_map(|scope| self.rows.get(scope))
            .flat_map(BTreeMap::values);
        let admitted: Vec<&Row> = rows.filter(|row| admits(request, &row.doc)).collect();

        let vector = match &request.embedding {
            Some(query) if query.values.iter().any(|value| *value != 0.0) => {
                let scored = admitted
                    .iter()
                    .filter_map(|row| Some((row, cosine(query, row.doc.embedding.as_ref()?)?)));
                best(
                    scored.map(|(row, score)| ranked(&row.doc, score)).collect(),
                    request.limit,
                )
            }
            _ => Vec::new(),
        };
        let query = Query::of(&request.text);
        let counted = admitted.iter().map(|row| row.terms.counted(&query));
        let scores = bm25::scores(&counted.collect::<Vec<Counted>>());
        let text = scores
            .into_iter()
            .map(|(index, score)| ranked(&admitted[index].doc, score))
            .collect();
        SearchLists {
            vector,
            text: best(text, request.limit),
            ..SearchLists::default()
        }
    }

    fn neighbours(&self, request: &NeighbourRequest) -> Vec<Ranked> {
        let rows = self
            .rows
            .get(&request.scope)
            .into_iter()
            .flat_map(BTreeMap::values);
        let close = rows.filter_map(|row| {
            let doc = &row.doc;
            let alike = doc.table == request.table
                && doc.failure == request.failure
                && doc.status.is_live();
            let score = cosine(
                &request.embedding,
                doc.embedding.as_ref().filter(|_| alike)?,
            )?;
            (score >= request.cosine_min).then(|| ranked(doc, score))
        });
        best(close.collect(), request.limit)
    }

    fn claimants(&self, request: &ClaimRequest) -> Vec<EntryId> {
        let contradicts = |claim: ClaimHash| claim.contradicts(request.claim);
        let rows = self
            .rows
            .get(&request.scope)
            .into_iter()
            .flat_map(BTreeMap::values);
        let against = rows.map(|row| &row.doc).filter(|doc| {
            doc.failure == request.failure
                && doc.status.is_live()
                && doc.claim.is_some_and(contradicts)
        });
        against.map(|doc| doc.entry).take(request.limit).collect()
    }
}

fn admits(request: &SearchRequest, doc: &IndexDoc) -> bool {
    (request.tables.is_empty() || request.tables.contains(&doc.table))
        && request.statuses.contains(&doc.status)
        && request.failures == doc.failure
        && doc.confidence >= request.confidence_min
}

fn ranked(doc: &IndexDoc, score: f32) -> Ranked {
    Ranked {
        scope: doc.scope.clone(),
        entry: doc.entry,
        score,
    }
}

/// The `limit` best: the highest score first, ties by entry and scope.
fn best(mut found: Vec<Ranked>, limit: usize) -> Vec<Ranked> {
    let order = |a: &Ranked, b: &Ranked| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| (a.entry, &a.scope).cmp(&(b.entry, &b.scope)))
    };
    if limit < found.len() && limit > 0 {
        found.select_nth_unstable_by(limit - 1, order);
    }
    found.truncate(limit);
    found.sort_unstable_by(order);
    found
}

/// Cosine of two vectors of length 1; none when they lie in different spaces. Summed in eight
/// lanes, which the compiler turns into vector instructions.
fn cosine(a: &Embedding, b: &Embedding) -> Option<f32> {
    const LANES: usize = 8;
    if a.space != b.space || a.values.len() != b.values.len() {
        return None;
    }
    let mut sums = [0.0_f32; LANES];
    let (left, right) = (a.values.chunks_exact(LANES), b.values.chunks_exact(LANES));
    let rest: f32 = left
        .remainder()
        .iter()
        .zip(right.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in left.zip(right) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    Some(sums.iter().sum::<f32>() + rest)
}

#[cfg(test)]
mod tests;
