//! Routes of evidence.

use axum::Json;
use axum::extract::State;
use sillok_core::id::EvidenceId;
use sillok_core::scope::Scope;

use super::{PAGE_ROWS, SAVES_NORMAL, authorize_sight, not_found};
use crate::api::{
    Cursor, EvidenceHead, EvidenceListQuery, EvidenceQuery, EvidenceSaved, EvidenceText,
    EvidenceTextQuery, Page, SaveEvidence,
};
use crate::http::command::Reply;
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// Save evidence: an original as it is now. It is never changed, and never fades; whoever may save a `normal` decision there
/// may save it.
#[utoipa::path(post, path = "/v1/evidence", tag = "evidence", operation_id = "save_evidence",
    request_body = SaveEvidence,
    responses((status = 200, description = "The evidence is saved.", body = EvidenceSaved)),
    extensions(("x-sillok-access" = json!(SAVES_NORMAL))))]
pub(super) async fn save(
    State(app): State<App>,
    write: Write<SaveEvidence>,
) -> Reply<EvidenceSaved> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .evidence()
}

/// List the evidence of a scope, without its texts.
#[utoipa::path(get, path = "/v1/evidence", tag = "evidence", operation_id = "list_evidence", params(EvidenceListQuery),
    responses((status = 200, description = "A page; it may be short and not the last.", body = Page<EvidenceHead>)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn list(
    State(app): State<App>,
    read: Read<EvidenceListQuery>,
) -> Reply<Page<EvidenceHead>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let generation = app.generation();
    let after = Cursor::evidence(read.query.after.as_deref(), generation)?;
    let limit = read.query.limit.unwrap_or(PAGE_ROWS);
    let page = app.reader().evidence_list(&scope, after, limit).await?;
    let items = page.items.into_iter();
    Ok(Json(Page {
        items: items.map(|head| EvidenceHead::of(&scope, head)).collect(),
        next: page.next.map(|id| Cursor::Evidence(id).encode(generation)),
    }))
}

/// Show evidence without its text.
#[utoipa::path(get, path = "/v1/evidence/item", tag = "evidence", operation_id = "show_evidence", params(EvidenceQuery),
    responses((status = 200, description = "The evidence.", body = EvidenceHead)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn show(State(app): State<App>, read: Read<EvidenceQuery>) -> Reply<EvidenceHead> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let id: EvidenceId = read.query.id.parse()?;
    let found = app.reader().evidence(&scope, id).await?;
    let head = found.ok_or_else(|| not_found("such evidence"))?;
    Ok(Json(EvidenceHead::of(&scope, head)))
}

/// Show the text of evidence, whole or a range of it. The whole is checked against its hash.
#[utoipa::path(get, path = "/v1/evidence/text", tag = "evidence", operation_id = "show_evidence_text",
    params(EvidenceTextQuery),
    responses((status = 200, description = "The text, or the range of it.", body = EvidenceText)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn text(
    State(app): State<App>,
    read: Read<EvidenceTextQuery>,
) -> Reply<EvidenceText> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let id: EvidenceId = read.query.id.parse()?;
    let range = read.query.range();
    let found = app.reader().evidence_text(&scope, id, range).await?;
    let text = found.ok_or_else(|| not_found("such evidence"))?;
    Ok(Json(EvidenceText::of(&scope, text)))
}
