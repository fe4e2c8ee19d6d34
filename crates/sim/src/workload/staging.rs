//! Staging: agents open tasks, append records to them and have them judged, so that what was
//! staged is promoted.

use serde::{Deserialize, Serialize};
use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::Metadata;
use sillok_core::limits::CHUNK_BYTES;
use sillok_core::principal::PrincipalKind;
use sillok_core::staging::{LogLevel, NewRecord, RecordKind};

use crate::agent::Agent;
use crate::workload::material::{OPENING_WORD, draw_text, judged, text_of};
use crate::workload::{Draw, Workload};

/// The longest list of records that one operation appends.
const RECORDS_MAX: u8 = 32;
/// Appends of one record that is too large for a row, in a thousandth of all.
const LARGE_PERMILLE: u32 = 12;
/// Whole chunks that such a record fills at most.
const LARGE_CHUNKS_MAX: u8 = 4;
/// How far back lies a task to which an agent returns, at most.
const TASKS_BACK_MAX: usize = 6;
/// How often an agent asks whether its promotion is finished.
const PROMOTION_TRIES: u32 = 4;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Staging;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Opens the next task.
    OpenTask,
    /// Stages records in one of the agent's tasks.
    Append {
        /// How many.
        records: u8,
        /// Which text.
        text: u8,
        /// How many tasks before the newest one.
        #[serde(default)]
        back: u8,
    },
    /// Stages one record that is too large for a row, so that it lies in chunks.
    AppendLarge {
        /// How many chunks it fills, and a part of one more.
        chunks: u8,
    },
    /// Has the task judged, and waits a while for the promotion.
    Verify {
        /// Whether it passed.
        passed: bool,
    },
}

impl Workload for Staging {
    type Action = Action;

    fn name(&self) -> &'static str {
        "staging"
    }

    fn share(&self) -> u32 {
        565
    }

    fn first(&self) -> Option<Action> {
        Some(Action::OpenTask)
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        match draw.stream.between(0, 51) {
            0..=27 if draw.stream.permille(LARGE_PERMILLE) => Action::AppendLarge {
                chunks: 1 + draw.byte(usize::from(LARGE_CHUNKS_MAX)),
            },
            0..=27 => Action::Append {
                records: 1 + draw.byte(4),
                text: draw_text(draw),
                back: if draw.stream.permille(300) {
                    1 + draw.byte(TASKS_BACK_MAX)
                } else {
                    0
                },
            },
            28..=35 => Action::Verify {
                passed: draw.stream.permille(800),
            },
            _ => Action::OpenTask,
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        match action {
            Action::Append { records, .. } if !(1..=RECORDS_MAX).contains(records) => {
                Err(format!("records: {records} is not from 1 to {RECORDS_MAX}"))
            }
            Action::AppendLarge { chunks } if !(1..=LARGE_CHUNKS_MAX).contains(chunks) => Err(
                format!("chunks: {chunks} is not from 1 to {LARGE_CHUNKS_MAX}"),
            ),
            _ => Ok(()),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::OpenTask => {
                let task = agent.next_task();
                let open = Command::OpenTask {
                    title: format!("{OPENING_WORD} {}", task.as_str()),
                    description: "Make the tests pass.".into(),
                };
                agent.give(PrincipalKind::Agent, &task, open).await;
            }
            Action::Append {
                records,
                text,
                back,
            } => append(agent, records, text, back).await,
            Action::AppendLarge { chunks } => append_large(agent, chunks).await,
            Action::Verify { passed } => verify(agent, passed).await,
        }
    }
}

/// A log record.
#[must_use]
pub fn record(content: String) -> NewRecord {
    NewRecord {
        kind: RecordKind::Log {
            level: LogLevel::Info,
        },
        content,
        metadata: Metadata::default(),
        time: None,
    }
}

async fn append(agent: &mut Agent, records: u8, text: u8, back: u8) {
    let record = |number: u8| record(text_of(text.wrapping_add(number)).to_owned());
    let append = Command::Append {
        records: (0..records).map(record).collect(),
    };
    let task = agent.earlier_task(back);
    agent.give(PrincipalKind::Agent, &task, append).await;
}

async fn append_large(agent: &mut Agent, chunks: u8) {
    let line = format!("line of {} ", agent.sent_count());
    let bytes = usize::from(chunks) * CHUNK_BYTES + CHUNK_BYTES / 4;
    let append = Command::Append {
        records: vec![record(line.repeat(bytes / line.len()))],
    };
    let task = agent.task();
    if agent
        .give(PrincipalKind::Agent, &task, append)
        .await
        .is_some()
    {
        agent.client().saw("record stored in chunks");
    }
}

async fn verify(agent: &mut Agent, passed: bool) {
    let run = format!("run {} of {}", agent.sent_count(), agent.number());
    let task = agent.task();
    let answer = agent
        .give(PrincipalKind::Orchestrator, &task, judged(passed, run))
        .await;
    if let Some(AnswerBody::Verification { id, .. }) = answer.map(|answer| answer.result) {
        agent.client().published(&task, id, PROMOTION_TRIES).await;
    }
}
