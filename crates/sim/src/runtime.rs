//! One node's runtime: it runs until nothing is left to do, and only when it is told to.
//!
//! Owns quiescence. A current-thread runtime without timers and I/O parks exactly when every task
//! waits for something that only the world can bring. Tasks that go on and on never let it park, and
//! tokio says so to nobody: a thread of the process prompts whoever settles now and then, and who was
//! prompted counts turns. The clock decides when to count, and never what is found.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

/// Turns that tasks are given after each prompt. In a turn up to 61 tasks are polled.
const TURNS: u32 = 10_000;
/// Prompts after which tasks that still go on are taken to do so for ever.
const PROMPTS_MAX: u32 = 10;
/// Time between two prompts. The tasks of a world wait after some microseconds.
const PROMPT_EVERY: Duration = Duration::from_millis(200);

#[derive(Default)]
struct Quiet {
    reached: AtomicBool,
    is_prompted: AtomicBool,
    waiting: Mutex<Option<Waker>>,
}

impl Quiet {
    fn reach(&self) {
        self.reached.store(true, Ordering::Relaxed);
        self.wake();
    }

    fn prompt(&self) {
        self.is_prompted.store(true, Ordering::Relaxed);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waiting.lock().take() {
            waker.wake();
        }
    }
}

/// Tasks that do not come to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restless;

/// A runtime of the world. Dropping it drops every task, as a crash does.
pub(crate) struct Runtime {
    tokio: tokio::runtime::Runtime,
    quiet: Arc<Quiet>,
}

impl Runtime {
    pub(crate) fn new() -> Self {
        let quiet = Arc::new(Quiet::default());
        prompt_now_and_then(&quiet);
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
    ///
    /// # Errors
    /// After more turns than any world needs, tasks still go on.
    pub(crate) fn settle(&self) -> Result<(), Restless> {
        self.quiet.reached.store(false, Ordering::Relaxed);
        let quiet = &self.quiet;
        let (mut prompts, mut turns) = (0, 0);
        self.tokio.block_on(poll_fn(|context| {
            if quiet.reached.load(Ordering::Relaxed) {
                return Poll::Ready(Ok(()));
            }
            if turns == 0 && quiet.is_prompted.swap(false, Ordering::Relaxed) {
                prompts += 1;
                turns = TURNS;
            }
            if turns > 0 {
                // Whoever is woken is polled again when the turn is over, parked or not.
                turns -= 1;
                context.waker().wake_by_ref();
            } else if prompts >= PROMPTS_MAX {
                return Poll::Ready(Err(Restless));
            }
            *quiet.waiting.lock() = Some(context.waker().clone());
            Poll::Pending
        }))
    }
}

/// Prompts a runtime as long as it lives, from the one thread of the process that does so.
#[expect(
    clippy::disallowed_methods,
    reason = "a prompt moves nothing in a world, but only tasks that go on for ever are seen by it"
)]
fn prompt_now_and_then(quiet: &Arc<Quiet>) {
    static ALL: Mutex<Vec<Weak<Quiet>>> = Mutex::new(Vec::new());
    static ONCE: Once = Once::new();
    ALL.lock().push(Arc::downgrade(quiet));
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            loop {
                std::thread::sleep(PROMPT_EVERY);
                ALL.lock().retain(|quiet| {
                    let quiet = quiet.upgrade();
                    quiet.inspect(|quiet| quiet.prompt()).is_some()
                });
            }
        });
    });
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
        assert_eq!(runtime.settle(), Ok(()));
        assert_eq!(count.load(Ordering::Relaxed), 1_000);
        assert_eq!(runtime.settle(), Ok(()));
        assert_eq!(count.load(Ordering::Relaxed), 1_000);
        send.send(()).unwrap();
        assert_eq!(runtime.settle(), Ok(()));
        assert_eq!(count.load(Ordering::Relaxed), 1_001);
    }

    #[test]
    fn tasks_that_go_on_for_ever_are_left_and_those_that_wait_are_not() {
        let runtime = Runtime::new();
        runtime.spawn(async {
            for _ in 0..3 * TURNS {
                tokio::task::yield_now().await;
            }
        });
        assert_eq!(runtime.settle(), Ok(()));
        for _ in 0..2 {
            runtime.spawn(async {
                loop {
                    tokio::task::yield_now().await;
                }
            });
        }
        assert_eq!(runtime.settle(), Err(Restless));
        // Whoever waits at the time of a prompt, or is prompted too late, is none of them.
        let runtime = Runtime::new();
        runtime.quiet.prompt();
        assert_eq!(runtime.settle(), Ok(()));
    }
}
