//! Offering skills that proved themselves: the questions that a run puts to organisations.
//!
//! Owns that one which refuses keeps nobody from the rest. Which skills are offered is the plan's.

use std::sync::Arc;

use sillok_core::Error;
use sillok_core::command::Command;
use sillok_core::review::Offer;
use sillok_core::secret::mask;
use sillok_store::Store;

use super::{give, plan};
use crate::commit::Shared;
use crate::errors::engine_refusal;
use crate::protocol::Protocol;
use crate::router::Router;
use crate::spaces::embed_one;

/// Asks organisations about skills: how many were offered, and how many were not.
pub(super) async fn put_questions<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    offers: Vec<Offer>,
) -> (u64, u64) {
    let (mut offered, mut not_offered) = (0, 0);
    for offer in offers {
        match put_question(shared, router, offer).await {
            Ok(()) => offered += 1,
            Err(error) => {
                tracing::warn!(%error, "a skill was not offered to its organisation");
                not_offered += 1;
            }
        }
    }
    (offered, not_offered)
}

/// Asks an organisation whether it takes over what proved itself in a project. A version is asked about once for good: while
/// the embedder is away nobody is asked, so that a later run asks with the vector that the answer is decided by.
///
/// # Errors
/// What the embedder answered, where it takes no text at all, and what the organisation did.
async fn put_question<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    mut offer: Offer,
) -> Result<(), Error> {
    let embedder = &*shared.ports.embedder;
    let masked = mask(&offer.product.content);
    let vector = embed_one(embedder, &embedder.space(), masked.text.as_ref()).await;
    offer.product.embedding = vector.map_err(|error| engine_refusal(&error))?;
    let org = plan::organisation(&offer.scope);
    give(shared, router, org, Command::Offer(Box::new(offer)))
        .await
        .map(drop)
}
