//! Spaces: what entries are searched by, and what they are to be searched by next.
//!
//! Owns the pair of embedder and index that serves and, while the embedder is being changed, a second one that is being
//! filled. Both stand behind the ports, so that nothing else has to know of the change, and each is watched for damage. A
//! failure of the second pair never disturbs the first. It must not know why an embedder is changed, nor which engines these are.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sillok_core::Error;
use sillok_core::entry::{Embedding, SpaceId};
use sillok_core::id::EntryId;
use sillok_core::ports::{
    BoxFuture, ClaimRequest, Clock, Embedder, EntryColumns, IndexDoc, IndexStats, Lost,
    NeighbourRequest, PortError, Ranked, SearchLists, SearchRequest, SpaceThresholds, VectorIndex,
};
use sillok_core::retention::plan::{AgeColumns, WorthColumns};
use sillok_core::scope::Scope;
use sillok_core::secret::mask;
use sillok_core::stamp::Stamp;
use sillok_store::Store;
use tokio::sync::Notify;

use crate::errors::engine_refusal;
use crate::metrics::Counters;
use crate::ports::{NextSpace, Ports};
use crate::protocol::{Correct, Protocol};

pub(crate) mod change;
mod fitting;
mod losses;
mod side;
mod watch;

pub use change::ChangeStatus;
use fitting::{answered, ask};
pub(crate) use fitting::{embed_each, embed_one, soon, takes_others};
use side::{Noted, Side};
use watch::{Menders, WatchedIndex};

/// Vectors that are made before neighbours are answered for: as many as one call makes, so that all of them are, or there is
/// an error. With more to be made, nobody is kept waiting.
const MADE_AT_ONCE: usize = fitting::TEXTS_AT_ONCE;

/// The pairs behind the ports.
pub struct Spaces<S, P = Correct> {
    store: S,
    protocol: P,
    clock: Arc<dyn Clock>,
    sides: RwLock<Sides>,
    /// What served before, and until when it is kept. It is told of nothing any more, erasures neither: it is removed,
    /// whatever becomes of whoever does that.
    former: Mutex<Option<Former>>,
    /// From which space the embedder is changed, and to which; none where it is not.
    change: Option<(SpaceId, SpaceId)>,
    /// Something is to be brought, or to be brought anew.
    to_do: Arc<Notify>,
    /// An index that serves has met damage.
    damaged: Arc<Notify>,
    /// Something was erased: it must not wait for an embedder that is away.
    erased: Notify,
    /// Texts that were embedded since their vectors were of another space.
    embedded: Counter,
    /// Entries whose vectors are still to be made.
    left: Gauge,
    last_error: Mutex<Option<String>>,
}

struct Sides {
    serving: Arc<Side>,
    next: Option<Arc<Side>>,
}

/// What served before a change.
#[derive(Clone)]
struct Former {
    side: Arc<Side>,
    /// On the boot clock.
    until_ms: u64,
}

/// The index of a store that no node runs on, as one that is opened by these ports would fill it.
#[must_use]
pub fn index_over<S: Store>(store: S, ports: &Ports) -> Arc<dyn VectorIndex> {
    let ports = Ports {
        next: None,
        ..ports.clone()
    };
    Arc::new(Spaces::new(store, &ports, &Counters::default(), Correct))
}

impl<S: Store, P: Protocol> Spaces<S, P> {
    /// The pairs of a node's ports.
    pub(crate) fn new(store: S, ports: &Ports, counters: &Counters, protocol: P) -> Self {
        let menders = Menders {
            rebuilds: counters.index_rebuilds.clone(),
            refusals: counters.index_refusals.clone(),
            ..Menders::default()
        };
        let watched = |index| WatchedIndex::new(Arc::clone(index), &menders);
        let serving = Side::serving(Arc::clone(&ports.embedder), watched(&ports.index));
        let next = ports.next.as_ref().map(|NextSpace { embedder, index }| {
            Arc::new(Side::to_fill(Arc::clone(embedder), watched(index)))
        });
        let change = next
            .as_ref()
            .map(|next| (serving.space.clone(), next.space.clone()));
        Self {
            store,
            protocol,
            clock: Arc::clone(&ports.clock),
            change,
            former: Mutex::default(),
            sides: RwLock::new(Sides {
                serving: Arc::new(serving),
                next,
            }),
            to_do: menders.next,
            damaged: menders.serving,
            erased: Notify::new(),
            embedded: counters.reembedded.clone(),
            left: Gauge::default(),
            last_error: Mutex::default(),
        }
    }

    /// Has what is left to be done shown by `registry`.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "reembed_left",
            "Entries whose vectors have to be made in the space of the configured embedder",
            self.left.clone(),
        );
    }

    /// Waits until damage is met in the index that serves.
    pub(crate) async fn damaged(&self) {
        self.damaged.notified().await;
    }

    /// Whether the index that serves has to begin anew before it is told anything.
    pub(crate) fn must_begin(&self) -> bool {
        self.serving().index.must_begin()
    }

    /// Whether it may, at a time of the boot clock: what is damaged did not begin anew a moment ago.
    pub(crate) fn may_begin(&self, now_ms: u64) -> bool {
        self.serving().index.may_begin(now_ms)
    }

    /// What the index that serves lost to damage, and was not told again.
    pub(crate) fn lacking(&self) -> Lost {
        self.serving().index.lacking()
    }

    /// Has the index that serves forget what is damaged, if anything is. Whether it was: everything is to be told it again
    /// then.
    ///
    /// # Errors
    /// `unavailable` where it just began anew, and what the index answered.
    pub(crate) async fn begin_anew(&self, now_ms: u64) -> Result<bool, Error> {
        let serving = self.serving();
        let began = serving.index.begin_anew(now_ms).await;
        // What failed on the way may have forgotten its cursor all the same.
        if began != Ok(false) {
            serving.forget_cursor();
        }
        began.map_err(|error| engine_refusal(&error))
    }

    /// The index that serves was told everything that was committed before it began anew, if it did.
    pub(crate) fn is_filled(&self) {
        self.serving().index.is_filled();
        // It is noted to be whole.
        self.to_do.notify_one();
    }

    fn serving(&self) -> Arc<Side> {
        Arc::clone(&self.sides.read().serving)
    }

    fn next(&self) -> Option<Arc<Side>> {
        self.sides.read().next.clone()
    }

    /// Makes vectors that neighbours in a scope may need. One question at a time does, and whoever waits for it finds
    /// them made: each that came too late leaves a batch behind that the index still stores.
    async fn make_in(&self, serving: &Side, request: &NeighbourRequest) -> Result<(), PortError> {
        if to_make(serving, &request.scope)?.is_empty() {
            return Ok(());
        }
        let began_ms = self.clock.monotonic_ms();
        let made = async {
            let mut making = serving.making.lock().await;
            // Of one that was in vain, and that this one waited behind, nobody knows whether it is over.
            if making.is_some_and(|since_ms| began_ms < since_ms + fitting::WAIT_MS_MAX) {
                let why = "vectors of the scope's entries were not made in time";
                return Err(PortError::Unavailable(why.to_owned()));
            }
            let noted = to_make(serving, &request.scope)?;
            let names: Vec<_> = noted.iter().map(|(name, _)| name.clone()).collect();
            *making = Some(began_ms);
            let brought = self.bring(serving, &names).await;
            *making = None;
            serving.brought(&noted[..brought.count]);
            match brought.failed {
                Some(error) => Err(PortError::Unavailable(error.to_string())),
                None => Ok(()),
            }
        };
        soon(&*self.clock, made).await
    }

    /// The documents as a side can show them before their vectors are made. Those are noted.
    fn shown(&self, side: &Side, mut docs: Vec<IndexDoc>) -> Vec<IndexDoc> {
        for doc in docs.iter_mut().filter(|doc| side.is_foreign(doc)) {
            doc.embedding = None;
            side.note((doc.scope.clone(), doc.entry));
            self.to_do.notify_one();
        }
        docs
    }

    /// Tells the next side that these entries are to be brought to it.
    fn tell_next(&self, next: &Side, docs: &[IndexDoc]) {
        if !self
            .protocol
            .keeps(crate::protocol::Safeguard::BringsWhatChanges)
        {
            return;
        }
        for doc in docs {
            let name = (doc.scope.clone(), doc.entry);
            if doc.is_erased() {
                next.note_erased(name);
                self.erased.notify_one();
            } else {
                next.note(name);
            }
        }
        if !docs.is_empty() {
            self.to_do.notify_one();
        }
    }
}

/// The entries of a scope whose vectors are to be made before neighbours are answered for.
///
/// # Errors
/// `unavailable` where there are more, or it is not known whose.
fn to_make(serving: &Side, scope: &Scope) -> Result<Vec<Noted>, PortError> {
    let noted = serving.noted_in(scope, MADE_AT_ONCE + 1);
    // While all are walked more names were noted than are held.
    if noted.len() > MADE_AT_ONCE || !serving.walk().is_over() {
        return Err(being_made());
    }
    Ok(noted)
}

fn being_made() -> PortError {
    PortError::Unavailable("vectors of the scope's entries are being made".to_owned())
}

impl<S: Store, P: Protocol> Embedder for Spaces<S, P> {
    fn space(&self) -> SpaceId {
        self.serving().space.clone()
    }

    fn dimensions(&self) -> usize {
        self.serving().embedder.dimensions()
    }

    fn thresholds(&self) -> SpaceThresholds {
        self.serving().embedder.thresholds()
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Embedding>, PortError>> {
        Box::pin(async move { answered(&*self.serving().embedder, texts).await })
    }
}

impl<S: Store, P: Protocol> EntryColumns for Spaces<S, P> {
    fn ages<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&AgeColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { self.serving().index.ages(each).await })
    }

    fn worths<'a>(
        &'a self,
        each: &'a mut (dyn FnMut(&WorthColumns<'_>) + Send),
    ) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async move { self.serving().index.worths(each).await })
    }
}

impl<S: Store, P: Protocol> VectorIndex for Spaces<S, P> {
    fn offer(&self, docs: Vec<IndexDoc>) {
        // Held until both were told, so that nothing is missing where the sides change.
        let sides = self.sides.read();
        if let Some(next) = &sides.next {
            self.tell_next(next, &docs);
            if next.is_offered() {
                next.index.offer(self.shown(next, docs.clone()));
            }
        }
        let serving = &sides.serving;
        serving.index.offer(self.shown(serving, docs));
    }

    fn apply(&self, docs: Vec<IndexDoc>, through: Stamp) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let serving = {
                let sides = self.sides.read();
                if let Some(next) = &sides.next {
                    self.tell_next(next, &docs);
                    if next.is_offered() {
                        next.index.offer(self.shown(next, docs.clone()));
                    }
                }
                Arc::clone(&sides.serving)
            };
            let mut docs = docs;
            match self.look_up(&serving, &mut docs).await {
                Ok(lacking) => lacking.into_iter().for_each(|name| serving.note(name)),
                Err(error) => {
                    tracing::warn!(%error, "vectors that are kept could not be looked up; they are looked up again");
                    for doc in docs.iter_mut().filter(|doc| !serving.suits(doc)) {
                        doc.embedding = None;
                        serving.note((doc.scope.clone(), doc.entry));
                    }
                }
            }
            if serving.lacks() > 0 {
                self.to_do.notify_one();
            }
            let cursor = serving.cursor(through);
            serving.index.apply(docs, cursor).await
        })
    }

    fn watermark(&self) -> BoxFuture<'_, Result<Option<Stamp>, PortError>> {
        Box::pin(async move { self.serving().index.watermark().await })
    }

    fn search<'a>(
        &'a self,
        request: &'a SearchRequest,
    ) -> BoxFuture<'a, Result<SearchLists, PortError>> {
        Box::pin(async move {
            let serving = self.serving();
            let vector = request.embedding.as_ref();
            if vector.is_none_or(|vector| vector.space == serving.space) {
                return serving.index.search(request).await;
            }
            // The question was embedded before another space was searched.
            let mut anew = request.clone();
            let masked = mask(&request.text);
            let texts = [masked.text.as_ref()];
            let vectors = ask(&*serving.embedder, &serving.space, &texts);
            let vectors = soon(&*self.clock, vectors).await;
            anew.embedding = vectors.ok().and_then(|mut vectors| vectors.pop());
            let lists = serving.index.search(&anew).await?;
            Ok(SearchLists {
                by_words_alone: anew.embedding.is_none(),
                ..lists
            })
        })
    }

    fn neighbours<'a>(
        &'a self,
        request: &'a NeighbourRequest,
    ) -> BoxFuture<'a, Result<Vec<Ranked>, PortError>> {
        Box::pin(async move {
            let serving = self.serving();
            if request.embedding.space != serving.space {
                // None found would mean that there are none.
                let why = format!("the space {} is not searched", request.embedding.space);
                return Err(PortError::Unavailable(why));
            }
            self.make_in(&serving, request).await?;
            serving.index.neighbours(request).await
        })
    }

    fn claimants<'a>(
        &'a self,
        request: &'a ClaimRequest,
    ) -> BoxFuture<'a, Result<Vec<EntryId>, PortError>> {
        // What is claimed is known of entries whose vectors are still to be made.
        Box::pin(async move { self.serving().index.claimants(request).await })
    }

    fn optimise(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move { self.serving().index.optimise().await })
    }

    fn is_whole(&self) -> BoxFuture<'_, Result<bool, PortError>> {
        Box::pin(async move { self.serving().index.is_whole().await })
    }

    fn note_whole(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move { self.serving().index.note_whole().await })
    }

    fn clear(&self) -> BoxFuture<'_, Result<(), PortError>> {
        Box::pin(async move {
            let serving = self.serving();
            serving.forget_cursor();
            serving.index.clear().await
        })
    }

    fn stats(&self) -> BoxFuture<'_, Result<IndexStats, PortError>> {
        Box::pin(async move { self.serving().index.stats().await })
    }
}

#[cfg(test)]
mod tests;
