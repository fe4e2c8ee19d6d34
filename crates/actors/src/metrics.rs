//! What a node counts about itself, and measures.
//!
//! Owns the metrics with their names, and the snapshot of the counters. How they are shown is the server's
//! matter. Nothing in the node depends on what they say.

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sillok_bus::subject::stream_of;
use sillok_core::Error;
use sillok_core::channel::Channel;
use sillok_core::event::EventKind;
use sillok_core::promotion::{Disposition, PublishReport};

/// Upper bounds of what takes time, in seconds: from a commit in memory to one that nobody waits for.
const SECONDS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// Upper bounds of how many commands there are: up to a full batch, and beyond it.
const COMMANDS: [f64; 12] = [
    1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0, 4_096.0,
];

/// A stream, by what it tells of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStream {
    stream: &'static str,
}

impl From<Channel> for OfStream {
    fn from(channel: Channel) -> Self {
        Self {
            stream: stream_of(channel),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

/// What became of a product of a promotion.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Became {
    disposition: &'static str,
}

/// Why something was refused; the rule is empty where none is named.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refusal {
    code: &'static str,
    rule: String,
}

/// Defines the counters that have no labels: their names in the code, their names where they are shown, and
/// what they count.
macro_rules! counters {
    ($($field:ident as $name:literal: $help:literal,)*) => {
        /// Metrics that any part of the node adds to.
        #[derive(Debug)]
        pub struct Counters {
            $(#[doc = $help] pub(crate) $field: Counter,)*
            events: Family<OfKind, Counter>,
            streamed: Family<OfStream, Counter>,
            streams_lost: Family<OfStream, Counter>,
            products: Family<Became, Counter>,
            refusals: Family<Refusal, Counter>,
            /// From when a command came to the node that owns its slot until it was answered there.
            pub(crate) command_seconds: Histogram,
            /// From when a batch was handed to the store until it had committed.
            pub(crate) commit_seconds: Histogram,
            /// Commands that one transaction committed.
            pub(crate) batch_commands: Histogram,
            /// Commands that waited in a scope's mailbox when a batch of it began.
            pub(crate) mailbox_commands: Histogram,
            /// How far the relays of the streams are behind.
            pub(crate) behind: [Behind; Channel::ALL.len()],
        }

        /// The counters at one moment.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct NodeMetrics {
            $(#[doc = $help] pub $field: u64,)*
            /// Times that a stream had lost what it had acknowledged.
            pub streams_lost: u64,
            /// For how long each relay has had something that its stream was not told, in ms; in the
            /// order of [`Channel::ALL`].
            pub streams_behind_ms: [u64; Channel::ALL.len()],
            /// Slots that this node has taken and does not serve yet.
            pub slots_behind: u64,
            /// Scope actors that are there.
            pub active_scopes: u64,
            /// Commands that wait or are under way.
            pub queued_commands: u64,
            /// Bytes of those.
            pub queued_bytes: u64,
        }

        impl Default for Counters {
            fn default() -> Self {
                let counters = Self {
                    $($field: Counter::default(),)*
                    events: Family::default(),
                    streamed: Family::default(),
                    streams_lost: Family::default(),
                    products: Family::default(),
                    refusals: Family::default(),
                    command_seconds: Histogram::new(SECONDS),
                    commit_seconds: Histogram::new(SECONDS),
                    batch_commands: Histogram::new(COMMANDS),
                    mailbox_commands: Histogram::new(COMMANDS),
                    behind: Default::default(),
                };
                counters.begin_at_zero();
                counters
            }
        }

        impl Counters {
            fn register_plain(&self, registry: &mut Registry) {
                $(registry.register($name, $help, self.$field.clone());)*
            }

            /// The counters now, on the boot clock. Of the node's mailboxes they know nothing.
            pub(crate) fn snapshot(&self, now_ms: u64) -> NodeMetrics {
                let lost = |channel: Channel| self.streams_lost.get_or_create(&channel.into()).get();
                NodeMetrics {
                    $($field: self.$field.get(),)*
                    streams_lost: Channel::ALL.map(lost).into_iter().sum(),
                    streams_behind_ms: self.behind.each_ref().map(|behind| behind.ms(now_ms)),
                    ..NodeMetrics::default()
                }
            }
        }
    };
}

counters! {
    batches as "batches": "Transactions that were committed",
    commands as "commands": "Commands that were applied",
    conflicts as "commit_conflicts": "Commits that met another writer",
    unknown_outcomes as "unknown_outcomes": "Commits whose outcome had to be found out",
    panics as "command_panics": "Commands that panicked",
    activations as "scope_activations": "Scope actors that were started",
    passivations as "scope_passivations": "Scope actors that were put away",
    relayed as "relayed": "Runs of events that were told to the bus",
    indexed as "indexed": "Entries that were stored in the index",
    reembedded as "reembedded":
        "Texts of entries that were embedded since their vectors were of another space, or lacking",
    index_rebuilds as "index_rebuilds": "Times that tables of an index were damaged and began anew",
    index_refusals as "index_refusals":
        "Questions that were refused since the tables they are about were damaged and are built again",
    promotions_started as "promotions_started": "Promotions that a verification started",
    promotions as "promotions": "Promotions that were finished",
    promotion_failures as "promotion_failures": "Attempts at a promotion that failed",
    promotion_unread_events as "promotion_unread_events":
        "Events behind the last record that a promotion read: of at most so many records it read nothing",
    promotion_unread_bytes as "promotion_unread_bytes":
        "Bytes between the ends of long records of which a promotion read the ends alone",
    cognifier_prompt_tokens as "cognifier_prompt_tokens":
        "Tokens that a model was given to draw knowledge from, as it counts them",
    cognifier_completion_tokens as "cognifier_completion_tokens":
        "Tokens that a model gave in answer, as it counts them",
    cognifier_micro_dollars as "cognifier_micro_dollars":
        "What these cost, in millionths of a dollar, at the configured price",
    cognified_facts_left_out as "cognified_facts_left_out":
        "Facts that were not taken over: what they quote stands nowhere, or a promotion had no room",
    forwarded as "forwarded": "Commands that were handed to the nodes that own their slots",
    reads_from_memory as "reads_from_memory": "Reads that were answered without asking the store",
    announced_slots as "announced_slots":
        "Slots with commits of which the other nodes were told, each as often as they were",
    heard_slots as "heard_slots":
        "Slots with commits of which other nodes told this one, each as often as they did",
    sweeps as "sweeps": "Times that all slots of others were looked at without word of a commit",
    slots_taken as "slots_taken": "Slots that this node began to hold, whoever had them before",
    slots_shown_ahead as "slots_shown_ahead":
        "Times that the index showed from its memory what it had not stored of a slot that was to be taken",
    takeovers as "takeovers": "Slots that were taken from another run, of this node or of another one, which was over",
    slots_handed_over as "slots_handed_over": "Slots that were handed over to another node",
    handover_waits as "handover_waits":
        "Times that a command was not taken since its slot was on its way to another node. It is tried again",
    turns_waited_for as "commit_turns_waited": "Batches that waited for others on their way to the store",
    beats as "beats": "Beats that committed",
    missed_beats as "missed_beats": "Beats that did not, as far as is known",
    fences as "fences": "Silent nodes that this one fenced",
    fenced_runs as "fenced_runs": "Runs of this node that others fenced",
    cut_offs as "cut_offs":
        "Times that this node did not reach the bus while others did, and gave its slots up",
}

impl Counters {
    /// Has everything that is there by name shown from the start, before it is counted for the first time:
    /// what begins at one is no increase.
    fn begin_at_zero(&self) {
        for kind in EventKind::ALL {
            let kind = kind.as_str();
            drop(self.events.get_or_create(&OfKind { kind }));
        }
        for channel in Channel::ALL {
            drop(self.streamed.get_or_create(&channel.into()));
            drop(self.streams_lost.get_or_create(&channel.into()));
        }
        for disposition in Disposition::NAMES {
            drop(self.products.get_or_create(&Became { disposition }));
        }
    }

    /// Has everything shown by `registry`.
    pub(crate) fn register(&self, registry: &mut Registry) {
        self.register_plain(registry);
        registry.register(
            "events",
            "Events that were written, by kind",
            self.events.clone(),
        );
        registry.register(
            "streamed",
            "Runs of events that were told to a stream that all nodes reach",
            self.streamed.clone(),
        );
        registry.register(
            "streams_lost",
            "Times that a stream had lost what it had acknowledged",
            self.streams_lost.clone(),
        );
        registry.register(
            "promotion_products",
            "What promotions drew from records, by what became of it",
            self.products.clone(),
        );
        registry.register(
            "refusals",
            "Refusals by code and rule",
            self.refusals.clone(),
        );
        registry.register(
            "command_seconds",
            "From when a command came to the node that owns its slot until it was answered there",
            self.command_seconds.clone(),
        );
        registry.register(
            "commit_seconds",
            "From when a batch was handed to the store until it had committed",
            self.commit_seconds.clone(),
        );
        registry.register(
            "batch_commands",
            "Commands that one transaction committed",
            self.batch_commands.clone(),
        );
        registry.register(
            "mailbox_commands",
            "Commands that waited in a scope's mailbox when a batch of it began",
            self.mailbox_commands.clone(),
        );
    }

    pub(crate) fn refused(&self, error: &Error) {
        let refusal = Refusal {
            code: error.code.as_str(),
            rule: error.rule().unwrap_or_default().to_owned(),
        };
        self.refusals.get_or_create(&refusal).inc();
    }

    /// Counts events that were committed.
    pub(crate) fn wrote(&self, kinds: &[EventKind]) {
        for kind in kinds {
            let kind = kind.as_str();
            self.events.get_or_create(&OfKind { kind }).inc();
        }
    }

    /// Counts a run that a stream was told of.
    pub(crate) fn told(&self, channel: Channel) {
        self.streamed.get_or_create(&channel.into()).inc();
    }

    /// Counts that a stream had lost what it had acknowledged.
    pub(crate) fn lost(&self, channel: Channel) {
        self.streams_lost.get_or_create(&channel.into()).inc();
    }

    /// Counts a promotion that has ended.
    pub(crate) fn promoted(&self, report: &PublishReport) {
        self.promotions.inc();
        for product in &report.products {
            let disposition = product.disposition.name();
            self.products.get_or_create(&Became { disposition }).inc();
        }
    }

    /// How far the relay of a channel is behind.
    pub(crate) const fn behind(&self, channel: Channel) -> &Behind {
        &self.behind[channel as usize]
    }
}

/// Since when a relay has had something to tell, in ms of the boot clock; none when it has told everything.
#[derive(Debug, Default)]
pub(crate) struct Behind(Mutex<Option<u64>>);

impl Behind {
    /// There is something to tell.
    pub(crate) fn begins(&self, now_ms: u64) {
        self.0.lock().get_or_insert(now_ms);
    }

    /// Everything was told.
    pub(crate) fn ends(&self) {
        *self.0.lock() = None;
    }

    fn ms(&self, now_ms: u64) -> u64 {
        let since_ms = *self.0.lock();
        since_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms))
    }
}

pub(crate) fn count(counter: &Counter, by: u64) {
    counter.inc_by(by);
}

/// Microseconds as the seconds that a histogram takes.
pub(crate) fn seconds(us: u64) -> f64 {
    std::time::Duration::from_micros(us).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use sillok_core::ErrorCode;

    use super::*;

    fn shown(counters: &Counters) -> String {
        let mut registry = Registry::with_prefix("sillok");
        counters.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn everything_that_is_known_by_name_is_shown_before_it_is_counted() {
        let text = shown(&Counters::default());
        for line in [
            "sillok_batches_total 0",
            "sillok_commit_turns_waited_total 0",
            "sillok_events_total{kind=\"RECORD_APPENDED\"} 0",
            "sillok_streamed_total{stream=\"EVT\"} 0",
            "sillok_streams_lost_total{stream=\"LOG\"} 0",
            "sillok_promotion_products_total{disposition=\"left_out\"} 0",
            "sillok_command_seconds_count 0",
            "sillok_mailbox_commands_bucket{le=\"+Inf\"} 0",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} in\n{text}");
        }
        let kinds = text.matches("sillok_events_total{").count();
        assert_eq!(kinds, EventKind::ALL.len());
    }

    #[test]
    fn what_is_counted_by_a_label_is_counted_under_it() {
        let counters = Counters::default();
        counters.refused(&Error::new(ErrorCode::Conflict, "twice"));
        counters.told(Channel::Log);
        counters.lost(Channel::Events);
        counters.lost(Channel::Log);
        counters.wrote(&[EventKind::TaskOpened, EventKind::TaskOpened]);
        let text = shown(&counters);
        for line in [
            "sillok_refusals_total{code=\"conflict\",rule=\"\"} 1",
            "sillok_streamed_total{stream=\"EVT\"} 0",
            "sillok_streamed_total{stream=\"LOG\"} 1",
            "sillok_events_total{kind=\"TASK_OPENED\"} 2",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} in\n{text}");
        }
        assert_eq!(counters.snapshot(0).streams_lost, 2);
    }

    #[test]
    fn a_relay_is_behind_from_the_first_that_it_has_to_tell_until_it_has_told_all() {
        let counters = Counters::default();
        let behind = counters.behind(Channel::Log);
        assert_eq!(counters.snapshot(500).streams_behind_ms, [0, 0]);
        behind.begins(500);
        behind.begins(700);
        assert_eq!(counters.snapshot(900).streams_behind_ms, [0, 400]);
        behind.ends();
        assert_eq!(counters.snapshot(1_000).streams_behind_ms, [0, 0]);
        behind.begins(1_000);
        assert_eq!(counters.snapshot(1_001).streams_behind_ms, [0, 1]);
    }

    #[test]
    fn microseconds_are_seconds() {
        assert!((seconds(1_500_000) - 1.5).abs() < f64::EPSILON);
    }
}
