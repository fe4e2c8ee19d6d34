//! The index of a side as the rest of the node sees it: watched for damage.
//!
//! Owns which tables are lost and not told again. Whoever meets damage has the index begin anew with these tables; until
//! that is done a search answers from the others, and says so, and nothing is decided against what is lacking. It must
//! not know how an index is filled.

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use sillok_core::id::EntryId;
use sillok_core::ports::{
    BoxFuture, ClaimRequest, EntryColumns, IndexDoc, IndexStats, Lost, NeighbourRequest, PortError,
    Ranked, SearchLists, SearchRequest, VectorIndex,
};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::stamp::Stamp;
use tokio::sync::Notify;

use super::losses::Losses;
use crate::metrics::count;

/// Times that a search is begun again which met damage. Each finds a table, or more, that the next passes over.
const SEARCHES_MAX: usize = 8;

/// Who fills indices that are damaged, and what is counted of that.
#[derive(Clone, Debug, Default)]
pub(crate) struct Menders {
    /// Woken where damage is met in an index that serves.
    pub(crate) serving: Arc<Notify>,
    /// Woken where it is met in one that is to serve.
    pub(crate) next: Arc<Notify>,
    /// Times that an index began anew.
    pub(crate) rebuilds: Counter,
    /// Questions that were refused since what they are about is lacking.
    pub(crate) refusals: Counter,
}

/// A call of an index, which begins when it is made.
trait Call<'a, T>: FnOnce(&'a dyn VectorIndex) -> BoxFuture<'a, Result<T, PortError>> + Send {}

impl<'a, T, F> Call<'a, T> for F where
    F: FnOnce(&'a dyn VectorIndex) -> BoxFuture<'a, Result<T, PortError>> + Send
{
}

/// An index that is watched.
pub(crate) struct WatchedIndex {
    index: Arc<dyn VectorIndex>,
    losses: Mutex<Losses>,
    menders: Menders,
    /// Held while the index begins anew, and while it is noted to be whole: what is empty never is.
    marking: tokio::sync::Mutex<()>,
}

impl WatchedIndex {
    pub(crate) fn new(index: Arc<dyn VectorIndex>, menders: &Menders) -> Self {
        Self {
            index,
            losses: Mutex::default(),
            menders: menders.clone(),
            marking: tokio::sync::Mutex::default(),
        }
    }

    /// What it lost, and was not told again.
    pub(crate) fn lacking(&self) -> Lost {
        self.losses.lock().lacking().clone()
    }

    /// Whether it has all that it was told.
    pub(crate) fn has_all(&self) -> bool {
        self.losses.lock().lacking().is_nothing()
    }

    /// Whether it has to begin anew before it is told anything.
    pub(crate) fn must_begin(&self) -> bool {
        self.losses.lock().must_begin()
    }

    /// Whether it may, at a time of the boot clock.
    pub(crate) fn may_begin(&self, now_ms: u64) -> bool {
        self.losses.lock().may_begin(now_ms)
    }

    /// Forgets the tables that are damaged, at a time of the boot clock. All that was published is to be told again, and
    /// then [`is_filled`](Self::is_filled). An index that has lost nothing more stays as it is. Whether it forgot anything.
    ///
    /// # Errors
    /// `unavailable` where it just began anew, and what the index answered.
    pub(crate) async fn begin_anew(&self, now_ms: u64) -> Result<bool, PortError> {
        let _not_noted_whole = self.marking.lock().await;
        if !self.must_begin() {
            // It began anew meanwhile, or came to serve in the place of the one that has to.
            return Ok(false);
        }
        if !self.may_begin(now_ms) {
            let why = "the index began anew a moment ago, and is damaged again";
            return Err(PortError::Unavailable(why.into()));
        }
        loop {
            let lost = self.losses.lock().lacking().clone();
            self.index.forget(&lost).await?;
            // What was met meanwhile goes as well.
            if self.losses.lock().began(&lost, now_ms) {
                count(&self.menders.rebuilds, 1);
                return Ok(true);
            }
        }
    }

    /// It was told everything that was published before it began anew.
    pub(crate) fn is_filled(&self) {
        self.losses.lock().is_filled();
    }

    /// Sees a call through, and notes the damage that it meets.
    async fn noted<'a, T>(&'a self, call: impl Call<'a, T>) -> Result<T, PortError> {
        let lives = self.losses.lock().lives();
        let result = call(&*self.index).await;
        if let Err(PortError::Damaged { why, lost }) = &result {
            self.note(lives, why, lost);
        }
        result
    }

    fn note(&self, lives: u64, why: &str, lost: &Lost) {
        let is_news = self.losses.lock().note(lives, lost);
        if is_news {
            tracing::error!(
                why,
                ?lost,
                "the index is damaged: what is lost is built again from the events"
            );
            self.menders.serving.notify_one();
            self.menders.next.notify_one();
        }
    }

    /// The same of a call by whose answer something is decided: it counts if nothing that it `concerns` was lacking from
    /// before it until after it.
    async fn undamaged<'a, T>(
        &'a self,
        concerns: impl Fn(&Lost) -> bool,
        call: impl Call<'a, T>,
    ) -> Result<T, PortError> {
        let (lacks, lives) = {
            let losses = self.losses.lock();
            (concerns(losses.lacking()), losses.lives())
        };
        if lacks {
            return Err(self.refusal());
        }
        let result = self.noted(call).await;
        if concerns(&self.losses.lock().since(lives)) {
            return Err(self.refusal());
        }
        result
    }

    fn refusal(&self) -> PortError {
        count(&self.menders.refusals, 1);
        PortError::Unavailable("a table of the index was damaged and is built again".into())
    }

    async fn found<'a>(&'a self, request: &'a SearchRequest) -> Result<SearchLists, PortError> {
        let mut searches = 0;
        loop {
            let (lacked, lives) = {
                let losses = self.losses.lock();
                (losses.lacking().concerns(request), losses.lives())
            };
            let found = self.noted(|index| index.search(request)).await;
            let lacks = lacked || self.losses.lock().since(lives).concerns(request);
            searches += 1;
            match found {
                Ok(lists) => {
                    if lists.partial {
                        // Whoever met it first may have gone before that was noted.
                        let why = "a search passed over it";
                        self.note(lives, why, &self.index.passed_over());
                    }
                    let partial = lists.partial || lacks;
                    return Ok(SearchLists { partial, ..lists });
                }
                // It passes over what it met.
                Err(PortError::Damaged { .. }) if searches < SEARCHES_MAX => {}
                // Nothing is what it has just now.
                Err(_) if lacks => {
                    return Ok(SearchLists {
                        partial: true,
                        ..SearchLists::default()
                    });
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether anything is lost.
fn anything(lost: &Lost) -> bool {
    !lost.is_nothing()
}

impl EntryColumns for WatchedIndex {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(self.undamaged(anything, move |index| index.ages(each)))
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(self.undamaged(anything, move |index| index.worths(each)))
    }
}

impl VectorIndex for WatchedIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        self.index.offer(docs);
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(self.noted(move |index| index.apply(docs, through)))
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        Box::pin(self.noted(|index| index.watermark()))
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        Box::pin(self.found(request))
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        let concerns = move |lost: &Lost| lost.concerns_neighbours(request);
        Box::pin(self.undamaged(concerns, move |index| index.neighbours(request)))
    }

    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>> {
        let concerns = move |lost: &Lost| lost.concerns_claimants(request);
        Box::pin(self.undamaged(concerns, move |index| index.claimants(request)))
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(self.noted(|index| index.optimise()))
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        Box::pin(async move { Ok(self.has_all() && self.index.is_whole().await?) })
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let _not_while_it_begins = self.marking.lock().await;
            if !self.has_all() {
                return Err(self.refusal());
            }
            self.noted(|index| index.note_whole()).await
        })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.index.clear()
    }

    fn forget<'a>(&'a self, lost: &'a Lost) -> BoxFuture<'a, Result<(), PortError>> {
        self.index.forget(lost)
    }

    fn passed_over(&self) -> Lost {
        self.index.passed_over()
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        self.index.stats()
    }
}

#[cfg(test)]
mod tests {
    use sillok_builtin::ExactIndex;

    use super::*;

    #[tokio::test]
    async fn an_index_that_lost_nothing_forgets_nothing() {
        let index = WatchedIndex::new(Arc::new(ExactIndex::new()), &Menders::default());
        index.apply(Vec::new(), Stamp::ZERO).await.unwrap();
        index.note_whole().await.unwrap();
        assert_eq!(index.begin_anew(0).await, Ok(false));
        assert!(index.is_whole().await.unwrap());
        assert_eq!(index.watermark().await.unwrap(), Some(Stamp::ZERO));
    }
}
