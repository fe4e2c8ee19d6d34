//! Routes of tasks.

use axum::Json;
use axum::extract::State;
use sillok_core::permission::authorize_read;
use sillok_core::scope::{Scope, ScopePrefix};

use super::{PAGE_ROWS, authorize_under, not_found};
use crate::api::{
    ArchiveTask, ClearStuck, CloseTask, Cursor, MarkStuck, OpenTask, Page, ScopeQuery, TaskChanged,
    TaskView, UnderListQuery,
};
use crate::http::command::Reply;
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// Open a task.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", operation_id = "open_task", request_body = OpenTask,
    responses((status = 200, description = "The task is open.", body = TaskChanged)),
    extensions(("x-sillok-access" = json!(["control/open_task"]))))]
pub(super) async fn open(State(app): State<App>, write: Write<OpenTask>) -> Reply<TaskChanged> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .task()
}

/// Mark a task stuck.
#[utoipa::path(post, path = "/v1/tasks/stuck", tag = "tasks", operation_id = "mark_stuck", request_body = MarkStuck,
    responses((status = 200, description = "The task is stuck.", body = TaskChanged)),
    extensions(("x-sillok-access" = json!(["control/mark_stuck"]))))]
pub(super) async fn mark_stuck(
    State(app): State<App>,
    write: Write<MarkStuck>,
) -> Reply<TaskChanged> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .task()
}

/// Clear the mark of a stuck task.
#[utoipa::path(post, path = "/v1/tasks/unstick", tag = "tasks", operation_id = "clear_stuck",
    request_body = ClearStuck,
    responses((status = 200, description = "The task is open again.", body = TaskChanged)),
    extensions(("x-sillok-access" = json!(["control/clear_stuck"]))))]
pub(super) async fn clear_stuck(
    State(app): State<App>,
    write: Write<ClearStuck>,
) -> Reply<TaskChanged> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .task()
}

/// Close a task.
#[utoipa::path(post, path = "/v1/tasks/close", tag = "tasks", operation_id = "close_task", request_body = CloseTask,
    responses((status = 200, description = "The task is closed.", body = TaskChanged)),
    extensions(("x-sillok-access" = json!(["control/close_task"]))))]
pub(super) async fn close(State(app): State<App>, write: Write<CloseTask>) -> Reply<TaskChanged> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .task()
}

/// Archive a task.
#[utoipa::path(post, path = "/v1/tasks/archive", tag = "tasks", operation_id = "archive_task",
    request_body = ArchiveTask,
    responses((status = 200, description = "The task is archived.", body = TaskChanged)),
    extensions(("x-sillok-access" = json!(["control/maintain"]))))]
pub(super) async fn archive(
    State(app): State<App>,
    write: Write<ArchiveTask>,
) -> Reply<TaskChanged> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .task()
}

/// Show a task.
#[utoipa::path(get, path = "/v1/task", tag = "tasks", operation_id = "show_task", params(ScopeQuery),
    responses((status = 200, description = "The task.", body = TaskView)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn show(State(app): State<App>, read: Read<ScopeQuery>) -> Reply<TaskView> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    let task = app
        .reader()
        .task(&scope)
        .await?
        .ok_or_else(|| not_found("such task"))?;
    Ok(Json(TaskView::new(scope, task)))
}

/// List the tasks under a scope, or under `*`. A page may be empty and still not be the last.
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", operation_id = "list_tasks", params(UnderListQuery),
    responses((status = 200, description = "A page of tasks.", body = Page<TaskView>)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn list(
    State(app): State<App>,
    read: Read<UnderListQuery>,
) -> Reply<Page<TaskView>> {
    let under: ScopePrefix = read.query.scope.parse()?;
    authorize_under(&read.session.principal, &under)?;
    let after = Cursor::scope(read.query.after.as_deref(), app.generation())?;
    let page = app
        .reader()
        .tasks(&under, after, read.query.limit.unwrap_or(PAGE_ROWS))
        .await?;
    let items = page
        .items
        .into_iter()
        .map(|(scope, task)| TaskView::new(scope, task))
        .collect();
    Ok(Json(Page {
        items,
        next: page
            .next
            .map(|scope| Cursor::Scope(scope).encode(app.generation())),
    }))
}
