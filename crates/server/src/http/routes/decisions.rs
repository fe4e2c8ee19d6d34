//! Routes of decisions.

use axum::Json;
use axum::extract::State;
use sillok_actors::reads::{DecisionFilter, Viewer};
use sillok_core::command::AnswerBody;
use sillok_core::id::{DecisionId, Seq};
use sillok_core::scope::Scope;

use super::{PAGE_ROWS, authorize_sight, not_found};
use crate::api::{
    Cursor, DeactivateDecision, DecisionHead, DecisionHistoryQuery, DecisionQuery, DecisionSaved,
    DecisionVersion, DecisionView, DecisionsQuery, Meaning, Page, Proposed, RestoreDecision,
    SaveDecision,
};
use crate::http::command::{Receipt, Reply};
use crate::http::extract::{Ask, Read, Write, Writer};
use crate::http::{App, Refusal};

/// The rules that decide a save, by the rank that is at stake and the level of the scope.
const SAVES: [&str; 6] = [
    "control/save_normal_below_project",
    "control/save_normal_project",
    "control/save_normal_org",
    "control/save_lock_up_to_project",
    "control/save_lock_org",
    "control/save_axis",
];

/// Save a decision: begin a chain of versions, or give one a further version. The answer says what that means to others:
/// what it affects, which axes and locks are among that, what contradicts it, and whether nothing else is of its domain.
#[utoipa::path(post, path = "/v1/decisions", tag = "decisions", operation_id = "save_decision",
    request_body = SaveDecision,
    responses((status = 200, description = "The decision is saved.", body = DecisionSaved)),
    extensions(("x-sillok-access" = json!(SAVES))))]
pub(super) async fn save(
    State(app): State<App>,
    write: Write<SaveDecision>,
) -> Reply<DecisionSaved> {
    let reaches = app.reaches(&write.session.principal, &write.body).await;
    let reaches = reaches.map_err(Refusal::of(write.id))?;
    let command = write.body.into_command(&reaches);
    let command = command.map_err(Refusal::of(write.id))?;
    let receipt = app.carry_out(&write.session, write.id, command).await?;
    app.decided(&write.session, receipt).await
}

/// Say what a decision would mean to others: what it would affect, which axes and locks are among that, what would
/// contradict it, and whether nothing else is of its domain. Nothing is stored. It is refused where everybody would be refused to save it: anyone may propose what only
/// others may save.
#[utoipa::path(post, path = "/v1/decisions/propose", tag = "decisions", operation_id = "propose_decision",
    request_body = SaveDecision,
    responses((status = 200, description = "What it would mean.", body = Proposed)),
    extensions(("x-sillok-access" = json!(["control/propose"]))))]
pub(super) async fn propose(State(app): State<App>, ask: Ask<SaveDecision>) -> Reply<Proposed> {
    let principal = &ask.session.principal;
    let reaches = app.reaches(principal, &ask.body).await?;
    let (scope, change, proposal) = ask.body.into_proposal(&reaches)?;
    let proposed = app.node().propose(principal, &scope, change, &proposal);
    let proposed = proposed.await.map_err(Refusal::of_node)?;
    Ok(Json(proposed.into()))
}

/// Withdraw a decision: it applies no longer, and stays readable.
#[utoipa::path(post, path = "/v1/decisions/deactivate", tag = "decisions", operation_id = "deactivate_decision",
    request_body = DeactivateDecision,
    responses((status = 200, description = "The decision is withdrawn.", body = DecisionSaved)),
    extensions(("x-sillok-access" = json!(SAVES))))]
pub(super) async fn deactivate(
    State(app): State<App>,
    write: Write<DeactivateDecision>,
) -> Reply<DecisionSaved> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    let receipt = app.carry_out(&write.session, write.id, command).await?;
    app.decided(&write.session, receipt).await
}

/// Have a decision apply again that was withdrawn, with what one of its versions said.
#[utoipa::path(post, path = "/v1/decisions/restore", tag = "decisions", operation_id = "restore_decision",
    request_body = RestoreDecision,
    responses((status = 200, description = "The decision applies again.", body = DecisionSaved)),
    extensions(("x-sillok-access" = json!(SAVES))))]
pub(super) async fn restore(
    State(app): State<App>,
    write: Write<RestoreDecision>,
) -> Reply<DecisionSaved> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    let receipt = app.carry_out(&write.session, write.id, command).await?;
    app.decided(&write.session, receipt).await
}

/// List the decisions that were made in a scope, without their texts.
#[utoipa::path(get, path = "/v1/decisions", tag = "decisions", operation_id = "list_decisions", params(DecisionsQuery),
    responses((status = 200, description = "A page; it may be empty and not the last.", body = Page<DecisionHead>)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn list(
    State(app): State<App>,
    read: Read<DecisionsQuery>,
) -> Reply<Page<DecisionHead>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let generation = app.generation();
    let after = Cursor::decision(read.query.after.as_deref(), generation)?;
    let filter = DecisionFilter {
        rank: read.query.rank.as_deref().map(str::parse).transpose()?,
        domain: read.query.domain.as_deref().map(str::parse).transpose()?,
        withdrawn: read.query.withdrawn,
    };
    let limit = read.query.limit.unwrap_or(PAGE_ROWS);
    let page = app
        .reader()
        .decisions(&scope, &filter, after, limit)
        .await?;
    let items = page.items.into_iter();
    Ok(Json(Page {
        items: items.map(|head| DecisionHead::of(&scope, head)).collect(),
        next: page
            .next
            .map(|place| Cursor::Decision(place).encode(generation)),
    }))
}

/// Show a decision with what it says.
#[utoipa::path(get, path = "/v1/decision", tag = "decisions", operation_id = "show_decision", params(DecisionQuery),
    responses((status = 200, description = "The decision.", body = DecisionView)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn show(State(app): State<App>, read: Read<DecisionQuery>) -> Reply<DecisionView> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let root: DecisionId = read.query.root.parse()?;
    let found = app.reader().decision(&scope, root).await?;
    let view = found.ok_or_else(|| not_found("such decision"))?;
    Ok(Json(DecisionView::of(&scope, view)))
}

/// List the versions of a decision, the first one first. Each stays as it was saved.
#[utoipa::path(get, path = "/v1/decision/history", tag = "decisions", operation_id = "list_decision_versions",
    params(DecisionHistoryQuery),
    responses((status = 200, description = "A page of versions.", body = Page<DecisionVersion>)),
    extensions(("x-sillok-access" = json!(["sees_entries"]))))]
pub(super) async fn history(
    State(app): State<App>,
    read: Read<DecisionHistoryQuery>,
) -> Reply<Page<DecisionVersion>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_sight(&read.session.principal, &scope)?;
    let root: DecisionId = read.query.root.parse()?;
    let generation = app.generation();
    let after = Cursor::seq(read.query.after.as_deref(), generation)?;
    let after = (after > Seq::ZERO).then(|| after.get());
    let limit = read.query.limit.unwrap_or(PAGE_ROWS);
    let found = app
        .reader()
        .decision_history(&scope, root, after, limit)
        .await?;
    let page = found.ok_or_else(|| not_found("such decision"))?;
    Ok(Json(Page {
        items: page.items.into_iter().map(Into::into).collect(),
        next: page
            .next
            .map(|number| Cursor::Seq(Seq::new(number)).encode(generation)),
    }))
}

impl App {
    /// The answer to a decision that was saved, withdrawn or restored: with what that means to others by now. It is stored
    /// by then, so that what goes wrong here is no refusal: that would say that nothing was written.
    async fn decided(&self, session: &Writer, receipt: Receipt) -> Reply<DecisionSaved> {
        let AnswerBody::Decision { root, version, .. } = receipt.result else {
            return receipt.unfit();
        };
        let viewer = Viewer {
            scope: receipt.scope.clone(),
            prefix: session.principal.prefix.clone(),
        };
        let means = match self.node().meaning(&viewer, root, version).await {
            Ok(means) => Meaning::Told(means.into()),
            Err(error) => {
                tracing::warn!(%error, "a decision is saved, and what that means is not told");
                Meaning::Untold {
                    untold: error.to_string(),
                }
            }
        };
        receipt.decision(means)
    }
}
