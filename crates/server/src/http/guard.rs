//! What stands around requests: the bounds on what is under way at one time, and counting.
//!
//! Owns what a request or a tail takes of those bounds, and that it is given back.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::Response;
use axum::middleware::Next;
use axum::response::IntoResponse;
use parking_lot::Mutex;
use sillok_core::error::Error;
use sillok_core::principal::Actor;

use super::App;
use super::errors::{Refusal, Uncounted};

/// What a caller that is turned away is told to wait.
const RETRY_AFTER_MS: u64 = 100;
/// What one without a place for its tail is told to wait: tails last.
const TAIL_RETRY_AFTER_MS: u64 = 1_000;

/// Counts what became of a request, and why it was refused where the node has not.
pub(super) async fn count(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response<axum::body::Body> {
    let started = Instant::now();
    let mut response = next.run(request).await;
    if let Some(Uncounted(error)) = response.extensions_mut().remove() {
        app.node().note_refusal(&error);
    }
    app.inner
        .metrics
        .count(response.status(), started.elapsed());
    response
}

/// Lets a request through unless too many are under way.
pub(super) async fn guard(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response<axum::body::Body> {
    match Passed::through(&app) {
        Some(_passed) => next.run(request).await,
        None => Refusal::from(Error::busy(
            "too many requests are under way",
            RETRY_AFTER_MS,
        ))
        .into_response(),
    }
}

/// A request that is under way, until this is dropped. A tail counts until it begins, and from then
/// on as a [`Place`].
struct Passed<'a>(&'a App);

impl<'a> Passed<'a> {
    fn through(app: &'a App) -> Option<Self> {
        let under_way = app.inner.in_flight.fetch_add(1, Ordering::Relaxed);
        let passed = Self(app);
        (under_way < app.inner.config.requests_in_flight_max).then_some(passed)
    }
}

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        self.0.inner.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The tails that are open.
#[derive(Debug, Default)]
pub(super) struct Tails(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    all: usize,
    /// Only who has one is in here.
    by_principal: BTreeMap<Actor, usize>,
}

/// The place of one tail, until this is dropped.
pub(super) struct Place {
    app: App,
    actor: Actor,
}

impl App {
    /// A place for one more tail of a principal.
    ///
    /// # Errors
    /// `busy` when it, or all together, have as many as there may be.
    pub(super) fn tail_place(&self, actor: &Actor) -> Result<Place, Error> {
        let config = &self.inner.config;
        let mut open = self.inner.tails.0.lock();
        if open.all >= config.tails_max {
            return Err(Error::busy("too many tails are open", TAIL_RETRY_AFTER_MS));
        }
        let own = open.by_principal.get(actor).copied().unwrap_or_default();
        if own >= config.tails_per_principal_max {
            let why = format!("{actor} has as many tails open as it may");
            return Err(Error::busy(why, TAIL_RETRY_AFTER_MS));
        }
        open.all += 1;
        open.by_principal.insert(actor.clone(), own + 1);
        Ok(Place {
            app: self.clone(),
            actor: actor.clone(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.app.inner.tails.0.lock();
        open.all -= 1;
        let own = open.by_principal.get_mut(&self.actor);
        let own = own.expect("who has a place is counted");
        *own -= 1;
        if *own == 0 {
            open.by_principal.remove(&self.actor);
        }
    }
}
