//! What stands around every request: the bound on requests under way, and counting.

use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::Response;
use axum::middleware::Next;
use axum::response::IntoResponse;
use sillok_core::error::Error;

use super::App;
use super::errors::Refusal;

/// What a caller that is turned away is told to wait.
const RETRY_AFTER_MS: u64 = 100;

/// Lets a request through unless too many are under way, and counts what became of it.
pub(super) async fn guard(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response<axum::body::Body> {
    let started = Instant::now();
    let response = match Passed::through(&app) {
        Some(_passed) => next.run(request).await,
        None => Refusal::from(Error::busy(
            "too many requests are under way",
            RETRY_AFTER_MS,
        ))
        .into_response(),
    };
    app.inner
        .counters
        .count(response.status(), started.elapsed());
    response
}

/// A request that is under way, until this is dropped. A tail counts until it begins.
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
