//! A stream in memory, which forgets when it is told to.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_bus::Message;
use sillok_bus::conformance::Bed;
use sillok_bus::stream::{
    BoxFuture, EventStream, Numbered, Page, SlotEnd, StreamError, StreamState,
};
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

#[derive(Default)]
struct Inner {
    created: u64,
    first: u64,
    last: u64,
    stored_ns: u64,
    messages: Vec<Numbered>,
    /// Numbers of those that are recognised should they come again: the window of all others is over.
    recent: BTreeSet<u64>,
    is_down: bool,
}

/// The stream.
#[derive(Default)]
pub(crate) struct MemoryStream(Mutex<Inner>);

impl Inner {
    fn check(&self) -> Result<(), StreamError> {
        if self.is_down {
            return Err(StreamError::NoResponders);
        }
        Ok(())
    }

    fn state(&self) -> StreamState {
        StreamState {
            created: self.created,
            first: self.first.max(1),
            last: self.last,
        }
    }

    fn end_of(&self, slot: Slot) -> Option<&Numbered> {
        let mut newest_first = self.messages.iter().rev();
        newest_first.find(|numbered| numbered.message.slot == slot)
    }

    fn append(&mut self, message: Message) -> u64 {
        self.last += 1;
        self.stored_ns += 1;
        let (seq, stored_ns) = (self.last, self.stored_ns);
        self.messages.push(Numbered {
            seq,
            stored_ns,
            message,
        });
        seq
    }
}

impl MemoryStream {
    /// Loses the newest messages; their numbers are given to others.
    pub(crate) fn lose(&self, count: usize) {
        let mut inner = self.0.lock();
        let kept = inner.messages.len() - count;
        inner.messages.truncate(kept);
        inner.last -= count as u64;
        let last = inner.last;
        inner.recent.retain(|seq| *seq <= last);
    }

    /// Lets the oldest messages age, until this many are left.
    pub(crate) fn keep(&self, count: usize) {
        let mut inner = self.0.lock();
        let aged = inner.messages.len() - count;
        inner.messages.drain(..aged);
        inner.first = inner.first.max(1) + aged as u64;
    }

    /// Is created anew, empty.
    pub(crate) fn create_anew(&self) {
        let mut inner = self.0.lock();
        *inner = Inner {
            created: inner.created + 1,
            stored_ns: inner.stored_ns,
            ..Inner::default()
        };
    }

    /// Answers nobody, or everybody again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.0.lock().is_down = is_down;
    }

    /// Another writer tells a message that was told before.
    pub(crate) fn tell_again(&self, message: Message) {
        self.0.lock().append(message);
    }

    /// What it holds, in order.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let inner = self.0.lock();
        let messages = inner.messages.iter();
        messages.map(|numbered| numbered.message.clone()).collect()
    }

    /// The commits that it holds.
    pub(crate) fn stamps(&self) -> BTreeSet<(Slot, Stamp)> {
        let messages = self.messages().into_iter();
        messages
            .map(|message| (message.slot, message.stamp))
            .collect()
    }
}

impl EventStream for MemoryStream {
    fn name(&self) -> &str {
        "EVT"
    }

    fn append(&self, message: Message, expected: u64) -> BoxFuture<'_, Result<u64, StreamError>> {
        Box::pin(async move {
            let mut inner = self.0.lock();
            inner.check()?;
            let same = |held: &&Numbered| {
                (held.message.slot, held.message.stamp) == (message.slot, message.stamp)
            };
            let recent = |held: &&Numbered| inner.recent.contains(&held.seq);
            if let Some(held) = inner.messages.iter().filter(recent).find(same) {
                return Ok(held.seq);
            }
            if inner.end_of(message.slot).map_or(0, |end| end.seq) != expected {
                return Err(StreamError::Unexpected);
            }
            let seq = inner.append(message);
            inner.recent.insert(seq);
            Ok(seq)
        })
    }

    fn end_of(&self, slot: Slot) -> BoxFuture<'_, Result<SlotEnd, StreamError>> {
        Box::pin(async move {
            let inner = self.0.lock();
            inner.check()?;
            let last = inner.end_of(slot).cloned();
            Ok(SlotEnd {
                stream: inner.state(),
                seq: last.as_ref().map_or(0, |last| last.seq),
                last,
            })
        })
    }

    fn page(&self, from: u64, limit: usize) -> BoxFuture<'_, Result<Page, StreamError>> {
        Box::pin(async move {
            let inner = self.0.lock();
            inner.check()?;
            let messages = inner.messages.iter();
            let messages = messages.filter(|numbered| numbered.seq >= from).take(limit);
            Ok(Page {
                stream: inner.state(),
                messages: messages.cloned().collect(),
                holes: Vec::new(),
            })
        })
    }
}

/// The stream as the suite of all streams sees it.
struct MemoryBed(Arc<MemoryStream>);

impl Bed for MemoryBed {
    fn stream(&self) -> Arc<dyn EventStream> {
        Arc::clone(&self.0) as Arc<dyn EventStream>
    }

    fn recreate(&self) -> BoxFuture<'_, ()> {
        self.0.create_anew();
        Box::pin(async {})
    }

    fn age(&self, keep: u64) -> BoxFuture<'_, ()> {
        self.0.keep(usize::try_from(keep).unwrap());
        Box::pin(async {})
    }

    fn scribble(&self, _: Slot) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }
}

sillok_bus::stream_conformance_suite!(conformance, async { MemoryBed(Arc::default()) });
