//! The queries of graphs that are under way: each holds a thread, a graph and what it works out.
//!
//! Owns how many there may be, in all and of one organisation, and that a turn is given back.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use sillok_core::error::Error;
use sillok_core::scope::Scope;

use super::App;

/// What a caller without a turn is told to wait.
const RETRY_AFTER_MS: u64 = 500;

/// The queries that are under way.
#[derive(Debug, Default)]
pub(super) struct Queries(Mutex<UnderWay>);

#[derive(Debug, Default)]
struct UnderWay {
    all: usize,
    /// Only who has one is in here.
    by_org: BTreeMap<String, usize>,
}

/// The turn of one query, until this is dropped.
pub(super) struct Turn {
    app: App,
    org: String,
}

impl App {
    /// A turn for one more query in a scope.
    ///
    /// # Errors
    /// `busy` when its organisation, or all together, have as many under way as there may be.
    pub(super) fn query_turn(&self, scope: &Scope) -> Result<Turn, Error> {
        let config = &self.inner.config;
        let mut under_way = self.inner.queries.0.lock();
        if under_way.all >= config.graph_queries_max {
            let why = "too many queries of graphs are under way";
            return Err(Error::busy(why, RETRY_AFTER_MS));
        }
        let own = under_way.by_org.get(scope.org()).copied();
        let own = own.unwrap_or_default();
        if own >= config.graph_queries_per_org_max {
            let why = format!("{} has as many queries under way as it may", scope.org());
            return Err(Error::busy(why, RETRY_AFTER_MS));
        }
        under_way.all += 1;
        under_way.by_org.insert(scope.org().to_owned(), own + 1);
        Ok(Turn {
            app: self.clone(),
            org: scope.org().to_owned(),
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut under_way = self.app.inner.queries.0.lock();
        under_way.all -= 1;
        let own = under_way.by_org.get_mut(&self.org);
        let own = own.expect("who has a turn is counted");
        *own -= 1;
        if *own == 0 {
            under_way.by_org.remove(&self.org);
        }
    }
}
