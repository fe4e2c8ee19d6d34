//! Scope actors in process: a node under commands of one record each.
//!
//! Enough submitters wait at each scope that a batch is full when the one before it ends. Each
//! submits its next command when the last one is acknowledged.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sillok_actors::{Node, NodeConfig};
use sillok_core::principal::{Principal, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_store::FjallStore;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::engines::{folder, runtime, start_node};
use crate::error::Error;
use crate::gauge::{Gauge, Measured};
use crate::report::{Key, Report, Row};
use crate::scale::Scale;
use crate::workload::{SUBMITTERS, Texts, append, open_task, principal, submission, task};

/// Measures 1, 5 and many scopes, each on a store of its own.
///
/// # Errors
/// What the node answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let runtime = runtime()?;
    for scopes in [1, 5, scale.wide] {
        let folder = folder()?;
        let (measured, batch) = load(&runtime, folder.path(), scopes, scale)?;
        let what = format!("scope actors: {scopes} scopes, {batch:.0} commands a batch");
        let row = Row::rate(what, &measured);
        if scopes == scale.wide {
            report.add_keyed(Key::Actors, row);
        } else {
            report.add(row);
        }
    }
    Ok(())
}

/// What was measured, and how many commands a batch had.
fn load(
    runtime: &Runtime,
    folder: &Path,
    scopes: usize,
    scale: &Scale,
) -> Result<(Measured, f64), Error> {
    let node = runtime.block_on(start_node(folder, NodeConfig::default()))?;
    let gauge = Arc::new(Gauge::new(scopes));
    let texts = Arc::new(Texts::new());
    let mut submitters: Vec<JoinHandle<()>> = Vec::with_capacity(scopes * SUBMITTERS);
    for lane in 0..scopes {
        let scope = task(lane);
        runtime.block_on(node.submit(submission(&scope, &agent(), open_task())))?;
        for number in 0..SUBMITTERS {
            let (node, gauge, texts, scope) = (
                node.clone(),
                Arc::clone(&gauge),
                Arc::clone(&texts),
                scope.clone(),
            );
            let first = (lane * SUBMITTERS + number) * 31;
            submitters.push(runtime.spawn(async move {
                if let Err(error) = submit_on(&node, &gauge, &texts, lane, &scope, first).await {
                    gauge.fail(error);
                }
            }));
        }
    }
    let measured = gauge.measure(scale.window)?;
    runtime.block_on(futures::future::join_all(submitters));
    let metrics = node.metrics();
    runtime.block_on(node.shutdown());
    Ok((
        measured,
        metrics.commands as f64 / metrics.batches.max(1) as f64,
    ))
}

fn agent() -> Principal {
    principal(PrincipalKind::Agent)
}

async fn submit_on(
    node: &Node<FjallStore>,
    gauge: &Gauge,
    texts: &Texts,
    lane: usize,
    scope: &Scope,
    first: usize,
) -> Result<(), Error> {
    let agent = agent();
    let mut next = first;
    while gauge.is_on() {
        let command = submission(scope, &agent, append(texts.get(next)));
        let sent = Instant::now();
        node.submit(command).await?;
        gauge.acknowledged(lane, sent, 1);
        next += 1;
    }
    Ok(())
}
