//! The route of erasures.

use axum::extract::State;
use sillok_core::command::Command;

use crate::api::{ContentErased, EraseContent};
use crate::http::command::Reply;
use crate::http::extract::Write;
use crate::http::{App, Refusal};

/// Destroy content for good. The receipt names what may still say it.
#[utoipa::path(post, path = "/v1/erase", tag = "staging", operation_id = "erase_content",
    request_body = EraseContent,
    responses((status = 200, description = "It is erased.", body = ContentErased)),
    extensions(("x-sillok-access" = json!(["control/erase"]))))]
pub(super) async fn erase(
    State(app): State<App>,
    write: Write<EraseContent>,
) -> Reply<ContentErased> {
    let (scope, command) = write.body.into_command().map_err(Refusal::of(write.id))?;
    let Command::Erase(order) = &command else {
        unreachable!("the request is an order to erase")
    };
    let order = order.clone();
    let done = app
        .carry_out(&write.session, write.id, (scope.clone(), command))
        .await?;
    let now = app.clock().now();
    let principal = &write.session.principal;
    let remains = app.reader().remains(principal, &scope, &order).await;
    done.erased(remains.map_err(Refusal::of(write.id))?, now)
}
