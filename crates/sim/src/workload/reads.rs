//! Reads: agents read, at any node, where the chain of a shared project ends, and never see it go
//! back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sillok_core::invariants::reads_go_forward;

use crate::agent::Agent;
use crate::violation::Violation;
use crate::workload::material::{check_project, draw_project, project};
use crate::workload::{Check, Draw, End, Workload};

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
        Action::Tip {
            project: draw_project(draw),
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let Action::Tip { project } = action;
        check_project(*project)
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let Action::Tip { project: number } = action;
        agent.client().read_tip(&project(number)).await;
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
