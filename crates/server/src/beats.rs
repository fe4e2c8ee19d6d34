//! The thread that a node's beats have to themselves: however busy the others are, it beats in time, and
//! no other node takes it for dead.
//!
//! Owns the thread. What a beat is, the node knows.

use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// The thread. What runs on it is dropped with it.
pub(crate) struct BeatThread {
    /// There until it is dropped.
    runtime: Option<Runtime>,
}

impl BeatThread {
    /// Starts it.
    ///
    /// # Errors
    /// What the operating system answered.
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("sillok-beats")
            .enable_all()
            .build()?;
        Ok(Self {
            runtime: Some(runtime),
        })
    }

    /// What spawns onto it.
    pub(crate) fn handle(&self) -> Handle {
        let runtime = self.runtime.as_ref();
        runtime.expect("it is there until then").handle().clone()
    }
}

impl Drop for BeatThread {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped where nothing may wait.
            runtime.shutdown_background();
        }
    }
}
