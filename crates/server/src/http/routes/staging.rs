//! Routes of staged records.

use axum::Json;
use axum::extract::State;
use sillok_core::citation::Excerpt;
use sillok_core::id::RecordId;
use sillok_core::permission::authorize_read;
use sillok_core::scope::Scope;

use super::{PAGE_ROWS, not_found};
use crate::api::{
    AppendLogs, AppendMemoryEvent, AppendSnapshot, Appended, Cursor, ExcerptQuery, ExcerptView,
    ListQuery, Page, RecordQuery, RecordView,
};
use crate::http::command::Reply;
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// Append log records to a task, in order, all or none.
#[utoipa::path(post, path = "/v1/logs", tag = "staging", operation_id = "append_logs", request_body = AppendLogs,
    responses((status = 200, description = "The records are durable.", body = Appended)),
    extensions(("x-sillok-access" = json!(["control/append_log"]))))]
pub(super) async fn append_logs(
    State(app): State<App>,
    write: Write<AppendLogs>,
) -> Reply<Appended> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .appended()
}

/// Append a terminal snapshot to a task.
#[utoipa::path(post, path = "/v1/snapshots", tag = "staging", operation_id = "append_snapshot",
    request_body = AppendSnapshot,
    responses((status = 200, description = "The snapshot is durable.", body = Appended)),
    extensions(("x-sillok-access" = json!(["control/append_log"]))))]
pub(super) async fn append_snapshot(
    State(app): State<App>,
    write: Write<AppendSnapshot>,
) -> Reply<Appended> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .appended()
}

/// Append a memory event to a scope of any level.
#[utoipa::path(post, path = "/v1/memory-events", tag = "staging", operation_id = "append_memory_event",
    request_body = AppendMemoryEvent,
    responses((status = 200, description = "The event is durable.", body = Appended)),
    extensions(("x-sillok-access" = json!(["control/append_log"]))))]
pub(super) async fn append_memory_event(
    State(app): State<App>,
    write: Write<AppendMemoryEvent>,
) -> Reply<Appended> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .appended()
}

/// List the records of a scope. A page may be empty and still not be the last.
#[utoipa::path(get, path = "/v1/records", tag = "staging", operation_id = "list_records", params(ListQuery),
    responses((status = 200, description = "A page of records.", body = Page<RecordView>)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn list(State(app): State<App>, read: Read<ListQuery>) -> Reply<Page<RecordView>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    let after = Cursor::seq(read.query.after.as_deref(), app.generation())?;
    let page = app
        .node()
        .records(&scope, after, read.query.limit.unwrap_or(PAGE_ROWS))
        .await?;
    let items = page.items.into_iter().map(RecordView::from).collect();
    Ok(Json(Page {
        items,
        next: page
            .next
            .map(|seq| Cursor::Seq(seq).encode(app.generation())),
    }))
}

/// Show a record with its whole text.
#[utoipa::path(get, path = "/v1/record", tag = "staging", operation_id = "show_record", params(RecordQuery),
    responses((status = 200, description = "The record.", body = RecordView)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn show(State(app): State<App>, read: Read<RecordQuery>) -> Reply<RecordView> {
    let id: RecordId = read.query.id.parse()?;
    authorize_read(&read.session.principal, &id.scope)?;
    let record = app
        .reader()
        .record(&id)
        .await?
        .ok_or_else(|| not_found("such record"))?;
    Ok(Json(record.into()))
}

/// Show what a stretch of a record's text says, or of what a task was opened with.
#[utoipa::path(get, path = "/v1/excerpt", tag = "staging", operation_id = "show_excerpt", params(ExcerptQuery),
    responses((status = 200, description = "The stretch.", body = ExcerptView)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn excerpt(
    State(app): State<App>,
    read: Read<ExcerptQuery>,
) -> Reply<ExcerptView> {
    let ExcerptQuery { id, from, to } = read.query;
    let id: RecordId = id.parse()?;
    authorize_read(&read.session.principal, &id.scope)?;
    let excerpt = Excerpt {
        record: id,
        from,
        to,
    };
    let said = app.reader().excerpt(&excerpt).await?;
    let text = said.ok_or_else(|| not_found("such stretch of a text"))?;
    Ok(Json(ExcerptView {
        id: excerpt.record,
        from,
        to,
        text,
    }))
}
