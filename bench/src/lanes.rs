//! A node under clients that each wait for their last answer, in lanes of one scope each.
//!
//! Owns how many there are, when they end, and how many commands a batch had meanwhile. As many wait at each scope that a
//! batch is full when the one before it ends. It must not know what they submit.

use std::path::Path;
use std::sync::Arc;

use sillok_actors::{Node, NodeConfig};
use sillok_store::FjallStore;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::engines::start_node;
use crate::error::Error;
use crate::gauge::{Gauge, Measured};
use crate::scale::Scale;
use crate::workload::{SUBMITTERS, Texts};

/// How far the first texts of two clients are apart.
const APART: usize = 31;

/// One of those who wait at a scope.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) node: Node<FjallStore>,
    pub(crate) gauge: Arc<Gauge>,
    pub(crate) texts: Arc<Texts>,
    pub(crate) lane: usize,
    /// The number of its first text.
    pub(crate) first: usize,
}

/// What was measured, and how many commands a batch had. Lanes are made ready one after the other.
///
/// # Errors
/// Whatever the first client failed with, or a lane while it was made ready.
pub(crate) fn load<Ready, Works>(
    runtime: &Runtime,
    folder: &Path,
    lanes: usize,
    scale: &Scale,
    ready: impl Fn(Node<FjallStore>, usize) -> Ready,
    works: impl Fn(Client) -> Works,
) -> Result<(Measured, f64), Error>
where
    Ready: Future<Output = Result<(), Error>>,
    Works: Future<Output = Result<(), Error>> + Send + 'static,
{
    let node = runtime.block_on(start_node(folder, NodeConfig::default()))?;
    let gauge = Arc::new(Gauge::new(lanes));
    let texts = Arc::new(Texts::new());
    let mut clients: Vec<JoinHandle<()>> = Vec::with_capacity(lanes * SUBMITTERS);
    for lane in 0..lanes {
        runtime.block_on(ready(node.clone(), lane))?;
        for number in 0..SUBMITTERS {
            let gauge = Arc::clone(&gauge);
            let works = works(Client {
                node: node.clone(),
                gauge: Arc::clone(&gauge),
                texts: Arc::clone(&texts),
                lane,
                first: (lane * SUBMITTERS + number) * APART,
            });
            clients.push(runtime.spawn(async move {
                if let Err(error) = works.await {
                    gauge.fail(error);
                }
            }));
        }
    }
    let measured = gauge.measure(scale.window)?;
    runtime.block_on(futures::future::join_all(clients));
    let metrics = node.metrics();
    runtime.block_on(node.shutdown());
    let batch = metrics.commands as f64 / metrics.batches.max(1) as f64;
    Ok((measured, batch))
}
