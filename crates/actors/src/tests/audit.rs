//! Audits and rebuilds of a world that somebody changed behind the node's back.

use std::sync::LazyLock;

use proptest::prelude::*;
use sillok_core::ErrorCode;
use sillok_core::chain::StoredEvent;
use sillok_core::command::CommandRecord;
use sillok_core::entry::Status;
use sillok_core::id::{Attempt, EntryId, Seq, VerificationId};
use sillok_core::principal::PrincipalKind;
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, Family, ScopeKey};
use tokio::runtime::Runtime;

use super::harness::{PROJECT, TASK, TestStore, append, command_id, ports, principal, scope};
use super::line::{Fate, Line};
use super::world::{ORG, OTHER_TASK, Pairs, World, store_of, without_idle_slots};
use crate::audit::{self, AuditReport, Difference};
use crate::rebuild::rebuild;
use crate::rows::Place;

mod banked;
mod decided;
mod failed;
mod kept;
mod made;

pub(super) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
});

pub(super) static WORLD: LazyLock<Pairs> = LazyLock::new(|| {
    RUNTIME.block_on(async {
        let world = World::new().await;
        world.node.shutdown().await;
        without_idle_slots(&world.pairs().await)
    })
});

fn audit_of(pairs: &Pairs) -> AuditReport {
    RUNTIME.block_on(async {
        audit::verify(&store_of(pairs).await, &|_| {})
            .await
            .unwrap()
    })
}

fn difference_of(pairs: &Pairs) -> Difference {
    audit_of(pairs)
        .first
        .expect("the audit finds what was changed")
}

/// A line whose transactions live for one read of a range, and the moments that they begin at.
fn short_lived(moments: impl IntoIterator<Item = TestStore>) -> Line {
    let line = Line::new(&RUNTIME.block_on(store_of(&WORLD)), Fate::Arrives);
    line.live_for_ranges(1);
    line.go_through(moments);
    line
}

/// Moments between which somebody writes.
const MOMENTS: usize = 80;

/// The world, command after command.
async fn moments() -> Vec<TestStore> {
    let mut world = World::new().await;
    let mut moments = Vec::new();
    for number in 0..MOMENTS {
        let line = append(&format!("line {number}"));
        world.give(PrincipalKind::Agent, OTHER_TASK, line).await;
        let pairs = without_idle_slots(&world.pairs().await);
        moments.push(store_of(&pairs).await);
    }
    world.node.shutdown().await;
    moments
}

#[test]
fn what_outlives_a_moment_of_the_store_is_audited_and_rebuilt_all_the_same() {
    let expected = audit_of(&WORLD);
    let line = short_lived([]);
    RUNTIME.block_on(async {
        let report = audit::verify(&line, &|_| {}).await.unwrap();
        assert_eq!(report, expected);
        assert!(line.hit() > 0, "the transactions were too old");
        let index = ports().index;
        let rebuilt = rebuild(&line, index.as_ref(), &|_| {}).await.unwrap();
        assert_eq!((rebuilt.rows_written, rebuilt.rows_removed), (0, 0));
    });
}

#[test]
fn a_scope_that_is_written_to_while_it_is_read_is_read_again() {
    let moments = RUNTIME.block_on(moments());
    let audit = |line: &Line| RUNTIME.block_on(audit::verify(line, &|_| {}));
    // It is written to between any two reads, for longer than anybody tries.
    let slowly = moments
        .iter()
        .flat_map(|moment| std::iter::repeat_n(moment.clone(), 7));
    assert_eq!(
        audit(&short_lived(slowly)).unwrap_err().code,
        ErrorCode::Busy
    );
    // It is written to once, wherever the audit is.
    let (first, last) = (&moments[0], moments.last().unwrap());
    for number in 0..150 {
        let earlier = std::iter::repeat_n(first.clone(), number);
        let line = short_lived(earlier.chain(std::iter::repeat_n(last.clone(), 1_000)));
        let report = audit(&line).unwrap();
        assert!(report.is_ok(), "{number}: {report:?}");
    }
}

/// The world, changed.
fn changed(change: impl FnOnce(&mut Pairs)) -> Pairs {
    let mut pairs = WORLD.clone();
    change(&mut pairs);
    pairs
}

fn keys_of(family: Family) -> Vec<Vec<u8>> {
    WORLD
        .keys()
        .filter(|key| Family::of(key) == Some(family))
        .cloned()
        .collect()
}

/// The scope that a row belongs to, for families that belong to one.
fn scope_of(key: &[u8]) -> Option<ScopeKey> {
    let of_scope = [
        Family::Scope,
        Family::Event,
        Family::Head,
        Family::Version,
        Family::Command,
        Family::Chunk,
        Family::Task,
        Family::ByHash,
        Family::Verification,
        Family::Report,
        Family::Review,
        Family::Decision,
        Family::DecisionVersion,
        Family::DecisionListed,
        Family::DecisionClaim,
        Family::Evidence,
        Family::Anchor,
        Family::AnchorListed,
        Family::DeclaredRelation,
    ];
    let family = Family::of(key).unwrap();
    of_scope
        .contains(&family)
        .then(|| ScopeKey::from_bytes(key[1..17].try_into().unwrap()))
}

fn events_of(path: &str) -> Vec<Vec<u8>> {
    let range = keys::event::range_of_scope(&ScopeKey::of(&scope(path)));
    WORLD
        .keys()
        .filter(|key| range.contains(key))
        .cloned()
        .collect()
}

#[test]
fn an_untouched_world_holds_and_has_rows_of_every_family() {
    let report = audit_of(&WORLD);
    assert_eq!(report.first, None);
    for family in Family::ALL {
        // Nothing is under way, a node that has its store to itself is not fenced, and the embedder is the first one.
        let is_changed = matches!(family, Family::Vector | Family::Space);
        let is_under_way = matches!(
            family,
            Family::Job | Family::Attempt | Family::Lease | Family::Run
        );
        let is_absent = is_changed || is_under_way || *family == Family::Fence;
        assert_eq!(keys_of(*family).is_empty(), is_absent, "{family}");
    }
    assert_eq!((report.operator_tokens, report.chunks_unused), (1, 1));
    assert_eq!(
        (report.large_texts, report.scopes),
        (2, keys_of(Family::Scope).len() as u64)
    );
    assert_eq!(report.events, keys_of(Family::Event).len() as u64);
    assert_eq!(report.outbox_rows, keys_of(Family::Outbox).len() as u64);
    // All but the aborted one, which is no answer to anything.
    assert_eq!(report.commands, keys_of(Family::Command).len() as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_changed_byte_of_any_value_is_named(
        family in proptest::sample::select(Family::ALL.to_vec()), row: usize, byte: usize, flip in 1u8..
    ) {
        let keys = keys_of(family);
        prop_assume!(!keys.is_empty());
        let key = &keys[row % keys.len()];
        let pairs = changed(|pairs| {
            let value = pairs.get_mut(key).unwrap();
            let at = byte % value.len();
            value[at] ^= flip;
        });
        let found = difference_of(&pairs);
        match scope_of(key) {
            Some(scope) => {
                prop_assert_eq!(found.scope.as_ref().map(ScopeKey::of), Some(scope), "{}", found);
                prop_assert!(found.seq.is_some(), "{}", found);
            }
            None => prop_assert!(found.scope.is_some() || found.key == Some(hex::encode(key)), "{}", found),
        }
        if family != Family::Command && family != Family::Chunk {
            prop_assert_eq!(found.family.as_str(), family.as_str());
        }
    }

    #[test]
    fn two_swapped_events_are_named_by_the_first(
        path in proptest::sample::select(vec![TASK, PROJECT, ORG]), a: usize, b: usize
    ) {
        let events = events_of(path);
        let (a, b) = (a % events.len(), b % events.len());
        prop_assume!(a != b);
        let pairs = changed(|pairs| {
            let values = (pairs[&events[a]].clone(), pairs[&events[b]].clone());
            pairs.insert(events[a].clone(), values.1);
            pairs.insert(events[b].clone(), values.0);
        });
        let found = difference_of(&pairs);
        prop_assert_eq!(found.scope, Some(scope(path)));
        prop_assert_eq!(found.seq, Some(Seq::new(a.min(b) as u64 + 1)));
    }

    #[test]
    fn dropped_last_events_are_named(
        path in proptest::sample::select(vec![TASK, PROJECT, ORG]), keep: usize
    ) {
        let events = events_of(path);
        let keep = keep % events.len();
        let pairs = changed(|pairs| events[keep..].iter().for_each(|key| drop(pairs.remove(key))));
        let found = difference_of(&pairs);
        prop_assert_eq!(found.scope, Some(scope(path)));
        prop_assert_eq!(found.seq, Some(Seq::new(keep as u64 + 1)));
    }
}

#[test]
fn every_deleted_row_is_missed() {
    // Nothing determines who runs, what an operator ordered, or how far a stream was told; the rest is
    // chunks that nobody named, commands that were given up and the operator's own token.
    let beside = |key: &[u8], value: &[u8]| match Family::of(key).unwrap() {
        Family::Node | Family::Fence | Family::Quarantine | Family::Relay => true,
        Family::Chunk => value.ends_with(&keys::chunk::encode(b"lost")[1..]),
        Family::Command => {
            matches!(
                keys::command::decode(key, value).unwrap(),
                CommandRecord::Aborted { .. }
            )
        }
        Family::Token => {
            keys::token::decode(key, value).unwrap().prefix == sillok_core::scope::ScopePrefix::All
        }
        _ => false,
    };
    let mut missed = 0;
    for (key, value) in WORLD.iter() {
        let report = audit_of(&changed(|pairs| drop(pairs.remove(key))));
        assert_eq!(
            report.first.is_none(),
            beside(key, value),
            "{} {:?}",
            hex::encode(key),
            report.first
        );
        missed += usize::from(report.first.is_some());
        if let (Some(scope), Some(found)) = (scope_of(key), report.first) {
            assert_eq!(
                found.scope.as_ref().map(ScopeKey::of),
                Some(scope),
                "{found}"
            );
        }
    }
    assert!(missed > 100);
}

/// For each family that events determine, a row that none leads to.
fn additions() -> Vec<(Vec<u8>, Vec<u8>)> {
    let some = |family| {
        let key = keys_of(family).remove(0);
        let value = WORLD[&key].clone();
        (key, value)
    };
    let place = Place::of(&scope(PROJECT));
    let elsewhere = ScopeKey::of(&scope("org/nowhere"));
    let (entry, id) = (
        EntryId::from_bytes([7; 16]),
        VerificationId::from_bytes([7; 16]),
    );
    let tip = events_of(PROJECT).len() as u64;
    let (token_key, token) = some(Family::Token);
    let mut token = keys::token::decode(&token_key, &token).unwrap();
    token.prefix = sillok_core::scope::ScopePrefix::Scope(scope(PROJECT));
    let job = sillok_core::promotion::Job {
        source: scope(TASK),
        verification: id,
        created_at: token.minted_at,
    };
    let told = OutboxRow {
        scope: scope(PROJECT),
        first: Seq::new(1),
        last: Seq::new(1),
        entries: Vec::new(),
    };
    let late = sillok_core::stamp::Stamp {
        generation: 1,
        counter: 1 << 40,
        index: 0,
    };
    vec![
        (
            keys::event::key(&place.key, Seq::new(tip + 1)),
            some(Family::Event).1,
        ),
        (
            keys::event::key(&elsewhere, Seq::new(1)),
            some(Family::Event).1,
        ),
        (keys::head::key(&place.key, entry), some(Family::Head).1),
        (keys::head::key(&elsewhere, entry), some(Family::Head).1),
        (
            keys::version::key(&place.key, entry, 1),
            some(Family::Version).1,
        ),
        (keys::task::key(&place.key), some(Family::Task).1),
        (
            [some(Family::Task).0, vec![0]].concat(),
            some(Family::Task).1,
        ),
        (
            keys::verification::key(&place.key, id),
            some(Family::Verification).1,
        ),
        (keys::mark::key(&place.key, id), some(Family::Mark).1),
        (keys::location::key(entry), some(Family::Location).1),
        (keys::job::key(place.slot, id), keys::job::encode(&job)),
        (keys::token::key(&[7; 32]), keys::token::encode(&token)),
        (
            keys::outbox::key(place.slot, late),
            keys::outbox::encode(&told),
        ),
        (keys::scope::key(&elsewhere), some(Family::Scope).1),
        (vec![b'z', 1], vec![1]),
        (vec![0], vec![1]),
    ]
}

/// The same, with those of decisions, evidence, anchors, what failed and trajectories.
fn all_additions() -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let beside = decided::additions().into_iter().chain(kept::additions());
    additions()
        .into_iter()
        .chain(beside)
        .chain(failed::additions())
        .chain(banked::additions())
}

#[test]
fn every_added_row_is_found() {
    for (key, value) in all_additions() {
        let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), value))));
        let named = found.key == Some(hex::encode(&key)) || found.scope.is_some();
        assert!(named, "{} was named as {found}", hex::encode(&key));
    }
}

#[test]
fn what_a_command_left_in_a_scope_that_it_never_wrote_is_no_difference() {
    let elsewhere = ScopeKey::of(&scope("org/nowhere"));
    let record = keys_of(Family::Command).remove(0);
    let actor = principal(PrincipalKind::Agent, "org/nowhere").actor;
    let key = keys::command::key(&elsewhere, &actor, command_id(1));
    let applied = keys::command::decode(&record, &WORLD[&record]).unwrap();
    let CommandRecord::Applied { digest, .. } = applied else {
        panic!("the world has no other");
    };
    let attempt = Attempt::FIRST;
    let aborted = keys::command::encode(&CommandRecord::Aborted { digest, attempt });
    let chunk_key = keys::chunk::key(&elsewhere, command_id(1), 0);
    let chunk = keys::chunk::encode(b"large");
    let left = changed(|pairs| {
        pairs.insert(key.clone(), aborted);
        pairs.insert(chunk_key.clone(), chunk.clone());
    });
    let report = audit_of(&left);
    assert!(report.first.is_none(), "{report:?}");
    let applied = WORLD[&record].clone();
    let mut damaged = chunk;
    damaged[0] ^= 1;
    for (key, value) in [(key, applied), (chunk_key, damaged)] {
        let found = difference_of(&changed(|pairs| drop(pairs.insert(key.clone(), value))));
        assert_eq!(found.key, Some(hex::encode(&key)), "{found}");
    }
}

#[test]
fn an_outbox_row_that_names_other_entries_is_found() {
    let rows = keys_of(Family::Outbox);
    let decoded = |key: &Vec<u8>| keys::outbox::decode(key, &WORLD[key]).unwrap();
    let key = rows
        .iter()
        .find(|key| !decoded(key).entries.is_empty())
        .unwrap();
    let row = decoded(key);
    let wrong = OutboxRow {
        entries: Vec::new(),
        ..row.clone()
    };
    let found = difference_of(&changed(|pairs| {
        drop(pairs.insert(key.clone(), keys::outbox::encode(&wrong)))
    }));
    assert_eq!((found.scope, found.seq), (Some(row.scope), Some(row.first)));
}

#[test]
fn content_that_is_gone_without_a_receipt_is_named() {
    let key = events_of(TASK)[1].clone();
    let mut event: StoredEvent = keys::event::decode(&key, &WORLD[&key]).unwrap();
    event.sealed = None;
    let gone = keys::event::encode(&event);
    let pairs = changed(|pairs| drop(pairs.insert(key, gone)));
    let found = difference_of(&pairs);
    assert_eq!(
        (found.scope, found.seq),
        (Some(scope(TASK)), Some(Seq::new(2)))
    );
}

#[test]
fn an_unfinished_promotion_that_was_finished_is_found() {
    let marks = keys_of(Family::Verification);
    let task = Place::of(&scope(TASK));
    let here = marks
        .iter()
        .find(|key| scope_of(key) == Some(task.key))
        .unwrap();
    let id = keys::verification::parse(here).unwrap().verification;
    let created_at = keys::verification::decode(here, &WORLD[here]).unwrap().time;
    let job = sillok_core::promotion::Job {
        source: task.scope.clone(),
        verification: id,
        created_at,
    };
    let (key, value) = (keys::job::key(task.slot, id), keys::job::encode(&job));
    let found = difference_of(&changed(|pairs| drop(pairs.insert(key, value))));
    assert_eq!(
        (found.scope, found.family),
        (Some(task.scope), Family::Job.as_str().to_owned())
    );
}

/// The families that a rebuild writes.
const VIEW: [Family; 22] = [
    Family::FailedApproach,
    Family::Trajectory,
    Family::DeclaredRelation,
    Family::Evidence,
    Family::Anchor,
    Family::AnchorListed,
    Family::Decision,
    Family::DecisionVersion,
    Family::DecisionListed,
    Family::DecisionClaim,
    Family::Related,
    Family::Report,
    Family::Review,
    Family::Head,
    Family::Version,
    Family::ByHash,
    Family::Task,
    Family::Verification,
    Family::Location,
    Family::Mark,
    Family::Token,
    Family::Job,
];

fn rebuilt(pairs: &Pairs) -> Result<(Pairs, crate::rebuild::RebuildReport), sillok_core::Error> {
    RUNTIME.block_on(async {
        let store = store_of(pairs).await;
        let report = rebuild(&store, &*ports().index, &|_| {}).await;
        Ok((super::world::pairs_of(&store).await, report?))
    })
}

#[test]
fn a_rebuild_of_a_sound_world_writes_nothing() {
    let (after, report) = rebuilt(&WORLD).unwrap();
    assert!(after == *WORLD);
    assert_eq!((report.rows_written, report.rows_removed), (0, 0));
    assert_eq!(report.entries, keys_of(Family::Head).len() as u64);
}

#[test]
fn a_rebuild_without_any_view_gives_the_same_view() {
    let operator = |key: &[u8], value: &[u8]| {
        Family::of(key) == Some(Family::Token)
            && keys::token::decode(key, value).unwrap().prefix
                == sillok_core::scope::ScopePrefix::All
    };
    let is_view = |key: &[u8]| VIEW.contains(&Family::of(key).unwrap());
    let bare = changed(|pairs| pairs.retain(|key, value| !is_view(key) || operator(key, value)));
    let (after, report) = rebuilt(&bare).unwrap();
    assert!(after == *WORLD);
    assert_eq!(report.rows_written, report.rows);
}

#[test]
fn a_rebuild_repairs_and_removes_what_no_event_leads_to() {
    let in_view = |key: &[u8]| Family::of(key).is_some_and(|family| VIEW.contains(&family));
    for (key, value) in all_additions().filter(|(key, _)| in_view(key)) {
        let (after, report) = rebuilt(&changed(|pairs| drop(pairs.insert(key, value)))).unwrap();
        assert!(after == *WORLD);
        assert_eq!((report.rows_written, report.rows_removed), (0, 1));
    }
    for family in VIEW {
        let keys = keys_of(family);
        // A valid row, but that of another key; and one that does not decode.
        let wrong = [
            keys.last().map(|key| WORLD[key].clone()),
            Some(b"garbage".to_vec()),
        ];
        for value in wrong.into_iter().flatten().filter(|_| keys.len() > 1) {
            let differs = |key: &&Vec<u8>| WORLD[*key] != value && !is_operators(key);
            let Some(key) = keys.iter().find(differs).cloned() else {
                // Of listings each row says the same.
                let says_its_place = [Family::AnchorListed, Family::DecisionListed];
                assert!(says_its_place.contains(&family), "{family}");
                continue;
            };
            let (after, report) =
                rebuilt(&changed(|pairs| drop(pairs.insert(key, value)))).unwrap();
            assert!(after == *WORLD, "{family}");
            assert_eq!(
                (report.rows_written, report.rows_removed),
                (1, 0),
                "{family}"
            );
        }
    }
}

fn is_operators(key: &[u8]) -> bool {
    Family::of(key) == Some(Family::Token)
        && keys::token::decode(key, &WORLD[key]).unwrap().prefix
            == sillok_core::scope::ScopePrefix::All
}

#[test]
fn a_rebuild_refuses_events_that_do_not_hold_and_writes_nothing() {
    let last = events_of(TASK).pop().unwrap();
    let head = keys_of(Family::Head).remove(0);
    let broken = changed(|pairs| {
        pairs.remove(&last);
        pairs.remove(&head);
    });
    RUNTIME.block_on(async {
        let store = store_of(&broken).await;
        let error = rebuild(&store, &*ports().index, &|_| {}).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Internal);
        assert!(error.message.contains(TASK), "{error}");
        assert!(super::world::pairs_of(&store).await == broken);
    });
}

#[test]
fn a_rebuilt_index_knows_every_entry_and_how_far_it_is() {
    let world = &*WORLD;
    RUNTIME.block_on(async {
        let store = store_of(world).await;
        let index = ports().index;
        rebuild(&store, &*index, &|_| {}).await.unwrap();
        let last = sillok_store::Txn::commit(sillok_store::Store::begin(&store).await.unwrap())
            .await
            .unwrap();
        assert_eq!(index.watermark().await.unwrap(), Some(last.stamp));
        let status_of = |key: &Vec<u8>| keys::head::decode(key, &world[key]).unwrap().status;
        let mut heads = keys_of(Family::Head);
        heads.retain(|key| status_of(key) != Status::Archived);
        let stored = index.stats().await.unwrap().stored;
        assert_eq!(stored, heads.len() as u64);
    });
}
