//! Signing: a run ends with a checkpoint of all chains of events, where one is to be kept.
//!
//! Owns when one is made, and that what stands in its way stops nothing else. What it says is core's; how it is
//! signed and kept, the port's.

use sillok_core::{Error, ErrorCode};
use sillok_store::Store;

use super::{Maintain, Part};
use crate::audit::checkpoint::chain_ends;
use crate::commit::Shared;
use crate::errors::engine_refusal;
use crate::protocol::Protocol;

/// Signs the ends of all chains, or says in a dry run where that would go: the file, if somebody keeps checkpoints.
///
/// # Errors
/// What the store or the place of checkpoints answered; that there is none, to whoever asks for that part; the `doubt`
/// whether the lease is still the run's, where something is to be signed.
pub(super) async fn checkpoint<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    asked: &Maintain,
    doubt: Option<Error>,
) -> Result<Option<String>, Error> {
    if !asked.parts.contains(&Part::Sign) {
        return Ok(None);
    }
    let Some(checkpoints) = &shared.ports.checkpoints else {
        return match asked.has_all_parts() {
            true => Ok(None),
            false => Err(nowhere()),
        };
    };
    let now = shared.ports.clock.now();
    if asked.dry_run {
        return Ok(Some(checkpoints.file(now)));
    }
    if let Some(doubt) = doubt {
        return Err(doubt);
    }
    let ends = chain_ends(&shared.store).await?;
    let kept = checkpoints.keep(now, shared.store.generation(), ends).await;
    kept.map(Some).map_err(|error| engine_refusal(&error))
}

fn nowhere() -> Error {
    let why = "no directory for checkpoints is configured: see maintenance.checkpoints";
    Error::new(ErrorCode::InvalidArgument, why)
}
