//! The route of impact.

use axum::Json;
use axum::extract::State;
use sillok_actors::reads::Viewer;
use sillok_core::limits::IMPACT_MS_MAX;
use sillok_core::permission::authorize_read;

use crate::api::{Impact, ImpactRequest};
use crate::http::App;
use crate::http::command::Reply;
use crate::http::extract::Ask;

/// Say what a change affects, over declared relations alone, with the path that leads to each node.
#[utoipa::path(post, path = "/v1/impact", tag = "decisions", operation_id = "impact", request_body = ImpactRequest,
    responses((status = 200, description = "What it affects, the nearest first.", body = Impact)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn impact(State(app): State<App>, ask: Ask<ImpactRequest>) -> Reply<Impact> {
    let (scope, start, limits) = ask.body.into_parts()?;
    let principal = &ask.session.principal;
    authorize_read(principal, &scope)?;
    let viewer = Viewer {
        scope,
        prefix: principal.prefix.clone(),
    };
    let found = app
        .node()
        .impact_of_standing(&viewer, start, limits, Some(IMPACT_MS_MAX))
        .await?;
    Ok(Json(found.into()))
}
