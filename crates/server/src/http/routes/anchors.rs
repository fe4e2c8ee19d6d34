//! Routes of anchors.

use axum::Json;
use axum::extract::State;
use sillok_actors::reads::{AnchorFilter, Viewer};
use sillok_core::id::AnchorId;
use sillok_core::permission::authorize_read;
use sillok_core::scope::Scope;

use super::{PAGE_ROWS, SAVES_NORMAL, authorize_sight, not_found};
use crate::api::{
    AddAnchors, Anchor, AnchorDropped, AnchorQuery, AnchorView, AnchorsAdded, AnchorsAsked,
    AnchorsFound, AnchorsQuery, Cursor, DropAnchor, Followed, Page, SearchAnchors,
};
use crate::http::command::Reply;
use crate::http::extract::{Ask, Read, Write};
use crate::http::{App, Refusal};

/// Add anchors: hints where to go on reading, all or none. They stand last in a brief, and only point.
#[utoipa::path(post, path = "/v1/anchors", tag = "anchors", operation_id = "add_anchors", request_body = AddAnchors,
    responses((status = 200, description = "The anchors are added.", body = AnchorsAdded)),
    extensions(("x-sillok-access" = json!(SAVES_NORMAL))))]
pub(super) async fn add(State(app): State<App>, write: Write<AddAnchors>) -> Reply<AnchorsAdded> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .anchors()
}

/// Drop an anchor: it is listed no longer, and stays readable. What it leads to stays as it is.
#[utoipa::path(post, path = "/v1/anchors/drop", tag = "anchors", operation_id = "drop_anchor", request_body = DropAnchor,
    responses((status = 200, description = "The anchor is dropped.", body = AnchorDropped)),
    extensions(("x-sillok-access" = json!(SAVES_NORMAL))))]
pub(super) async fn drop(State(app): State<App>, write: Write<DropAnchor>) -> Reply<AnchorDropped> {
    let (anchor, command) = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .dropped(anchor)
}

/// List the anchors of a scope.
#[utoipa::path(get, path = "/v1/anchors", tag = "anchors", operation_id = "list_anchors", params(AnchorsQuery),
    responses((status = 200, description = "A page; it may be empty and not the last.", body = Page<Anchor>)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn list(State(app): State<App>, read: Read<AnchorsQuery>) -> Reply<Page<Anchor>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let generation = app.generation();
    let after = Cursor::anchor(read.query.after.as_deref(), generation)?;
    let filter = AnchorFilter {
        domain: read.query.domain.as_deref().map(str::parse).transpose()?,
        dropped: read.query.dropped,
    };
    let limit = read.query.limit.unwrap_or(PAGE_ROWS);
    let page = app.reader().anchors(&scope, &filter, after, limit).await?;
    let items = page.items.into_iter();
    Ok(Json(Page {
        items: items.map(|anchor| Anchor::of(&scope, anchor)).collect(),
        next: page.next.map(|id| Cursor::Anchor(id).encode(generation)),
    }))
}

/// Show an anchor, with what it leads to by title.
#[utoipa::path(get, path = "/v1/anchor", tag = "anchors", operation_id = "show_anchor", params(AnchorQuery),
    responses((status = 200, description = "The anchor.", body = AnchorView)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn show(State(app): State<App>, read: Read<AnchorQuery>) -> Reply<AnchorView> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let id: AnchorId = read.query.id.parse()?;
    let found = app.reader().anchor(&scope, id).await?;
    let view = found.ok_or_else(|| not_found("such anchor"))?;
    Ok(Json(AnchorView::of(&scope, view)))
}

/// Follow an anchor: what it leads to, as the originals say it now.
#[utoipa::path(get, path = "/v1/anchor/follow", tag = "anchors", operation_id = "follow_anchor", params(AnchorQuery),
    responses((status = 200, description = "The anchor, and what it leads to.", body = Followed)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn follow(State(app): State<App>, read: Read<AnchorQuery>) -> Reply<Followed> {
    let scope = Scope::parse(&read.query.scope)?;
    let principal = &read.session.principal;
    authorize_sight(principal, &scope)?;
    let id: AnchorId = read.query.id.parse()?;
    // An anchor leads to what is seen from its own scope, so to nothing that is hidden from whoever sees it.
    let viewer = Viewer {
        scope: scope.clone(),
        prefix: principal.prefix.clone(),
    };
    let found = app.reader().follow(&viewer, &scope, id).await?;
    let followed = found.ok_or_else(|| not_found("such anchor"))?;
    Ok(Json(Followed::of(&scope, followed)))
}

/// Search behind anchors: in the originals that those of a brief lead to, by words. No brief waits for it, and it changes the
/// place of nothing. The same state gives the same answer.
#[utoipa::path(post, path = "/v1/anchors/search", tag = "anchors", operation_id = "search_anchors",
    request_body = SearchAnchors,
    responses((status = 200, description = "What is found, the best first.", body = AnchorsFound)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn search(State(app): State<App>, ask: Ask<SearchAnchors>) -> Reply<AnchorsFound> {
    let AnchorsAsked {
        scope,
        domain,
        query,
    } = ask.body.parse()?;
    let principal = &ask.session.principal;
    authorize_read(principal, &scope)?;
    // Held until the search is over, or nobody waits for it any more.
    let _turn = app.search_turn(&scope)?;
    let viewer = Viewer {
        scope,
        prefix: principal.prefix.clone(),
    };
    let reader = app.reader();
    let found = reader.search_anchors(&viewer, &domain, query).await?;
    Ok(Json(AnchorsFound::of(viewer.scope, domain, found)))
}
