//! A stream in memory, which forgets when it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_bus::Message;
use sillok_bus::conformance::Bed;
use sillok_bus::stream::{
    BoxFuture, EventStream, Hole, Numbered, PLACES_PER_MESSAGE, Page, SlotEnd, StreamError,
    StreamState,
};
use sillok_bus::subject::stream_of;
use sillok_core::channel::Channel;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

#[derive(Default)]
struct Inner {
    created: u64,
    first: u64,
    last: u64,
    keeps_ms: u64,
    stored_ns: u64,
    messages: Vec<Numbered>,
    /// What no node wrote, by its number: the slot, and when it was stored.
    foreign: BTreeMap<u64, (Slot, u64)>,
    /// Numbers of those that are recognised should they come again, with the numbers behind which they
    /// were appended: the window of all others is over.
    recent: BTreeMap<u64, u64>,
    is_down: bool,
    /// How often it was asked for anything.
    asked: u64,
}

/// The stream of a channel.
pub(crate) struct MemoryStream(Mutex<Inner>, Channel);

impl Default for MemoryStream {
    fn default() -> Self {
        Self::of(Channel::Events)
    }
}

impl Inner {
    fn check(&mut self) -> Result<(), StreamError> {
        self.asked += 1;
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
            keeps_ms: self.keeps_ms,
        }
    }

    /// The number of what lies newest in a slot, and the message, if it is one.
    fn end_of(&self, slot: Slot) -> (u64, Option<&Numbered>) {
        let mut newest_first = self.messages.iter().rev();
        let message = newest_first.find(|numbered| numbered.message.slot == slot);
        let mut foreign = self.foreign.iter().rev();
        let foreign = foreign.find(|(_, (of, _))| *of == slot);
        let foreign = foreign.map_or(0, |(seq, _)| *seq);
        let seq = message.map_or(0, |numbered| numbered.seq);
        (
            seq.max(foreign),
            message.filter(|numbered| numbered.seq > foreign),
        )
    }

    /// Takes out what is not in the range of numbers.
    fn retain(&mut self, seqs: core::ops::RangeInclusive<u64>) {
        self.messages
            .retain(|numbered| seqs.contains(&numbered.seq));
        self.foreign.retain(|seq, _| seqs.contains(seq));
        self.recent.retain(|seq, _| seqs.contains(seq));
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
    /// An empty one.
    pub(crate) fn of(channel: Channel) -> Self {
        Self(Mutex::default(), channel)
    }

    /// Loses the newest messages; their numbers are given to others.
    pub(crate) fn lose(&self, count: u64) {
        let mut inner = self.0.lock();
        inner.last -= count;
        let last = inner.last;
        inner.retain(0..=last);
    }

    /// Lets the oldest messages age, until this many are left.
    pub(crate) fn keep(&self, count: u64) {
        let mut inner = self.0.lock();
        let first = (inner.last + 1).saturating_sub(count);
        inner.first = first.max(inner.first).max(1);
        let seqs = inner.first..=u64::MAX;
        inner.retain(seqs);
    }

    /// Says that it keeps messages for so long.
    pub(crate) fn say_it_keeps(&self, keeps_ms: u64) {
        self.0.lock().keeps_ms = keeps_ms;
    }

    /// Somebody who is no node writes to a slot.
    pub(crate) fn scribble(&self, slot: Slot) {
        let mut inner = self.0.lock();
        inner.last += 1;
        inner.stored_ns += 1;
        let (seq, stored_ns) = (inner.last, inner.stored_ns);
        inner.foreign.insert(seq, (slot, stored_ns));
    }

    /// How often it was asked for anything.
    pub(crate) fn asked(&self) -> u64 {
        self.0.lock().asked
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
        stream_of(self.1)
    }

    fn append(&self, message: Message, expected: u64) -> BoxFuture<'_, Result<u64, StreamError>> {
        Box::pin(async move {
            let mut inner = self.0.lock();
            inner.check()?;
            let same = |held: &&Numbered| {
                (held.message.slot, held.message.stamp) == (message.slot, message.stamp)
            };
            let recent = |held: &&Numbered| inner.recent.get(&held.seq) == Some(&expected);
            if let Some(held) = inner.messages.iter().filter(recent).find(same) {
                return Ok(held.seq);
            }
            if inner.end_of(message.slot).0 != expected {
                return Err(StreamError::Unexpected);
            }
            let seq = inner.append(message);
            inner.recent.insert(seq, expected);
            Ok(seq)
        })
    }

    fn end_of(&self, slot: Slot) -> BoxFuture<'_, Result<SlotEnd, StreamError>> {
        Box::pin(async move {
            let mut inner = self.0.lock();
            inner.check()?;
            let (seq, last) = inner.end_of(slot);
            Ok(SlotEnd {
                stream: inner.state(),
                seq,
                last: last.cloned(),
            })
        })
    }

    fn page(&self, from: u64, limit: usize) -> BoxFuture<'_, Result<Page, StreamError>> {
        Box::pin(async move {
            let mut inner = self.0.lock();
            inner.check()?;
            let mut page = Page {
                stream: inner.state(),
                messages: Vec::new(),
                holes: Vec::new(),
            };
            let seqs = from.max(page.stream.first)..=inner.last;
            for seq in seqs.take(limit * PLACES_PER_MESSAGE) {
                if page.messages.len() == limit {
                    break;
                }
                let mut messages = inner.messages.iter();
                if let Some(held) = messages.find(|held| held.seq == seq) {
                    page.messages.push(held.clone());
                } else if let Some((_, stored_ns)) = inner.foreign.get(&seq) {
                    page.holes.push(Hole {
                        first: seq,
                        last: seq,
                        stored_ns: Some(*stored_ns),
                    });
                }
            }
            Ok(page)
        })
    }
}

/// The stream as the suite of all streams sees it.
struct MemoryBed(Arc<MemoryStream>, Arc<MemoryStream>);

impl Bed for MemoryBed {
    fn beside(&self) -> Arc<dyn EventStream> {
        Arc::clone(&self.1) as Arc<dyn EventStream>
    }

    fn stream(&self) -> Arc<dyn EventStream> {
        Arc::clone(&self.0) as Arc<dyn EventStream>
    }

    fn recreate(&self) -> BoxFuture<'_, ()> {
        self.0.create_anew();
        Box::pin(async {})
    }

    fn age(&self, keep: u64) -> BoxFuture<'_, ()> {
        self.0.keep(keep);
        Box::pin(async {})
    }

    fn scribble(&self, slot: Slot) -> BoxFuture<'_, bool> {
        self.0.scribble(slot);
        Box::pin(async { true })
    }
}

sillok_bus::stream_conformance_suite!(conformance, async {
    MemoryBed(Arc::default(), Arc::new(MemoryStream::of(Channel::Log)))
});
