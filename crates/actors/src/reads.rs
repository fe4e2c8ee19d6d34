//! Reads: everything that can be asked of the store and the index without changing them.
//!
//! Owns the reader and the forms of its answers. It must not know who asks: whether a principal may
//! see an answer is checked where requests come in. Each read is one snapshot of what is committed,
//! unless it may take longer than a store keeps one, and says so; nothing that is only being decided is ever seen.

use std::sync::Arc;

use sillok_core::config::RulesConfig;
use sillok_core::limits::PAGE_ROWS_MAX;
use sillok_core::ports::{Clock, Embedder, GitFacts, VectorIndex};
use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use crate::errors::refusal;
use crate::ports::Ports;

mod anchor_search;
mod anchors;
mod brief;
mod decisions;
mod declared;
mod entries;
mod erasure;
mod evidence;
mod fixes;
mod graph;
mod impact;
mod paging;
mod patterns;
mod promotions;
mod proposed;
mod recall;
mod recall_at;
mod records;
mod reviews;
mod status;
mod tail;
mod tasks;
mod texts;
mod tokens;

pub use anchors::{AnchorFilter, AnchorView, Followed, FollowedItem};
pub use brief::BriefQuery;
pub use decisions::{DecisionAt, DecisionFilter, DecisionListing, DecisionPlace, DecisionView};
pub use declared::DeclaredView;
pub use entries::{EntryView, History};
pub use erasure::Remains;
pub use evidence::EvidenceText;
pub use fixes::FixChecked;
pub use graph::{GraphAsked, GraphBounds, GraphEdge, GraphEdgeKind, GraphNode, GraphParts};
pub use impact::Viewer;
pub use promotions::{JobPlace, ListedJob};
pub(crate) use proposed::proposed;
pub use recall::{RecallAnswer, RecallQuery, Recalled};
pub use recall_at::AtCommit;
pub use records::{EventView, StagedRecord};
pub use status::StoreStatus;
pub use tail::{TailCursor, TailItem, TailOf, TailPage};

/// Answers reads from a store and an index.
pub struct Reader<S> {
    store: S,
    index: Arc<dyn VectorIndex>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    git: Arc<dyn GitFacts>,
    rules: RulesConfig,
}

impl<S: Clone> Clone for Reader<S> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            index: Arc::clone(&self.index),
            embedder: Arc::clone(&self.embedder),
            clock: Arc::clone(&self.clock),
            git: Arc::clone(&self.git),
            rules: self.rules.clone(),
        }
    }
}

/// One page of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T, C> {
    /// The rows.
    pub items: Vec<T>,
    /// What to ask for the rows behind these; none when there are no more.
    pub next: Option<C>,
}

impl<S: Store> Reader<S> {
    /// A reader over a store and what fills the ports.
    #[must_use]
    pub fn new(store: S, ports: Ports, rules: RulesConfig) -> Self {
        let Ports {
            index,
            embedder,
            clock,
            git,
            ..
        } = ports;
        Self {
            store,
            index,
            embedder,
            clock,
            git,
            rules,
        }
    }

    async fn snapshot(&self) -> Result<S::Txn, Error> {
        self.store.begin().await.map_err(|error| refusal(&error))
    }
}

/// The number of rows of a page, as asked for.
pub(crate) fn page_rows(limit: usize) -> Result<usize, Error> {
    if limit == 0 {
        return Err(Error::new(
            ErrorCode::InvalidArgument,
            "a page has at least one row",
        ));
    }
    if limit > PAGE_ROWS_MAX {
        return Err(Error::too_large(
            "rows of a page",
            PAGE_ROWS_MAX as u64,
            limit as u64,
        ));
    }
    Ok(limit)
}
