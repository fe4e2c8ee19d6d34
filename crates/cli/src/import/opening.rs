//! Opening the task of an import, or finding it as an earlier import opened it.
//!
//! Owns that an import goes on under the principal that began it. It must not know what is imported.

use sillok_core::ErrorCode;
use sillok_core::event::EventKind;
use sillok_core::id::CommandId;
use sillok_core::scope::Scope;
use sillok_core::secret::mask;
use sillok_server::api::{Actor, EventsQuery, OpenTask, TaskView};
use sillok_sessions::Head;

use crate::client::Client;
use crate::failure::{EXIT_RETRY, Failure};

/// A task that was opened.
pub(super) struct Opened {
    /// The command that did it, now or in an earlier import.
    pub(super) command: CommandId,
    /// Whether that was in an earlier one.
    pub(super) is_resumed: bool,
    /// Whose import it is; none where that is not known any more, or nobody's came before.
    pub(super) by: Option<Actor>,
}

/// Opens the task, or finds it as an earlier import opened it.
pub(super) async fn open_or_resume(
    client: &Client,
    task: &Scope,
    head: &Head,
) -> Result<Opened, Failure> {
    // With secrets masked here, the task is found again by what is stored of it.
    let open = OpenTask {
        scope: task.to_string(),
        title: mask(&head.title).text.into_owned(),
        description: mask(&head.description).text.into_owned(),
    };
    let refused = match client.open_task(&open).await {
        Ok(opened) => {
            return Ok(Opened {
                command: opened.command_id,
                is_resumed: false,
                by: None,
            });
        }
        Err(failure) if failure.code() == Some(ErrorCode::Conflict) => failure,
        Err(failure) => return Err(failure),
    };
    let first = EventsQuery {
        scope: task.to_string(),
        limit: Some(1),
        ..EventsQuery::default()
    };
    let first = client.events(&first).await?.items.into_iter().next();
    let Some(opening) = first.filter(|event| event.kind == EventKind::TaskOpened) else {
        return Err(refused);
    };
    let found = client.task(task).await?;
    let resumed = |by| Opened {
        command: opening.command,
        is_resumed: true,
        by,
    };
    let opener = found.opened_by.clone();
    // Only to who opened it is the very command answered again. A session may have got a prompt since then.
    match client.open_task_as(opening.command, &as_found(found)).await {
        Ok(_) => Ok(resumed(Some(opener))),
        // It was opened so long ago that nobody remembers the command: whoever may write to it may go on.
        Err(failure) if failure.code() == Some(ErrorCode::Expired) => Ok(resumed(None)),
        Err(failure) if failure.exit_status() == EXIT_RETRY => Err(failure),
        Err(_) => Err(refused),
    }
}

/// A task as it was opened.
fn as_found(found: TaskView) -> OpenTask {
    OpenTask {
        scope: found.scope.to_string(),
        title: found.title,
        description: found.description,
    }
}
