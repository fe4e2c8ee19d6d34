//! What `/metrics` shows, in the text format of OpenMetrics.
//!
//! Owns the metrics of the HTTP interface, and what is measured only when somebody asks: of what waits now.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sillok_actors::metrics::NodeMetrics;
use sillok_bus::subject::stream_of;
use sillok_core::channel::Channel;
use sillok_core::ports::IndexStats;

/// What the text is, to who asked.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the times of requests, in seconds.
const SECONDS: [f64; 12] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0,
];

/// A gauge of what cannot be less than none.
type Amount = Gauge<u64, AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStatus {
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStream {
    stream: &'static str,
}

/// Where everything is registered that a server shows: each name begins with `sillok_`.
pub(crate) fn registry() -> Registry {
    Registry::with_prefix("sillok")
}

/// Everything that is shown.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<OfStatus, Counter>,
    request_seconds: Histogram,
    in_flight: Amount,
    slots_behind: Amount,
    active_scopes: Amount,
    queued_commands: Amount,
    queued_bytes: Amount,
    index_stored: Amount,
    index_pending: Amount,
    stream_lag_seconds: Family<OfStream, Gauge<f64, AtomicU64>>,
}

impl Metrics {
    /// Shows what `registry` has, besides the interface's own.
    pub(super) fn new(registry: Registry) -> Self {
        let mut metrics = Self {
            registry,
            requests: Family::default(),
            request_seconds: Histogram::new(SECONDS),
            in_flight: Amount::default(),
            slots_behind: Amount::default(),
            active_scopes: Amount::default(),
            queued_commands: Amount::default(),
            queued_bytes: Amount::default(),
            index_stored: Amount::default(),
            index_pending: Amount::default(),
            stream_lag_seconds: Family::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        let help = "Requests by status";
        registry.register("http_requests", help, self.requests.clone());
        let help = "Time until a response began";
        registry.register("http_request_seconds", help, self.request_seconds.clone());
        let help = "Requests under way";
        registry.register("http_requests_in_flight", help, self.in_flight.clone());
        let help = "Slots that this node has taken and does not serve yet";
        registry.register("slots_behind", help, self.slots_behind.clone());
        let help = "Scope actors that are there";
        registry.register("active_scopes", help, self.active_scopes.clone());
        let help = "Commands that wait or are under way, in all mailboxes";
        registry.register("queued_commands", help, self.queued_commands.clone());
        let help = "Bytes of those";
        registry.register("queued_bytes", help, self.queued_bytes.clone());
        let help = "Entries that the index holds durably";
        registry.register("index_stored", help, self.index_stored.clone());
        let help = "States that the index serves from memory";
        registry.register("index_pending", help, self.index_pending.clone());
        let help = "For how long there has been something that a stream was not told";
        let lag = self.stream_lag_seconds.clone();
        registry.register("stream_lag_seconds", help, lag);
    }

    /// Counts a response and how long it took to begin.
    pub(super) fn count(&self, status: StatusCode, took: Duration) {
        let status = status.as_u16();
        self.requests.get_or_create(&OfStatus { status }).inc();
        self.request_seconds.observe(took.as_secs_f64());
    }

    /// Everything, as of now.
    pub(super) fn show(
        &self,
        in_flight: usize,
        node: &NodeMetrics,
        index: Option<IndexStats>,
    ) -> String {
        self.in_flight.set(in_flight as u64);
        self.slots_behind.set(node.slots_behind);
        self.active_scopes.set(node.active_scopes);
        self.queued_commands.set(node.queued_commands);
        self.queued_bytes.set(node.queued_bytes);
        if let Some(index) = index {
            self.index_stored.set(index.stored);
            self.index_pending.set(index.pending);
        }
        for (channel, behind_ms) in Channel::ALL.into_iter().zip(node.streams_behind_ms) {
            let stream = stream_of(channel);
            let lag = self.stream_lag_seconds.get_or_create(&OfStream { stream });
            lag.set(Duration::from_millis(behind_ms).as_secs_f64());
        }
        let mut text = String::with_capacity(16_384);
        text::encode(&mut text, &self.registry).expect("a string takes any text");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_status_and_in_rising_buckets() {
        let metrics = Metrics::new(registry());
        metrics.count(StatusCode::OK, Duration::from_micros(80));
        metrics.count(StatusCode::OK, Duration::from_millis(3));
        metrics.count(StatusCode::CONFLICT, Duration::from_mins(1));
        let node = NodeMetrics {
            streams_behind_ms: [1_500, 0],
            ..NodeMetrics::default()
        };
        let text = metrics.show(2, &node, None);
        for line in [
            "sillok_http_requests_total{status=\"200\"} 2",
            "sillok_http_requests_total{status=\"409\"} 1",
            "sillok_http_request_seconds_bucket{le=\"0.0001\"} 1",
            "sillok_http_request_seconds_bucket{le=\"0.005\"} 2",
            "sillok_http_request_seconds_bucket{le=\"+Inf\"} 3",
            "sillok_http_request_seconds_sum 60.00308",
            "sillok_http_requests_in_flight 2",
            "sillok_stream_lag_seconds{stream=\"EVT\"} 1.5",
            "sillok_stream_lag_seconds{stream=\"LOG\"} 0.0",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} in\n{text}");
        }
    }
}
