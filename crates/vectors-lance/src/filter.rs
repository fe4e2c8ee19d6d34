//! Which entries a request admits.
//!
//! Owns the attributes that are filtered on, and the test. It must not know where rows lie.

use sillok_core::entry::{ClaimHash, Status, Table};
use sillok_core::ports::{ClaimRequest, IndexDoc, NeighbourRequest, SearchRequest};
use sillok_core::scope::Scope;

/// What is filtered on, apart from the scope, and what an entry claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Attributes {
    pub(crate) table: Table,
    pub(crate) status: Status,
    pub(crate) failure: bool,
    pub(crate) confidence: f64,
    pub(crate) claim: Option<ClaimHash>,
}

impl Attributes {
    pub(crate) fn of(doc: &IndexDoc) -> Self {
        Self {
            table: doc.table,
            status: doc.status,
            failure: doc.failure,
            confidence: doc.confidence,
            claim: doc.claim,
        }
    }
}

/// The filters of one request. All must hold.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// Sorted, each once.
    scopes: Vec<Scope>,
    /// A bit for each table's ordinal.
    tables: u32,
    /// A bit for each status.
    statuses: u32,
    failure: bool,
    confidence_min: f64,
}

impl Filter {
    pub(crate) fn of_search(request: &SearchRequest) -> Self {
        let mut scopes = request.scopes.clone();
        scopes.sort_unstable();
        scopes.dedup();
        let tables: &[Table] = if request.tables.is_empty() {
            Table::ALL
        } else {
            &request.tables
        };
        Self {
            scopes,
            tables: tables
                .iter()
                .fold(0, |bits, table| bits | bit_of_table(*table)),
            statuses: request
                .statuses
                .iter()
                .fold(0, |bits, status| bits | bit_of_status(*status)),
            failure: request.failures,
            confidence_min: request.confidence_min,
        }
    }

    pub(crate) fn of_neighbours(request: &NeighbourRequest) -> Self {
        Self {
            scopes: vec![request.scope.clone()],
            tables: bit_of_table(request.table),
            statuses: live(),
            failure: request.failure,
            confidence_min: f64::NEG_INFINITY,
        }
    }

    /// Entries of any table: of those that claim something.
    pub(crate) fn of_claimants(request: &ClaimRequest) -> Self {
        let tables = Table::ALL.iter();
        Self {
            scopes: vec![request.scope.clone()],
            tables: tables.fold(0, |bits, table| bits | bit_of_table(*table)),
            statuses: live(),
            failure: request.failure,
            confidence_min: f64::NEG_INFINITY,
        }
    }

    /// The scopes, sorted, each once.
    pub(crate) fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// Whether an entry of one of the scopes is admitted.
    pub(crate) fn admits(&self, attributes: &Attributes) -> bool {
        self.admits_kind(attributes.table, attributes.status, attributes.failure)
            && self.admits_confidence(attributes.confidence)
    }

    /// Whether an entry with these is admitted if its confidence is enough.
    pub(crate) fn admits_kind(&self, table: Table, status: Status, failure: bool) -> bool {
        self.admits_table(table)
            && self.statuses & bit_of_status(status) != 0
            && self.failure == failure
    }

    /// Whether a confidence is enough.
    pub(crate) fn admits_confidence(&self, confidence: f64) -> bool {
        confidence >= self.confidence_min
    }

    /// Whether entries of `table` can be admitted.
    pub(crate) fn admits_table(&self, table: Table) -> bool {
        self.tables & bit_of_table(table) != 0
    }
}

/// A bit for each status that is live.
fn live() -> u32 {
    let all = [
        Status::Hypothesis,
        Status::Verified,
        Status::Published,
        Status::Deprecated,
        Status::Archived,
    ];
    all.into_iter()
        .filter(|status| status.is_live())
        .fold(0, |bits, status| bits | bit_of_status(status))
}

const fn bit_of_table(table: Table) -> u32 {
    1 << table.ordinal()
}

const fn bit_of_status(status: Status) -> u32 {
    1 << status as u32
}
