//! One conformance suite for every [`EventStream`].
//!
//! A stream instantiates it in its tests with
//! [`stream_conformance_suite!`](crate::stream_conformance_suite). Must not know any of them.

use std::sync::Arc;

use sillok_core::id::Seq;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;

use crate::follower::{Follower, Look};
use crate::message::Message;
use crate::stream::{BoxFuture, EventStream, PLACES_PER_MESSAGE, Page, StreamError};

/// A stream of its own for one test, with what can happen to it.
pub trait Bed: Send + Sync {
    /// The stream.
    fn stream(&self) -> Arc<dyn EventStream>;
    /// The stream of the other channel, beside it.
    fn beside(&self) -> Arc<dyn EventStream>;
    /// Creates the stream anew, empty.
    fn recreate(&self) -> BoxFuture<'_, ()>;
    /// Lets all but the newest `keep` messages age.
    fn age(&self, keep: u64) -> BoxFuture<'_, ()>;
    /// Has somebody who is no node write where a slot's messages lie: whether anybody can.
    fn scribble(&self, slot: Slot) -> BoxFuture<'_, bool>;
}

/// Makes a module `$name` with one test per case. `$factory` is an expression that is awaited for
/// each test and gives a [`Bed`].
#[macro_export]
macro_rules! stream_conformance_suite {
    ($name:ident, $factory:expr) => {
        $crate::stream_conformance_suite!(@cases $name, $factory,
            a_slot_that_was_never_told_has_no_end,
            messages_get_rising_numbers_and_are_read_back_whole,
            slots_end_apart,
            an_append_where_a_slot_does_not_end_writes_nothing,
            a_message_that_comes_again_is_not_appended_again,
            pages_begin_where_they_are_asked_to_and_have_limits,
            behind_the_end_there_is_an_empty_page,
            a_stream_that_is_created_anew_says_so,
            aged_messages_are_gone_and_the_numbers_go_on,
            what_no_node_wrote_is_a_hole,
            what_was_told_before_is_told_again_behind_what_no_node_wrote,
            what_was_told_first_is_told_again_after_all_has_aged,
            what_no_node_wrote_makes_no_page_longer,
            appends_to_one_slot_from_two_sides_lose_nothing,
            channels_are_apart,
        );
    };
    (@cases $name:ident, $factory:expr, $($case:ident),+ $(,)?) => {
        #[cfg(test)]
        mod $name {
            use super::*;

            $(
                #[tokio::test]
                async fn $case() {
                    let bed = $factory.await;
                    $crate::conformance::$case(&bed).await;
                }
            )+
        }
    };
}

fn stamp(counter: u64) -> Stamp {
    Stamp {
        generation: 1,
        counter,
        index: 0,
    }
}

fn slot(number: u16) -> Slot {
    Slot::new(number).expect("there are that many slots")
}

fn message(slot: Slot, counter: u64, previous: u64) -> Message {
    Message {
        slot,
        stamp: stamp(counter),
        previous: if previous == 0 {
            Stamp::ZERO
        } else {
            stamp(previous)
        },
        scope: Scope::parse("org/acme/project/api").expect("a scope"),
        first: Seq::new(counter),
        last: Seq::new(counter + 1),
    }
}

/// Appends messages to a slot, one behind the other: the number of the last one.
async fn tell(stream: &dyn EventStream, to: Slot, counters: core::ops::Range<u64>) -> u64 {
    let end = stream.end_of(to).await.expect("it answers");
    let mut seq = end.seq;
    let mut previous = end.last.map_or(0, |last| last.message.stamp.counter);
    for counter in counters {
        let told = stream.append(message(to, counter, previous), seq).await;
        seq = told.expect("it is appended");
        previous = counter;
    }
    seq
}

fn counters(page: &Page) -> Vec<u64> {
    let messages = page.messages.iter();
    messages
        .map(|numbered| numbered.message.stamp.counter)
        .collect()
}

/// # Panics
/// If the stream is not as it should be; so do all cases.
pub async fn a_slot_that_was_never_told_has_no_end(bed: &impl Bed) {
    let stream = bed.stream();
    assert!(!stream.name().is_empty());
    let end = stream.end_of(slot(1)).await.expect("it answers");
    assert_eq!((end.seq, end.last), (0, None));
    assert_eq!(end.stream.last, 0);
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!((page.messages, page.holes), (vec![], vec![]));
    assert_eq!(page.stream, end.stream);
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn messages_get_rising_numbers_and_are_read_back_whole(bed: &impl Bed) {
    let stream = bed.stream();
    let (one, two) = (slot(1), slot(2));
    let told = [message(one, 5, 0), message(two, 6, 0), message(one, 9, 5)];
    let mut numbers = Vec::new();
    for (message, expected) in told.iter().zip([0, 0, 1]) {
        let number = stream.append(message.clone(), expected).await;
        numbers.push(number.expect("it is appended"));
    }
    assert_eq!(numbers, [1, 2, 3]);
    let page = stream.page(0, 10).await.expect("it answers");
    let messages: Vec<Message> = page
        .messages
        .iter()
        .map(|held| held.message.clone())
        .collect();
    assert_eq!(messages, told);
    let again = stream.page(1, 10).await.expect("it answers");
    assert_eq!(again, page, "and so are the times of storing");
    assert!(page.messages.is_sorted_by_key(|held| held.stored_ns));
    assert_eq!((page.stream.first, page.stream.last), (1, 3));
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn slots_end_apart(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..4).await;
    tell(&*stream, slot(4_095), 7..9).await;
    tell(&*stream, slot(1), 9..10).await;
    for (of, seq, counter) in [(1, 6, 9), (4_095, 5, 8)] {
        let end = stream.end_of(slot(of)).await.expect("it answers");
        let last = end.last.expect("it was told");
        assert_eq!(
            (end.seq, last.seq, last.message.stamp),
            (seq, seq, stamp(counter))
        );
        let page = stream.page(seq, 1).await.expect("it answers");
        assert_eq!(page.messages, [last]);
    }
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn an_append_where_a_slot_does_not_end_writes_nothing(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..3).await;
    for expected in [0, 1, 3, 77] {
        let refused = stream.append(message(slot(1), 9, 2), expected).await;
        assert_eq!(refused, Err(StreamError::Unexpected), "{expected}");
    }
    let refused = stream.append(message(slot(2), 9, 0), 2).await;
    assert_eq!(
        refused,
        Err(StreamError::Unexpected),
        "that is another slot's end"
    );
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!(counters(&page), [1, 2]);
    assert_eq!(stream.append(message(slot(1), 9, 2), 2).await, Ok(3));
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn a_message_that_comes_again_is_not_appended_again(bed: &impl Bed) {
    let stream = bed.stream();
    let told = message(slot(1), 4, 0);
    assert_eq!(stream.append(told.clone(), 0).await, Ok(1));
    // Its answer was lost: the writer believes that the slot ends where it did.
    assert_eq!(stream.append(told.clone(), 0).await, Ok(1));
    assert_eq!(stream.append(told, 7).await, Err(StreamError::Unexpected));
    // The same commit of another slot is another message.
    assert_eq!(stream.append(message(slot(2), 4, 0), 0).await, Ok(2));
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!(counters(&page), [4, 4]);
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn pages_begin_where_they_are_asked_to_and_have_limits(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..100).await;
    for (from, limit, expected) in [
        (0, 3, vec![1, 2, 3]),
        (1, 3, vec![1, 2, 3]),
        (40, 2, vec![40, 41]),
        (98, 64, vec![98, 99]),
        (99, 1, vec![99]),
    ] {
        let page = stream.page(from, limit).await.expect("it answers");
        assert_eq!(counters(&page), expected, "from {from}");
        assert_eq!((page.stream.first, page.stream.last), (1, 99));
    }
    let whole = stream.page(0, 1_000).await.expect("it answers");
    assert_eq!(counters(&whole), (1..100).collect::<Vec<_>>());
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn behind_the_end_there_is_an_empty_page(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..4).await;
    for from in [4, 5, 1_000_000] {
        let page = stream.page(from, 10).await.expect("it answers");
        assert_eq!((page.messages, page.holes), (vec![], vec![]));
        assert_eq!(page.stream.last, 3);
    }
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn a_stream_that_is_created_anew_says_so(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..4).await;
    let before = stream.end_of(slot(1)).await.expect("it answers").stream;
    bed.recreate().await;
    let end = stream.end_of(slot(1)).await.expect("it answers");
    assert_ne!(end.stream.created, before.created);
    assert_eq!((end.seq, end.last, end.stream.last), (0, None, 0));
    assert_eq!(
        stream.append(message(slot(1), 2, 1), 3).await,
        Err(StreamError::Unexpected)
    );
    assert_eq!(stream.append(message(slot(1), 2, 1), 0).await, Ok(1));
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn aged_messages_are_gone_and_the_numbers_go_on(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..4).await;
    tell(&*stream, slot(2), 7..10).await;
    bed.age(2).await;
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!(counters(&page), [8, 9]);
    assert_eq!((page.stream.first, page.stream.last), (5, 6));
    let end = stream.end_of(slot(1)).await.expect("it answers");
    assert_eq!((end.seq, end.last), (0, None));
    assert_eq!(stream.append(message(slot(1), 4, 3), 0).await, Ok(7));
    bed.age(0).await;
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!(page.messages, []);
    assert_eq!((page.stream.first, page.stream.last), (8, 7));
    assert_eq!(stream.append(message(slot(1), 5, 4), 0).await, Ok(8));
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn what_no_node_wrote_is_a_hole(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..3).await;
    if !bed.scribble(slot(1)).await {
        return;
    }
    let end = stream.end_of(slot(1)).await.expect("it answers");
    assert_eq!((end.seq, end.last), (3, None));
    assert_eq!(
        stream.append(message(slot(1), 3, 2), 2).await,
        Err(StreamError::Unexpected)
    );
    assert_eq!(stream.append(message(slot(1), 3, 2), 3).await, Ok(4));
    // What is no message takes no message's place.
    let page = stream.page(2, 2).await.expect("it answers");
    assert_eq!(counters(&page), [2, 3]);
    assert_eq!(page.holes.len(), 1);
    let hole = page.holes[0];
    assert_eq!((hole.first, hole.last), (3, 3));
    assert!(hole.stored_ns.is_some());
    assert_eq!(
        stream.page(3, 2).await.expect("it answers").holes,
        page.holes
    );
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn what_was_told_before_is_told_again_behind_what_no_node_wrote(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..3).await;
    if !bed.scribble(slot(1)).await {
        return;
    }
    assert_eq!(stream.append(message(slot(1), 2, 1), 3).await, Ok(4));
    assert_eq!(stream.append(message(slot(1), 3, 2), 4).await, Ok(5));
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!(counters(&page), [1, 2, 2, 3]);
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn what_was_told_first_is_told_again_after_all_has_aged(bed: &impl Bed) {
    let stream = bed.stream();
    assert_eq!(stream.append(message(slot(1), 1, 0), 0).await, Ok(1));
    bed.age(0).await;
    assert_eq!(stream.append(message(slot(1), 1, 0), 0).await, Ok(2));
    assert_eq!(stream.append(message(slot(1), 2, 1), 2).await, Ok(3));
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!(counters(&page), [1, 2]);
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn what_no_node_wrote_makes_no_page_longer(bed: &impl Bed) {
    let stream = bed.stream();
    tell(&*stream, slot(1), 1..3).await;
    for _ in 0..50 {
        if !bed.scribble(slot(2)).await {
            return;
        }
    }
    tell(&*stream, slot(1), 3..4).await;
    let mut follower = Follower::default();
    let mut heard = Vec::new();
    // Each page begins with the last place of the one before it.
    for _ in 0..52_usize.div_ceil(4 * PLACES_PER_MESSAGE - 1) {
        let page = stream.page(follower.from(), 4).await.expect("it answers");
        assert!(page.messages.len() <= 4, "{page:?}");
        assert!(page.messages.len() + page.holes.len() <= 4 * PLACES_PER_MESSAGE);
        assert_eq!(follower.look(&page), Look::Follows);
        heard.extend(counters(&page));
        follower.read(&page);
    }
    assert_eq!((heard, follower.from()), (vec![1, 2, 3], 53), "all of it");
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn appends_to_one_slot_from_two_sides_lose_nothing(bed: &impl Bed) {
    let side = |counters: core::ops::Range<u64>| {
        let stream = bed.stream();
        async move {
            for counter in counters {
                loop {
                    let end = stream.end_of(slot(1)).await.expect("it answers");
                    let previous = end.last.map_or(0, |last| last.message.stamp.counter);
                    match stream
                        .append(message(slot(1), counter, previous), end.seq)
                        .await
                    {
                        Ok(_) => break,
                        Err(error) => assert_eq!(error, StreamError::Unexpected),
                    }
                }
            }
        }
    };
    futures::join!(side(1..20), side(100..120));
    let page = bed.stream().page(0, 100).await.expect("it answers");
    let told = counters(&page);
    assert_eq!(told.len(), 39);
    for side in [1..20, 100..120] {
        let of_side: Vec<u64> = told
            .iter()
            .copied()
            .filter(|at| side.contains(at))
            .collect();
        assert_eq!(of_side, side.collect::<Vec<_>>(), "in its own order");
    }
    let chain: Vec<u64> = page
        .messages
        .iter()
        .map(|held| held.message.previous.counter)
        .collect();
    assert_eq!(
        chain[1..],
        told[..told.len() - 1],
        "each behind the one before it"
    );
}

/// See [`a_slot_that_was_never_told_has_no_end`].
pub async fn channels_are_apart(bed: &impl Bed) {
    let (stream, beside) = (bed.stream(), bed.beside());
    assert_ne!(stream.name(), beside.name());
    tell(&*stream, slot(1), 1..4).await;
    assert_eq!(beside.end_of(slot(1)).await.expect("it answers").seq, 0);
    // The same commit may be told on both, each behind what lies there.
    tell(&*beside, slot(1), 3..6).await;
    tell(&*stream, slot(1), 4..5).await;
    let of = |page: Page| (counters(&page), page.stream.first, page.stream.last);
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!(of(page), (vec![1, 2, 3, 4], 1, 4));
    bed.age(1).await;
    let page = beside.page(0, 10).await.expect("it answers");
    assert_eq!(of(page), (vec![3, 4, 5], 1, 3), "it ages by itself");
    let page = stream.page(0, 10).await.expect("it answers");
    assert_eq!(of(page), (vec![4], 4, 4));
}
