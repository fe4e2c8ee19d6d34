//! One node's runtime: it runs until nothing is left to do, and only when it is told to.
//!
//! Owns quiescence. A current-thread runtime without timers and I/O parks exactly when every task
//! waits for something that only the world can bring.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;

#[derive(Default)]
struct Quiet {
    reached: AtomicBool,
    waiting: Mutex<Option<Waker>>,
}

impl Quiet {
    fn reach(&self) {
        self.reached.store(true, Ordering::Relaxed);
        if let Some(waker) = self.waiting.lock().take() {
            waker.wake();
        }
    }
}

/// A runtime of the world. Dropping it drops every task, as a crash does.
pub(crate) struct Runtime {
    tokio: tokio::runtime::Runtime,
    quiet: Arc<Quiet>,
}

impl Runtime {
    pub(crate) fn new() -> Self {
        let quiet = Arc::new(Quiet::default());
        let parks = Arc::clone(&quiet);
        let tokio = tokio::runtime::Builder::new_current_thread()
            .on_thread_park(move || parks.reach())
            .build()
            .expect("a runtime without timers and I/O needs nothing of the system");
        Self { tokio, quiet }
    }

    /// Adds a task; it runs at the next [`settle`](Self::settle).
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.tokio.spawn(task));
    }

    /// Runs until every task waits.
    pub(crate) fn settle(&self) {
        self.quiet.reached.store(false, Ordering::Relaxed);
        let quiet = &self.quiet;
        self.tokio.block_on(poll_fn(|context| {
            if quiet.reached.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            *quiet.waiting.lock() = Some(context.waker().clone());
            Poll::Pending
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn it_settles_when_all_tasks_wait_and_not_before() {
        let runtime = Runtime::new();
        let done = Arc::new(AtomicUsize::new(0));
        let (send, receive) = oneshot::channel::<()>();
        let (steps, count) = (Arc::clone(&done), Arc::clone(&done));
        runtime.spawn(async move {
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
                steps.fetch_add(1, Ordering::Relaxed);
            }
            receive.await.unwrap();
            tokio::spawn(async move {
                steps.fetch_add(1, Ordering::Relaxed);
            });
        });
        runtime.settle();
        assert_eq!(count.load(Ordering::Relaxed), 1_000);
        runtime.settle();
        assert_eq!(count.load(Ordering::Relaxed), 1_000);
        send.send(()).unwrap();
        runtime.settle();
        assert_eq!(count.load(Ordering::Relaxed), 1_001);
    }
}
