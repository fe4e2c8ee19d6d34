//! A stream: messages of all slots in one order, held by somebody else for a while.
//!
//! Owns the port that a relay writes to and a follower reads from. A stream may forget: what is old,
//! what it acknowledged shortly before it crashed, or everything. It must therefore never hold the
//! only copy of anything.

use core::future::Future;
use core::pin::Pin;
use std::sync::Arc;

use sillok_core::channel::Channel;
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
    /// How long it keeps a message at least, in ms; 0 where nobody knows.
    pub keeps_ms: u64,
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
    /// The numbers among them that stand for no message.
    pub holes: Vec<Hole>,
}

/// Numbers that stand for no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The first number.
    pub first: u64,
    /// The last number: the same one, if somebody wrote there.
    pub last: u64,
    /// When that was stored which lies there and which no node wrote, in ns. None if nothing lies there
    /// any more.
    pub stored_ns: Option<u64>,
}

/// How many places a page looks at, at most, for each message that it is asked for. Messages and what
/// no node wrote are a place each, and so is a run of numbers where nothing lies any more.
pub const PLACES_PER_MESSAGE: usize = 4;

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

    /// Appends a message, if what lies newest in the slot has the number `expected` (0: there is
    /// nothing). A message that was appended a short while ago behind the same number, and is still
    /// there, is not appended again. Its number.
    fn append(&self, message: Message, expected: u64) -> BoxFuture<'_, Result<u64, StreamError>>;

    /// Where it ends for a slot.
    fn end_of(&self, slot: Slot) -> BoxFuture<'_, Result<SlotEnd, StreamError>>;

    /// Messages from number `from` on, at most `limit`, from at most [`PLACES_PER_MESSAGE`] times as many
    /// places: what no node wrote makes a page poorer, and never longer. That one itself comes if it is
    /// held: readers know the stream by it.
    fn page(&self, from: u64, limit: usize) -> BoxFuture<'_, Result<Page, StreamError>>;
}

/// The streams that all nodes reach, one for each channel.
#[derive(Clone)]
pub struct Streams {
    /// Of what changed.
    pub events: Arc<dyn EventStream>,
    /// Of what was staged.
    pub log: Arc<dyn EventStream>,
}

impl Streams {
    /// The streams that `make` gives for each channel.
    pub fn new(make: impl Fn(Channel) -> Arc<dyn EventStream>) -> Self {
        Self {
            events: make(Channel::Events),
            log: make(Channel::Log),
        }
    }

    /// The one of a channel.
    #[must_use]
    pub const fn of(&self, channel: Channel) -> &Arc<dyn EventStream> {
        match channel {
            Channel::Events => &self.events,
            Channel::Log => &self.log,
        }
    }
}
