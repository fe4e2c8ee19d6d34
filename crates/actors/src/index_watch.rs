//! The index as the rest of the node sees it: watched for damage.
//!
//! Owns whether the index has all that was published. Whoever meets damage in it has the indexer begin it anew; until
//! that is done a search answers with what is there, and says so, and nothing is decided against what it lacks. It must
//! not know how it is filled.

use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::ports::{
    BoxFuture, IndexDoc, IndexStats, NeighbourRequest, PortError, Ranked, SearchLists,
    SearchRequest, VectorIndex,
};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::stamp::Stamp;
use tokio::sync::Notify;

/// How long nothing begins anew that just did, in ms: what is damaged again at once would be filled for nothing.
const AGAIN_AFTER_MS: u64 = 60_000;

/// How far the index is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It has all that was published, as far as it was told.
    #[default]
    Whole,
    /// It is to begin anew.
    Damaged,
    /// It began anew, and lacks what it was not told again.
    Filling,
}

#[derive(Debug, Default)]
struct State {
    stage: Stage,
    /// How often it began anew.
    lives: u64,
    /// When it last did, on the boot clock.
    began_ms: Option<u64>,
}

/// What is known of the index.
#[derive(Debug, Default)]
pub(crate) struct IndexWatch {
    state: Mutex<State>,
    damaged: Notify,
}

impl IndexWatch {
    /// Whether the index has all that was published, as far as it was told.
    pub(crate) fn is_whole(&self) -> bool {
        self.state.lock().stage == Stage::Whole
    }

    /// Whether it is to begin anew.
    pub(crate) fn is_damaged(&self) -> bool {
        self.state.lock().stage == Stage::Damaged
    }

    /// Waits until somebody meets damage.
    pub(crate) async fn damaged(&self) {
        self.damaged.notified().await;
    }

    /// Whether it may begin anew now, on the boot clock, or just did.
    pub(crate) fn may_begin(&self, now_ms: u64) -> bool {
        let began_ms = self.state.lock().began_ms;
        began_ms.is_none_or(|began_ms| now_ms >= began_ms + AGAIN_AFTER_MS)
    }

    /// It has begun anew, and is empty.
    pub(crate) fn began(&self, now_ms: u64) {
        let mut state = self.state.lock();
        state.stage = Stage::Filling;
        state.lives += 1;
        state.began_ms = Some(now_ms);
    }

    /// It was told everything that was published before.
    pub(crate) fn is_filled(&self) {
        let mut state = self.state.lock();
        if state.stage == Stage::Filling {
            state.stage = Stage::Whole;
        }
    }

    fn lives(&self) -> u64 {
        self.state.lock().lives
    }

    /// Whether it is whole, and has been since it had begun anew so often.
    fn is_whole_since(&self, lives: u64) -> bool {
        let state = self.state.lock();
        state.stage == Stage::Whole && state.lives == lives
    }

    /// Somebody met damage who had begun when it had begun anew so often: what was met before it last did is no more.
    fn note(&self, lives: u64, why: &str) {
        let mut state = self.state.lock();
        if state.lives == lives && state.stage != Stage::Damaged {
            state.stage = Stage::Damaged;
            drop(state);
            tracing::error!(
                why,
                "the index is damaged: it is built again from the events"
            );
            self.damaged.notify_one();
        }
    }
}

/// An index that is watched.
pub(crate) struct WatchedIndex {
    index: Arc<dyn VectorIndex>,
    watch: Arc<IndexWatch>,
}

impl WatchedIndex {
    pub(crate) fn new(index: Arc<dyn VectorIndex>, watch: &Arc<IndexWatch>) -> Arc<Self> {
        Arc::new(Self {
            index,
            watch: Arc::clone(watch),
        })
    }

    /// Sees a call through, and notes the damage that it meets.
    async fn noted<T>(&self, call: BoxFuture<'_, Result<T, PortError>>) -> Result<T, PortError> {
        let lives = self.watch.lives();
        let result = call.await;
        if let Err(PortError::Damaged(why)) = &result {
            self.watch.note(lives, why);
        }
        result
    }

    /// The same of a call by whose answer something is decided: it counts if the index was whole all the time.
    async fn of_whole<T>(&self, call: BoxFuture<'_, Result<T, PortError>>) -> Result<T, PortError> {
        let lives = self.watch.lives();
        if !self.watch.is_whole_since(lives) {
            return Err(lacking());
        }
        let result = self.noted(call).await;
        if !self.watch.is_whole_since(lives) {
            return Err(lacking());
        }
        result
    }
}

fn lacking() -> PortError {
    PortError::Unavailable("the index was damaged and is built again".into())
}

impl VectorIndex for WatchedIndex {
    fn offer(&self, docs: Vec<IndexDoc>) {
        self.index.offer(docs);
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(self.noted(self.index.apply(docs, through)))
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        Box::pin(self.noted(self.index.watermark()))
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        Box::pin(async move {
            match self.noted(self.index.search(request)).await {
                // Nothing is what it has just now.
                Err(_) if !self.watch.is_whole() => Ok(SearchLists::default()),
                answer => answer,
            }
        })
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        Box::pin(self.of_whole(self.index.neighbours(request)))
    }

    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(self.of_whole(self.index.ages(each)))
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(self.of_whole(self.index.worths(each)))
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(self.noted(self.index.optimise()))
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        self.index.clear()
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        self.index.stats()
    }

    fn is_whole(&self) -> bool {
        self.watch.is_whole() && self.index.is_whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_that_was_met_before_the_index_began_anew_is_no_more() {
        let watch = IndexWatch::default();
        let before = watch.lives();
        watch.note(before, "a page is torn");
        assert!(watch.is_damaged() && !watch.is_whole());
        watch.began(0);
        watch.note(before, "the page is gone");
        assert!(!watch.is_damaged() && !watch.is_whole());
        watch.is_filled();
        watch.note(before, "the page is gone");
        assert!(watch.is_whole() && !watch.is_whole_since(before));
        watch.note(watch.lives(), "another page is torn");
        watch.is_filled();
        assert!(watch.is_damaged(), "what is damaged is not filled");
    }

    #[test]
    fn what_just_began_anew_does_not_at_once_again() {
        let watch = IndexWatch::default();
        assert!(watch.may_begin(0));
        watch.began(5);
        assert!(!watch.may_begin(4 + AGAIN_AFTER_MS));
        assert!(watch.may_begin(5 + AGAIN_AFTER_MS));
    }
}
