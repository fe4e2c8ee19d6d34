//! Events of tasks, of tokens and of what was denied.

use sillok_core::bank::{Ended, Reward, Step};
use sillok_core::bound::{Bound, TreeState};
use sillok_core::circular::{Approach, ErrorHash, ErrorSeen, Term, Wording};
use sillok_core::event::{Body, FixFailed, TrajectoryStored};
use sillok_core::id::{Seq, TokenId};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::ScopePrefix;
use sillok_core::staging::{BoundRecord, Content, LogLevel, Record, RecordKind, Trigger};
use sillok_core::task::{Closing, TaskStatus};
use sillok_core::time::Timestamp;
use sillok_core::token::Token;
use sillok_core::verification::{NewVerification, Outcome, Verification, VerificationSource};

use super::{
    Sample, actor, binding, bound, citations, contents, metadata, only, scope_at, verification,
    with_each,
};

pub(super) fn bodies() -> Vec<Sample<Body>> {
    let mut all = vec![
        only(Body::TaskOpened {
            title: "a title".to_owned(),
            description: "a description".to_owned(),
        }),
        only(Body::StuckMarked {
            reason: "no way on".to_owned(),
        }),
        only(Body::StuckCleared),
        only(Body::TaskArchived),
        only(Body::TokenRevoked {
            hash: [21; 32],
            token: TokenId::of_hash(&[22; 32]),
        }),
    ];
    all.extend(records());
    let closings = each!(Closing { Done, Failed });
    all.extend(with_each("closing", closings, |closing| Body::TaskClosed {
        closing,
        reason: "why it ended".to_owned(),
    }));
    all.extend(verifications());
    all.extend(failed());
    all.extend(trajectories());
    all.extend(tokens());
    all.extend(with_each("kind", principals(), |kind| Body::Denied {
        rule: "a rule".to_owned(),
        kind,
        command: "open_task".to_owned(),
        unsampled: 1_023,
    }));
    all
}

pub(super) fn statuses() -> Vec<(&'static str, TaskStatus)> {
    each!(TaskStatus {
        Open,
        Verifying,
        Stuck,
        Done,
        Failed,
        Archived
    })
}

pub(super) fn sources() -> Vec<(&'static str, VerificationSource)> {
    each!(VerificationSource {
        TestsPassed,
        TestsFailed,
        PrMerged,
        HumanApproved,
        RepeatedSuccess
    })
}

pub(super) fn prefixes() -> Vec<(&'static str, ScopePrefix)> {
    each!(ScopePrefix {
        All,
        Scope(scope_at("org/gold/project/covered")),
    })
}

fn principals() -> Vec<(&'static str, PrincipalKind)> {
    each!(PrincipalKind {
        Agent,
        Orchestrator,
        Human,
        System
    })
}

fn records() -> Vec<Sample<Body>> {
    let body = |kind, content| {
        Body::RecordAppended(Box::new(Record {
            kind,
            content,
            metadata: metadata("shell"),
            time: Timestamp::from_ms(1_700_000_000_031),
            masked: 32,
        }))
    };
    let text = || Content::Inline("what was written".to_owned());
    let log = |level| RecordKind::Log { level };
    let kinds = each!(RecordKind {
        Log { level: LogLevel::Error },
        Snapshot { trigger: Trigger::Manual },
        MemoryEvent { event_type: "a type".to_owned() },
    });
    let levels = each!(LogLevel {
        Info,
        Warn,
        Error,
        Thought,
        Tool
    });
    let triggers = each!(Trigger { Error, Manual });
    let mut all = with_each("kind", kinds, |kind| body(kind, text()));
    all.extend(with_each("level", levels, |level| body(log(level), text())));
    all.extend(with_each("trigger", triggers, |trigger| {
        body(RecordKind::Snapshot { trigger }, text())
    }));
    all.extend(with_each("content", contents(), |content| {
        body(log(LogLevel::Tool), content)
    }));
    all.extend(bound_records());
    all
}

fn bound_records() -> Vec<Sample<Body>> {
    let body = |content, bound| {
        Body::BoundRecordAppended(Box::new(BoundRecord {
            record: Record {
                kind: RecordKind::Log {
                    level: LogLevel::Tool,
                },
                content,
                metadata: metadata("editor"),
                time: Timestamp::from_ms(1_700_000_000_033),
                masked: 34,
            },
            bound,
        }))
    };
    let text = || Content::Inline("what was written there".to_owned());
    let states = each!(TreeState {
        Clean,
        Changed,
        Unknown
    });
    let mut all = with_each("state", states, |state| body(text(), bound(state)));
    all.extend(with_each("content", contents(), |content| {
        body(content, bound(TreeState::Clean))
    }));
    let nowhere = Bound {
        place: None,
        ..bound(TreeState::Unknown)
    };
    all.push(Sample {
        name: "BOUND_RECORD_APPENDED.no_repository".to_owned(),
        value: body(text(), nowhere),
    });
    all
}

fn verifications() -> Vec<Sample<Body>> {
    let body = |outcome, source| {
        Body::VerificationRecorded(Box::new(Verification {
            id: verification(41),
            said: NewVerification {
                outcome,
                source,
                run: "run 42".to_owned(),
                citations: citations(),
                binding: binding(),
                error: Some("what went wrong".to_owned()),
                approach: Some("what was tried".to_owned()),
                target: Some(scope_at("org/gold/project/said")),
            },
            recorder: actor(PrincipalKind::Human, "lee"),
            time: Timestamp::from_ms(1_700_000_000_043),
            from: Seq::new(44),
            through: Seq::new(450),
            target: scope_at("org/gold/project/target"),
        }))
    };
    let outcomes = each!(Outcome { Passed, Failed });
    let mut all = with_each("outcome", outcomes, |outcome| {
        body(outcome, VerificationSource::PrMerged)
    });
    all.extend(with_each("source", sources(), |source| {
        body(Outcome::Failed, source)
    }));
    all
}

fn failed() -> Vec<Sample<Body>> {
    let body = |error, approach| {
        Body::FixFailed(Box::new(FixFailed {
            verification: verification(57),
            error,
            approach,
            reason: "what went wrong, in short".to_owned(),
            wording: Wording {
                rule: 59,
                words: vec![Term::from_bits(60)],
                names: vec![Term::from_bits(61)],
                said: vec![Term::from_bits(62), Term::from_bits(63)],
            },
        }))
    };
    let seen = ErrorSeen {
        error: ErrorHash::from_bytes([58; 32]),
        first: verification(64),
    };
    let errors = vec![("Some", Some(seen)), ("None", None)];
    let approach = || {
        Some(Approach {
            text: "what was tried".to_owned(),
            files: vec!["src/a.rs".to_owned()],
            symbols: vec!["A::b".to_owned()],
        })
    };
    let mut all = with_each("error", errors, |error| body(error, approach()));
    all.push(only(body(None, None)));
    all
}

fn trajectories() -> Vec<Sample<Body>> {
    let step = |record, bytes| Step {
        record: Seq::new(record),
        bytes,
    };
    let wording = |first: u64| Wording {
        rule: 59,
        words: vec![Term::from_bits(first)],
        names: vec![Term::from_bits(first + 1)],
        said: vec![Term::from_bits(first)],
    };
    let ended = each!(Ended { Succeeded, Failed });
    with_each("ended", ended, |ended| {
        Body::TrajectoryStored(Box::new(TrajectoryStored {
            kind: "bugfix".parse().unwrap(),
            title: "a title".to_owned(),
            approach: Approach {
                text: "what was tried".to_owned(),
                files: vec!["src/a.rs".to_owned()],
                symbols: vec!["A::b".to_owned()],
            },
            ended,
            reward: Reward::of(-0.25).unwrap(),
            lesson: "what is to be known".to_owned(),
            steps: vec![step(65, None), step(66, Some((67, 680)))],
            wording: wording(69),
            titled: wording(71),
        }))
    })
}

fn tokens() -> Vec<Sample<Body>> {
    with_each("prefix", prefixes(), |prefix| Body::TokenMinted {
        hash: [51; 32],
        token: Box::new(Token {
            id: TokenId::of_hash(&[52; 32]),
            actor: actor(PrincipalKind::Agent, "agent-53"),
            prefix,
            expires: Timestamp::from_ms(1_700_000_000_054),
            minted_by: actor(PrincipalKind::Human, "park"),
            minted_at: Timestamp::from_ms(1_700_000_000_055),
            revoked_at: Some(Timestamp::from_ms(1_700_000_000_056)),
        }),
    })
}
