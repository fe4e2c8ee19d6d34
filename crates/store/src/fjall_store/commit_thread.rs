//! The thread that makes groups durable, one fsync each, and answers their transactions.
//!
//! A group is whatever queued while the group before it was written: nothing waits for company.
//! Must not decide what commits; that is the committer's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use ::fjall::{AbstractTree as _, Database, Keyspace, PersistMode};
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::acknowledged::Acknowledged;
use super::config::OnFatal;
use super::header::Link;
use super::{Moment, Published, header};
use crate::committer::{Committer, Group, Outcome, Request};
use crate::{Committed, Error};

/// Where the answer of a transaction goes.
pub(super) type Ticket = oneshot::Sender<Result<Committed, Error>>;

/// L0 runs at which fjall itself would block a write without an end if its workers had died.
const L0_RUNS_MAX: usize = 20;
const STALL_POLL: Duration = Duration::from_millis(1);

/// Transactions on their way to the thread.
#[derive(Default)]
pub(super) struct Inbox {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    closed: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    requests: Vec<(Request, Ticket)>,
    thread_sleeps: bool,
    closed: bool,
}

impl Inbox {
    /// Hands a transaction over.
    ///
    /// # Errors
    /// `Closed` once the thread ended or was told to.
    pub(super) fn push(&self, request: Request, ticket: Ticket) -> Result<(), Error> {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(Error::Closed);
        }
        waiting.requests.push((request, ticket));
        let wake = std::mem::take(&mut waiting.thread_sleeps);
        drop(waiting);
        if wake {
            self.arrived.notify_one();
        }
        Ok(())
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Refuses what comes from now on; the thread still takes what waits.
    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.waiting.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Refuses what waits, and what comes from now on.
    fn refuse_all(&self) {
        self.close();
        let rest = std::mem::take(&mut self.waiting.lock().requests);
        for (_, ticket) in rest {
            let _ = ticket.send(Err(Error::Closed));
        }
    }

    /// Moves what arrived into `taken`, which is empty; waits for something if `idle`. False once
    /// the inbox is closed and empty.
    fn take(&self, taken: &mut Vec<(Request, Ticket)>, idle: bool) -> bool {
        assert!(taken.is_empty(), "what was taken before is queued by now");
        let mut waiting = self.waiting.lock();
        while idle && waiting.requests.is_empty() && !waiting.closed {
            waiting.thread_sleeps = true;
            self.arrived.wait(&mut waiting);
        }
        std::mem::swap(&mut waiting.requests, taken);
        !(waiting.closed && taken.is_empty())
    }
}

/// The running thread. Dropping it lets the thread finish what was handed over, then joins it.
pub(super) struct CommitThread {
    inbox: Arc<Inbox>,
    handle: Option<JoinHandle<()>>,
}

impl CommitThread {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the shell that drives the committer in production"
    )]
    pub(super) fn spawn(writer: Writer) -> Result<Self, Error> {
        let inbox = Arc::clone(&writer.inbox);
        let handle = Builder::new()
            .name("sillok-commit".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| Error::unavailable("starting the commit thread", error))?;
        Ok(Self {
            inbox,
            handle: Some(handle),
        })
    }
}

impl Drop for CommitThread {
    fn drop(&mut self) {
        self.inbox.close();
        if let Some(handle) = self.handle.take() {
            // A panic of the thread was reported by its own guard.
            let _ = handle.join();
        }
    }
}

/// What the thread owns.
pub(super) struct Writer {
    pub(super) committer: Committer<Ticket>,
    pub(super) database: Database,
    pub(super) keyspace: Keyspace,
    pub(super) acknowledged: Acknowledged,
    pub(super) sealed_memtables_max: usize,
    pub(super) inbox: Arc<Inbox>,
    pub(super) published: Arc<Published>,
    pub(super) on_fatal: OnFatal,
}

impl Writer {
    fn run(mut self) {
        let guard = PanicGuard {
            inbox: Arc::clone(&self.inbox),
            on_fatal: Arc::clone(&self.on_fatal),
        };
        let mut taken = Vec::new();
        while self.inbox.take(&mut taken, self.committer.queued() == 0)
            || self.committer.queued() > 0
        {
            for (request, ticket) in taken.drain(..) {
                let queued = self.committer.enqueue(request, ticket);
                assert!(queued.is_ok(), "this loop ends when the committer stops");
            }
            if let Err(error) = self.commit_group() {
                self.fail(&error);
                break;
            }
        }
        drop(guard);
    }

    fn commit_group(&mut self) -> Result<(), Error> {
        let moment = self.published.get();
        let Some(group) = self.committer.next_group(moment.as_ref())? else {
            return Ok(());
        };
        let previous = moment.counter;
        drop(moment);
        if group.txns > 0 {
            let counter = group.counter;
            self.write(group, previous)?;
            self.acknowledged.set(counter)?;
            self.published
                .set(Moment::take(&self.database, &self.keyspace, counter));
        }
        for (ticket, reply) in self.committer.complete(Outcome::Durable) {
            // The transaction's task may be gone; nobody is left to tell.
            let _ = ticket.send(reply);
        }
        Ok(())
    }

    fn write(&self, group: Group, previous: u64) -> Result<(), Error> {
        let engine = |error| Error::unavailable("committing", error);
        self.wait_for_room().map_err(engine)?;
        let mut batch =
            ::fjall::OwnedWriteBatch::with_capacity(self.database.clone(), group.writes.len() + 2)
                .durability(Some(PersistMode::SyncAll));
        // Nobody else writes batches, so the next number, or one soon after it, is this batch's.
        let seqno_min = self.database.seqno();
        let link = Link {
            previous,
            seqno_min,
        };
        for (key, value) in [header::counter_pair(group.counter), link.pair()] {
            batch.insert(&self.keyspace, key, value);
        }
        for (key, value) in group.writes {
            match value {
                Some(value) => batch.insert(&self.keyspace, key, value),
                None => batch.remove(&self.keyspace, key),
            }
        }
        batch.commit().map_err(engine)
    }

    /// Waits until fjall has room for a batch. Left to itself it would wait too, but in steps of
    /// 100 ms, and for ever if its workers died; here their death is found out at once.
    #[expect(
        clippy::disallowed_methods,
        reason = "fjall tells nobody when it has room again"
    )]
    fn wait_for_room(&self) -> Result<(), ::fjall::Error> {
        let tree = &self.keyspace.tree;
        while tree.sealed_memtable_count() >= self.sealed_memtables_max.max(1)
            || tree.l0_run_count() >= L0_RUNS_MAX
        {
            // Answers `Poisoned` after any error of a worker.
            self.database.persist(PersistMode::Buffer)?;
            std::thread::sleep(STALL_POLL);
        }
        Ok(())
    }

    /// Ends the process, or, should that return, answers everybody and commits nothing any more.
    fn fail(&mut self, error: &Error) {
        self.inbox.close();
        (self.on_fatal)(&reason(error));
        for (ticket, reply) in self.committer.complete(Outcome::Unknown) {
            let _ = ticket.send(reply);
        }
        self.inbox.refuse_all();
    }
}

/// The error with its sources, each once.
fn reason(error: &Error) -> String {
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        reason.push_str(": ");
        reason.push_str(&error.to_string());
        source = error.source();
    }
    reason
}

/// A panic on the commit thread is fatal like an I/O error: what it held is in an unknown state.
struct PanicGuard {
    inbox: Arc<Inbox>,
    on_fatal: OnFatal,
}

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.inbox.close();
            (self.on_fatal)("the commit thread panicked");
            self.inbox.refuse_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the end of a thread that panicked, or did not, is taken for fatal, and its inbox closed.
    fn ends_fatally(panics: bool) -> (Option<String>, bool) {
        let inbox: Arc<Inbox> = Arc::default();
        let heard: Arc<Mutex<Option<String>>> = Arc::default();
        let hearing = Arc::clone(&heard);
        let guard = PanicGuard {
            inbox: Arc::clone(&inbox),
            on_fatal: Arc::new(move |reason: &str| *hearing.lock() = Some(reason.to_owned())),
        };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _guard = guard;
            assert!(!panics, "the planted defect");
        }));
        assert_eq!(ended.is_err(), panics);
        let reason = heard.lock().take();
        (reason, inbox.is_closed())
    }

    #[test]
    fn a_panic_of_the_thread_is_fatal_and_closes_the_store() {
        let reason = Some("the commit thread panicked".to_owned());
        assert_eq!(ends_fatally(true), (reason, true));
        assert_eq!(ends_fatally(false), (None, false));
    }
}
