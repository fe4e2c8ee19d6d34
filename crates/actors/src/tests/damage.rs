//! An index that is damaged while it serves, or before: what is answered meanwhile, and that it comes right by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use sillok_builtin::index::ExactIndex;
use sillok_core::command::Command;
use sillok_core::entry::Table;
use sillok_core::id::EntryId;
use sillok_core::ports::{
    BoxFuture, ClaimRequest, EntryColumns, IndexDoc, IndexStats, Lost, NeighbourRequest, PortError,
    Ranked, SearchLists, SearchRequest, VectorIndex, VectorTable, vector_table,
};
use sillok_core::principal::PrincipalKind;
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};

use super::harness::{PROJECT, TestNode, TestStore, in_time, ports, scope, store, submission};
use super::index::{HookedIndex, pass_over, put, put_in};
use crate::maintenance::Maintain;
use crate::reads::{RecallAnswer, RecallQuery};
use crate::{NodeConfig, Ports};

/// Looks at whether something has come to pass.
const LOOKS: usize = 100_000;

struct Stage<I = HookedIndex> {
    node: TestNode,
    index: Arc<I>,
    given: u64,
}

impl Stage {
    async fn set() -> Self {
        let index = HookedIndex::new(|_| ());
        Self::over(&store(), index).await
    }
}

impl<I: VectorIndex> Stage<I> {
    async fn over(store: &TestStore, index: Arc<I>) -> Self {
        let node = start(store, &index).await;
        Self {
            node: node.unwrap(),
            index,
            given: 0,
        }
    }

    async fn give(&mut self, command: Command) -> Result<(), Error> {
        self.given += 1;
        let given = submission(self.given, PrincipalKind::Human, PROJECT, command);
        self.node.submit(given).await.map(drop)
    }

    async fn recall(&self) -> RecallAnswer {
        let query = RecallQuery {
            limit: Some(50),
            ..RecallQuery::new(scope(PROJECT), "the parser is greedy")
        };
        self.node.reader().recall(query).await.unwrap()
    }

    /// Waits until nothing waits to be stored.
    async fn stored(&self) {
        for _ in 0..LOOKS {
            let status = self.node.reader().status().await.unwrap();
            if status.index.pending == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("something is not stored");
    }

    /// Waits until an answer is whole again: how much it found.
    async fn whole(&self) -> usize {
        for _ in 0..LOOKS {
            let answer = self.recall().await;
            if answer.whole {
                return answer.results.len();
            }
            tokio::task::yield_now().await;
        }
        panic!("the index is not built again");
    }
}

async fn start<I: VectorIndex>(store: &TestStore, index: &Arc<I>) -> Result<TestNode, Error> {
    let ports = Ports {
        index: index.clone(),
        ..ports()
    };
    TestNode::start(store.clone(), ports, NodeConfig::default()).await
}

#[tokio::test]
async fn a_search_that_meets_damage_answers_with_what_is_there_and_has_the_index_built_again() {
    let mut stage = Stage::set().await;
    for number in 0..5 {
        let content = format!("the parser is greedy, says number {number}");
        stage.give(put(&content)).await.unwrap();
    }
    assert!(stage.recall().await.whole);
    let found = stage.recall().await.results.len();
    assert!(found > 0);
    stage.index.damage(&Lost::All);
    let meanwhile = stage.recall().await;
    assert!(!meanwhile.whole && meanwhile.results.is_empty());
    assert_eq!(stage.whole().await, found);
    assert_eq!(stage.node.metrics().index_rebuilds, 1);
    let status = stage.node.reader().status().await.unwrap();
    assert_eq!(status.index.pending, 0);
    assert_eq!(status.indexed_through.is_some(), found > 0);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn nothing_is_decided_against_an_index_that_is_not_built_again() {
    let mut stage = Stage::set().await;
    stage.give(put("the parser is greedy")).await.unwrap();
    stage.index.damage(&Lost::All);
    // It begins anew, and is not filled.
    stage.index.refuse();
    let refused = stage.give(put("the parser is greedy!")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Unavailable);
    for _ in 0..LOOKS {
        if stage.node.metrics().index_rebuilds > 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.node.metrics().index_rebuilds, 1);
    for number in 0..3 {
        let refused = stage.give(put(&format!("number {number}"))).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::Unavailable);
        let refused = stage.node.maintain(&Maintain::whole()).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::Unavailable);
        assert!(!stage.recall().await.whole);
    }
    stage.index.accept();
    assert_eq!(stage.whole().await, 1);
    stage.give(put("the parser is greedy!")).await.unwrap();
    stage.node.maintain(&Maintain::whole()).await.unwrap();
    assert_eq!(stage.node.metrics().index_rebuilds, 1);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_run_of_maintenance_that_meets_damage_is_refused_and_comes_again() {
    let mut stage = Stage::set().await;
    stage.give(put("the parser is greedy")).await.unwrap();
    // Else the indexer meets it first.
    stage.stored().await;
    stage.index.damage(&Lost::All);
    let refused = stage.node.maintain(&Maintain::whole()).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::Unavailable);
    assert_eq!(stage.whole().await, 1);
    let done = stage.node.maintain(&Maintain::whole()).await.unwrap();
    assert_eq!(done.looked_at, 1);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_start_that_meets_damage_builds_the_index_again() {
    let store = store();
    let mut stage = Stage::over(&store, HookedIndex::new(|_| ())).await;
    stage.give(put("the parser is greedy")).await.unwrap();
    stage.node.shutdown().await;
    let index = HookedIndex::new(|_| ());
    index.damage(&Lost::All);
    let stage = Stage::over(&store, index).await;
    assert_eq!(stage.node.metrics().index_rebuilds, 1);
    let answer = stage.recall().await;
    assert!(answer.whole);
    assert_eq!(answer.results.len(), 1);
    stage.node.shutdown().await;
}

/// The table of the project's organisation that entries of `table` belong to.
fn lost(table: Table) -> Lost {
    Lost::table(vector_table(&scope(PROJECT), table))
}

#[tokio::test]
async fn what_is_about_other_tables_goes_on_while_one_is_built_again() {
    let mut stage = Stage::set().await;
    stage.give(put("the parser is greedy")).await.unwrap();
    let pattern = put_in(Table::Patterns, "the parser is greedy by design");
    stage.give(pattern).await.unwrap();
    assert_eq!(stage.recall().await.results.len(), 2);
    stage.index.damage(&lost(Table::Observations));
    // It begins anew, and is not filled.
    stage.index.refuse();
    for _ in 0..3 {
        let meanwhile = stage.recall().await;
        assert!(!meanwhile.whole);
        let tables: Vec<Table> = meanwhile.results.iter().map(|hit| hit.head.table).collect();
        assert_eq!(tables, [Table::Patterns], "the other table answers");
    }
    let about_lost = stage.give(put("the parser is greedy!")).await;
    assert_eq!(about_lost.unwrap_err().code, ErrorCode::Unavailable);
    let about_other = put_in(Table::Patterns, "another parser is not");
    stage.give(about_other).await.unwrap();
    let maintained = stage.node.maintain(&Maintain::whole()).await;
    assert_eq!(maintained.unwrap_err().code, ErrorCode::Unavailable);
    assert!(stage.node.metrics().index_refusals > 0);
    assert_eq!(stage.node.index_lacks(), lost(Table::Observations));
    stage.index.accept();
    assert_eq!(stage.whole().await, 3);
    let metrics = stage.node.metrics();
    assert_eq!(metrics.index_rebuilds, 1);
    stage.give(put("the parser is greedy!")).await.unwrap();
    assert_eq!(stage.node.metrics().index_refusals, metrics.index_refusals);
    assert!(stage.node.index_lacks().is_nothing());
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_table_that_is_damaged_again_is_built_again() {
    let mut stage = Stage::set().await;
    stage.give(put("the parser is greedy")).await.unwrap();
    for rebuilds in 1..=3 {
        stage.index.damage(&lost(Table::Observations));
        assert!(!stage.recall().await.whole);
        assert_eq!(stage.whole().await, 1);
        assert_eq!(stage.node.metrics().index_rebuilds, rebuilds);
    }
    stage.node.shutdown().await;
}

#[tokio::test]
async fn an_index_that_is_filled_again_is_whole_again_and_not_before() {
    let mut stage = Stage::set().await;
    stage.give(put("the parser is greedy")).await.unwrap();
    let noted = || async {
        for _ in 0..LOOKS {
            if stage.index.is_whole().await.unwrap() {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("it is not noted to be whole");
    };
    noted().await;
    stage.index.refuse();
    stage.index.damage(&lost(Table::Observations));
    assert!(!stage.recall().await.whole);
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.node.metrics().index_rebuilds, 1);
    let ports = stage.node.ports();
    assert!(!stage.index.is_whole().await.unwrap(), "it is being filled");
    assert!(!ports.index.is_whole().await.unwrap());
    assert!(ports.index.note_whole().await.is_err());
    stage.index.accept();
    assert_eq!(stage.whole().await, 1);
    noted().await;
    stage.node.shutdown().await;
}

/// The exact index, some of whose tables are torn: it meets one of them at a time, and its searches pass over those that
/// were met.
struct TornIndex {
    index: ExactIndex,
    /// Each with whether it was met.
    torn: Mutex<BTreeMap<VectorTable, bool>>,
    /// Whether the next search that meets one never comes to its end.
    hangs: AtomicBool,
    /// Whether it cannot forget them.
    keeps: AtomicBool,
}

impl TornIndex {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            index: ExactIndex::new(),
            torn: Mutex::default(),
            hangs: AtomicBool::new(false),
            keeps: AtomicBool::new(false),
        })
    }

    fn tear(&self, table: Table) {
        let table = vector_table(&scope(PROJECT), table);
        self.torn.lock().insert(table, false);
    }

    /// Waits until somebody has met what is torn.
    async fn is_met(&self) {
        while self.passed_over().is_nothing() {
            tokio::task::yield_now().await;
        }
    }

    /// Meets the first torn table that a call concerns, which may depend on whether it was met before.
    fn meets(&self, concerns: impl Fn(&Lost, bool) -> bool) -> Result<(), PortError> {
        for (table, is_met) in self.torn.lock().iter_mut() {
            let lost = Lost::table(table.clone());
            if concerns(&lost, *is_met) {
                *is_met = true;
                let why = "a page is torn".into();
                return Err(PortError::Damaged { why, lost });
            }
        }
        Ok(())
    }
}

impl EntryColumns for TornIndex {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.meets(|_, _| true)?;
            self.index.ages(each).await
        })
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move {
            self.meets(|_, _| true)?;
            self.index.worths(each).await
        })
    }
}

impl VectorIndex for TornIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        self.index.offer(docs);
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let tables = docs.iter().map(|doc| vector_table(&doc.scope, doc.table));
            let tables: Vec<VectorTable> = tables.collect();
            self.meets(|lost, _| tables.iter().any(|table| lost.has(table)))?;
            self.index.apply(docs, through).await
        })
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        self.index.watermark()
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        Box::pin(async move {
            let passed_over = self.passed_over();
            let met = self.meets(|lost, is_met| !is_met && lost.concerns(request));
            if met.is_err() && self.hangs.swap(false, Ordering::Relaxed) {
                core::future::pending::<()>().await;
            }
            met?;
            let mut lists = self.index.search(request).await?;
            pass_over(&mut lists, &self.index, &passed_over);
            lists.partial = passed_over.concerns(request);
            Ok(lists)
        })
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        Box::pin(async move {
            self.meets(|lost, _| lost.concerns_neighbours(request))?;
            self.index.neighbours(request).await
        })
    }

    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>> {
        Box::pin(async move {
            self.meets(|lost, _| lost.concerns_claimants(request))?;
            self.index.claimants(request).await
        })
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.index.optimise()
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        self.index.is_whole()
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.index.note_whole()
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.torn.lock().clear();
        self.index.clear()
    }

    fn forget<'a>(&'a self, lost: &'a Lost) -> BoxFuture<'a, Result<(), PortError>> {
        if self.keeps.load(Ordering::Relaxed) {
            return Box::pin(async { Err(PortError::Unavailable("not now".into())) });
        }
        self.torn.lock().retain(|table, _| !lost.has(table));
        self.index.forget(lost)
    }

    fn passed_over(&self) -> Lost {
        let torn = self.torn.lock();
        let met = torn.iter().filter(|(_, is_met)| **is_met);
        Lost::Tables(met.map(|(table, _)| table.clone()).collect())
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        self.index.stats()
    }
}

/// A store with an entry in each of two tables.
async fn store_of_two_tables() -> TestStore {
    let store = store();
    let mut stage = Stage::over(&store, HookedIndex::new(|_| ())).await;
    stage.give(put("the parser is greedy")).await.unwrap();
    let pattern = put_in(Table::Patterns, "the parser is greedy by design");
    stage.give(pattern).await.unwrap();
    stage.node.shutdown().await;
    store
}

#[tokio::test]
async fn a_start_that_meets_one_damaged_table_after_the_other_builds_both_again() {
    let store = store_of_two_tables().await;
    let index = TornIndex::new();
    index.tear(Table::Observations);
    index.tear(Table::Patterns);
    let stage = Stage::over(&store, index).await;
    assert_eq!(stage.node.metrics().index_rebuilds, 2);
    assert!(stage.node.index_lacks().is_nothing());
    let answer = stage.recall().await;
    assert!(answer.whole);
    assert_eq!(answer.results.len(), 2);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn a_start_whose_index_cannot_forget_what_is_damaged_fails() {
    let store = store_of_two_tables().await;
    let index = TornIndex::new();
    index.tear(Table::Observations);
    index.keeps.store(true, Ordering::Relaxed);
    let refused = in_time(start(&store, &index)).await.err();
    assert_eq!(refused.unwrap().code, ErrorCode::Unavailable);
    index.keeps.store(false, Ordering::Relaxed);
    let stage = Stage::over(&store, index).await;
    assert_eq!(stage.whole().await, 2);
    stage.node.shutdown().await;
}

#[tokio::test]
async fn what_a_search_met_that_was_dropped_midway_is_known_by_the_next_one() {
    let mut stage = Stage::over(&store(), TornIndex::new()).await;
    stage.give(put("the parser is greedy")).await.unwrap();
    // Else the indexer meets it first.
    stage.stored().await;
    stage.index.tear(Table::Observations);
    stage.index.hangs.store(true, Ordering::Relaxed);
    tokio::select! {
        biased;
        _ = stage.recall() => panic!("it hangs"),
        () = in_time(stage.index.is_met()) => {}
    }
    assert!(stage.node.index_lacks().is_nothing(), "nobody has said so");
    let next = stage.recall().await;
    assert!(!next.whole && next.results.is_empty());
    assert_eq!(stage.whole().await, 1);
    assert_eq!(stage.node.metrics().index_rebuilds, 1);
    stage.node.shutdown().await;
}
