//! The route of backups: the whole store as of one moment, in pieces, while the server serves.
//!
//! Owns the way from the store to the connection. Whoever takes nothing for a while loses it, and so does
//! everybody when the server stops: what was sent then lacks its end, and is no backup.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use sillok_actors::backup::Backup;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::scope::ScopePrefix;
use tokio::sync::{OwnedMutexGuard, mpsc, watch};

use super::authorize_under;
use crate::api::schema;
use crate::engine::Engine;
use crate::http::extract::Caller;
use crate::http::{App, Refusal};

/// What a caller is told to wait while another backup is sent.
const RETRY_AFTER_MS: u64 = 1_000;
/// Pieces that are read before they are sent.
const PIECES_AHEAD: usize = 2;

type Piece = Result<Bytes, io::Error>;

/// Send a backup of the whole store, as of this moment. Only for a token that covers everything.
///
/// The form is Sillok's own; a body that was cut off is refused by `sillok restore`.
#[utoipa::path(get, path = "/v1/backup", tag = "node", operation_id = "backup",
    responses((status = 200, description = "The backup.", body = schema::Bytes, content_type = "application/octet-stream")),
    extensions(("x-sillok-access" = json!(["everything"]))))]
pub(super) async fn backup(
    State(app): State<App>,
    Caller(session): Caller,
) -> Result<Response, Refusal> {
    authorize_under(&session.principal, &ScopePrefix::All)?;
    if app.store().is_shared() {
        let why = "the store is a FoundationDB cluster: back it up with its own tools";
        return Err(Error::new(ErrorCode::InvalidRequest, why).into());
    }
    let alone = Arc::clone(&app.inner.backup)
        .try_lock_owned()
        .map_err(|_| Error::busy("another backup is under way", RETRY_AFTER_MS))?;
    let version = env!("CARGO_PKG_VERSION");
    let backup = Backup::begin(app.store(), app.clock().now(), version).await?;
    let (pieces, received) = mpsc::channel(PIECES_AHEAD);
    let sending = Sending {
        backup,
        pieces,
        patience: Duration::from_millis(app.inner.config.backup_stall_ms_max),
        stopping: app.inner.stopping.clone(),
        _alone: alone,
    };
    tokio::spawn(sending.run());
    let body = stream::unfold(received, |mut received: mpsc::Receiver<Piece>| async move {
        received.recv().await.map(|piece| (piece, received))
    });
    let kind = [(header::CONTENT_TYPE, "application/octet-stream")];
    Ok((kind, Body::from_stream(body)).into_response())
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The sender is gone only when the server is.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// A backup that is being sent.
struct Sending {
    backup: Backup<Engine>,
    pieces: mpsc::Sender<Piece>,
    patience: Duration,
    stopping: watch::Receiver<bool>,
    _alone: OwnedMutexGuard<()>,
}

impl Sending {
    /// Sends all pieces. Where that fails, the connection is broken off rather than ended.
    async fn run(mut self) {
        loop {
            let piece = match self.backup.next().await {
                Ok(Some(piece)) => Ok(Bytes::from(piece)),
                Ok(None) => return,
                Err(error) => Err(io::Error::other(error.to_string())),
            };
            let is_last = piece.is_err();
            let sent = tokio::select! {
                biased;
                () = stopped(&mut self.stopping) => {
                    let stops = io::Error::other("the server stops");
                    // Whoever takes nothing learns it when the connection is closed.
                    let _ = self.pieces.try_send(Err(stops));
                    return;
                }
                sent = tokio::time::timeout(self.patience, self.pieces.send(piece)) => sent,
            };
            match sent {
                Ok(Ok(())) if !is_last => {}
                Ok(_) => return,
                Err(_elapsed) => {
                    tracing::warn!("a backup was given up: nothing of it was taken for a while");
                    return;
                }
            }
        }
    }
}
