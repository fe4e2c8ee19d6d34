//! The forger: agents try what they may not do, and must be refused whenever it comes.

use serde::{Deserialize, Serialize};
use sillok_core::command::Command;
use sillok_core::invariants::Invariant;
use sillok_core::principal::PrincipalKind;

use crate::agent::Agent;
use crate::history::Ending;
use crate::violation::Violation;
use crate::workload::material::{observation, project, project_path};
use crate::workload::{Check, Draw, End, Workload};

/// The workload, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Forger;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// An agent closes its task, which is the orchestrator's to do.
    ArchiveAsAgent,
    /// An agent of one worktree publishes in a project.
    PublishFromWorktree,
    /// An agent publishes without a verification.
    PublishUnverified,
}

impl Workload for Forger {
    type Action = Action;

    fn name(&self) -> &'static str {
        "forger"
    }

    fn share(&self) -> u32 {
        40
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        *draw.stream.choose(&[
            Action::ArchiveAsAgent,
            Action::PublishFromWorktree,
            Action::PublishUnverified,
        ])
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let put = |text: &str| Command::PutEntry {
            entry: Box::new(observation(text)),
            verification: None,
        };
        let worktree = format!("{}/worktree/w{}", project_path(0), agent.number() + 100);
        let (prefix, scope, command) = match action {
            Action::ArchiveAsAgent => ("org/sim", agent.task(), Command::ArchiveTask),
            Action::PublishFromWorktree => (&*worktree, project(0), put("not mine to say")),
            Action::PublishUnverified => ("org/sim", project(1), put("unverified")),
        };
        let client = agent.client();
        let principal = client.principal(PrincipalKind::Agent, prefix);
        // That it is refused is checked against the history.
        let _ = client.forge(principal, &scope, command).await;
    }
}

impl Check for Forger {
    /// Invariant 6, as clients see it: what is forbidden is refused.
    fn check(&self, end: &End<'_>) -> Result<(), Violation> {
        for call in end.history.calls.iter().filter(|call| call.is_forged) {
            if let Some((_, Ending::Acknowledged(_))) = call.ended {
                let what = format!(
                    "{} was allowed to {} in {}",
                    call.actor, call.name, call.scope
                );
                return Err(Violation::new(Invariant::Permitted.as_str(), what));
            }
        }
        Ok(())
    }
}
