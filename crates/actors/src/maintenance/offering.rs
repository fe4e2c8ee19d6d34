//! Offering skills that proved themselves: the questions that a run puts to organisations.
//!
//! Owns that one which refuses keeps nobody from the rest. Which skills are offered is the plan's.

use std::sync::Arc;

use sillok_core::Error;
use sillok_core::command::Command;
use sillok_core::review::Offer;
use sillok_store::Store;

use super::{give, plan};
use crate::commit::Shared;
use crate::protocol::Protocol;
use crate::router::Router;

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

/// Asks an organisation whether it takes over what proved itself in a project.
async fn put_question<S: Store, P: Protocol>(
    shared: &Arc<Shared<S, P>>,
    router: &Router<S, P>,
    mut offer: Offer,
) -> Result<(), Error> {
    let texts = [offer.product.content.as_str()];
    // Without a vector it is found by its words.
    let embedded = shared.ports.embedder.embed(&texts).await;
    offer.product.embedding = embedded.ok().and_then(|mut vectors| vectors.pop());
    let org = plan::organisation(&offer.scope);
    give(shared, router, org, Command::Offer(Box::new(offer)))
        .await
        .map(drop)
}
