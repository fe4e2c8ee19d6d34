//! Replacing: people supersede the head of a line that others supersede as well, and amend entries
//! that others amend.

use serde::{Deserialize, Serialize};
use sillok_core::command::{AmendEntry, Command, Replacement, Supersede};
use sillok_core::entry::{Detail, Metadata};
use sillok_core::principal::PrincipalKind;

use crate::agent::Agent;
use crate::workload::material::{
    check_project, draw_project, draw_text, embedding, observation, project, reviewed, text_of,
};
use crate::workload::publishing::Board;
use crate::workload::{Draw, Workload};

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Replacing;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Replaces the newest entry of a line that others replace as well.
    Supersede {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
    },
    /// Gives a shared entry a new version.
    Amend {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
    },
}

impl Workload for Replacing {
    type Action = Action;

    fn name(&self) -> &'static str {
        "replacing"
    }

    fn share(&self) -> u32 {
        170
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        let (project, text) = (draw_project(draw), draw_text(draw));
        match draw.stream.between(0, 16) {
            0..=8 => Action::Supersede { project, text },
            _ => Action::Amend { project, text },
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let (Action::Supersede { project, .. } | Action::Amend { project, .. }) = action;
        check_project(*project)
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        match action {
            Action::Supersede { project, text } => supersede(agent, project, text).await,
            Action::Amend { project, text } => amend(agent, project, text).await,
        }
    }
}

async fn supersede(agent: &mut Agent, number: u8, text: u8) {
    let Some(first) = agent.shared(|board: &mut Board| board.first(number)) else {
        return;
    };
    let Some((_, line_head)) = agent.client().head(first).await else {
        return;
    };
    let Some((version, _)) = agent.client().head(line_head).await else {
        return;
    };
    let again = format!("{} ({})", text_of(text), agent.sent_count());
    let supersede = Command::Supersede(Box::new(Supersede {
        old: line_head,
        expected_version: version,
        new: Replacement::New(Box::new(observation(&again))),
        reason: "measured again".into(),
        commit: None,
        verification: None,
    }));
    agent
        .give(PrincipalKind::Human, &project(number), supersede)
        .await;
}

async fn amend(agent: &mut Agent, number: u8, text: u8) {
    let Some(last) = agent.shared(|board: &mut Board| board.last(number)) else {
        return;
    };
    let Some((version, _)) = agent.client().head(last).await else {
        return;
    };
    let content = format!("{} (seen by {})", text_of(text), agent.number());
    let amend = Command::AmendEntry(Box::new(AmendEntry {
        entry: last,
        expected_version: version,
        embedding: Some(embedding(&content)),
        content,
        detail: Detail::Plain,
        metadata: Metadata::default(),
        claim: None,
        citations: reviewed(),
        verification: None,
    }));
    agent
        .give(PrincipalKind::Human, &project(number), amend)
        .await;
}
