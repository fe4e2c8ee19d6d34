//! A workload and an invariant of one's own, in one file.
//!
//! Agents keep a diary: they append numbered pages to a task of their own, and note each page that
//! was acknowledged. At the end, every diary must have all its pages, in their order, whatever
//! crashed, was cut off or was sent twice meanwhile.
//!
//! ```sh
//! cargo run --locked -p sillok-sim --example own_workload
//! ```
//!
//! The plan of a world that fails is written to the directory that `-- --out DIR` names; otherwise to one for temporary
//! files.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sillok_core::command::Command;
use sillok_core::entry::Metadata;
use sillok_core::principal::PrincipalKind;
use sillok_core::staging::{LogLevel, NewRecord, RecordKind};
use sillok_sim::agent::Agent;
use sillok_sim::batch::{self, Report, Worlds};
use sillok_sim::workload::{Check, Draw, End, Workload};
use sillok_sim::{Suite, Violation, quiet_planted_panics};

/// The workload. A careless agent leaves a page out now and then, which the check must see.
pub(crate) struct Diary {
    pub(crate) is_careless: bool,
}

/// What an agent does, as data: it stands in saved plans in this form.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// Writes the next page.
    Write {
        /// With so many lines.
        lines: u8,
    },
}

/// What an agent remembers between its actions: the pages that were acknowledged.
#[derive(Default)]
struct Memory {
    pages: u64,
}

impl Workload for Diary {
    type Action = Action;

    fn name(&self) -> &'static str {
        "diary"
    }

    /// Next to the built-in workloads, which have about 1,000 together.
    fn share(&self) -> u32 {
        200
    }

    /// All chance comes from `draw`, so that a seed always draws the same.
    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        Action::Write {
            lines: 1 + draw.byte(3),
        }
    }

    /// A saved plan may have been written by hand.
    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        match action {
            Action::Write { lines: 1..=8 } => Ok(()),
            Action::Write { lines } => Err(format!("lines: {lines} is not from 1 to 8")),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let Action::Write { lines } = action;
        let mut page = agent.memory::<Memory>().pages + 1;
        if self.is_careless && page.is_multiple_of(5) {
            page += 1;
        }
        let line = |number| NewRecord {
            kind: RecordKind::Log {
                level: LogLevel::Info,
            },
            content: format!("Page {page}, line {number}"),
            metadata: Metadata::default(),
            time: None,
        };
        let append = Command::Append {
            records: (0..lines).map(line).collect(),
        };
        let task = agent.task();
        // The client sends the command again and again until it knows how it ended. A command that
        // was refused, say since it met a planted panic, has no page.
        if let Some(answer) = agent.give(PrincipalKind::Agent, &task, append).await {
            agent.memory::<Memory>().pages = page;
            let seq = answer.seq.get();
            agent.note("diary", serde_json::json!([task.as_str(), page, seq]));
        }
    }
}

/// The invariant: each page follows the one before it, in the agent's memory as in the store.
pub(crate) struct PagesInOrder;

impl Check for PagesInOrder {
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let mut last: BTreeMap<usize, (String, u64, u64)> = BTreeMap::new();
        for note in end.history.notes.iter().filter(|note| note.kind == "diary") {
            let (task, page, seq): (String, u64, u64) =
                serde_json::from_value(note.value.clone()).expect("the workload wrote it");
            let agent = note.agent;
            if let Some((before, last_page, last_seq)) = last.get(&agent) {
                let is_next = page == last_page + 1;
                // Each task has a chain of its own.
                let is_behind = task != *before || seq > *last_seq;
                if !is_next || !is_behind {
                    let what = format!(
                        "agent {agent} has page {page} at {task}#{seq} after page {last_page} at {before}#{last_seq}"
                    );
                    return Err(Violation::new("pages in order", what));
                }
            }
            last.insert(agent, (task, page, seq));
        }
        Ok(())
    }
}

/// Runs a few seeds of the built-in suite with the diary beside it.
pub(crate) fn run(diary: Diary, seeds: u64) -> Report {
    let suite = Suite::built_in().workload(diary).check(PagesInOrder);
    batch::run(&Worlds::Seeds(0, seeds), &suite, 1, || true, |_, _| ())
}

/// Where the plan of a world that fails is written: behind `--out`, as with `sillok-sim run`.
fn out(mut words: impl Iterator<Item = String>) -> PathBuf {
    let is_named = words.any(|word| word == "--out");
    let named = words.next().filter(|_| is_named);
    named.map_or_else(std::env::temp_dir, PathBuf::from)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    quiet_planted_panics();
    let report = run(Diary { is_careless: false }, 10);
    match report.failures.first() {
        None => Ok(()),
        Some(failure) => {
            // The saved plan holds the diary's operations like all others.
            let folder = out(std::env::args());
            std::fs::create_dir_all(&folder)?;
            let file = folder.join(format!("sillok-sim-diary-{}.json", failure.seed));
            std::fs::write(&file, failure.replay.write())?;
            let (seed, what, file) = (failure.seed, &failure.what, file.display());
            Err(format!("seed {seed}: {what}\n  {file}").into())
        }
    }
}
