//! What a change of an ordinary decision affects, in the graph of the hubs: a walk from decision to decision.
//!
//! Such a decision has a few that depend on it and some that it constrains or validates, each of these has as many, and so on, so
//! that a walk looks at thousands of decisions to its last step, where that of a hub has its fill with the first. Each impact is
//! asked for once and lies elsewhere, and one that ends before its third step measures nothing.

use std::time::Instant;

use hdrhistogram::Histogram;
use sillok_core::impact::ImpactLimits;
use sillok_core::limits::IMPACT_MS_MAX;

use super::{Asker, Overrun, P99_MS_MAX, SHORT_MS, WARM};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::report::{Floor, Report, Row};
use crate::runs::{RUNS, together, worst_ms};

/// From one start to the next: no divisor of how many decisions there are.
const STRIDE: usize = 997;
/// Steps that a walk takes at least.
const DEPTH_MIN: u32 = 3;

/// Asks for impacts of ordinary decisions, with the limits of nodes and depth, with the limit of time that the server adds, and with
/// shorter ones.
///
/// # Errors
/// What the node answered; a walk that went nowhere.
pub(super) async fn measure(
    asker: &Asker<'_>,
    who: &str,
    impacts: usize,
    overrun: &mut Overrun,
    report: &mut Report,
) -> Result<(), Error> {
    let (mut counted, mut timed) = (Walks::new(), Walks::new());
    for run in 0..RUNS {
        let first = run * impacts;
        counted
            .add(asker, first..first + impacts, None, overrun)
            .await?;
        timed
            .add(asker, first..first + impacts, Some(IMPACT_MS_MAX), overrun)
            .await?;
        for ms_max in SHORT_MS {
            let mut short = Walks::new();
            let few = first..first + impacts / 4;
            short.add(asker, few, Some(ms_max), overrun).await?;
        }
    }
    for (limits, walks) in [
        ("nodes and depth", counted),
        ("nodes, depth and time", timed),
    ] {
        let mean = walks.affected as f64 / walks.asked as f64;
        let what = format!(
            "impact: a decision that leads to {mean:.0} others on average, asked from {who}, limits of {limits}, p99, worst of {RUNS} runs"
        );
        let row = Row::new(what, worst_ms(&walks.runs, 0.99), "ms");
        let row = row.with_latency(&together(&walks.runs));
        report.add(row.with_floor(Floor::AtMost(P99_MS_MAX)));
    }
    Ok(())
}

/// Impacts that were asked for with the same limits.
struct Walks {
    runs: Vec<Histogram<u64>>,
    asked: u64,
    affected: u64,
}

impl Walks {
    const fn new() -> Self {
        Self {
            runs: Vec::new(),
            asked: 0,
            affected: 0,
        }
    }

    /// One run more, over starts with these numbers.
    async fn add(
        &mut self,
        asker: &Asker<'_>,
        numbers: std::ops::Range<usize>,
        ms_max: Option<u64>,
        overrun: &mut Overrun,
    ) -> Result<(), Error> {
        let mut latency = histogram();
        let numbers = numbers.start..numbers.end + WARM;
        for (asked, number) in numbers.enumerate() {
            let start = asker.graph.ordinary(number * STRIDE);
            let (starts, limits) = (vec![start.clone()], ImpactLimits::default());
            let sent = Instant::now();
            let impact = asker
                .node
                .impact_of_standing(&asker.viewer, starts, limits, ms_max);
            let impact = impact.await?;
            let us = elapsed_us(sent);
            let is_cut = impact.cut.is_some_and(|cut| cut.time);
            let depth = impact.affected.last().map_or(0, |one| one.depth);
            if !is_cut && depth < DEPTH_MIN {
                let why = format!("what {start} affects ends after {depth} steps");
                return Err(Error::Wrong(why));
            }
            if asked < WARM {
                continue;
            }
            self.asked += 1;
            self.affected += impact.affected.len() as u64;
            latency.saturating_record(us);
            if let Some(ms_max) = ms_max {
                overrun.see(us, ms_max, is_cut);
            }
        }
        self.runs.push(latency);
        Ok(())
    }
}

/// One run without a limit of time.
#[cfg(test)]
pub(super) async fn walk(
    asker: &Asker<'_>,
    numbers: std::ops::Range<usize>,
    overrun: &mut Overrun,
) -> Result<(), Error> {
    Walks::new().add(asker, numbers, None, overrun).await
}
