//! Many scopes: what an idle actor costs in memory, and how fast a cold scope answers.
//!
//! In a fresh process a node opens a task in each of many scopes and puts no actor away; the growth
//! of the resident size, divided by the actors, is the memory of an idle one. The store's own
//! buffers were filled before, so that their growth does not count as the actors'. Then a second
//! node starts on the same store. Each of its scopes is cold: its first command starts the actor and
//! reads the scope's rows. The command is one that is refused, opening the task again, so that its
//! answer waits for no disk: submit to answer is activation and nothing else.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use futures::stream;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use sillok_actors::{Node, NodeConfig};
use sillok_builtin::ExactIndex;
use sillok_core::ErrorCode;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_store::FjallStore;

use crate::engines::{folder, open_store, ports, runtime};
use crate::error::Error;
use crate::gauge::{elapsed_us, histogram};
use crate::memory::{fresh_process, status_bytes};
use crate::report::{Floor, Report, Row};
use crate::scale::Scale;
use crate::workload::{Texts, append, open_task, principal, scope, submission, task};

/// Longer than any run.
const NEVER_MS: u64 = 24 * 60 * 60 * 1_000;
/// Commands under way while scopes are touched.
const IN_FLIGHT: usize = 512;
/// Records that fill the store's buffers first, for each scope that is touched later.
const FILL_PER_SCOPE: u64 = 2;
/// The floor for the memory of an idle actor, in kB of 1,000 bytes.
const ACTOR_KB_MAX: f64 = 10.0;
/// The floor for the activation of a scope, in ms.
const ACTIVATION_P99_MS_MAX: f64 = 1.0;

/// What the fresh process found.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Touched {
    /// Scopes that were touched, and live actors then.
    scopes: u64,
    live: u64,
    /// Growth of the resident size while they were touched, in bytes.
    grown_bytes: u64,
    /// How long touching them took, in seconds.
    seconds: f64,
    /// Activation of cold scopes, in microseconds.
    activation_p50_us: u64,
    activation_p99_us: u64,
}

/// Measures a fresh process.
///
/// # Errors
/// What the process answered.
pub(crate) fn measure(scale: &Scale, report: &mut Report) -> Result<(), Error> {
    let folder = folder()?;
    let (scopes, probes) = (scale.scopes.to_string(), scale.activations.to_string());
    let touched: Touched = fresh_process(&["child-scopes", &scopes, &probes], folder.path())?;
    if touched.live < u64::from(scale.scopes) {
        return Err(Error::Wrong(format!(
            "{} of {scopes} actors are live",
            touched.live
        )));
    }
    let each_kb = touched.grown_bytes as f64 / touched.live as f64 / 1_000.0;
    let p99_ms = touched.activation_p99_us as f64 / 1_000.0;
    let row = Row::new(
        "scopes: touched, all actors live",
        touched.scopes as f64,
        "scopes",
    );
    report.add(row.with_floor(Floor::AtLeast(f64::from(scale.scopes))));
    report.add(Row::new(
        "scopes: first touch",
        touched.scopes as f64 / touched.seconds,
        "scopes/s",
    ));
    report.add(
        Row::new("scopes: memory of an idle actor", each_kb, "kB")
            .with_floor(Floor::AtMost(ACTOR_KB_MAX)),
    );
    report.add(Row::new(
        "scopes: activation p50",
        touched.activation_p50_us as f64 / 1_000.0,
        "ms",
    ));
    let row = Row::new("scopes: activation p99", p99_ms, "ms");
    report.add(row.with_floor(Floor::AtMost(ACTIVATION_P99_MS_MAX)));
    Ok(())
}

/// The load, in the fresh process.
///
/// # Errors
/// What the node answered.
pub(crate) fn child(scopes: u32, probes: u32, folder: &Path) -> Result<Touched, Error> {
    runtime()?.block_on(async {
        let store = open_store(folder)?;
        let config = NodeConfig {
            passivate_after_ms: NEVER_MS,
            ..NodeConfig::default()
        };
        let node = start(&store, config).await?;
        fill(&node, u64::from(scopes) * FILL_PER_SCOPE).await?;
        let live_before = node.metrics().active_scopes;
        let resident_before = status_bytes("self", "VmRSS:")?;
        let began = Instant::now();
        touch(&node, scopes).await?;
        let seconds = began.elapsed().as_secs_f64();
        let grown_bytes = status_bytes("self", "VmRSS:")?.saturating_sub(resident_before);
        let live = node.metrics().active_scopes - live_before;
        node.shutdown().await;
        drop(node);
        let node = start(&store, NodeConfig::default()).await?;
        let activation = activate(&node, scopes, probes).await?;
        node.shutdown().await;
        Ok(Touched {
            scopes: u64::from(scopes),
            live,
            grown_bytes,
            seconds,
            activation_p50_us: activation.value_at_quantile(0.5),
            activation_p99_us: activation.value_at_quantile(0.99),
        })
    })
}

async fn start(store: &FjallStore, config: NodeConfig) -> Result<Node<FjallStore>, Error> {
    Ok(Node::start(store.clone(), ports(Arc::new(ExactIndex::new())), config).await?)
}

fn touched_scope(number: u32) -> Scope {
    scope(&format!(
        "org/bench/project/w{}/worktree/main/task/t{number}",
        number % 1_000
    ))
}

/// Fills the store's buffers through one scope.
async fn fill(node: &Node<FjallStore>, records: u64) -> Result<(), Error> {
    let (scope, agent, texts) = (task(0), principal(PrincipalKind::Agent), Texts::new());
    node.submit(submission(&scope, &agent, open_task())).await?;
    let appends = (0..records)
        .zip(0..)
        .map(|(_, number)| node.submit(submission(&scope, &agent, append(texts.get(number)))));
    let mut appends = stream::iter(appends).buffer_unordered(IN_FLIGHT);
    while let Some(answer) = appends.next().await {
        answer?;
    }
    Ok(())
}

/// Opens a task in each scope.
async fn touch(node: &Node<FjallStore>, scopes: u32) -> Result<(), Error> {
    let agent = principal(PrincipalKind::Agent);
    let opens = (0..scopes)
        .map(|number| node.submit(submission(&touched_scope(number), &agent, open_task())));
    let mut opens = stream::iter(opens).buffer_unordered(IN_FLIGHT);
    while let Some(answer) = opens.next().await {
        answer?;
    }
    Ok(())
}

/// Asks cold scopes, one after the other, spread over all of them.
async fn activate(
    node: &Node<FjallStore>,
    scopes: u32,
    probes: u32,
) -> Result<Histogram<u64>, Error> {
    let agent = principal(PrincipalKind::Agent);
    let stride = (scopes / probes.max(1)).max(1);
    let mut latency = histogram();
    for number in
        (0..scopes).step_by(usize::try_from(stride).expect("an address has 32 bits or more"))
    {
        let command = submission(&touched_scope(number), &agent, open_task());
        let sent = Instant::now();
        let answer = node.submit(command).await;
        latency.saturating_record(elapsed_us(sent));
        match answer {
            Err(refusal) if refusal.code == ErrorCode::Conflict => {}
            other => return Err(Error::Wrong(format!("opening a task again gave {other:?}"))),
        }
    }
    if node.metrics().activations < latency.len() {
        return Err(Error::Wrong(
            "a scope that was asked was not cold".to_owned(),
        ));
    }
    Ok(latency)
}
