//! Clients over HTTP: one endpoint, without sessions, for every revision of the protocol.
//!
//! Owns the bounds on a request before anything of it is parsed, and who may name this server in a browser. Who calls is for
//! the API to say, by the headers that it is handed.

use core::time::Duration;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::Handler;
use crate::api::Api;
use crate::limits::{CALL_RETRY_AFTER_MS, CALLS_EACH_MAX, CALLS_MAX, MESSAGE_BYTES_MAX};
use crate::places::Places;

/// What an endpoint takes, and from whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Names under which this server is reached: `Host` has to be one of them. What resolves to it under another name is a
    /// page that rebinds its own.
    pub hosts: Vec<String>,
    /// Pages that may call it: with an `Origin` of another one, a request is refused.
    pub origins: Vec<String>,
    /// Bytes of one request.
    pub message_bytes_max: usize,
    /// How long a whole request may take to arrive.
    pub message_ms_max: u64,
    /// Requests that are under way at one time. As many more may be arriving.
    pub calls_max: usize,
    /// Those of one principal.
    pub calls_each_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let loopback = ["localhost", "127.0.0.1", "::1"];
        Self {
            hosts: loopback.map(str::to_owned).to_vec(),
            origins: Vec::new(),
            message_bytes_max: MESSAGE_BYTES_MAX,
            message_ms_max: 30_000,
            calls_max: CALLS_MAX,
            calls_each_max: CALLS_EACH_MAX,
        }
    }
}

/// An endpoint. A clone is another handle on the same.
pub struct Endpoint<A: Api> {
    service: StreamableHttpService<Handler<A>, NeverSessionManager>,
    arriving: Places,
    under_way: Places,
    bytes_max: usize,
    arrival_max: Duration,
}

impl<A: Api> Clone for Endpoint<A> {
    fn clone(&self) -> Self {
        Self {
            service: self.service.clone(),
            arriving: self.arriving.clone(),
            under_way: self.under_way.clone(),
            ..*self
        }
    }
}

impl<A: Api> Endpoint<A> {
    /// An endpoint that `handler` answers at.
    #[must_use]
    pub fn new(handler: Handler<A>, settings: Settings) -> Self {
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(settings.message_bytes_max)
            .with_allowed_hosts(settings.hosts)
            .with_allowed_origins(settings.origins)
            .enforce_origin_validation();
        let each = move || Ok(handler.clone());
        let places = || Places::new(settings.calls_max, settings.calls_each_max);
        Self {
            service: StreamableHttpService::new(each, Arc::default(), config),
            arriving: places(),
            under_way: places(),
            bytes_max: settings.message_bytes_max,
            arrival_max: Duration::from_millis(settings.message_ms_max),
        }
    }

    /// The answer to one request of a principal, by its name.
    pub async fn answer(&self, who: &str, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let whole = match self.arrived(who, body).await {
            Ok(whole) => whole,
            Err(refusal) => return *refusal,
        };
        let Some(_place) = self.under_way.take(who) else {
            return busy();
        };
        let request = Request::from_parts(parts, Body::from(whole));
        self.service.handle(request).await.map(Body::new)
    }

    /// A whole body. One that comes slowly takes nobody's place but that of another of its principal that arrives.
    async fn arrived(&self, who: &str, body: Body) -> Result<Bytes, Box<Response<Body>>> {
        let Some(_place) = self.arriving.take(who) else {
            return Err(Box::new(busy()));
        };
        let read = to_bytes(body, self.bytes_max);
        let refusal = match tokio::time::timeout(self.arrival_max, read).await {
            Ok(Ok(whole)) => return Ok(whole),
            Ok(Err(_)) => {
                let why = format!("a message has at most {} bytes", self.bytes_max);
                refused(StatusCode::PAYLOAD_TOO_LARGE, why)
            }
            Err(_) => {
                let why = "the message did not arrive in time".to_owned();
                refused(StatusCode::REQUEST_TIMEOUT, why)
            }
        };
        Err(Box::new(refusal))
    }
}

fn busy() -> Response<Body> {
    let why = "too many requests are under way".to_owned();
    let mut response = refused(StatusCode::TOO_MANY_REQUESTS, why);
    let seconds = CALL_RETRY_AFTER_MS.div_ceil(1_000);
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn refused(status: StatusCode, why: String) -> Response<Body> {
    let mut response = Response::new(Body::from(why));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}
