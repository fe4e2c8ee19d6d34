//! From the bytes of a request to typed values: who asks, under which command id, for what.
//!
//! Owns the bounds on bodies. A body is read only for a principal that was verified, and is parsed
//! once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::CommandId;

use super::App;
use super::auth::Session;
use super::errors::Refusal;
use crate::system::random;

/// The header that carries a command's id.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A request that changes something.
pub(super) struct Write<T> {
    pub(super) session: Arc<Session>,
    pub(super) id: CommandId,
    pub(super) body: T,
}

impl<T: DeserializeOwned> FromRequest<App> for Write<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let session = app.authenticate(&parts.headers).await?;
        let id = command_id(&parts.headers, app)?;
        let body = read(app, &parts.headers, body)
            .await
            .map_err(Refusal::of(id))?;
        Ok(Self { session, id, body })
    }
}

/// A request with a body that changes nothing.
pub(super) struct Ask<T> {
    pub(super) session: Arc<Session>,
    pub(super) body: T,
}

impl<T: DeserializeOwned> FromRequest<App> for Ask<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        let session = app.authenticate(&parts.headers).await?;
        let body = read(app, &parts.headers, body).await?;
        Ok(Self { session, body })
    }
}

/// A request without a body, asked by query.
pub(super) struct Read<T> {
    pub(super) session: Arc<Session>,
    pub(super) query: T,
}

impl<T: DeserializeOwned> FromRequestParts<App> for Read<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let session = app.authenticate(&parts.headers).await?;
        let Query(query) = Query::try_from_uri(&parts.uri)
            .map_err(|rejection| Error::new(ErrorCode::InvalidRequest, rejection.body_text()))?;
        Ok(Self { session, query })
    }
}

/// A request that needs a token and nothing else.
pub(super) struct Caller(pub(super) Arc<Session>);

impl FromRequestParts<App> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        Ok(Self(app.authenticate(&parts.headers).await?))
    }
}

/// The caller's command id, or a new one where it gave none.
fn command_id(headers: &HeaderMap, app: &App) -> Result<CommandId, Error> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else {
        let mut bytes = [0; 10];
        random(&mut bytes);
        return Ok(CommandId::from_parts(app.clock().now(), bytes));
    };
    if values.next().is_some() {
        return Err(Error::new(
            ErrorCode::InvalidId,
            "more than one Idempotency-Key came with the request",
        ));
    }
    let text = value.to_str().unwrap_or_default().trim();
    // Structured headers are quoted; both forms are in use.
    let id: CommandId = text.trim_matches('"').parse()?;
    id.time()?;
    Ok(id)
}

/// Bytes that are accounted for until this is dropped.
struct Held<'a> {
    app: &'a App,
    bytes: usize,
}

impl<'a> Held<'a> {
    fn take(app: &'a App, bytes: usize) -> Result<Self, Error> {
        let held = app.inner.bodies_bytes.fetch_add(bytes, Ordering::Relaxed);
        let taken = Self { app, bytes };
        if held > 0 && held + bytes > app.inner.config.bodies_bytes_max {
            return Err(Error::busy("too many large requests are under way", 100));
        }
        Ok(taken)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.app
            .inner
            .bodies_bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

async fn read<T: DeserializeOwned>(app: &App, headers: &HeaderMap, body: Body) -> Result<T, Error> {
    let limit = app.inner.config.body_bytes_max;
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    if let Some(bytes) = declared.filter(|bytes| *bytes > limit) {
        drain(body, limit).await;
        return Err(too_large(limit, bytes));
    }
    let _held = Held::take(app, declared.unwrap_or(limit))?;
    let bytes = collect(body, limit).await?;
    let text = core::str::from_utf8(&bytes).map_err(|error| {
        let why = format!(
            "the body is not UTF-8 text: the byte at {} does not fit",
            error.valid_up_to()
        );
        Error::new(ErrorCode::InvalidContent, why)
    })?;
    serde_json::from_str(text)
        .map_err(|error| Error::new(ErrorCode::InvalidRequest, format!("the body: {error}")))
}

async fn collect(body: Body, limit: usize) -> Result<Bytes, Error> {
    let mut chunks = body.into_data_stream();
    let broken = |error| {
        Error::new(
            ErrorCode::InvalidRequest,
            format!("the body did not arrive whole: {error}"),
        )
    };
    let Some(first) = chunks.next().await.transpose().map_err(broken)? else {
        return Ok(Bytes::new());
    };
    let Some(second) = chunks.next().await.transpose().map_err(broken)? else {
        return check(first, limit);
    };
    let mut whole = BytesMut::with_capacity((first.len() + second.len()).min(limit));
    whole.extend_from_slice(&check(first, limit)?);
    whole.extend_from_slice(&second);
    while let Some(chunk) = chunks.next().await.transpose().map_err(broken)? {
        if whole.len() + chunk.len() > limit {
            let bytes = whole.len() + chunk.len();
            drop(whole);
            drain_rest(chunks, limit).await;
            return Err(too_large(limit, bytes));
        }
        whole.extend_from_slice(&chunk);
    }
    check(whole.freeze(), limit)
}

fn check(bytes: Bytes, limit: usize) -> Result<Bytes, Error> {
    if bytes.len() > limit {
        Err(too_large(limit, bytes.len()))
    } else {
        Ok(bytes)
    }
}

/// Reads on without keeping anything, so that a client that is still sending hears the answer. Not
/// for ever: who sends more than twice the limit is cut off.
async fn drain(body: Body, limit: usize) {
    drain_rest(body.into_data_stream(), 2 * limit).await;
}

async fn drain_rest(mut chunks: axum::body::BodyDataStream, mut left: usize) {
    while let Some(Ok(chunk)) = chunks.next().await {
        if chunk.len() > left {
            return;
        }
        left -= chunk.len();
    }
}

fn too_large(limit: usize, got: usize) -> Error {
    Error::too_large("request body bytes", limit as u64, got as u64)
}
