//! `task`

use sillok_core::task::Closing;
use sillok_server::api::{
    ArchiveTask, ClearStuck, CloseTask, ListQuery, MarkStuck, OpenTask, TaskChanged, TaskView,
};

use crate::args::{TaskCommand, TaskList};
use crate::failure::Failure;
use crate::output::{Style, one_line, table, time};
use crate::session::Session;

/// Characters of a title in a listing.
const TITLE_CHARS_MAX: usize = 60;

/// Carries out `task`.
///
/// # Errors
/// [`Failure`]
pub async fn run(session: &Session, command: TaskCommand) -> Result<(), Failure> {
    let client = &session.client;
    let changed = match command {
        TaskCommand::Show { scope } => {
            let task = client.task(&scope).await?;
            return session.output.show(&task, |style| describe(style, &task));
        }
        TaskCommand::List(list_of) => return list(session, &list_of).await,
        TaskCommand::Open(open) => {
            let body = OpenTask {
                scope: open.scope.to_string(),
                title: open.title,
                description: open.description,
            };
            client.open_task(&body).await?
        }
        TaskCommand::Stuck { scope, reason } => {
            client
                .mark_stuck(&MarkStuck {
                    scope: scope.to_string(),
                    reason,
                })
                .await?
        }
        TaskCommand::Unstick { scope } => {
            client
                .clear_stuck(&ClearStuck {
                    scope: scope.to_string(),
                })
                .await?
        }
        TaskCommand::Close {
            scope,
            failed,
            reason,
        } => {
            let closing = if failed {
                Closing::Failed
            } else {
                Closing::Done
            };
            client
                .close_task(&CloseTask {
                    scope: scope.to_string(),
                    closing,
                    reason,
                })
                .await?
        }
        TaskCommand::Archive { scope } => {
            client
                .archive_task(&ArchiveTask {
                    scope: scope.to_string(),
                })
                .await?
        }
    };
    session
        .output
        .show(&changed, |style| change(style, &changed))
}

fn change(style: Style, changed: &TaskChanged) -> String {
    format!(
        "{} is {}",
        style.name(changed.scope.as_str()),
        changed.status.as_str()
    )
}

async fn list(session: &Session, list: &TaskList) -> Result<(), Failure> {
    let scope = session.scope(&list.within)?;
    let query = ListQuery {
        scope: scope.to_string(),
        after: None,
        limit: Some(list.paging.limit),
    };
    let page = session.client.tasks(&query).await?;
    session.output.show(&page, |style| {
        let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
        let mut text = table(style, &["TASK", "STATUS", "BY", "TITLE"], &rows);
        if page.next.is_some() {
            text += &style.dim("\n… and more: raise --limit");
        }
        text
    })
}

fn row(task: &TaskView) -> Vec<String> {
    vec![
        task.scope.to_string(),
        task.status.as_str().to_owned(),
        format!("{}:{}", task.opened_by.kind, task.opened_by.id),
        one_line(&task.title, TITLE_CHARS_MAX),
    ]
}

fn describe(style: Style, task: &TaskView) -> String {
    let mut text = format!(
        "{}\n{}\nstatus {}, opened by {}:{} at {}, last change at {}",
        style.bold(&one_line(&task.title, 200)),
        style.name(task.scope.as_str()),
        task.status.as_str(),
        task.opened_by.kind,
        task.opened_by.id,
        time(task.opened_at),
        time(task.updated_at),
    );
    if let Some(reason) = &task.stuck_reason {
        text += &format!("\nstuck: {}", one_line(reason, 400));
    }
    if !task.description.is_empty() {
        text += &format!("\n\n{}", crate::output::harmless(&task.description));
    }
    text
}
