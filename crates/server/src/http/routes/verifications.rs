//! Routes of verifications and promotions.

use axum::Json;
use axum::extract::State;
use sillok_actors::jobs::PromotionState as Stands;
use sillok_core::command::{Command, VerificationRef};
use sillok_core::permission::{Access, Control, authorize, authorize_read};
use sillok_core::scope::Scope;

use super::not_found;
use crate::api::{
    Page, Promotion, PromotionQuery, PromotionState, PromotionUndone, RecordVerification,
    RetryPromotion, ScopeQuery, UndoPromotion, VerificationRecorded, VerificationView,
};
use crate::http::command::Reply;
use crate::http::extract::{Ask, Read, Write};
use crate::http::{App, Refusal};

/// Record a verification of a task, which starts its promotion.
#[utoipa::path(post, path = "/v1/verifications", tag = "verifications", operation_id = "record_verification",
    request_body = RecordVerification,
    responses((status = 200, description = "The verification is recorded.", body = VerificationRecorded)),
    extensions(("x-sillok-access" = json!(["control/record_verification"]))))]
pub(super) async fn record(
    State(app): State<App>,
    write: Write<RecordVerification>,
) -> Reply<VerificationRecorded> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    app.carry_out(&write.session, write.id, command)
        .await?
        .verification(app.config().language)
}

/// List a task's verifications, the earliest first.
#[utoipa::path(get, path = "/v1/verifications", tag = "verifications", operation_id = "list_verifications",
    params(ScopeQuery),
    responses((status = 200, description = "All verifications.", body = Page<VerificationView>)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn list(
    State(app): State<App>,
    read: Read<ScopeQuery>,
) -> Reply<Page<VerificationView>> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    let found = app.reader().verifications(&scope).await?;
    Ok(Json(Page {
        items: found.into_iter().map(Into::into).collect(),
        next: None,
    }))
}

/// Show where a promotion stands, waiting for its end as long as is asked.
#[utoipa::path(get, path = "/v1/promotions", tag = "verifications", operation_id = "show_promotion",
    params(PromotionQuery),
    responses((status = 200, description = "Where it stands.", body = Promotion)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn promotion(
    State(app): State<App>,
    read: Read<PromotionQuery>,
) -> Reply<Promotion> {
    let scope = Scope::parse(&read.query.scope)?;
    authorize_read(&read.session.principal, &scope)?;
    let id = read.query.verification.parse()?;
    let wait_ms = read
        .query
        .wait_ms
        .unwrap_or(0)
        .min(app.inner.config.promotion_wait_ms_max);
    let wait_ms = if app.is_stopping() { 0 } else { wait_ms };
    let stands = app.node().promotion(&scope, id, wait_ms).await?;
    Ok(Json(shown(stands)))
}

/// Retry a promotion that has failed as often as it may, on whichever node carries it out. One that is
/// under way, done or dropped is left as it is. Those may who may record a verification of the task.
#[utoipa::path(post, path = "/v1/promotions/retry", tag = "verifications", operation_id = "retry_promotion",
    request_body = RetryPromotion,
    responses((status = 200, description = "Where it stands now.", body = Promotion)),
    extensions(("x-sillok-access" = json!(["control/record_verification"]))))]
pub(super) async fn retry(State(app): State<App>, ask: Ask<RetryPromotion>) -> Reply<Promotion> {
    let scope = Scope::parse(&ask.body.scope)?;
    // Whoever may have it tried once may have it tried again.
    let access = Access::Control(Control::RecordVerification);
    authorize(&ask.session.principal, access, &scope)?;
    let id = ask.body.verification.parse()?;
    app.node().retry_promotion(&scope, id).await?;
    Ok(Json(shown(app.node().promotion(&scope, id, 0).await?)))
}

/// Take a promotion back: what it made leaves recall, what that replaced holds again, and what it only
/// supported loses that support.
#[utoipa::path(post, path = "/v1/promotions/undo", tag = "verifications", operation_id = "undo_promotion",
    request_body = UndoPromotion,
    responses((status = 200, description = "It is taken back.", body = PromotionUndone)),
    extensions(("x-sillok-access" = json!(["control/decide_below_project", "control/decide_from_project"]))))]
pub(super) async fn undo(
    State(app): State<App>,
    write: Write<UndoPromotion>,
) -> Reply<PromotionUndone> {
    let refused = |error| Refusal::of(write.id)(error);
    let task = Scope::parse(&write.body.scope).map_err(refused)?;
    let id = write.body.verification.parse().map_err(refused)?;
    authorize_read(&write.session.principal, &task).map_err(refused)?;
    let found = app
        .reader()
        .verification(&task, id)
        .await
        .map_err(refused)?;
    let Some(verification) = found else {
        return Err(refused(not_found("such verification")));
    };
    let command = Command::UndoPromotion {
        promotion: VerificationRef { task, id },
        reason: write.body.reason,
    };
    app.carry_out(&write.session, write.id, (verification.target, command))
        .await?
        .undone()
}

fn shown(stands: Stands) -> Promotion {
    match stands {
        Stands::Done(finished) => Promotion {
            state: PromotionState::Done,
            attempts: 0,
            last_error: None,
            report: Some(finished.report.into()),
            spent: finished.spent.map(Into::into),
            undone: finished.is_undone,
        },
        Stands::Dropped => Promotion {
            state: PromotionState::Dropped,
            attempts: 0,
            last_error: None,
            report: None,
            spent: None,
            undone: false,
        },
        Stands::Pending {
            attempts,
            last_error,
        } => waiting(PromotionState::Pending, attempts, last_error),
        Stands::Halted {
            attempts,
            last_error,
        } => waiting(PromotionState::Halted, attempts, last_error),
    }
}

fn waiting(
    state: PromotionState,
    attempts: u32,
    last_error: Option<sillok_core::Error>,
) -> Promotion {
    Promotion {
        state,
        attempts,
        last_error: last_error.map(|error| error.to_string()),
        report: None,
        spent: None,
        undone: false,
    }
}
