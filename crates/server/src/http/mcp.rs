//! The Model Context Protocol over HTTP: endpoints beside the routes, whose tools call those routes in this process.
//!
//! Owns where the endpoints lie, and that nothing is read of a request whose token is not good. What the tools are is
//! `sillok-mcp`'s; who may do what is decided by the routes, with the caller's own token (ADR 0047).

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::Response;
use axum::response::IntoResponse;
use axum::routing::any;
use sillok_core::error::{Error, ErrorCode};
use sillok_mcp::http::Endpoint;
use sillok_mcp::routed::Routed;
use sillok_mcp::{Handler, ToolSet};
use tower_http::catch_panic::CatchPanicLayer;

use super::{App, Refusal, errors, guard};

/// Where each set of tools is found.
const ENDPOINTS: [(&str, ToolSet); 3] = [
    ("/mcp", ToolSet::Work),
    ("/mcp/review", ToolSet::Review),
    ("/mcp/all", ToolSet::All),
];

/// The router `api` with the endpoints beside it. They call it as it stands, without themselves.
pub(super) fn beside(api: Router, app: &App) -> Router {
    let config = &app.inner.mcp;
    let mut endpoints: Router<App> = Router::new();
    for (path, set) in ENDPOINTS {
        let handler = Handler::new(Routed::new(api.clone()), set, None, config.calls_max);
        let settings = config.settings(app.config().address.ip());
        let endpoint = Endpoint::new(handler, settings);
        let handle = move |State(app): State<App>, request: Request| {
            let endpoint = endpoint.clone();
            async move { answer(&app, &endpoint, request).await }
        };
        endpoints = endpoints.route(path, any(handle));
    }
    let endpoints = endpoints
        .route_layer(axum::middleware::from_fn_with_state(
            app.clone(),
            guard::guard,
        ))
        .layer(CatchPanicLayer::custom(errors::of_panic))
        .layer(axum::middleware::from_fn_with_state(
            app.clone(),
            guard::count,
        ))
        .with_state(app.clone());
    api.merge(endpoints)
}

/// The answer to one request. A tool that waits is not waited for once the server stops.
async fn answer(app: &App, endpoint: &Endpoint<Routed>, request: Request) -> Response<Body> {
    let who = match app.authenticate(request.headers()).await {
        Ok(session) => session.principal.actor.to_string(),
        Err(error) => return Refusal::from(error).into_response(),
    };
    let mut stopping = app.inner.stopping.clone();
    tokio::select! {
        biased;
        answer = endpoint.answer(&who, request) => answer,
        // The sender is gone only when the server is.
        _ = stopping.wait_for(|stop| *stop) => {
            let why = "the server is stopping";
            Refusal::from(Error::new(ErrorCode::Unavailable, why)).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_tools_has_an_endpoint() {
        let sets = ENDPOINTS.map(|(_, set)| set);
        assert_eq!(sets, ToolSet::ALL);
    }
}
