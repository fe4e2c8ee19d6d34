//! What the agents of a world do, as data.
//!
//! Owns the operations, how a seed draws them, and how an agent carries them out. An operation names
//! what it works on by number; what that is follows from what was answered before.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sillok_builtin::HashEmbedder;
use sillok_core::citation::Citation;
use sillok_core::command::{AmendEntry, Answer, AnswerBody, Command, Replacement, Supersede};
use sillok_core::entry::{Binding, Detail, Embedding, Metadata, Table};
use sillok_core::id::EntryId;
use sillok_core::ports::Embedder as _;
use sillok_core::principal::{PrincipalId, PrincipalKind};
use sillok_core::promotion::NewEntry;
use sillok_core::scope::Scope;
use sillok_core::staging::{LogLevel, NewRecord, RecordKind};
use sillok_core::verification::{NewVerification, Outcome, VerificationSource};

use crate::client::{Client, Sent};
use crate::rng::Stream;

/// Projects of the world.
const PROJECTS: usize = 6;
/// Texts that facts are made of: few, so that several agents publish the same one.
const TEXTS: [&str; 8] = [
    "The parser loses the last line when the file has no final newline",
    "Requests are served by axum and retried three times",
    "The cart total is rounded once per line and not once per order",
    "Serialization of durations cuts milliseconds off",
    "The linker needs four gigabytes on two cores",
    "AssertionError: expected 345 and got 344 in test_precision",
    "Root cause: the loop in lib/cart.py stops one item early",
    "The build fails unless protoc is on the path",
];

/// One thing that an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Action {
    /// Opens its next task.
    OpenTask,
    /// Stages records in its task.
    Append {
        /// How many.
        records: u8,
        /// Which text.
        text: u8,
    },
    /// Has its task judged, and waits a while for the promotion.
    Verify {
        /// Whether it passed.
        passed: bool,
    },
    /// Publishes a fact as a person, in a project that others write to as well.
    Fact {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
    },
    /// Replaces the newest entry of a line that others replace as well.
    Supersede {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
    },
    /// Gives a shared entry a new version.
    Amend {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
    },
    /// Sends an earlier command of its own once more.
    Again {
        /// Which, counted from the first.
        number: u16,
    },
    /// Reads where the chain of a shared project ends.
    Read {
        /// Which project.
        project: u8,
    },
    /// Tries what it may not do.
    Forge {
        /// Which of the forbidden things.
        what: u8,
    },
}

/// An action with who does it and how long that agent rests before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Which agent.
    pub agent: u16,
    /// The rest before it, in ms.
    pub rest_ms: u16,
    /// What it does.
    #[serde(flatten)]
    pub action: Action,
}

/// The operations of a seed, agent by agent.
#[must_use]
pub fn draw(seed: u64, agents: u16, operations_each: u16) -> Vec<Operation> {
    let mut operations = Vec::new();
    for agent in 0..agents {
        let mut stream = Stream::new(seed, "operations", u64::from(agent));
        for number in 0..operations_each {
            let action = if number == 0 {
                Action::OpenTask
            } else {
                draw_action(&mut stream, number)
            };
            let rest_ms = u16::try_from(stream.between(0, 500)).expect("half a second");
            operations.push(Operation {
                agent,
                rest_ms,
                action,
            });
        }
    }
    operations
}

fn draw_action(stream: &mut Stream, number: u16) -> Action {
    let byte = |stream: &mut Stream, below: usize| {
        u8::try_from(stream.index(below)).expect("a small number")
    };
    let text = byte(stream, TEXTS.len());
    // Two projects get most of what is shared, so that writers meet.
    let projects = if stream.permille(700) { 2 } else { PROJECTS };
    let project = byte(stream, projects);
    match stream.between(0, 99) {
        0..=39 => Action::Append {
            records: 1 + byte(stream, 4),
            text,
        },
        40..=47 => Action::Verify {
            passed: stream.permille(800),
        },
        48..=51 => Action::OpenTask,
        52..=66 => Action::Fact { project, text },
        67..=75 => Action::Supersede { project, text },
        76..=83 => Action::Amend { project, text },
        84..=89 => Action::Again {
            number: u16::try_from(stream.index(usize::from(number))).expect("as many as before"),
        },
        90..=95 => Action::Read { project },
        _ => Action::Forge {
            what: byte(stream, 3),
        },
    }
}

/// Entries that agents told one another of, by project.
#[derive(Clone, Default)]
pub(crate) struct Board(Arc<Mutex<BTreeMap<u8, Vec<EntryId>>>>);

impl Board {
    fn add(&self, project: u8, entry: EntryId) {
        let mut entries = self.0.lock();
        let known = entries.entry(project).or_default();
        if !known.contains(&entry) {
            known.push(entry);
        }
    }

    fn first(&self, project: u8) -> Option<EntryId> {
        self.0.lock().get(&project)?.first().copied()
    }

    fn last(&self, project: u8) -> Option<EntryId> {
        self.0.lock().get(&project)?.last().copied()
    }
}

fn project(number: u8) -> String {
    format!("org/sim/project/p{number}")
}

fn scope(path: &str) -> Scope {
    Scope::parse(path).expect("the workload names scopes that exist")
}

fn entry(table: Table, text: &str) -> NewEntry {
    NewEntry {
        table,
        content: text.to_owned(),
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: vec![Citation::Human {
            user: PrincipalId::parse("reviewer").expect("a plain word is an id"),
        }],
        failure: false,
        binding: Binding::NoRepository,
        embedding: Some(embedding(text)),
    }
}

fn embedding(text: &str) -> Embedding {
    Embedding {
        space: HashEmbedder.space(),
        values: HashEmbedder::vector(text),
    }
}

/// One agent with what it remembers.
pub(crate) struct Agent {
    pub(crate) client: Client,
    pub(crate) board: Board,
    tasks: u32,
    sent: Vec<(Sent, Option<Answer>)>,
}

impl Agent {
    pub(crate) fn new(client: Client, board: Board) -> Self {
        Self {
            client,
            board,
            tasks: 0,
            sent: Vec::new(),
        }
    }

    fn task(&self) -> Scope {
        let agent = self.client.number;
        let home = project(u8::try_from(agent % PROJECTS).expect("few projects"));
        scope(&format!("{home}/worktree/w{agent}/task/t{}", self.tasks))
    }

    /// Carries out one operation.
    pub(crate) async fn act(&mut self, operation: Operation) {
        self.client.sleep(u64::from(operation.rest_ms)).await;
        match operation.action {
            Action::OpenTask => {
                self.tasks += 1;
                let open = Command::OpenTask {
                    title: format!("Task {}", self.tasks),
                    description: "Make the tests pass.".into(),
                };
                let task = self.task();
                self.give(PrincipalKind::Agent, &task, open).await;
            }
            Action::Append { records, text } => self.append(records, text).await,
            Action::Verify { passed } => self.verify(passed).await,
            Action::Fact {
                project: number,
                text,
            } => {
                let new = entry(Table::Observations, text_of(text));
                let put = Command::PutEntry {
                    entry: Box::new(new),
                    verification: None,
                };
                let answer = self
                    .give(PrincipalKind::Human, &scope(&project(number)), put)
                    .await;
                if let Some(AnswerBody::Entry { id, .. }) = answer.map(|answer| answer.result) {
                    self.board.add(number, id);
                }
            }
            Action::Supersede {
                project: number,
                text,
            } => self.supersede(number, text).await,
            Action::Amend {
                project: number,
                text,
            } => self.amend(number, text).await,
            Action::Again { number } => self.again(number).await,
            Action::Read { project: number } => {
                self.client.read_tip(&scope(&project(number))).await;
            }
            Action::Forge { what } => self.forge(what).await,
        }
    }

    async fn give(
        &mut self,
        kind: PrincipalKind,
        scope: &Scope,
        command: Command,
    ) -> Option<Answer> {
        let principal = self.client.principal(kind, "org/sim");
        let (result, sent) = self.client.give(principal, scope, command).await;
        let answer = result.ok();
        self.sent.push((sent, answer.clone()));
        answer
    }

    async fn append(&mut self, records: u8, text: u8) {
        let record = |number: u8| NewRecord {
            kind: RecordKind::Log {
                level: LogLevel::Info,
            },
            content: text_of(text.wrapping_add(number)).to_owned(),
            metadata: Metadata::default(),
            time: None,
        };
        let append = Command::Append {
            records: (0..records).map(record).collect(),
        };
        let task = self.task();
        self.give(PrincipalKind::Agent, &task, append).await;
    }

    async fn verify(&mut self, passed: bool) {
        let run = format!("run {} of {}", self.sent.len(), self.client.number);
        let verification = NewVerification {
            outcome: if passed {
                Outcome::Passed
            } else {
                Outcome::Failed
            },
            source: if passed {
                VerificationSource::TestsPassed
            } else {
                VerificationSource::TestsFailed
            },
            run,
            citations: Vec::new(),
            binding: Binding::NoRepository,
            error: (!passed).then(|| "the parser loops for ever".into()),
            approach: (!passed).then(|| "read line by line".into()),
            target: None,
        };
        let task = self.task();
        let command = Command::RecordVerification(Box::new(verification));
        let answer = self.give(PrincipalKind::Orchestrator, &task, command).await;
        if let Some(AnswerBody::Verification { id, .. }) = answer.map(|answer| answer.result) {
            self.client.promoted(&task, id, 4).await;
        }
    }

    async fn supersede(&mut self, number: u8, text: u8) {
        let Some(first) = self.board.first(number) else {
            return;
        };
        let Some((_, line_head)) = self.client.head(first).await else {
            return;
        };
        let Some((version, _)) = self.client.head(line_head).await else {
            return;
        };
        let again = format!("{} ({})", text_of(text), self.sent.len());
        let supersede = Command::Supersede(Box::new(Supersede {
            old: line_head,
            expected_version: version,
            new: Replacement::New(Box::new(entry(Table::Observations, &again))),
            reason: "measured again".into(),
            commit: None,
            verification: None,
        }));
        let scope = scope(&project(number));
        self.give(PrincipalKind::Human, &scope, supersede).await;
    }

    async fn amend(&mut self, number: u8, text: u8) {
        let Some(last) = self.board.last(number) else {
            return;
        };
        let Some((version, _)) = self.client.head(last).await else {
            return;
        };
        let content = format!("{} (seen by {})", text_of(text), self.client.number);
        let amend = Command::AmendEntry(Box::new(AmendEntry {
            entry: last,
            expected_version: version,
            embedding: Some(embedding(&content)),
            content,
            detail: Detail::Plain,
            metadata: Metadata::default(),
            claim: None,
            citations: vec![Citation::Human {
                user: PrincipalId::parse("reviewer").expect("a plain word is an id"),
            }],
            verification: None,
        }));
        let scope = scope(&project(number));
        self.give(PrincipalKind::Human, &scope, amend).await;
    }

    /// An earlier command, long after its answer: the answer must be the same one.
    async fn again(&mut self, number: u16) {
        let Some((sent, before)) = self.sent.get(usize::from(number)).cloned() else {
            return;
        };
        let Some(before) = before else { return };
        let now = self.client.give_again(&sent).await;
        if now.as_ref() != Ok(&before) {
            self.client.complain(&sent, format!("{now:?}"));
        }
    }

    async fn forge(&mut self, what: u8) {
        let task = self.task();
        let client = &mut self.client;
        let (principal, scope, command) = match what {
            0 => (
                client.principal(PrincipalKind::Agent, "org/sim"),
                task,
                Command::ArchiveTask,
            ),
            1 => {
                let elsewhere = format!("org/sim/project/p0/worktree/w{}", client.number + 100);
                let put = Command::PutEntry {
                    entry: Box::new(entry(Table::Observations, "not mine to say")),
                    verification: None,
                };
                (
                    client.principal(PrincipalKind::Agent, &elsewhere),
                    scope(&project(0)),
                    put,
                )
            }
            _ => {
                let put = Command::PutEntry {
                    entry: Box::new(entry(Table::Observations, "unverified")),
                    verification: None,
                };
                (
                    client.principal(PrincipalKind::Agent, "org/sim"),
                    scope(&project(1)),
                    put,
                )
            }
        };
        // That it is refused is checked against the history.
        let _ = client.forge(principal, &scope, command).await;
    }
}

fn text_of(number: u8) -> &'static str {
    TEXTS[usize::from(number) % TEXTS.len()]
}
