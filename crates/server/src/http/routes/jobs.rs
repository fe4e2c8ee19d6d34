//! Routes of promotions that are not finished, wherever in the cluster they are carried out.

use axum::Json;
use axum::extract::State;
use sillok_core::scope::ScopePrefix;

use super::{PAGE_ROWS, authorize_under};
use crate::api::{Cursor, DropPromotion, JobQuery, Page, TaskChanged, WaitingPromotion};
use crate::http::command::Reply;
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// List the promotions that are not finished of the tasks under a scope, or under `*`. A page may be
/// empty and still not be the last.
#[utoipa::path(get, path = "/v1/jobs", tag = "verifications", operation_id = "list_jobs", params(JobQuery),
    responses((status = 200, description = "A page of promotions.", body = Page<WaitingPromotion>)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn list(
    State(app): State<App>,
    read: Read<JobQuery>,
) -> Reply<Page<WaitingPromotion>> {
    let query = &read.query;
    let under: ScopePrefix = query.scope.parse()?;
    authorize_under(&read.session.principal, &under)?;
    let after = Cursor::promotion(query.after.as_deref(), app.generation())?;
    let limit = query.limit.unwrap_or(PAGE_ROWS);
    let page = app
        .reader()
        .promotions(&under, query.halted, after, limit)
        .await?;
    Ok(Json(Page {
        items: page.items.into_iter().map(Into::into).collect(),
        next: page
            .next
            .map(|place| Cursor::Promotion(place).encode(app.generation())),
    }))
}

/// Give a promotion up for good, while nothing of it is published. Its records stay.
#[utoipa::path(post, path = "/v1/promotions/drop", tag = "verifications", operation_id = "drop_promotion",
    request_body = DropPromotion,
    responses((status = 200, description = "It is given up.", body = TaskChanged)),
    extensions(("x-sillok-access" = json!(["control/record_verification"]))))]
pub(super) async fn drop_promotion(
    State(app): State<App>,
    write: Write<DropPromotion>,
) -> Reply<TaskChanged> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .task()
}
