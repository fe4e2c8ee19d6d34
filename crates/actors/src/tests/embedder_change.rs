//! The embedder is changed while a node runs: what is found meanwhile and afterwards, and what comes in between.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use sillok_builtin::{ExactIndex, HashEmbedder};
use sillok_core::ErrorCode;
use sillok_core::command::Command;
use sillok_core::entry::{SpaceId, Table};
use sillok_core::membership::WireVersion;
use sillok_core::ports::{Embedder, NeighbourRequest, PortError, VectorIndex};
use sillok_core::principal::PrincipalKind;
use sillok_core::stamp::Stamp;
use sillok_store::keys;
use sillok_store::{Read, Store as _, Txn as _};

use super::harness::{PROJECT, TestNode, clock_at, ports, scope, submission};
use super::index::{HookedIndex, put};
use super::restore::{restored, whole};
use super::world::entry;
use crate::restore::Until;
use crate::{NextSpace, NodeConfig, Ports, embedding_space};

mod damage;
pub(crate) mod stage;

use stage::{
    Other, Stage, TEXTS, amend, assert_found, by_meaning, erase, found, lessons, over, until,
};

#[tokio::test]
async fn entries_are_found_by_meaning_while_the_embedder_is_changed_and_afterwards() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::named("other", 0), Arc::new(ExactIndex::new()));
    let node = stage.change(&other, &index).await;
    assert_found(&node, &ids, "the former one serves").await;
    let status = node.embedder_change().await.unwrap();
    assert_eq!((status.wanted, status.done), (other.space(), 0));
    other.calls.add_permits(1_000);
    over(&node, &other).await;
    for (text, id) in TEXTS.iter().zip(&ids) {
        assert_eq!(by_meaning(&node, text).await, [*id]);
        assert_eq!(found(&*index, Some(other.vector(text))).await, [*id]);
    }
    assert!(index.is_whole().await.unwrap());
    assert_eq!(node.metrics().reembedded, 3);
    assert_eq!(
        embedding_space::stored(&stage.store).await.unwrap(),
        Some(other.space())
    );
    node.shutdown().await;
    stage.assert_sound().await;
}

#[tokio::test]
async fn what_is_written_during_a_change_is_there_after_it() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::named("other", 0), Arc::new(ExactIndex::new()));
    let node = stage.change(&other, &index).await;
    let new = stage.put(&node, "tabs are four wide here").await;
    let bare = Command::PutEntry {
        entry: Box::new(entry(Table::Observations, "nobody has embedded this one")),
        verification: None,
    };
    stage.give(&node, bare).await;
    stage
        .give(&node, amend(ids[0], "the lexer skips the byte order mark"))
        .await;
    other.calls.add_permits(1_000);
    over(&node, &other).await;
    assert_eq!(by_meaning(&node, "tabs are four wide here").await, [new]);
    assert_eq!(
        by_meaning(&node, "the lexer skips the byte order mark").await,
        [ids[0]]
    );
    assert_eq!(
        by_meaning(&node, TEXTS[0]).await,
        [],
        "that version is over"
    );
    assert_eq!(
        by_meaning(&node, "nobody has embedded this one")
            .await
            .len(),
        1
    );
    node.shutdown().await;
    stage.assert_sound().await;
}

#[tokio::test]
async fn an_embedder_that_is_away_disturbs_nobody_and_says_so() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    other.is_away.store(true, Ordering::Relaxed);
    let node = stage.change(&other, &index).await;
    let said = || async {
        let change = node.embedder_change().await;
        change.and_then(|change| change.last_error).is_some()
    };
    until(said).await;
    let change = node.embedder_change().await.unwrap();
    assert!(change.last_error.unwrap().contains("nobody listens"));
    assert_eq!((change.done, change.total), (0, 3));
    assert_eq!(by_meaning(&node, TEXTS[1]).await, [ids[1]]);
    stage.give(&node, erase(ids[2])).await;
    other.is_away.store(false, Ordering::Relaxed);
    over(&node, &other).await;
    assert_eq!(other.heard(TEXTS[2]), 0, "it was gone by then");
    assert_eq!(by_meaning(&node, TEXTS[1]).await, [ids[1]]);
    node.shutdown().await;
    stage.assert_sound().await;
}

#[tokio::test]
async fn what_is_erased_or_amended_while_its_vector_is_made_leaves_no_vector_of_the_old_text() {
    let mut stage = Stage::new();
    let ids = stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::named("other", 0), Arc::new(ExactIndex::new()));
    let node = stage.change(&other, &index).await;
    // The embedder has the texts and has not answered.
    until(|| async { other.is_asked.load(Ordering::Relaxed) }).await;
    stage.give(&node, erase(ids[0])).await;
    stage
        .give(&node, amend(ids[1], "the linker wants ten minutes now"))
        .await;
    other.calls.add_permits(1_000);
    over(&node, &other).await;
    let rows = stage.vectors().await;
    assert!(rows.iter().all(|(entry, _)| *entry != ids[0]), "{rows:?}");
    let of_second = rows.iter().find(|(entry, _)| *entry == ids[1]).unwrap();
    assert_eq!(of_second.1.version, 2);
    assert_eq!(
        of_second.1.embedding,
        other.vector("the linker wants ten minutes now")
    );
    let here = scope(PROJECT);
    assert_eq!(index.get(&here, ids[0]), None);
    let amended = index.get(&here, ids[1]).unwrap();
    assert_eq!(
        (amended.version, amended.content.as_str()),
        (2, "the linker wants ten minutes now")
    );
    node.shutdown().await;
    stage.assert_sound().await;
}

#[tokio::test]
async fn a_change_that_is_cut_off_goes_on_and_no_text_is_embedded_twice() {
    let mut stage = Stage::new();
    let texts = lessons(70);
    let ids = stage.with_entries(&texts).await;
    let other = Other::named("other", 1);
    let node = stage.change(&other, &Arc::new(ExactIndex::new())).await;
    until(|| async { !stage.vectors().await.is_empty() }).await;
    node.shutdown().await;
    let after_first = other.texts.lock().len();
    assert!(after_first > 0 && after_first < 70, "{after_first}");
    other.calls.add_permits(1_000);
    let index = Arc::new(ExactIndex::new());
    let node = stage.change(&other, &index).await;
    over(&node, &other).await;
    for (text, id) in texts.iter().zip(&ids) {
        assert_eq!(other.heard(text), 1, "{text}");
        let found = found(&*index, Some(other.vector(text))).await;
        assert!(found.contains(id), "{text}");
    }
    node.shutdown().await;
    // Neither does an index that is lost ask anybody.
    let node = stage
        .start(Ports {
            embedder: Arc::clone(&other) as Arc<dyn Embedder>,
            ..ports()
        })
        .await;
    other.is_away.store(true, Ordering::Relaxed);
    let request = Some(other.vector(&texts[3]));
    let found = found(&*node.ports().index, request).await;
    assert!(found.contains(&ids[3]));
    node.shutdown().await;
}

#[tokio::test]
async fn what_comes_in_another_space_is_compared_with_what_is_there() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let asked: Arc<Mutex<Vec<SpaceId>>> = Arc::default();
    let spaces = Arc::clone(&asked);
    let index =
        HookedIndex::new(move |request| spaces.lock().push(request.embedding.space.clone()));
    let other = Other::open("other");
    let next = NextSpace {
        embedder: Arc::clone(&other) as Arc<dyn Embedder>,
        index: index as Arc<dyn VectorIndex>,
    };
    let node = stage
        .start(Ports {
            next: Some(next),
            ..ports()
        })
        .await;
    over(&node, &other).await;
    asked.lock().clear();
    // Its vector is of the built-in space, as one would come from a node that has not changed.
    let id = stage.put(&node, "a port is taken twice").await;
    assert_eq!(*asked.lock(), [other.space()]);
    assert_eq!(other.heard("a port is taken twice"), 1);
    assert_eq!(by_meaning(&node, "a port is taken twice").await, [id]);
    let request = NeighbourRequest {
        scope: scope(PROJECT),
        table: Table::Observations,
        failure: false,
        embedding: HashEmbedder.embed(&[TEXTS[0]]).await.unwrap().remove(0),
        cosine_min: 0.5,
        limit: 4,
    };
    let refused = node.ports().index.neighbours(&request).await;
    assert!(
        matches!(refused, Err(PortError::Unavailable(_))),
        "{refused:?}"
    );
    // Nothing is decided from a vector that cannot be made anew.
    other.is_away.store(true, Ordering::Relaxed);
    let given = submission(900, PrincipalKind::Human, PROJECT, put("another lesson"));
    assert_eq!(
        node.submit(given).await.unwrap_err().code,
        ErrorCode::Unavailable
    );
    node.shutdown().await;
}

#[tokio::test]
async fn what_is_erased_as_a_node_ends_is_not_left_in_the_index_that_was_being_filled() {
    let mut stage = Stage::new();
    let secret = "a secret of the customer";
    let ids = stage.with_entries(&[secret, TEXTS[0]]).await;
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    // What an earlier run of the node brought there.
    let former = Arc::new(ExactIndex::new());
    let node = stage
        .start(Ports {
            index: Arc::clone(&former) as Arc<dyn VectorIndex>,
            ..ports()
        })
        .await;
    let mut doc = former.get(&scope(PROJECT), ids[0]).unwrap();
    doc.embedding = Some(other.vector(secret));
    index.apply(vec![doc], Stamp::ZERO).await.unwrap();
    stage.give(&node, erase(ids[0])).await;
    node.shutdown().await;
    other.is_away.store(true, Ordering::Relaxed);
    let node = stage.change(&other, &index).await;
    until(|| async { index.get(&scope(PROJECT), ids[0]).is_none() }).await;
    other.is_away.store(false, Ordering::Relaxed);
    over(&node, &other).await;
    let left = index.get(&scope(PROJECT), ids[0]);
    assert!(left.is_none_or(|doc| doc.is_erased()));
    node.shutdown().await;
}

#[tokio::test]
async fn a_node_that_searches_another_space_removes_no_vectors_of_the_one_that_was_reached() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let other = Other::open("other");
    let node = stage.change(&other, &Arc::new(ExactIndex::new())).await;
    over(&node, &other).await;
    node.shutdown().await;
    let to_sweep = keys::space::key("to sweep");
    let mut txn = stage.store.begin().await.unwrap();
    txn.set(to_sweep.clone(), keys::space::encode(&other.space()));
    txn.commit().await.unwrap();
    // It was not configured to change yet.
    let node = stage.start(ports()).await;
    until(|| async { node.ports().index.is_whole().await.unwrap() }).await;
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.vectors().await.len(), 3);
    node.shutdown().await;
    let mut txn = stage.store.begin().await.unwrap();
    assert!(txn.get(&to_sweep, Read::Snapshot).await.unwrap().is_some());
}

#[tokio::test]
async fn while_a_node_of_an_older_version_lives_no_embedder_is_changed() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let other = Other::open("other");
    let next = NextSpace {
        embedder: Arc::clone(&other) as Arc<dyn Embedder>,
        index: Arc::new(ExactIndex::new()),
    };
    let ports = Ports {
        next: Some(next),
        clock: clock_at(9 * 3_600_000),
        ..ports()
    };
    let config = NodeConfig {
        wire_version: WireVersion::WITH_RESTORING,
        ..NodeConfig::default()
    };
    let node = TestNode::start(stage.store.clone(), ports, config)
        .await
        .unwrap();
    let said = || async {
        let change = node.embedder_change().await;
        change.and_then(|change| change.last_error).is_some()
    };
    until(said).await;
    assert!(!other.is_asked.load(Ordering::Relaxed));
    assert_eq!(stage.vectors().await, []);
    node.shutdown().await;
}

#[tokio::test]
async fn a_text_in_another_space_that_the_embedder_refuses_is_written_without_a_vector() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
    let node = stage.change(&other, &index).await;
    over(&node, &other).await;
    let id = stage.put(&node, "another unspeakable thing").await;
    let doc = index.get(&scope(PROJECT), id).unwrap();
    assert_eq!(
        (doc.content.as_str(), doc.embedding),
        ("another unspeakable thing", None)
    );
    node.shutdown().await;
    stage.assert_sound().await;
}

#[tokio::test]
async fn a_text_that_the_embedder_refuses_or_fails_at_holds_nothing_up() {
    for refused in ["an unspeakable thing", "an unthinkable thing"] {
        let mut stage = Stage::new();
        let ids = stage.with_entries(&[TEXTS[0], refused, TEXTS[1]]).await;
        let (other, index) = (Other::open("other"), Arc::new(ExactIndex::new()));
        let node = stage.change(&other, &index).await;
        over(&node, &other).await;
        assert_eq!(by_meaning(&node, TEXTS[0]).await, [ids[0]]);
        assert_eq!(by_meaning(&node, TEXTS[1]).await, [ids[2]]);
        let doc = index.get(&scope(PROJECT), ids[1]).unwrap();
        assert_eq!((doc.content.as_str(), doc.embedding), (refused, None));
        assert_eq!(node.metrics().panics, 0);
        node.shutdown().await;
    }
}

#[tokio::test]
async fn of_former_spaces_nothing_is_left_and_a_backup_has_the_vectors_that_serve() {
    let mut stage = Stage::new();
    stage.with_entries(&TEXTS).await;
    let first = Other::open("first");
    let node = stage.change(&first, &Arc::new(ExactIndex::new())).await;
    over(&node, &first).await;
    node.shutdown().await;
    let second = Other::open("second");
    let next = NextSpace {
        embedder: Arc::clone(&second) as Arc<dyn Embedder>,
        index: Arc::new(ExactIndex::new()),
    };
    let changing = Ports {
        embedder: Arc::clone(&first) as Arc<dyn Embedder>,
        next: Some(next),
        ..ports()
    };
    let node = stage.start(changing).await;
    over(&node, &second).await;
    until(|| async {
        let rows = stage.vectors().await;
        rows.len() == 3
            && rows
                .iter()
                .all(|(_, row)| row.embedding.space == second.space())
    })
    .await;
    node.shutdown().await;
    stage.assert_sound().await;
    let (store, report) = restored(&whole(&stage.store).await, &Until::End)
        .await
        .unwrap();
    assert!(report.audit.is_ok());
    assert_eq!(
        embedding_space::stored(&store).await.unwrap(),
        Some(second.space())
    );
    let kept = Stage {
        store,
        runs: 9,
        commands: 0,
    };
    assert_eq!(kept.vectors().await, stage.vectors().await);
}
