//! Publishing: people publish facts in projects that others write to as well, often the same fact.
//!
//! Owns the board on which agents tell one another of what they published.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sillok_core::command::{AnswerBody, Command};
use sillok_core::id::EntryId;
use sillok_core::principal::PrincipalKind;

use crate::agent::Agent;
use crate::workload::material::{
    check_project, draw_project, draw_text, observation, project, text_of,
};
use crate::workload::{Draw, Workload};

/// The workload.
#[derive(Clone, Copy, Debug)]
pub struct Publishing;

/// An action of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Publishes a fact as a person.
    Fact {
        /// Which project.
        project: u8,
        /// Which text.
        text: u8,
    },
}

impl Workload for Publishing {
    type Action = Action;

    fn name(&self) -> &'static str {
        "publishing"
    }

    fn share(&self) -> u32 {
        150
    }

    fn draw(&self, draw: &mut Draw<'_>) -> Action {
        Action::Fact {
            project: draw_project(draw),
            text: draw_text(draw),
        }
    }

    fn check_action(&self, action: &Action, _nodes: u16) -> Result<(), String> {
        let Action::Fact { project, .. } = action;
        check_project(*project)
    }

    async fn act(&self, agent: &mut Agent, action: Action) {
        let Action::Fact {
            project: number,
            text,
        } = action;
        let put = Command::PutEntry {
            entry: Box::new(observation(text_of(text))),
            verification: None,
        };
        let answer = agent
            .give(PrincipalKind::Human, &project(number), put)
            .await;
        if let Some(AnswerBody::Entry { id, .. }) = answer.map(|answer| answer.result) {
            agent.shared(|board: &mut Board| board.add(number, id));
        }
    }
}

/// Entries that agents told one another of, by project.
#[derive(Debug, Default)]
pub struct Board(BTreeMap<u8, Vec<EntryId>>);

impl Board {
    fn add(&mut self, project: u8, entry: EntryId) {
        let known = self.0.entry(project).or_default();
        if !known.contains(&entry) {
            known.push(entry);
        }
    }

    /// Takes one off that nobody finds any more.
    pub fn remove(&mut self, project: u8, entry: EntryId) {
        if let Some(known) = self.0.get_mut(&project) {
            known.retain(|known| *known != entry);
        }
    }

    /// The first one of a project.
    pub fn first(&self, project: u8) -> Option<EntryId> {
        self.0.get(&project)?.first().copied()
    }

    /// The last one of a project.
    pub fn last(&self, project: u8) -> Option<EntryId> {
        self.0.get(&project)?.last().copied()
    }
}
