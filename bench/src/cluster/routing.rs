//! The cost of a routed write: clients that ask the owner, clients that ask another node, and one node that
//! has nobody to ask.

use std::sync::Arc;

use sillok_core::scope::Scope;
use tokio::runtime::Runtime;

use super::bed::{self, Bed, NODES, another};
use crate::error::Error;
use crate::gauge::Measured;
use crate::http::{Lane, load};
use crate::report::{Key, Report, Row};
use crate::scale::Scale;
use crate::workload::Texts;

/// Clients of the load that shows how long a write takes.
const FEW: usize = 5;

/// Who is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The only node there is.
    One,
    /// Of three, the one that owns the scope.
    Owner,
    /// Of three, one that does not.
    Another,
}

/// Measures all of them.
///
/// # Errors
/// What a node answered, or that it was not the one that was meant.
pub(super) fn measure(runtime: &Runtime, scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let texts = Arc::new(Texts::new());
    for names in [&NODES[..1], &NODES[..]] {
        let bed = runtime.block_on(Bed::start(names, &[]))?;
        let asked: &[Asked] = match names {
            [_one] => &[Asked::One],
            _ => &[Asked::Owner, Asked::Another],
        };
        for asked in asked {
            for clients in [FEW, scale.wide] {
                let measured = one(runtime, &bed, names, *asked, clients, scale, &texts)?;
                add(report, *asked, clients == scale.wide, clients, &measured);
            }
        }
    }
    Ok(())
}

/// One load, and the proof that its writes were routed if and only if they were to be.
fn one(
    runtime: &Runtime,
    bed: &Bed,
    names: &[&str],
    asked: Asked,
    clients: usize,
    scale: &Scale,
    texts: &Arc<Texts>,
) -> Result<Measured, Error> {
    let name = format!("{}-{clients}", asked as u8);
    let opened: Vec<Scope> = (0..clients)
        .map(|project| bed::task(project, &format!("before-{name}")))
        .collect();
    let owners = runtime.block_on(async {
        bed.open(names[0], &opened).await?;
        bed.rest(names).await
    })?;
    let lane = |project| {
        let scope = bed::task(project, &name);
        let owner = bed::owner(&owners, &scope);
        let node = match asked {
            Asked::One | Asked::Owner => owner,
            Asked::Another => another(owner),
        };
        Lane {
            address: bed.address(node).to_owned(),
            scope,
        }
    };
    let lanes = (0..clients).map(lane).collect();
    let before = runtime.block_on(bed.forwarded(names))?;
    let measured = load(lanes, bed.token(), texts, 1, scale.window)?;
    let forwarded = runtime.block_on(bed.forwarded(names))? - before;
    let is_as_meant = match asked {
        Asked::One | Asked::Owner => forwarded == 0,
        Asked::Another => forwarded >= measured.records,
    };
    if is_as_meant {
        return Ok(measured);
    }
    Err(Error::Wrong(format!(
        "{forwarded} commands were routed, with {} records acknowledged",
        measured.records
    )))
}

fn add(report: &mut Report, asked: Asked, is_wide: bool, clients: usize, measured: &Measured) {
    let what = match asked {
        Asked::One => "one node",
        Asked::Owner => "three nodes, the owner asked",
        Asked::Another => "three nodes, another one asked",
    };
    let row = Row::rate(format!("cluster: {what}, {clients} clients"), measured);
    let (rate, latencies) = match asked {
        Asked::One => (Key::OneNode, None),
        Asked::Owner => (Key::Owner, Some((Key::OwnerP50, Key::OwnerP99))),
        Asked::Another => (Key::Routed, Some((Key::RoutedP50, Key::RoutedP99))),
    };
    if is_wide {
        return report.add_keyed(rate, row);
    }
    report.add(row);
    if let Some((p50, p99)) = latencies {
        report.note(p50, measured.latency.value_at_quantile(0.5) as f64);
        report.note(p99, measured.latency.value_at_quantile(0.99) as f64);
    }
}
