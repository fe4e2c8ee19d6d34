//! Each invariant holds for what is right, and fails for each way of being wrong.

use proptest::prelude::*;

use super::*;
use crate::chain::{Origin, seal};
use crate::config::TrustConfig;
use crate::entry::{Binding, Detail, Lifecycle, Link, LinkKind, Metadata, Status, Table};
use crate::event::{EntryAmended, EntryCreated, EntryMerged, Text};
use crate::fingerprint::ContentHash;
use crate::id::{Epoch, TokenId, VerificationId};
use crate::principal::{Actor, PrincipalId, PrincipalKind};
use crate::promotion::PublishReport;
use crate::reuse::Usage;
use crate::scope::ScopePrefix;
use crate::state::Stamped;
use crate::time::Timestamp;
use crate::token::Token;
use crate::trust::Trust;
use crate::verification::{NewVerification, Outcome, Verification, VerificationSource};

mod decisions;
mod declared;
mod evidence;
mod gone;
mod heard;
mod promotions;
mod texts;
mod trust;

fn scope(path: &str) -> Scope {
    Scope::parse(path).unwrap()
}

fn project() -> Scope {
    scope("org/a/project/b")
}

fn task() -> Scope {
    scope("org/a/project/b/worktree/c/task/d")
}

fn actor(kind: PrincipalKind) -> Actor {
    Actor {
        kind,
        id: PrincipalId::parse("p").unwrap(),
    }
}

fn entry_id(number: u8) -> EntryId {
    EntryId::from_bytes([number; 16])
}

fn command_id(number: u8) -> CommandId {
    CommandId::from_parts(Timestamp::from_ms(1), [number; 10])
}

fn head(number: u8) -> Head {
    let id = entry_id(number);
    Head {
        id,
        scope: project(),
        table: Table::Gotchas,
        version: 1,
        version_seq: Seq::new(1),
        content_hash: ContentHash::of("x"),
        status: Status::Verified,
        failure: false,
        trust: Trust::draft(Table::Gotchas.kind(), &TrustConfig::default()),
        line: id,
        line_head: id,
        lifecycle: Lifecycle::default(),
        citations: Vec::new(),
        binding: Binding::NoRepository,
        links: Vec::new(),
        reuse_count: 0,
        last_used: None,
        promotion: None,
        author: actor(PrincipalKind::Human),
        created_at: Timestamp::EPOCH,
        updated_at: Timestamp::EPOCH,
        usage: Usage::default(),
    }
}

fn text() -> Text {
    Text {
        content: "x".into(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        content_hash: ContentHash::of("x"),
        embedding: None,
    }
}

fn human() -> crate::citation::Citation {
    crate::citation::Citation::Human {
        user: PrincipalId::parse("p").unwrap(),
    }
}

fn created(number: u8) -> EntryCreated {
    EntryCreated {
        id: entry_id(number),
        table: Table::Gotchas,
        text: text(),
        citations: vec![human()],
        binding: Binding::NoRepository,
        status: Status::Verified,
        trust: Trust::draft(Table::Gotchas.kind(), &TrustConfig::default()),
        failure: false,
        promotion: None,
    }
}

fn amended(number: u8, version: u64) -> EntryAmended {
    EntryAmended {
        id: entry_id(number),
        version,
        text: text(),
        citations: vec![human()],
        status: Status::Verified,
        trust: Trust::draft(Table::Gotchas.kind(), &TrustConfig::default()),
    }
}

fn superseded(new: u8, old: u8, line: u8) -> Body {
    Body::Superseded {
        new: entry_id(new),
        old: entry_id(old),
        line: entry_id(line),
        reason: "r".into(),
        commit: None,
    }
}

fn opened() -> Body {
    Body::TaskOpened {
        title: "t".into(),
        description: String::new(),
    }
}

fn verification(outcome: Outcome) -> Verification {
    Verification {
        id: VerificationId::from_bytes([1; 16]),
        said: NewVerification {
            outcome,
            source: VerificationSource::TestsPassed,
            run: "r".into(),
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error: None,
            approach: None,
            target: None,
        },
        recorder: actor(PrincipalKind::Orchestrator),
        time: Timestamp::EPOCH,
        from: Seq::ZERO,
        through: Seq::new(1),
        target: project(),
    }
}

fn published() -> Body {
    let report = PublishReport {
        episode: entry_id(1),
        products: Vec::new(),
        linked_episodes: Vec::new(),
    };
    Body::Published {
        source: task(),
        verification: verification(Outcome::Passed).id,
        report: Box::new(report),
    }
}

fn token(kind: PrincipalKind) -> Body {
    let token = Token {
        id: TokenId::of_hash(&[1; 32]),
        actor: actor(kind),
        prefix: ScopePrefix::Scope(project()),
        expires: Timestamp::EPOCH,
        minted_by: actor(PrincipalKind::Human),
        minted_at: Timestamp::EPOCH,
        revoked_at: None,
    };
    Body::TokenMinted {
        hash: [1; 32],
        token: Box::new(token),
    }
}

fn broken_is<T: fmt::Debug>(result: Result<T, Violation>, invariant: Invariant) {
    assert_eq!(result.unwrap_err().invariant, invariant);
}

fn origin(epoch: u64) -> Origin {
    Origin {
        actor: actor(PrincipalKind::Agent),
        command: command_id(1),
        epoch: Epoch(epoch),
    }
}

#[test]
fn an_event_follows_with_its_content_or_not_at_all() {
    let start = Tip::genesis(&task());
    let mut end = start;
    let first = seal(
        &mut end,
        &opened(),
        &origin(1),
        Timestamp::from_ms(5),
        [1; 16],
    );
    let second = seal(
        &mut end,
        &Body::StuckCleared,
        &origin(1),
        Timestamp::from_ms(6),
        [2; 16],
    );
    let mut tip = start;
    let (header, body) = event_follows(&mut tip, &first, None).unwrap();
    assert_eq!((header.seq, body), (Seq::new(1), opened()));
    event_follows(&mut tip, &second, None).unwrap();
    assert_eq!(tip, end);
    let mut tip = start;
    broken_is(event_follows(&mut tip, &second, None), Invariant::Chained);
    broken_is(
        event_follows(
            &mut tip,
            &StoredEvent {
                sealed: None,
                ..first.clone()
            },
            None,
        ),
        Invariant::Chained,
    );
    assert_eq!(tip, start, "what does not follow moves nothing");
    // A header that says another kind than its content has, sealed as if that were right.
    let mut header = first.decode_header().unwrap();
    header.kind = crate::event::EventKind::StuckCleared;
    let renamed = StoredEvent {
        header: postcard::to_allocvec(&header).unwrap(),
        sealed: first.sealed,
    };
    broken_is(event_follows(&mut tip, &renamed, None), Invariant::Chained);
}

#[test]
fn epochs_never_fall() {
    let mut tip = Tip::genesis(&task());
    let headers: Vec<Header> = [2, 1]
        .map(|epoch| {
            seal(
                &mut tip,
                &Body::StuckCleared,
                &origin(epoch),
                Timestamp::EPOCH,
                [0; 16],
            )
        })
        .iter()
        .map(|event| event.decode_header().unwrap())
        .collect();
    assert!(
        epoch_follows(None, &headers[0]).is_ok()
            && epoch_follows(Some(&headers[0]), &headers[0]).is_ok()
    );
    assert!(epoch_follows(Some(&headers[1]), &headers[0]).is_ok());
    broken_is(
        epoch_follows(Some(&headers[0]), &headers[1]),
        Invariant::Fenced,
    );
}

fn state_after(scope: &Scope, bodies: &[Body]) -> State {
    let mut state = State::new(scope, None, None);
    for (number, body) in bodies.iter().enumerate() {
        event_applies(&state, body).unwrap();
        let at = Stamped {
            seq: Seq::new(number as u64 + 1),
            time: Timestamp::EPOCH,
            actor: actor(PrincipalKind::Human),
        };
        state.apply(body, &at);
    }
    state
}

fn merged_into(number: u8) -> EntryMerged {
    EntryMerged {
        into: entry_id(number),
        content: "x".into(),
        cosine: 1.0,
        citations: Vec::new(),
        status: Status::Verified,
        trust: created(number).trust,
        promotion: None,
        used_at: Timestamp::EPOCH,
    }
}

#[test]
fn an_event_changes_only_what_is_there() {
    let empty = State::new(&project(), None, None);
    let link = Link {
        kind: LinkKind::Similar,
        to: entry_id(2),
        weight: 1.0,
    };
    let merged = merged_into(1);
    let revoked = Body::TokenRevoked {
        hash: [1; 32],
        token: TokenId::of_hash(&[1; 32]),
    };
    for body in [
        Body::StuckCleared,
        Body::EntryAmended(Box::new(amended(1, 2))),
        Body::Linked {
            entry: entry_id(1),
            link,
        },
        Body::Merged(Box::new(merged)),
        superseded(2, 1, 1),
        revoked,
    ] {
        broken_is(event_applies(&empty, &body), Invariant::Chained);
    }
    let opened_twice = state_after(&task(), &[opened()]);
    broken_is(event_applies(&opened_twice, &opened()), Invariant::Chained);
    let minted = state_after(&project(), &[token(PrincipalKind::Agent)]);
    broken_is(
        event_applies(&minted, &token(PrincipalKind::Agent)),
        Invariant::Chained,
    );
}

#[test]
fn versions_have_no_gap_and_an_entry_is_replaced_once() {
    let two = [1, 2, 3].map(|number| Body::EntryCreated(Box::new(created(number))));
    let state = state_after(&project(), &two);
    broken_is(event_applies(&state, &two[0]), Invariant::Chained);
    broken_is(
        event_applies(&state, &Body::EntryAmended(Box::new(amended(1, 3)))),
        Invariant::Chained,
    );
    broken_is(
        event_applies(&state, &Body::EntryAmended(Box::new(amended(1, 1)))),
        Invariant::Chained,
    );
    broken_is(
        event_applies(&state, &superseded(1, 1, 1)),
        Invariant::Chained,
    );
    let replaced = state_after(&project(), &[&two[..], &[superseded(2, 1, 1)]].concat());
    for wrong in [
        superseded(3, 1, 1),
        superseded(3, 2, 2),
        superseded(2, 3, 3),
    ] {
        broken_is(event_applies(&replaced, &wrong), Invariant::Chained);
    }
    assert!(event_applies(&replaced, &superseded(3, 2, 1)).is_ok());
}

proptest! {
    #[test]
    fn exactly_one_version_is_active(count in 1u64..20, active in 0u64..25, gone in proptest::option::of(1u64..20)) {
        let head = Head { version: active, ..head(1) };
        let versions = (1..=count).filter(|number| Some(*number) != gone);
        let whole = gone.is_none_or(|gone| gone > count);
        let cut = gone == Some(count) && active == count - 1;
        prop_assert_eq!(one_active_version(&head, versions).is_ok(), (whole && active == count) || cut);
    }

    #[test]
    fn a_view_differs_exactly_where_it_was_changed(
        expected: BTreeMap<u8, u8>, stored: BTreeMap<u8, u8>
    ) {
        let differences = view_is_fold(&expected, stored.clone());
        let mut wanted = Vec::new();
        for key in 0..=u8::MAX {
            match (expected.get(&key), stored.get(&key)) {
                (Some(a), Some(b)) if a != b => wanted.push(RowDifference::Differs(key)),
                (Some(_), None) => wanted.push(RowDifference::Missing(key)),
                (None, Some(_)) => wanted.push(RowDifference::Unexplained(key)),
                _ => {}
            }
        }
        prop_assert_eq!(differences, wanted);
    }
}

fn line() -> Vec<Head> {
    let mut line = [1, 2, 3].map(head).to_vec();
    for at in 0..2 {
        line[at].status = Status::Deprecated;
        line[at].lifecycle.superseded_by = Some(line[at + 1].id);
        line[at + 1].lifecycle.supersedes = Some(line[at].id);
        line[at + 1].line = line[0].id;
    }
    line[0].line_head = line[2].id;
    line
}

#[test]
fn a_line_has_one_head() {
    let check = |line: &[Head]| one_head_of_line(&line.iter().collect::<Vec<_>>());
    check(&line()).unwrap();
    broken_is(check(&[]), Invariant::Chained);
    broken_is(check(&line()[..2]), Invariant::Chained);
    broken_is(check(&line()[1..]), Invariant::Chained);
    let wrongs: [fn(&mut Vec<Head>); 6] = [
        |line| line[0].status = Status::Verified,
        |line| line[1].lifecycle.supersedes = None,
        |line| line[1].line = line[1].id,
        |line| line[0].line_head = line[1].id,
        |line| line[2].lifecycle.superseded_by = Some(line[0].id),
        |line| line.swap(0, 1),
    ];
    for wrong in wrongs {
        let mut line = line();
        wrong(&mut line);
        broken_is(check(&line), Invariant::Chained);
    }
}

#[test]
fn acknowledged_and_stored_are_the_same_commands_once() {
    let command = |number: u8, body: u8| (command_id(number), Digest([body; 32]));
    let acknowledged = BTreeSet::from([command(1, 1), command(2, 2)]);
    let check = |stored: &[(CommandId, Digest)]| {
        acknowledged_is_stored_once(&acknowledged, stored.iter().copied())
    };
    check(&[command(2, 2), command(1, 1)]).unwrap();
    for stored in [
        &[command(1, 1)][..],
        &[command(1, 1), command(2, 2), command(2, 2)],
        &[command(1, 1), command(2, 3)],
        &[command(1, 1), command(2, 2), command(3, 3)],
    ] {
        broken_is(check(stored), Invariant::AppliedOnce);
    }
}

#[test]
fn every_write_is_one_that_its_actor_may_make() {
    use PrincipalKind::{Agent, Human, Orchestrator, System};
    let permitted =
        |scope: &Scope, kind, bodies: &[Body]| command_permitted(scope, &actor(kind), bodies);
    let entry = || Body::EntryCreated(Box::new(created(1)));
    let recorded = || Body::VerificationRecorded(Box::new(verification(Outcome::Passed)));
    let denied = Body::Denied {
        rule: "r".into(),
        kind: Agent,
        command: "c".into(),
        unsampled: 0,
    };
    for (scope, kind, bodies) in [
        (task(), Agent, vec![opened()]),
        (task(), Agent, vec![entry()]),
        (task(), Orchestrator, vec![recorded()]),
        (project(), Human, vec![entry()]),
        (project(), System, vec![entry(), published()]),
        (project(), Orchestrator, vec![token(Agent)]),
        (project(), Human, vec![token(Human)]),
        (project(), Agent, vec![denied]),
    ] {
        permitted(&scope, kind, &bodies).unwrap();
    }
    for (scope, kind, bodies) in [
        (task(), Agent, vec![recorded()]),
        (task(), System, vec![entry()]),
        (task(), Agent, vec![Body::TaskArchived]),
        (task(), System, vec![Body::StuckCleared]),
        (project(), Agent, vec![entry()]),
        (project(), System, vec![entry()]),
        (project(), Human, vec![entry(), published()]),
        (project(), Orchestrator, vec![token(Human)]),
        (project(), Agent, vec![token(Agent)]),
    ] {
        broken_is(permitted(&scope, kind, &bodies), Invariant::Permitted);
    }
    assert!(record_permitted(&task(), &actor(Agent)).is_ok());
}

#[test]
fn nothing_is_published_without_what_it_rests_on() {
    let by_hand = |scope: &Scope, change: fn(&mut EntryCreated)| {
        let mut created = created(1);
        change(&mut created);
        command_backed(scope, &[Body::EntryCreated(Box::new(created))], None)
    };
    by_hand(&project(), |_| {}).unwrap();
    by_hand(&task(), |created| {
        (created.status, created.citations) = (Status::Hypothesis, Vec::new())
    })
    .unwrap();
    let wrongs: [fn(&mut EntryCreated); 4] = [
        |created| created.citations.clear(),
        |created| (created.status, created.citations) = (Status::Hypothesis, Vec::new()),
        |created| created.promotion = Some(VerificationId::from_bytes([1; 16])),
        |created| created.failure = true,
    ];
    for wrong in wrongs {
        broken_is(by_hand(&project(), wrong), Invariant::Backed);
    }
    broken_is(
        by_hand(&task(), |created| created.citations.clear()),
        Invariant::Backed,
    );
    let amend = |change: fn(&mut EntryAmended)| {
        let mut amended = amended(1, 2);
        change(&mut amended);
        command_backed(&project(), &[Body::EntryAmended(Box::new(amended))], None)
    };
    amend(|_| {}).unwrap();
    broken_is(
        amend(|amended| amended.citations.clear()),
        Invariant::Backed,
    );
}

#[test]
fn a_promotion_rests_on_the_verification_that_it_names() {
    let passed = verification(Outcome::Passed);
    let product = EntryCreated {
        promotion: Some(passed.id),
        ..created(1)
    };
    let bodies = [Body::EntryCreated(Box::new(product.clone())), published()];
    command_backed(&project(), &bodies, Some(&passed)).unwrap();
    broken_is(command_backed(&project(), &bodies, None), Invariant::Backed);
    let other = Verification {
        id: VerificationId::from_bytes([2; 16]),
        ..passed.clone()
    };
    broken_is(
        command_backed(&project(), &bodies, Some(&other)),
        Invariant::Backed,
    );
    let elsewhere = Verification {
        target: scope("org/a"),
        ..passed
    };
    broken_is(
        command_backed(&project(), &bodies, Some(&elsewhere)),
        Invariant::Backed,
    );
    let failed = verification(Outcome::Failed);
    broken_is(
        command_backed(&project(), &bodies, Some(&failed)),
        Invariant::Backed,
    );
    let failure = EntryCreated {
        failure: true,
        status: Status::Hypothesis,
        ..product
    };
    let bodies = [Body::EntryCreated(Box::new(failure)), published()];
    command_backed(&project(), &bodies, Some(&failed)).unwrap();
}

#[test]
fn reads_of_a_scope_never_go_back() {
    let (a, b) = (task(), project());
    reads_go_forward([
        (&a, Seq::new(2)),
        (&b, Seq::new(1)),
        (&a, Seq::new(2)),
        (&a, Seq::new(3)),
    ])
    .unwrap();
    broken_is(
        reads_go_forward([(&a, Seq::new(2)), (&a, Seq::new(1))]),
        Invariant::ReadsGoForward,
    );
}
