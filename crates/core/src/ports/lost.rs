//! What an index lost whose files cannot be read any more.
//!
//! Owns which questions that concerns. It must not know files, nor how what is lost is made anew.

use std::collections::BTreeSet;

use super::{ClaimRequest, NeighbourRequest, SearchRequest, vector_table};
use crate::entry::Kind;

/// A table of vectors: there is one for each organisation and kind.
pub type VectorTable = (String, Kind);

/// Tables of an index that are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lost {
    /// These.
    Tables(BTreeSet<VectorTable>),
    /// All that there are.
    All,
}

impl Default for Lost {
    /// Nothing is lost.
    fn default() -> Self {
        Self::Tables(BTreeSet::new())
    }
}

impl Lost {
    /// One table.
    #[must_use]
    pub fn table(table: VectorTable) -> Self {
        Self::Tables(BTreeSet::from([table]))
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Tables(tables) if tables.is_empty())
    }

    /// Whether a table is.
    #[must_use]
    pub fn has(&self, table: &VectorTable) -> bool {
        match self {
            Self::Tables(tables) => tables.contains(table),
            Self::All => true,
        }
    }

    /// Whether all is that `other` has.
    #[must_use]
    pub fn has_all_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Tables(_), Self::All) => false,
            (Self::Tables(tables), Self::Tables(others)) => others.is_subset(tables),
        }
    }

    /// Adds what else is lost.
    pub fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::All, _) => {}
            (Self::Tables(tables), Self::Tables(others)) => tables.extend(others.iter().cloned()),
            (all, Self::All) => *all = Self::All,
        }
    }

    /// Whether a search may find less by it.
    #[must_use]
    pub fn concerns(&self, request: &SearchRequest) -> bool {
        let is_asked = |(org, kind): &VectorTable| {
            let of_kind = request.tables.iter().any(|table| table.kind() == *kind);
            let is_of_kind = request.tables.is_empty() || of_kind;
            is_of_kind && request.scopes.iter().any(|scope| scope.org() == org)
        };
        match self {
            Self::Tables(tables) => tables.iter().any(is_asked),
            Self::All => true,
        }
    }

    /// Whether a search for neighbours may find less by it.
    #[must_use]
    pub fn concerns_neighbours(&self, request: &NeighbourRequest) -> bool {
        self.has(&vector_table(&request.scope, request.table))
    }

    /// Whether a search by a claim may find less by it: entries of any table may declare a key.
    #[must_use]
    pub fn concerns_claimants(&self, request: &ClaimRequest) -> bool {
        match self {
            Self::Tables(tables) => tables.iter().any(|(org, _)| org == request.scope.org()),
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Claim, ClaimHash, Embedding, SpaceId, Table};
    use crate::scope::Scope;

    fn of(org: &str, table: Table) -> Lost {
        Lost::table((org.to_owned(), table.kind()))
    }

    fn search(scopes: &[&str], tables: &[Table]) -> SearchRequest {
        SearchRequest {
            scopes: scopes
                .iter()
                .map(|scope| Scope::parse(scope).unwrap())
                .collect(),
            tables: tables.to_vec(),
            statuses: Vec::new(),
            failures: false,
            confidence_min: 0.0,
            text: "words".into(),
            embedding: None,
            limit: 1,
        }
    }

    #[test]
    fn a_question_is_concerned_by_the_tables_that_it_asks() {
        let lost = of("acme", Table::Observations);
        let scopes = ["org/acme/project/api", "org/acme"];
        assert!(lost.concerns(&search(&scopes, &[])));
        assert!(lost.concerns(&search(&scopes, &[Table::Skills, Table::Observations])));
        assert!(!lost.concerns(&search(&scopes, &[Table::Skills])));
        assert!(!lost.concerns(&search(&["org/other"], &[])));
        assert!(Lost::All.concerns(&search(&["org/other"], &[Table::Skills])));
        assert!(!Lost::default().concerns(&search(&scopes, &[])));
    }

    #[test]
    fn neighbours_are_concerned_by_their_own_table() {
        let request = |org: &str, table| NeighbourRequest {
            scope: Scope::parse(&format!("org/{org}")).unwrap(),
            table,
            failure: false,
            embedding: Embedding {
                space: SpaceId("s".into()),
                values: vec![1.0],
            },
            cosine_min: 0.5,
            limit: 1,
        };
        let lost = of("acme", Table::Observations);
        assert!(lost.concerns_neighbours(&request("acme", Table::Observations)));
        assert!(!lost.concerns_neighbours(&request("acme", Table::Skills)));
        assert!(!lost.concerns_neighbours(&request("other", Table::Observations)));
        assert!(Lost::All.concerns_neighbours(&request("other", Table::Skills)));
    }

    #[test]
    fn claims_are_concerned_by_any_table_of_their_organisation() {
        let request = |org: &str| {
            let scope = Scope::parse(&format!("org/{org}/project/api")).unwrap();
            let claim = Claim {
                key: "http.port".into(),
                value: "80".into(),
            };
            ClaimRequest {
                claim: ClaimHash::of(&claim, &scope),
                scope,
                failure: false,
                limit: 1,
            }
        };
        let lost = of("acme", Table::Skills);
        assert!(lost.concerns_claimants(&request("acme")));
        assert!(!lost.concerns_claimants(&request("other")));
        assert!(Lost::All.concerns_claimants(&request("other")));
        assert!(!Lost::default().concerns_claimants(&request("acme")));
    }

    #[test]
    fn what_is_lost_adds_up() {
        let (one, other) = (of("a", Table::Skills), of("b", Table::Skills));
        let mut lost = Lost::default();
        assert!(lost.is_nothing() && lost.has_all_of(&Lost::default()));
        lost.add(&one);
        assert!(!lost.is_nothing() && lost.has_all_of(&one) && !lost.has_all_of(&other));
        lost.add(&other);
        assert!(lost.has_all_of(&one) && lost.has_all_of(&other) && !lost.has_all_of(&Lost::All));
        lost.add(&Lost::All);
        lost.add(&one);
        assert_eq!(lost, Lost::All);
        assert!(lost.has_all_of(&Lost::All));
    }
}
