//! Nodes that die and nodes that end, under load: how long until every scope takes writes again, and for how
//! long one waits at most.
//!
//! Each node in turn is killed while clients still ask it, and later drained once they ask the others, as
//! under a load balancer. In between it comes back and gets its share again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use sillok_core::scope::Scope;
use tokio::runtime::Runtime;

use super::bed::{self, Bed, NODES, Owners, others};
use super::writers::{Acked, Asked, Writers};
use crate::error::Error;
use crate::gauge::histogram;
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;

/// Floors: from the kill to full service, from the signal to the end of the hand-over, and of a stall.
const TAKEOVER_S_MAX: f64 = 6.0;
const DRAIN_S_MAX: f64 = 2.0;
const STALL_MS_MAX: f64 = 300.0;
/// The part of a node's slots that is not handed over at most: what was under way there for too long.
const TAKEN_MAX: f64 = 0.33;
/// The longest that any of it is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// The wait between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// From the moment that clients ask a node no longer to the signal that ends it.
const NOTICE: Duration = Duration::from_millis(200);
/// How long after a drain stalls still belong to it.
const AFTER: Duration = Duration::from_secs(1);

/// What the drains gave.
#[derive(Default)]
struct Drains {
    slots: u64,
    taken: u64,
    handed_over: Duration,
    ended: Duration,
    calm: Duration,
    stall: Duration,
    joining: Duration,
    given_again: usize,
}

/// Measures both.
///
/// # Errors
/// What a node answered that no retry mends, or that a scope is not served any more.
pub(super) fn measure(runtime: &Runtime, scale: &Scale, report: &mut Report) -> Result<(), Error> {
    runtime.block_on(Box::pin(both(scale, report)))
}

async fn both(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    // As nodes run: a slot is served once its index has what others published there.
    let mut bed = Bed::start(&NODES, &[("SILLOK__INDEX__ENGINE", "lance")]).await?;
    let projects = scale.cluster.writers + scale.cluster.idle;
    let scopes: Vec<Scope> = (0..projects).map(|number| bed::task(number, "t")).collect();
    bed.open(NODES[0], &scopes).await?;
    let mut owners = bed.rest(&NODES).await?;
    let scopes = &scopes[..scale.cluster.writers];
    bed.publish(NODES[0], scopes, scale.cluster.entries).await?;
    let mut writers = Writers::start(&bed, &NODES, scopes);
    let (mut full, mut of_scopes) = (Duration::ZERO, histogram());
    for victim in &NODES[..scale.cluster.rounds] {
        tokio::time::sleep(scale.window.warm).await;
        let (served, owned) = killed(&mut bed, &mut writers, victim, scopes, &owners).await?;
        full = full.max(owned);
        for took in served {
            full = full.max(took);
            of_scopes.saturating_record(us(took));
        }
        bed.start_again(victim).await;
        writers.joins(victim, bed.address(victim));
        owners = bed.rest(&NODES).await?;
    }
    report.add(takeover_row(full, &of_scopes));
    let mut drains = Drains::default();
    for victim in &NODES[..scale.cluster.rounds] {
        drained(&mut bed, &mut writers, victim, scale, &mut drains).await?;
    }
    writers.stop().await?;
    add(report, &drains);
    Ok(())
}

/// Kills a node: from then on, how long each of its scopes takes until it was written to again, and all slots until
/// each is served.
async fn killed(
    bed: &mut Bed,
    writers: &mut Writers,
    victim: &str,
    scopes: &[Scope],
    owners: &Owners,
) -> Result<(Vec<Duration>, Duration), Error> {
    let is_its = |writer: &usize| bed::owner(owners, &scopes[*writer]) == victim;
    let its: Vec<usize> = (0..scopes.len()).filter(is_its).collect();
    if its.is_empty() {
        return Err(Error::Wrong(format!("{victim} owns nothing")));
    }
    let begun = Instant::now();
    bed.kill(victim);
    let gone = Instant::now();
    let mut back: BTreeMap<usize, Instant> = BTreeMap::new();
    while !its.iter().all(|writer| back.contains_key(writer)) {
        tokio::time::sleep(LOOK_EVERY).await;
        // What it acknowledged just before it was gone counts for nothing.
        for acked in writers.take()? {
            if acked.given >= gone {
                back.entry(acked.writer).or_insert(acked.at);
            }
        }
        if begun.elapsed() > PATIENCE {
            return Err(Error::Wrong(format!("nobody serves what {victim} had")));
        }
    }
    let served = its.iter().map(|writer| back[writer] - begun).collect();
    // Those too that nobody writes to.
    while !bed.is_served(&others(victim)).await? {
        if begun.elapsed() > PATIENCE {
            return Err(Error::Wrong(format!("nobody serves all that {victim} had")));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok((served, begun.elapsed()))
}

/// Drains a node, and starts it again.
async fn drained(
    bed: &mut Bed,
    writers: &mut Writers,
    victim: &str,
    scale: &Scale,
    drains: &mut Drains,
) -> Result<(), Error> {
    let others = others(victim);
    let other = others[0];
    writers.take()?;
    let calm = Instant::now();
    tokio::time::sleep(scale.window.measured).await;
    drains.calm = drains.calm.max(stall(&writers.take()?, calm));
    writers.leaves(victim);
    tokio::time::sleep(NOTICE).await;
    let slots = |seen: &sillok_server::api::ClusterView| {
        let node = seen.nodes.iter().find(|node| node.name == victim);
        node.map_or((0, false), |node| (node.slots, node.living))
    };
    drains.slots = drains.slots.max(slots(&bed.view(other).await?).0);
    let taken = bed.counted("sillok_takeovers_total", &others).await?;
    let mut node = bed.take(victim);
    let begun = Instant::now();
    node.signal("TERM");
    while slots(&bed.view(other).await?).1 {
        if begun.elapsed() > PATIENCE {
            return Err(Error::Wrong(format!("{victim} does not end")));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    drains.handed_over = drains.handed_over.max(begun.elapsed());
    let status = tokio::task::block_in_place(|| node.ends_within(PATIENCE));
    drains.ended = drains.ended.max(begun.elapsed());
    if !status.is_some_and(|status| status.success()) {
        let said = node.said();
        return Err(Error::Wrong(format!("{victim} ended badly: {said}")));
    }
    tokio::time::sleep(AFTER).await;
    let taken = bed.counted("sillok_takeovers_total", &others).await? - taken;
    drains.taken = drains.taken.max(taken);
    let acked = writers.take()?;
    drains.stall = drains.stall.max(stall(&acked, begun));
    let again = acked.iter().map(|acked| acked.asked.len() - 1);
    drains.given_again += again.sum::<usize>();
    let joining = Instant::now();
    bed.start_again(victim).await;
    writers.joins(victim, bed.address(victim));
    bed.rest(&NODES).await?;
    tokio::time::sleep(AFTER).await;
    // What was given before the node joined, and answered only now, waited for the drain.
    let (late, since): (Vec<Acked>, Vec<Acked>) = writers
        .take()?
        .into_iter()
        .partition(|acked| acked.begun < joining);
    drains.stall = drains.stall.max(stall(&late, begun));
    drains.joining = drains.joining.max(stall(&since, joining));
    Ok(())
}

/// The longest that a command took which was acknowledged since a moment. One over the floor is told: who was asked.
fn stall(acked: &[Acked], since: Instant) -> Duration {
    let acked = acked.iter().filter(|acked| acked.at >= since);
    let Some(longest) = acked.max_by_key(|acked| acked.at - acked.begun) else {
        return Duration::ZERO;
    };
    let took = longest.at - longest.begun;
    if ms(took) > STALL_MS_MAX {
        let from = ms(longest.begun.saturating_duration_since(since));
        let asked: Vec<String> = longest.asked.iter().map(Asked::to_string).collect();
        let (writer, took, asked) = (longest.writer, ms(took), asked.join("; "));
        let told =
            format!("a command of writer {writer} took {took} ms from {from} ms on: {asked}");
        let _ = writeln!(std::io::stderr(), "{told}");
    }
    took
}

fn us(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

fn takeover_row(full: Duration, of_scopes: &Histogram<u64>) -> Row {
    let what =
        "cluster: after a kill, until its scopes are written to again and all slots are served";
    Row::new(what, full.as_secs_f64(), "s")
        .with_latency(of_scopes)
        .with_floor(Floor::AtMost(TAKEOVER_S_MAX))
}

fn add(report: &mut Report, drains: &Drains) {
    let slots = drains.slots;
    let handed_over = drains.handed_over.as_secs_f64();
    let what = format!("cluster: drain of a node with {slots} slots, until they are handed over");
    report.add(Row::new(what, handed_over, "s").with_floor(Floor::AtMost(DRAIN_S_MAX)));
    let what = "cluster: drain, slots that were taken from it, since it had not handed them over";
    let taken = Row::new(what, drains.taken as f64, "slots");
    report.add(taken.with_floor(Floor::AtMost(slots as f64 * TAKEN_MAX)));
    report.add(Row::new(
        "cluster: drain, until the process has ended",
        drains.ended.as_secs_f64(),
        "s",
    ));
    let what = "cluster: drain, the longest stall of a scope";
    report.add(Row::new(what, ms(drains.stall), "ms").with_floor(Floor::AtMost(STALL_MS_MAX)));
    for (what, stall) in [
        ("before a drain", drains.calm),
        ("while a node joins", drains.joining),
    ] {
        let what = format!("cluster: {what}, the longest stall of a scope");
        report.add(Row::new(what, ms(stall), "ms"));
    }
    report.add(Row::new(
        "cluster: drain, commands that were given again",
        drains.given_again as f64,
        "commands",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_that_of_one_command_and_what_ended_before_does_not_count() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let acked = |begun, ended| Acked {
            writer: 0,
            begun: at(begun),
            given: at(ended),
            at: at(ended),
            asked: Vec::new(),
        };
        let all = [acked(0, 900), acked(950, 1_200), acked(1_250, 1_260)];
        assert_eq!(stall(&all, at(1_000)), Duration::from_millis(250));
        assert_eq!(stall(&[], at(0)), Duration::ZERO);
    }
}
