//! The loading order, whole, in one function.
//!
//! Owns nothing else. It must not know what is listed: the same scope and domain always give the same steps.

use super::Layer;
use crate::decision::{Domain, Rank};
use crate::scope::Scope;

/// One list of a brief: the decisions of one rank and domain that hold in one scope, in the order in which their chains
/// began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The layer that its decisions stand in.
    pub layer: Layer,
    /// Their rank.
    pub rank: Rank,
    /// Their domain.
    pub domain: Domain,
    /// Their scope.
    pub scope: Scope,
}

/// The lists that a brief for a scope and a domain is made of, in the order in which they are read. The structural layer
/// is not listed but walked to: it stands behind [`Layer::Policy`] and before [`Layer::GlobalAxis`].
///
/// Within a layer, what holds in every domain stands before what holds in the named one, and within that the wider scope
/// stands before the narrower one. Nothing else has a say: a list that is empty, long or cut moves no other.
#[must_use]
pub fn loading_order(scope: &Scope, domain: &Domain) -> Vec<Step> {
    let global = Domain::global();
    // Who asks for what holds everywhere names no domain beside it: no list is read twice.
    let named = (!domain.is_global()).then_some(domain);
    let layers = [
        (Layer::Policy, Rank::Policy, Some(&global)),
        (Layer::GlobalAxis, Rank::Axis, Some(&global)),
        (Layer::DomainAxis, Rank::Axis, named),
        (Layer::Lock, Rank::Lock, Some(&global)),
        (Layer::Lock, Rank::Lock, named),
        (Layer::Normal, Rank::Normal, Some(&global)),
        (Layer::Normal, Rank::Normal, named),
    ];
    let mut scopes = scope.with_ancestors();
    scopes.reverse();

    let mut steps = Vec::with_capacity(layers.len() * scopes.len());
    for (layer, rank, domain) in layers {
        let Some(domain) = domain else { continue };
        for scope in &scopes {
            steps.push(Step {
                layer,
                rank,
                domain: domain.clone(),
                scope: scope.clone(),
            });
        }
    }
    steps
}
