//! Admission: what may wait, fairly between organisations and scopes, and within quotas. The mailboxes
//! behind it have no bound.
//!
//! Owns the counts. A scope is turned away at its own bound, and an organisation or a scope at its fair
//! share of the node once the node is half full, so that a busy one cannot starve the others. How a quota
//! is metered is core's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use sillok_core::Error;
use sillok_core::command::Submission;
use sillok_core::principal::PrincipalKind;
use sillok_core::quota::{Meter, QuotasConfig};
use sillok_core::retention::pace::Writers;
use sillok_core::scope::Scope;

use crate::config::AdmissionConfig;

/// Organisations that are remembered before those are forgotten of which nothing counts any more.
const ORGS_KEPT: usize = 1_024;

/// Counts what waits in a node.
#[derive(Debug)]
pub(crate) struct Admission {
    config: AdmissionConfig,
    quotas: QuotasConfig,
    orgs: Mutex<Orgs>,
    commands: AtomicUsize,
    bytes: AtomicUsize,
    /// Scopes for which something waits.
    scopes: AtomicUsize,
    /// Commands that wait or are under way, of those that somebody gives beside the node itself.
    others: AtomicUsize,
    /// One more than the time at which the last of them was admitted, on the boot clock in ms; 0 before the first.
    after_others_ms: AtomicU64,
}

/// What is counted of organisations.
#[derive(Debug, Default)]
struct Orgs {
    of: BTreeMap<Arc<str>, OrgShare>,
    /// Those for which something waits.
    waiting: usize,
}

/// What is counted of one organisation.
#[derive(Debug, Default)]
struct OrgShare {
    /// Commands that wait or are under way.
    commands: usize,
    meter: Meter,
}

/// A command that wants to be admitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) bytes: usize,
    /// Whether it is what the node itself has to write: whoever else writes has the right of way over maintenance.
    pub(crate) is_own: bool,
    /// Whether somebody gives it whose quota it counts against. What the node itself has to write does
    /// not: a promotion is carried through.
    pub(crate) is_metered: bool,
    /// On the boot clock.
    pub(crate) now_ms: u64,
}

/// Leave for one command to wait; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    admission: Arc<Admission>,
    org: Arc<str>,
    scope_depth: Arc<AtomicUsize>,
    bytes: usize,
    is_own: bool,
}

impl<'a> Wanted<'a> {
    /// What a command wants. It counts against its organisation's quota unless Sillok has to write it itself, or somebody
    /// sends it whose token does not cover the scope.
    pub(crate) fn of(submission: &'a Submission, now_ms: u64) -> Self {
        let Submission {
            principal, scope, ..
        } = submission;
        let is_own = principal.kind() == PrincipalKind::System;
        Self {
            scope,
            bytes: submission.command.size_bytes(),
            is_own,
            is_metered: !is_own && principal.prefix.covers(scope),
            now_ms,
        }
    }
}

impl Admission {
    pub(crate) fn new(config: AdmissionConfig, quotas: QuotasConfig) -> Arc<Self> {
        Arc::new(Self {
            config,
            quotas,
            orgs: Mutex::default(),
            commands: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            scopes: AtomicUsize::new(0),
            others: AtomicUsize::new(0),
            after_others_ms: AtomicU64::new(0),
        })
    }

    /// Who writes here beside the node itself, whether or not it counts against a quota.
    pub(crate) fn writers(&self) -> Writers {
        Writers {
            under_way: self.others.load(Ordering::Relaxed),
            last_ms: self.after_others_ms.load(Ordering::Relaxed).checked_sub(1),
        }
    }

    /// Commands and bytes that wait or are under way.
    pub(crate) fn load(&self) -> (usize, usize) {
        (
            self.commands.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        )
    }

    /// Admits one command to a scope.
    ///
    /// # Errors
    /// `busy` or `quota_exceeded`, with the time after which to try again.
    pub(crate) fn admit(
        self: &Arc<Self>,
        scope_depth: &Arc<AtomicUsize>,
        wanted: Wanted<'_>,
    ) -> Result<Permit, Error> {
        let depth = scope_depth.load(Ordering::Relaxed);
        let (commands, waiting_bytes) = self.load();
        let bytes = wanted.bytes;
        let full =
            commands >= self.config.node_commands || waiting_bytes + bytes > self.config.node_bytes;
        // A node with room for nothing else still takes one command of any size.
        if full && commands > 0 {
            return Err(self.busy("the node has too much under way"));
        }
        // Idle scopes want nothing: only those for which something waits share the room.
        let scopes = self.scopes.load(Ordering::Relaxed) + usize::from(depth == 0);
        let fair_share = (self.config.node_commands / scopes.max(1)).max(1);
        let contended = commands >= self.config.node_commands / 2;
        if depth >= self.config.scope_commands || (contended && depth >= fair_share) {
            return Err(self.busy("the scope has too much under way"));
        }
        let org = self.admit_org(contended, wanted)?;
        if !wanted.is_own {
            let after_ms = wanted.now_ms.saturating_add(1);
            self.after_others_ms.fetch_max(after_ms, Ordering::Relaxed);
            self.others.fetch_add(1, Ordering::Relaxed);
        }
        self.commands.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if scope_depth.fetch_add(1, Ordering::Relaxed) == 0 {
            self.scopes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Permit {
            admission: Arc::clone(self),
            org,
            scope_depth: Arc::clone(scope_depth),
            bytes,
            is_own: wanted.is_own,
        })
    }

    /// Counts a command for its organisation.
    fn admit_org(&self, contended: bool, wanted: Wanted<'_>) -> Result<Arc<str>, Error> {
        let name = wanted.scope.org();
        let mut orgs = self.orgs.lock();
        let known = orgs
            .of
            .get_key_value(name)
            .map(|(name, _)| Arc::clone(name));
        let name = known.unwrap_or_else(|| orgs.begin(name, wanted.now_ms));
        let waiting = orgs.waiting;
        let share = orgs.of.get_mut(&name).expect("it was put there just now");
        let is_new = share.commands == 0;
        let fair_share = self.config.node_commands / (waiting + usize::from(is_new)).max(1);
        if contended && share.commands >= fair_share.max(1) {
            return Err(self.busy("the organisation has too much under way"));
        }
        if wanted.is_metered {
            let quota = self.quotas.of(&name);
            let burst_ms = self.quotas.burst_ms;
            let taken = share
                .meter
                .take(quota, burst_ms, wanted.bytes, wanted.now_ms);
            taken.map_err(|wait_ms| {
                let why = format!("the quota of org/{name} on this node is used up");
                Error::quota_exceeded(why, wait_ms)
            })?;
        }
        share.commands += 1;
        orgs.waiting += usize::from(is_new);
        Ok(name)
    }

    /// The refusal of what may come back.
    pub(crate) fn busy(&self, why: &str) -> Error {
        Error::busy(why, self.config.retry_after_ms)
    }
}

impl Orgs {
    /// Begins to count for an organisation.
    fn begin(&mut self, name: &str, now_ms: u64) -> Arc<str> {
        if self.of.len() >= ORGS_KEPT {
            let counts = |share: &OrgShare| share.commands > 0 || !share.meter.is_idle(now_ms);
            self.of.retain(|_, share| counts(share));
        }
        let name: Arc<str> = name.into();
        self.of.insert(Arc::clone(&name), OrgShare::default());
        name
    }

    fn end_one(&mut self, name: &str) {
        let share = self.of.get_mut(name).expect("something waits for it");
        share.commands -= 1;
        self.waiting -= usize::from(share.commands == 0);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.orgs.lock().end_one(&self.org);
        self.admission.commands.fetch_sub(1, Ordering::Relaxed);
        let others = usize::from(!self.is_own);
        self.admission.others.fetch_sub(others, Ordering::Relaxed);
        self.admission
            .bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
        if self.scope_depth.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.admission.scopes.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::ErrorCode;

    use super::*;

    fn config(scope_commands: usize, node_commands: usize) -> AdmissionConfig {
        AdmissionConfig {
            scope_commands,
            node_commands,
            ..AdmissionConfig::default()
        }
    }

    fn of(config: AdmissionConfig) -> Arc<Admission> {
        Admission::new(config, QuotasConfig::default())
    }

    /// A command of `bytes` for a scope in an organisation.
    fn admit(
        admission: &Arc<Admission>,
        org: &str,
        depth: &Arc<AtomicUsize>,
        bytes: usize,
    ) -> Result<Permit, Error> {
        admit_at(admission, org, depth, bytes, 0)
    }

    fn admit_at(
        admission: &Arc<Admission>,
        org: &str,
        depth: &Arc<AtomicUsize>,
        bytes: usize,
        now_ms: u64,
    ) -> Result<Permit, Error> {
        let scope = Scope::parse(&format!("org/{org}")).unwrap();
        let wanted = Wanted {
            scope: &scope,
            bytes,
            is_own: false,
            is_metered: true,
            now_ms,
        };
        admission.admit(depth, wanted)
    }

    #[test]
    fn a_scope_is_turned_away_at_its_bound_and_admitted_again() {
        let admission = of(config(2, 100));
        let depth = Arc::default();
        let first = admit(&admission, "a", &depth, 10).unwrap();
        let _second = admit(&admission, "a", &depth, 10).unwrap();
        let error = admit(&admission, "a", &depth, 10).unwrap_err();
        assert_eq!(error.code, ErrorCode::Busy);
        assert_eq!(error.retry_after_ms(), Some(100));
        drop(first);
        assert!(admit(&admission, "a", &depth, 10).is_ok());
    }

    #[test]
    fn a_busy_scope_leaves_room_for_others() {
        let admission = of(config(100, 10));
        let (greedy, modest) = (Arc::default(), Arc::default());
        let first = admit(&admission, "a", &modest, 1).unwrap();
        let permits: Vec<_> = (0..10)
            .map_while(|_| admit(&admission, "a", &greedy, 1).ok())
            .collect();
        assert_eq!(
            permits.len(),
            5,
            "half of the node is the fair share of one of two scopes"
        );
        assert!(admit(&admission, "a", &modest, 1).is_ok());
        drop((first, permits));
        assert_eq!(admission.scopes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_organisation_with_many_busy_scopes_leaves_room_for_others() {
        let admission = of(config(100, 12));
        let modest = Arc::default();
        let first = admit(&admission, "modest", &modest, 1).unwrap();
        let permits: Vec<_> = (0..12)
            .map_while(|_| admit(&admission, "greedy", &Arc::default(), 1).ok())
            .collect();
        assert_eq!(permits.len(), 6, "half of the node for one of two");
        let refused = admit(&admission, "greedy", &Arc::default(), 1).unwrap_err();
        assert!(refused.message.contains("organisation"), "{refused}");
        let second = admit(&admission, "modest", &Arc::default(), 1).unwrap();
        drop((first, second, permits));
        assert_eq!(admission.orgs.lock().waiting, 0);
        // An organisation that is alone has the whole node.
        let permits: Vec<_> = (0..20)
            .map_while(|_| admit(&admission, "greedy", &Arc::default(), 1).ok())
            .collect();
        assert_eq!(permits.len(), 12);
    }

    #[test]
    fn bytes_are_bounded_but_one_large_command_passes() {
        let admission = of(AdmissionConfig {
            node_bytes: 100,
            ..config(10, 10)
        });
        let depth = Arc::default();
        let large = admit(&admission, "a", &depth, 1_000).unwrap();
        assert!(admit(&admission, "a", &depth, 1).is_err());
        drop(large);
        assert_eq!(admission.load(), (0, 0));
    }

    #[test]
    fn an_organisation_is_turned_away_over_its_quota_and_no_other_is() {
        let mut quotas = QuotasConfig {
            writes_per_s: 2,
            burst_ms: 1_000,
            ..QuotasConfig::default()
        };
        quotas.orgs.insert("free".to_owned(), Default::default());
        let admission = Admission::new(config(100, 100), quotas);
        let depth = Arc::default();
        let at = |org, now_ms| admit_at(&admission, org, &depth, 1, now_ms);
        assert_eq!(admission.writers(), Writers::default());
        assert!(at("a", 0).is_ok() && at("a", 0).is_ok());
        let refused = at("a", 0).unwrap_err();
        assert_eq!(refused.code, ErrorCode::QuotaExceeded);
        assert_eq!(refused.retry_after_ms(), Some(1));
        assert!(refused.message.contains("org/a"), "{refused}");
        assert!(at("b", 0).is_ok());
        assert!((0..50).all(|_| at("free", 0).is_ok()));
        assert!(at("a", 1).is_ok());
        assert_eq!(at("a", 1).unwrap_err().retry_after_ms(), Some(500));
        // What the node itself has to write is written.
        let scope = Scope::parse("org/a").unwrap();
        let own = Wanted {
            scope: &scope,
            bytes: 1,
            is_own: true,
            is_metered: false,
            now_ms: 1,
        };
        let later = Wanted { now_ms: 2, ..own };
        let held = admission.admit(&depth, later).unwrap();
        let since = Writers {
            under_way: 0,
            last_ms: Some(1),
        };
        assert_eq!(admission.writers(), since, "nobody else writes");
        let writes = at("a", 1_000).unwrap();
        let writing = Writers {
            under_way: 1,
            last_ms: Some(1_000),
        };
        assert_eq!(admission.writers(), writing);
        // Who reaches the scope with no token of it writes all the same.
        let reporting = Wanted {
            is_own: false,
            now_ms: 1_001,
            ..own
        };
        let reports = admission.admit(&depth, reporting).unwrap();
        let both = Writers {
            under_way: 2,
            last_ms: Some(1_001),
        };
        assert_eq!(admission.writers(), both);
        drop((writes, held, reports));
        assert_eq!(admission.writers().under_way, 0);
        assert_eq!(admission.load(), (0, 0));
    }

    #[test]
    fn organisations_of_which_nothing_counts_are_forgotten() {
        let admission = of(config(10_000, 10_000));
        let depth = Arc::default();
        let kept = admit(&admission, "kept", &depth, 1).unwrap();
        for number in 0..3 * ORGS_KEPT {
            drop(admit(&admission, &format!("o{number}"), &depth, 1).unwrap());
        }
        let orgs = admission.orgs.lock();
        assert!(orgs.of.len() <= ORGS_KEPT, "{}", orgs.of.len());
        assert!(orgs.of.contains_key("kept"));
        drop(orgs);
        drop(kept);
    }
}
