//! What was committed of the tasks of a world, as far as anything follows from it for fixes.
//!
//! Owns what is read of the events, commit by commit, in the order in which the store stamped them; of what was erased since,
//! what its agent noted. It must not know how nodes keep any of that: only events and notes are read here.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use sillok_core::chain::Header;
use sillok_core::circular::{ErrorHash, ErrorSeen, FailedApproach, Wording, reason_of};
use sillok_core::event::{Body, EventKind, FixFailed};
use sillok_core::id::{CommandId, Seq, VerificationId};
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_core::verification::Outcome;
use sillok_store::keys::{self, Family, ScopeKey};

use super::{RECORDED, Recorded};
use crate::history::{Call, Ending};
use crate::workload::End;

/// The kinds of events that are read.
const KINDS: [EventKind; 7] = [
    EventKind::TaskOpened,
    EventKind::StuckMarked,
    EventKind::StuckCleared,
    EventKind::TaskClosed,
    EventKind::VerificationRecorded,
    EventKind::FixFailed,
    EventKind::ContentErased,
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
    /// What such events said was erased.
    Erased(Vec<Seq>),
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

/// The notes of a kind.
pub(super) fn noted<T: DeserializeOwned>(
    end: &End<'_>,
    kind: &'static str,
) -> impl Iterator<Item = T> {
    let notes = end.history.notes.iter();
    let notes = notes.filter(move |note| note.kind == kind);
    notes.map(|note| serde_json::from_value(note.value.clone()).expect("it was noted here"))
}

/// An event as it is stored: its header, and its body, unless that was erased.
type Stored = (Header, Option<Body>);

/// What is said of tasks, by the places of the events.
fn read(end: &End<'_>) -> BTreeMap<(ScopeKey, Seq), (Header, Said)> {
    const READ: &str = "the audit has read it";
    let mut stored: BTreeMap<(ScopeKey, Seq), Stored> = BTreeMap::new();
    for (key, value) in end.rows(Family::Event) {
        let event = keys::event::decode(&key, &value).expect(READ);
        let header = event.decode_header().expect(READ);
        if KINDS.contains(&header.kind) {
            let scope = keys::event::parse(&key).expect(READ).scope;
            let body = event.decode_body().expect(READ);
            stored.insert((scope, header.seq), (header, body));
        }
    }
    let rests = rests(&stored);
    let told = noted(end, RECORDED).map(|told: Recorded| (told.id, told));
    let told: BTreeMap<VerificationId, Recorded> = told.collect();
    let read = stored.into_iter().filter_map(|(place, (header, body))| {
        let body = body.or_else(|| Some(before(rests.get(&place)?, &told)))?;
        Some((place, (header, said(body)?)))
    });
    read.collect()
}

/// What is left of the events that were erased.
fn rests(stored: &BTreeMap<(ScopeKey, Seq), Stored>) -> BTreeMap<(ScopeKey, Seq), Body> {
    let mut rests = BTreeMap::new();
    for ((scope, _), (_, body)) in stored {
        if let Some(Body::ContentErased(erased)) = body {
            let left = erased.events.iter();
            rests.extend(left.map(|one| ((*scope, one.at.seq), one.rest.clone())));
        }
    }
    rests
}

/// What an event said before it was erased, by what is left of it: of a fix, what its agent noted.
fn before(rest: &Body, told: &BTreeMap<VerificationId, Recorded>) -> Body {
    match rest {
        Body::FixFailed(left) => match told.get(&left.verification) {
            Some(told) => Body::FixFailed(Box::new(failed(told, left.error))),
            None => rest.clone(),
        },
        rest => rest.clone(),
    }
}

/// What an event said of a fix whose agent noted this, and under which verification its error counts.
fn failed(told: &Recorded, counts: Option<ErrorSeen>) -> FixFailed {
    let (error, approach) = told.said();
    let error = error.as_deref();
    FixFailed {
        verification: told.id,
        error: error.zip(counts).map(|(error, seen)| ErrorSeen {
            error: ErrorHash::of(error),
            ..seen
        }),
        wording: approach.as_ref().map(Wording::kept).unwrap_or_default(),
        approach,
        reason: error.map(reason_of).unwrap_or_default(),
    }
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
        Body::ContentErased(erased) => {
            let events = erased.events.iter();
            let fixes = events.filter(|one| matches!(one.rest, Body::FixFailed(_)));
            let fixes: Vec<Seq> = fixes.map(|one| one.at.seq).collect();
            return (!fixes.is_empty()).then_some(Said::Erased(fixes));
        }
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use sillok_core::chain::EventHash;
    use sillok_core::circular::Approach;
    use sillok_core::command::Digest;
    use sillok_core::id::Epoch;
    use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
    use sillok_core::time::Timestamp;

    use super::super::{Fix, said};
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

    /// A fix that failed, with this error and this approach, by the numbers of their texts. None failed so before.
    pub(in super::super) fn failed(id: u8, error: Option<u8>, approach: Option<u8>) -> Said {
        Said::Failed(FixFailed {
            verification: verification(id),
            error: error.map(|number| ErrorSeen {
                error: hash(number),
                first: verification(id),
            }),
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
    fn what_was_erased_is_what_its_agent_noted_and_counts_as_is_left() {
        let fix = Fix {
            error: Some(0),
            approach: None,
        };
        let told = Recorded {
            task: task(0, 0),
            id: verification(2),
            fix,
            word: Some("to be erased: 00000007. ".to_owned()),
            seq: Seq::new(3),
            judged: None,
        };
        let counts = ErrorSeen {
            error: ErrorHash::ERASED,
            first: verification(1),
        };
        let left = |id: u8| {
            Body::FixFailed(Box::new(FixFailed {
                verification: verification(id),
                error: Some(counts),
                approach: Some(Approach::default()),
                reason: String::new(),
                wording: Wording::default(),
            }))
        };
        let told = BTreeMap::from([(told.id, told)]);
        let Body::FixFailed(fix) = before(&left(2), &told) else {
            panic!("it is a fix")
        };
        let seen = ErrorSeen {
            error: hash(0),
            ..counts
        };
        assert_eq!(fix.error, Some(seen));
        assert_eq!(fix.reason, reason_of(said::error(0)));
        let approach = fix.approach.unwrap();
        assert!(approach.text.contains("00000007"));
        assert_eq!(fix.wording, Wording::of(&approach));
        assert_eq!(before(&left(3), &told), left(3), "nobody noted it");
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
