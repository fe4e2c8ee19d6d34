//! What is quarantined in the slots that this node holds.
//!
//! Owns the copy that commands are checked against: it is made whenever a slot is taken, and an order that
//! comes later has the slot taken again. What an order covers is core's.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use sillok_core::Error;
use sillok_core::quarantine::Quarantines;
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;

/// The quarantines of each slot that has some.
#[derive(Debug, Default)]
pub(crate) struct HeldQuarantines {
    of: Mutex<BTreeMap<Slot, Quarantines>>,
    /// How many slots have some, so that the usual command need not look.
    count: AtomicUsize,
}

impl HeldQuarantines {
    /// Knows these of a slot from now on, and no others.
    pub(crate) fn set(&self, slot: Slot, in_force: Option<Quarantines>) {
        let mut of = self.of.lock();
        match in_force {
            Some(in_force) => drop(of.insert(slot, in_force)),
            None => drop(of.remove(&slot)),
        }
        self.count.store(of.len(), Ordering::Release);
    }

    /// Checks that a scope may be written to.
    ///
    /// # Errors
    /// `invalid_state` naming the order that covers it.
    pub(crate) fn check(&self, scope: &Scope) -> Result<(), Error> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        match self.of.lock().get(&Slot::of(scope)) {
            Some(in_force) => in_force.check(scope),
            None => Ok(()),
        }
    }
}
