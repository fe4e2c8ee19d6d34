//! What is to be known of kinds of relations before one is declared or used, or what it means is erased.
//!
//! Owns which declaration counts: the nearest one, from the scope outward.

use std::collections::BTreeSet;

use super::{Ask, Facts, Need};
use crate::decision::{DeclaredRelation, Relation, RelationName};
use crate::scope::{Level, Scope};
use crate::state::State;

/// What was declared under a name, by the scope or the nearest one around it, and which one that is.
pub(crate) fn nearest_declared<'a>(
    state: &'a State,
    facts: &'a Facts,
    name: RelationName,
) -> Option<(Scope, &'a DeclaredRelation)> {
    declarers(state.scope()).find_map(|scope| {
        let found = declared(state, facts, &scope, name)?;
        Some((scope, found))
    })
}

/// The scopes whose declarations count in `scope`, the nearest first.
pub fn declarers(scope: &Scope) -> impl Iterator<Item = Scope> + use<> {
    let around = scope.with_ancestors().into_iter();
    around.filter(|scope| scope.level() >= Level::Project)
}

/// What a scope has declared, if that is known and it has declared something.
fn declared<'a>(
    state: &'a State,
    facts: &'a Facts,
    scope: &Scope,
    name: RelationName,
) -> Option<&'a DeclaredRelation> {
    if scope == state.scope() {
        return state.declared(name);
    }
    let found = facts.declared.get(&(scope.clone(), name));
    found.and_then(Option::as_ref)
}

impl Ask<'_> {
    /// The declaration under a name that counts: of each scope in which it may stand, unless a nearer one is known.
    pub(super) fn declaration(&mut self, name: RelationName) {
        for scope in declarers(self.scope) {
            if declared(self.state, self.facts, &scope, name).is_some() {
                return;
            }
            let is_known = if scope == *self.scope {
                self.state.knows_declared(name)
            } else {
                let named = (scope.clone(), name);
                self.facts.declared.contains_key(&named)
            };
            if !is_known {
                self.needs.push(Need::DeclaredRelation(scope, name));
            }
        }
    }

    /// What the scope itself has declared under a name.
    pub(super) fn own_declaration(&mut self, name: RelationName) {
        if !self.state.knows_declared(name) {
            let need = Need::DeclaredRelation(self.scope.clone(), name);
            self.needs.push(need);
        }
    }

    /// What was declared of the kinds of relations.
    pub(super) fn kinds<'r>(&mut self, relations: impl Iterator<Item = &'r Relation>) {
        let declared = relations.filter_map(|relation| relation.kind.declared());
        let names: BTreeSet<RelationName> = declared.map(|kind| kind.name).collect();
        for name in names {
            self.declaration(name);
        }
    }
}
