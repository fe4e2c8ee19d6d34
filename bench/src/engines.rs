//! The engines that programs in this process run on: a store on the real disk, and what fills the
//! ports.
//!
//! Owns where files are put. It must not know what is measured.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use sillok_actors::{Node, NodeConfig, Ports};
use sillok_builtin::{CommitGraph, ExactIndex, HashEmbedder, RuleCognifier};
use sillok_core::ports::VectorIndex;
use sillok_core::slot::{SLOT_HASH, SLOTS};
use sillok_server::system::{SystemClock, rng_factory};
use sillok_store::{FjallConfig, FjallStore, Layout};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::error::Error;

/// The variable that names where files are put.
const FOLDER_VARIABLE: &str = "SILLOK_BENCH_DIR";
/// The status of a process whose disk failed while it was measured.
const EXIT_STORE_FAILED: i32 = 70;

/// An empty folder on the disk that is measured; removed when it is dropped. It lies in
/// `SILLOK_BENCH_DIR`, or beside this binary: a system's folder for temporary files may have no
/// disk at all.
///
/// # Errors
/// What the file system answered.
pub(crate) fn folder() -> Result<TempDir, Error> {
    let named = std::env::var_os(FOLDER_VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    let parent = match named {
        Some(named) => named,
        None => std::env::current_exe()?.with_file_name("sillok-bench-data"),
    };
    std::fs::create_dir_all(&parent)?;
    Ok(tempfile::Builder::new().prefix("run-").tempdir_in(parent)?)
}

/// Has the system write what a preparation left in its memory, so that what is measured waits for the disk alone.
///
/// # Errors
/// What `sync` answered.
pub(crate) fn write_back() -> Result<(), Error> {
    let program = "sync";
    let status = Command::new(program).status()?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Process {
        program: program.into(),
        why: status.to_string(),
    })
}

/// The runtime that a server has.
///
/// # Errors
/// What the operating system answered.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?)
}

/// A store in a folder, as a server opens it.
///
/// # Errors
/// What the store answered.
pub(crate) fn open_store(path: &Path) -> Result<FjallStore, Error> {
    let layout = Layout {
        generation_at_creation: 1,
        slot_count: u32::from(SLOTS),
        slot_hash: SLOT_HASH.to_owned(),
    };
    let end_process = |_reason: &str| std::process::exit(EXIT_STORE_FAILED);
    Ok(FjallStore::open(&FjallConfig::new(
        path,
        layout,
        Arc::new(end_process),
    ))?)
}

/// What fills the ports around an index.
pub(crate) fn ports(index: Arc<dyn VectorIndex>) -> Ports {
    Ports {
        clock: Arc::new(SystemClock),
        rng: rng_factory(),
        index,
        embedder: Arc::new(HashEmbedder),
        next: None,
        cognifier: Arc::new(RuleCognifier),
        git: Arc::new(CommitGraph::default()),
        peers: None,
        streams: None,
        calendar: None,
        checkpoints: None,
        tracer: None,
        beats: None,
    }
}

/// A node on a store in a folder, with the exact index, which appends never touch.
///
/// # Errors
/// What the store or the node answered.
pub(crate) async fn start_node(path: &Path, config: NodeConfig) -> Result<Node<FjallStore>, Error> {
    let store = open_store(path)?;
    Ok(Node::start(store, ports(Arc::new(ExactIndex::new())), config).await?)
}
