//! Saves of decisions: a node under commands that each save one.
//!
//! Clients are those of [`crate::scope_actors`]: enough wait at each scope that a batch is full when the one before it ends,
//! and each gives its next command when the last one is acknowledged, which is after the fsync. Each begins a chain, then
//! changes it, and then begins the next. What a save means to others is not asked for: the server looks that up behind the
//! commit. Each run has a store of its own, and the slowest counts.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use sillok_actors::{Node, NodeConfig};
use sillok_core::command::AnswerBody;
use sillok_core::decision::{self, NewDecision, Relation, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_store::FjallStore;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::chains;
use crate::engines::{folder, runtime, start_node};
use crate::error::Error;
use crate::gauge::{Gauge, Measured};
use crate::report::{Floor, Report, Row};
use crate::runs::RUNS;
use crate::scale::Scale;
use crate::workload::{SUBMITTERS, Texts, principal, scope, submission};

/// Projects that the scopes lie in.
const PROJECTS: usize = 10;
/// Files that decisions apply to.
const FILES: usize = 1_000;
/// The floor.
const SAVES_A_SECOND_MIN: f64 = 4_000.0;

/// Measures as many scopes as the widest load has.
///
/// # Errors
/// What the node answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let runtime = runtime()?;
    let mut slowest: Option<(Measured, f64)> = None;
    for _ in 0..RUNS {
        let folder = folder()?;
        let (measured, batch) = load(&runtime, folder.path(), scale)?;
        let is_slower = |(slowest, _): &(Measured, f64)| measured.rate() < slowest.rate();
        if slowest.as_ref().is_none_or(is_slower) {
            slowest = Some((measured, batch));
        }
    }
    let (measured, batch) = slowest.expect("there is at least one run");
    let scopes = scale.wide;
    let what = format!(
        "decisions: saves, {scopes} scopes, {batch:.0} commands a batch, slowest of {RUNS} runs"
    );
    let row = Row::new(what, measured.rate(), "saves/s").with_latency(&measured.latency);
    report.add(row.with_floor(Floor::AtLeast(SAVES_A_SECOND_MIN)));
    Ok(())
}

/// What was measured, and how many commands a batch had.
fn load(runtime: &Runtime, folder: &Path, scale: &Scale) -> Result<(Measured, f64), Error> {
    let node = runtime.block_on(start_node(folder, NodeConfig::default()))?;
    let gauge = Arc::new(Gauge::new(scale.wide));
    let texts = Arc::new(Texts::new());
    let mut savers: Vec<JoinHandle<()>> = Vec::with_capacity(scale.wide * SUBMITTERS);
    for lane in 0..scale.wide {
        let scope = worktree(lane);
        for number in 0..SUBMITTERS {
            let (node, gauge, texts, scope) = (
                node.clone(),
                Arc::clone(&gauge),
                Arc::clone(&texts),
                scope.clone(),
            );
            let first = (lane * SUBMITTERS + number) * 31;
            savers.push(runtime.spawn(async move {
                if let Err(error) = save_on(&node, &gauge, &texts, lane, &scope, first).await {
                    gauge.fail(error);
                }
            }));
        }
    }
    let measured = gauge.measure(scale.window)?;
    runtime.block_on(futures::future::join_all(savers));
    let metrics = node.metrics();
    runtime.block_on(node.shutdown());
    Ok((
        measured,
        metrics.commands as f64 / metrics.batches.max(1) as f64,
    ))
}

/// A worktree, in which an agent may save decisions without a task.
fn worktree(number: usize) -> Scope {
    let project = number % PROJECTS;
    scope(&format!("org/bench/project/p{project}/worktree/w{number}"))
}

async fn save_on(
    node: &Node<FjallStore>,
    gauge: &Gauge,
    texts: &Texts,
    lane: usize,
    scope: &Scope,
    first: usize,
) -> Result<(), Error> {
    let agent = principal(PrincipalKind::Agent);
    let mut begun: Option<DecisionId> = None;
    let mut next = first;
    while gauge.is_on() {
        let text = text(texts, next);
        let command = match begun {
            None => chains::begin(text),
            Some(root) => chains::change(root, 1, text),
        };
        let command = submission(scope, &agent, command);
        let sent = Instant::now();
        let answer = node.submit(command).await?;
        gauge.acknowledged(lane, sent, 1);
        let AnswerBody::Decision { root, .. } = answer.result else {
            let why = format!("a save was answered with {:?}", answer.result);
            return Err(Error::Wrong(why));
        };
        begun = begun.is_none().then_some(root);
        next += 1;
    }
    Ok(())
}

/// What a decision says: as much as a record does, about one file.
fn text(texts: &Texts, number: usize) -> NewDecision {
    let path = format!("src/module_{}.rs", number % FILES);
    let to = decision::Node::file(&path).expect("the path of a file of the load");
    NewDecision {
        relations: vec![Relation {
            kind: RelationKind::AppliesTo,
            to,
        }],
        ..chains::normal(format!("Decision {number}"), texts.get(number))
    }
}
