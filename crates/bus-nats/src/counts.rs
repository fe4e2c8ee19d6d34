//! What came over NATS and came to nothing, by numbers: what no node wrote, and what came too fast.
//!
//! Owns the counters, and which refusals show a stranger. What becomes of requests that nodes wrote is
//! [`crate::server`]'s.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use sillok_bus::subject::stream_of;
use sillok_bus::wire::Refused;
use sillok_core::channel::Channel;
use tokio::time::Instant;

/// How often the log says that messages are dropped, at most.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// What something would have been, had a node of the cluster written it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A command, or a part of one.
    Request,
    /// Word of where something was committed.
    News,
    /// The answer to a command.
    Reply,
    /// A message of a channel's stream.
    Message(Channel),
}

impl What {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Request,
        Self::News,
        Self::Reply,
        Self::Message(Channel::Events),
        Self::Message(Channel::Log),
    ];

    /// Its name in a metric.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::News => "news",
            Self::Reply => "reply",
            Self::Message(channel) => stream_of(channel),
        }
    }

    /// Whether a refusal shows that no node wrote it. All but requests have one version so far, which is looked
    /// at before the seal. A request's version and size are looked at once its parts were opened.
    const fn is_foreign(self, refused: Refused) -> bool {
        match refused {
            Refused::Malformed | Refused::Seal => true,
            Refused::Version(_) => !matches!(self, Self::Request),
            Refused::TooMuch => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    what: &'static str,
}

/// The counts of one node, which all that it has on the bus share.
#[derive(Clone, Debug)]
pub struct Counts {
    foreign: Family<Of, Counter>,
    dropped: Counter,
    said: Arc<Mutex<Option<Instant>>>,
}

impl Default for Counts {
    fn default() -> Self {
        let foreign = Family::default();
        for what in What::ALL {
            // What was never counted is shown as 0: only then can an alert see the first one.
            drop(foreign.get_or_create(&Of { what: what.name() }));
        }
        Self {
            foreign,
            dropped: Counter::default(),
            said: Arc::default(),
        }
    }
}

impl Counts {
    /// Has them shown by `registry`.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "bus_foreign",
            "What came over the bus and no node of the cluster wrote, or not for where it came",
            self.foreign.clone(),
        );
        registry.register(
            "bus_dropped",
            "Messages of the bus that came faster than they were taken, and were lost",
            self.dropped.clone(),
        );
    }

    /// What came so far that no node wrote.
    #[must_use]
    pub fn foreign(&self, what: What) -> u64 {
        self.foreign.get_or_create(&Of { what: what.name() }).get()
    }

    /// Messages that were dropped so far, at least: of a burst NATS' client tells of so many at once only.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.get()
    }

    /// Counts what was refused, if it shows that no node wrote it.
    pub(crate) fn refused(&self, what: What, refused: Refused) {
        if what.is_foreign(refused) {
            self.is_foreign(what);
        }
    }

    /// Counts what no node wrote, or not for where it came.
    pub(crate) fn is_foreign(&self, what: What) {
        self.foreign.get_or_create(&Of { what: what.name() }).inc();
    }

    /// Counts a message that was dropped, since a subscription had too many waiting.
    pub(crate) fn drops(&self, subscription: u64) {
        let dropped = self.dropped.inc() + 1;
        let mut said = self.said.lock();
        if said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
            *said = Some(Instant::now());
            tracing::warn!(
                subscription,
                dropped,
                "messages of NATS come faster than they are taken, and are dropped"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn what_shows_a_stranger_is_counted_by_what_it_would_have_been() {
        let counts = Counts::default();
        for refused in [
            Refused::Malformed,
            Refused::Seal,
            Refused::Version(9),
            Refused::TooMuch,
        ] {
            for what in What::ALL {
                counts.refused(what, refused);
            }
        }
        let counted = What::ALL.map(|what| counts.foreign(what));
        assert_eq!(counted, [2, 3, 3, 3, 3]);
    }

    #[test]
    fn what_never_came_is_shown_as_none() {
        let mut registry = Registry::default();
        Counts::default().register(&mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for what in ["request", "news", "reply", "EVT", "LOG"] {
            let shown = format!("bus_foreign_total{{what=\"{what}\"}} 0\n");
            assert!(text.contains(&shown), "{text}");
        }
        assert!(text.contains("bus_dropped_total 0\n"), "{text}");
    }
}
