//! The loading order in one function: all layers that are lists, in their order, and where the one that is walked to stands between
//! them. Beside it, how much of a brief references may be.
//!
//! Owns nothing else. It must not know what is listed: the same scope and domain always give the same steps.

use super::{BriefBudget, Layer};
use crate::decision::{Domain, Rank};
use crate::limits::BRIEF_STRUCTURAL_PART;
use crate::scope::Scope;

/// What a list of a brief is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lists {
    /// The decisions of one rank that hold, in the order in which their chains began.
    Decisions(Rank),
    /// The anchors that were not dropped, in the order of the events that added them.
    Anchors,
}

/// One list of a brief: that of one domain in one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The layer that its items stand in.
    pub layer: Layer,
    /// What they are.
    pub lists: Lists,
    /// Their domain.
    pub domain: Domain,
    /// Their scope.
    pub scope: Scope,
}

/// The lists that a brief for a scope and a domain is made of, in the order in which they are read. The structural layer
/// is not listed but walked to: it stands behind [`Layer::Policy`] and before [`Layer::GlobalAxis`].
///
/// Within a layer, what holds in every domain stands before what holds in the named one, and within that the wider scope
/// stands before the narrower one. Nothing else has a say: a list that is empty, long or cut moves no other. Anchors stand
/// last, so that what they lead to moves nothing.
#[must_use]
pub fn loading_order(scope: &Scope, domain: &Domain) -> Vec<Step> {
    let global = Domain::global();
    // Who asks for what holds everywhere names no domain beside it: no list is read twice.
    let named = (!domain.is_global()).then_some(domain);
    let decisions = Lists::Decisions;
    let layers = [
        (Layer::Policy, decisions(Rank::Policy), Some(&global)),
        (Layer::GlobalAxis, decisions(Rank::Axis), Some(&global)),
        (Layer::DomainAxis, decisions(Rank::Axis), named),
        (Layer::Lock, decisions(Rank::Lock), Some(&global)),
        (Layer::Lock, decisions(Rank::Lock), named),
        (Layer::Normal, decisions(Rank::Normal), Some(&global)),
        (Layer::Normal, decisions(Rank::Normal), named),
        (Layer::Anchor, Lists::Anchors, Some(&global)),
        (Layer::Anchor, Lists::Anchors, named),
    ];
    let mut scopes = scope.with_ancestors();
    scopes.reverse();

    let mut steps = Vec::with_capacity(layers.len() * scopes.len());
    for (layer, lists, domain) in layers {
        let Some(domain) = domain else { continue };
        for scope in &scopes {
            steps.push(Step {
                layer,
                lists,
                domain: domain.clone(),
                scope: scope.clone(),
            });
        }
    }
    steps
}

/// How many references the structural layer has room for, of those with these bytes, in their order: a part of the items and
/// of the bytes that the layers before it left, and one in any case. References stand before every axis and lock, and
/// whatever depends on the nodes at hand makes more of them: without a bound, enough of them would cut all of these off. So would
/// a part of the whole budget, where policies took most of it. It moves nothing: what is taken is the front of the layer, and
/// behind it the next one follows.
#[must_use]
pub fn structural_max(left: BriefBudget, bytes: impl IntoIterator<Item = usize>) -> usize {
    let items_max = left.items_max / BRIEF_STRUCTURAL_PART;
    let bytes_max = left.bytes_max / BRIEF_STRUCTURAL_PART;
    let mut all = 0_usize;
    let fitting = bytes.into_iter().take(items_max).take_while(|bytes| {
        all = all.saturating_add(*bytes);
        all <= bytes_max
    });
    fitting.count().max(1)
}
