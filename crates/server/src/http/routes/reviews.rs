//! Routes of reviews and of reports of reuse.

use axum::Json;
use axum::extract::State;
use sillok_core::command::Command;
use sillok_core::id::{EntryId, ReviewId};
use sillok_core::permission::authorize_read;
use sillok_core::review::Question;
use sillok_core::scope::Scope;

use super::entries::Concealed;
use super::{PAGE_ROWS, not_found};
use crate::api::{
    AnswerReview, Cursor, Page, ReportGate, ReportReuse, ReuseReported, ReviewEvidence,
    ReviewQuery, ReviewView, Reviewed, ReviewsQuery,
};
use crate::http::command::Reply;
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// Say for a task what an entry was to it.
#[utoipa::path(post, path = "/v1/reuse", tag = "reviews", operation_id = "report_reuse", request_body = ReportReuse,
    responses((status = 200, description = "It is counted.", body = ReuseReported)),
    extensions(("x-sillok-access" = json!(["control/report_outcome"]))))]
pub(super) async fn report(
    State(app): State<App>,
    write: Write<ReportReuse>,
) -> Reply<ReuseReported> {
    let refused = |error| Refusal::of(write.id)(error);
    let head = app.head(&write.body.entry).await.map_err(refused)?;
    let conceal = Concealed::of(&write.session, &head, write.id);
    let task = Scope::parse(&write.body.task).map_err(|error| conceal.over(refused(error)))?;
    let command = Command::ReportReuse {
        task,
        entry: head.id,
        outcome: write.body.outcome,
    };
    app.carry_out(&write.session, write.id, (head.scope, command))
        .await
        .map_err(|refusal| conceal.over(refusal))?
        .reported()
}

/// Say for a task what the cognitive gate found of an entry at the project's main branch.
#[utoipa::path(post, path = "/v1/gate", tag = "reviews", operation_id = "report_gate", request_body = ReportGate,
    responses((status = 200, description = "It is taken down; `status` says whether the entry left recall.", body = ReuseReported)),
    extensions(("x-sillok-access" = json!(["control/report_outcome"]))))]
pub(super) async fn report_gate(
    State(app): State<App>,
    write: Write<ReportGate>,
) -> Reply<ReuseReported> {
    let refused = |error| Refusal::of(write.id)(error);
    let head = app.head(&write.body.entry).await.map_err(refused)?;
    let conceal = Concealed::of(&write.session, &head, write.id);
    let report = write.body.parse(head.id);
    let report = report.map_err(|error| conceal.over(refused(error)))?;
    let command = Command::ReportGate(Box::new(report));
    app.carry_out(&write.session, write.id, (head.scope, command))
        .await
        .map_err(|refusal| conceal.over(refusal))?
        .reported()
}

/// List what waits for a person in a scope.
#[utoipa::path(get, path = "/v1/reviews", tag = "reviews", operation_id = "list_reviews", params(ReviewsQuery),
    responses((status = 200, description = "A page; it may be empty and not the last.", body = Page<ReviewView>)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn list(
    State(app): State<App>,
    read: Read<ReviewsQuery>,
) -> Reply<Page<ReviewView>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    let generation = app.generation();
    let after = Cursor::review(read.query.after.as_deref(), generation)?;
    let limit = read.query.limit.unwrap_or(PAGE_ROWS);
    let page = app
        .reader()
        .reviews(&scope, read.query.answered, after, limit)
        .await?;
    Ok(Json(Page {
        items: page.items.into_iter().map(Into::into).collect(),
        next: page.next.map(|id| Cursor::Review(id).encode(generation)),
    }))
}

/// Show a question with the entries that it is about, side by side.
#[utoipa::path(get, path = "/v1/review", tag = "reviews", operation_id = "show_review", params(ReviewQuery),
    responses((status = 200, description = "The question and its evidence.", body = ReviewEvidence)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn show(State(app): State<App>, read: Read<ReviewQuery>) -> Reply<ReviewEvidence> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    let id: ReviewId = read.query.id.parse()?;
    let found = app.reader().review(&scope, id).await?;
    let review = found.ok_or_else(|| not_found("such review"))?;
    let mut about: Vec<EntryId> = review.question.entries();
    if let Question::Offer(offer) = &review.question
        && authorize_read(&read.session.principal, &offer.scope).is_ok()
    {
        about.push(offer.entry);
    }
    let mut entries = Vec::with_capacity(about.len());
    for id in about {
        let view = app.reader().entry(id).await?;
        entries.extend(view.map(Into::into));
    }
    Ok(Json(ReviewEvidence {
        review: review.into(),
        entries,
    }))
}

/// Answer a question, with all that follows.
#[utoipa::path(post, path = "/v1/reviews/answer", tag = "reviews", operation_id = "answer_review",
    request_body = AnswerReview,
    responses((status = 200, description = "It is answered.", body = Reviewed)),
    extensions(("x-sillok-access" = json!(["control/decide_below_project", "control/decide_from_project"]))))]
pub(super) async fn answer(State(app): State<App>, write: Write<AnswerReview>) -> Reply<Reviewed> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .reviewed()
}
