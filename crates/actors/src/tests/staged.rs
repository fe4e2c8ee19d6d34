//! What is staged is never recalled: whatever agents append, recall gives entries, and no word of what no task's
//! verification spoke for.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::Table;
use sillok_core::id::RecordId;
use sillok_core::principal::PrincipalKind;
use sillok_core::staging::{LogLevel, RecordKind, Trigger};
use sillok_core::verification::Outcome;
use sillok_store::keys::{self, Family};
use sillok_store::{RangeOptions, Read, Store, Txn as _};

use super::harness::{
    PROJECT, TestNode, TestStore, append_as, first_seq, node, open_task, scope, store, submission,
};
use super::world::{entry, verification};
use crate::jobs::PromotionState;
use crate::reads::RecallQuery;

/// Tasks of the project that agents append to.
const TASKS: usize = 3;
/// What records and entries are made of: few words, so that a question for the one is close to the other.
const WORDS: [&str; 12] = [
    "error:", "the", "parser", "loses", "line", "cart", "total", "use", "lld", "instead", "of",
    "ld",
];

#[derive(Clone, Debug)]
enum Step {
    /// Appends a record to a task.
    Append(usize, RecordKind, Vec<&'static str>),
    /// Notes a memory event about the project itself.
    Note(Vec<&'static str>),
    /// Has a task judged, and waits for what that publishes.
    Judge(usize, bool),
    /// Publishes an entry as a person.
    Put(Vec<&'static str>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let words = || proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 2..8);
    let kind = prop_oneof![
        Just(RecordKind::Log {
            level: LogLevel::Error
        }),
        Just(RecordKind::Log {
            level: LogLevel::Thought
        }),
        Just(RecordKind::Snapshot {
            trigger: Trigger::Error
        }),
        Just(RecordKind::Snapshot {
            trigger: Trigger::Manual
        }),
        Just(memory_event()),
    ];
    let step = prop_oneof![
        6 => (0..TASKS, kind, words()).prop_map(|(task, kind, words)| Step::Append(task, kind, words)),
        1 => words().prop_map(Step::Note),
        2 => (0..TASKS, any::<bool>()).prop_map(|(task, passed)| Step::Judge(task, passed)),
        1 => words().prop_map(Step::Put),
    ];
    proptest::collection::vec(step, 1..16)
}

fn memory_event() -> RecordKind {
    RecordKind::MemoryEvent {
        event_type: "decision".into(),
    }
}

/// A record that was appended.
struct Appended {
    id: RecordId,
    text: String,
    /// A word that no other record has.
    mark: String,
    /// Whether its task was judged since.
    is_judged: bool,
}

struct Stage {
    store: TestStore,
    node: TestNode,
    given: u64,
    records: Vec<Appended>,
}

fn task(number: usize) -> String {
    format!("{PROJECT}/worktree/w/task/t{number}")
}

impl Stage {
    async fn set() -> Self {
        let store = store();
        let node = node(&store).await;
        let mut stage = Self {
            store,
            node,
            given: 0,
            records: Vec::new(),
        };
        for number in 0..TASKS {
            stage
                .give(PrincipalKind::Agent, &task(number), open_task())
                .await;
        }
        stage
    }

    async fn give(&mut self, kind: PrincipalKind, path: &str, command: Command) -> AnswerBody {
        self.given += 1;
        let submission = submission(self.given, kind, path, command);
        self.node.submit(submission).await.unwrap().result
    }

    async fn append(&mut self, path: &str, kind: RecordKind, words: &[&str]) {
        let mark = format!("zq{}", self.records.len());
        let text = format!("{} {mark}", words.join(" "));
        self.given += 1;
        let append = append_as(kind, &text);
        let append = submission(self.given, PrincipalKind::Agent, path, append);
        let answer = self.node.submit(append).await;
        let id = RecordId {
            scope: scope(path),
            seq: sillok_core::id::Seq::new(first_seq(&answer)),
        };
        self.records.push(Appended {
            id,
            text,
            mark,
            is_judged: false,
        });
    }

    async fn judge(&mut self, path: &str, passed: bool) {
        let outcome = match passed {
            true => Outcome::Passed,
            false => Outcome::Failed,
        };
        let judged = verification(outcome, &format!("run {}", self.given));
        let id = match self.give(PrincipalKind::Orchestrator, path, judged).await {
            AnswerBody::Verification { id, .. } => id,
            other => panic!("{other:?}"),
        };
        let state = self.node.promotion(&scope(path), id, 10_000_000).await;
        assert!(matches!(state, Ok(PromotionState::Done(_))), "{state:?}");
        let of_task = |record: &&mut Appended| record.id.scope.as_str() == path;
        self.records
            .iter_mut()
            .filter(of_task)
            .for_each(|record| record.is_judged = true);
    }

    async fn go(&mut self, step: Step) {
        match step {
            Step::Append(number, kind, words) => self.append(&task(number), kind, &words).await,
            Step::Note(words) => self.append(PROJECT, memory_event(), &words).await,
            Step::Judge(number, passed) => self.judge(&task(number), passed).await,
            Step::Put(words) => {
                let put = Command::PutEntry {
                    entry: Box::new(entry(Table::Observations, &words.join(" "))),
                    verification: None,
                };
                self.give(PrincipalKind::Human, PROJECT, put).await;
            }
        }
    }

    /// The ids of all entries, as their heads have them.
    async fn entries(&self) -> BTreeSet<String> {
        let mut txn = self.store.begin().await.unwrap();
        let all = RangeOptions::first(10_000, Read::Snapshot);
        let rows = txn.range(&Family::Head.range(), all).await.unwrap();
        let heads = rows
            .iter()
            .map(|(key, value)| keys::head::decode(key, value).unwrap());
        heads.map(|head| head.id.to_string()).collect()
    }

    async fn check(&self) {
        let entries = self.entries().await;
        let index = self.node.ports().index.stats().await.unwrap();
        let indexed = index.stored + index.pending;
        assert!(
            indexed >= entries.len() as u64,
            "{indexed} of {}",
            entries.len()
        );
        for record in &self.records {
            for (path, failures_only) in
                [(task(0), false), (task(0), true), (PROJECT.into(), false)]
            {
                let query = RecallQuery {
                    limit: Some(50),
                    failures_only,
                    ..RecallQuery::new(scope(&path), record.text.clone())
                };
                let answer = self.node.recall(query).await.unwrap();
                for hit in answer.results {
                    let id = hit.head.id.to_string();
                    assert!(entries.contains(&id) && id != record.id.to_string());
                    assert_eq!(
                        hit.head.scope.as_str(),
                        PROJECT,
                        "nothing is published in a task"
                    );
                    let text = hit.version.content;
                    let words: BTreeSet<&str> =
                        text.split(|c: char| !c.is_alphanumeric()).collect();
                    let is_quoted = words.contains(record.mark.as_str());
                    let is_published = record.is_judged && hit.head.promotion.is_some();
                    assert!(!is_quoted || is_published, "{} recalls {text:?}", record.id);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_staged_is_never_recalled(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut stage = Stage::set().await;
            for step in steps {
                stage.go(step).await;
            }
            stage.check().await;
            stage.node.shutdown().await;
        });
    }
}
