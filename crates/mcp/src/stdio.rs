//! One client over a pair of streams, a message a line.
//!
//! Owns the bound on a line. It must not know whose streams they are, nor who has the API: it opens no store, and starts no
//! server.

use rmcp::serve_server;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Handler;
use crate::api::Api;
use crate::limits::MESSAGE_BYTES_MAX;

/// Why a client was not served to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It did not begin as a client does.
    #[error("the client did not begin as the protocol says")]
    Begin(#[source] Box<rmcp::service::ServerInitializeError>),
    /// The work came to an end by a defect.
    #[error("the session ended by a defect")]
    Ended(#[source] tokio::task::JoinError),
}

/// Serves a client until it closes its stream. A message that is longer than any is dropped, and the next one is read.
///
/// # Errors
/// [`Error`]
pub async fn serve<A: Api>(
    handler: Handler<A>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Error> {
    let transport =
        AsyncRwTransport::new_server(read, write).with_max_line_length(MESSAGE_BYTES_MAX);
    let begun = serve_server(handler, transport).await;
    let running = begun.map_err(|error| Error::Begin(Box::new(error)))?;
    running.waiting().await.map(drop).map_err(Error::Ended)
}
