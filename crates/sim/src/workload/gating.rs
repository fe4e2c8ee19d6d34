//! Gating: people write down what rests on code, and cite it anew, while tasks report that the code is gone from the main branch
//! or lies elsewhere there, some of them of what they saw before it was cited anew or elsewhere, and some say that it helped.
//!
//! Owns what they do, in projects that nobody else works in. What must hold of it is `judged`'s.

mod judged;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sillok_core::citation::{Citation, CitationsHash, join};
use sillok_core::command::{AmendEntry, AnswerBody, Command, GateFound, GateReport};
use sillok_core::commit::CommitName;
use sillok_core::entry::{Detail, Metadata, Status, Table};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::EntryId;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::scope::Scope;

use crate::agent::Agent;
use crate::workload::branches::{REPOSITORY, hash};
use crate::workload::material::{embedding, observation, reviewed, scope};
use crate::workload::{Draw, Workload};

/// Projects whose entries rest on code: none that others work in.
const PROJECTS: u8 = 2;
/// Tasks of each that report.
const TASKS: u8 = 3;
/// Folders that code moves to.
const FOLDERS: u8 = 2;
/// Entries that are told of, the newest.
const TOLD_MAX: usize = 16;
/// The note of an agent that reports, before it does.
const REPORTED: &str = "report of the gate";
/// The note of an agent that was told that an entry stays of which it may say that it goes.
const KEPT: &str = "gone, and kept";

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Gating;

/// What is found at the main branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// The code is gone.
    Stale,
    /// It lies in another folder.
    Moved {
        /// Which one.
        folder: u8,
    },
}

/// What is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Of which entry, by its place among those that are told of.
    pub place: u8,
    /// For which task of its project.
    pub task: u8,
    /// Whether an agent says so, or an orchestrator.
    pub by_agent: bool,
    /// Whether it is what was seen before the entry was cited anew or elsewhere, where it was.
    pub is_late: bool,
    /// What was found.
    pub found: Found,
}

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Writes down what rests on two files.
    Cite {
        /// In which project.
        project: u8,
    },
    /// Has an entry rest on what its files say by now.
    Again {
        /// Which one, by its place among those that are told of.
        place: u8,
    },
    /// Says for the first task of its project that an entry helped it.
    Use {
        /// Which one, by its place among those that are told of.
        place: u8,
    },
    /// Reports what was found of an entry.
    Report(Told),
}

/// A version of an entry, and what it rests on.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    version: u64,
    citations: Vec<Citation>,
}

/// An entry that agents tell one another of.
#[derive(Clone, Debug)]
struct Cited {
    home: Scope,
    entry: EntryId,
    newest: Seen,
    /// What it was before it was cited anew or elsewhere, if it was.
    former: Option<Seen>,
}

/// What agents tell one another of.
#[derive(Debug, Default)]
struct Board(Vec<Cited>);

impl Board {
    fn at(&self, place: u8) -> Option<Cited> {
        let place = usize::from(place).checked_rem(self.0.len())?;
        self.0.get(place).cloned()
    }

    fn add(&mut self, cited: Cited) {
        if self.0.len() >= TOLD_MAX {
            self.0.remove(0);
        }
        self.0.push(cited);
    }

    fn renew(&mut self, entry: EntryId, newest: Seen) {
        if let Some(cited) = self.0.iter_mut().find(|cited| cited.entry == entry) {
            cited.former = Some(std::mem::replace(&mut cited.newest, newest));
        }
    }

    /// The entry lies elsewhere by now, if this is what agents tell one another of it still.
    fn refresh(&mut self, entry: EntryId, seen: &Seen, citations: Vec<Citation>) {
        let known = self.0.iter().find(|cited| cited.entry == entry);
        let is_newest = known.is_some_and(|cited| cited.newest == *seen);
        if is_newest && seen.citations != citations {
            let version = seen.version;
            self.renew(entry, Seen { version, citations });
        }
    }

    fn remove(&mut self, entry: EntryId) {
        self.0.retain(|cited| cited.entry != entry);
    }
}

/// Tasks that are known to be open.
#[derive(Default)]
struct Opened(BTreeSet<Scope>);

impl Workload for Gating {
    type Action = Action;

    fn name(&self) -> &'static str {
        "gating"
    }

    fn share(&self) -> u32 {
        10
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        match draw.byte(100) {
            0..=29 => Action::Cite {
                project: draw.byte(PROJECTS.into()),
            },
            30..=44 => Action::Again {
                place: draw.byte(TOLD_MAX),
            },
            45..=54 => Action::Use {
                place: draw.byte(TOLD_MAX),
            },
            _ => Action::Report(Told {
                place: draw.byte(TOLD_MAX),
                task: draw.byte(TASKS.into()),
                by_agent: draw.stream.permille(500),
                is_late: draw.stream.permille(400),
                found: if draw.stream.permille(500) {
                    Found::Stale
                } else {
                    Found::Moved {
                        folder: draw.byte(FOLDERS.into()),
                    }
                },
            }),
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let (name, number, below) = match action {
            Action::Cite { project } => ("project", *project, PROJECTS),
            Action::Again { .. } | Action::Use { .. } => return Ok(()),
            Action::Report(told) => ("task", told.task, TASKS),
        };
        if number >= below {
            return Err(format!("{name}: {number} is not below {below}"));
        }
        Ok(())
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Cite { project } => cite(agent, project).await,
            Action::Again { place } => again(agent, place).await,
            Action::Use { place } => helped(agent, place).await,
            Action::Report(told) => report(agent, told).await,
        }
    }
}

/// What rests on two files, which say what they do when somebody looks at this moment, and at no other.
fn rests_on(by: usize, moment: usize) -> Vec<Citation> {
    let mut citations = reviewed();
    citations.extend((0..2).map(|number| Citation::File {
        path: format!("src/{number}.rs"),
        lines: Some((1, 3)),
        fingerprint: Some(format!("{by:032x}{:032x}", 2 * moment + number)),
    }));
    citations
}

/// What an entry rests on once a person has written it: that person's word, what was given, and what it rested on before.
fn stored(agent: &mut Agent, given: &[Citation], before: &[Citation]) -> Vec<Citation> {
    let person = agent.client().principal(PrincipalKind::Human, "org/sim");
    let word = Citation::Human {
        user: person.actor.id,
    };
    join(&[word], &join(given, before))
}

/// The same in another folder.
fn moved(citations: &[Citation], folder: u8) -> Vec<Citation> {
    let mut citations = citations.to_vec();
    for (number, citation) in citations.iter_mut().enumerate() {
        if let Citation::File { path, .. } = citation {
            *path = format!("lib{folder}/{number}.rs");
        }
    }
    citations
}

/// What is said of the code: a fact, which is found by its text, or a gotcha, which is not. Its numbers tell it from all others,
/// so that none becomes one with another.
fn said(agent: &Agent) -> NewEntry {
    let text = format!("trap {} of {}", agent.sent_count(), agent.number());
    let is_fact = agent.sent_count().is_multiple_of(2);
    let table = if is_fact {
        Table::Observations
    } else {
        Table::Gotchas
    };
    NewEntry {
        table,
        citations: rests_on(agent.number(), agent.sent_count()),
        ..observation(&text)
    }
}

async fn cite(agent: &mut Agent, project: u8) {
    let home = scope(&format!("org/sim/project/gated-{project}"));
    let new = said(agent);
    let citations = stored(agent, &new.citations, &[]);
    let put = Command::PutEntry {
        entry: Box::new(new),
        verification: None,
    };
    let answer = agent.give(PrincipalKind::Human, &home, put).await;
    let Some(AnswerBody::Entry { id, version, .. }) = answer.map(|answer| answer.result) else {
        return;
    };
    let cited = Cited {
        home,
        entry: id,
        newest: Seen { version, citations },
        former: None,
    };
    agent.shared(|board: &mut Board| board.add(cited));
}

async fn again(agent: &mut Agent, place: u8) {
    let Some(cited) = agent.shared(|board: &mut Board| board.at(place)) else {
        return;
    };
    let new = said(agent);
    let citations = stored(agent, &new.citations, &cited.newest.citations);
    let amend = Command::AmendEntry(Box::new(AmendEntry {
        entry: cited.entry,
        expected_version: cited.newest.version,
        embedding: Some(embedding(&new.content)),
        content: new.content,
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: new.citations,
        verification: None,
    }));
    let answer = agent.give(PrincipalKind::Human, &cited.home, amend).await;
    if let Some(AnswerBody::Entry { version, .. }) = answer.map(|answer| answer.result) {
        let newest = Seen { version, citations };
        agent.shared(|board: &mut Board| board.renew(cited.entry, newest));
    }
}

/// Opens a task of a project, unless it is known to be open.
async fn open(agent: &mut Agent, home: &Scope, task: u8) -> Scope {
    let task = scope(&format!("{home}/worktree/gate/task/g{task}"));
    if !agent.shared(|opened: &mut Opened| opened.0.contains(&task)) {
        let open = Command::OpenTask {
            title: "look where the code lies".to_owned(),
            description: String::new(),
        };
        // Another agent may have opened it meanwhile.
        agent.give(PrincipalKind::Agent, &task, open).await;
        agent.shared(|opened: &mut Opened| opened.0.insert(task.clone()));
    }
    task
}

/// Has one task say itself that an entry helped it. One alone: what helps several is offered elsewhere.
async fn helped(agent: &mut Agent, place: u8) {
    let Some(cited) = agent.shared(|board: &mut Board| board.at(place)) else {
        return;
    };
    let task = open(agent, &cited.home, 0).await;
    let said = Command::ReportReuse {
        task,
        entry: cited.entry,
        outcome: ReuseOutcome::Helped,
    };
    agent.give(PrincipalKind::Agent, &cited.home, said).await;
}

async fn report(agent: &mut Agent, told: Told) {
    let Some(cited) = agent.shared(|board: &mut Board| board.at(told.place)) else {
        return;
    };
    let task = open(agent, &cited.home, told.task).await;
    let former = cited.former.as_ref().filter(|_| told.is_late);
    let seen = former.unwrap_or(&cited.newest);
    let said = GateReport {
        task,
        entry: cited.entry,
        expected_version: seen.version,
        at: CommitName::new(&hash(0), REPOSITORY),
        found: match told.found {
            Found::Stale => GateFound::Stale,
            Found::Moved { folder } => GateFound::Moved {
                seen: CitationsHash::of(&seen.citations),
                citations: moved(&seen.citations, folder),
            },
        },
    };
    let note = serde_json::to_value(&said).expect("a note is data");
    agent.note(REPORTED, note);
    let kind = if told.by_agent {
        PrincipalKind::Agent
    } else {
        PrincipalKind::Orchestrator
    };
    let command = Command::ReportGate(Box::new(said));
    match agent.attempt(kind, &cited.home, command).await {
        Ok(answer) => settle(agent, (cited.entry, seen), told, answer.result),
        Err(error) if is_of_former(&error, "is at version") => {
            agent.client().saw("report of a former version refused");
        }
        // What is told of the newest places and is refused is told of wrong ones: others were told meanwhile.
        Err(error) if former.is_some() && is_of_former(&error, "rests on other places") => {
            agent.client().saw("report of former places refused");
        }
        // It has left recall, or what agents tell one another of it is wrong.
        Err(_) => agent.shared(|board: &mut Board| board.remove(cited.entry)),
    }
}

fn is_of_former(error: &Error, why: &str) -> bool {
    error.code == ErrorCode::Conflict && error.message.contains(why)
}

/// Tells of what became of an entry.
fn settle(agent: &mut Agent, (entry, seen): (EntryId, &Seen), told: Told, answer: AnswerBody) {
    let AnswerBody::Reported { status, usage, .. } = answer else {
        return;
    };
    match told.found {
        Found::Stale if status == Status::Archived => {
            agent.client().saw("entry found gone left recall");
            agent.shared(|board: &mut Board| board.remove(entry));
        }
        Found::Stale if told.by_agent && usage.stale == 0 => {
            agent
                .client()
                .saw("stale word behind a task's own left out");
        }
        Found::Stale if told.by_agent => {
            agent.client().saw("stale word of one task counted");
        }
        Found::Stale => {
            let entry = serde_json::to_value(entry).expect("an id is data");
            agent.note(KEPT, entry);
        }
        Found::Moved { .. } if told.by_agent => {}
        Found::Moved { folder } => {
            agent.client().saw("citations refreshed");
            let citations = moved(&seen.citations, folder);
            agent.shared(|board: &mut Board| board.refresh(entry, seen, citations));
        }
    }
}

#[cfg(test)]
mod tests;
