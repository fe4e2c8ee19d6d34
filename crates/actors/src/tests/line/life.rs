//! How long the process on this side of a line lives: it ends at one of its calls to the store.
//!
//! It must not know what is called.

use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is left to a process that goes on.
const LIVES: u64 = u64::MAX;
/// What is left to one that has ended.
const ENDED: u64 = u64::MAX - 1;

/// The life of a process, by its calls to the store.
pub(super) struct Life {
    /// Calls that are left.
    left: AtomicU64,
    /// Whether the call at which it ends still reaches the store.
    reaches: AtomicBool,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            left: AtomicU64::new(LIVES),
            reaches: AtomicBool::new(false),
        }
    }
}

impl Life {
    /// Ends at the call with this number from now on, from 0.
    pub(super) fn end_at(&self, call: u64, reaches: bool) {
        self.reaches.store(reaches, Ordering::Relaxed);
        self.left.store(call, Ordering::Relaxed);
    }

    /// Carries a call out, unless the process has ended by then: then nobody hears of it.
    pub(super) async fn call<T>(&self, call: impl Future<Output = T>) -> T {
        let left = self.left.load(Ordering::Relaxed);
        match left {
            LIVES => return call.await,
            ENDED => return pending().await,
            0 => {}
            _ => {
                self.left.store(left - 1, Ordering::Relaxed);
                return call.await;
            }
        }
        self.left.store(ENDED, Ordering::Relaxed);
        if self.reaches.load(Ordering::Relaxed) {
            call.await;
        }
        pending().await
    }
}
