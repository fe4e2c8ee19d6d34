//! Offering skills that proved themselves: the questions that a run puts to organisations.
//!
//! Owns that one which refuses keeps nobody from the rest. Which skills are offered is the plan's.

use sillok_core::command::Command;
use sillok_core::ports::PortError;
use sillok_core::review::Offer;
use sillok_core::secret::mask;
use sillok_store::Store;

use super::held::Held;
use super::{give, plan};
use crate::commit::Shared;
use crate::protocol::Protocol;
use crate::router::Router;
use crate::spaces::{embed_one, takes_others};

/// Texts that the embedder does not answer for though it answers for another one, after which it counts as away: it may
/// keep each waiting for long.
const PASSED_OVER_MAX: usize = 8;

/// Asks organisations about skills: how many were offered, and how many were not. A version is asked about once for good:
/// while the embedder is away nobody is asked, so that a later run asks with the vector that the answer is decided by. The
/// first text that it does not answer for, nor for another one, ends that: nobody else may run meanwhile. A skill whose
/// text alone it does not answer for keeps nobody from the rest, and a few of them nobody for good: each run draws the skill
/// that it begins with. Nobody is asked any more once the lease is the run's no more.
pub(super) async fn put_questions<S: Store, P: Protocol>(
    held: &Held<'_, S, P>,
    router: &Router<S, P>,
    mut offers: Vec<Offer>,
) -> (u64, u64) {
    let shared = held.shared();
    if offers.len() > 1 {
        let mut drawn = [0; 8];
        (shared.ports.rng)().fill(&mut drawn);
        begin_elsewhere(&mut offers, u64::from_be_bytes(drawn));
    }
    let (all, mut offered) = (offers.len() as u64, 0);
    let mut passed_over = 0;
    for offer in offers {
        let offer = match fitted(shared, offer).await {
            Ok(offer) => offer,
            Err(error) => match why_not_others(shared, &error, passed_over).await {
                Some(why) => {
                    tracing::warn!(%error, why, "no more skills are offered to organisations");
                    break;
                }
                None => {
                    let why = "the embedder answers for another text";
                    tracing::warn!(%error, why, "a skill was not offered to its organisation");
                    passed_over += 1;
                    continue;
                }
            },
        };
        let org = plan::organisation(&offer.scope);
        match give(held, router, org, Command::Offer(Box::new(offer)), None).await {
            Ok(_) => offered += 1,
            Err(error) => {
                tracing::warn!(%error, "a skill was not offered to its organisation");
                if held.is_lost() {
                    break;
                }
            }
        }
    }
    (offered, all - offered)
}

/// Has the skill come first that was drawn, and those before it last.
fn begin_elsewhere<T>(offers: &mut [T], drawn: u64) {
    let first = drawn % offers.len() as u64;
    offers.rotate_left(usize::try_from(first).expect("it is one of them"));
}

/// Why no other skill is offered either, after this error and so many that were passed over; none where the embedder
/// answers for another text.
async fn why_not_others<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    error: &PortError,
    passed_over: usize,
) -> Option<&'static str> {
    if !matches!(error, PortError::Unavailable(_)) {
        return Some("the embedder takes no text at all");
    }
    if passed_over == PASSED_OVER_MAX {
        return Some("the embedder did not answer for too many texts");
    }
    let embedder = &*shared.ports.embedder;
    match takes_others(embedder, &embedder.space()).await {
        Ok(()) => None,
        Err(PortError::Unavailable(_)) => Some("the embedder is away"),
        Err(_refused) => Some("the embedder takes no text at all"),
    }
}

/// An offer with the vector of its text; without one where the embedder refuses this very text.
///
/// # Errors
/// What the embedder answered, where it is away or takes no text at all.
async fn fitted<S: Store, P: Protocol>(
    shared: &Shared<S, P>,
    mut offer: Offer,
) -> Result<Offer, PortError> {
    let embedder = &*shared.ports.embedder;
    let masked = mask(&offer.product.content);
    let vector = embed_one(embedder, &embedder.space(), masked.text.as_ref()).await?;
    offer.product.embedding = vector;
    Ok(offer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_skill_may_come_first_and_all_of_them_come() {
        for (drawn, expected) in [(0, [7, 8, 9]), (1, [8, 9, 7]), (u64::MAX, [7, 8, 9])] {
            let mut offers = [7, 8, 9];
            begin_elsewhere(&mut offers, drawn);
            assert_eq!(offers, expected);
        }
    }
}
