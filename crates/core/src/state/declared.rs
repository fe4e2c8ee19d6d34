//! What declaring a kind of relation, and erasing what it means, does to the view of a scope.
//!
//! Owns the part of `apply` that makes declarations, and takes their meanings out. Nothing here touches the decisions that use one.

use std::sync::Arc;

use super::{Change, Stamped, State};
use crate::decision::{DeclaredRelation, Reach, RelationName};
use crate::id::Seq;

/// What is known of a kind of relation that the scope has declared.
#[derive(Clone, Debug)]
pub(super) struct KnownKind {
    /// As it stands. In the place of an event whose content is gone its rest is applied, so that the meaning may be missing
    /// before the event is applied that erased it.
    row: Arc<DeclaredRelation>,
    /// Whether what it means was erased.
    erased: bool,
}

impl State {
    /// What the scope itself has declared under a name, if that is known and it has.
    #[must_use]
    pub fn declared(&self, name: RelationName) -> Option<&DeclaredRelation> {
        self.kind(name).map(|known| &*known.row)
    }

    /// Whether it is known if the scope itself has declared something under a name.
    #[must_use]
    pub fn knows_declared(&self, name: RelationName) -> bool {
        self.declared.contains_key(&name)
    }

    /// Takes in what the scope itself has declared under a name.
    pub fn learn_declared(&mut self, name: RelationName, declared: Option<DeclaredRelation>) {
        let known = |row: DeclaredRelation| KnownKind {
            erased: row.is_erased(),
            row: Arc::new(row),
        };
        self.declared
            .entry(name)
            .or_insert_with(|| declared.map(known));
    }

    /// The event that declared a name here, unless what it means was erased.
    pub(crate) fn declared_by(&self, name: RelationName) -> Option<Seq> {
        let known = self.kind(name).filter(|known| !known.erased);
        known.map(|known| known.row.seq)
    }

    pub(super) fn relation_declared(
        &mut self,
        (name, reach): (RelationName, Reach),
        meaning: &str,
        at: &Stamped,
    ) -> Vec<Change> {
        // Also what is left of one: it is gone from the event on that erased it.
        let declared = DeclaredRelation {
            name,
            reach,
            meaning: meaning.to_owned(),
            by: at.actor.clone(),
            at: at.time,
            seq: at.seq,
        };
        vec![self.set_kind(declared, false)]
    }

    /// A kind whose name and reach stay as they were declared.
    pub(super) fn meaning_erased(&mut self, name: RelationName) -> Change {
        let known = self.declared(name).map(DeclaredRelation::rest);
        let rest = known.expect("an event names kinds that the state knows");
        self.set_kind(rest, true)
    }

    fn kind(&self, name: RelationName) -> Option<&KnownKind> {
        self.declared.get(&name)?.as_ref()
    }

    fn set_kind(&mut self, declared: DeclaredRelation, erased: bool) -> Change {
        let known = KnownKind {
            row: Arc::new(declared.clone()),
            erased,
        };
        self.declared.insert(declared.name, Some(known));
        Change::RelationDeclared(Box::new(declared))
    }
}

#[cfg(test)]
mod tests;
