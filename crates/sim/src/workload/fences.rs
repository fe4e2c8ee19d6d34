//! Fences: an operator ends the run of a node that may still beat, or of one that has just gone silent, writes to a
//! project that the node owned, and reads there, at the others and at that very node, until its lease is over.

use serde::{Deserialize, Serialize};
use sillok_core::command::Command;
use sillok_core::principal::PrincipalKind;

use crate::agent::Agent;
use crate::workload::material::{
    PROJECTS, check_project, draw_project, draw_text, observation, project, text_of,
};
use crate::workload::{Draw, Workload};

/// How often the operator looks at the node that it has fenced.
const LOOKS: u8 = 16;
/// The wait before each look, in ms: all of them together take longer than a lease.
const LOOK_MS: u64 = 150;
/// Looks for each write.
const LOOKS_PER_WRITE: u8 = 3;
/// In how many of 1,000 fences of worlds with several nodes it is one that has gone silent.
const SILENT_PERMILLE: u32 = 200;
/// For how long a node is silent whom the operator takes for hung, in ms: it has missed a beat, and the others fence it a
/// while later only.
const SILENT_MS: u64 = 1_800;
/// How often the operator looks for such a node.
const WATCHES: u8 = 40;
/// The wait before each of these looks, in ms.
const WATCH_MS: u64 = 250;

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
    /// Waits until a node goes silent, ends the run that it is in, and then reads and writes for a while in a project that
    /// it owned.
    FenceSilent {
        /// From which project on one of its own is looked for.
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
        let (project, text) = (draw_project(draw), draw_text(draw));
        if draw.nodes > 1 && draw.stream.permille(SILENT_PERMILLE) {
            Action::FenceSilent { project, text }
        } else {
            Action::Fence { project, text }
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let (Action::Fence { project, .. } | Action::FenceSilent { project, .. }) = action;
        check_project(*project)
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Fence {
                project: number,
                text,
            } => {
                // What the owner wrote last it answers from memory.
                agent
                    .give(PrincipalKind::Human, &project(number), put(text, 0))
                    .await;
                let Some(owner) = agent.client().owner_of(&project(number)) else {
                    return;
                };
                agent.client().fence(owner).await;
                look(agent, owner, number, text).await;
            }
            Action::FenceSilent {
                project: number,
                text,
            } => {
                let Some(silent) = watch(agent).await else {
                    return;
                };
                let owned = owned_by(agent, silent, number);
                agent.client().fence(silent).await;
                look(agent, silent, owned, text).await;
            }
        }
    }
}

fn put(text: u8, written: u8) -> Command {
    Command::PutEntry {
        entry: Box::new(observation(text_of(text.wrapping_add(written)))),
        verification: None,
    }
}

/// The first node that goes silent, if one does within a while.
async fn watch(agent: &mut Agent) -> Option<u16> {
    for _ in 0..WATCHES {
        if let Some(silent) = agent.client().silent(SILENT_MS) {
            return Some(silent);
        }
        agent.client().sleep(WATCH_MS).await;
    }
    None
}

/// A project that a node owns, the first from `from` on; `from` itself if there is none.
fn owned_by(agent: &mut Agent, node: u16, from: u8) -> u8 {
    let all = PROJECTS.1;
    let mut numbers = (0..all).map(|further| (from % all + further) % all);
    let client = agent.client();
    let owned = numbers.find(|number| client.owner_of(&project(*number)) == Some(node));
    owned.unwrap_or(from)
}

/// Reads and writes in a project, at all nodes and at one that was fenced, until its lease is over.
async fn look(agent: &mut Agent, fenced: u16, number: u8, text: u8) {
    let scope = project(number);
    for look in 0..LOOKS {
        agent.client().sleep(LOOK_MS).await;
        if look % LOOKS_PER_WRITE == 0 {
            agent
                .give(PrincipalKind::Human, &scope, put(text, 1 + look))
                .await;
        }
        agent.client().read_tip(&scope).await;
        agent.client().read_tip_at(fenced, &scope).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn of_five_operators_one_waits_for_a_silent_node_where_there_are_several() {
        let waiting = |nodes: u16| {
            let mut stream = Stream::new(1, "fences", 0);
            let waits = |_: &u32| {
                let mut draw = Draw {
                    stream: &mut stream,
                    agent: 0,
                    before: 0,
                    nodes,
                    projects: PROJECTS.0,
                };
                matches!(Fences.draw(&mut draw), Action::FenceSilent { .. })
            };
            (0..1_000).filter(waits).count()
        };
        assert_eq!(waiting(1), 0);
        let several = waiting(3);
        assert!((150..250).contains(&several), "{several}");
    }
}
