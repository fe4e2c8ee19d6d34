//! From the bytes of a request to typed values: who asks, under which command id, for what.
//!
//! Owns the bounds on bodies, in bytes and in time. A body is read only for a principal that was
//! verified, and is parsed once.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::CommandId;
use sillok_core::trace::TraceContext;
use tokio::time::{Instant, timeout_at};

use super::App;
use super::auth::Session;
use super::errors::Refusal;
use super::traced::Within;
use crate::system::random;

/// The header that carries a command's id.
pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Room for bodies is taken in steps of so many bytes.
const HELD_STEP_BYTES: usize = 64 << 10;

/// Who changes something, and the trace that this belongs to.
pub(super) struct Writer {
    session: Arc<Session>,
    pub(super) within: Option<TraceContext>,
}

impl Deref for Writer {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

/// A request that changes something.
pub(super) struct Write<T> {
    pub(super) session: Writer,
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
        let within = parts.extensions.get().map(|Within(trace)| *trace);
        let session = Writer { session, within };
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

/// Room for the bytes of one body, until this is dropped. It grows with what arrives: what a caller
/// only announces takes none from others.
struct Held<'a> {
    app: &'a App,
    bytes: usize,
}

impl<'a> Held<'a> {
    const fn nothing(app: &'a App) -> Self {
        Self { app, bytes: 0 }
    }

    /// Makes room for a body of which `arrived` bytes are there.
    fn grow(&mut self, arrived: usize) -> Result<(), Error> {
        if arrived <= self.bytes {
            return Ok(());
        }
        let config = &self.app.inner.config;
        // The last step ends at the bound on one body, for which there is room by configuration.
        let bytes = arrived
            .next_multiple_of(HELD_STEP_BYTES)
            .min(config.body_bytes_max);
        let more = bytes - self.bytes;
        let room = |held: usize| (held + more <= config.bodies_bytes_max).then_some(held + more);
        self.app
            .inner
            .bodies_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, room)
            .map_err(|_| Error::busy("too many large requests are under way", 100))?;
        self.bytes = bytes;
        Ok(())
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
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse().ok());
    let mut held = Held::nothing(app);
    let bytes = receive(&mut held, declared, body).await?;
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

/// The whole body, if it fits and arrives in time.
async fn receive(held: &mut Held<'_>, declared: Option<usize>, body: Body) -> Result<Bytes, Error> {
    let config = &held.app.inner.config;
    let (limit, ms_max) = (config.body_bytes_max, config.body_ms_max);
    let deadline = Instant::now() + Duration::from_millis(ms_max);
    let mut chunks = body.into_data_stream();
    let collected = match declared.filter(|bytes| *bytes > limit) {
        Some(bytes) => Ok(Err(too_large(limit, bytes))),
        None => timeout_at(deadline, collect(held, &mut chunks, limit)).await,
    };
    let refused = match collected {
        Ok(Ok(whole)) => return Ok(whole),
        Ok(Err(refused)) => refused,
        Err(_late) => {
            let why = format!("the body did not arrive within {ms_max} ms");
            return Err(Error::new(ErrorCode::InvalidRequest, why));
        }
    };
    *held = Held::nothing(held.app);
    // A client that is still sending is to hear the answer. When it is late it may not.
    let _ = timeout_at(deadline, drain(chunks, 2 * limit)).await;
    Err(refused)
}

async fn collect(
    held: &mut Held<'_>,
    chunks: &mut BodyDataStream,
    limit: usize,
) -> Result<Bytes, Error> {
    let Some(first) = next(chunks).await? else {
        return Ok(Bytes::new());
    };
    admit(held, first.len(), limit)?;
    let Some(second) = next(chunks).await? else {
        return Ok(first);
    };
    admit(held, first.len() + second.len(), limit)?;
    let mut whole = BytesMut::with_capacity(first.len() + second.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&second);
    drop((first, second));
    while let Some(chunk) = next(chunks).await? {
        admit(held, whole.len() + chunk.len(), limit)?;
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

async fn next(chunks: &mut BodyDataStream) -> Result<Option<Bytes>, Error> {
    chunks.next().await.transpose().map_err(|error| {
        Error::new(
            ErrorCode::InvalidRequest,
            format!("the body did not arrive whole: {error}"),
        )
    })
}

/// Checks that a body of which `arrived` bytes are there may go on.
fn admit(held: &mut Held<'_>, arrived: usize, limit: usize) -> Result<(), Error> {
    if arrived > limit {
        return Err(too_large(limit, arrived));
    }
    held.grow(arrived)
}

/// Reads on without keeping anything. Not for ever: who sends more than `left` bytes is cut off.
async fn drain(mut chunks: BodyDataStream, mut left: usize) {
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
