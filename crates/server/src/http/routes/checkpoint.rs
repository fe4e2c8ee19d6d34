//! Routes of checkpoints: making one, and holding the store against one.

use axum::Json;
use axum::extract::State;
use sillok_actors::audit::checkpoint::{against, chain_ends};
use sillok_core::Error;
use sillok_core::checkpoint::Checkpoint;
use sillok_core::limits::CHAIN_ENDS_MAX;
use sillok_core::scope::ScopePrefix;
use sillok_store::Store as _;

use super::authorize_under;
use super::node::shown;
use crate::api::{ChainsCompared, CheckpointView, CompareChains};
use crate::http::App;
use crate::http::command::Reply;
use crate::http::extract::{Ask, Caller};

/// Sign the ends of all chains of events, to be kept where the store is not. Only for a token that covers everything.
#[utoipa::path(get, path = "/v1/checkpoint", tag = "node", operation_id = "checkpoint",
    responses((status = 200, description = "The checkpoint.", body = CheckpointView)),
    extensions(("x-sillok-access" = json!(["everything"]))))]
pub(super) async fn make(State(app): State<App>, Caller(session): Caller) -> Reply<CheckpointView> {
    authorize_under(&session.principal, &ScopePrefix::All)?;
    let ends = chain_ends(app.store()).await?;
    let (now, generation) = (app.clock().now(), app.store().generation());
    let key = app.inner.key.checkpoint_key();
    let checkpoint = Checkpoint::sign(now, generation, ends, &key);
    Ok(Json(CheckpointView {
        text: checkpoint.to_text(),
        key: hex::encode(checkpoint.key),
        scopes: checkpoint.ends.len() as u64,
    }))
}

/// Ask whether the ends that a checkpoint has are in their chains. Together with an audit that passes, it proves that
/// nothing before them was changed or cut off. Only for a token that covers everything.
#[utoipa::path(post, path = "/v1/checkpoint/compare", tag = "node", operation_id = "compare_chains",
    request_body = CompareChains,
    responses((status = 200, description = "Whether they are.", body = ChainsCompared)),
    extensions(("x-sillok-access" = json!(["everything"]))))]
pub(super) async fn compare(
    State(app): State<App>,
    ask: Ask<CompareChains>,
) -> Reply<ChainsCompared> {
    authorize_under(&ask.session.principal, &ScopePrefix::All)?;
    let given = ask.body.ends.len();
    if given > CHAIN_ENDS_MAX {
        return Err(Error::too_large("chains", CHAIN_ENDS_MAX as u64, given as u64).into());
    }
    let ends = ask.body.ends.into_iter().map(TryInto::try_into);
    let ends = ends.collect::<Result<Vec<_>, Error>>()?;
    let difference = against(app.store(), &ends).await?;
    Ok(Json(ChainsCompared {
        ok: difference.is_none(),
        difference: difference.map(shown),
    }))
}
