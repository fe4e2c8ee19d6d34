//! Room: how much of what was proposed one promotion takes.
//!
//! Owns what is left out so that the products fit one transaction of the store, and the episode one value of it: what
//! does not would be refused for good. It must not know the store, whose bounds stand behind those of
//! [`crate::limits`].

use super::{CausalEdge, NewEntry};
use crate::citation::Citation;
use crate::entry::{Binding, Episode};
use crate::limits::{ENTRY_BYTES_MAX, EPISODE_DETAIL_BYTES_MAX, PRODUCTS_BYTES_MAX};
use crate::secret::{mask, whole_before};

/// What frames the texts of a product: ids, times, trust, keys.
const FRAME_BYTES: usize = 1 << 10;

/// What is left of the bytes of a promotion.
pub(super) struct Room(usize);

impl Room {
    /// What is left beside products that are taken whatever else is.
    pub(super) fn beside<'a>(taken: impl Iterator<Item = &'a NewEntry>) -> Self {
        Self(PRODUCTS_BYTES_MAX.saturating_sub(taken.map(bytes).sum()))
    }

    /// Takes a product, if there is room for it.
    pub(super) fn takes(&mut self, product: &NewEntry) -> bool {
        let left = self.0.checked_sub(bytes(product));
        if let Some(left) = left {
            self.0 = left;
        }
        left.is_some()
    }
}

/// What a product comes to without its vector, its secrets masked.
pub(super) fn bytes(product: &NewEntry) -> usize {
    let claim = product.claim.as_ref();
    let citations = product.citations.iter().map(Citation::text_bytes);
    let bound = match &product.binding {
        Binding::Bound(bound) => bound.bytes(),
        Binding::NoRepository | Binding::Commit { .. } => 0,
    };
    FRAME_BYTES
        + bound
        + product.content.len()
        + product.detail.text_bytes()
        + product.metadata.as_str().len()
        + claim.map_or(0, |claim| claim.key.len() + claim.value.len())
        + citations.sum::<usize>()
}

/// Cuts a text at a character boundary to what an entry may hold, with room for its neighbours. As it will be stored: its
/// secrets are masked before it is measured, since what stands for a short one is longer.
pub(super) fn clip(text: &str) -> String {
    const SHARE_BYTES: usize = ENTRY_BYTES_MAX / 4;
    let mut text = mask(text).text.into_owned();
    if text.len() > SHARE_BYTES {
        text.truncate(whole_before(&text, SHARE_BYTES));
    }
    text
}

/// What brought about what, as it will be stored.
pub(super) fn masked_edge(edge: &CausalEdge) -> CausalEdge {
    CausalEdge {
        cause: clip(&edge.cause),
        effect: clip(&edge.effect),
        confidence: edge.confidence,
    }
}

/// The episode with as many of its key decisions, and then of its causal edges, as there is room for beside its texts.
/// The first ones are kept.
pub(super) fn with_first_lists(mut episode: Episode) -> Episode {
    let decisions = core::mem::take(&mut episode.key_decisions);
    let edges = core::mem::take(&mut episode.causal_edges);
    let mut left = EPISODE_DETAIL_BYTES_MAX.saturating_sub(episode.text_bytes());
    episode.key_decisions = first(decisions, String::len, &mut left);
    episode.causal_edges = first(edges, CausalEdge::text_bytes, &mut left);
    episode
}

/// The first of some, as far as there is room.
fn first<T>(all: Vec<T>, bytes: impl Fn(&T) -> usize, left: &mut usize) -> Vec<T> {
    let fits = |one: &T| match left.checked_sub(bytes(one)) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    };
    all.into_iter().take_while(fits).collect()
}
