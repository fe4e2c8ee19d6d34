//! Tasks on the wire.

use serde::{Deserialize, Serialize};
use sillok_core::command::Command;
use sillok_core::error::Error;
use sillok_core::id::{CommandId, Seq};
use sillok_core::scope::Scope;
use sillok_core::task::{Closing, Task, TaskStatus};
use sillok_core::time::Timestamp;
use utoipa::ToSchema;

use super::{Actor, schema};

/// Opens a task.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenTask {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// What is to be done, in a line.
    #[schema(value_type = schema::Line)]
    pub title: String,
    /// What is to be done, in full.
    #[serde(default)]
    pub description: String,
}

/// Marks a task stuck.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkStuck {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// Why.
    #[schema(value_type = schema::Line)]
    pub reason: String,
}

/// Clears the mark of a stuck task.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearStuck {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
}

/// Closes a task.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseTask {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
    /// How it ended.
    #[schema(value_type = schema::Closing)]
    pub closing: Closing,
    /// Why.
    #[serde(default)]
    #[schema(value_type = schema::Short)]
    pub reason: String,
}

/// Archives a task.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveTask {
    /// The task's scope.
    #[schema(value_type = schema::TaskScope)]
    pub scope: String,
}

impl OpenTask {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let command = Command::OpenTask {
            title: self.title,
            description: self.description,
        };
        Ok((Scope::parse(&self.scope)?, command))
    }
}

impl MarkStuck {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        Ok((
            Scope::parse(&self.scope)?,
            Command::MarkStuck {
                reason: self.reason,
            },
        ))
    }
}

impl ClearStuck {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        Ok((Scope::parse(&self.scope)?, Command::ClearStuck))
    }
}

impl CloseTask {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        let command = Command::CloseTask {
            closing: self.closing,
            reason: self.reason,
        };
        Ok((Scope::parse(&self.scope)?, command))
    }
}

impl ArchiveTask {
    /// The command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope`.
    pub fn into_command(self) -> Result<(Scope, Command), Error> {
        Ok((Scope::parse(&self.scope)?, Command::ArchiveTask))
    }
}

/// A task has another status now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskChanged {
    /// The task's scope.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Its status.
    #[schema(value_type = schema::TaskStatus)]
    pub status: TaskStatus,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was done.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// A task.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    /// Its scope.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// What is to be done, in a line.
    pub title: String,
    /// What is to be done, in full.
    pub description: String,
    /// Where it stands.
    #[schema(value_type = schema::TaskStatus)]
    pub status: TaskStatus,
    /// Why it is stuck, while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_reason: Option<String>,
    /// The last position that a passed verification spoke for.
    #[schema(value_type = schema::Seq)]
    pub verified_through: Seq,
    /// Promotions that are not finished.
    pub promotions_pending: u32,
    /// Who opened it.
    pub opened_by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub opened_at: Timestamp,
    /// When its status last changed.
    #[schema(value_type = schema::Timestamp)]
    pub updated_at: Timestamp,
}

impl TaskView {
    /// The wire form of a task.
    #[must_use]
    pub fn new(scope: Scope, task: Task) -> Self {
        Self {
            scope,
            title: task.title,
            description: task.description,
            status: task.status,
            stuck_reason: task.stuck_reason,
            verified_through: task.verified_through,
            promotions_pending: task.promotions_pending,
            opened_by: task.opened_by.into(),
            opened_at: task.opened_at,
            updated_at: task.updated_at,
        }
    }
}
