//! Fetching declared kinds of relations, of the scope and of those around it.
//!
//! Owns which of these reads are in conflict. Which declaration counts, `core` knows.

use sillok_core::decision::{DeclaredRelation, RelationName};
use sillok_core::scope::Scope;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Txn};

use super::{Fetch, Unfetched, row};
use crate::protocol::Protocol;

impl<T: Txn, P: Protocol> Fetch<'_, T, P> {
    /// What a scope has declared under a name.
    pub(super) async fn declared(
        &mut self,
        scope: Scope,
        name: RelationName,
    ) -> Result<(), Unfetched> {
        if scope == *self.state.scope() {
            let key = keys::declared_relation::key(&self.here, name);
            let found = row(self.txn, key, keys::declared_relation::decode).await?;
            self.state.learn_declared(name, found);
        } else {
            let found = declared_elsewhere(self.txn, &scope, name).await?;
            self.facts.declared.insert((scope, name), found);
        }
        Ok(())
    }
}

/// What another scope has declared under a name.
pub(crate) async fn declared_elsewhere(
    txn: &mut impl Txn,
    scope: &Scope,
    name: RelationName,
) -> Result<Option<DeclaredRelation>, StoreError> {
    // In conflict: no name is declared twice on one path, so that each decision knows one meaning of it.
    let key = keys::declared_relation::key(&ScopeKey::of(scope), name);
    let value = txn.get(&key, Read::Conflict).await?;
    value
        .map(|value| keys::declared_relation::decode(&key, &value))
        .transpose()
}
