//! The stream of events in JetStream.
//!
//! Owns the mapping of [`EventStream`] to subjects, headers and requests. Readers ask by number, so that
//! where they are is known to them alone: a server that loses its memory of a consumer loses nothing.

use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State as Connection;
use async_nats::jetstream::context::{ContextBuilder, GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, RawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{Context, ErrorCode};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use sillok_bus::stream::{BoxFuture, Numbered, Page, SlotEnd, StreamError, StreamState};
use sillok_bus::subject;
use sillok_bus::wire::{ClusterKey, open_message, seal_message};
use sillok_bus::{EventStream, Message};
use sillok_core::slot::Slot;

use crate::config::{NatsConfig, STREAM};

/// Messages that are asked for at once.
const ASKED_AT_ONCE: usize = 32;

/// The stream of events, as one node reaches it.
#[derive(Clone, Debug)]
pub struct NatsStream {
    client: Client,
    context: Context,
    config: Config,
    key: ClusterKey,
}

impl NatsStream {
    /// The stream of a cluster. Nothing is asked yet: it is made when it is first used and is not there.
    #[must_use]
    pub fn new(client: Client, config: &NatsConfig, key: ClusterKey) -> Self {
        let timeout = Duration::from_millis(config.stream_timeout_ms);
        let context = ContextBuilder::new()
            .timeout(timeout)
            .ack_timeout(timeout)
            .build(client.clone());
        Self {
            client,
            context,
            config: stream_config(config),
            key,
        }
    }

    /// The stream with what it says of itself; it is made if it is not there.
    async fn look(&self) -> Result<(Stream, StreamState), StreamError> {
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
        let info = found.cached_info();
        let state = StreamState {
            created: nanos(info.created),
            first: info.state.first_sequence.max(1),
            last: info.state.last_sequence,
        };
        Ok((found, state))
    }

    /// Requests on a connection that is not there would only wait for their time to be up.
    fn check_connection(&self) -> Result<(), StreamError> {
        match self.client.connection_state() {
            Connection::Connected => Ok(()),
            Connection::Pending | Connection::Disconnected => Err(StreamError::NoResponders),
        }
    }

    async fn publish(&self, message: &Message, expected: u64) -> Result<u64, StreamError> {
        let id = format!("{}-{}", message.slot.number(), message.stamp);
        let publish = PublishMessage::build()
            .payload(seal_message(&self.key, message).into())
            .message_id(id)
            .expected_stream(&self.config.name)
            .expected_last_subject_sequence(expected);
        let subject = subject::events_of(message.slot);
        let told = match self.context.send_publish(subject, publish).await {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        told.map(|told| told.sequence)
            .map_err(|error| match error.kind() {
                PublishErrorKind::WrongLastSequence => StreamError::Unexpected,
                PublishErrorKind::StreamNotFound => StreamError::NoResponders,
                _ => StreamError::Unavailable(error.to_string()),
            })
    }

    /// What lies at a number: a message, or none that a node wrote, or nothing.
    async fn at(&self, stream: &Stream, seq: u64) -> Result<(u64, Option<Numbered>), StreamError> {
        match stream.raw_message_builder().sequence(seq).send().await {
            Ok(held) => Ok((seq, self.open(&held))),
            Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => {
                Ok((seq, None))
            }
            Err(error) => Err(StreamError::Unavailable(error.to_string())),
        }
    }

    /// The message, if a node wrote it, and where it belongs.
    fn open(&self, held: &StreamMessage) -> Option<Numbered> {
        let message = match open_message(&self.key, &held.payload) {
            Ok(message) => message,
            Err(error) => {
                tracing::debug!(%error, seq = held.sequence, "no message of this cluster");
                return None;
            }
        };
        let is_in_place = subject::events_of(message.slot) == held.subject.as_str();
        is_in_place.then(|| Numbered {
            seq: held.sequence,
            stored_ns: nanos(held.time),
            message,
        })
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
            let last = ask.last_by_subject(subject::events_of(slot)).send().await;
            let (seq, last) = match last {
                Ok(held) => (held.sequence, self.open(&held)),
                Err(error) if matches!(error.kind(), RawMessageErrorKind::NoMessageFound) => {
                    (0, None)
                }
                Err(error) => return Err(StreamError::Unavailable(error.to_string())),
            };
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
            let mut page = Page {
                stream: state,
                messages: Vec::new(),
                holes: Vec::new(),
            };
            let mut next = from.max(state.first);
            while page.messages.len() < limit && next <= state.last {
                let wanted = (limit - page.messages.len()) as u64;
                let end = state.last.min(next + wanted - 1);
                let asked = stream::iter(next..=end).map(|seq| self.at(&stream, seq));
                let found: Vec<_> = asked.buffered(ASKED_AT_ONCE).try_collect().await?;
                for (seq, held) in found {
                    match held {
                        Some(held) => page.messages.push(held),
                        None => page.holes.push(seq),
                    }
                }
                next = end + 1;
            }
            Ok(page)
        })
    }
}

fn stream_config(config: &NatsConfig) -> Config {
    Config {
        name: STREAM.to_owned(),
        description: Some("what Sillok committed; the store has it all".to_owned()),
        subjects: vec![subject::EVENTS_OF_ALL.to_owned()],
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::Old,
        storage: StorageType::File,
        num_replicas: config.stream_replicas,
        max_age: Duration::from_secs(config.stream_max_age_s),
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
