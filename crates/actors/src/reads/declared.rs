//! Reading declared kinds of relations: which count in a scope, and what one of them is.
//!
//! Owns that what is nearer counts. Who may declare one, and where it may be used, is the rules'.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::Error;
use sillok_core::decision::{DeclaredRelation, Reach, RelationName};
use sillok_core::facts::declarers;
use sillok_core::limits::PAGE_BYTES_MAX;
use sillok_core::scope::Scope;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Store, Txn};

use super::{Page, Reader, page_rows};
use crate::errors::refusal;
use crate::row_stream::RowStream;
use crate::rows;

/// A kind of relation as it counts somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredView {
    /// The scope that declared it.
    pub scope: Scope,
    /// What it declared.
    pub declared: DeclaredRelation,
}

impl<S: Store> Reader<S> {
    /// Which way each of these kinds carries a change in a scope, without those that neither the scope nor one around it has
    /// declared. Once a name counts somewhere, what it means there never changes.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn declared_reaches(
        &self,
        scope: &Scope,
        names: BTreeSet<RelationName>,
    ) -> Result<BTreeMap<RelationName, Reach>, Error> {
        let mut txn = self.snapshot().await?;
        let mut found = BTreeMap::new();
        for name in names {
            let nearest = nearest(&mut txn, scope, name).await;
            let nearest = nearest.map_err(|error| refusal(&error))?;
            found.extend(nearest.map(|declared| (name, declared.reach)));
        }
        Ok(found)
    }

    /// The kinds that count in a scope, behind `after`, in the order of their names. A page may hold less than asked for and
    /// still not be the last.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` for the limit, and what the store answers.
    pub async fn declared_relations(
        &self,
        scope: &Scope,
        after: Option<RelationName>,
        limit: usize,
    ) -> Result<Page<DeclaredView, RelationName>, Error> {
        let rows_max = page_rows(limit)?;
        let mut txn = self.snapshot().await?;
        let page = page(&mut txn, scope, after, rows_max).await;
        page.map_err(|error| refusal(&error))
    }
}

/// What counts in a scope under a name.
async fn nearest(
    txn: &mut impl Txn,
    scope: &Scope,
    name: RelationName,
) -> Result<Option<DeclaredRelation>, StoreError> {
    for declarer in declarers(scope) {
        let key = keys::declared_relation::key(&ScopeKey::of(&declarer), name);
        let found = rows::read(txn, &key, keys::declared_relation::decode).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// What one scope has declared, in the order of the names.
struct Declarer {
    scope: Scope,
    rows: RowStream,
    next: Option<DeclaredRelation>,
    /// Bytes of the next row.
    bytes: usize,
}

impl Declarer {
    async fn advance(&mut self, txn: &mut impl Txn) -> Result<(), StoreError> {
        self.next = match self.rows.next(txn).await? {
            Some((key, value)) => {
                self.bytes = value.len();
                Some(keys::declared_relation::decode(&key, &value)?)
            }
            None => None,
        };
        Ok(())
    }
}

async fn page(
    txn: &mut impl Txn,
    scope: &Scope,
    after: Option<RelationName>,
    rows_max: usize,
) -> Result<Page<DeclaredView, RelationName>, StoreError> {
    let mut around: Vec<Declarer> = Vec::new();
    for scope in declarers(scope) {
        let range = keys::declared_relation::range_after(&ScopeKey::of(&scope), after);
        let mut declarer = Declarer {
            scope,
            rows: RowStream::new(range),
            next: None,
            bytes: 0,
        };
        declarer.advance(txn).await?;
        around.push(declarer);
    }
    let (mut items, mut bytes) = (Vec::new(), 0);
    while let Some(name) = first(&around) {
        if items.len() == rows_max || bytes >= PAGE_BYTES_MAX {
            let next = items.last().map(|one: &DeclaredView| one.declared.name);
            return Ok(Page { items, next });
        }
        let mut is_told = false;
        // The nearest one comes first.
        for declarer in &mut around {
            if declarer.next.as_ref().is_none_or(|one| one.name != name) {
                continue;
            }
            bytes += declarer.bytes;
            if let Some(declared) = declarer.next.take().filter(|_| !is_told) {
                is_told = true;
                items.push(DeclaredView {
                    scope: declarer.scope.clone(),
                    declared,
                });
            }
            declarer.advance(txn).await?;
        }
    }
    Ok(Page { items, next: None })
}

/// The first name that any of them has next.
fn first(around: &[Declarer]) -> Option<RelationName> {
    let names = around.iter().filter_map(|one| one.next.as_ref());
    names.map(|one| one.name).min()
}
