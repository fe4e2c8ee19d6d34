//! Routes of events: listings and live tails.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use sillok_actors::reads::{TailCursor, TailOf};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::event::EventKinds;
use sillok_core::permission::authorize_read;
use sillok_core::scope::{Scope, ScopePrefix};

use super::{PAGE_ROWS, authorize_under};
use crate::api::{Cursor, EventView, EventsQuery, Page, TailEvent, TailQuery};
use crate::http::command::Reply;
use crate::http::extract::Read;
use crate::http::{App, Refusal, tail};

/// List the events of a scope, in order.
#[utoipa::path(get, path = "/v1/events", tag = "events", operation_id = "list_events", params(EventsQuery),
    responses((status = 200, description = "A page of events.", body = Page<EventView>)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn list(
    State(app): State<App>,
    read: Read<EventsQuery>,
) -> Reply<Page<EventView>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    let kinds = kinds(read.query.kind.as_deref())?;
    let after = Cursor::seq(read.query.after.as_deref(), app.generation())?;
    let page = app
        .node()
        .events(&scope, &kinds, after, read.query.limit.unwrap_or(PAGE_ROWS))
        .await?;
    let items = page
        .items
        .into_iter()
        .map(|event| tail::event_view(scope.clone(), event))
        .collect();
    Ok(Json(Page {
        items,
        next: page
            .next
            .map(|seq| Cursor::Seq(seq).encode(app.generation())),
    }))
}

/// Follow the events under a scope, or under `*`, as server-sent events.
///
/// The id of each is the cursor behind it; `Last-Event-ID` resumes there. Comments are heartbeats. One
/// with an id says that nothing that was asked for lies before that cursor any more.
#[utoipa::path(get, path = "/v1/tail", tag = "events", operation_id = "tail", params(TailQuery),
    responses((status = 200, description = "A stream of events.", body = TailEvent,
        content_type = "text/event-stream")),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn tail(
    State(app): State<App>,
    headers: HeaderMap,
    read: Read<TailQuery>,
) -> Result<Response, Refusal> {
    let under: ScopePrefix = read.query.scope.parse()?;
    authorize_under(&read.session.principal, &under)?;
    let kinds = kinds(read.query.kind.as_deref())?;
    let cursor = match headers.get("last-event-id") {
        Some(value) => Some(value.to_str().map_err(|_| {
            Error::new(
                ErrorCode::InvalidArgument,
                "Last-Event-ID is not a cursor that this system gave out",
            )
        })?),
        None => read.query.cursor.as_deref(),
    };
    let cursor = cursor.map_or(Ok(TailCursor::START), str::parse)?;
    cursor.check_generation(app.generation())?;
    let of = TailOf { under, kinds };
    Ok(tail::open(app, read.session, of, cursor)?.into_response())
}

/// The kinds that a query names.
fn kinds(list: Option<&str>) -> Result<EventKinds, Error> {
    list.map_or(Ok(EventKinds::ALL), EventKinds::parse)
}
