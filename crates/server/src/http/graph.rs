//! The way of a query through the server: its turn, its time, and the threads that it keeps from others.
//!
//! Owns when a query ends. What it sees is decided where it is read, what it may do and use where it is carried out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sillok_actors::reads::{GraphBounds, GraphParts, Viewer};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::limits::{GRAPH_ANSWER_BYTES_MAX, GRAPH_MEMORY_BYTES_MAX, GRAPH_STEPS_MAX};
use sillok_graph::QueryLimits;

use super::App;
use super::queries::Turn;
use crate::api::{GraphAnswer, GraphQuestion, QueryText};
use crate::graph::{CodeAsked, CodeParts, build, spoken_of};

/// When a query ends, if it does not end before: its time is over, nobody waits for it any more, or the server stops.
pub(super) struct Ending {
    app: App,
    at_us: u64,
    /// Who asked has gone.
    gone: Arc<AtomicBool>,
}

impl Ending {
    pub(super) fn has_come(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
            || self.app.is_stopping()
            || self.app.clock().monotonic_us() >= self.at_us
    }
}

/// Who waits for an answer, until this is dropped.
#[derive(Default)]
pub(super) struct Asker(Arc<AtomicBool>);

impl Drop for Asker {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl App {
    /// The end of what begins now, and may take so many ms.
    pub(super) fn ending(&self, ms_max: u64, asker: &Asker) -> Ending {
        let now_us = self.clock().monotonic_us();
        Ending {
            app: self.clone(),
            at_us: now_us.saturating_add(ms_max.saturating_mul(1_000)),
            gone: Arc::clone(&asker.0),
        }
    }

    /// The answer to a query in the graph of what `viewer` sees. The graph is built for it, and dropped with it.
    ///
    /// # Errors
    /// `busy` where too many are under way, what the query is refused with, and `too_large` where the graph or what the query
    /// uses is over its bound.
    pub(super) async fn ask_graph(
        &self,
        viewer: &Viewer,
        question: GraphQuestion,
    ) -> Result<GraphAnswer, Error> {
        let turn = Arc::new(self.query_turn(&viewer.scope)?);
        let asker = Asker::default();
        let ending = Arc::new(self.ending(question.ms_max, &asker));
        let (text, rows_max) = (Arc::new(question.text), question.rows_max);
        let code = question
            .code_under
            .map(|under| (viewer.scope.clone(), under));
        // What is no query reads nothing.
        let (checked, until) = (Arc::clone(&text), Arc::clone(&ending));
        let is_over = move || until.has_come();
        let check = move || sillok_graph::check(&checked.query, &checked.params, &is_over);
        beside(&turn, check).await?;
        let bounds = GraphBounds {
            ms_max: Some(question.ms_max),
            ..GraphBounds::default()
        };
        let parts = self.reader().graph(viewer, question.of, bounds).await?;
        let work = move || {
            let is_over = || ending.has_come();
            let code = code.map(|(scope, under)| {
                let asked = CodeAsked {
                    under,
                    spoken_of: &spoken_of(&parts),
                    is_over: &is_over,
                };
                let app = &ending.app;
                app.code()
                    .read(&scope, |seen| CodeParts::of(seen.tree, asked))
            });
            answer((parts, code.transpose()?), &text, rows_max, &is_over)
        };
        beside(&turn, work).await
    }
}

/// Works on a thread that may be kept busy. The turn lasts as long as the work does, whoever waits for it.
pub(super) async fn beside<T: Send + 'static>(
    turn: &Arc<Turn>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let turn = Arc::clone(turn);
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    done.await.unwrap_or_else(|error| {
        let why = format!("the query came to no end: {error}");
        Err(Error::new(ErrorCode::Internal, why))
    })
}

fn answer(
    (parts, code): (GraphParts, Option<CodeParts>),
    text: &QueryText,
    rows_max: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<GraphAnswer, Error> {
    let graph = build(parts, code, is_over)?;
    let limits = QueryLimits {
        rows_max,
        bytes_max: GRAPH_ANSWER_BYTES_MAX,
        steps_max: GRAPH_STEPS_MAX,
        memory_max: GRAPH_MEMORY_BYTES_MAX,
        is_over,
    };
    let found = graph.query(&text.query, &text.params, &limits)?;
    Ok(GraphAnswer::of(found, (graph.nodes(), graph.edges())))
}
