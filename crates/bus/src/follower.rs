//! A follower's memory: what it has heard of each slot, and how far it has read a stream.
//!
//! Owns the judgement of what a stream shows: a repeat, the next message, one with a gap before it;
//! a stream that is another one, or that has forgotten what was not heard. It reads nothing: whoever
//! follows asks the stream, and the store for what the stream lacks.

use std::collections::BTreeMap;

use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

use crate::message::Message;
use crate::stream::{Hole, Numbered, Page};

/// What a page says of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It goes on where the follower left off.
    Follows,
    /// It is another stream, or it lost what the follower has read: it is read from its beginning.
    Restarts,
    /// It no longer holds what the follower has not read: the store is read for all slots.
    AgedOut,
}

/// What a message is to a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It was heard before.
    Repeat,
    /// It is the next one of its slot.
    Next,
    /// Between what was heard and this one lie others: the store has them, behind this stamp.
    Gap(Stamp),
}

/// How far a stream was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Floor {
    created: u64,
    seq: u64,
    /// What has that number; none when it had aged before it was read.
    read: Option<Identity>,
}

/// What tells one storing from every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    stored_ns: u64,
    /// The message; none where somebody wrote who is no node.
    message: Option<(Slot, Stamp)>,
}

impl Identity {
    const fn of(numbered: &Numbered) -> Self {
        Self {
            stored_ns: numbered.stored_ns,
            message: Some((numbered.message.slot, numbered.message.stamp)),
        }
    }

    /// Nothing shows of numbers where nothing lies that they are still the same ones.
    fn of_hole(hole: &Hole) -> Option<Self> {
        let stored_ns = hole.stored_ns?;
        Some(Self {
            stored_ns,
            message: None,
        })
    }
}

/// The memory of one follower.
#[derive(Clone, Debug, Default)]
pub struct Follower {
    heard: BTreeMap<Slot, Stamp>,
    floor: Option<Floor>,
}

impl Follower {
    /// From which number on the stream is to be read. What lies there is the last that was read, so that
    /// it shows whether the stream is still the one that it was.
    #[must_use]
    pub fn from(&self) -> u64 {
        self.floor.map_or(0, |floor| floor.seq)
    }

    /// The last message of a slot that was heard.
    #[must_use]
    pub fn heard_of(&self, slot: Slot) -> Stamp {
        self.heard.get(&slot).copied().unwrap_or(Stamp::ZERO)
    }

    /// What a page from [`from`](Self::from) on says of the stream.
    #[must_use]
    pub fn look(&self, page: &Page) -> Look {
        let stream = &page.stream;
        let Some(floor) = self.floor else {
            return if stream.first > 1 {
                Look::AgedOut
            } else {
                Look::Follows
            };
        };
        if stream.created != floor.created || stream.last < floor.seq {
            return Look::Restarts;
        }
        let Some(read) = floor.read else {
            return if stream.first > floor.seq + 1 {
                Look::AgedOut
            } else {
                Look::Follows
            };
        };
        if stream.first > floor.seq {
            return Look::AgedOut;
        }
        let is_floor =
            |numbered: &Numbered| numbered.seq == floor.seq && Identity::of(numbered) == read;
        let is_foreign_floor =
            |hole: &Hole| hole.first == floor.seq && Identity::of_hole(hole) == Some(read);
        if page.messages.iter().any(is_floor) || page.holes.iter().any(is_foreign_floor) {
            Look::Follows
        } else {
            Look::Restarts
        }
    }

    /// What a message is.
    #[must_use]
    pub fn judge(&self, message: &Message) -> Judged {
        let heard = self.heard_of(message.slot);
        if message.stamp <= heard {
            Judged::Repeat
        } else if message.previous <= heard {
            Judged::Next
        } else {
            Judged::Gap(heard)
        }
    }

    /// Everything of a slot up to a stamp was heard.
    pub fn hear(&mut self, slot: Slot, through: Stamp) {
        let heard = self.heard.entry(slot).or_default();
        *heard = (*heard).max(through);
    }

    /// All messages of a page were heard, and what had aged before it was read in the store: the
    /// next page begins behind those that come one after another.
    pub fn read(&mut self, page: &Page) {
        let first = page.stream.first.max(1);
        if first > self.from() {
            self.floor = Some(Floor {
                created: page.stream.created,
                seq: first - 1,
                read: None,
            });
        }
        let created = page.stream.created;
        let mut next = self.from().max(first);
        let places = Places::of(page);
        while let Some((last, read)) = places.at(next) {
            if read.is_some() {
                self.floor = Some(Floor {
                    created,
                    seq: last,
                    read,
                });
            }
            next = last + 1;
        }
    }

    /// Forgets how far the stream was read, and nothing of what was heard.
    pub fn restart(&mut self) {
        self.floor = None;
    }
}

/// What a page shows, by number.
struct Places {
    messages: BTreeMap<u64, Identity>,
    holes: BTreeMap<u64, Hole>,
}

impl Places {
    fn of(page: &Page) -> Self {
        let messages = page.messages.iter();
        let holes = page.holes.iter();
        Self {
            messages: messages
                .map(|held| (held.seq, Identity::of(held)))
                .collect(),
            holes: holes.map(|hole| (hole.first, *hole)).collect(),
        }
    }

    /// The last number of the place that a number lies in, and what shows that it is still the same.
    fn at(&self, seq: u64) -> Option<(u64, Option<Identity>)> {
        if let Some(identity) = self.messages.get(&seq) {
            return Some((seq, Some(*identity)));
        }
        let (_, hole) = self.holes.range(..=seq).next_back()?;
        (hole.last >= seq).then(|| (hole.last, Identity::of_hole(hole)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sillok_core::id::Seq;
    use sillok_core::scope::Scope;

    use super::*;
    use crate::stream::StreamState;

    fn stamp(counter: u64) -> Stamp {
        Stamp {
            generation: 1,
            counter,
            index: 0,
        }
    }

    fn message(slot: u16, counter: u64, previous: u64) -> Message {
        Message {
            slot: Slot::new(slot).unwrap(),
            stamp: stamp(counter),
            previous: if previous == 0 {
                Stamp::ZERO
            } else {
                stamp(previous)
            },
            scope: Scope::parse("org/a").unwrap(),
            first: Seq::new(counter),
            last: Seq::new(counter),
        }
    }

    /// Each message was stored at the time that its number says.
    fn page(first: u64, last: u64, messages: Vec<(u64, Message)>) -> Page {
        Page {
            stream: StreamState {
                created: 1,
                first,
                last,
                keeps_ms: 0,
            },
            messages: messages
                .into_iter()
                .map(|(seq, message)| Numbered {
                    seq,
                    stored_ns: seq,
                    message,
                })
                .collect(),
            holes: Vec::new(),
        }
    }

    #[test]
    fn repeats_gaps_and_the_next_one_are_told_apart() {
        let mut follower = Follower::default();
        let slot = Slot::new(1).unwrap();
        assert_eq!(follower.judge(&message(1, 5, 0)), Judged::Next);
        assert_eq!(follower.judge(&message(1, 5, 3)), Judged::Gap(Stamp::ZERO));
        follower.hear(slot, stamp(5));
        assert_eq!(follower.judge(&message(1, 5, 3)), Judged::Repeat);
        assert_eq!(follower.judge(&message(1, 9, 5)), Judged::Next);
        assert_eq!(follower.judge(&message(1, 9, 7)), Judged::Gap(stamp(5)));
        // What the store showed beyond the message before it does no harm.
        follower.hear(slot, stamp(8));
        assert_eq!(follower.judge(&message(1, 9, 7)), Judged::Next);
    }

    #[test]
    fn a_stream_that_is_not_what_it_was_is_read_anew() {
        let mut follower = Follower::default();
        let read = page(1, 2, vec![(1, message(1, 5, 0)), (2, message(2, 6, 0))]);
        assert_eq!(follower.look(&read), Look::Follows);
        follower.read(&read);
        assert_eq!(follower.from(), 2);
        let same = page(1, 3, vec![(2, message(2, 6, 0)), (3, message(1, 8, 5))]);
        assert_eq!(follower.look(&same), Look::Follows);
        // The suffix was lost, and its numbers were given to others.
        let other = page(1, 3, vec![(2, message(3, 7, 0)), (3, message(2, 6, 0))]);
        assert_eq!(follower.look(&other), Look::Restarts);
        assert_eq!(follower.look(&page(1, 1, vec![])), Look::Restarts);
        let mut created = same.clone();
        created.stream.created = 2;
        assert_eq!(follower.look(&created), Look::Restarts);
        assert_eq!(
            follower.look(&page(3, 3, vec![(3, message(1, 8, 5))])),
            Look::AgedOut
        );
        // Another message was told in the meantime, and this one anew, under its old number.
        let mut anew = same;
        anew.messages[0].stored_ns = 77;
        assert_eq!(follower.look(&anew), Look::Restarts);
        follower.restart();
        assert_eq!(follower.from(), 0);
        assert_eq!(follower.look(&page(4, 9, vec![])), Look::AgedOut);
    }

    #[test]
    fn the_last_message_that_was_read_may_be_the_oldest_that_is_held() {
        let mut follower = Follower::default();
        follower.read(&page(
            1,
            2,
            vec![(1, message(1, 5, 0)), (2, message(2, 6, 0))],
        ));
        let oldest = page(2, 2, vec![(2, message(2, 6, 0))]);
        assert_eq!(follower.look(&oldest), Look::Follows);
        // A page that lacks it takes nothing back.
        follower.read(&page(2, 2, vec![]));
        assert_eq!(follower.from(), 2);
        assert_eq!(follower.look(&oldest), Look::Follows);
        let mut anew = oldest;
        anew.messages[0].stored_ns = 77;
        assert_eq!(follower.look(&anew), Look::Restarts);
    }

    /// Nothing shows of a number where nothing lies that the stream is still the one that was read, so
    /// the floor never stays on one. What no node wrote shows it by the time of its storing.
    #[test]
    fn what_is_no_message_is_passed() {
        let hole = |first, last, stored_ns| Hole {
            first,
            last,
            stored_ns,
        };
        let mut follower = Follower::default();
        let mut read = page(1, 9, vec![(2, message(1, 5, 0)), (5, message(1, 6, 5))]);
        follower.read(&read);
        assert_eq!(follower.from(), 0);
        read.holes = vec![hole(1, 1, Some(1)), hole(3, 4, None), hole(6, 8, None)];
        follower.read(&read);
        assert_eq!(follower.from(), 5);
        read.holes.push(hole(9, 9, Some(9)));
        follower.read(&read);
        assert_eq!(follower.from(), 9);
        let mut foreign = page(1, 9, vec![]);
        foreign.holes = vec![hole(9, 9, Some(9))];
        assert_eq!(follower.look(&foreign), Look::Follows);
        // It was lost, and somebody wrote there again.
        foreign.holes = vec![hole(9, 9, Some(10))];
        assert_eq!(follower.look(&foreign), Look::Restarts);
        foreign.holes = vec![hole(9, 9, None)];
        assert_eq!(follower.look(&foreign), Look::Restarts);
        let genuine = page(1, 9, vec![(9, message(1, 7, 6))]);
        assert_eq!(follower.look(&genuine), Look::Restarts);
    }

    #[test]
    fn what_has_aged_is_looked_for_in_the_store_once() {
        let mut follower = Follower::default();
        let empty = page(5, 4, vec![]);
        assert_eq!(follower.look(&empty), Look::AgedOut);
        follower.read(&empty);
        assert_eq!(follower.from(), 4);
        assert_eq!(follower.look(&empty), Look::Follows);
        let more = page(5, 5, vec![(5, message(1, 5, 0))]);
        assert_eq!(follower.look(&more), Look::Follows);
        follower.read(&more);
        assert_eq!(follower.from(), 5);
        let aged = page(6, 5, vec![]);
        assert_eq!(follower.look(&aged), Look::AgedOut);
        follower.read(&aged);
        assert_eq!(follower.look(&aged), Look::Follows);
        assert_eq!(follower.look(&page(7, 7, vec![])), Look::AgedOut);
        // It lost what nobody had read, and something besides.
        assert_eq!(follower.look(&page(3, 4, vec![])), Look::Restarts);
    }

    proptest! {
        /// However a page is shuffled, cut and repeated, the floor stops before the first hole.
        #[test]
        fn the_floor_never_passes_a_hole(
            seqs in proptest::collection::vec(1_u64..12, 0..24),
        ) {
            let mut follower = Follower::default();
            let messages = seqs.iter().map(|seq| (*seq, message(1, *seq, seq - 1)));
            follower.read(&page(1, 11, messages.collect()));
            let hole = (1..13).find(|seq| !seqs.contains(seq)).unwrap();
            prop_assert_eq!(follower.from(), hole - 1);
        }
    }
}
