//! The threads of the index: searches, merges and index builds never run on the runtime of the
//! caller, which serves commits.
//!
//! Owns the runtime and its end. It must not know what runs on it.

use std::future::Future;

use crate::error::Error;

/// A runtime of the index's own.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Taken when the pool is dropped.
    runtime: Option<tokio::runtime::Runtime>,
}

impl Pool {
    /// Starts `threads` threads.
    pub(crate) fn start(threads: usize) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("sillok-vectors")
            .enable_all()
            .build()
            .map_err(|source| Error::Io {
                path: "the runtime of the vector index".into(),
                source,
            })?;
        Ok(Self {
            runtime: Some(runtime),
        })
    }

    /// Runs `work` on the pool. It goes on when the caller stops waiting.
    pub(crate) fn run<T, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T, Error>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let runtime = self
            .runtime
            .as_ref()
            .expect("the runtime is there until the pool is dropped");
        let task = runtime.spawn(work);
        async move {
            task.await.unwrap_or_else(|error| match error.is_panic() {
                true => Err(Error::Panicked(error.to_string())),
                false => Err(Error::Task(error.to_string())),
            })
        }
    }

    /// Runs `work` on the pool while the calling thread waits: for start-up, on any thread.
    pub(crate) fn run_blocking<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let (sender, receiver) = std::sync::mpsc::channel();
        let task = self.run(work);
        let runtime = self
            .runtime
            .as_ref()
            .expect("the runtime is there until the pool is dropped");
        runtime.spawn(async move {
            // Nobody listens any more only when the waiting thread is gone.
            let _ = sender.send(task.await);
        });
        receiver
            .recv()
            .unwrap_or_else(|error| Err(Error::Task(error.to_string())))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting here would panic on a thread of another runtime.
            runtime.shutdown_background();
        }
    }
}
