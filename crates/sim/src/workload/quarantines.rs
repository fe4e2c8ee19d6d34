//! Quarantines: an operator has nothing written to a project, and writes there. What is committed behind an
//! order the monitor sees.
//!
//! No order is lifted: a copy of a refused command that comes behind the lift is carried out, whatever its
//! sender was told, which the checks would name (ADR 0021).

use serde::{Deserialize, Serialize};
use sillok_core::command::Command;
use sillok_core::principal::PrincipalKind;

use crate::agent::Agent;
use crate::workload::material::{draw_text, observation, scope, text_of};
use crate::workload::{Draw, Workload};

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Quarantines;

/// Whether an agent has given an order.
#[derive(Default)]
struct Ordered(bool);

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Quarantines the agent's own project, and writes there before and behind the order.
    Quarantine {
        /// The first text that is written.
        text: u8,
    },
}

impl Workload for Quarantines {
    type Action = Action;

    fn name(&self) -> &'static str {
        "quarantines"
    }

    /// Few, as drains.
    fn share(&self) -> u32 {
        2
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        Action::Quarantine {
            text: draw_text(draw),
        }
    }

    /// In a project that nobody else works in, once.
    async fn act(&self, agent: &mut Agent, action: Action) {
        let Action::Quarantine { text } = action;
        let apart = scope(&format!("org/sim/project/apart-{}", agent.number()));
        let put = |written: u8| Command::PutEntry {
            entry: Box::new(observation(text_of(text.wrapping_add(written)))),
            verification: None,
        };
        if std::mem::replace(&mut agent.memory::<Ordered>().0, true) {
            return;
        }
        agent.give(PrincipalKind::Human, &apart, put(0)).await;
        let is_ordered = agent.client().quarantine(&apart, Some("a test")).await;
        let answer = agent.give(PrincipalKind::Human, &apart, put(1)).await;
        if is_ordered && answer.is_none() {
            agent.client().saw("write refused under a quarantine");
        }
    }
}
