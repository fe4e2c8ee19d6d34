//! Drains: an operator drains a node, which hands its slots over to the others, and starts it again.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::workload::{Draw, Workload};

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Drains;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Drains a node, and starts it again when it says that it is done or takes too long.
    Drain {
        /// Which node.
        node: u16,
    },
}

impl Workload for Drains {
    type Action = Action;

    fn name(&self) -> &'static str {
        "drains"
    }

    /// Few: a node is not drained for fun, and while all are, nobody answers.
    fn share(&self) -> u32 {
        2
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        let node = draw.stream.index(usize::from(draw.nodes));
        Action::Drain {
            node: u16::try_from(node).expect("a world has few nodes"),
        }
    }

    fn check_action(&self, action: &Action, nodes: u16) -> Result<(), String> {
        let Action::Drain { node } = action;
        if *node < nodes {
            Ok(())
        } else {
            Err(format!("node: {node} is not below {nodes}"))
        }
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let Action::Drain { node } = action;
        agent.client().drain(node).await;
    }
}
