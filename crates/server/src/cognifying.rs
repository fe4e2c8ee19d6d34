//! Cognifiers beside the runtime: drawing knowledge from a long task must not hold up the threads
//! that serve commits.
//!
//! Owns where a cognifier runs. As many run at once as a node has workers for promotions.

use sillok_core::ports::{BoxFuture, Cognifier, PortError};
use sillok_core::promotion::{CognifyInput, Cognition};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// A cognifier that computes, on a thread that nothing else waits for.
#[derive(Clone, Copy, Debug)]
pub struct Aside<C>(pub C);

impl<C: Cognifier> Cognifier for Aside<C> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn cognify<'a>(
        &'a self,
        input: &'a CognifyInput,
    ) -> BoxFuture<'a, Result<Cognition, PortError>> {
        Box::pin(async move {
            let runtime = Handle::current();
            let computed = self.0.cognify(input);
            match runtime.runtime_flavor() {
                // Its other tasks move to another thread meanwhile.
                RuntimeFlavor::MultiThread => block_in_place(|| runtime.block_on(computed)),
                // A runtime of one thread has no other.
                _ => computed.await,
            }
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use sillok_core::promotion::Unread;
    use sillok_core::scope::Scope;
    use sillok_core::verification::Outcome;

    use super::*;

    /// Computes until it is told that another task of the same thread has run.
    struct Stubborn(Arc<AtomicBool>);

    impl Cognifier for Stubborn {
        fn name(&self) -> &str {
            "stubborn"
        }

        fn cognify<'a>(
            &'a self,
            _input: &'a CognifyInput,
        ) -> BoxFuture<'a, Result<Cognition, PortError>> {
            Box::pin(async move {
                while !self.0.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                Ok(Cognition::default())
            })
        }
    }

    /// A task of which nothing is recorded.
    pub(crate) fn nothing() -> CognifyInput {
        CognifyInput {
            task: Scope::parse("org/a/project/b/worktree/c/task/d").unwrap(),
            title: String::new(),
            description: String::new(),
            outcome: Outcome::Passed,
            error: None,
            approach: None,
            opening: None,
            records: Vec::new(),
            unread: Unread::default(),
        }
    }

    #[test]
    fn what_computes_holds_up_nothing_else() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let other_ran = Arc::new(AtomicBool::new(false));
        let cognifier = Aside(Stubborn(Arc::clone(&other_ran)));
        let drawn = runtime.spawn(async move {
            // Behind this task, on the only thread there is.
            tokio::spawn(async move { other_ran.store(true, Ordering::Release) });
            cognifier.cognify(&nothing()).await
        });
        assert!(runtime.block_on(drawn).unwrap().is_ok());
    }
}
