//! A world is backed up and restored, whole and cut at every commit, and what was cut off did not happen.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::sync::LazyLock;

use sillok_core::ErrorCode;
use sillok_core::event::Body;
use sillok_core::id::{Epoch, Seq};
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::retention::answers::is_forgotten;
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_core::slot::SLOT_HASH;
use sillok_core::staging::Content;
use sillok_core::stamp::Stamp;
use sillok_core::time::Timestamp;
use sillok_core::token::hash_secret;
use sillok_store::keys::{self, Family, InBackup, ScopeKey};
use sillok_store::{MemoryConfig, Store as _, Txn as _, backup};

use super::audit::{RUNTIME, WORLD};
use super::harness::{
    CountingRng, PROJECT, TASK, TestStore, append, later_node, open_task, scope, submission,
};
use super::world::{ORG, Pairs, World, pairs_of, store_of};
use crate::audit;
use crate::backup::Backup;
use crate::reads::TailCursor;
use crate::restore::{Error, Means, RestoreReport, Until, next_generation, restore, survey};

static BACKUP: LazyLock<Vec<u8>> = LazyLock::new(|| RUNTIME.block_on(backup_of(&WORLD)));

/// Runs a test. What all of them share is made before, since its making runs on its own.
fn run(test: impl Future<Output = ()>) {
    LazyLock::force(&BACKUP);
    RUNTIME.block_on(test);
}

const NOW: Timestamp = Timestamp::from_ms(1_790_000_000_000);

async fn backup_of(pairs: &Pairs) -> Vec<u8> {
    // The counter goes on behind the world's own, which put its pairs together in one commit.
    let store = TestStore::sound(MemoryConfig {
        counter: 10_000,
        ..MemoryConfig::default()
    });
    fill(&store, pairs).await;
    whole(&store).await
}

pub(super) async fn fill(store: &TestStore, pairs: &Pairs) {
    let mut txn = store.begin().await.unwrap();
    for (key, value) in pairs {
        txn.set(key.clone(), value.clone());
    }
    txn.commit().await.unwrap();
}

pub(super) async fn whole(store: &TestStore) -> Vec<u8> {
    let mut backup = Backup::begin(store, NOW, "test").await.unwrap();
    let mut bytes = Vec::new();
    while let Some(piece) = backup.next().await.unwrap() {
        bytes.extend(piece);
    }
    assert!(backup.done().is_some());
    bytes
}

fn operator() -> Principal {
    Principal {
        actor: Actor {
            kind: PrincipalKind::Human,
            id: PrincipalId::parse("admin").unwrap(),
        },
        prefix: ScopePrefix::All,
    }
}

/// Restores, with the store that comes of it.
pub(super) async fn restored(
    bytes: &[u8],
    until: &Until,
) -> Result<(TestStore, RestoreReport), Error> {
    let mut file = Cursor::new(bytes);
    let survey = survey(&mut file, until)?;
    let mut rng = CountingRng::new();
    let store = TestStore::sound(MemoryConfig {
        generation: next_generation(survey.head.generation, &mut rng)?,
        counter: survey.end.cut.counter,
        ..MemoryConfig::default()
    });
    let means = Means {
        operator: &operator(),
        now: NOW,
        rng: &mut rng,
    };
    let report = restore(&store, &mut file, &survey, means, &|_| {}).await?;
    Ok((store, report))
}

fn of(pairs: &Pairs, family: Family) -> Pairs {
    let rows = pairs
        .iter()
        .filter(|(key, _)| Family::of(key) == Some(family));
    rows.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The commits of the world in their order: the stamp, with the scope and last event of each.
fn commits(pairs: &Pairs) -> Vec<(Stamp, Scope, Seq)> {
    let rows = of(pairs, Family::Outbox);
    let mut all: Vec<_> = rows
        .iter()
        .map(|(key, value)| {
            let row = keys::outbox::decode(key, value).unwrap();
            (keys::outbox::parse(key).unwrap().stamp, row.scope, row.last)
        })
        .collect();
    all.sort();
    all
}

fn time_of(key: &[u8], value: &[u8]) -> Timestamp {
    let event = keys::event::decode(key, value).unwrap();
    event.decode_header().unwrap().time
}

#[test]
fn a_whole_restore_has_every_event_and_the_same_view() {
    run(async {
        let (store, report) = restored(&BACKUP, &Until::End).await.unwrap();
        assert!(report.audit.is_ok());
        assert_eq!(report.events_cut, 0);
        assert_eq!(report.events, of(&WORLD, Family::Event).len() as u64);
        let after = pairs_of(&store).await;
        for (key, value) in of(&WORLD, Family::Event) {
            assert_eq!(after.get(&key), Some(&value));
        }
        // Only tokens are changed in the view: one counted.
        assert_eq!(report.tokens_revoked, 1);
        for family in Family::ALL {
            if family.in_backup() == InBackup::Folded && *family != Family::Token {
                assert_eq!(of(&after, *family), of(&WORLD, *family), "{family}");
            }
        }
        assert!(of(&after, Family::Relay).is_empty());
    });
}

#[test]
fn no_token_counts_no_run_goes_on_and_no_epoch_comes_again() {
    run(async {
        let (store, _) = restored(&BACKUP, &Until::End).await.unwrap();
        let after = pairs_of(&store).await;
        let tokens = of(&after, Family::Token);
        assert!(!tokens.is_empty());
        for (key, value) in &tokens {
            let token = keys::token::decode(key, value).unwrap();
            assert_eq!(token.principal_at(Timestamp::EPOCH), None);
        }
        let operators = keys::token::key(&hash_secret("operator"));
        assert!(WORLD.contains_key(&operators) && !tokens.contains_key(&operators));
        for (key, value) in of(&WORLD, Family::Owner) {
            let before = keys::owner::decode(&key, &value).unwrap();
            let now = keys::owner::decode(&key, &after[&key]).unwrap();
            assert_eq!(now.epoch, Epoch(before.epoch.0 + 1));
        }
        for (key, value) in of(&after, Family::Node) {
            assert!(keys::node::decode(&key, &value).unwrap().fenced);
        }
        // A node goes on with it.
        let node = later_node(&store).await;
        let given = submission(90_000, PrincipalKind::Agent, TASK, append("afterwards"));
        node.submit(given).await.unwrap();
        node.shutdown().await;
        assert!(audit::verify(&store, &|_| {}).await.unwrap().is_ok());
    });
}

#[test]
fn every_stamp_is_of_the_new_generation_and_a_cursor_of_the_old_one_is_refused() {
    run(async {
        let (store, report) = restored(&BACKUP, &Until::End).await.unwrap();
        let after = pairs_of(&store).await;
        let stamps: Vec<Stamp> = commits(&after).into_iter().map(|commit| commit.0).collect();
        assert!(
            stamps
                .iter()
                .all(|stamp| stamp.generation == report.generation)
        );
        assert!(
            stamps.len() > commits(&WORLD).len(),
            "the revocation was told"
        );
        let old: Vec<_> = commits(&WORLD)
            .into_iter()
            .map(|c| (c.0.counter, c.1, c.2))
            .collect();
        let new: Vec<_> = commits(&after)
            .into_iter()
            .map(|c| (c.0.counter, c.1, c.2))
            .collect();
        assert_eq!(new[..old.len()], old);
        let node_of_restored = later_node(&store).await;
        let reader = node_of_restored.reader();
        let page = reader
            .tail(&ScopePrefix::All.into(), TailCursor::START, 1)
            .await
            .unwrap();
        assert!(
            reader
                .tail(&ScopePrefix::All.into(), page.next, 10)
                .await
                .is_ok()
        );
        let source = store_of(&WORLD).await;
        let source = later_node(&source).await;
        let old = source
            .reader()
            .tail(&ScopePrefix::All.into(), TailCursor::START, 1)
            .await
            .unwrap();
        let refused = reader
            .tail(&ScopePrefix::All.into(), old.next, 10)
            .await
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::HistoryChanged);
    });
}

#[test]
fn two_restores_of_one_backup_are_two_histories() {
    let mut rng = CountingRng::new();
    let generations: BTreeSet<u32> = (0..100)
        .map(|_| next_generation(7, &mut rng).unwrap())
        .collect();
    assert!(generations.len() >= 99 && generations.iter().all(|generation| *generation > 7));
    assert!(matches!(
        next_generation(u32::MAX, &mut rng),
        Err(Error::NoGeneration(u32::MAX))
    ));
}

#[test]
fn a_cut_at_any_commit_leaves_that_moment_and_nothing_behind_it() {
    run(async {
        let commits = commits(&WORLD);
        for number in (0..commits.len()).step_by(5).chain([commits.len() - 1]) {
            let (stamp, scope, last) = &commits[number];
            let until = Until::Event(scope.clone(), *last);
            let (store, report) = restored(&BACKUP, &until).await.unwrap();
            assert!(report.audit.is_ok(), "{stamp}");
            let after = pairs_of(&store).await;
            let kept = &commits[..=number];
            for (key, value) in of(&WORLD, Family::Event) {
                let at = keys::event::parse(&key).unwrap();
                let is_kept = kept
                    .iter()
                    .any(|(_, scope, last)| ScopeKey::of(scope) == at.scope && at.seq <= *last);
                // Where one is missing, a revocation may stand in its place.
                assert_eq!(
                    after.get(&key) == Some(&value),
                    is_kept,
                    "{scope}#{last} {at:?}"
                );
            }
            assert_eq!(report.audit.large_texts, large_texts(&after) as u64);
            assert_eq!(report.audit.chunks_unused, 0);
        }
    });
}

/// How many events name a large text.
fn large_texts(pairs: &Pairs) -> usize {
    let events = of(pairs, Family::Event);
    let chunked = events.iter().filter(|(key, value)| {
        let body = keys::event::decode(key, value)
            .unwrap()
            .decode_body()
            .unwrap();
        let content = body.as_ref().and_then(Body::content);
        matches!(content, Some(Content::Chunked { .. }))
    });
    chunked.count()
}

#[test]
fn a_retry_of_what_was_cut_off_is_carried_out_and_one_of_what_was_left_is_not() {
    run(async {
        let world = World::new().await;
        let give =
            |number, text: &str| submission(number, PrincipalKind::Agent, TASK, append(text));
        let kept = world.node.submit(give(70_001, "kept")).await.unwrap();
        let cut = world.node.submit(give(70_002, "cut off")).await.unwrap();
        world.node.shutdown().await;
        let bytes = whole(&world.store).await;
        let until = Until::Event(scope(TASK), kept.seq);
        let (store, report) = restored(&bytes, &until).await.unwrap();
        assert!(report.events_cut >= 1);
        let node = later_node(&store).await;
        let again = node.submit(give(70_001, "kept")).await.unwrap();
        assert_eq!(again, kept, "it was carried out before");
        let anew = node.submit(give(70_002, "cut off")).await.unwrap();
        assert_eq!(anew.seq, cut.seq, "its place is free again");
        node.shutdown().await;
        assert!(audit::verify(&store, &|_| {}).await.unwrap().is_ok());
    });
}

#[test]
fn a_cut_by_time_leaves_no_later_event() {
    run(async {
        let events = of(&WORLD, Family::Event);
        let times: BTreeSet<Timestamp> = events
            .iter()
            .map(|(key, value)| time_of(key, value))
            .collect();
        let last = *times.last().unwrap();
        for time in times.iter().step_by(4).chain([&last]) {
            let (store, report) = restored(&BACKUP, &Until::Time(*time)).await.unwrap();
            assert!(report.last_event <= Some(*time), "{time:?}");
            let after = of(&pairs_of(&store).await, Family::Event);
            let kept = events
                .iter()
                .filter(|(key, value)| after.get(*key) == Some(*value));
            assert!(
                kept.clone()
                    .all(|(key, value)| time_of(key, value) <= *time)
            );
            assert_eq!(kept.count() as u64, report.events);
            assert_eq!(report.events_cut == 0, *time == last);
        }
        let before = Timestamp::from_ms(times.first().unwrap().ms() - 1);
        let refused = restored(&BACKUP, &Until::Time(before)).await;
        assert!(matches!(refused, Err(Error::NothingByThen)));
    });
}

#[test]
fn an_event_that_is_not_there_is_named() {
    run(async {
        for (path, has) in [
            (PROJECT, "its last one"),
            ("org/nobody", "none of that scope"),
        ] {
            let until = Until::Event(scope(path), Seq::new(100_000));
            let refused = restored(&BACKUP, &until).await.unwrap_err();
            assert!(matches!(&refused, Error::NoSuchEvent { .. }));
            assert!(refused.to_string().contains(has), "{refused}");
        }
    });
}

#[test]
fn a_backup_of_a_restored_store_is_restored_again() {
    run(async {
        let (first, one) = restored(&BACKUP, &Until::End).await.unwrap();
        let node = later_node(&first).await;
        for number in 0..3 {
            let task = format!("{ORG}/project/new/worktree/main/task/{number}");
            let open = submission(80_000 + number, PrincipalKind::Agent, &task, open_task());
            node.submit(open).await.unwrap();
        }
        node.shutdown().await;
        let (_, two) = restored(&whole(&first).await, &Until::End).await.unwrap();
        assert!(two.generation > one.generation);
        assert_eq!(two.events, one.audit.events + 3);
        assert_eq!(two.tokens_revoked, 0);
    });
}

#[test]
fn a_backup_that_is_cut_flipped_or_of_another_layout_is_refused() {
    run(async {
        let whole = &*BACKUP;
        for at in (0..whole.len()).step_by(whole.len() / 40) {
            let refused = restored(&whole[..at], &Until::End).await;
            assert!(matches!(refused, Err(Error::Backup(_))), "cut at {at}");
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let refused = restored(&changed, &Until::End).await;
            assert!(matches!(refused, Err(Error::Backup(_))), "flipped at {at}");
        }
        let head = |slot_count, store_format| backup::Head {
            store_format,
            slot_count,
            slot_hash: SLOT_HASH.to_owned(),
            generation: 1,
            created: NOW,
            version: "test".to_owned(),
        };
        for head in [head(7, 1), head(4_096, 2)] {
            let (writer, first) = backup::Writer::begin(&head);
            let bytes = [first, writer.end(Stamp::ZERO).0].concat();
            let refused = restored(&bytes, &Until::End).await;
            assert!(matches!(refused, Err(Error::Store(_))));
        }
    });
}

#[test]
fn what_does_not_hold_together_is_not_restored() {
    run(async {
        let mut damaged = WORLD.clone();
        let events = keys::event::range_of_scope(&ScopeKey::of(&scope(PROJECT)));
        let key = damaged
            .keys()
            .find(|key| events.contains(key))
            .unwrap()
            .clone();
        damaged.remove(&key);
        let refused = restored(&backup_of(&damaged).await, &Until::End)
            .await
            .unwrap_err();
        assert!(refused.to_string().contains(PROJECT), "{refused}");
    });
}

#[test]
fn a_cut_before_answers_were_forgotten_leaves_the_floor_where_it_was() {
    run(async {
        let world = World::new().await;
        let give =
            |number, text: &str| submission(number, PrincipalKind::Agent, TASK, append(text));
        let kept = world.node.submit(give(70_001, "kept")).await.unwrap();
        world.node.submit(give(70_002, "cut off")).await.unwrap();
        world.node.shutdown().await;
        let mut pairs = pairs_of(&world.store).await;
        let task = ScopeKey::of(&scope(TASK));
        let of_task = keys::scope::key(&task);
        let mut row = keys::scope::decode(&of_task, &pairs[&of_task]).unwrap();
        row.floor = row.tip.time.plus_ms(1);
        pairs.insert(of_task, keys::scope::encode(&row));
        pairs.retain(|key, _| match keys::command::parse(key) {
            Ok(of) => of.scope != task || !is_forgotten(of.actor.kind, of.command, row.floor),
            Err(_) => true,
        });
        let bytes = backup_of(&pairs).await;
        let until = Until::Event(scope(TASK), kept.seq);
        let (store, report) = restored(&bytes, &until).await.unwrap();
        assert!(report.events_cut >= 1);
        assert_eq!(report.audit.first, None);
        let node = later_node(&store).await;
        let refused = node.submit(give(70_001, "kept")).await.unwrap_err();
        assert_eq!(
            refused.code,
            ErrorCode::Expired,
            "it is not carried out twice"
        );
        node.shutdown().await;
        assert!(audit::verify(&store, &|_| {}).await.unwrap().is_ok());
    });
}
