//! All that people wrote into a world is erased, and nothing of it is left in any row.

use sillok_core::ErrorCode;
use sillok_core::command::{AnswerBody, Command, CommandRecord, Digest};
use sillok_core::entry::{Status, Table};
use sillok_core::erasure::Erase;
use sillok_core::event::EventKind;
use sillok_core::fingerprint::ContentHash;
use sillok_core::id::{EntryId, ReviewId, Seq};
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_store::MemoryConfig;
use sillok_store::keys::{self, Family, ScopeKey};

use super::audit::RUNTIME;
use super::harness::{PROJECT, TASK, TestStore, append, command_id, scope, submission};
use super::restore::{restored, whole};
use super::world::{Pairs, World, entry};
use crate::audit;
use crate::rebuild::rebuild;
use crate::restore::{Error, Until};

/// Words of texts that the world's people and their promotions wrote.
const WRITTEN: [&str; 8] = [
    "AssertionError",
    "stops one line early",
    "large text\n",
    "after the denial",
    "nine minutes",
    "by hand",
    "axum",
    "linker",
];

fn holding<'a>(pairs: &'a Pairs, words: &'a [&str]) -> impl Iterator<Item = (Family, &'a str)> {
    let finds =
        |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|at| at == word.as_bytes());
    pairs.iter().flat_map(move |(key, value)| {
        let family = Family::of(key).unwrap();
        let here = words.iter().filter(move |word| finds(value, word));
        here.map(move |word| (family, *word))
    })
}

fn order(records: Vec<Seq>, entries: Vec<EntryId>, offers: Vec<ReviewId>) -> Command {
    Command::Erase(Box::new(Erase {
        records,
        entries,
        offers,
        reason: "nobody is to read it".into(),
    }))
}

/// The scopes with the records and entries that they have.
fn contents(pairs: &Pairs) -> Vec<(Scope, Vec<Seq>, Vec<EntryId>)> {
    let scopes = pairs.iter().filter_map(|(key, value)| {
        let is_scope = Family::of(key) == Some(Family::Scope);
        is_scope.then(|| keys::scope::decode(key, value).unwrap().scope)
    });
    let of_scope = |path: Scope| {
        let here = ScopeKey::of(&path);
        let (mut records, mut entries) = (Vec::new(), Vec::new());
        for (key, value) in pairs {
            match Family::of(key).unwrap() {
                Family::Event => {
                    let at = keys::event::parse(key).unwrap();
                    let event = keys::event::decode(key, value).unwrap();
                    let kind = event.decode_header().unwrap().kind;
                    if at.scope == here && kind == EventKind::RecordAppended {
                        records.push(at.seq);
                    }
                }
                Family::Head => {
                    let head = keys::head::decode(key, value).unwrap();
                    if head.scope == path {
                        entries.push(head.id);
                    }
                }
                _ => {}
            }
        }
        (path, records, entries)
    };
    scopes.map(of_scope).collect()
}

async fn erase_all(world: &mut World) -> (usize, usize) {
    let (mut events, mut gone) = (0, 0);
    for (path, records, entries) in contents(&world.pairs().await) {
        if records.is_empty() && entries.is_empty() {
            continue;
        }
        let command = order(records, entries, Vec::new());
        match world
            .give(PrincipalKind::Human, path.as_str(), command)
            .await
        {
            AnswerBody::Erased {
                events: erased,
                entries,
                known: 0,
            } => {
                events += erased as usize;
                gone += entries.len();
            }
            other => panic!("an erasure was answered with {other:?}"),
        }
    }
    (events, gone)
}

async fn check(world: &World) {
    let report = audit::verify(&world.store, &|_| {}).await.unwrap();
    assert!(report.is_ok(), "{report:?}");
    let index = &world.node.ports().index;
    let rebuilt = rebuild(&world.store, index.as_ref(), &|_| {})
        .await
        .unwrap();
    assert_eq!((rebuilt.rows_written, rebuilt.rows_removed), (0, 0));
}

#[test]
fn no_row_holds_anything_of_what_was_erased_and_the_audit_passes() {
    RUNTIME.block_on(async {
        let mut world = World::new().await;
        let before = world.pairs().await;
        for word in WRITTEN {
            assert!(holding(&before, &[word]).next().is_some(), "{word}");
        }
        let hashes: Vec<Vec<u8>> = before
            .keys()
            .filter(|key| Family::of(key) == Some(Family::ByHash))
            .cloned()
            .collect();
        assert!(hashes.len() > 3);
        let (events, entries) = erase_all(&mut world).await;
        assert!(events > 25 && entries > 10, "{events} {entries}");
        check(&world).await;
        let after = world.pairs().await;
        let left: Vec<_> = holding(&after, &WRITTEN).collect();
        assert!(left.is_empty(), "{left:?}");
        for key in hashes {
            assert!(!after.contains_key(&key));
            let hash = &key[key.len() - 32..];
            let found = after
                .values()
                .any(|value| value.windows(32).any(|at| at == hash));
            assert!(!found, "a hash of a text is left");
        }
        let chunks = |pairs: &Pairs| {
            let families = pairs.keys().filter_map(|key| Family::of(key));
            families.filter(|family| *family == Family::Chunk).count()
        };
        assert!(chunks(&after) < chunks(&before));
        world.node.shutdown().await;
    });
}

#[test]
fn the_index_forgets_and_what_cites_it_is_told_that_it_is_gone() {
    RUNTIME.block_on(async {
        let mut world = World::new().await;
        let amended = world.amended;
        let index = world.node.ports().index.clone();
        let command = order(Vec::new(), vec![amended], Vec::new());
        world.give(PrincipalKind::Human, PROJECT, command).await;
        let head = world.head(amended).await;
        assert!(head.is_erased() && head.status == Status::Archived);
        let found = world.node.reader().entry(amended).await.unwrap().unwrap();
        assert_eq!(found.version.content, "");
        let command = order(vec![Seq::new(2)], Vec::new(), Vec::new());
        world.give(PrincipalKind::Human, TASK, command).await;
        let id = sillok_core::id::RecordId {
            scope: scope(TASK),
            seq: Seq::new(2),
        };
        assert!(world.node.reader().record(&id).await.unwrap().is_none());
        let cites = sillok_core::promotion::NewEntry {
            citations: vec![sillok_core::citation::Citation::Log {
                id,
                time: sillok_core::time::Timestamp::EPOCH,
            }],
            ..entry(Table::Observations, "it rests on nothing")
        };
        let command = Command::PutEntry {
            entry: Box::new(cites),
            verification: None,
        };
        let refused = submission(9_100, PrincipalKind::Agent, TASK, command);
        let error = world.node.submit(refused).await.unwrap_err();
        assert_ne!(error.code, ErrorCode::Internal, "{error}");
        drop(index);
        check(&world).await;
        world.node.shutdown().await;
    });
}

#[test]
fn who_gives_an_erased_command_again_is_told_its_answer_and_nothing_is_written() {
    RUNTIME.block_on(async {
        let world = World::new().await;
        let give = |text: &str| submission(9_200, PrincipalKind::Agent, TASK, append(text));
        let answer = world.node.submit(give("a word")).await.unwrap();
        let AnswerBody::Appended { first, .. } = answer.result else {
            panic!("{answer:?}");
        };
        let command = order(vec![first], Vec::new(), Vec::new());
        let erase = submission(9_201, PrincipalKind::Human, TASK, command);
        let erased = world.node.submit(erase.clone()).await.unwrap();
        let pairs = world.pairs().await;
        let digests = pairs.iter().filter_map(|(key, value)| {
            let parsed = keys::command::parse(key).ok()?;
            let record = keys::command::decode(key, value).unwrap();
            (parsed.command == command_id(9_200)).then_some(record)
        });
        let digests: Vec<CommandRecord> = digests.collect();
        assert!(
            matches!(
                digests.as_slice(),
                [CommandRecord::Applied {
                    digest: Digest::ERASED,
                    ..
                }]
            ),
            "{digests:?}"
        );
        assert_eq!(world.node.submit(give("a word")).await.unwrap(), answer);
        assert_eq!(world.node.submit(erase).await.unwrap(), erased);
        check(&world).await;
        world.node.shutdown().await;
    });
}

#[test]
fn content_that_is_still_there_or_gone_without_an_order_is_found() {
    RUNTIME.block_on(async {
        let mut world = World::new().await;
        let before = world.pairs().await;
        let command = order(vec![Seq::new(2)], Vec::new(), Vec::new());
        world.give(PrincipalKind::Human, TASK, command).await;
        world.node.shutdown().await;
        let key = keys::event::key(&ScopeKey::of(&scope(TASK)), Seq::new(2));
        let mut pairs = super::world::without_idle_slots(&world.pairs().await);
        pairs.insert(key.clone(), before[&key].clone());
        let store = super::world::store_of(&pairs).await;
        let found = audit::verify(&store, &|_| {}).await.unwrap().first.unwrap();
        assert!(found.what.contains("still there"), "{found}");
        assert_eq!(found.seq, Some(Seq::new(2)));
        let other = keys::event::key(&ScopeKey::of(&scope(TASK)), Seq::new(3));
        let mut pairs = super::world::without_idle_slots(&world.pairs().await);
        let mut event = keys::event::decode(&other, &pairs[&other]).unwrap();
        event.sealed = None;
        pairs.insert(other, keys::event::encode(&event));
        let store = super::world::store_of(&pairs).await;
        let found = audit::verify(&store, &|_| {}).await.unwrap().first.unwrap();
        assert!(found.what.contains("nothing says"), "{found}");
    });
}

#[test]
fn a_backup_is_restored_whole_and_not_to_a_moment_that_was_erased_since() {
    RUNTIME.block_on(async {
        let mut world = World::new().await;
        let text = ContentHash::of("requests are served by axum 0.9");
        let before = world.head(world.amended).await;
        assert_eq!(before.content_hash, text);
        let made = before.version_seq;
        let command = order(Vec::new(), vec![world.amended], Vec::new());
        world.give(PrincipalKind::Human, PROJECT, command).await;
        world.node.shutdown().await;
        let pairs = super::world::without_idle_slots(&world.pairs().await);
        let store = TestStore::sound(MemoryConfig {
            counter: 10_000,
            ..MemoryConfig::default()
        });
        super::restore::fill(&store, &pairs).await;
        let backup = whole(&store).await;
        let (_, report) = restored(&backup, &Until::End).await.unwrap();
        assert!(report.audit.is_ok());
        let then = Until::Event(scope(PROJECT), made);
        let error = restored(&backup, &then).await.unwrap_err();
        assert!(matches!(error, Error::ErasedSince { .. }), "{error}");
    });
}
