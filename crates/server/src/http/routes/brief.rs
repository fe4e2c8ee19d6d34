//! The route of briefs.

use axum::Json;
use axum::extract::State;
use sillok_actors::reads::{BriefQuery, Viewer};
use sillok_core::permission::authorize_read;
use sillok_core::scope::Level;

use crate::api::{Brief, BriefAsked, BriefRequest};
use crate::http::App;
use crate::http::command::Reply;
use crate::http::extract::Ask;

/// Load what was decided for whoever works in a scope: there and above it, in the order of loading. The same state gives the
/// same answer.
#[utoipa::path(post, path = "/v1/brief", tag = "decisions", operation_id = "brief", request_body = BriefRequest,
    responses((status = 200, description = "The brief.", body = Brief)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn brief(State(app): State<App>, ask: Ask<BriefRequest>) -> Reply<Brief> {
    let BriefAsked {
        scope,
        domain,
        at,
        about,
        budget,
    } = ask.body.parse()?;
    let principal = &ask.session.principal;
    authorize_read(principal, &scope)?;
    let viewer = Viewer {
        scope,
        prefix: principal.prefix.clone(),
    };
    let query = BriefQuery {
        domain: domain.clone(),
        at,
        about,
        budget,
    };
    // What a task is warned of holds as much as a check of a fix does.
    let warns = viewer.scope.level() == Level::Task;
    let _turn = warns.then(|| app.check_turn(&viewer.scope)).transpose()?;
    let found = app.node().brief_of_standing(&viewer, query).await?;
    Ok(Json(Brief::of(viewer.scope, domain, found)))
}
