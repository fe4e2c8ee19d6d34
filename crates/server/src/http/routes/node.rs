//! Routes of the server itself: whether it is well, what it does, and whether its store holds.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use sillok_actors::audit::{self, Difference};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::Incarnation;
use sillok_core::principal::PrincipalKind;
use sillok_core::scope::{Scope, ScopePrefix};
use sillok_store::Store as _;

use super::authorize_under;
use crate::api::{
    AuditAnswer, AuditDifference, AuditRequest, ClusterQuery, ClusterView, FenceNode, FenceView,
    JobView, Maintain, Maintained, QuarantineScope, QuarantineView, StatusView,
};
use crate::http::command::Reply;
use crate::http::extract::{Ask, Caller, Read};
use crate::http::{App, Refusal, document, metrics};

/// What a caller is told to wait while another audit runs.
const AUDIT_RETRY_AFTER_MS: u64 = 1_000;

/// Check that everything that is stored follows from the events. Only for a token that covers everything.
#[utoipa::path(post, path = "/v1/audit/verify", tag = "node", operation_id = "verify_audit",
    request_body = AuditRequest,
    responses((status = 200, description = "The verdict.", body = AuditAnswer)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn audit(State(app): State<App>, ask: Ask<AuditRequest>) -> Reply<AuditAnswer> {
    authorize_under(&ask.session.principal, &ScopePrefix::All)?;
    let _alone = app
        .inner
        .audit
        .try_lock()
        .map_err(|_| Error::busy("another audit is under way", AUDIT_RETRY_AFTER_MS))?;
    let report = audit::verify(app.store(), &|_| ()).await?;
    Ok(Json(AuditAnswer {
        ok: report.is_ok(),
        scopes: report.scopes,
        events: report.events,
        rows: report.rows,
        commands: report.commands,
        difference: report.first.map(shown),
    }))
}

pub(super) fn shown(difference: Difference) -> AuditDifference {
    let Difference {
        scope,
        seq,
        family,
        key,
        what,
        invariant,
    } = difference;
    AuditDifference {
        scope,
        seq,
        family,
        key,
        what,
        invariant: invariant.as_str().to_owned(),
    }
}

/// Show what the node is doing.
#[utoipa::path(get, path = "/v1/status", tag = "node", operation_id = "status",
    responses((status = 200, description = "What it does.", body = StatusView)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn status(State(app): State<App>, Caller(session): Caller) -> Reply<StatusView> {
    let store = app.reader().status().await?;
    let node = app.node().metrics();
    let covered = app
        .node()
        .waiting_jobs()
        .into_iter()
        .filter(|waiting| session.principal.prefix.covers(&waiting.job.source));
    let promotions = covered.map(|waiting| JobView {
        source: waiting.job.source,
        verification: waiting.job.verification,
        created_at: waiting.job.created_at,
        attempts: waiting.attempts,
        last_error: waiting.last_error.map(|error| error.to_string()),
        halted: waiting.halted,
    });
    Ok(Json(StatusView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        node: app.inner.name.clone(),
        uptime_ms: app
            .clock()
            .monotonic_ms()
            .saturating_sub(app.inner.started_ms),
        generation: store.generation,
        scopes: store.scopes,
        tasks: store.tasks,
        events: store.events,
        active_scopes: node.active_scopes,
        queued_commands: node.queued_commands,
        batches: node.batches,
        commands: node.commands,
        index_stored: store.index.stored,
        index_pending: store.index.pending,
        space: store.space.0,
        embedder_change: app.node().embedder_change().await.map(Into::into),
        promotions: promotions.collect(),
        maintenance: store.maintenance.and_then(|runs| runs.last).map(Into::into),
        maintenance_under_way: app.node().maintenance_progress().map(Into::into),
        maintenance_due: app
            .node()
            .ports()
            .calendar
            .as_ref()
            .and_then(|calendar| calendar.next(app.clock().now())),
    }))
}

/// Look at all that is published: archive what is old, prune what was of little value, offer what proved
/// itself to its organisation, compact the vector tables of the node, and sign a checkpoint. The answer comes with its end; a
/// run that ended early is gone on with by the next. Only for a token that covers everything.
#[utoipa::path(post, path = "/v1/maintenance", tag = "node", operation_id = "maintain", request_body = Maintain,
    responses((status = 200, description = "What was done.", body = Maintained)),
    extensions(("x-sillok-access" = json!(["everything"]))))]
pub(super) async fn maintain(State(app): State<App>, ask: Ask<Maintain>) -> Reply<Maintained> {
    let principal = &ask.session.principal;
    authorize_under(principal, &ScopePrefix::All)?;
    // It is carried out as the system: only a person may have that done.
    if principal.kind() != PrincipalKind::Human {
        let why = format!(
            "maintenance is a person's to ask for, not that of {}",
            principal.actor
        );
        return Err(Error::forbidden("control/maintain", why).into());
    }
    let dry_run = ask.body.dry_run;
    let asked = ask.body.try_into()?;
    let actor = &ask.session.principal.actor;
    tracing::info!(%actor, ?asked, "maintenance is asked for");
    let done = app.node().maintain(&asked).await?;
    Ok(Json(Maintained::of(dry_run, done)))
}

/// Show the cluster, as this node sees it: nodes, slots, and what is wrong. Only for a token that covers
/// everything.
#[utoipa::path(get, path = "/v1/cluster", tag = "node", operation_id = "cluster", params(ClusterQuery),
    responses((status = 200, description = "What the node sees.", body = ClusterView)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn cluster(
    State(app): State<App>,
    read: Read<ClusterQuery>,
) -> Reply<ClusterView> {
    authorize_under(&read.session.principal, &ScopePrefix::All)?;
    let status = app.node().cluster().await?;
    let orders = match read.query.orders {
        true => Some(app.node().orders().await?),
        false => None,
    };
    Ok(Json(ClusterView::of(status, read.query.slots, orders)))
}

/// End the run of a node that is held for bad, though it may still beat. It begins another one as soon as
/// it finds out; where it does not, others take its slots once it was silent for longer than a lease. Who
/// ended it is kept, and shown with the cluster. Only for a token that covers everything.
#[utoipa::path(post, path = "/v1/cluster/fence", tag = "node", operation_id = "fence_node",
    request_body = FenceNode,
    responses((status = 200, description = "The order; the first one where there were two.", body = FenceView)),
    extensions(("x-sillok-access" = json!(["everything"]))))]
pub(super) async fn fence(State(app): State<App>, ask: Ask<FenceNode>) -> Reply<FenceView> {
    let principal = &ask.session.principal;
    authorize_under(principal, &ScopePrefix::All)?;
    let (node, run) = (&ask.body.node, Incarnation(ask.body.incarnation));
    let order = app.node().fence(node, run, principal.actor.clone()).await?;
    Ok(Json(FenceView::of(node, run, order)))
}

/// Have nothing be written to a scope, and what lies inside it, for a reason, or anything again: without one
/// the quarantine is lifted. What is there is read as before. All orders are kept. Only for a token that
/// covers everything.
#[utoipa::path(post, path = "/v1/cluster/quarantine", tag = "node", operation_id = "quarantine_scope",
    request_body = QuarantineScope,
    responses((status = 200, description = "The order; the first one where there were two.", body = QuarantineView)),
    extensions(("x-sillok-access" = json!(["everything"]))))]
pub(super) async fn quarantine(
    State(app): State<App>,
    ask: Ask<QuarantineScope>,
) -> Reply<QuarantineView> {
    let principal = &ask.session.principal;
    authorize_under(principal, &ScopePrefix::All)?;
    let by = principal.actor.clone();
    let QuarantineScope { scope, reason } = ask.body;
    let scope = Scope::parse(&scope)?;
    let order = app.node().quarantine(scope, reason, by).await?;
    Ok(Json(order.into()))
}

/// Tell that the process lives.
#[utoipa::path(get, path = "/livez", tag = "node", operation_id = "live",
    responses((status = 200, description = "It lives.", body = String, content_type = "text/plain")),
    extensions(("x-sillok-access" = json!(["public"]))))]
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// Tell whether requests are taken: the store answers, the server is not about to stop, and it reaches the
/// other nodes, or none of them does.
#[utoipa::path(get, path = "/readyz", tag = "node", operation_id = "ready",
    responses((status = 200, description = "It is ready.", body = String, content_type = "text/plain")),
    extensions(("x-sillok-access" = json!(["public"]))))]
pub(super) async fn ready(State(app): State<App>) -> Result<&'static str, Refusal> {
    if app.is_stopping() {
        return Err(Error::new(ErrorCode::Unavailable, "the server stops").into());
    }
    if app.node().is_cut_off() {
        let why = "this node does not reach the others, which have its slots";
        return Err(Error::new(ErrorCode::Unavailable, why).into());
    }
    match app.store().begin().await {
        Ok(_) => Ok("ok\n"),
        Err(error) => Err(Error::new(ErrorCode::Unavailable, error.to_string()).into()),
    }
}

/// Show what the server measures, in the text format of OpenMetrics.
#[utoipa::path(get, path = "/metrics", tag = "node", operation_id = "metrics",
    responses((status = 200, description = "The metrics.", body = String,
        content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8")),
    extensions(("x-sillok-access" = json!(["public"]))))]
pub(super) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let index = app.node().ports().index.stats().await.ok();
    let in_flight = app.inner.in_flight.load(Ordering::Relaxed);
    let node = app.node().metrics();
    let text = app.inner.metrics.show(in_flight, &node, index);
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text)
}

/// Show this document.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "node", operation_id = "openapi",
    responses((status = 200, description = "The document.", body = Object)),
    extensions(("x-sillok-access" = json!(["public"]))))]
pub(super) async fn document() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/json")],
        document::text(),
    )
}
