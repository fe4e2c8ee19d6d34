//! A node with a task in each of some projects, which lie in different slots.

use sillok_core::command::Command;
use sillok_core::principal::PrincipalKind;
use sillok_core::slot::Slot;
use sillok_store::MemoryStore;

use super::harness::{node, open_task, scope, submission};
use crate::Node;

/// The scope of a project's task.
pub(crate) fn task(project: usize) -> String {
    format!("org/acme/project/p{project}/worktree/main/task/1")
}

/// The slot of a project.
pub(crate) fn slot(project: usize) -> Slot {
    Slot::of(&scope(&task(project)))
}

/// The node.
pub(crate) struct Projects {
    pub(crate) node: Node<MemoryStore>,
    numbered: u64,
}

impl Projects {
    pub(crate) async fn new(store: &MemoryStore, count: usize) -> Self {
        let node = node(store).await;
        let mut projects = Self { node, numbered: 0 };
        for project in 0..count {
            projects.give(project, open_task()).await;
        }
        projects
    }

    /// Gives the node a command for a project's task.
    pub(crate) async fn give(&mut self, project: usize, command: Command) {
        let given = submission(self.numbered, PrincipalKind::Agent, &task(project), command);
        self.numbered += 1;
        self.node.submit(given).await.unwrap();
    }
}
