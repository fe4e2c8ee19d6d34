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
    let order = command.clone();
    let done = app
        .carry_out(&write.session, write.id, (scope.clone(), command))
        .await?;
    let now = app.clock().now();
    let (principal, reader) = (&write.session.principal, app.reader());
    let remains = match &order {
        Command::Erase(order) => reader.remains(principal, &scope, order).await,
        Command::EraseMemory(order) => reader.remains_of_memory(principal, &scope, order).await,
        Command::EraseVerifications(order) => {
            let ended = (done.seq, done.command_id);
            reader
                .remains_of_verifications(principal, &scope, order, ended)
                .await
        }
        _ => unreachable!("the request is an order to erase"),
    };
    done.erased(remains.map_err(Refusal::of(write.id))?, now)
}
