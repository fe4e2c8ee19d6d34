//! A stream: messages of all slots in one order, held by somebody else for a while.
//!
//! Owns the port that a relay writes to and a follower reads from. A stream may forget: what is old,
//! what it acknowledged shortly before it crashed, or everything. It must therefore never hold the
//! only copy of anything.

use core::future::Future;
use core::pin::Pin;

use sillok_core::slot::Slot;

use crate::message::Message;

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a stream says of itself with every answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamState {
    /// When it was created, as it says itself: another value means another stream.
    pub created: u64,
    /// The number of the oldest message that it may still hold. What is below has aged out.
    pub first: u64,
    /// The number of the newest message; 0 before the first one. Falls when a suffix is lost.
    pub last: u64,
}

/// A message with the stream's own number for it, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The number. After the loss of a suffix another message may get it, or the same one told anew.
    pub seq: u64,
    /// When it was stored, as the stream says, in ns: with the number it names this storing of it.
    pub stored_ns: u64,
    /// The message.
    pub message: Message,
}

/// Where a stream ends for one slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotEnd {
    /// The stream.
    pub stream: StreamState,
    /// The number of the newest that it holds for the slot; 0 if there is none. It is that of `last`,
    /// unless somebody wrote there who is no node.
    pub seq: u64,
    /// The newest, if it is a message.
    pub last: Option<Numbered>,
}

/// Messages from somewhere on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The stream.
    pub stream: StreamState,
    /// The messages. They may come in another order, more than once, or with some left out.
    pub messages: Vec<Numbered>,
    /// Numbers among them that stand for no message: it was taken out of the stream, or was written by
    /// somebody who is no node.
    pub holes: Vec<u64>,
}

/// Why a stream did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The slot does not end where the writer believed: somebody else wrote, or something was lost.
    #[error("the stream does not end where it was expected to")]
    Unexpected,
    /// Nobody serves the stream. Nothing was written.
    #[error("nobody serves the stream")]
    NoResponders,
    /// No answer came. What was asked may have been done.
    #[error("the stream did not answer: {0}")]
    Unavailable(String),
}

/// A stream that all nodes reach.
pub trait EventStream: Send + Sync + 'static {
    /// Its name, under which relays keep their cursors.
    fn name(&self) -> &str;

    /// Appends a message, if the slot's newest message has the number `expected` (0: it has none).
    /// A message whose stamp was appended a short while ago is not appended again. Its number.
    fn append(&self, message: Message, expected: u64) -> BoxFuture<'_, Result<u64, StreamError>>;

    /// Where it ends for a slot.
    fn end_of(&self, slot: Slot) -> BoxFuture<'_, Result<SlotEnd, StreamError>>;

    /// Messages from number `from` on, at most `limit`. That one itself comes if it is held: readers know
    /// the stream by it.
    fn page(&self, from: u64, limit: usize) -> BoxFuture<'_, Result<Page, StreamError>>;
}
