//! Fences: an operator ends the run of a node that may still beat, writes to a project that the node owned,
//! and reads there, at the others and at that very node, until its lease is over.

use serde::{Deserialize, Serialize};
use sillok_core::command::Command;
use sillok_core::principal::PrincipalKind;

use crate::agent::Agent;
use crate::workload::material::{
    check_project, draw_project, draw_text, observation, project, text_of,
};
use crate::workload::{Draw, Workload};

/// How often the operator looks at the node that it has fenced.
const LOOKS: u8 = 16;
/// The wait before each look, in ms: all of them together take longer than a lease.
const LOOK_MS: u64 = 150;
/// Looks for each write.
const LOOKS_PER_WRITE: u8 = 3;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Fences;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Ends the run that a project's owner is in, and then reads and writes there for a while.
    Fence {
        /// Which project.
        project: u8,
        /// The first text that is written.
        text: u8,
    },
}

impl Workload for Fences {
    type Action = Action;

    fn name(&self) -> &'static str {
        "fences"
    }

    /// Few, as drains.
    fn share(&self) -> u32 {
        2
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        Action::Fence {
            project: draw_project(draw),
            text: draw_text(draw),
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let Action::Fence { project, .. } = action;
        check_project(*project)
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let Action::Fence {
            project: number,
            text,
        } = action;
        let scope = project(number);
        let put = |written: u8| Command::PutEntry {
            entry: Box::new(observation(text_of(text.wrapping_add(written)))),
            verification: None,
        };
        // What the owner wrote last it answers from memory.
        agent.give(PrincipalKind::Human, &scope, put(0)).await;
        let Some(owner) = agent.client().owner_of(&scope) else {
            return;
        };
        agent.client().fence(owner).await;
        for look in 0..LOOKS {
            agent.client().sleep(LOOK_MS).await;
            if look % LOOKS_PER_WRITE == 0 {
                agent
                    .give(PrincipalKind::Human, &scope, put(1 + look))
                    .await;
            }
            agent.client().read_tip(&scope).await;
            agent.client().read_tip_at(owner, &scope).await;
        }
    }
}
