//! One client over a pair of streams, a message a line.
//!
//! Owns when such a client is served to its end. It must not know whose streams they are, nor who has the API: it opens no
//! store, and starts no server.

use rmcp::serve_server;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Handler;
use crate::api::Api;
use crate::lines::Lines;

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

/// Serves a client until it closes its stream. A message that is longer than any is refused, and the next one is read.
///
/// # Errors
/// [`Error`]
pub async fn serve<A: Api>(
    handler: Handler<A>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), Error> {
    let begun = serve_server(handler, Lines::new(read, write)).await;
    let running = begun.map_err(|error| Error::Begin(Box::new(error)))?;
    running.waiting().await.map(drop).map_err(Error::Ended)
}
