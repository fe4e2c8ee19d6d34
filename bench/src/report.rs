//! The table: figures, floors, ratios, latencies; as text and as a document.
//!
//! Owns the form and the comparison between rows. It must not know how a figure came about.

use std::io::{self, Write};

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::gauge::Measured;

/// Names a row that another row is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The store alone, as wide as the actors.
    Store,
    /// Scope actors, at their widest.
    Actors,
    /// SQLite under contending writers.
    SqliteContending,
    /// SQLite behind a queue.
    SqliteQueued,
    /// Writes of many clients to one node.
    OneNode,
    /// Writes of many clients to three nodes, each to the owner.
    Owner,
    /// Writes of many clients to three nodes, each to one that is not the owner.
    Routed,
    /// Entries that maintenance takes out.
    Prune,
    /// The same in SQLite, row by row.
    SqlitePrune,
    /// How long a write of few clients to the owner takes in the middle, in microseconds.
    OwnerP50,
    /// The same of one that is routed.
    RoutedP50,
    /// How long a write of few clients to the owner takes at the end, in microseconds.
    OwnerP99,
    /// The same of one that is routed.
    RoutedP99,
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Floor {
    /// It is at least this.
    AtLeast(f64),
    /// It is at most this.
    AtMost(f64),
}

/// What is shown as a share of something else, and which share it must reach.
const COMPARISONS: [(Key, Option<f64>, Key, &str); 8] = [
    (
        Key::Actors,
        Some(0.5),
        Key::Store,
        "actors over the store alone",
    ),
    (
        Key::Actors,
        Some(4.0),
        Key::SqliteContending,
        "actors over SQLite, contending",
    ),
    (
        Key::Actors,
        Some(0.8),
        Key::SqliteQueued,
        "actors over SQLite, queued",
    ),
    (
        Key::Prune,
        None,
        Key::SqlitePrune,
        "a prune over SQLite, row by row",
    ),
    (
        Key::Owner,
        None,
        Key::OneNode,
        "three nodes over one, the owner asked",
    ),
    (
        Key::Routed,
        None,
        Key::Owner,
        "routed writes over local ones",
    ),
    (
        Key::RoutedP50,
        None,
        Key::OwnerP50,
        "p50 of a routed write over that of a local one",
    ),
    (
        Key::RoutedP99,
        None,
        Key::OwnerP99,
        "p99 of a routed write over that of a local one",
    ),
];

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    what: String,
    figure: f64,
    unit: &'static str,
    floor: Option<Floor>,
    /// Of the acknowledgement, in microseconds.
    latency_us: Option<(u64, u64)>,
}

impl Row {
    /// A figure.
    pub(crate) fn new(what: impl Into<String>, figure: f64, unit: &'static str) -> Self {
        Self {
            what: what.into(),
            figure,
            unit,
            floor: None,
            latency_us: None,
        }
    }

    /// Records in a second, with the latency of their acknowledgement.
    pub(crate) fn rate(what: impl Into<String>, measured: &Measured) -> Self {
        Self::new(what, measured.rate(), "records/s").with_latency(&measured.latency)
    }

    /// With the latency of the acknowledgement.
    pub(crate) fn with_latency(mut self, latency: &Histogram<u64>) -> Self {
        self.latency_us = Some((
            latency.value_at_quantile(0.5),
            latency.value_at_quantile(0.99),
        ));
        self
    }

    /// With a floor.
    pub(crate) const fn with_floor(mut self, floor: Floor) -> Self {
        self.floor = Some(floor);
        self
    }

    /// How far the figure is past its floor: 1 or more when the floor holds.
    fn ratio(&self) -> Option<f64> {
        match self.floor? {
            Floor::AtLeast(floor) => Some(self.figure / floor),
            // Nothing at all is exactly at a floor of nothing.
            Floor::AtMost(0.0) if self.figure == 0.0 => Some(1.0),
            Floor::AtMost(floor) => Some(floor / self.figure.max(f64::MIN_POSITIVE)),
        }
    }

    fn holds(&self) -> bool {
        self.ratio().is_none_or(|ratio| ratio >= 1.0)
    }
}

/// Everything that was measured.
pub(crate) struct Report {
    rows: Vec<Row>,
    keyed: Vec<(Key, f64)>,
    floors_count: bool,
}

impl Report {
    /// An empty one. Without floors, every figure is good.
    pub(crate) const fn new(floors_count: bool) -> Self {
        Self {
            rows: Vec::new(),
            keyed: Vec::new(),
            floors_count,
        }
    }

    /// Adds a line.
    pub(crate) fn add(&mut self, row: Row) {
        assert!(
            row.figure.is_finite() && row.figure >= 0.0,
            "{}: a figure is a number",
            row.what
        );
        self.rows.push(if self.floors_count {
            row
        } else {
            Row { floor: None, ..row }
        });
    }

    /// Adds a line that others are compared with.
    pub(crate) fn add_keyed(&mut self, key: Key, row: Row) {
        self.note(key, row.figure);
        self.add(row);
    }

    /// Notes a figure that has no line of its own, to compare others with.
    pub(crate) fn note(&mut self, key: Key, figure: f64) {
        self.keyed.push((key, figure));
    }

    /// Adds the comparisons between lines that were measured in this run.
    pub(crate) fn compare(&mut self) {
        for (ours, share, theirs, what) in COMPARISONS {
            if let (Some(ours), Some(theirs)) = (self.figure(ours), self.figure(theirs)) {
                let row = Row::new(what, ours / theirs, "times");
                self.add(match share {
                    Some(share) => row.with_floor(Floor::AtLeast(share)),
                    None => row,
                });
            }
        }
    }

    /// The best figure of a kind.
    fn figure(&self, wanted: Key) -> Option<f64> {
        let figures = self.keyed.iter().filter(|(key, _)| *key == wanted);
        figures.map(|(_, figure)| *figure).reduce(f64::max)
    }

    /// Whether every floor holds.
    pub(crate) fn holds(&self) -> bool {
        self.rows.iter().all(Row::holds)
    }

    /// Prints the table.
    ///
    /// # Errors
    /// When nobody reads it.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let width = self
            .rows
            .iter()
            .map(|row| row.what.chars().count())
            .max()
            .unwrap_or(0);
        writeln!(
            out,
            "{:<width$}  {:>12} {:<10} {:>12} {:>7} {:>10} {:>10}",
            "what", "figure", "unit", "floor", "ratio", "p50 ms", "p99 ms"
        )?;
        for row in &self.rows {
            let floor = row.floor.map_or(String::new(), |floor| match floor {
                Floor::AtLeast(floor) => format!(">= {}", number(floor)),
                Floor::AtMost(floor) => format!("<= {}", number(floor)),
            });
            let ratio = row
                .ratio()
                .map_or(String::new(), |ratio| format!("{ratio:.2}"));
            let ms = |us: u64| format!("{:.3}", us as f64 / 1_000.0);
            let (p50, p99) = row
                .latency_us
                .map_or_else(Default::default, |(p50, p99)| (ms(p50), ms(p99)));
            let verdict = if row.holds() { "" } else { "  MISSED" };
            let line = format!(
                "{:<width$}  {:>12} {:<10} {floor:>12} {ratio:>7} {p50:>10} {p99:>10}{verdict}",
                row.what,
                number(row.figure),
                row.unit,
            );
            writeln!(out, "{}", line.trim_end())?;
        }
        let missed = self.rows.iter().filter(|row| !row.holds()).count();
        match (self.floors_count, missed) {
            (false, _) => writeln!(out, "a quick run: no floor counts"),
            (true, 0) => writeln!(out, "every floor holds"),
            (true, missed) => writeln!(out, "{missed} missed"),
        }
    }

    /// The table as a document.
    pub(crate) fn document(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(document_of).collect();
        json!({ "rows": rows, "floors_count": self.floors_count, "holds": self.holds() })
    }
}

fn document_of(row: &Row) -> Value {
    let (at_least, at_most) = match row.floor {
        Some(Floor::AtLeast(floor)) => (Some(floor), None),
        Some(Floor::AtMost(floor)) => (None, Some(floor)),
        None => (None, None),
    };
    json!({
        "what": row.what,
        "figure": row.figure,
        "unit": row.unit,
        "at_least": at_least,
        "at_most": at_most,
        "ratio": row.ratio(),
        "holds": row.holds(),
        "p50_us": row.latency_us.map(|(p50, _)| p50),
        "p99_us": row.latency_us.map(|(_, p99)| p99),
    })
}

/// A number with as many digits as one reads: whole from 100 on.
fn number(value: f64) -> String {
    if value >= 100.0 || value.fract() == 0.0 {
        let digits = format!("{value:.0}");
        let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(' ');
            }
            grouped.push(digit);
        }
        grouped
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(figure: f64, floor: Floor) -> Report {
        let mut report = Report::new(true);
        report.add(Row::new("a thing", figure, "ms").with_floor(floor));
        report
    }

    #[test]
    fn a_floor_is_missed_on_its_own_side() {
        assert!(report(10.0, Floor::AtLeast(10.0)).holds());
        assert!(!report(9.9, Floor::AtLeast(10.0)).holds());
        assert!(report(10.0, Floor::AtMost(10.0)).holds());
        assert!(!report(10.1, Floor::AtMost(10.0)).holds());
        assert!(report(0.0, Floor::AtMost(0.0)).holds());
        assert!(!report(1.0, Floor::AtMost(0.0)).holds());
    }

    #[test]
    fn rows_are_compared_once_both_were_measured() {
        let mut report = Report::new(true);
        report.add_keyed(Key::Actors, Row::new("actors", 40.0, "records/s"));
        report.compare();
        assert!(report.holds(), "there is nothing to compare with");
        report.add_keyed(Key::Store, Row::new("store", 100.0, "records/s"));
        report.compare();
        assert!(!report.holds(), "40 is less than half of 100");
    }

    #[test]
    fn a_comparison_without_a_share_is_shown_and_misses_nothing() {
        let mut report = Report::new(true);
        report.note(Key::RoutedP50, 30.0);
        report.note(Key::OwnerP50, 10.0);
        report.compare();
        assert!(report.holds());
        assert_eq!(report.document()["rows"][0]["figure"], 3.0);
    }

    #[test]
    fn a_missed_floor_shows_in_the_table_and_in_the_document() {
        let report = report(1_234_567.0, Floor::AtMost(10.0));
        let mut text = Vec::new();
        report.print(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.contains("1 234 567 ms") && text.contains("MISSED"),
            "{text}"
        );
        assert_eq!(report.document()["holds"], false);
        assert_eq!(report.document()["rows"][0]["at_most"], 10.0);
    }

    #[test]
    fn a_quick_run_has_no_floors() {
        let mut report = Report::new(false);
        report.add(Row::new("a thing", 1.0, "ms").with_floor(Floor::AtLeast(2.0)));
        assert!(report.holds());
    }
}
