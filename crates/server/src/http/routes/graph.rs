//! The route of queries of graphs.

use axum::Json;
use axum::extract::State;
use sillok_actors::reads::Viewer;
use sillok_core::permission::authorize_read;

use crate::api::{GraphAnswer, GraphRequest};
use crate::http::App;
use crate::http::command::Reply;
use crate::http::extract::Ask;

/// Ask the graph of what is seen from a scope in openCypher: active decisions, what they are related to, what episodes say
/// of causes, and, where it is asked for, the files and symbols of a work tree. Nothing is stored, and the graph is built for the one question.
#[utoipa::path(post, path = "/v1/graph/query", tag = "graph", operation_id = "query_graph", request_body = GraphRequest,
    responses((status = 200, description = "The rows of the answer.", body = GraphAnswer)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn query(State(app): State<App>, ask: Ask<GraphRequest>) -> Reply<GraphAnswer> {
    let question = ask.body.parse()?;
    let principal = &ask.session.principal;
    authorize_read(principal, &question.scope)?;
    let viewer = Viewer {
        scope: question.scope.clone(),
        prefix: principal.prefix.clone(),
    };
    Ok(Json(app.ask_graph(&viewer, question).await?))
}
