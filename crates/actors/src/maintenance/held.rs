//! The lease of a run while the run goes on: a node that stood still for long was held for dead meanwhile, and another
//! one may run.
//!
//! Owns the question whether the lease is still this run's. It is asked before each command that the run gives and before
//! each other part of it, and read in conflict by what the run writes itself.

use std::sync::atomic::{AtomicBool, Ordering};

use sillok_core::membership::OwnerRow;
use sillok_core::{Error, ErrorCode};
use sillok_store::{Error as StoreError, Read, Store, Txn};

use super::LEASE;
use crate::claims::{lease, retried};
use crate::commit::Shared;
use crate::errors::refusal;
use crate::protocol::Protocol;

/// A run that has taken the lease.
pub(super) struct Held<'a, S: Store, P: Protocol> {
    shared: &'a Shared<S, P>,
    /// The row that it took: no other run, of this node or of another, holds the lease by the same.
    taken: OwnerRow,
    /// Whether it was seen that the lease is this run's no more; it does not come back.
    is_lost: AtomicBool,
}

impl<'a, S: Store, P: Protocol> Held<'a, S, P> {
    /// A run that holds the lease by this row.
    pub(super) const fn new(shared: &'a Shared<S, P>, taken: OwnerRow) -> Self {
        Self {
            shared,
            taken,
            is_lost: AtomicBool::new(false),
        }
    }

    /// What all actors of the node share.
    pub(super) const fn shared(&self) -> &'a Shared<S, P> {
        self.shared
    }

    /// Whether it was seen that the lease is this run's no more.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Looks whether the lease is still this run's.
    ///
    /// # Errors
    /// `fenced` where it is not; what the store answered.
    pub(super) async fn check(&self) -> Result<(), Error> {
        let is_held = retried(|| async {
            let mut txn = self.shared.store.begin().await?;
            self.is_held(&mut txn, Read::Snapshot).await
        });
        match is_held.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(lost()),
            Err(error) => Err(refusal(&error)),
        }
    }

    /// As [`check`](Self::check); where the store does not say whose the lease is, why it does not. No run is over for
    /// that: nobody would be told what it has done.
    ///
    /// # Errors
    /// `fenced` where the lease is the run's no more.
    pub(super) async fn unless_lost(&self) -> Result<Option<Error>, Error> {
        match self.check().await {
            Ok(()) => Ok(None),
            Err(_) if self.is_lost() => Err(lost()),
            Err(error) => Ok(Some(error)),
        }
    }

    /// Whether the lease is this run's. Read in conflict, the transaction commits only while it is.
    ///
    /// # Errors
    /// What the store answered.
    pub(super) async fn is_held(&self, txn: &mut impl Txn, read: Read) -> Result<bool, StoreError> {
        if self.is_lost() {
            return Ok(false);
        }
        // The node may know that its run is over before anybody has taken what that held.
        let is_held = self.shared.ownership.incarnation() == self.taken.incarnation
            && lease::is_held(txn, LEASE, &self.taken, read).await?;
        if !is_held {
            self.is_lost.store(true, Ordering::Release);
        }
        Ok(is_held)
    }
}

/// The end of a run whose lease is its own no more.
pub(super) fn lost() -> Error {
    let why = "this run of maintenance is over, since its node was held for dead meanwhile; another one may be under way";
    Error::new(ErrorCode::Fenced, why)
}
