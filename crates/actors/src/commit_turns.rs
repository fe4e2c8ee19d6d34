//! Turns at the store: how many batches are on their way to it at once, and whose is next.
//!
//! Owns the places. Organisations take turns, so that one with many busy scopes cannot keep another's
//! commits waiting; the order is core's. What a batch does is [`crate::commit`]'s.

use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::fair::FairQueue;
use tokio::sync::oneshot;

/// The places, and whoever waits for one.
#[derive(Debug)]
pub(crate) struct CommitTurns(Mutex<Places>);

#[derive(Debug)]
struct Places {
    free: usize,
    waiting: FairQueue<Arc<str>, oneshot::Sender<Turn>>,
}

/// Leave to commit one batch. The next in turn has it once it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    of: Option<Arc<CommitTurns>>,
}

/// What became of the wish for a turn.
pub(crate) enum Asked {
    /// There is room.
    Now(Turn),
    /// It comes.
    Later(oneshot::Receiver<Turn>),
}

impl CommitTurns {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Places {
            free: places,
            waiting: FairQueue::default(),
        })))
    }

    /// Asks for a turn for a scope of this organisation.
    pub(crate) fn ask(self: &Arc<Self>, org: &str) -> Asked {
        let mut places = self.0.lock();
        if places.free > 0 {
            places.free -= 1;
            return Asked::Now(Turn {
                of: Some(Arc::clone(self)),
            });
        }
        let (sender, receiver) = oneshot::channel();
        places.waiting.push(org.into(), sender);
        Asked::Later(receiver)
    }

    /// Gives a place to the next one that still wants it.
    fn pass_on(self: Arc<Self>) {
        let mut turn = Turn { of: None };
        loop {
            let mut places = self.0.lock();
            let Some(next) = places.waiting.pop() else {
                places.free += 1;
                return;
            };
            drop(places);
            turn.of = Some(Arc::clone(&self));
            let Err(refused) = next.send(turn) else {
                return;
            };
            // Whoever waited is gone.
            turn = refused;
            turn.of = None;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(of) = self.of.take() {
            of.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn later(turns: &Arc<CommitTurns>, org: &str) -> oneshot::Receiver<Turn> {
        match turns.ask(org) {
            Asked::Later(receiver) => receiver,
            Asked::Now(_) => panic!("no place is free"),
        }
    }

    fn now(turns: &Arc<CommitTurns>, org: &str) -> Turn {
        match turns.ask(org) {
            Asked::Now(turn) => turn,
            Asked::Later(_) => panic!("a place is free"),
        }
    }

    #[test]
    fn organisations_take_turns_however_much_one_wants() {
        let turns = CommitTurns::new(1);
        let first = now(&turns, "busy");
        let mut busy: Vec<_> = (0..3).map(|_| later(&turns, "busy")).collect();
        let mut calm = later(&turns, "calm");
        drop(first);
        let second = busy[0].try_recv().unwrap();
        assert!(calm.try_recv().is_err() && busy[1].try_recv().is_err());
        drop(second);
        let third = calm.try_recv().unwrap();
        assert!(busy[1].try_recv().is_err());
        drop(third);
        assert!(busy[1].try_recv().is_ok());
    }

    #[test]
    fn a_place_is_not_lost_with_whoever_waited_for_it() {
        let turns = CommitTurns::new(2);
        let (first, second) = (now(&turns, "a"), now(&turns, "a"));
        drop(later(&turns, "a"));
        drop(later(&turns, "b"));
        let mut third = later(&turns, "b");
        drop(first);
        assert!(third.try_recv().is_ok());
        drop(second);
        // A turn that came and was never looked at goes on too.
        let (first, second) = (now(&turns, "a"), now(&turns, "a"));
        let unheard = later(&turns, "a");
        drop(first);
        drop(unheard);
        drop((now(&turns, "a"), second));
        assert_eq!(turns.0.lock().free, 2);
        assert!(turns.0.lock().waiting.is_empty());
    }
}
