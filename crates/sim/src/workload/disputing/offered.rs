//! Skills that prove themselves in a project, and what the organisation answers to their being offered.
//!
//! Owns what people do for it. That such a skill is offered is maintenance's.

use sillok_core::command::{AnswerBody, Command};
use sillok_core::entry::{Detail, Skill, Table};
use sillok_core::id::ReviewId;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::NewEntry;
use sillok_core::reuse::ReuseOutcome;
use sillok_core::scope::Scope;

use super::settled::{TAKEN_OVER, TakenOver};
use super::{Told, answered, put};
use crate::agent::Agent;
use crate::workload::material::{observation, project, project_path, scope};

/// Tasks that have to be helped before a skill is offered to the organisation.
const HELPED: u8 = 3;

/// A question that maintenance may have put to the organisation, and the text that it is about.
pub(super) struct Offered {
    review: ReviewId,
    content: String,
}

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
    let offer = Offered {
        review: ReviewId::of_offer(&organisation(), &home, entry, version),
        content: text,
    };
    agent.shared(|told: &mut Told| told.offers.push_back(offer));
    Some(())
}

pub(super) fn organisation() -> Scope {
    scope("org/sim")
}

/// Answers for the organisation what may be offered to it.
pub(super) async fn answer_offer(agent: &mut Agent, approve: bool) {
    let Some(offer) = agent.shared(|told: &mut Told| told.offers.pop_front()) else {
        return;
    };
    let command = answered(offer.review, approve, None);
    let kind = PrincipalKind::Human;
    let Some(answer) = agent.give(kind, &organisation(), command).await else {
        // Maintenance may not have come to it.
        return agent.shared(|told: &mut Told| told.offers.push_back(offer));
    };
    agent.client().saw("offer answered");
    if let AnswerBody::Reviewed { kept, .. } = answer.result {
        let note = TakenOver {
            approved: approve,
            kept,
            content: offer.content,
        };
        let note = serde_json::to_value(note).expect("a note is data");
        agent.note(TAKEN_OVER, note);
    }
}
