//! Many who save at once: one root, and relations to what others withdraw meanwhile.

use futures::future::join_all;
use sillok_core::ErrorCode;
use sillok_core::command::AnswerBody;
use sillok_core::decision::{Rank, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::Scope;
use sillok_core::stamp::Stamp;
use sillok_store::keys::{self, Family};

use super::stage::{Stage, at, relates, save, says, sound, withdraw};
use crate::NodeConfig;
use crate::tests::harness::{
    PROJECT, TASK, TestNode, TestStore, append, open_task, ports, scope, store, submission,
};
use crate::tests::line::{Fate, Line};
use crate::tests::world::pairs_of;

/// Those who change one root.
const CLIENTS: u64 = 50;

/// Changes a decision, again and again until the version that was seen is the current one.
async fn change_for_sure(node: &TestNode, root: DecisionId, client: u64) -> u64 {
    let (mut version, mut tries) = (1, 0);
    loop {
        let title = format!("client {client} saw version {version}");
        let command = save(Some((root, version)), says(Rank::Normal, &title));
        let number = 1_000 * (client + 1) + tries;
        let given = submission(number, PrincipalKind::Human, PROJECT, command);
        match node.submit(given).await {
            Ok(answer) => match answer.result {
                AnswerBody::Decision { version, .. } => return version,
                other => panic!("a decision was answered with {other:?}"),
            },
            Err(refused) => {
                assert_eq!(refused.code, ErrorCode::Conflict);
                let current = refused.current().and_then(|current| current.version);
                version = current.expect("a stale version is told the current one");
            }
        }
        tries += 1;
    }
}

#[tokio::test]
async fn many_who_change_one_root_make_one_chain_without_a_gap() {
    let memory = store();
    let mut stage = Stage::over(&memory).await;
    let root = stage.begin(PROJECT, says(Rank::Normal, "client 0")).await;
    let clients = (0..CLIENTS).map(|client| change_for_sure(&stage.node, root, client));
    let mut versions = join_all(clients).await;
    versions.sort_unstable();
    let expected: Vec<u64> = (2..=CLIENTS + 1).collect();
    assert_eq!(versions, expected);
    let (reader, here) = (stage.node.reader(), scope(PROJECT));
    let page = reader.decision_history(&here, root, None, 1_000).await;
    let history = page.unwrap().expect("it was saved").items;
    for version in &history[1..] {
        let title = &version.text.as_ref().unwrap().title;
        let seen = format!("saw version {}", version.number - 1);
        assert!(title.ends_with(&seen), "{title} made {}", version.number);
    }
    assert_eq!(stage.titles(PROJECT).await.len(), 1);
    stage.node.shutdown().await;
    assert_eq!(sound(&memory).await, None);
}

/// The stamps of the commits to a scope, in their order.
async fn commits(memory: &TestStore, of: &Scope) -> Vec<Stamp> {
    let mut stamps = Vec::new();
    for (key, value) in pairs_of(memory).await {
        if Family::of(&key) == Some(Family::Outbox) {
            let row = keys::outbox::decode(&key, &value).unwrap();
            if row.scope == *of {
                stamps.push(keys::outbox::parse(&key).unwrap().stamp);
            }
        }
    }
    stamps.sort_unstable();
    stamps
}

/// A decision of a task that depends on one of its project, which is withdrawn after so many turns of the runtime. Beside
/// it the task logs a large text, if that is wanted. Whether it was saved.
async fn related_while_withdrawn(turns: usize, beside: bool) -> bool {
    let memory = store();
    let line = Line::new(&memory, Fate::Lingers);
    let node = TestNode::start(line, ports(), NodeConfig::default()).await;
    let mut stage = Stage {
        node: node.unwrap(),
        given: 0,
    };
    let agent = PrincipalKind::Agent;
    stage.give(agent, TASK, open_task()).await.unwrap();
    let target = stage.begin(PROJECT, says(Rank::Normal, "target")).await;
    let text = relates(
        RelationKind::DependsOn,
        at(PROJECT, target),
        says(Rank::Normal, "rests on it"),
    );
    let node = &stage.node;
    let give = |number, kind, path: &str, command| {
        let given = submission(number, kind, path, command);
        async move { node.submit(given).await }
    };
    let before = give(100, agent, TASK, append("before"));
    // Both wait for the one before them, and make one batch.
    let large = "line\n".repeat(if beside { 30_000 } else { 1 });
    let logged = give(101, agent, TASK, append(&large));
    let saved = give(102, agent, TASK, save(None, text));
    let withdrawn = async {
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        let command = withdraw(target, 1);
        give(103, PrincipalKind::Human, PROJECT, command).await
    };
    let (before, logged, saved, withdrawn) = tokio::join!(before, logged, saved, withdrawn);
    for answer in [before, logged, withdrawn] {
        answer.unwrap();
    }
    let of_task = commits(&memory, &scope(TASK)).await;
    let of_project = commits(&memory, &scope(PROJECT)).await;
    let is_saved = saved.is_ok();
    match saved {
        Ok(_) => assert!(
            of_task.last() < of_project.last(),
            "after {turns} turns it rests on what was withdrawn before"
        ),
        Err(refused) => assert_eq!(refused.code, ErrorCode::Conflict),
    }
    stage.node.shutdown().await;
    assert_eq!(sound(&memory).await, None);
    is_saved
}

#[tokio::test]
async fn no_relation_begins_to_what_is_withdrawn_while_it_is_saved() {
    for beside in [false, true] {
        let (mut saved, mut refused) = (0, 0);
        for turns in (0..900).step_by(30) {
            match Box::pin(related_while_withdrawn(turns, beside)).await {
                true => saved += 1,
                false => refused += 1,
            }
        }
        assert!(saved > 0 && refused > 0, "{saved} {refused}: {beside}");
    }
}
