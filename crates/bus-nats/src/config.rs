//! What an operator says about NATS.
//!
//! Owns names, defaults and bounds. Every value is a scalar, so that a file, the environment and a flag
//! can all give it; an empty one stands for none.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sillok_core::{Error, ErrorCode};

use crate::consumers;

/// `[nats]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NatsConfig {
    /// Servers to try, with commas between them, such as `nats://nats.sillok:4222` or `tls://…`. Without
    /// any, nobody but this process hears of what is committed.
    pub servers: String,
    /// A file with the cluster's key: 64 hexadecimal digits, the same for all nodes and known to nobody
    /// else. What is not sealed with it counts for nothing.
    pub key_file: PathBuf,
    /// A credentials file: a user's JWT with its nkey seed.
    pub credentials_file: PathBuf,
    /// A file that holds an nkey seed and nothing else.
    pub nkey_seed_file: PathBuf,
    /// Certificates of the authorities that the server's certificate may come from, in PEM.
    pub ca_file: PathBuf,
    /// This node's certificate, in PEM.
    pub cert_file: PathBuf,
    /// The key of that certificate, in PEM.
    pub cert_key_file: PathBuf,
    /// Whether a connection without TLS is refused.
    pub tls_required: bool,
    /// How many servers hold the streams: 1, 3 or 5, and no more than there are.
    pub stream_replicas: usize,
    /// Messages of the stream of events that are older than this age out, in s. Nothing is lost with
    /// them: the store has it all.
    pub stream_max_age_s: u64,
    /// The same of the stream of log records, which are many more.
    pub log_max_age_s: u64,
    /// How long a message that comes again is recognised, in s.
    pub stream_duplicate_window_s: u64,
    /// Durable consumers that nodes make on the streams for others, with commas between them: `EVT:notifier`.
    pub consumers: String,
    /// How long a message of such a consumer waits for its acknowledgement before it comes again, in s.
    pub consumer_ack_wait_s: u64,
    /// How long is waited for an answer of a stream, in ms.
    pub stream_timeout_ms: u64,
    /// How long a node waits for another one, in ms.
    pub peer_timeout_ms: u32,
    /// Commands of other nodes that are carried out at once.
    pub peer_commands: usize,
}

impl Default for NatsConfig {
    fn default() -> Self {
        Self {
            servers: String::new(),
            key_file: PathBuf::new(),
            credentials_file: PathBuf::new(),
            nkey_seed_file: PathBuf::new(),
            ca_file: PathBuf::new(),
            cert_file: PathBuf::new(),
            cert_key_file: PathBuf::new(),
            tls_required: false,
            stream_replicas: 1,
            stream_max_age_s: 7 * 24 * 60 * 60,
            log_max_age_s: 24 * 60 * 60,
            stream_duplicate_window_s: 120,
            consumers: String::new(),
            consumer_ack_wait_s: 30,
            stream_timeout_ms: 2_000,
            peer_timeout_ms: 3_000,
            peer_commands: 4_096,
        }
    }
}

/// A file that is named, if one is.
pub(crate) fn named(file: &PathBuf) -> Option<&PathBuf> {
    (!file.as_os_str().is_empty()).then_some(file)
}

impl NatsConfig {
    /// How long a node that ends takes at most to answer what others handed over, and to let nothing more come: what was
    /// begun, and then what had come by then.
    #[must_use]
    pub fn last_answers(&self) -> Duration {
        2 * Duration::from_millis(self.peer_timeout_ms.into())
    }

    /// Whether there is a server to try.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.servers().next().is_some()
    }

    /// The servers to try.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        let servers = self.servers.split(',').map(str::trim);
        servers.filter(|server| !server.is_empty())
    }

    /// Checks that what is said can be.
    ///
    /// # Errors
    /// `invalid_argument` with the key and why it cannot be.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |what: &str| Err(Error::new(ErrorCode::InvalidArgument, what));
        if self.is_used() && named(&self.key_file).is_none() {
            return refuse("nats.key_file: nodes know one another by a key, which lies in a file");
        }
        if named(&self.credentials_file).is_some() && named(&self.nkey_seed_file).is_some() {
            return refuse("nats.nkey_seed_file: the credentials file holds a seed already");
        }
        if named(&self.cert_file).is_some() != named(&self.cert_key_file).is_some() {
            return refuse("nats.cert_file: a certificate and its key go together");
        }
        if !matches!(self.stream_replicas, 1 | 3 | 5) {
            return refuse("nats.stream_replicas: it is 1, 3 or 5");
        }
        if !(60..=315_360_000).contains(&self.stream_max_age_s) {
            return refuse("nats.stream_max_age_s: it is from 60 to 315360000");
        }
        if !(1..=self.stream_max_age_s).contains(&self.stream_duplicate_window_s) {
            return refuse("nats.stream_duplicate_window_s: it is from 1 to stream_max_age_s");
        }
        let log_min_s = self.stream_duplicate_window_s.max(60);
        if !(log_min_s..=315_360_000).contains(&self.log_max_age_s) {
            let why = "nats.log_max_age_s: it is from 60 to 315360000, and no less than \
                       stream_duplicate_window_s";
            return refuse(why);
        }
        if let Err(why) = consumers::parse(&self.consumers) {
            return refuse(&format!("nats.consumers: {why}"));
        }
        if !(1..=3_600).contains(&self.consumer_ack_wait_s) {
            return refuse("nats.consumer_ack_wait_s: it is from 1 to 3600");
        }
        if !(100..=60_000).contains(&self.stream_timeout_ms) {
            return refuse("nats.stream_timeout_ms: it is from 100 to 60000");
        }
        if !(100..=60_000).contains(&self.peer_timeout_ms) {
            return refuse("nats.peer_timeout_ms: it is from 100 to 60000");
        }
        if !(1..=1_000_000).contains(&self.peer_commands) {
            return refuse("nats.peer_commands: it is from 1 to 1000000");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Spoil = fn(&mut NatsConfig);

    #[test]
    fn defaults_are_in_range_and_a_bad_value_is_named() {
        NatsConfig::default().check().unwrap();
        assert!(!NatsConfig::default().is_used());
        let spoiled: [(&str, Spoil); 14] = [
            ("nats.key_file", |config| config.servers = "nats://a".into()),
            ("nats.nkey_seed_file", |config| {
                config.credentials_file = "a".into();
                config.nkey_seed_file = "b".into();
            }),
            ("nats.cert_file", |config| config.cert_file = "a".into()),
            ("nats.cert_file", |config| config.cert_key_file = "a".into()),
            ("nats.stream_replicas", |config| config.stream_replicas = 2),
            ("nats.stream_max_age_s", |config| {
                config.stream_max_age_s = 59
            }),
            ("nats.stream_duplicate_window_s", |config| {
                config.stream_duplicate_window_s = 0;
            }),
            ("nats.log_max_age_s", |config| config.log_max_age_s = 59),
            ("nats.log_max_age_s", |config| {
                config.log_max_age_s = config.stream_duplicate_window_s - 1;
            }),
            ("nats.consumers", |config| config.consumers = "EVT".into()),
            ("nats.consumer_ack_wait_s", |config| {
                config.consumer_ack_wait_s = 0;
            }),
            ("nats.stream_timeout_ms", |config| {
                config.stream_timeout_ms = 99
            }),
            ("nats.peer_timeout_ms", |config| config.peer_timeout_ms = 99),
            ("nats.peer_commands", |config| config.peer_commands = 0),
        ];
        for (key, spoil) in spoiled {
            let mut config = NatsConfig::default();
            spoil(&mut config);
            let message = config.check().unwrap_err().message;
            assert!(message.starts_with(&format!("{key}: ")), "{message}");
        }
    }

    #[test]
    fn servers_are_told_apart_by_commas() {
        let config = NatsConfig {
            servers: " nats://a:1, tls://b ,".into(),
            ..NatsConfig::default()
        };
        assert_eq!(
            config.servers().collect::<Vec<_>>(),
            ["nats://a:1", "tls://b"]
        );
    }
}
