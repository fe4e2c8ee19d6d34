//! What `/metrics` shows, in the text format of Prometheus.
//!
//! Owns the counters of the HTTP interface, and the names of everything that is shown.

use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use sillok_actors::metrics::NodeMetrics;
use sillok_core::ports::IndexStats;

use crate::telemetry::SpanCounts;

/// Upper bounds of the latency buckets, in microseconds.
const BUCKETS_US: [u64; 12] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 2_000_000, 10_000_000,
];

const STATUSES: usize = 600;

/// Counters of requests.
#[derive(Debug)]
pub(super) struct HttpCounters {
    by_status: Box<[AtomicU64]>,
    by_latency: [AtomicU64; BUCKETS_US.len() + 1],
    latency_us: AtomicU64,
}

impl Default for HttpCounters {
    fn default() -> Self {
        Self {
            by_status: (0..STATUSES).map(|_| AtomicU64::new(0)).collect(),
            by_latency: Default::default(),
            latency_us: AtomicU64::new(0),
        }
    }
}

impl HttpCounters {
    /// Counts a response and how long it took to begin.
    pub(super) fn count(&self, status: StatusCode, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(counter) = self.by_status.get(usize::from(status.as_u16())) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        let bucket = BUCKETS_US.partition_point(|bound| *bound < us);
        self.by_latency[bucket].fetch_add(1, Ordering::Relaxed);
        self.latency_us.fetch_add(us, Ordering::Relaxed);
    }

    fn show(&self, text: &mut Text) {
        text.family(
            "sillok_http_requests_total",
            "counter",
            "Requests by status.",
        );
        for (status, counter) in self.by_status.iter().enumerate() {
            let count = counter.load(Ordering::Relaxed);
            if count > 0 {
                text.line(
                    "sillok_http_requests_total",
                    &format!("{{status=\"{status}\"}}"),
                    count,
                );
            }
        }
        text.family(
            "sillok_http_request_seconds",
            "histogram",
            "Time until a response began.",
        );
        let mut below = 0;
        for (bound, counter) in BUCKETS_US.iter().zip(&self.by_latency) {
            below += counter.load(Ordering::Relaxed);
            text.line(
                "sillok_http_request_seconds_bucket",
                &format!("{{le=\"{}\"}}", seconds(*bound)),
                below,
            );
        }
        below += self.by_latency[BUCKETS_US.len()].load(Ordering::Relaxed);
        text.line("sillok_http_request_seconds_bucket", "{le=\"+Inf\"}", below);
        text.line(
            "sillok_http_request_seconds_sum",
            "",
            seconds(self.latency_us.load(Ordering::Relaxed)),
        );
        text.line("sillok_http_request_seconds_count", "", below);
    }
}

/// Microseconds as seconds, exactly.
fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

/// Everything that is shown.
pub(super) fn show(
    http: &HttpCounters,
    in_flight: usize,
    node: &NodeMetrics,
    index: Option<IndexStats>,
    spans: Option<SpanCounts>,
) -> String {
    let mut text = Text(String::with_capacity(4_096));
    http.show(&mut text);
    text.gauge(
        "http_requests_in_flight",
        in_flight as u64,
        "Requests under way.",
    );
    show_node(&mut text, node);
    show_scopes(&mut text, node);
    show_slots(&mut text, node);
    if let Some(index) = index {
        text.gauge(
            "index_stored",
            index.stored,
            "Entries that the index holds durably.",
        );
        text.gauge(
            "index_pending",
            index.pending,
            "States that the index serves from memory.",
        );
    }
    if let Some(spans) = spans {
        text.counter(
            "spans_sent_total",
            spans.sent,
            "Spans that the collector accepted.",
        );
        text.counter(
            "spans_lost_total",
            spans.lost,
            "Spans that nobody will see.",
        );
    }
    text.0
}

fn show_node(text: &mut Text, node: &NodeMetrics) {
    text.counter(
        "batches_total",
        node.batches,
        "Transactions that were committed.",
    );
    text.counter(
        "commands_total",
        node.commands,
        "Commands that were applied.",
    );
    text.counter("events_total", node.events, "Events that were written.");
    text.counter(
        "commit_conflicts_total",
        node.conflicts,
        "Commits that met another writer.",
    );
    text.counter(
        "unknown_outcomes_total",
        node.unknown_outcomes,
        "Outcomes found out later.",
    );
    text.counter(
        "command_panics_total",
        node.panics,
        "Commands that panicked.",
    );
}

fn show_slots(text: &mut Text, node: &NodeMetrics) {
    text.counter(
        "forwarded_total",
        node.forwarded,
        "Commands handed to the nodes that own their slots.",
    );
    text.counter(
        "reads_from_memory_total",
        node.reads_from_memory,
        "Reads answered without asking the store.",
    );
    text.counter(
        "announced_slots_total",
        node.announced_slots,
        "Slots with commits that the other nodes were told of.",
    );
    text.counter(
        "heard_slots_total",
        node.heard_slots,
        "Slots with commits that other nodes told of.",
    );
    text.counter(
        "sweeps_total",
        node.sweeps,
        "Looks at all slots of others without word of a commit.",
    );
    text.counter("slots_taken_total", node.slots_taken, "Slots taken.");
    text.counter(
        "slots_handed_over_total",
        node.slots_handed_over,
        "Slots handed over to another node.",
    );
    text.counter(
        "handover_waits_total",
        node.handover_waits,
        "Commands that waited for a slot on its way to another node, once for each look.",
    );
    text.counter(
        "commit_turns_waited_total",
        node.turns_waited_for,
        "Batches that waited for others on their way to the store.",
    );
    text.counter("beats_total", node.beats, "Beats that committed.");
    text.counter(
        "missed_beats_total",
        node.missed_beats,
        "Beats that did not.",
    );
    text.counter(
        "cut_offs_total",
        node.cut_offs,
        "Times that this node gave its slots up, cut off from the bus.",
    );
    text.counter(
        "fences_total",
        node.fences,
        "Silent nodes that this one fenced.",
    );
    text.counter(
        "fenced_runs_total",
        node.fenced_runs,
        "Runs of this node that others fenced.",
    );
}

fn show_scopes(text: &mut Text, node: &NodeMetrics) {
    text.counter(
        "scope_activations_total",
        node.activations,
        "Scope actors started.",
    );
    text.counter(
        "scope_passivations_total",
        node.passivations,
        "Scope actors put away.",
    );
    text.counter(
        "relayed_total",
        node.relayed,
        "Runs of events told to the bus.",
    );
    text.counter(
        "streamed_total",
        node.streamed,
        "Runs of events told to the streams that all nodes reach.",
    );
    text.counter(
        "streams_lost_total",
        node.streams_lost,
        "Times that a stream had lost what it had acknowledged.",
    );
    text.counter(
        "indexed_total",
        node.indexed,
        "Entries stored in the index.",
    );
    text.counter(
        "promotions_total",
        node.promotions,
        "Promotions that were finished.",
    );
    text.counter(
        "promotion_failures_total",
        node.promotion_failures,
        "Failed attempts at one.",
    );
    text.gauge(
        "active_scopes",
        node.active_scopes,
        "Scope actors that are there.",
    );
    text.gauge(
        "queued_commands",
        node.queued_commands,
        "Commands waiting or under way.",
    );
    text.gauge("queued_bytes", node.queued_bytes, "Bytes of those.");
    text.family(
        "sillok_refusals_total",
        "counter",
        "Refusals by code and rule.",
    );
    for ((code, rule), count) in &node.refusals {
        let labels = format!("{{code=\"{code}\",rule=\"{rule}\"}}");
        text.line("sillok_refusals_total", &labels, *count);
    }
}

struct Text(String);

impl Text {
    fn counter(&mut self, name: &str, value: u64, help: &str) {
        self.single(name, "counter", value, help);
    }

    fn gauge(&mut self, name: &str, value: u64, help: &str) {
        self.single(name, "gauge", value, help);
    }

    fn single(&mut self, name: &str, kind: &str, value: u64, help: &str) {
        let name = format!("sillok_{name}");
        self.family(&name, kind, help);
        self.line(&name, "", value);
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}")
            .expect("a string takes any text");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        writeln!(self.0, "{name}{labels} {value}").expect("a string takes any text");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_status_and_in_rising_buckets() {
        let http = HttpCounters::default();
        http.count(StatusCode::OK, Duration::from_micros(80));
        http.count(StatusCode::OK, Duration::from_millis(3));
        http.count(StatusCode::CONFLICT, Duration::from_mins(1));
        let text = show(&http, 2, &NodeMetrics::default(), None, None);
        for line in [
            "sillok_http_requests_total{status=\"200\"} 2",
            "sillok_http_requests_total{status=\"409\"} 1",
            "sillok_http_request_seconds_bucket{le=\"0.000100\"} 1",
            "sillok_http_request_seconds_bucket{le=\"0.005000\"} 2",
            "sillok_http_request_seconds_bucket{le=\"+Inf\"} 3",
            "sillok_http_request_seconds_sum 60.003080",
            "sillok_http_requests_in_flight 2",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} in\n{text}");
        }
    }
}
