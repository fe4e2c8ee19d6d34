//! Durable consumers of the streams, for workers that are no nodes: they pull, and acknowledge what they have
//! done.
//!
//! Owns their names, their form, and that they are there: nodes make those that the configuration names, and
//! make again what is gone. Nodes themselves read none of them (ADR 0011).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::{AckPolicy, Config, DeliverPolicy, pull};
use async_nats::jetstream::context::ConsumerInfoErrorKind;
use sillok_bus::EventStream as _;
use sillok_bus::stream::StreamError;
use sillok_bus::subject;
use sillok_bus::wire::ClusterKey;
use sillok_core::channel::Channel;

use crate::config::NatsConfig;
use crate::stream::NatsStream;

/// Consumers that a configuration may name.
const CONSUMERS_MAX: usize = 32;
/// Bytes of a consumer's name: what NATS recommends.
const NAME_BYTES_MAX: usize = 32;
/// The wait between two looks at whether they are there.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A durable consumer, by its stream and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConsumerName {
    /// Whose stream it reads.
    pub channel: Channel,
    /// Its own name.
    pub name: String,
}

/// The consumers that a text names: `EVT:notifier, LOG:curator`.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<BTreeSet<ConsumerName>, String> {
    let mut all = BTreeSet::new();
    let words = text.split(',').map(str::trim);
    for word in words.filter(|word| !word.is_empty()) {
        let consumer = parse_one(word)?;
        if !all.insert(consumer) {
            return Err(format!("{word} is named twice"));
        }
    }
    if all.len() > CONSUMERS_MAX {
        return Err(format!(
            "{} consumers are more than {CONSUMERS_MAX}",
            all.len()
        ));
    }
    Ok(all)
}

fn parse_one(word: &str) -> Result<ConsumerName, String> {
    let of_stream = |stream: &str| {
        let mut channels = Channel::ALL.into_iter();
        channels.find(|channel| subject::stream_of(*channel) == stream)
    };
    let Some((stream, name)) = word.split_once(':') else {
        return Err(format!("{word:?} is not a stream and a name, as EVT:name"));
    };
    let Some(channel) = of_stream(stream) else {
        return Err(format!("{stream:?} in {word:?} is neither EVT nor LOG"));
    };
    let is_clean = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(is_clean) {
        return Err(format!(
            "{name:?} in {word:?} is not 1 to {NAME_BYTES_MAX} of A-Z, a-z, 0-9, - and _"
        ));
    }
    Ok(ConsumerName {
        channel,
        name: name.to_owned(),
    })
}

/// Sees to it that the consumers which a checked configuration names are there. With some it never ends.
pub async fn keep(client: Client, config: NatsConfig, key: ClusterKey) {
    let wanted = parse(&config.consumers).unwrap_or_default();
    let ack_wait = Duration::from_secs(config.consumer_ack_wait_s);
    let stream = |channel| NatsStream::new(client.clone(), &config, key.clone(), channel);
    let streams = Channel::ALL.map(|channel| (channel, stream(channel)));
    let streams = BTreeMap::from(streams);
    // What was said last of each, so that it is said once.
    let mut said: BTreeMap<&ConsumerName, String> = BTreeMap::new();
    while !wanted.is_empty() {
        for consumer in &wanted {
            let stream = &streams[&consumer.channel];
            match stream.ensure_consumer(&consumer.name, ack_wait).await {
                Ok(is_made) => {
                    said.remove(consumer);
                    if is_made {
                        let (name, stream) = (&consumer.name, stream.name());
                        tracing::info!(name, stream, "a durable consumer was made");
                    }
                }
                Err(error) => {
                    let why = error.to_string();
                    if said.get(consumer) != Some(&why) {
                        let (name, stream) = (&consumer.name, stream.name());
                        tracing::warn!(name, stream, why, "a durable consumer is not there");
                        said.insert(consumer, why);
                    }
                }
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl NatsStream {
    /// Makes a durable consumer that is pulled from and acknowledged to, message by message, if there is none
    /// of that name: whether it was made. One that is there keeps its settings. The stream is made with it.
    ///
    /// # Errors
    /// What the server answers, and that a consumer of that name is another kind of one.
    pub async fn ensure_consumer(
        &self,
        name: &str,
        ack_wait: Duration,
    ) -> Result<bool, StreamError> {
        let unavailable = |why: String| Err(StreamError::Unavailable(why));
        let (stream, _) = self.look().await?;
        match stream.consumer_info(name).await {
            Ok(info) => match wrong_kind(&info.config) {
                None => return Ok(false),
                Some(why) => return unavailable(format!("the consumer {name} {why}")),
            },
            Err(error) if matches!(error.kind(), ConsumerInfoErrorKind::NotFound) => {}
            Err(error) => return unavailable(error.to_string()),
        }
        let made = stream
            .create_consumer(consumer_config(name, ack_wait))
            .await;
        match made {
            Ok(_) => Ok(true),
            Err(error) => unavailable(error.to_string()),
        }
    }
}

/// Whatever the stream holds, from its beginning: what nobody acknowledged in time comes again, for as long as
/// the stream holds it.
fn consumer_config(name: &str, ack_wait: Duration) -> pull::Config {
    pull::Config {
        durable_name: Some(name.to_owned()),
        description: Some("Workers that look for what was committed".to_owned()),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait,
        max_deliver: -1,
        ..pull::Config::default()
    }
}

/// Why workers cannot share a consumer's messages, if they cannot.
fn wrong_kind(found: &Config) -> Option<&'static str> {
    if found.durable_name.is_none() {
        Some("is not durable")
    } else if found.deliver_subject.is_some() {
        Some("pushes its messages")
    } else if found.ack_policy != AckPolicy::Explicit {
        Some("does not want each message acknowledged")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(channel: Channel, name: &str) -> ConsumerName {
        ConsumerName {
            channel,
            name: name.to_owned(),
        }
    }

    #[test]
    fn consumers_are_named_with_their_streams() {
        assert_eq!(parse(" , "), Ok(BTreeSet::new()));
        let both = [
            name_of(Channel::Events, "notifier"),
            name_of(Channel::Log, "curator_2"),
        ];
        assert_eq!(parse("LOG:curator_2, EVT:notifier,"), Ok(both.into()));
        // Each stream has names of its own.
        assert_eq!(parse("LOG:a,EVT:a").unwrap().len(), 2);
    }

    #[test]
    fn what_names_no_consumer_is_said() {
        let long = format!("EVT:{}", "a".repeat(NAME_BYTES_MAX + 1));
        let many = (0..=CONSUMERS_MAX).map(|number| format!("EVT:c{number},"));
        for (text, why) in [
            ("notifier", "not a stream and a name"),
            ("evt:notifier", "neither EVT nor LOG"),
            ("EVT:", "in \"EVT:\" is not 1 to 32"),
            ("EVT:a.b", "\"a.b\" in"),
            ("EVT:a*", "\"a*\" in"),
            (&long, "is not 1 to 32"),
            ("EVT:a, EVT:a", "EVT:a is named twice"),
            (&many.collect::<String>(), "33 consumers are more than 32"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn workers_share_a_durable_consumer_whose_messages_are_acknowledged_one_by_one() {
        let config = |spoil: fn(&mut Config)| {
            let mut config = Config {
                durable_name: Some("a".to_owned()),
                ack_policy: AckPolicy::Explicit,
                ..Config::default()
            };
            spoil(&mut config);
            config
        };
        assert_eq!(wrong_kind(&config(|_| {})), None);
        let spoiled: [fn(&mut Config); 4] = [
            |config| config.durable_name = None,
            |config| config.deliver_subject = Some("a.b".to_owned()),
            |config| config.ack_policy = AckPolicy::All,
            |config| config.ack_policy = AckPolicy::None,
        ];
        for spoil in spoiled {
            assert!(wrong_kind(&config(spoil)).is_some());
        }
    }
}
