//! A node with a task in each of some projects, which lie in different slots.

use futures::future::join_all;
use sillok_core::command::Command;
use sillok_core::principal::PrincipalKind;
use sillok_core::slot::Slot;

use super::harness::{TestNode, TestStore, node, open_task, scope, submission};

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
    pub(crate) node: TestNode,
    numbered: u64,
}

impl Projects {
    pub(crate) async fn new(store: &TestStore, count: usize) -> Self {
        let node = node(store).await;
        let mut projects = Self { node, numbered: 0 };
        for project in 0..count {
            projects.give(project, open_task()).await;
        }
        projects
    }

    /// Gives the node commands for a project's task that wait together.
    pub(crate) async fn give_together(&mut self, project: usize, commands: Vec<Command>) {
        let given = commands.into_iter().map(|command| {
            let given = submission(self.numbered, PrincipalKind::Agent, &task(project), command);
            self.numbered += 1;
            self.node.submit(given)
        });
        for done in join_all(given.collect::<Vec<_>>()).await {
            done.unwrap();
        }
    }

    /// Opens one more task of a project, which lies in the same slot.
    pub(crate) async fn open_another(&mut self, project: usize) {
        let path = format!("{}-{}", task(project), self.numbered);
        let given = submission(self.numbered, PrincipalKind::Agent, &path, open_task());
        self.numbered += 1;
        self.node.submit(given).await.unwrap();
    }

    /// Gives the node a command for a project's task.
    pub(crate) async fn give(&mut self, project: usize, command: Command) {
        let given = submission(self.numbered, PrincipalKind::Agent, &task(project), command);
        self.numbered += 1;
        self.node.submit(given).await.unwrap();
    }
}
