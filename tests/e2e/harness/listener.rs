//! Somebody who follows both streams over a real nats-server.
//!
//! Owns what was heard: each event once, by scope and number. What was committed is for the tests to say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sillok_bus::follower::{Judged, Look};
use sillok_bus::{EventStream as _, Follower};
use sillok_bus_nats::{NatsConfig, NatsStream, cluster_key, connect};
use sillok_core::channel::Channel;

/// The longest that anything may take to be heard.
const PATIENCE: Duration = Duration::from_secs(60);
/// The wait between two looks.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Somebody who hears what nodes say over NATS.
pub(crate) struct Listener {
    lanes: [Lane; 2],
    /// The events that were heard of on either stream, by scope and number.
    heard: BTreeMap<(String, u64), Channel>,
}

/// One of the streams, as far as it was followed.
struct Lane {
    channel: Channel,
    stream: NatsStream,
    follower: Follower,
}

impl Listener {
    pub(crate) async fn new(config: &NatsConfig) -> Self {
        let client = connect(config, "listener").await.expect("it can be used");
        let key = cluster_key(config).await.expect("it is a key");
        let lane = |channel| Lane {
            channel,
            stream: NatsStream::new(client.clone(), config, key.clone(), channel),
            follower: Follower::default(),
        };
        Self {
            lanes: Channel::ALL.map(lane),
            heard: BTreeMap::new(),
        }
    }

    /// Hears what there is on both streams.
    pub(crate) async fn poll(&mut self) {
        for lane in &mut self.lanes {
            lane.poll(&mut self.heard).await;
        }
    }

    /// The numbers of a scope's events that were heard of, on either stream or on one.
    pub(crate) fn of(&self, scope: &str, channel: Option<Channel>) -> BTreeSet<u64> {
        let heard = self.heard.iter();
        heard
            .filter(|((of, _), on)| of == scope && channel.is_none_or(|channel| channel == **on))
            .map(|((_, seq), _)| *seq)
            .collect()
    }

    /// Listens until the last event of each of these scopes was heard of, and holds what was heard against
    /// what is stored: all of it, once, whatever the streams lost meanwhile.
    pub(crate) async fn check(&mut self, stored: &BTreeMap<String, BTreeSet<u64>>) {
        for (scope, seqs) in stored {
            // Each of them: the streams come one behind the other.
            for seq in seqs {
                self.hears(scope, *seq).await;
            }
        }
        for (scope, seqs) in stored {
            assert_eq!(self.of(scope, None), *seqs, "{scope}: heard, and stored");
        }
    }

    /// Listens until an event was heard of.
    pub(crate) async fn hears(&mut self, scope: &str, seq: u64) {
        let listening = async {
            while !self.heard.contains_key(&(scope.to_owned(), seq)) {
                self.poll().await;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let heard = tokio::time::timeout(PATIENCE, listening).await;
        heard.unwrap_or_else(|_| panic!("{scope} {seq} was never heard of"));
    }
}

impl Lane {
    /// Hears what there is.
    async fn poll(&mut self, heard: &mut BTreeMap<(String, u64), Channel>) {
        let Ok(page) = self.stream.page(self.follower.from(), 64).await else {
            return;
        };
        if self.follower.look(&page) == Look::Restarts {
            // It lost something, or is another one: it is filled again, and heard from its beginning.
            return self.follower.restart();
        }
        for numbered in &page.messages {
            let message = &numbered.message;
            match self.follower.judge(message) {
                Judged::Repeat => continue,
                Judged::Next => {}
                // Nothing ages in a test, and what was lost is told again before what came behind it.
                Judged::Gap(after) => panic!("nothing was told from {after} to {message:?}"),
            }
            self.follower.hear(message.slot, message.stamp);
            for seq in message.first.get()..=message.last.get() {
                let at = (message.scope.to_string(), seq);
                let before = heard.insert(at, self.channel);
                assert!(before.is_none(), "heard twice: {} {seq}", message.scope);
            }
        }
        self.follower.read(&page);
    }
}
