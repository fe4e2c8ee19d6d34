//! Tests of the written form: everything comes back, and nothing that was touched opens.

use proptest::prelude::*;
use sillok_core::command::{
    Answer, AnswerBody, Command, DecisionRef, Replacement, SaveDecision, Supersede,
};
use sillok_core::decision::{Domain, NewDecision, Node, Rank, Relation, RelationKind};
use sillok_core::entry::Metadata;
use sillok_core::id::{Attempt, CommandId, DecisionId, EntryId, Seq, VerificationId};
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::promotion::PublishReport;
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::slot::{SLOTS, Slot};
use sillok_core::staging::{LogLevel, NewRecord, RecordKind};
use sillok_core::stamp::Stamp;
use sillok_core::task::Closing;
use sillok_core::time::Timestamp;
use sillok_core::{Error, ErrorCode};

use super::*;

const CALL: Call = [9; CALL_BYTES];

fn key(byte: u8) -> ClusterKey {
    ClusterKey::new(&[byte; 32])
}

fn request(command: Command) -> Request {
    let actor = Actor {
        kind: PrincipalKind::Agent,
        id: PrincipalId::parse("agent-1").unwrap(),
    };
    let submission = Submission {
        scope: Scope::parse("org/acme/project/api/worktree/main/task/42").unwrap(),
        principal: Principal {
            actor,
            prefix: ScopePrefix::All,
        },
        id: CommandId::from_bytes([7; 16]),
        attempt: Attempt::FIRST.next(),
        command,
    };
    Request::Command(Handover {
        at: moment(7),
        wait_ms: 5_000,
        submission: Arc::new(submission),
    })
}

/// The trace that a request belongs to.
fn trace() -> Option<TraceContext> {
    TraceContext::new([0xa; 16], [0xb; 8], true)
}

fn moment(ms: u64) -> Moment {
    Moment {
        run: [6; RUN_BYTES],
        ms,
    }
}

fn message() -> Message {
    let scope = Scope::parse("org/acme/project/api").unwrap();
    let stamp = |counter| Stamp {
        generation: 1,
        counter,
        index: 2,
    };
    Message {
        slot: Slot::of(&scope),
        stamp: stamp(8),
        previous: stamp(5),
        scope,
        first: Seq::new(3),
        last: Seq::new(4),
    }
}

fn news() -> News {
    News {
        run: [6; RUN_BYTES],
        slots: [0, 7, 4_095].into_iter().filter_map(Slot::new).collect(),
    }
}

fn commands() -> Vec<Command> {
    let record = NewRecord {
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content: "réponse 답".into(),
        metadata: Metadata::parse(r#"{"a":1}"#).unwrap(),
        time: Some(Timestamp::from_ms(1_790_000_000_000)),
    };
    vec![
        Command::OpenTask {
            title: "t".into(),
            description: String::new(),
        },
        Command::Append {
            records: vec![record; 3],
        },
        Command::ClearStuck,
        Command::CloseTask {
            closing: Closing::Done,
            reason: "r".into(),
        },
        Command::Supersede(Box::new(Supersede {
            old: EntryId::from_bytes([1; 16]),
            expected_version: 3,
            new: Replacement::Existing(EntryId::from_bytes([2; 16])),
            reason: "newer".into(),
            commit: None,
            verification: None,
        })),
        Command::NotePromoted {
            verification: VerificationId::from_bytes([3; 16]),
            target: Scope::parse("org/acme/project/api").unwrap(),
            report: Box::new(PublishReport {
                episode: EntryId::from_bytes([4; 16]),
                products: Vec::new(),
                linked_episodes: vec![EntryId::from_bytes([5; 16])],
            }),
        },
        Command::SaveDecision(Box::new(decision())),
    ]
}

fn decision() -> SaveDecision {
    SaveDecision {
        change: Some(DecisionRef {
            root: DecisionId::from_bytes([6; 16]),
            expected_version: 2,
        }),
        text: NewDecision {
            rank: Rank::Lock,
            domain: Domain::global(),
            phase: Some("design".parse().unwrap()),
            title: "t".into(),
            content: "결정".into(),
            claim: None,
            relations: vec![Relation {
                kind: RelationKind::AppliesTo,
                to: Node::file("src/a.rs").unwrap(),
            }],
        },
        reason: "r".into(),
    }
}

fn outcomes() -> Vec<Reply> {
    let answer = Answer {
        seq: Seq::new(7),
        time: Timestamp::from_ms(9),
        result: AnswerBody::Appended {
            first: Seq::new(7),
            count: 1,
            masked: 0,
        },
    };
    let outcomes = [
        None,
        Some(Forwarded::Answered(answer)),
        Some(Forwarded::Refused(Error::new(ErrorCode::Forbidden, "no"))),
        Some(Forwarded::Refused(Error::busy("full", 250))),
        Some(Forwarded::NotOwner),
    ];
    let reply = |forwarded| Reply {
        now: moment(9),
        forwarded,
    };
    outcomes.into_iter().map(reply).collect()
}

#[test]
fn whatever_nodes_tell_one_another_comes_back_as_it_was() {
    let requests = commands().into_iter().map(request);
    for request in requests.chain([Request::Moment]) {
        for (version, written) in [(1, None), (2, None), (2, trace())] {
            let (bytes, seal) = seal_request(&key(1), &CALL, &request, written, version);
            let opened = Opened {
                call: CALL,
                request: request.clone(),
                trace: written,
                seal,
            };
            assert_eq!(open_request(&key(1), &bytes, VERSION), Ok(opened));
        }
    }
    let (_, seal) = seal_request(&key(1), &CALL, &request(Command::ClearStuck), None, VERSION);
    for outcome in outcomes() {
        let bytes = seal_reply(&key(1), &seal, &outcome);
        assert_eq!(open_reply(&key(1), &seal, &bytes), Ok(outcome));
    }
    let bytes = seal_message(&key(1), Channel::Events, &message());
    assert_eq!(
        open_message(&key(1), Channel::Events, &bytes),
        Ok(message())
    );
    let bytes = seal_news(&key(1), &news());
    assert_eq!(open_news(&key(1), &bytes), Ok(news()));
}

/// Whoever could have it count on another channel would make its followers pass over genuine messages.
#[test]
fn a_message_of_one_channel_counts_for_nothing_on_another() {
    for channel in Channel::ALL {
        let bytes = seal_message(&key(1), channel, &message());
        for other in Channel::ALL {
            let opened = open_message(&key(1), other, &bytes);
            assert_eq!(opened.is_ok(), other == channel, "{channel:?} as {other:?}");
        }
    }
}

#[test]
fn news_of_all_slots_is_one_small_message_and_names_slots_alone() {
    let all = News {
        slots: (0..SLOTS).filter_map(Slot::new).collect(),
        ..news()
    };
    let bytes = seal_news(&key(1), &all);
    assert!(bytes.len() < 16 << 10, "{} bytes", bytes.len());
    assert_eq!(open_news(&key(1), &bytes), Ok(all));
    let beyond = sealed(&key(1).news, &[], &([6_u8; RUN_BYTES], vec![SLOTS]));
    assert_eq!(open_news(&key(1), &beyond), Err(Refused::Malformed));
}

#[test]
fn what_another_cluster_or_another_call_sealed_does_not_open() {
    let request = request(Command::ClearStuck);
    let (bytes, seal) = seal_request(&key(1), &CALL, &request, None, VERSION);
    assert_eq!(open_request(&key(2), &bytes, VERSION), Err(Refused::Seal));
    // The same command, asked for again.
    let (_, other) = seal_request(&key(1), &[8; CALL_BYTES], &request, None, VERSION);
    let reply = seal_reply(&key(1), &seal, &outcomes().remove(4));
    assert_eq!(open_reply(&key(1), &other, &reply), Err(Refused::Seal));
    assert_eq!(open_reply(&key(2), &seal, &reply), Err(Refused::Seal));
    // Each kind has a key of its own: none is taken for another.
    assert_eq!(
        open_message(&key(1), Channel::Events, &reply),
        Err(Refused::Seal)
    );
    let word = seal_message(&key(1), Channel::Events, &message());
    assert_eq!(open_reply(&key(1), &seal, &word), Err(Refused::Seal));
    assert_eq!(
        open_message(&key(2), Channel::Events, &word),
        Err(Refused::Seal)
    );
    assert_eq!(open_news(&key(1), &word), Err(Refused::Seal));
    let news = seal_news(&key(1), &news());
    assert_eq!(
        open_message(&key(1), Channel::Events, &news),
        Err(Refused::Seal)
    );
    assert_eq!(open_news(&key(2), &news), Err(Refused::Seal));
}

#[test]
fn the_first_version_is_what_earlier_nodes_write_and_read_and_has_no_trace() {
    let (bytes, _) = seal_request(&key(1), &CALL, &Request::Moment, trace(), 1);
    assert_eq!(bytes[..17], [[1].as_slice(), &CALL].concat());
    assert_eq!(bytes[REQUEST_HEAD_BYTES..], [0], "the request alone");
    assert_eq!(open_request(&key(1), &bytes, 1).unwrap().trace, None);
    // What every version of a node reads has the first form still.
    let (_, seal) = seal_request(&key(1), &CALL, &Request::Moment, trace(), 2);
    let reply = seal_reply(&key(1), &seal, &outcomes().remove(0));
    let firsts = [
        reply[0],
        seal_message(&key(1), Channel::Events, &message())[0],
        seal_news(&key(1), &news())[0],
    ];
    assert_eq!(firsts, [1; 3]);
}

#[test]
fn a_node_that_reads_the_first_version_only_refuses_the_second() {
    let (bytes, _) = seal_request(&key(1), &CALL, &Request::Moment, None, 2);
    assert_eq!(open_request(&key(1), &bytes, 1), Err(Refused::Version(2)));
    assert!(open_request(&key(1), &bytes, u8::MAX).is_ok());
}

#[test]
fn the_version_is_sealed_too() {
    for (from, to) in [(1, 2), (2, 1)] {
        let (mut bytes, _) = seal_request(&key(1), &CALL, &Request::Moment, None, from);
        bytes[0] = to;
        assert_eq!(open_request(&key(1), &bytes, VERSION), Err(Refused::Seal));
    }
}

#[test]
fn a_later_version_is_named() {
    let (mut bytes, _) = seal_request(&key(1), &CALL, &request(Command::ClearStuck), None, VERSION);
    bytes[0] = VERSION + 1;
    assert_eq!(
        open_request(&key(1), &bytes, VERSION),
        Err(Refused::Version(VERSION + 1))
    );
    bytes[0] = 0;
    assert_eq!(
        open_request(&key(1), &bytes, VERSION),
        Err(Refused::Malformed)
    );
}

#[test]
fn a_sealed_body_that_is_none_is_malformed() {
    let bytes = sealed(&key(1).message, &[], &"no message");
    assert_eq!(
        open_message(&key(1), Channel::Events, &bytes),
        Err(Refused::Malformed)
    );
}

#[test]
fn the_key_is_not_printed() {
    assert_eq!(format!("{:?}", key(7)), "ClusterKey(..)");
}

proptest! {
    #[test]
    fn nothing_opens_that_was_cut_or_touched(at in 0_usize..10_000, bit in 0_u8..8, cut: bool) {
        let (mut bytes, seal) = seal_request(&key(1), &CALL, &request(commands().remove(1)), trace(), VERSION);
        let mut reply = seal_reply(&key(1), &seal, &outcomes().remove(0));
        let mut word = seal_message(&key(1), Channel::Events, &message());
        let mut news = seal_news(&key(1), &news());
        for bytes in [&mut bytes, &mut reply, &mut word, &mut news] {
            let at = at % bytes.len();
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= 1 << bit;
            }
        }
        prop_assert!(open_request(&key(1), &bytes, VERSION).is_err());
        prop_assert!(open_reply(&key(1), &seal, &reply).is_err());
        prop_assert!(open_message(&key(1), Channel::Events, &word).is_err());
        prop_assert!(open_news(&key(1), &news).is_err());
    }

    #[test]
    fn whatever_comes_is_refused_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (_, seal) = seal_request(&key(1), &CALL, &request(Command::ClearStuck), None, VERSION);
        prop_assert!(open_request(&key(1), &bytes, VERSION).is_err());
        prop_assert!(open_reply(&key(1), &seal, &bytes).is_err());
        prop_assert!(open_message(&key(1), Channel::Events, &bytes).is_err());
        prop_assert!(open_news(&key(1), &bytes).is_err());
    }
}
