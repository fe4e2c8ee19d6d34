//! The HTTP interface: what all requests share, and the one router.
//!
//! Owns the state of the interface and the order of its layers. What each route does lies in
//! [`routes`]; it must not know a rule.

mod auth;
mod code;
mod command;
mod document;
mod errors;
mod extract;
mod graph;
mod guard;
mod held;
mod mcp;
pub(crate) mod metrics;
mod queries;
mod rate;
mod routes;
mod tail;
mod traced;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use axum::Router;
use axum::response::IntoResponse;
use prometheus_client::registry::Registry;
use sillok_actors::Node;
use sillok_actors::reads::Reader;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::ports::Clock;
use sillok_store::Store as _;
use tokio::sync::watch;
use tower_http::catch_panic::CatchPanicLayer;

use crate::code::Code;
use crate::config::{Config, McpConfig, ServerConfig};
use crate::engine::Engine;
use crate::secrets::TokenKey;
use auth::Sessions;
use errors::Refusal;
use guard::Tails;
use held::Gates;
use metrics::Metrics;
use queries::Queries;

pub use document::openapi;
pub use errors::status_of;

/// What every handler is given. A clone is another handle on the same state.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    node: Node<Engine>,
    store: Engine,
    name: String,
    config: ServerConfig,
    mcp: McpConfig,
    key: TokenKey,
    sessions: Sessions,
    metrics: Metrics,
    /// Requests under way, tails, queries, searches, and bytes of bodies that are held.
    in_flight: AtomicUsize,
    tails: Tails,
    queries: Queries,
    searches: Queries,
    checks: Queries,
    code: Code,
    gates: Gates,
    bodies_bytes: AtomicUsize,
    /// Held while an audit goes through the store.
    audit: tokio::sync::Mutex<()>,
    /// Held while a backup is read from the store.
    backup: Arc<tokio::sync::Mutex<()>>,
    stopping: watch::Receiver<bool>,
    started_ms: u64,
}

impl App {
    /// The state of an interface to `node`, which runs on `store`. Tails end when `stopping` says so.
    /// `/metrics` shows what `registry` has, besides the interface's own. It tells of the work trees of `code`.
    #[must_use]
    pub fn new(
        node: Node<Engine>,
        store: Engine,
        config: &Config,
        key: TokenKey,
        stopping: watch::Receiver<bool>,
        registry: Registry,
        code: Code,
    ) -> Self {
        let inner = Inner {
            started_ms: node.ports().clock.monotonic_ms(),
            node,
            store,
            name: config.node.name.clone(),
            config: config.server.clone(),
            mcp: config.mcp.clone(),
            key,
            sessions: Sessions::new(&config.server),
            metrics: Metrics::new(registry),
            in_flight: AtomicUsize::new(0),
            tails: Tails::default(),
            queries: Queries::default(),
            searches: Queries::default(),
            checks: Queries::default(),
            code,
            gates: Gates::default(),
            bodies_bytes: AtomicUsize::new(0),
            audit: tokio::sync::Mutex::new(()),
            backup: Arc::default(),
            stopping,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    fn node(&self) -> &Node<Engine> {
        &self.inner.node
    }

    fn store(&self) -> &Engine {
        &self.inner.store
    }

    fn config(&self) -> &ServerConfig {
        &self.inner.config
    }

    /// The generation of the store: cursors of another one are void.
    fn generation(&self) -> u32 {
        self.inner.store.generation()
    }

    fn reader(&self) -> &Reader<Engine> {
        self.inner.node.reader()
    }

    fn code(&self) -> &Code {
        &self.inner.code
    }

    fn gates(&self) -> &Gates {
        &self.inner.gates
    }

    fn clock(&self) -> &dyn Clock {
        self.inner.node.ports().clock.as_ref()
    }

    fn is_stopping(&self) -> bool {
        *self.inner.stopping.borrow()
    }
}

/// The routes with everything that stands around them.
pub fn router(app: App) -> Router {
    let (interface, _) = routes::interface().split_for_parts();
    let (probes, _) = routes::probes().split_for_parts();
    let api = around(interface, probes, &app).with_state(app.clone());
    mcp::beside(api, &app)
}

/// What stands around all routes, from the inside out. The bound on requests under way is not for
/// the probes: who watches a full server is to see that it lives.
fn around(interface: Router<App>, probes: Router<App>, app: &App) -> Router<App> {
    interface
        .route_layer(axum::middleware::from_fn_with_state(
            app.clone(),
            guard::guard,
        ))
        .route_layer(axum::middleware::from_fn_with_state(
            app.clone(),
            traced::trace,
        ))
        .merge(probes)
        .fallback(unknown_route)
        .method_not_allowed_fallback(unknown_method)
        .layer(CatchPanicLayer::custom(errors::of_panic))
        .layer(axum::middleware::from_fn_with_state(
            app.clone(),
            guard::count,
        ))
}

async fn unknown_route() -> impl IntoResponse {
    Refusal::from(Error::new(
        ErrorCode::NotFound,
        "there is no such route; /v1/openapi.json lists them",
    ))
}

async fn unknown_method() -> impl IntoResponse {
    Refusal::of_method()
}
