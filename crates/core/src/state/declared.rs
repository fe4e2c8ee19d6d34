//! What declaring a kind of relation does to the view of a scope.
//!
//! Owns the part of `apply` that makes declarations. Nothing here touches the decisions that use one.

use std::sync::Arc;

use super::{Change, Stamped, State};
use crate::decision::{DeclaredRelation, Reach, RelationName};

impl State {
    /// What the scope itself has declared under a name, if that is known and it has.
    #[must_use]
    pub fn declared(&self, name: RelationName) -> Option<&DeclaredRelation> {
        self.declared.get(&name)?.as_deref()
    }

    /// Whether it is known if the scope itself has declared something under a name.
    #[must_use]
    pub fn knows_declared(&self, name: RelationName) -> bool {
        self.declared.contains_key(&name)
    }

    /// Takes in what the scope itself has declared under a name.
    pub fn learn_declared(&mut self, name: RelationName, declared: Option<DeclaredRelation>) {
        self.declared
            .entry(name)
            .or_insert_with(|| declared.map(Arc::new));
    }

    pub(super) fn relation_declared(
        &mut self,
        (name, reach): (RelationName, Reach),
        meaning: &str,
        at: &Stamped,
    ) -> Vec<Change> {
        let declared = DeclaredRelation {
            name,
            reach,
            meaning: meaning.to_owned(),
            by: at.actor.clone(),
            at: at.time,
            seq: at.seq,
        };
        let row = Box::new(declared.clone());
        self.declared.insert(name, Some(Arc::new(declared)));
        vec![Change::RelationDeclared(row)]
    }
}

#[cfg(test)]
mod tests;
