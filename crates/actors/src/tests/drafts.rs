//! Recall among drafts that lie close to the question and that few may trust.

use sillok_builtin::HashEmbedder;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::{Embedding, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::Embedder as _;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;

use super::harness::{TestNode, node, scope, store, submission};
use super::world::{WORKTREE, entry};
use crate::NodeConfig;
use crate::reads::RecallQuery;

const QUESTION: &str = "how many gigabytes does the linker want";

/// Has an agent write a draft.
async fn drafted(node: &TestNode, number: u64, table: Table, content: &str) -> EntryId {
    let embedding = Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(content),
    };
    let command = Command::PutEntry {
        entry: Box::new(NewEntry {
            embedding: Some(embedding),
            ..entry(table, content)
        }),
        verification: None,
    };
    let given = submission(number, PrincipalKind::Agent, WORKTREE, command);
    match node.submit(given).await.unwrap().result {
        AnswerBody::Entry { id, .. } => id,
        other => panic!("an entry was answered with {other:?}"),
    }
}

#[tokio::test]
async fn drafts_of_patterns_hide_nothing_that_is_trusted_enough() {
    let node = node(&store()).await;
    let rules = NodeConfig::default().rules.recall;
    // More than a list of the index holds, all of them closer to the question than what answers it.
    let many = rules.candidates as u64 + 10;
    let mut drafts = Vec::new();
    for number in 0..many {
        let content = format!("{QUESTION} of build {number}");
        drafts.push(drafted(&node, number, Table::Patterns, &content).await);
    }
    drafts.sort_unstable();
    drafts.dedup();
    assert_eq!(drafts.len() as u64, many, "none is merged into another");
    let mut answers = Vec::new();
    for (number, host) in (many..).zip(["ada", "bob", "eve"]) {
        let content = format!("{host} was out of memory beneath its linker at four gigabytes");
        answers.push(drafted(&node, number, Table::Observations, &content).await);
    }
    let confidence = async |id: EntryId| {
        let view = node.reader().entry(id).await.unwrap().unwrap();
        view.head.trust.confidence
    };
    assert!(confidence(drafts[0]).await < rules.confidence_min_patterns);
    assert!(confidence(answers[0]).await >= rules.confidence_min);
    let query = RecallQuery {
        limit: Some(5),
        ..RecallQuery::new(scope(WORKTREE), QUESTION)
    };
    let found = node.recall(query).await.unwrap().results;
    let mut found: Vec<EntryId> = found.iter().map(|one| one.head.id).collect();
    found.sort_unstable();
    answers.sort_unstable();
    assert_eq!(found, answers);
}
