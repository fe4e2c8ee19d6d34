//! What the indexer is told by commits of its own node.

use std::sync::Arc;

use sillok_core::command::{AnswerBody, Command, Submission};
use sillok_core::id::{Attempt, CommandId, EntryId};
use sillok_core::ports::Peers;
use sillok_core::principal::{Principal, PrincipalKind};
use sillok_core::retention::Retirement;
use sillok_core::stamp::Stamp;
use sillok_core::time::DAY_MS;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Store as _, Txn as _};

use super::{project, slot};
use crate::cluster::tests::{among_others, until};
use crate::tests::harness::{
    TestNode, TestStore, clock_at, in_time, node, ports, scope, store, submission,
};
use crate::tests::index::put;
use crate::tests::line::{Fate, Line};
use crate::{NodeConfig, Ports};

/// A store with an entry, a line to it, and a node on that line a hundred days later.
async fn later(peers: Option<Arc<dyn Peers>>) -> (TestStore, EntryId, Line, TestNode) {
    let store = store();
    let writer = node(&store).await;
    let given = submission(
        0,
        PrincipalKind::Human,
        &project(0),
        put("the parser is greedy"),
    );
    let entry = match writer.submit(given).await.unwrap().result {
        AnswerBody::Entry { id, .. } => id,
        other => panic!("{other:?}"),
    };
    writer.shutdown().await;
    let line = Line::new(&store, Fate::Arrives);
    let ports = Ports {
        clock: clock_at(100 * DAY_MS),
        peers,
        ..ports()
    };
    let node = TestNode::start(line.clone(), ports, NodeConfig::default());
    let node = node.await.unwrap();
    (store, entry, line, node)
}

/// Has a node take an entry out of recall, once it has the entry's slot.
async fn retire(node: &TestNode, entry: EntryId) {
    let given = Submission {
        scope: scope(&project(0)),
        principal: Principal::system(),
        id: CommandId::from_parts(node.ports().clock.now(), [7; 10]),
        attempt: Attempt::FIRST,
        command: Command::Retire {
            entries: vec![(entry, 1)],
            why: Retirement::Aged,
        },
    };
    let answered = in_time(async {
        loop {
            match node.submit(given.clone()).await {
                Err(error) if error.code.is_passing() => tokio::task::yield_now().await,
                answered => return answered,
            }
        }
    });
    match answered.await.unwrap().result {
        AnswerBody::Retired { retired, left } => assert_eq!((retired, left), (1, 0)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_a_node_that_is_alone_took_out_is_stored_without_being_read() {
    let (store, entry, line, node) = later(None).await;
    let shared = node.shared();
    let indexed = || shared.counters.indexed.get();
    until("the entry", || indexed() == 1).await;
    // The indexer comes to it once the head is torn.
    line.lose_range(keys::outbox::range_after(slot(0), Stamp::ZERO));
    retire(&node, entry).await;
    assert!(!shared.gone.is_empty());
    let head = keys::head::key(&ScopeKey::of(&scope(&project(0))), entry);
    let mut txn = store.begin().await.unwrap();
    txn.set(head, vec![0]);
    txn.commit().await.unwrap();
    line.repair();
    until("its end", || indexed() == 2).await;
    assert_eq!(shared.ports.index.stats().await.unwrap().stored, 0);
    assert!(shared.gone.is_empty());
    node.shutdown().await;
}

#[tokio::test]
async fn a_node_among_others_keeps_nothing_of_what_it_took_out() {
    let peers = among_others(&store(), "eve").ports.peers.clone();
    let (_store, entry, line, node) = later(peers).await;
    // The indexer does not come to it before it is looked at.
    line.lose_range(keys::outbox::range_after(slot(0), Stamp::ZERO));
    retire(&node, entry).await;
    assert!(node.shared().gone.is_empty());
    line.repair();
    node.shutdown().await;
}
