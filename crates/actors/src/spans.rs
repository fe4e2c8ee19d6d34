//! Spans: what a node records of the traces that its commands belong to.
//!
//! Owns which trace a commit belongs to that was made a short while ago, so that the relays and the
//! indexer, which find it in the outbox later, go on with its trace. That is kept in memory, and bounded: of
//! what a node no longer remembers, or another node committed, it records nothing. No span begins here
//! without one above it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::id::{Seq, VerificationId};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::trace::{Span, SpanKind, SpanValue, TraceContext, Tracer};
use sillok_store::keys::outbox::OutboxRow;

/// Commits, and promotions, whose traces are remembered.
const REMEMBERED_MAX: usize = 4_096;

/// What is noted of spans, by name.
pub(crate) mod keys {
    pub(crate) const BATCH: &str = "sillok.batch";
    pub(crate) const ENTRIES: &str = "sillok.entries";
    pub(crate) const SCOPE: &str = "sillok.scope.kind";
    pub(crate) const SEQ: &str = "sillok.seq";
    pub(crate) const SLOT: &str = "sillok.slot";
    pub(crate) const TO: &str = "sillok.to";
}

/// A span that may not be recorded. It ends when it is dropped.
#[derive(Default)]
pub(crate) struct OpenSpan(Option<Box<dyn Span>>);

impl OpenSpan {
    /// What goes on below it. Where it is not recorded, what it would have been below.
    pub(crate) fn or(&self, parent: Option<TraceContext>) -> Option<TraceContext> {
        self.context().or(parent)
    }

    fn context(&self) -> Option<TraceContext> {
        self.0.as_ref().map(|span| span.context())
    }

    pub(crate) fn note(&mut self, key: &'static str, value: impl Into<SpanValue>) {
        if let Some(span) = &mut self.0 {
            span.note(key, value.into());
        }
    }

    pub(crate) fn fail(&mut self, error: &sillok_core::Error) {
        if let Some(span) = &mut self.0 {
            span.fail(error.code.as_str());
        }
    }
}

impl fmt::Debug for OpenSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenSpan").field(&self.context()).finish()
    }
}

/// Names a row of a commit: its scope, and the first event that it tells of.
type CommitName = (Scope, Seq);

/// What a node records.
#[derive(Default)]
pub(crate) struct Spans {
    tracer: Option<Arc<dyn Tracer>>,
    commits: Mutex<Remembered<CommitName, Vec<TraceContext>>>,
    promotions: Mutex<Remembered<VerificationId, TraceContext>>,
}

impl Spans {
    pub(crate) fn new(tracer: Option<Arc<dyn Tracer>>) -> Self {
        Self {
            tracer,
            ..Self::default()
        }
    }

    /// Begins a span below another one, if that one is recorded.
    pub(crate) fn begin(
        &self,
        name: &str,
        kind: SpanKind,
        parent: Option<TraceContext>,
    ) -> OpenSpan {
        let recorded = parent.filter(TraceContext::is_sampled);
        let (Some(tracer), Some(parent)) = (&self.tracer, recorded) else {
            return OpenSpan::default();
        };
        OpenSpan(tracer.begin(name, kind, Some(parent)))
    }

    /// As [`begin`](Self::begin), of something that is done in a scope.
    pub(crate) fn begin_in(
        &self,
        scope: &Scope,
        name: &str,
        kind: SpanKind,
        parent: Option<TraceContext>,
    ) -> OpenSpan {
        let mut span = self.begin(name, kind, parent);
        if span.0.is_some() {
            span.note(keys::SCOPE, scope.level().keyword());
            span.note(keys::SLOT, u64::from(Slot::of(scope).number()));
        }
        span
    }

    /// Remembers which traces the rows of a commit belong to that is about to be made, each row by the first
    /// event that it tells of. They are forgotten unless it [stands](Noted::stands).
    pub(crate) fn note_commit<'a>(
        &self,
        scope: &Scope,
        rows: impl Iterator<Item = (Seq, Vec<&'a OpenSpan>)>,
    ) -> Noted<'_> {
        let mut names = Vec::new();
        if self.tracer.is_some() {
            let mut commits = self.commits.lock();
            for (first, of) in rows {
                let traces: Vec<TraceContext> =
                    of.into_iter().filter_map(OpenSpan::context).collect();
                if !traces.is_empty() {
                    commits.insert((scope.clone(), first), traces);
                    names.push((scope.clone(), first));
                }
            }
        }
        Noted { spans: self, names }
    }

    /// Begins a span below each of the traces that a commit belongs to, by its row in the outbox.
    pub(crate) fn of_row(&self, name: &str, kind: SpanKind, row: &OutboxRow) -> Vec<OpenSpan> {
        if self.tracer.is_none() {
            return Vec::new();
        }
        let named = (row.scope.clone(), row.first);
        let traces = self.commits.lock().get(&named).unwrap_or_default();
        let begin = |trace| {
            let mut span = self.begin_in(&row.scope, name, kind, Some(trace));
            span.note(keys::SEQ, row.first.get());
            span
        };
        traces.into_iter().map(begin).collect()
    }

    /// Remembers which trace a promotion belongs to.
    pub(crate) fn note_promotion(&self, id: VerificationId, of: &OpenSpan) {
        if let Some(trace) = of.context() {
            self.promotions.lock().insert(id, trace);
        }
    }

    /// The trace that a promotion belongs to.
    pub(crate) fn of_promotion(&self, id: VerificationId) -> Option<TraceContext> {
        self.tracer.as_ref()?;
        self.promotions.lock().get(&id)
    }
}

/// What is remembered of a commit under way.
pub(crate) struct Noted<'a> {
    spans: &'a Spans,
    /// What is to be forgotten.
    names: Vec<CommitName>,
}

impl Noted<'_> {
    /// The commit is made: what follows it belongs to its traces.
    pub(crate) fn stands(mut self) {
        self.names.clear();
    }
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        for name in &self.names {
            self.spans.commits.lock().forget(name);
        }
    }
}

/// The latest of what was put in.
struct Remembered<K, V> {
    values: BTreeMap<K, V>,
    /// The names in the order in which they came, and some that were forgotten since.
    order: VecDeque<K>,
}

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self {
            values: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<K: Ord + Clone, V: Clone> Remembered<K, V> {
    fn insert(&mut self, name: K, value: V) {
        while self.order.len() >= REMEMBERED_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.values.remove(&oldest);
            }
        }
        self.order.push_back(name.clone());
        self.values.insert(name, value);
        debug_assert!(self.values.len() <= self.order.len(), "each has its place");
    }

    fn get(&self, name: &K) -> Option<V> {
        self.values.get(name).cloned()
    }

    fn forget(&mut self, name: &K) {
        self.values.remove(name);
    }
}

#[cfg(test)]
mod tests;
