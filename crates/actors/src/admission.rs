//! Admission: what may wait, fairly between scopes. The mailboxes behind it have no bound.
//!
//! Owns the counts. A scope is turned away at its own bound, and at its fair share of the node once
//! the node is half full, so that one busy scope cannot starve the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sillok_core::Error;

use crate::config::AdmissionConfig;

/// Counts what waits in a node.
#[derive(Debug)]
pub(crate) struct Admission {
    config: AdmissionConfig,
    commands: AtomicUsize,
    bytes: AtomicUsize,
    /// Scopes for which something waits.
    scopes: AtomicUsize,
}

/// Leave for one command to wait; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    admission: Arc<Admission>,
    scope_depth: Arc<AtomicUsize>,
    bytes: usize,
}

impl Admission {
    pub(crate) fn new(config: AdmissionConfig) -> Arc<Self> {
        Arc::new(Self {
            config,
            commands: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            scopes: AtomicUsize::new(0),
        })
    }

    /// Commands and bytes that wait or are under way.
    pub(crate) fn load(&self) -> (usize, usize) {
        (
            self.commands.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        )
    }

    /// Admits one command of `bytes` to a scope.
    ///
    /// # Errors
    /// `busy`, with the time after which to try again.
    pub(crate) fn admit(
        self: &Arc<Self>,
        scope_depth: &Arc<AtomicUsize>,
        bytes: usize,
    ) -> Result<Permit, Error> {
        let depth = scope_depth.load(Ordering::Relaxed);
        let (commands, waiting_bytes) = self.load();
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
        self.commands.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if scope_depth.fetch_add(1, Ordering::Relaxed) == 0 {
            self.scopes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Permit {
            admission: Arc::clone(self),
            scope_depth: Arc::clone(scope_depth),
            bytes,
        })
    }

    /// The refusal of what may come back.
    pub(crate) fn busy(&self, why: &str) -> Error {
        Error::busy(why, self.config.retry_after_ms)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.admission.commands.fetch_sub(1, Ordering::Relaxed);
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

    #[test]
    fn a_scope_is_turned_away_at_its_bound_and_admitted_again() {
        let admission = Admission::new(config(2, 100));
        let depth = Arc::default();
        let first = admission.admit(&depth, 10).unwrap();
        let _second = admission.admit(&depth, 10).unwrap();
        let error = admission.admit(&depth, 10).unwrap_err();
        assert_eq!(error.code, ErrorCode::Busy);
        assert_eq!(error.retry_after_ms(), Some(100));
        drop(first);
        assert!(admission.admit(&depth, 10).is_ok());
    }

    #[test]
    fn a_busy_scope_leaves_room_for_others() {
        let admission = Admission::new(config(100, 10));
        let (greedy, modest) = (Arc::default(), Arc::default());
        let first = admission.admit(&modest, 1).unwrap();
        let permits: Vec<_> = (0..10)
            .map_while(|_| admission.admit(&greedy, 1).ok())
            .collect();
        assert_eq!(
            permits.len(),
            5,
            "half of the node is the fair share of one of two scopes"
        );
        assert!(admission.admit(&modest, 1).is_ok());
        drop((first, permits));
        assert_eq!(admission.scopes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn bytes_are_bounded_but_one_large_command_passes() {
        let admission = Admission::new(AdmissionConfig {
            node_bytes: 100,
            ..config(10, 10)
        });
        let depth = Arc::default();
        let large = admission.admit(&depth, 1_000).unwrap();
        assert!(admission.admit(&depth, 1).is_err());
        drop(large);
        assert_eq!(admission.load(), (0, 0));
    }
}
