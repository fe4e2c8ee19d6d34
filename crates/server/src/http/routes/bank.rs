//! Routes of the reasoning bank: how agents went about tasks, and what became of their approaches.

use axum::Json;
use axum::extract::State;
use sillok_core::command::AnswerBody;
use sillok_core::id::RecordId;
use sillok_core::permission::authorize_read;

use crate::api::{PatternsFound, PatternsQuery, StoreTrajectory, TrajectoryStored};
use crate::http::command::{Receipt, Reply};
use crate::http::extract::{Read, Write};
use crate::http::{App, Refusal};

/// Store how an agent went about a task, with its reward, once the task was verified or closed.
#[utoipa::path(post, path = "/v1/trajectories", tag = "bank", operation_id = "store_trajectory",
    request_body = StoreTrajectory,
    responses((status = 200, description = "The trajectory is stored.", body = TrajectoryStored)),
    extensions(("x-sillok-access" = json!(["control/store_trajectory"]))))]
pub(super) async fn store(
    State(app): State<App>,
    write: Write<StoreTrajectory>,
) -> Reply<TrajectoryStored> {
    let command = write.body.into_command().map_err(Refusal::of(write.id))?;
    stored(app.carry_out(&write.session, write.id, command).await?)
}

/// Search the patterns of a project: approaches to sorts of tasks, with how often they did what was asked.
#[utoipa::path(get, path = "/v1/patterns/search", tag = "bank", operation_id = "search_patterns",
    params(PatternsQuery),
    responses((status = 200, description = "The patterns, the best first.", body = PatternsFound)),
    extensions(("x-sillok-access" = json!(["read"]))))]
pub(super) async fn search(
    State(app): State<App>,
    read: Read<PatternsQuery>,
) -> Reply<PatternsFound> {
    let (scope, query) = read.query.parse()?;
    authorize_read(&read.session.principal, &scope)?;
    // It holds as much as a check of a fix does.
    let _turn = app.check_turn(&scope)?;
    let found = app.node().search_patterns(&scope, &query).await?;
    Ok(Json(found.into()))
}

fn stored(done: Receipt) -> Reply<TrajectoryStored> {
    let AnswerBody::TrajectoryStored { seq } = done.result else {
        return done.unfit();
    };
    let Receipt {
        scope,
        command_id,
        seq: last,
        time,
        ..
    } = done;
    Ok(Json(TrajectoryStored {
        trajectory: RecordId { scope, seq },
        seq: last,
        time,
        command_id,
    }))
}
