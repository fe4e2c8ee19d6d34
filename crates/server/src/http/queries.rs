//! The queries of graphs, the searches behind anchors and the checks of fixes that are under way, with which searches of patterns
//! count: each holds much of what others need as well.
//!
//! Owns how many there may be of each sort, in all and of one organisation, and that a turn is given back.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sillok_core::error::Error;
use sillok_core::scope::Scope;

use super::App;

/// What a caller without a turn is told to wait.
const RETRY_AFTER_MS: u64 = 500;

/// What is under way of one sort.
#[derive(Debug, Default)]
pub(super) struct Queries(Arc<Mutex<UnderWay>>);

#[derive(Debug, Default)]
struct UnderWay {
    all: usize,
    /// Only who has one is in here.
    by_org: BTreeMap<String, usize>,
}

/// The turn of one of them, until this is dropped.
pub(super) struct Turn {
    under_way: Arc<Mutex<UnderWay>>,
    org: String,
}

impl Queries {
    /// A turn for one more in a scope, of which there may be so many in all and so many of one organisation. `what` names
    /// them.
    fn turn(
        &self,
        scope: &Scope,
        (all_max, own_max): (usize, usize),
        what: &str,
    ) -> Result<Turn, Error> {
        let mut under_way = self.0.lock();
        if under_way.all >= all_max {
            let why = format!("too many {what} are under way");
            return Err(Error::busy(why, RETRY_AFTER_MS));
        }
        let own = under_way.by_org.get(scope.org()).copied();
        let own = own.unwrap_or_default();
        if own >= own_max {
            let why = format!("{} has as many {what} under way as it may", scope.org());
            return Err(Error::busy(why, RETRY_AFTER_MS));
        }
        under_way.all += 1;
        under_way.by_org.insert(scope.org().to_owned(), own + 1);
        Ok(Turn {
            under_way: Arc::clone(&self.0),
            org: scope.org().to_owned(),
        })
    }
}

impl App {
    /// A turn for one more query of a graph in a scope.
    ///
    /// # Errors
    /// `busy` when its organisation, or all together, have as many under way as there may be.
    pub(super) fn query_turn(&self, scope: &Scope) -> Result<Turn, Error> {
        let config = &self.inner.config;
        let most = (config.graph_queries_max, config.graph_queries_per_org_max);
        self.inner.queries.turn(scope, most, "queries of graphs")
    }

    /// A turn for one more search behind the anchors of a scope.
    ///
    /// # Errors
    /// `busy` when its organisation, or all together, have as many under way as there may be.
    pub(super) fn search_turn(&self, scope: &Scope) -> Result<Turn, Error> {
        let config = &self.inner.config;
        let most = (
            config.anchor_searches_max,
            config.anchor_searches_per_org_max,
        );
        self.inner
            .searches
            .turn(scope, most, "searches behind anchors")
    }

    /// A turn for one more check of a fix of a task, search of the patterns around a scope, or brief of a task.
    ///
    /// # Errors
    /// `busy` when its organisation, or all together, have as many under way as there may be.
    pub(super) fn check_turn(&self, task: &Scope) -> Result<Turn, Error> {
        let config = &self.inner.config;
        let most = (config.fix_checks_max, config.fix_checks_per_org_max);
        self.inner.checks.turn(
            task,
            most,
            "checks of fixes, searches of patterns and briefs of tasks",
        )
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut under_way = self.under_way.lock();
        under_way.all -= 1;
        let own = under_way.by_org.get_mut(&self.org);
        let own = own.expect("who has a turn is counted");
        *own -= 1;
        if *own == 0 {
            under_way.by_org.remove(&self.org);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_so_many_turns_in_all_and_of_one_organisation_and_each_is_given_back() {
        let queries = Queries::default();
        let turn = |scope: &str| queries.turn(&Scope::parse(scope).unwrap(), (3, 2), "searches");
        let first = turn("org/a").unwrap();
        let _second = turn("org/a/project/b").unwrap();
        let refused = turn("org/a").err().unwrap();
        assert_eq!(
            refused.message,
            "a has as many searches under way as it may"
        );
        let _third = turn("org/b").unwrap();
        let refused = turn("org/c").err().unwrap();
        assert_eq!(refused.message, "too many searches are under way");
        drop(first);
        turn("org/a").unwrap();
    }
}
