//! The streams of events and of log records in JetStream.
//!
//! Owns the mapping of [`EventStream`] to subjects, headers and requests. Readers ask by number, so that
//! where they are is known to them alone: a server that loses its memory of a consumer loses nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State as Connection;
use async_nats::jetstream::context::{ContextBuilder, GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, Info, RawMessageError, RawMessageErrorKind, RetentionPolicy,
    StorageType, Stream,
};
use async_nats::jetstream::{Context, ErrorCode};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use parking_lot::Mutex;
use sillok_bus::stream::{
    BoxFuture, Hole, Numbered, PLACES_PER_MESSAGE, Page, SlotEnd, StreamError, StreamState,
};
use sillok_bus::subject;
use sillok_bus::wire::{ClusterKey, open_message, seal_message};
use sillok_bus::{EventStream, Message};
use sillok_core::channel::Channel;
use sillok_core::slot::Slot;

use crate::config::NatsConfig;
use crate::counts::{Counts, What};

mod known;

use known::Known;

/// Messages that are asked for at once.
const ASKED_AT_ONCE: usize = 32;

/// A channel's stream, as one node reaches it.
#[derive(Clone, Debug)]
pub struct NatsStream {
    channel: Channel,
    client: Client,
    context: Context,
    config: Config,
    key: ClusterKey,
    /// Whether the stream was given what the configuration says, or refused it.
    is_configured: Arc<AtomicBool>,
    counts: Counts,
    /// The foreign messages that were counted.
    known: Arc<Mutex<Known>>,
}

/// What lies at a number.
enum Place {
    Message(Numbered),
    /// What no node wrote, by the time of its storing.
    Foreign(u64),
    Nothing,
}

impl NatsStream {
    /// A channel's stream of a cluster. Nothing is asked yet: it is made when it is first used and is not
    /// there.
    #[must_use]
    pub fn new(client: Client, config: &NatsConfig, key: ClusterKey, channel: Channel) -> Self {
        let timeout = Duration::from_millis(config.stream_timeout_ms);
        let context = ContextBuilder::new()
            .timeout(timeout)
            .ack_timeout(timeout)
            .build(client.clone());
        Self {
            channel,
            client,
            context,
            config: stream_config(config, channel),
            key,
            is_configured: Arc::default(),
            counts: Counts::default(),
            known: Arc::default(),
        }
    }

    /// The same, counting what no node wrote in `counts`.
    #[must_use]
    pub fn counting(self, counts: Counts) -> Self {
        Self { counts, ..self }
    }

    /// The stream with what it says of itself; it is made if it is not there.
    pub(crate) async fn look(&self) -> Result<(Stream, StreamState), StreamError> {
        self.check_connection()?;
        let found = match self.context.get_stream(&self.config.name).await {
            Err(error) if is_missing(&error.kind()) => {
                tracing::info!(
                    stream = self.config.name,
                    "the stream is not there; it is made"
                );
                let made = self.context.create_stream(self.config.clone()).await;
                made.map_err(|error| StreamError::Unavailable(error.to_string()))?
            }
            found => found.map_err(|error| StreamError::Unavailable(error.to_string()))?,
        };
        self.check_config(found.cached_info()).await?;
        let state = state_of(found.cached_info());
        Ok((found, state))
    }

    /// Refuses a stream that is somebody else's. One that was made under another configuration is given
    /// this one, once: of nodes that differ, the last one to start has its way, and they do not quarrel.
    async fn check_config(&self, info: &Info) -> Result<(), StreamError> {
        let found = &info.config;
        let is_ours = found.retention == self.config.retention
            && self
                .config
                .subjects
                .iter()
                .all(|subject| found.subjects.contains(subject));
        if !is_ours {
            let name = &self.config.name;
            let why = format!(
                "the stream {name} is not Sillok's: it holds {:?}",
                found.subjects
            );
            return Err(StreamError::Unavailable(why));
        }
        let wanted = Config {
            max_age: self.config.max_age,
            duplicate_window: self.config.duplicate_window,
            num_replicas: self.config.num_replicas,
            ..found.clone()
        };
        if self.is_configured.swap(true, Ordering::Relaxed) || wanted == *found {
            return Ok(());
        }
        match self.context.update_stream(&wanted).await {
            Ok(_) => tracing::info!(
                stream = wanted.name,
                "the stream was given its configuration"
            ),
            Err(error) => {
                tracing::warn!(%error, stream = wanted.name, "the stream keeps another configuration");
            }
        }
        Ok(())
    }

    /// Requests on a connection that is not there would only wait for their time to be up.
    fn check_connection(&self) -> Result<(), StreamError> {
        match self.client.connection_state() {
            Connection::Connected => Ok(()),
            Connection::Pending | Connection::Disconnected => Err(StreamError::NoResponders),
        }
    }

    /// Appends a message. JetStream recognises one that comes again by its name before it looks where
    /// the subject ends, so the name says behind what it is to be appended. It keeps names of what is
    /// there no more, so what it recognised is looked for, and goes without a name if it is gone.
    async fn publish(&self, message: &Message, expected: u64) -> Result<u64, StreamError> {
        let (slot, stamp) = (message.slot.number(), message.stamp);
        let name = format!("{slot}-{stamp}-{expected}");
        let told = self.send(message, expected, Some(name)).await?;
        if !told.duplicate || self.holds(message, told.sequence).await? {
            return Ok(told.sequence);
        }
        let told = self.send(message, expected, None).await?;
        Ok(told.sequence)
    }

    async fn send(
        &self,
        message: &Message,
        expected: u64,
        name: Option<String>,
    ) -> Result<PublishAck, StreamError> {
        let mut publish = PublishMessage::build()
            .payload(seal_message(&self.key, self.channel, message).into())
            .expected_stream(&self.config.name)
            .expected_last_subject_sequence(expected);
        if let Some(name) = name {
            publish = publish.message_id(name);
        }
        let subject = subject::of_slot(self.channel, message.slot);
        let told = match self.context.send_publish(subject, publish).await {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        told.map_err(|error| match error.kind() {
            PublishErrorKind::WrongLastSequence => StreamError::Unexpected,
            PublishErrorKind::StreamNotFound => StreamError::NoResponders,
            _ => StreamError::Unavailable(error.to_string()),
        })
    }

    /// Whether a message lies at a number.
    async fn holds(&self, message: &Message, seq: u64) -> Result<bool, StreamError> {
        let (stream, _) = self.look().await?;
        let place = self.at(&stream, seq).await?;
        let is_it = |held: &Message| (held.slot, held.stamp) == (message.slot, message.stamp);
        Ok(matches!(place, Place::Message(held) if is_it(&held.message)))
    }

    /// What lies at a number.
    async fn at(&self, stream: &Stream, seq: u64) -> Result<Place, StreamError> {
        let asked = stream.raw_message_builder().sequence(seq).send().await;
        Ok(match found(asked)? {
            Some(held) => self
                .open(&held)
                .map_or_else(|| Place::Foreign(nanos(held.time)), Place::Message),
            None => Place::Nothing,
        })
    }

    /// The places from number `from` on, as long as they are among those that the stream has.
    async fn read(
        &self,
        stream: &Stream,
        state: StreamState,
        from: u64,
        limit: usize,
    ) -> Result<Page, StreamError> {
        let mut page = Page {
            stream: state,
            messages: Vec::new(),
            holes: Vec::new(),
        };
        let mut next = from.max(state.first);
        let mut places = limit.saturating_mul(PLACES_PER_MESSAGE);
        while page.messages.len() < limit && places > 0 && next <= state.last {
            let wanted = (limit - page.messages.len()).max(ASKED_AT_ONCE.min(limit));
            let step = wanted.min(places) as u64;
            let asked = next..=state.last.min(next.saturating_add(step - 1));
            let found = stream::iter(asked.clone()).map(|seq| self.at(stream, seq));
            let found: Vec<_> = found.buffered(ASKED_AT_ONCE).try_collect().await?;
            for (seq, place) in asked.zip(found) {
                if page.messages.len() == limit {
                    break;
                }
                places -= 1;
                next = seq + 1;
                match place {
                    Place::Message(held) => page.messages.push(held),
                    Place::Foreign(stored_ns) => page.holes.push(hole(seq, seq, Some(stored_ns))),
                    Place::Nothing => {
                        let last = self.last_of_nothing(stream, state, seq).await?;
                        page.holes.push(hole(seq, last, None));
                        next = last + 1;
                        break;
                    }
                }
            }
        }
        Ok(page)
    }

    /// The last number of a run of those at which nothing lies.
    async fn last_of_nothing(
        &self,
        stream: &Stream,
        state: StreamState,
        first: u64,
    ) -> Result<u64, StreamError> {
        let ask = stream.raw_message_builder().sequence(first);
        let held = ask
            .next_by_subject(subject::of_all(self.channel))
            .send()
            .await;
        let next = found(held)?.map_or(u64::MAX, |held| held.sequence);
        Ok((next - 1).clamp(first, state.last.max(first)))
    }

    /// The message, if a node wrote it, and where it belongs. Anything else is counted.
    fn open(&self, held: &StreamMessage) -> Option<Numbered> {
        let (seq, stored_ns) = (held.sequence, nanos(held.time));
        let message = match open_message(&self.key, self.channel, &held.payload) {
            Ok(message) => message,
            Err(error) => {
                tracing::debug!(%error, seq, "no message of this cluster");
                self.count(seq, stored_ns);
                return None;
            }
        };
        if subject::of_slot(self.channel, message.slot) != held.subject.as_str() {
            let subject = held.subject.as_str();
            tracing::debug!(subject, seq, "a message of another slot's subject");
            self.count(seq, stored_ns);
            return None;
        }
        Some(Numbered {
            seq,
            stored_ns,
            message,
        })
    }

    /// Counts a foreign message, once: whoever reads the end of a slot comes to it again and again.
    fn count(&self, seq: u64, stored_ns: u64) {
        if self.known.lock().is_new(seq, stored_ns) {
            self.counts.is_foreign(What::Message(self.channel));
        }
    }
}

impl EventStream for NatsStream {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn append(&self, message: Message, expected: u64) -> BoxFuture<'_, Result<u64, StreamError>> {
        Box::pin(async move {
            self.check_connection()?;
            match self.publish(&message, expected).await {
                // Nobody listens on the subject: there is no stream, or no JetStream.
                Err(StreamError::NoResponders) => {
                    self.look().await?;
                    self.publish(&message, expected).await
                }
                told => told,
            }
        })
    }

    fn end_of(&self, slot: Slot) -> BoxFuture<'_, Result<SlotEnd, StreamError>> {
        Box::pin(async move {
            let (stream, state) = self.look().await?;
            let ask = stream.raw_message_builder();
            let ask = ask.last_by_subject(subject::of_slot(self.channel, slot));
            let held = ask.send().await;
            let held = found(held)?;
            let seq = held.as_ref().map_or(0, |held| held.sequence);
            let last = held.and_then(|held| self.open(&held));
            Ok(SlotEnd {
                stream: state,
                seq,
                last,
            })
        })
    }

    fn page(&self, from: u64, limit: usize) -> BoxFuture<'_, Result<Page, StreamError>> {
        Box::pin(async move {
            let (stream, state) = self.look().await?;
            let page = self.read(&stream, state, from, limit).await?;
            if page.holes.iter().all(|hole| hole.stored_ns.is_some()) {
                return Ok(page);
            }
            let (_, later) = self.look().await?;
            Ok(without_aged(page, later))
        })
    }
}

/// A page as the stream was after it was read: numbers that aged in the meantime are none that stand for
/// no message, and what was read of a stream that is another one by then is nothing of that one.
fn without_aged(mut page: Page, later: StreamState) -> Page {
    if page.stream.created != later.created {
        page.messages.clear();
        page.holes.clear();
    }
    page.stream = later;
    page.holes.retain(|hole| hole.last >= later.first);
    page
}

const fn hole(first: u64, last: u64, stored_ns: Option<u64>) -> Hole {
    Hole {
        first,
        last,
        stored_ns,
    }
}

/// What was found; nothing is an answer too.
fn found(
    asked: Result<StreamMessage, RawMessageError>,
) -> Result<Option<StreamMessage>, StreamError> {
    match asked {
        Ok(held) => Ok(Some(held)),
        Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => Ok(None),
        Err(error) => Err(StreamError::Unavailable(error.to_string())),
    }
}

fn state_of(info: &Info) -> StreamState {
    let max_age = info.config.max_age;
    let keeps_ms = if max_age.is_zero() {
        u64::MAX
    } else {
        u64::try_from(max_age.as_millis()).unwrap_or(u64::MAX)
    };
    StreamState {
        created: nanos(info.created),
        first: info.state.first_sequence.max(1),
        last: info.state.last_sequence,
        keeps_ms,
    }
}

fn stream_config(config: &NatsConfig, channel: Channel) -> Config {
    let (holds, max_age_s) = match channel {
        Channel::Events => ("what changed in Sillok", config.stream_max_age_s),
        Channel::Log => ("what was staged in Sillok", config.log_max_age_s),
    };
    Config {
        name: subject::stream_of(channel).to_owned(),
        description: Some(format!("{holds}; the store has it all")),
        subjects: vec![subject::of_all(channel).to_owned()],
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::Old,
        storage: StorageType::File,
        num_replicas: config.stream_replicas,
        max_age: Duration::from_secs(max_age_s),
        duplicate_window: Duration::from_secs(config.stream_duplicate_window_s),
        max_messages: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        max_message_size: -1,
        ..Config::default()
    }
}

fn is_missing(kind: &GetStreamErrorKind) -> bool {
    match kind {
        GetStreamErrorKind::JetStream(error) => error.error_code() == ErrorCode::STREAM_NOT_FOUND,
        _ => false,
    }
}

/// A time as JetStream gives it, in ns since 1970; what lies before that is 0.
fn nanos(time: async_nats::datetime::DateTime) -> u64 {
    u64::try_from(time.unix_timestamp_nanos()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
