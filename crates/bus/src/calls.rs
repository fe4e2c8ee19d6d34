//! Calls: which commands of other nodes are begun: those whose callers still wait, each once.
//!
//! Owns the judgement and the memory that it needs. A sealed request opens for ever, and whoever can
//! read the bus can send it again. A command that was applied is known by its id; one that was refused
//! leaves no record, and must not be carried out behind its caller's back.
//!
//! Times are those of the node that is asked, which it tells with every answer: how long its run has
//! lasted. No clock on a wall is compared with another, so none can be wrong, and what was sent to an
//! earlier run, or to another node, is never begun. A caller counts on from when it heard the moment, so
//! its guess is late by the way of that answer, and by how much the two clocks drift until the next one.

use std::collections::{BTreeMap, BTreeSet};

use crate::wire::{Call, Handover, Moment, RUN_BYTES};

/// How far a caller's guess of the moment may be off, in ms.
const OFF_MS: u64 = 1_000;
/// The longest that a caller waits, in ms: what says more is taken to say this.
const WAIT_MS_MAX: u64 = 60_000;
/// Calls that are remembered.
const CALLS_MAX: usize = 1 << 20;

/// What becomes of a command of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It is begun, and its call is remembered for as long as it could be begun again.
    Begun,
    /// Its caller has given up, or means another run: the caller is told the moment, in case it waits.
    Late,
    /// The call was begun before. Nobody is answered.
    Repeated,
    /// There are too many calls to remember. Nobody is answered, since it could be sent again and begun
    /// once there are fewer.
    Full,
}

/// The calls of one run of a node.
#[derive(Debug)]
pub struct Calls {
    run: [u8; RUN_BYTES],
    /// Until when a call that was judged could still be begun.
    judged: BTreeMap<Call, u64>,
    by_time: BTreeSet<(u64, Call)>,
}

impl Calls {
    /// Those of a run with this name, which has to be random.
    #[must_use]
    pub const fn new(run: [u8; RUN_BYTES]) -> Self {
        Self {
            run,
            judged: BTreeMap::new(),
            by_time: BTreeSet::new(),
        }
    }

    /// The moment, when the run has lasted so long.
    #[must_use]
    pub const fn moment(&self, now_ms: u64) -> Moment {
        Moment {
            run: self.run,
            ms: now_ms,
        }
    }

    /// Whether a command is begun now.
    pub fn judge(&mut self, call: &Call, handover: &Handover, now_ms: u64) -> Judged {
        self.forget_before(now_ms);
        if self.judged.contains_key(call) {
            return Judged::Repeated;
        }
        let at = &handover.at;
        let waits_ms = u64::from(handover.wait_ms).min(WAIT_MS_MAX);
        let until_ms = at.ms.saturating_add(waits_ms + OFF_MS);
        if at.run != self.run || until_ms <= now_ms {
            return Judged::Late;
        }
        if self.judged.len() >= CALLS_MAX {
            return Judged::Full;
        }
        self.judged.insert(*call, until_ms);
        self.by_time.insert((until_ms, *call));
        debug_assert_eq!(self.judged.len(), self.by_time.len(), "each has its time");
        // A caller whose guess is ahead is told so, and its call must not be begun when that time comes.
        if at.ms > now_ms.saturating_add(OFF_MS) {
            return Judged::Late;
        }
        Judged::Begun
    }

    fn forget_before(&mut self, now_ms: u64) {
        while let Some((until_ms, call)) = self.by_time.first().copied() {
            if until_ms > now_ms {
                return;
            }
            self.by_time.remove(&(until_ms, call));
            self.judged.remove(&call);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use sillok_core::command::{Command, Submission};
    use sillok_core::id::{Attempt, CommandId};
    use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
    use sillok_core::scope::{Scope, ScopePrefix};

    use super::*;
    use crate::wire::CALL_BYTES;

    const RUN: [u8; RUN_BYTES] = [1; RUN_BYTES];
    const CALL: Call = [2; CALL_BYTES];

    fn handover(run: [u8; RUN_BYTES], ms: u64, wait_ms: u32) -> Handover {
        let actor = Actor {
            kind: PrincipalKind::Agent,
            id: PrincipalId::parse("agent-1").unwrap(),
        };
        let submission = Submission {
            scope: Scope::parse("org/acme/project/api").unwrap(),
            principal: Principal {
                actor,
                prefix: ScopePrefix::All,
            },
            id: CommandId::from_bytes([7; 16]),
            attempt: Attempt::FIRST,
            command: Command::ClearStuck,
        };
        Handover {
            at: Moment { run, ms },
            wait_ms,
            submission: Arc::new(submission),
        }
    }

    #[test]
    fn a_call_is_begun_once() {
        let mut calls = Calls::new(RUN);
        let given = handover(RUN, 100, 500);
        assert_eq!(calls.judge(&CALL, &given, 100), Judged::Begun);
        assert_eq!(calls.judge(&CALL, &given, 101), Judged::Repeated);
        // The same command as another call.
        let other = [3; CALL_BYTES];
        assert_eq!(calls.judge(&other, &given, 101), Judged::Begun);
        assert_eq!(calls.judge(&CALL, &given, 599 + OFF_MS), Judged::Repeated);
        assert_eq!(calls.judge(&CALL, &given, 600 + OFF_MS), Judged::Late);
        assert!(calls.judged.is_empty() && calls.by_time.is_empty());
    }

    #[test]
    fn what_was_meant_for_another_moment_is_late() {
        let mut calls = Calls::new(RUN);
        for (at, now_ms) in [
            (handover([9; RUN_BYTES], 100, 500), 100),
            (handover(RUN, 100, 500), 600 + OFF_MS),
            (handover(RUN, 0, u32::MAX), WAIT_MS_MAX + OFF_MS),
        ] {
            assert_eq!(calls.judge(&CALL, &at, now_ms), Judged::Late, "{at:?}");
        }
        assert!(calls.judged.is_empty());
    }

    #[test]
    fn what_is_ahead_of_its_time_is_not_begun_when_that_comes() {
        let mut calls = Calls::new(RUN);
        let ahead = handover(RUN, 5_000, 500);
        assert_eq!(calls.judge(&CALL, &ahead, 3_999), Judged::Late);
        for now_ms in [3_999, 4_000, 5_000, 5_499 + OFF_MS] {
            assert_eq!(calls.judge(&CALL, &ahead, now_ms), Judged::Repeated);
        }
        assert_eq!(calls.judge(&CALL, &ahead, 5_500 + OFF_MS), Judged::Late);
        let other = [3; CALL_BYTES];
        let almost = handover(RUN, 8_000, 500);
        assert_eq!(calls.judge(&other, &almost, 7_000), Judged::Begun);
        let never = handover(RUN, u64::MAX, u32::MAX);
        assert_eq!(calls.judge(&CALL, &never, 7_000), Judged::Late);
        assert_eq!(calls.judge(&CALL, &never, u64::MAX - 1), Judged::Repeated);
    }

    proptest! {
        /// Whenever a request comes, and however often, it is begun at most once.
        #[test]
        fn nothing_is_begun_twice(
            sent in proptest::collection::vec((0_u64..4_000, 0_u32..2_000), 1..6),
            came in proptest::collection::vec((any::<prop::sample::Index>(), 0_u64..1_500), 1..60),
        ) {
            let mut calls = Calls::new(RUN);
            let mut begun = BTreeSet::new();
            let mut now_ms = 0;
            for (index, later_ms) in came {
                now_ms += later_ms;
                let number = index.index(sent.len());
                let (ms, wait_ms) = sent[number];
                let call = [u8::try_from(number).unwrap(); CALL_BYTES];
                if calls.judge(&call, &handover(RUN, ms, wait_ms), now_ms) == Judged::Begun {
                    prop_assert!(begun.insert(number));
                }
            }
        }
    }
}
