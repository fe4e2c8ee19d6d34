//! What was committed of the tasks of a world, as far as anything follows from it for fixes.
//!
//! Owns what is read of the events, commit by commit, in the order in which the store stamped them. It must not know how nodes
//! keep any of that: only events are read here.

use std::collections::BTreeMap;

use sillok_core::chain::Header;
use sillok_core::circular::FailedApproach;
use sillok_core::event::{Body, EventKind, FixFailed};
use sillok_core::id::{CommandId, Seq, VerificationId};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_core::verification::Outcome;
use sillok_store::keys::{self, Family, ScopeKey};

use crate::history::{Call, Ending};
use crate::workload::End;

/// The kinds of events that are read.
const KINDS: [EventKind; 6] = [
    EventKind::TaskOpened,
    EventKind::StuckMarked,
    EventKind::StuckCleared,
    EventKind::TaskClosed,
    EventKind::VerificationRecorded,
    EventKind::FixFailed,
];

/// What an event says of its task.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// It was opened.
    Opened,
    /// It is stuck, for a reason.
    Stuck(String),
    /// It is stuck no more.
    Free,
    /// A verification passed, after which it is stuck no more.
    Passed,
    /// A verification failed.
    NotPassed(VerificationId),
    /// What such a one says of the fix.
    Failed(FixFailed),
}

/// An event of a task.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) task: Scope,
    pub(super) header: Header,
    pub(super) said: Said,
}

impl Event {
    /// The approach that it says failed, as the scope of its task is to keep it.
    pub(super) fn failed_approach(&self) -> Option<FailedApproach> {
        let Said::Failed(failed) = &self.said else {
            return None;
        };
        Some(FailedApproach {
            task: self.task.clone(),
            seq: self.header.seq,
            verification: failed.verification,
            approach: failed.approach.clone()?,
            reason: failed.reason.clone(),
            at: self.header.time,
            wording: failed.wording.clone(),
        })
    }
}

/// What one commit wrote of tasks, and when clients asked for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Commit {
    pub(super) events: Vec<Event>,
    /// When the first of its commands was acknowledged, in µs of the world.
    pub(super) acknowledged_us: Option<u64>,
    /// When the last of its commands was first sent, in µs of the world.
    pub(super) sent_us: Option<u64>,
}

impl Commit {
    fn add(&mut self, event: Event, call: Option<&Call>) {
        if let Some(call) = call {
            self.sent_us = self.sent_us.max(Some(call.invoked_us));
            if let Some((us, Ending::Acknowledged(_))) = call.ended {
                let earliest = self.acknowledged_us.into_iter().chain([us]);
                self.acknowledged_us = earliest.min();
            }
        }
        self.events.push(event);
    }
}

/// All commits that wrote any of that, in their order.
pub(super) fn commits(end: &End<'_>) -> Vec<Commit> {
    let calls = end.history.calls.iter();
    let calls: BTreeMap<CommandId, &Call> = calls.map(|call| (call.command, call)).collect();
    let mut said = read(end);
    let mut commits: BTreeMap<(u32, u64), Commit> = BTreeMap::new();
    for (key, value) in end.rows(Family::Outbox) {
        let row = keys::outbox::decode(&key, &value).expect("the audit has read it");
        let name = keys::outbox::parse(&key).expect("the audit has read it");
        let Stamp {
            generation,
            counter,
            ..
        } = name.stamp;
        let scope = ScopeKey::of(&row.scope);
        let run = said.range((scope, row.first)..=(scope, row.last));
        let places: Vec<(ScopeKey, Seq)> = run.map(|(place, _)| *place).collect();
        for (header, said) in places.iter().filter_map(|place| said.remove(place)) {
            let call = calls.get(&header.command).copied();
            let task = row.scope.clone();
            let commit = commits.entry((generation, counter)).or_default();
            commit.add(Event { task, header, said }, call);
        }
    }
    commits.into_values().collect()
}

/// What is said of tasks, by the places of the events.
fn read(end: &End<'_>) -> BTreeMap<(ScopeKey, Seq), (Header, Said)> {
    const READ: &str = "the audit has read it";
    let mut read = BTreeMap::new();
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).expect(READ);
        let header = event.decode_header().expect(READ);
        if KINDS.contains(&header.kind) {
            let scope = keys::event::parse(&key).expect(READ).scope;
            let body = event.decode_body().expect(READ);
            if let Some(said) = body.and_then(said) {
                read.insert((scope, header.seq), (header, said));
            }
        }
    }
    read
}

fn said(body: Body) -> Option<Said> {
    Some(match body {
        Body::TaskOpened { .. } => Said::Opened,
        Body::StuckMarked { reason } => Said::Stuck(reason),
        Body::StuckCleared | Body::TaskClosed { .. } => Said::Free,
        Body::VerificationRecorded(verification) => match verification.said.outcome {
            Outcome::Passed => Said::Passed,
            Outcome::Failed => Said::NotPassed(verification.id),
        },
        Body::FixFailed(failed) => Said::Failed(*failed),
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use sillok_core::chain::EventHash;
    use sillok_core::circular::{ErrorHash, Wording};
    use sillok_core::command::Digest;
    use sillok_core::id::Epoch;
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::time::Timestamp;

    use super::super::said;
    use super::*;

    /// A task of one project, or of another.
    pub(in super::super) fn task(project: u8, number: u8) -> Scope {
        let path = format!("org/a/project/p{project}/worktree/w/task/t{number}");
        Scope::parse(&path).unwrap()
    }

    /// Who acts.
    pub(in super::super) fn actor(number: u8) -> Actor {
        Actor {
            kind: PrincipalKind::Orchestrator,
            id: PrincipalId::parse(&format!("orchestrator-{number}")).unwrap(),
        }
    }

    pub(in super::super) fn verification(number: u8) -> VerificationId {
        VerificationId::from_bytes([number; 16])
    }

    pub(in super::super) fn hash(number: u8) -> ErrorHash {
        ErrorHash::of(said::error(number))
    }

    /// A fix that failed, with this error and this approach, by the numbers of their texts.
    pub(in super::super) fn failed(id: u8, error: Option<u8>, approach: Option<u8>) -> Said {
        Said::Failed(FixFailed {
            verification: verification(id),
            error: error.map(hash),
            approach: approach.map(said::approach),
            wording: Wording::default(),
            reason: error
                .map(|number| format!("error {number}"))
                .unwrap_or_default(),
        })
    }

    /// An event of a task, a second behind the one before it.
    pub(in super::super) fn event(task: &Scope, seq: u64, said: Said) -> Event {
        let header = Header {
            seq: Seq::new(seq),
            time: Timestamp::from_ms(seq * 1_000),
            kind: EventKind::FixFailed,
            actor: actor(1),
            command: CommandId::from_parts(Timestamp::EPOCH, [1; 10]),
            epoch: Epoch(1),
            prev: EventHash::from_bytes([0; 32]),
            commitment: [0; 32],
        };
        Event {
            task: task.clone(),
            header,
            said,
        }
    }

    /// A commit of one event that was sent at one time and acknowledged at another.
    pub(in super::super) fn commit(event: Event, sent_us: u64, acknowledged_us: u64) -> Commit {
        Commit {
            events: vec![event],
            acknowledged_us: Some(acknowledged_us),
            sent_us: Some(sent_us),
        }
    }

    #[test]
    fn a_commit_is_there_from_the_first_answer_on_and_not_before_the_last_question() {
        let call = |invoked_us, ended| Call {
            actor: actor(1),
            scope: task(0, 0),
            command: CommandId::from_parts(Timestamp::EPOCH, [1; 10]),
            digest: Digest::ERASED,
            name: "record_failure",
            invoked_us,
            ended,
            is_forged: false,
        };
        let acknowledged = |us| Some((us, Ending::Acknowledged(Seq::new(1))));
        let mut commit = Commit::default();
        let calls = [
            call(3, acknowledged(9)),
            call(5, acknowledged(7)),
            call(4, None),
        ];
        for call in &calls {
            commit.add(event(&task(0, 0), 1, Said::Passed), Some(call));
        }
        commit.add(event(&task(0, 0), 2, Said::Passed), None);
        assert_eq!((commit.sent_us, commit.acknowledged_us), (Some(5), Some(7)));
        assert_eq!(commit.events.len(), 4);
    }
}
