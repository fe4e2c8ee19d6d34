//! Routes of fixes: what failed, and whether it is tried again.

use axum::Json;
use axum::extract::State;
use sillok_core::permission::authorize_read;
use sillok_core::scope::Scope;

use super::PAGE_ROWS;
use crate::api::{CheckFix, Cursor, FailedApproach, FixAsked, FixChecked, Page, TaskListQuery};
use crate::http::App;
use crate::http::command::Reply;
use crate::http::extract::{Ask, Read};

/// Ask whether an approach to a task is one that failed before, in it or in another task of its project.
#[utoipa::path(post, path = "/v1/fixes/check", tag = "fixes", operation_id = "check_fix", request_body = CheckFix,
    responses((status = 200, description = "What follows.", body = FixChecked)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn check(State(app): State<App>, ask: Ask<CheckFix>) -> Reply<FixChecked> {
    let FixAsked {
        task,
        approach,
        language,
    } = ask.body.parse()?;
    authorize_read(&ask.session.principal, &task)?;
    let _turn = app.check_turn(&task)?;
    let checked = app.reader().check_fix(&task, &approach).await?;
    let language = language.unwrap_or(app.config().language);
    Ok(Json(FixChecked::of(checked, &task, language)))
}

/// List the approaches to a task that failed, in the order in which they did.
#[utoipa::path(get, path = "/v1/fixes/failed", tag = "fixes", operation_id = "list_failed_approaches", params(TaskListQuery),
    responses((status = 200, description = "A page.", body = Page<FailedApproach>)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn failed(
    State(app): State<App>,
    read: Read<TaskListQuery>,
) -> Reply<Page<FailedApproach>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    let generation = app.generation();
    let after = match read.query.after.as_deref() {
        None => None,
        after => Some(Cursor::seq(after, generation)?),
    };
    let limit = read.query.limit.unwrap_or(PAGE_ROWS);
    let page = app.reader().failed_approaches(&scope, after, limit).await?;
    Ok(Json(Page {
        items: page.items.into_iter().map(Into::into).collect(),
        next: page.next.map(|seq| Cursor::Seq(seq).encode(generation)),
    }))
}
