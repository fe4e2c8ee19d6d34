//! The port of the simulated streams: what a node, or the listener, is given.
//!
//! Owns the asking from one place. What is answered, and when, is the server's and the network's.

use std::sync::Arc;

use sillok_bus::stream::{BoxFuture, EventStream, Page, SlotEnd, StreamError};
use sillok_bus::subject::stream_of;
use sillok_bus::{Message, Streams};
use sillok_core::channel::Channel;
use sillok_core::slot::Slot;

use super::{Answer, Ask, Heard};
use crate::heap::{Place, Shared, Sim};

/// A channel's stream as a place reaches it.
struct SimStream {
    sim: Sim,
    place: Place,
    channel: Channel,
}

/// The streams as a place reaches them.
pub(crate) fn streams(sim: &Sim, place: Place) -> Streams {
    Streams::new(|channel| {
        Arc::new(SimStream {
            sim: sim.clone(),
            place,
            channel,
        })
    })
}

impl SimStream {
    async fn ask(&self, ask: Ask) -> Heard {
        let (place, channel) = (self.place, self.channel);
        let is_append = matches!(ask, Ask::Append(..));
        let asks = move |shared: &mut Shared| shared.ask_stream(place, channel, &ask);
        let answer = if is_append {
            self.sim.leaves(place, asks).await.ok_or_else(gone)?
        } else {
            // Of a question that goes out nothing is left.
            asks(&mut self.sim.lock())
        };
        answer.await.map_err(|_| gone())?
    }
}

fn gone() -> StreamError {
    StreamError::Unavailable("the world is over".into())
}

/// Whatever was asked, an answer of its kind comes.
fn mixed_up_answer() -> StreamError {
    StreamError::Unavailable("an answer to something else".into())
}

impl EventStream for SimStream {
    fn name(&self) -> &str {
        stream_of(self.channel)
    }

    fn append(&self, message: Message, expected: u64) -> BoxFuture<'_, Result<u64, StreamError>> {
        Box::pin(async move {
            match self.ask(Ask::Append(message, expected)).await? {
                Answer::Appended(seq) => Ok(seq),
                _ => Err(mixed_up_answer()),
            }
        })
    }

    fn end_of(&self, slot: Slot) -> BoxFuture<'_, Result<SlotEnd, StreamError>> {
        Box::pin(async move {
            match self.ask(Ask::EndOf(slot)).await? {
                Answer::End(end) => Ok(end),
                _ => Err(mixed_up_answer()),
            }
        })
    }

    fn page(&self, from: u64, limit: usize) -> BoxFuture<'_, Result<Page, StreamError>> {
        Box::pin(async move {
            match self.ask(Ask::Page(from, limit)).await? {
                Answer::Page(page) => Ok(page),
                _ => Err(mixed_up_answer()),
            }
        })
    }
}
