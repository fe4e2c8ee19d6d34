//! Judging: tasks say what published entries were to them, and people answer what that raises.
//!
//! That each task counts once, whoever retries and whichever node holds the project by then, the audit of the
//! world's end checks: an event that counts otherwise does not apply.

use serde::{Deserialize, Serialize};
use sillok_core::command::{Answer, AnswerBody, AnswerReview, Command};
use sillok_core::id::{EntryId, ReviewId};
use sillok_core::principal::PrincipalKind;
use sillok_core::reuse::ReuseOutcome;

use crate::agent::Agent;
use crate::workload::material::{check_project, draw_project, project, project_path, scope};
use crate::workload::publishing::Board;
use crate::workload::{Draw, Workload};

/// Tasks of each project that report.
const TASKS: usize = 4;

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Judging;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Reports what a published entry was to a task, and answers what that raises.
    Report {
        /// Which project.
        project: u8,
        /// Which of its tasks.
        task: u8,
        /// Which outcome, by its place among all.
        outcome: u8,
        /// Whether a question that is raised is approved.
        approve: bool,
    },
}

impl Workload for Judging {
    type Action = Action;

    fn name(&self) -> &'static str {
        "judging"
    }

    fn share(&self) -> u32 {
        60
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        Action::Report {
            project: draw_project(draw),
            task: draw.byte(TASKS),
            outcome: draw.byte(ReuseOutcome::ALL.len()),
            approve: draw.stream.permille(500),
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let Action::Report { project, .. } = action;
        check_project(*project)
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let Action::Report {
            project: number,
            task,
            outcome,
            approve,
        } = action;
        let Some(entry) = agent.shared(|board: &mut Board| board.first(number)) else {
            return;
        };
        let path = format!("{}/worktree/judges/task/j{task}", project_path(number));
        let task = scope(&path);
        let open = Command::OpenTask {
            title: "judge".to_owned(),
            description: String::new(),
        };
        // Another agent may have opened it before.
        agent.give(PrincipalKind::Agent, &task, open).await;
        let outcome = ReuseOutcome::ALL[usize::from(outcome) % ReuseOutcome::ALL.len()];
        let report = Command::ReportReuse {
            task,
            entry,
            outcome,
        };
        let scope = project(number);
        let answer = agent.give(PrincipalKind::Agent, &scope, report).await;
        if let Some(review) = raised(answer) {
            agent.client().saw("question raised by reports");
            settle(agent, number, (review, entry), approve).await;
        }
    }
}

fn raised(answer: Option<Answer>) -> Option<ReviewId> {
    match answer?.result {
        AnswerBody::Reported { review, .. } => review,
        _ => None,
    }
}

async fn settle(agent: &mut Agent, number: u8, about: (ReviewId, EntryId), approve: bool) {
    let (review, entry) = about;
    let command = Command::AnswerReview(Box::new(AnswerReview {
        review,
        approve,
        keep: None,
        reason: "the reports were looked at".to_owned(),
    }));
    let answer = agent
        .give(PrincipalKind::Human, &project(number), command)
        .await;
    if answer.is_some() && approve {
        agent.shared(|board: &mut Board| board.remove(number, entry));
    }
}
