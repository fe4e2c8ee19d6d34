//! The simulated streams: what a server far away holds of the events and of the log, for a while.
//!
//! Owns what they keep and what it forgets: old messages, what was acknowledged shortly before a
//! crash, everything. The server answers as the network lets it.

mod port;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sillok_bus::Message;
use sillok_bus::stream::{Numbered, Page, SlotEnd, StreamError, StreamState};
use sillok_core::channel::Channel;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use tokio::sync::oneshot;

use crate::heap::{Due, Place, Shared};
use crate::net::Cutter;
use crate::rng::Purpose;

pub(crate) use port::streams;

/// How long a caller waits, in µs.
const TIMEOUT_US: u64 = 2_000_000;
/// Messages that it keeps, at least and at most: more than there are slots, or it would never hold the
/// last message of each.
const KEEPS: (u64, u64) = (160, 4_000);
/// The same, of one that keeps them by their age, in µs.
const KEEPS_US: (u64, u64) = (4_000_000, 60_000_000);
/// Streams that do, in a thousandth.
const BY_AGE_PERMILLE: u32 = 300;
/// How long it recognises a message that comes again, in µs, at least and at most.
const WINDOW_US: (u64, u64) = (5_000, 5_000_000);
/// The same, where it is so short that a message which is held up comes behind it.
const SHORT_WINDOW_US: (u64, u64) = (500, 20_000);
/// Streams with such a window, in a thousandth.
const SHORT_PERMILLE: u32 = 400;

/// What is seen when a message comes again behind the window, and nothing came after it.
const CAME_AGAIN: &str = "message came again after the window";
/// What is seen when a message comes again within the window.
const RECOGNISED: &str = "message recognised by the stream";

/// The server, with a stream for each channel.
#[derive(Default)]
pub(crate) struct Server {
    events: Held,
    log: Held,
    pub(crate) is_down: bool,
}

/// What it holds of one stream.
#[derive(Default)]
pub(crate) struct Held {
    created: u64,
    first: u64,
    last: u64,
    messages: VecDeque<Stored>,
    ends: BTreeMap<Slot, u64>,
    keeps: usize,
    /// How long it keeps each, in µs; none where it keeps them by their count.
    keeps_us: Option<u64>,
    window_us: u64,
    /// What it acknowledged and lost.
    lost: BTreeSet<(Slot, Stamp)>,
    /// What it held when it was created anew, and was not told again.
    pub(crate) unfilled: BTreeSet<(Slot, Stamp)>,
    /// What it was ever told.
    told: BTreeSet<(Slot, Stamp)>,
}

/// A message that it holds.
struct Stored {
    at_us: u64,
    /// The number behind which it was appended: behind another one it counts as another message.
    behind: u64,
    numbered: Numbered,
}

/// What is asked of a stream.
#[derive(Clone)]
enum Ask {
    Append(Message, u64),
    EndOf(Slot),
    Page(u64, usize),
}

/// What it answers.
enum Answer {
    Appended(u64),
    End(SlotEnd),
    Page(Page),
}

type Heard = Result<Answer, StreamError>;

impl Server {
    pub(crate) fn of(&mut self, channel: Channel) -> &mut Held {
        match channel {
            Channel::Events => &mut self.events,
            Channel::Log => &mut self.log,
        }
    }
}

impl Held {
    fn state(&self) -> StreamState {
        StreamState {
            created: self.created,
            first: self.first,
            last: self.last,
            // Of how long that is, one that keeps messages by their count knows nothing.
            keeps_ms: self.keeps_us.map_or(0, |keeps_us| keeps_us / 1_000),
        }
    }

    /// Whether it was ever told of a commit.
    pub(crate) fn was_told(&self, slot: Slot, stamp: Stamp) -> bool {
        self.told.contains(&(slot, stamp))
    }

    fn newest(&self, slot: Slot) -> Option<&Numbered> {
        let seq = self.ends.get(&slot)?;
        self.at(*seq)
    }

    fn at(&self, seq: u64) -> Option<&Numbered> {
        let index = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        self.messages.get(index).map(|stored| &stored.numbered)
    }

    /// The number of a message that came within the window, to be appended behind the same number.
    fn recognised(&self, message: &Message, behind: u64, now_us: u64) -> Option<u64> {
        let recent = self
            .messages
            .iter()
            .rev()
            .take_while(|stored| now_us - stored.at_us <= self.window_us);
        let mut same = recent.filter(|stored| {
            let held = &stored.numbered.message;
            stored.behind == behind && (held.slot, held.stamp) == (message.slot, message.stamp)
        });
        same.next().map(|stored| stored.numbered.seq)
    }

    fn append(&mut self, message: Message, now_us: u64) -> u64 {
        self.last += 1;
        let seq = self.last;
        let behind = self.ends.insert(message.slot, seq).unwrap_or(0);
        let stored_ns = now_us * 1_000;
        self.told.insert((message.slot, message.stamp));
        let numbered = Numbered {
            seq,
            stored_ns,
            message,
        };
        self.messages.push_back(Stored {
            at_us: now_us,
            behind,
            numbered,
        });
        self.age(self.kept(now_us));
        seq
    }

    /// How many of the newest messages it keeps.
    fn kept(&self, now_us: u64) -> usize {
        let Some(keeps_us) = self.keeps_us else {
            return self.keeps;
        };
        let is_old = |stored: &Stored| now_us.saturating_sub(stored.at_us) > keeps_us;
        self.messages.len() - self.messages.partition_point(is_old)
    }

    /// Forgets all but the newest messages.
    pub(crate) fn age(&mut self, keep: usize) {
        while self.messages.len() > keep {
            let Some(Stored { numbered: aged, .. }) = self.messages.pop_front() else {
                break;
            };
            self.first = aged.seq + 1;
            if self.ends.get(&aged.message.slot) == Some(&aged.seq) {
                self.ends.remove(&aged.message.slot);
            }
        }
    }

    /// Forgets the last messages, and gives their numbers to others: how many.
    fn lose(&mut self, count: usize) -> usize {
        let kept = self.messages.len().saturating_sub(count);
        let lost = self.messages.split_off(kept);
        // Of what is lost while it is filled nobody can tell later whether it has aged.
        self.unfilled.clear();
        let messages = lost.iter().map(|lost| &lost.numbered.message);
        self.lost
            .extend(messages.map(|message| (message.slot, message.stamp)));
        self.last = self
            .messages
            .back()
            .map_or(self.first.saturating_sub(1), |stored| stored.numbered.seq);
        self.ends = self
            .messages
            .iter()
            .map(|stored| (stored.numbered.message.slot, stored.numbered.seq))
            .collect();
        lost.len()
    }
}

impl Shared {
    /// Sets the server up.
    pub(crate) fn make_streams(&mut self) {
        for channel in Channel::ALL {
            let held = self.made();
            *self.server.of(channel) = held;
        }
    }

    fn stream_chance(&mut self, permille: u32) -> bool {
        let chance = self.chance(Purpose::Stream, Place::STREAM);
        chance.permille(permille)
    }

    fn made(&mut self) -> Held {
        let keeps = self.draw_us(Purpose::Stream, Place::STREAM, KEEPS);
        let is_short = self.stream_chance(SHORT_PERMILLE);
        let window_us = if is_short { SHORT_WINDOW_US } else { WINDOW_US };
        let window_us = self.draw_us(Purpose::Stream, Place::STREAM, window_us);
        let is_by_age = self.stream_chance(BY_AGE_PERMILLE);
        let keeps_us = self.draw_us(Purpose::Stream, Place::STREAM, KEEPS_US);
        Held {
            created: 1,
            first: 1,
            keeps: usize::try_from(keeps).expect("a small number"),
            keeps_us: is_by_age.then_some(keeps_us),
            window_us,
            ..Held::default()
        }
    }

    /// The server crashes and has lost what it acknowledged last.
    pub(crate) fn lose_suffix(&mut self, messages: u64) {
        let messages = usize::try_from(messages).unwrap_or(usize::MAX);
        for channel in Channel::ALL {
            let lost = self.server.of(channel).lose(messages);
            self.line(Place::STREAM, "suffix lost", &lost.to_le_bytes());
        }
    }

    /// The streams are created anew, empty.
    pub(crate) fn recreate_streams(&mut self) {
        for channel in Channel::ALL {
            let held = self.server.of(channel);
            let messages = std::mem::take(&mut held.messages).into_iter();
            let held_before = messages.map(|stored| stored.numbered.message);
            // Which of it is too old by a relay's clock, that clock says.
            let held_before = held_before.filter(|_| held.keeps_us.is_none());
            held.unfilled
                .extend(held_before.map(|message| (message.slot, message.stamp)));
            *held = Held {
                created: held.created + 1,
                first: 1,
                last: 0,
                ends: BTreeMap::new(),
                ..std::mem::take(held)
            };
            let created = held.created;
            self.line(Place::STREAM, "created", &created.to_le_bytes());
        }
    }

    fn ask_stream(
        &mut self,
        place: Place,
        channel: Channel,
        ask: &Ask,
    ) -> oneshot::Receiver<Heard> {
        let (answer, receiver) = oneshot::channel();
        if self.server.is_down {
            let seen = vec!["stream without responders"];
            self.tell(place, 1_000, answer, Err(StreamError::NoResponders), seen);
            return receiver;
        }
        let out = Err(StreamError::Unavailable("no answer in time".into()));
        if let Some(lost) = self.word_lost(place, Place::STREAM) {
            self.tell(place, TIMEOUT_US, answer, out, vec![lost]);
            return receiver;
        }
        let doubles = self.noise.duplicate_permille;
        if self.chance_between(place, Place::STREAM).permille(doubles) {
            let (again, ask) = (self.latency_us(place, Place::STREAM), ask.clone());
            let act = Box::new(move |shared: &mut Self| {
                // Nobody hears what it answers the second time.
                let (_, seen) = shared.stream_does(channel, ask);
                if seen.contains(&RECOGNISED) {
                    shared
                        .effects
                        .saw("doubled message recognised by the stream");
                }
                if seen.contains(&CAME_AGAIN) {
                    shared.effects.saw(CAME_AGAIN);
                }
            });
            self.schedule(again, Due::Act(None, act));
        }
        let (latency_us, ask) = (self.latency_us(place, Place::STREAM), ask.clone());
        let act = Box::new(move |shared: &mut Self| {
            let (did, seen) = shared.stream_does(channel, ask);
            if let Some(lost) = shared.word_lost(Place::STREAM, place) {
                shared.tell(place, TIMEOUT_US, answer, out, vec![lost]);
            } else {
                let latency_us = shared.latency_us(Place::STREAM, place);
                shared.tell(place, latency_us, answer, did, seen);
            }
        });
        self.schedule(latency_us, Due::Act(None, act));
        receiver
    }

    /// Lets a place hear something after a while; `seen` once it is heard.
    fn tell(
        &mut self,
        place: Place,
        after_us: u64,
        to: oneshot::Sender<Heard>,
        what: Heard,
        seen: Vec<&'static str>,
    ) {
        let run = self.run_of(place).unwrap_or(0);
        let act = Box::new(move |shared: &mut Self| {
            if to.send(what).is_ok() {
                seen.iter().for_each(|effect| shared.effects.saw(effect));
            }
        });
        self.schedule(after_us, Due::Act(Some((place, run)), act));
    }

    /// What is seen if a word to or from the stream is lost that leaves now.
    fn word_lost(&mut self, from: Place, to: Place) -> Option<&'static str> {
        let is_to_stream = to == Place::STREAM;
        match self.net.cutter(from, to) {
            Some(Cutter::StreamOneWay) if is_to_stream => Some("word to the stream lost"),
            Some(Cutter::StreamOneWay) => Some("word from the stream lost"),
            Some(_) => Some("word to or from the stream cut off with its node"),
            None => {
                let drops = self.noise.drop_permille;
                let is_dropped = self.chance_between(from, to).permille(drops);
                is_dropped.then_some("word to or from the stream dropped")
            }
        }
    }

    /// What it answers, and what that brings about once it is heard.
    fn stream_does(&mut self, channel: Channel, ask: Ask) -> (Heard, Vec<&'static str>) {
        let held = self.server.of(channel);
        match ask {
            Ask::Append(message, expected) => self.stream_appends(channel, message, expected),
            Ask::EndOf(slot) => {
                let last = held.newest(slot).cloned();
                let end = SlotEnd {
                    stream: held.state(),
                    seq: last.as_ref().map_or(0, |last| last.seq),
                    last,
                };
                (Ok(Answer::End(end)), Vec::new())
            }
            Ask::Page(from, limit) => {
                let stream = held.state();
                let messages = (from.max(held.first)..=held.last)
                    .take(limit)
                    .filter_map(|seq| held.at(seq).cloned())
                    .collect();
                let (messages, seen) = self.mixed_up(messages);
                let page = Page {
                    stream,
                    messages,
                    holes: Vec::new(),
                };
                (Ok(Answer::Page(page)), seen)
            }
        }
    }

    fn stream_appends(
        &mut self,
        channel: Channel,
        message: Message,
        expected: u64,
    ) -> (Heard, Vec<&'static str>) {
        let now_us = self.now_us;
        let mut detail = message.stamp.to_bytes().to_vec();
        let held = self.server.of(channel);
        if let Some(seq) = held.recognised(&message, expected, now_us) {
            self.line(Place::STREAM, "recognised", &detail);
            return (Ok(Answer::Appended(seq)), vec![RECOGNISED]);
        }
        let newest = held.newest(message.slot);
        if newest.map_or(0, |newest| newest.seq) != expected {
            let mut seen = vec!["append where the stream does not end"];
            if newest.is_some_and(|newest| newest.message.stamp == message.stamp) {
                seen.push(CAME_AGAIN);
            }
            if newest.is_none() && held.created > 1 {
                seen.push("append to a stream that was created anew");
            }
            self.line(Place::STREAM, "not appended", &detail);
            return (Err(StreamError::Unexpected), seen);
        }
        let was_lost = held.lost.remove(&(message.slot, message.stamp));
        let is_filled = held.unfilled.remove(&(message.slot, message.stamp));
        let seq = held.append(message, now_us);
        detail.extend_from_slice(&seq.to_le_bytes());
        self.line(Place::STREAM, "appended", &detail);
        let lost = was_lost.then_some("message of a lost suffix told again");
        let filled = is_filled.then_some("message told again to a stream that was created anew");
        let seen = lost.into_iter().chain(filled);
        (Ok(Answer::Appended(seq)), seen.collect())
    }

    /// Leaves messages out, doubles and mixes them; the first one stays, since readers know the
    /// stream by it.
    fn mixed_up(&mut self, messages: Vec<Numbered>) -> (Vec<Numbered>, Vec<&'static str>) {
        let (drop, double) = (self.noise.drop_permille, self.noise.duplicate_permille);
        let mixes = self.noise.delay_us_max > 0 || self.noise.reorder_permille > 0;
        let mut seen = Vec::new();
        let mut mixed: Vec<Numbered> = Vec::new();
        for (index, message) in messages.into_iter().enumerate() {
            if index > 0 && self.chance(Purpose::Page, Place::STREAM).permille(drop) {
                seen.push("message left out");
                continue;
            }
            if self.chance(Purpose::Page, Place::STREAM).permille(double) {
                mixed.push(message.clone());
            }
            mixed.push(message);
        }
        if mixes && mixed.len() > 2 {
            for index in (2..mixed.len()).rev() {
                let other = self.chance(Purpose::Page, Place::STREAM).index(index) + 1;
                mixed.swap(index, other);
            }
            if !mixed.is_sorted_by_key(|numbered| numbered.seq) {
                seen.push("messages out of order");
            }
        }
        (mixed, seen)
    }
}

#[cfg(test)]
mod tests;
