//! Recall at commits of random histories, held against a model that keeps everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sillok_builtin::{CommitGraph, HashEmbedder};
use sillok_core::ErrorCode;
use sillok_core::citation::Citation;
use sillok_core::command::{AnswerBody, Command, Replacement, Supersede};
use sillok_core::commit::{CommitName, Presence};
use sillok_core::entry::{Binding, Embedding, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::{BoxFuture, Embedder as _, GitFacts, PortError, Rng as _};
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::validity::{Ancestry, AsOf, Validity};

use super::harness::{CountingRng, PROJECT, TestNode, TestStore, ports, scope, store, submission};
use super::world::entry;
use crate::reads::{RecallAnswer, RecallQuery};
use crate::rebuild::rebuild;
use crate::{NodeConfig, Ports};

const COMMITS: usize = 9;

fn hash(commit: usize) -> String {
    format!("{:040x}", commit + 1)
}

/// Chance, the same in each run.
struct Dice(CountingRng);

impl Dice {
    fn below(&mut self, below: usize) -> usize {
        let mut bytes = [0; 2];
        self.0.fill(&mut bytes);
        usize::from(u16::from_be_bytes(bytes)) % below
    }
}

/// A history in which each commit has one parent or two, all of them older, and what lies before each.
fn history(dice: &mut Dice) -> (CommitGraph, Vec<BTreeSet<usize>>) {
    let mut parents = BTreeMap::from([(hash(0), Vec::new())]);
    let mut before: Vec<BTreeSet<usize>> = vec![[0].into()];
    for commit in 1..COMMITS {
        let own: BTreeSet<usize> = [dice.below(commit), dice.below(commit)].into();
        let mut all: BTreeSet<usize> = own.iter().flat_map(|one| before[*one].clone()).collect();
        all.insert(commit);
        before.push(all);
        parents.insert(hash(commit), own.into_iter().map(hash).collect());
    }
    (CommitGraph::new(parents), before)
}

/// An entry as the model keeps it: the commits from which and to which it holds.
#[derive(Clone, Copy)]
struct Kept {
    id: EntryId,
    from: Option<usize>,
    to: Option<usize>,
}

impl Kept {
    fn holds(&self, before: &BTreeSet<usize>) -> bool {
        let lies_before = |commit: usize| before.contains(&commit);
        self.from.is_none_or(lies_before) && !self.to.is_some_and(lies_before)
    }
}

fn fact(number: usize, commit: Option<usize>) -> NewEntry {
    let gigabytes = number * 7;
    let content = format!("the linker of build {number} wants {gigabytes} gigabytes");
    stated(&content, commit)
}

fn stated(content: &str, commit: Option<usize>) -> NewEntry {
    let binding = commit.map_or(Binding::NoRepository, |commit| Binding::Commit {
        hash: hash(commit),
        repository: "r".into(),
    });
    let embedding = Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(content),
    };
    NewEntry {
        binding,
        embedding: Some(embedding),
        ..entry(Table::Observations, content)
    }
}

/// Publishes and replaces entries at commits by chance: all that was ever published.
async fn live(node: &TestNode, dice: &mut Dice) -> Vec<Kept> {
    let mut kept: Vec<Kept> = Vec::new();
    for number in 0..14 {
        let commit = (dice.below(8) > 0).then(|| dice.below(COMMITS));
        let running: Vec<usize> = (0..kept.len())
            .filter(|one| kept[*one].to.is_none())
            .collect();
        let new = Box::new(fact(number, commit));
        let replaced = (commit.is_some() && !running.is_empty() && dice.below(2) == 0)
            .then(|| running[dice.below(running.len())]);
        let command = match replaced {
            None => Command::PutEntry {
                entry: new,
                verification: None,
            },
            Some(old) => Command::Supersede(Box::new(Supersede {
                old: kept[old].id,
                expected_version: 1,
                new: Replacement::New(new),
                reason: "measured again".into(),
                commit: None,
                verification: None,
            })),
        };
        let given = submission(number as u64, PrincipalKind::Human, PROJECT, command);
        let id = match node.submit(given).await.unwrap().result {
            AnswerBody::Entry { id, .. } | AnswerBody::Superseded { new: id, .. } => id,
            other => panic!("an entry was answered with {other:?}"),
        };
        if let Some(old) = replaced {
            kept[old].to = commit;
        }
        kept.push(Kept {
            id,
            from: commit,
            to: None,
        });
    }
    kept
}

fn query(as_of: Option<AsOf>) -> RecallQuery {
    RecallQuery {
        limit: Some(50),
        as_of,
        ..RecallQuery::new(scope(PROJECT), "how many gigabytes does the linker want")
    }
}

fn at(commit: usize) -> Option<AsOf> {
    Some(AsOf::checked(&hash(commit), []).unwrap())
}

async fn node_with(git: Arc<dyn GitFacts>, store: &TestStore) -> TestNode {
    let ports = Ports { git, ..ports() };
    TestNode::start(store.clone(), ports, NodeConfig::default())
        .await
        .unwrap()
}

fn found(answer: &RecallAnswer, validity: impl Fn(Validity) -> bool) -> BTreeSet<EntryId> {
    let results = answer.results.iter();
    let fitting = results.filter(|one| one.validity.is_some_and(&validity));
    fitting.map(|one| one.head.id).collect()
}

fn holding(kept: &[Kept], before: &BTreeSet<usize>) -> BTreeSet<EntryId> {
    let holding = kept.iter().filter(|one| one.holds(before));
    holding.map(|one| one.id).collect()
}

#[tokio::test]
async fn what_is_recalled_at_a_commit_is_what_holds_there_whoever_judges() {
    let mut dice = Dice(CountingRng::new());
    let mut replaced_that_hold = 0;
    for _ in 0..12 {
        let (graph, before) = history(&mut dice);
        let store = store();
        let node = node_with(Arc::new(graph.clone()), &store).await;
        let kept = live(&node, &mut dice).await;
        for (commit, before) in before.iter().enumerate() {
            let expected = holding(&kept, before);
            let judged = node.recall(query(at(commit))).await.unwrap();
            assert_eq!(found(&judged, |_| true), expected, "at {commit}");
            assert!(judged.at.as_ref().unwrap().unjudged.is_empty());
            replaced_that_hold += judged
                .results
                .iter()
                .filter(|one| !one.head.status.is_live())
                .count();
        }
        node.shutdown().await;
        // A node without a repository says which commits it cannot judge, and takes the asker's word for them.
        let ports = ports();
        rebuild(&store, &*ports.index, &|_| {}).await.unwrap();
        let blind = TestNode::start(store.clone(), ports, NodeConfig::default());
        let blind = blind.await.unwrap();
        for (commit, before) in before.iter().enumerate() {
            let expected = holding(&kept, before);
            let first = blind.recall(query(at(commit))).await.unwrap();
            assert!(found(&first, |_| true).is_superset(&expected));
            let unjudged = first.at.unwrap().unjudged;
            let words = graph.judge(&hash(commit), &unjudged);
            let as_of = AsOf::checked(&hash(commit), unjudged.into_iter().zip(words));
            let second = blind.recall(query(Some(as_of.unwrap()))).await.unwrap();
            assert_eq!(found(&second, |_| true), expected, "at {commit}");
            assert!(second.at.unwrap().unjudged.is_empty());
        }
        let now = blind.recall(query(None)).await.unwrap();
        assert!(now.at.is_none() && now.results.iter().all(|one| one.validity.is_none()));
        let live: BTreeSet<EntryId> = now.results.iter().map(|one| one.head.id).collect();
        let running: BTreeSet<EntryId> = kept
            .iter()
            .filter(|one| one.to.is_none())
            .map(|one| one.id)
            .collect();
        assert_eq!(
            live, running,
            "a question without a commit is answered as ever"
        );
        blind.shutdown().await;
    }
    assert!(replaced_that_hold > 25, "only {replaced_that_hold}");
}

#[tokio::test]
async fn what_may_have_ended_is_marked_and_stands_behind_what_has_not() {
    let node = node_with(Arc::new(CommitGraph::default()), &store()).await;
    let mut dice = Dice(CountingRng::new());
    let kept = live(&node, &mut dice).await;
    let answer = node.recall(query(at(COMMITS - 1))).await.unwrap();
    let is_doubtful = |one: &crate::reads::Recalled| !one.head.status.is_live();
    let first = answer.results.iter().position(is_doubtful);
    let first = first.expect("some entry was replaced at another commit");
    assert!(answer.results[first..].iter().all(is_doubtful));
    let marked = answer.results[first..].iter();
    assert!(
        marked
            .into_iter()
            .all(|one| one.validity == Some(Validity::Unknown))
    );
    let one = RecallQuery {
        limit: Some(first),
        ..query(at(COMMITS - 1))
    };
    let few = node.recall(one).await.unwrap();
    assert!(!few.results.iter().any(is_doubtful), "they take no place");
    assert!(kept.len() >= answer.results.len());
}

#[tokio::test]
async fn the_askers_word_changes_its_own_answer_and_nothing_else() {
    let store = store();
    let node = node_with(Arc::new(CommitGraph::default()), &store).await;
    let mut dice = Dice(CountingRng::new());
    live(&node, &mut dice).await;
    let usual = node.recall(query(None)).await.unwrap();
    let all = (0..COMMITS).map(|commit| (hash(commit), Ancestry::Yes));
    let lied = AsOf::checked(&hash(COMMITS + 3), all).unwrap();
    node.recall(query(Some(lied))).await.unwrap();
    assert_eq!(
        node.recall(query(None)).await.unwrap().results,
        usual.results
    );
}

/// A repository that does not answer.
struct Away;

impl GitFacts for Away {
    fn ancestry<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a str,
        _: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Vec<Ancestry>>, PortError>> {
        Box::pin(async { Err(PortError::Unavailable("its disk is away".into())) })
    }

    fn presence<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a [CommitName],
    ) -> BoxFuture<'a, Result<Option<Vec<Presence>>, PortError>> {
        Box::pin(async { Err(PortError::Unavailable("its disk is away".into())) })
    }
}

#[tokio::test]
async fn a_repository_that_does_not_answer_leaves_commits_unjudged() {
    let node = node_with(Arc::new(Away), &store()).await;
    let mut dice = Dice(CountingRng::new());
    live(&node, &mut dice).await;
    let answer = node.recall(query(at(0))).await.unwrap();
    assert!(!answer.at.unwrap().unjudged.is_empty());
    assert!(
        answer
            .results
            .iter()
            .any(|one| one.validity == Some(Validity::Unknown))
    );
}

#[tokio::test]
async fn only_a_commit_that_a_repository_says_is_not_there_is_no_citation() {
    let parents = BTreeMap::from([(hash(0), vec![])]);
    let shallow = BTreeMap::from([(hash(0), vec![hash(1)])]);
    let refuses = Some(ErrorCode::UnresolvableCitation);
    let repositories: [(Arc<dyn GitFacts>, Option<ErrorCode>); 4] = [
        (Arc::new(CommitGraph::new(parents)), refuses),
        (Arc::new(CommitGraph::new(shallow)), None),
        (Arc::new(CommitGraph::default()), None),
        (Arc::new(Away), None),
    ];
    for (git, expected) in repositories {
        let node = node_with(git, &store()).await;
        let mut said = Vec::new();
        for commit in [0, 2] {
            let new = NewEntry {
                citations: vec![Citation::Commit {
                    hash: hash(commit),
                    repository: "r".into(),
                }],
                ..stated(&format!("build {commit} is slow"), None)
            };
            let put = Command::PutEntry {
                entry: Box::new(new),
                verification: None,
            };
            let number = commit as u64;
            let put = submission(number, PrincipalKind::Human, PROJECT, put);
            said.push(node.submit(put).await.err().map(|error| error.code));
        }
        assert_eq!(said, [None, expected]);
        node.shutdown().await;
    }
}

#[tokio::test]
async fn what_does_not_hold_takes_no_place_from_what_is_further_down() {
    let parents = BTreeMap::from([(hash(0), vec![]), (hash(1), vec![hash(0)])]);
    let mut config = NodeConfig::default();
    config.rules.recall.candidates = 4;
    let ports = Ports {
        git: Arc::new(CommitGraph::new(parents)),
        ..ports()
    };
    let node = TestNode::start(store(), ports, config).await.unwrap();
    for number in 0..14 {
        // The nearest ones begin at a commit that comes later.
        let new = match number {
            0..12 => fact(number, Some(1)),
            _ => stated(&format!("a disk of build {number} is full"), Some(0)),
        };
        let put = Command::PutEntry {
            entry: Box::new(new),
            verification: None,
        };
        node.submit(submission(
            number as u64,
            PrincipalKind::Human,
            PROJECT,
            put,
        ))
        .await
        .unwrap();
    }
    let two = RecallQuery {
        limit: Some(2),
        text: "linker gigabytes of build".into(),
        ..query(at(0))
    };
    let answer = node.recall(two).await.unwrap();
    assert_eq!(answer.results.len(), 2);
    assert_eq!(found(&answer, |one| one == Validity::Holds).len(), 2);
    assert_eq!(answer.at.unwrap().not_yet, 12);
}
