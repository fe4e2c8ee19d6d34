//! What people dispute in the course of a year, and what they take back: in projects of their own, so that what is left of
//! each task's entries is judged in the others.

use sillok_core::command::{AnswerBody, Command, Replacement, Supersede, VerificationRef};
use sillok_core::entry::Table;
use sillok_core::principal::PrincipalKind;
use sillok_core::promotion::Disposition;
use sillok_sim::agent::Agent;
use sillok_sim::workload::Workload as _;
use sillok_sim::workload::disputing::{Action, Disputing};
use sillok_sim::workload::material::{judged, observation, project, project_path, scope};

use super::tasks::staged;

/// Looks until a promotion has to be finished.
const PROMOTION_LOOKS: u32 = 60;
/// Facts that the log of a task states whose promotion is taken back.
const FACTS: u8 = 4;

/// Two people declare a key with two values, and a state claims a third one. What each of that asks is answered: all that
/// one time, and the next time nothing, so that what contradicts stays side by side.
pub(super) async fn dispute(agent: &mut Agent, project: u8, turn: u32) {
    let key = u8::from(!turn.is_multiple_of(2));
    let approve = turn % 4 < 2;
    let declare = |text, value| Action::Declare {
        project,
        text,
        claim: Some((key, value)),
    };
    let put = Action::Put {
        project,
        table: 0,
        claim: Some((key, 2)),
    };
    let answer = |older| Action::Answer {
        place: 0,
        approve,
        older,
    };
    let told = [
        declare(0, 0),
        answer(false),
        declare(3, 1),
        answer(key == 0),
        put,
        answer(false),
    ];
    for action in told {
        Disputing.act(agent, action).await;
    }
    if approve {
        Disputing.act(agent, Action::Resolve { place: 0 }).await;
    }
}

/// A person puts a fact down, replaces it by what a promotion has made, and takes the promotion back: the fact holds again.
/// None where that is not so, or something was refused.
pub(super) async fn take_back(agent: &mut Agent, number: u8, month: u32) -> Option<()> {
    let home = project(number);
    let path = project_path(number);
    let task = scope(&format!("{path}/worktree/undone/task/u{month}"));
    let (title, place) = (format!("Task of month {month}"), format!("mirror m{month}"));
    staged(agent, &task, title, FACTS, &place).await?;
    let verify = judged(true, format!("doubted run {month}"));
    let answer = agent.give(PrincipalKind::Orchestrator, &task, verify).await;
    let AnswerBody::Verification { id, .. } = answer?.result else {
        return None;
    };
    let report = agent.client().published(&task, id, PROMOTION_LOOKS).await?;
    let is_made = |table, disposition: &Disposition| {
        table == Table::Observations && matches!(disposition, Disposition::Created)
    };
    let mut products = report.products.iter();
    let made = products.find(|product| is_made(product.table, &product.disposition));
    let put = Command::PutEntry {
        entry: Box::new(observation(&format!("The mirror m{month} is asked last"))),
        verification: None,
    };
    let answer = agent.give(PrincipalKind::Human, &home, put).await;
    let AnswerBody::Entry {
        id: old, version, ..
    } = answer?.result
    else {
        return None;
    };
    let supersede = Command::Supersede(Box::new(Supersede {
        old,
        expected_version: version,
        new: Replacement::Existing(made?.entry?),
        reason: "a run found out more".into(),
        commit: None,
        verification: None,
    }));
    agent.give(PrincipalKind::Human, &home, supersede).await?;
    let undo = Command::UndoPromotion {
        promotion: VerificationRef { task, id },
        reason: "the run was on the wrong branch".into(),
    };
    let undone = agent.give(PrincipalKind::Human, &home, undo).await;
    match undone?.result {
        AnswerBody::Undone { restored, .. } => restored.contains(&old).then_some(()),
        _ => None,
    }
}
