//! Where records are said: from the record over the promotion to the entries, in an audit, and while an older node lives.

use sillok_core::bound::{Bound, BoundFile, Place, TreeState};
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::Binding;
use sillok_core::event::EventKind;
use sillok_core::gate::Fingerprint;
use sillok_core::id::{RecordId, Seq, VerificationId};
use sillok_core::membership::WireVersion;
use sillok_core::principal::PrincipalKind;
use sillok_core::staging::NewBoundRecord;
use sillok_core::verification::Outcome;

use super::decisions::sound;
use super::harness::{
    TASK, TestNode, TestStore, append, first_seq, later_node, node_with_task, open_task, ports,
    scope, store, submission,
};
use super::world::verification;
use crate::NodeConfig;
use crate::jobs::PromotionState;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn bound(content: &str) -> Bound {
    Bound {
        place: Some(Place {
            repository: "host/a/b".into(),
            project: "api".into(),
            commit: Some(COMMIT.into()),
            branch: Some("main".into()),
            state: TreeState::Changed,
            is_shallow: false,
        }),
        files: vec![BoundFile {
            path: "src/parser.rs".into(),
            fingerprint: Fingerprint::of_file(content.as_bytes()),
            owner: None,
        }],
        left_out: 0,
    }
}

fn append_bound(text: &str, bound: Bound) -> Command {
    let Command::Append { records } = append(text) else {
        unreachable!("an append appends")
    };
    let bind = |record| NewBoundRecord {
        record,
        bound: Some(bound.clone()),
    };
    Command::AppendBound {
        records: records.into_iter().map(bind).collect(),
    }
}

/// Logs what happened to one file, has it verified, and waits for what that publishes.
async fn promoted(node: &TestNode) -> (Vec<u64>, Vec<Binding>) {
    let mut positions = Vec::new();
    for (number, text, content) in [
        (1, "AssertionError: parse() lost the last line", "old"),
        (2, "root cause: the loop stops one line early", "new"),
    ] {
        let command = append_bound(text, bound(content));
        let given = submission(number, PrincipalKind::Agent, TASK, command);
        positions.push(first_seq(&node.submit(given).await));
    }
    let passed = verification(Outcome::Passed, "run 1");
    let given = submission(3, PrincipalKind::Orchestrator, TASK, passed);
    let answer = node.submit(given).await.unwrap().result;
    let AnswerBody::Verification { id, .. } = answer else {
        panic!("{answer:?}")
    };
    (positions, bindings(node, id).await)
}

async fn bindings(node: &TestNode, id: VerificationId) -> Vec<Binding> {
    let state = node.promotion(&scope(TASK), id, 1_000_000).await.unwrap();
    let PromotionState::Done(finished) = state else {
        panic!("{state:?}")
    };
    let mut bindings = Vec::new();
    for entry in finished
        .report
        .products
        .iter()
        .filter_map(|product| product.entry)
    {
        let found = node.reader().entry(entry).await.unwrap();
        bindings.push(found.expect("it was published").head.binding);
    }
    assert!(!bindings.is_empty());
    bindings
}

#[tokio::test]
async fn what_is_published_is_bound_to_the_files_of_its_records_as_they_were_last() {
    let store = store();
    let node = node_with_task(&store).await;
    let (positions, bindings) = promoted(&node).await;
    for (position, content) in positions.iter().zip(["old", "new"]) {
        let id = RecordId {
            scope: scope(TASK),
            seq: Seq::new(*position),
        };
        let record = node.reader().record(&id).await.unwrap().unwrap();
        assert_eq!(record.bound, Some(bound(content)), "each as it was then");
    }
    let mut with_files = 0;
    for binding in bindings {
        let Binding::Bound(found) = &binding else {
            panic!("{binding:?}")
        };
        assert_eq!(found.place, bound("new").place);
        if !found.files.is_empty() {
            assert_eq!(found.files, bound("new").files);
            with_files += 1;
        }
    }
    assert!(with_files > 0, "nothing is bound to the file");
    assert_eq!(sound(&store).await, None);
}

/// A node on which an older version is spoken.
async fn older(store: &TestStore) -> TestNode {
    let config = NodeConfig {
        wire_version: WireVersion::WITH_FAILURES,
        ..NodeConfig::default()
    };
    let node = TestNode::start(store.clone(), ports(), config)
        .await
        .unwrap();
    let open = submission(0, PrincipalKind::Agent, TASK, open_task());
    node.submit(open).await.unwrap();
    node
}

#[tokio::test]
async fn while_an_older_node_lives_nothing_is_written_that_it_does_not_read() {
    let store = store();
    let node = older(&store).await;
    let (positions, bindings) = promoted(&node).await;
    assert!(
        bindings
            .iter()
            .all(|binding| *binding == Binding::NoRepository)
    );
    let last = Seq::new(positions[1]);
    let id = RecordId {
        scope: scope(TASK),
        seq: last,
    };
    let record = node.reader().record(&id).await.unwrap().unwrap();
    assert_eq!(record.bound, None);
    let kinds = &sillok_core::event::EventKinds::ALL;
    let events = node
        .events(&scope(TASK), kinds, Seq::ZERO, 100)
        .await
        .unwrap();
    let mut events = events.items.iter().map(|event| event.header.kind);
    assert!(!events.any(|kind| kind == EventKind::BoundRecordAppended));
    // Whoever gives it again, once all nodes are new, is told the first answer.
    node.shutdown().await;
    let node = later_node(&store).await;
    let text = "root cause: the loop stops one line early";
    let again = append_bound(text, bound("newer still"));
    let again = submission(2, PrincipalKind::Agent, TASK, again);
    assert_eq!(first_seq(&node.submit(again).await), positions[1]);
    assert_eq!(sound(&store).await, None);
}
