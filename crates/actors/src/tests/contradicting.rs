//! Entries that declare the same key with other values, however far apart they lie.

use sillok_builtin::embedder::HashEmbedder;
use sillok_core::Error;
use sillok_core::command::{Answer, AnswerBody, Command, Submission};
use sillok_core::entry::{Claim, ClaimHash, Embedding, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::{ClaimRequest, Embedder as _};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::{Disposition, NewEntry};

use super::harness::{
    AS_MEANT, TASK, TestNode, append, in_time, later_node, node_with_task, open_task, ports, scope,
    store, submission,
};
use super::world::entry;
use crate::NodeConfig;
use crate::protocol::{Safeguard, Without};

const LONG: &str = "The HTTP client waits thirty seconds";
const EARLY: &str = "Requests are aborted early by default";

fn claim(value: &str) -> Claim {
    Claim {
        key: "http.timeout".into(),
        value: value.into(),
    }
}

fn put(number: u64, table: Table, content: &str, value: &str) -> Submission {
    let embedding = Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(content),
    };
    let command = Command::PutEntry {
        entry: Box::new(NewEntry {
            claim: Some(claim(value)),
            embedding: Some(embedding),
            ..entry(table, content)
        }),
        verification: None,
    };
    submission(number, PrincipalKind::Agent, TASK, command)
}

fn written(answer: Result<Answer, Error>) -> (EntryId, Disposition) {
    match answer.unwrap().result {
        AnswerBody::Entry {
            id, disposition, ..
        } => (id, disposition),
        other => panic!("an entry was answered with {other:?}"),
    }
}

/// Two entries that wait together, behind another command that holds the scope up: the first of them, and what became
/// of the second.
async fn in_one_batch(protocol: Without) -> (EntryId, Disposition) {
    let node = TestNode::start_as(store(), ports(), NodeConfig::default(), protocol)
        .await
        .unwrap();
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    node.submit(open).await.unwrap();
    let submit = |submission: Submission| {
        let node = node.clone();
        async move { node.submit(submission).await }
    };
    let before = submission(1, PrincipalKind::Agent, TASK, append("before"));
    let (before, first, second) = tokio::join!(
        submit(before),
        submit(put(2, Table::Gotchas, LONG, "30s")),
        submit(put(3, Table::Observations, EARLY, "10s"))
    );
    before.unwrap();
    let (known, disposition) = written(first);
    assert_eq!(disposition, Disposition::Created);
    (known, written(second).1)
}

#[tokio::test]
async fn two_of_one_batch_contradict_one_another_however_far_apart() {
    let (known, disposition) = in_one_batch(AS_MEANT).await;
    assert_eq!(disposition, Disposition::Contradicts { other: known });
}

#[tokio::test]
async fn without_knowing_its_own_batch_nobody_is_asked_about_the_two() {
    let without = Without(Some(Safeguard::KnowsOwnBatch));
    let (_, disposition) = in_one_batch(without).await;
    assert_eq!(
        disposition,
        Disposition::Created,
        "the planted bug must be seen"
    );
}

#[tokio::test]
async fn an_index_that_is_filled_from_events_knows_what_was_claimed() {
    let store = store();
    let node = node_with_task(&store).await;
    let first = node.submit(put(1, Table::Gotchas, LONG, "30s")).await;
    let (known, _) = written(first);
    node.shutdown().await;
    // Its index has nothing yet.
    let node = later_node(&store).await;
    let request = ClaimRequest {
        scope: scope(TASK),
        failure: false,
        claim: ClaimHash::of(&claim("10s"), &scope(TASK)),
        limit: 2,
    };
    in_time(async {
        let index = &node.ports().index;
        while index.claimants(&request).await != Ok(vec![known]) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let second = node.submit(put(2, Table::Observations, EARLY, "10s")).await;
    let against = Disposition::Contradicts { other: known };
    assert_eq!(written(second).1, against);
    node.shutdown().await;
}
