//! What stores hold for good: events of every kind, and of each enum in them one of every variant; answers likewise.
//!
//! Two fields of one type never say the same in a sample, and none is empty: whatever is left out, added or swapped shows
//! in its bytes. No sample changes once its bytes are in a golden file.

use sillok_core::bound::{Bound, BoundFile, Owner, Place, TreeState};
use sillok_core::chain::{self, Origin, StoredEvent, Tip};
use sillok_core::citation::Citation;
use sillok_core::command::{Answer, AnswerBody, CommandRecord, Digest};
use sillok_core::entry::{Binding, Claim, Metadata};
use sillok_core::event::Body;
use sillok_core::fingerprint::ContentHash;
use sillok_core::gate::Fingerprint;
use sillok_core::id::{Attempt, CommandId, EntryId, Epoch, RecordId, Seq, VerificationId};
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
use sillok_core::scope::Scope;
use sillok_core::staging::Content;
use sillok_core::time::Timestamp;

/// One of each variant of an enum, with its name. One that is not listed does not compile.
macro_rules! each {
    ($of:ident { $(
        $variant:ident $(($inside:expr))? $({ $($field:ident: $value:expr),+ $(,)? })?
    ),+ $(,)? }) => {{
        let _ = |one: &$of| match one { $($of::$variant { .. } => (),)+ };
        vec![$(
            (stringify!($variant), $of::$variant $(($inside))? $({ $($field: $value),+ })?)
        ),+]
    }};
}

mod answers;
mod entries;
mod erasure;
mod memory;
mod publishing;
mod tasks;

pub(in crate::keys) use answers::{ANSWERS, name_of};

/// A value with the name of its line in the golden file.
pub(in crate::keys) struct Sample<T> {
    pub(in crate::keys) name: String,
    pub(in crate::keys) value: T,
}

/// Bodies of events of every kind.
pub(in crate::keys) fn bodies() -> Vec<Sample<Body>> {
    let mut all = tasks::bodies();
    all.extend(entries::bodies());
    all.extend(publishing::bodies());
    all.extend(memory::bodies());
    let rests = erasure::bodies(&all);
    all.extend(rests);
    all
}

/// The events that say those bodies, and one whose content was erased.
pub(in crate::keys) fn events() -> Vec<Sample<StoredEvent>> {
    let event = |sample: Sample<Body>| Sample {
        name: sample.name,
        value: event_of(&sample.value),
    };
    let mut all: Vec<Sample<StoredEvent>> = bodies().into_iter().map(event).collect();
    let erased = StoredEvent {
        sealed: None,
        ..event_of(&Body::TaskArchived)
    };
    all.push(Sample {
        name: "TASK_ARCHIVED.erased".to_owned(),
        value: erased,
    });
    all
}

/// Answers of every kind.
pub(in crate::keys) fn answers() -> Vec<Sample<AnswerBody>> {
    answers::all()
}

/// Rows of commands: applied with every answer, aborted, and what is left of both.
pub(in crate::keys) fn records() -> Vec<Sample<CommandRecord>> {
    let digest = || Digest([231; 32]);
    let applied = |result| CommandRecord::Applied {
        digest: digest(),
        answer: Answer {
            seq: Seq::new(301),
            time: Timestamp::from_ms(1_700_000_000_302),
            result,
        },
    };
    let mut all = Vec::new();
    for answer in answers() {
        let record = applied(answer.value);
        if ["EvidenceSaved", "Failed.verdict.Warn"].contains(&answer.name.as_str()) {
            all.push(Sample {
                name: format!("Erased.{}", answer.name),
                value: record.rest(),
            });
        }
        all.push(Sample {
            name: format!("Applied.{}", answer.name),
            value: record,
        });
    }
    let records = each!(CommandRecord {
        Applied { digest: digest(), answer: Answer {
            seq: Seq::new(303),
            time: Timestamp::from_ms(304),
            result: AnswerBody::Done,
        } },
        Aborted { digest: digest(), attempt: Attempt(305) },
    });
    all.extend(records.into_iter().map(|(name, value)| Sample {
        name: name.to_owned(),
        value,
    }));
    all
}

/// The scope of the events.
pub(in crate::keys) fn scope() -> Scope {
    scope_at("org/gold/project/p/worktree/w/task/t")
}

/// Where the chain of the scope stands before each event.
pub(in crate::keys) fn tip() -> Tip {
    Tip {
        seq: Seq::new(299),
        time: Timestamp::from_ms(1_700_000_000_299),
        ..Tip::genesis(&scope())
    }
}

/// The event that says `body`, behind [`tip`].
fn event_of(body: &Body) -> StoredEvent {
    let origin = Origin {
        actor: actor(PrincipalKind::Orchestrator, "ci"),
        command: CommandId::from_bytes([241; 16]),
        epoch: Epoch(242),
    };
    let at = Timestamp::from_ms(1_700_000_000_300);
    chain::seal(&mut tip(), body, &origin, at, [243; 16])
}

/// A body that has one sample alone.
fn only(body: Body) -> Sample<Body> {
    Sample {
        name: body.kind().as_str().to_owned(),
        value: body,
    }
}

/// A body for each variant of an enum that is called `what`.
fn with_each<T>(
    what: &str,
    variants: Vec<(&'static str, T)>,
    body: impl Fn(T) -> Body,
) -> Vec<Sample<Body>> {
    let sample = |(variant, one): (&str, T)| {
        let value = body(one);
        Sample {
            name: format!("{}.{what}.{variant}", value.kind().as_str()),
            value,
        }
    };
    variants.into_iter().map(sample).collect()
}

fn scope_at(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

fn actor(kind: PrincipalKind, id: &str) -> Actor {
    Actor {
        kind,
        id: PrincipalId::parse(id).unwrap(),
    }
}

fn entry(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

fn verification(number: u8) -> VerificationId {
    VerificationId::from_bytes([number; 16])
}

fn hash(number: u8) -> ContentHash {
    ContentHash::from_bytes([number; 32])
}

fn record(number: u64) -> RecordId {
    RecordId {
        scope: scope_at("org/gold/project/p/worktree/w/task/cited"),
        seq: Seq::new(number),
    }
}

fn bound(state: TreeState) -> Bound {
    let file = |number: u8, owner| BoundFile {
        path: format!("src/{number}.rs"),
        fingerprint: Fingerprint::from_bytes([number; 32]),
        owner,
    };
    let owner = Owner {
        repository: "host/inner".to_owned(),
        commit: Some("c0ffee1".to_owned()),
    };
    Bound {
        place: Some(Place {
            repository: "host/outer".to_owned(),
            project: "services/api".to_owned(),
            commit: Some("deadbeef".to_owned()),
            branch: Some("feature/bound".to_owned()),
            state,
            is_shallow: true,
        }),
        files: vec![file(201, None), file(202, Some(owner))],
        left_out: 203,
    }
}

fn metadata(tool: &str) -> Metadata {
    Metadata::parse(&format!("{{\"tool\":\"{tool}\"}}")).unwrap()
}

fn claim() -> Claim {
    Claim {
        key: "http.framework".to_owned(),
        value: "axum".to_owned(),
    }
}

fn binding() -> Binding {
    Binding::Commit {
        hash: "c0ffee".to_owned(),
        repository: "git@host:repo".to_owned(),
    }
}

/// Two sources. The others are sampled one by one.
fn citations() -> Vec<Citation> {
    let commit = Citation::Commit {
        hash: "beef".to_owned(),
        repository: "git@host:other".to_owned(),
    };
    let person = Citation::Human {
        user: PrincipalId::parse("kim").unwrap(),
    };
    vec![commit, person]
}

/// A text in its event, and one that lies in chunks.
fn contents() -> Vec<(&'static str, Content)> {
    each!(Content {
        Inline("the text".to_owned()),
        Chunked {
            command: CommandId::from_bytes([11; 16]),
            first: 12,
            count: 13,
            bytes: 1_400_000,
            hash: [15; 32],
        },
    })
}
