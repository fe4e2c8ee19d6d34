//! Reads: agents read, at any node, where the chain of a shared project ends, once or for a while, and
//! never see it go back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sillok_core::invariants::reads_go_forward;

use crate::agent::Agent;
use crate::violation::Violation;
use crate::workload::material::{check_project, draw_project, project};
use crate::workload::{Check, Draw, End, Workload};

/// How often an agent that watches a project reads it, at most.
const READS_MAX: u8 = 12;
/// The wait between two such reads, in ms.
const WATCH_MS: u64 = 150;

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Reads;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Reads where the chain of a project ends.
    Tip {
        /// Which project.
        project: u8,
    },
    /// Reads it again and again.
    Watch {
        /// Which project.
        project: u8,
        /// How often.
        reads: u8,
    },
}

impl Workload for Reads {
    type Action = Action;

    fn name(&self) -> &'static str {
        "reads"
    }

    fn share(&self) -> u32 {
        60
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        let project = draw_project(draw);
        match draw.byte(2) {
            0 => Action::Tip { project },
            _ => Action::Watch {
                project,
                reads: 2 + draw.byte(usize::from(READS_MAX) - 1),
            },
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        match action {
            Action::Tip { project } => check_project(*project),
            Action::Watch { project, reads } if (1..=READS_MAX).contains(reads) => {
                check_project(*project)
            }
            Action::Watch { .. } => Err(format!("reads: not from 1 to {READS_MAX}")),
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let (number, reads) = match action {
            Action::Tip { project } => (project, 1),
            Action::Watch { project, reads } => (project, reads),
        };
        for read in 0..reads {
            if read > 0 {
                agent.client().sleep(WATCH_MS).await;
            }
            agent.client().read_tip(&project(number)).await;
        }
    }
}

impl Check for Reads {
    /// Invariant 8, for each client.
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        let reads = &end.history.reads;
        let agents: BTreeSet<usize> = reads.iter().map(|read| read.agent).collect();
        for agent in agents {
            let own = reads.iter().filter(|read| read.agent == agent);
            reads_go_forward(own.map(|read| (&read.scope, read.seq)))?;
        }
        Ok(())
    }
}
