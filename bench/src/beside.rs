//! Appends beside a run of maintenance: how long each takes, first alone, and then in every phase of the run.
//!
//! Owns the load, the phases as the run tells them, and their rows. It must not know what the run takes out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use sillok_actors::Node;
use sillok_actors::maintenance::{Maintain, Maintained, Progress};
use sillok_core::principal::PrincipalKind;
use sillok_store::FjallStore;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::bed::Running;
use crate::error::Error;
use crate::gauge::histogram;
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;
use crate::workload::{Texts, append, open_task, principal, submission, task};

/// Who appends: so many, each with a task of its own, and an append each so often.
const WRITERS: usize = 8;
const EVERY: Duration = Duration::from_millis(20);
/// How often the run is asked how far it is.
const LOOK: Duration = Duration::from_millis(1);
/// How many times slower appends may be at the end, and how slow, in ms.
const SLOWER_MAX: f64 = 5.0;
const APPEND_P99_MS_MAX: f64 = 20.0;

/// Appends alone, and beside a run.
pub(crate) struct Beside {
    idle: Histogram<u64>,
    during: Histogram<u64>,
    /// Of those that were under way in each phase.
    phases: Vec<(Phase, Histogram<u64>)>,
    /// How long the run took.
    ran: Duration,
}

/// When an append was to be sent, and when it was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Append {
    due: Instant,
    done: Instant,
}

/// What a run does, in its order. It tells no more of what comes after the last entry went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// It finds what is due.
    Planning,
    /// It takes that out.
    Retiring,
    /// It offers skills, forgets answers, and compacts and indexes the tables.
    Optimising,
}

impl Phase {
    const fn at(progress: &Progress) -> Self {
        if progress.planned == 0 {
            Self::Planning
        } else if progress.retired < progress.planned {
            Self::Retiring
        } else {
            Self::Optimising
        }
    }

    const fn what(self) -> &'static str {
        match self {
            Self::Planning => "it is planned",
            Self::Retiring => "entries go",
            Self::Optimising => "answers are forgotten and tables optimised",
        }
    }
}

/// Measures appends alone, and while a whole run goes. What the run did is for the caller to judge.
///
/// # Errors
/// What the node answered to an append or to the run.
pub(crate) async fn measure(
    running: &Running,
    scale: &Scale,
) -> Result<(Beside, Maintained), Error> {
    let agent = principal(PrincipalKind::Agent);
    for number in 0..WRITERS {
        let open = submission(&task(number), &agent, open_task());
        running.node.submit(open).await?;
    }
    appends(running, scale.window.warm).await?;
    let idle = latencies(&appends(running, scale.window.measured).await?);
    let (stop, stopped) = watch::channel(false);
    let load = tokio::spawn(append_until(running.node.clone(), stopped.clone()));
    let began = Instant::now();
    let phases = tokio::spawn(phases_until(running.node.clone(), began, stopped));
    let done = running.node.maintain(&Maintain::whole()).await;
    let over = Instant::now();
    // Whoever appends may have failed before.
    let _ = stop.send(true);
    let during = joined(load).await??;
    let begun = joined(phases).await?;
    let beside = Beside {
        idle,
        phases: in_phases(&during, &begun, over),
        during: latencies(&during),
        ran: over.duration_since(began),
    };
    Ok((beside, done?))
}

/// Appends for a while.
async fn appends(running: &Running, span: Duration) -> Result<Vec<Append>, Error> {
    let (stop, stopped) = watch::channel(false);
    let load = tokio::spawn(append_until(running.node.clone(), stopped));
    tokio::time::sleep(span).await;
    let _ = stop.send(true);
    joined(load).await?
}

async fn joined<T>(task: JoinHandle<T>) -> Result<T, Error> {
    task.await.map_err(|panic| Error::Wrong(panic.to_string()))
}

/// Appends in step with the clock, so that one that is late does not keep the next from being counted: each counts from
/// when it was to be sent.
async fn append_until(
    node: Node<FjallStore>,
    stopped: watch::Receiver<bool>,
) -> Result<Vec<Append>, Error> {
    let texts = Arc::new(Texts::new());
    let writers = (0..WRITERS).map(|number| {
        let (node, texts, stopped) = (node.clone(), Arc::clone(&texts), stopped.clone());
        tokio::spawn(async move {
            let (agent, scope) = (principal(PrincipalKind::Agent), task(number));
            // They do not all come at the same moment.
            let apart = EVERY.mul_f64(number as f64 / WRITERS as f64);
            let mut due = Instant::now() + apart;
            let mut next = number * 31;
            let mut appends = Vec::new();
            while !*stopped.borrow() {
                tokio::time::sleep_until(due.into()).await;
                let append = append(texts.get(next));
                node.submit(submission(&scope, &agent, append)).await?;
                let done = Instant::now();
                appends.push(Append { due, done });
                (due, next) = (due + EVERY, next + 1);
            }
            Ok::<_, Error>(appends)
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut appends = Vec::new();
    for writer in writers {
        appends.extend(joined(writer).await??);
    }
    Ok(appends)
}

/// When each phase of the run that begins now was seen first.
async fn phases_until(
    node: Node<FjallStore>,
    began: Instant,
    stopped: watch::Receiver<bool>,
) -> Vec<(Phase, Instant)> {
    let mut last = Phase::Planning;
    let mut begun = vec![(last, began)];
    while !*stopped.borrow() {
        // Before it is asked: what is felt of a phase is never counted to the one before alone.
        let now = Instant::now();
        let phase = node
            .maintenance_progress()
            .map_or(last, |progress| Phase::at(&progress));
        if phase > last {
            begun.push((phase, now));
            last = phase;
        }
        tokio::time::sleep(LOOK).await;
    }
    begun
}

/// How long those appends took that were under way in each phase: what two of them saw counts in both.
fn in_phases(
    appends: &[Append],
    begun: &[(Phase, Instant)],
    over: Instant,
) -> Vec<(Phase, Histogram<u64>)> {
    let ends = begun.iter().skip(1).map(|(_, at)| *at).chain([over]);
    let phases = begun.iter().copied().zip(ends);
    phases
        .map(|((phase, from), to)| {
            let under_way = |append: &&Append| append.due < to && append.done > from;
            (phase, latencies(appends.iter().filter(under_way)))
        })
        .collect()
}

/// In microseconds.
fn latencies<'a>(appends: impl IntoIterator<Item = &'a Append>) -> Histogram<u64> {
    let mut latency = histogram();
    for append in appends {
        let took = append.done.duration_since(append.due);
        latency.saturating_record(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }
    latency
}

fn p99_ms(latency: &Histogram<u64>) -> f64 {
    latency.value_at_quantile(0.99) as f64 / 1_000.0
}

impl Beside {
    /// Adds its rows, those of a run over so many entries.
    pub(crate) fn report(&self, entries: u32, report: &mut Report) {
        let (idle, during) = (p99_ms(&self.idle), p99_ms(&self.during));
        let each_second = WRITERS as f64 / EVERY.as_secs_f64();
        let what = format!("appends, {each_second:.0} a second: p99 alone");
        report.add(Row::new(what, idle, "ms").with_latency(&self.idle));
        let what = format!("appends: p99 while {entries} entries are maintained");
        let row = Row::new(what, during, "ms").with_latency(&self.during);
        report.add(row.with_floor(Floor::AtMost(APPEND_P99_MS_MAX)));
        let row = Row::new("appends: p99 then over p99 alone", during / idle, "times");
        report.add(row.with_floor(Floor::AtMost(SLOWER_MAX)));
        let bound = APPEND_P99_MS_MAX.min(SLOWER_MAX * idle);
        // A short run has phases in which nobody appends.
        let felt = self.phases.iter().filter(|(_, some)| !some.is_empty());
        for (phase, latency) in felt {
            let what = format!("appends: p99 while {}", phase.what());
            let row = Row::new(what, p99_ms(latency), "ms").with_latency(latency);
            report.add(row.with_floor(Floor::AtMost(bound)));
        }
        report.add(Row::new(
            "maintenance: the run beside the appends",
            self.ran.as_secs_f64(),
            "s",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_counts_in_every_phase_that_it_was_under_way_in() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let append = |due, done| Append {
            due: at(due),
            done: at(done),
        };
        let appends = [append(0, 1), append(8, 12), append(20, 21), append(95, 101)];
        let begun = [
            (Phase::Planning, at(0)),
            (Phase::Retiring, at(10)),
            (Phase::Optimising, at(90)),
        ];
        let phases = in_phases(&appends, &begun, at(100));
        let counts: Vec<_> = phases
            .iter()
            .map(|(phase, latency)| (*phase, latency.len()))
            .collect();
        let expected = [
            (Phase::Planning, 2),
            (Phase::Retiring, 2),
            (Phase::Optimising, 1),
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_phase_is_what_the_run_tells() {
        let at = |planned, retired| {
            Phase::at(&Progress {
                entries: 10,
                looked_at: 10,
                planned,
                retired,
            })
        };
        assert_eq!(at(0, 0), Phase::Planning);
        assert_eq!(at(4, 0), Phase::Retiring);
        assert_eq!(at(4, 3), Phase::Retiring);
        assert_eq!(at(4, 4), Phase::Optimising);
    }
}
