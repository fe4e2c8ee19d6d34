//! Skills that prove themselves in a project, and what the organisation answers to their being offered.
//!
//! Owns what people do for it. That such a skill is offered is maintenance's.

use sillok_core::command::Command;
use sillok_core::entry::{Detail, Skill, Table};
use sillok_core::id::ReviewId;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::scope::Scope;

use super::{Told, answered, put};
use crate::agent::Agent;
use crate::workload::material::{observation, project, project_path, scope};

/// Tasks that have to be helped before a skill is offered to the organisation.
const HELPED: u8 = 3;

/// Puts a skill down and has it help as many tasks as prove it, so that maintenance offers it. None where it was refused.
pub(super) async fn vouch(agent: &mut Agent, number: u8) -> Option<()> {
    let (home, path) = (project(number), project_path(number));
    let text = format!("How a worker of {path} that is stuck is drained by hand");
    let skill = Skill {
        name: "drain".to_owned(),
        description: text.clone(),
        code: "drain, wait, restart".to_owned(),
        usage_count: 1,
        success_rate: 1.0,
    };
    let entry = NewEntry {
        table: Table::Skills,
        detail: Detail::Skill(Box::new(skill)),
        ..observation(&text)
    };
    let (entry, version) = put(agent, &home, entry).await?;
    for number in 0..HELPED {
        let task = scope(&format!("{path}/worktree/helped/task/h{number}"));
        let open = Command::OpenTask {
            title: "drain".to_owned(),
            description: String::new(),
        };
        // Another agent may have opened it before.
        agent.give(PrincipalKind::Agent, &task, open).await;
        let report = Command::ReportReuse {
            task,
            entry,
            outcome: ReuseOutcome::Helped,
        };
        agent.give(PrincipalKind::Agent, &home, report).await;
    }
    let offer = ReviewId::of_offer(&organisation(), &home, entry, version);
    agent.shared(|told: &mut Told| told.offers.push_back(offer));
    Some(())
}

fn organisation() -> Scope {
    scope("org/sim")
}

/// Answers for the organisation what may be offered to it.
pub(super) async fn answer_offer(agent: &mut Agent, approve: bool) {
    let Some(offer) = agent.shared(|told: &mut Told| told.offers.pop_front()) else {
        return;
    };
    let command = answered(offer, approve, None);
    let kind = PrincipalKind::Human;
    if agent.give(kind, &organisation(), command).await.is_some() {
        agent.client().saw("offer answered");
    } else {
        // Maintenance may not have come to it.
        agent.shared(|told: &mut Told| told.offers.push_back(offer));
    }
}
