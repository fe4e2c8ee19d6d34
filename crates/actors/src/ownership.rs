//! Ownership: which node holds which slots, under which epoch.
//!
//! Owns the claim at start. One node owns all slots here: it takes them over from its own former
//! incarnations, which the data directory's lock proves to be gone.

use sillok_core::id::{Epoch, Incarnation};
use sillok_core::slot::{SLOTS, Slot};
use sillok_core::stamp::Stamp;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::node::NodeRow;
use sillok_store::keys::owner::OwnerRow;
use sillok_store::{Error as StoreError, Read, Store, Txn, keys};

use crate::errors::refusal;

/// Tries at a claim that meets another writer.
const CLAIM_TRIES: usize = 8;

/// What this node holds.
#[derive(Clone, Debug)]
pub struct Ownership {
    node: String,
    incarnation: Incarnation,
    epochs: Vec<Epoch>,
    claimed_at: Stamp,
}

impl Ownership {
    /// Takes all slots for a new incarnation of `node`, in one transaction.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn claim_all<S: Store>(store: &S, node: &str) -> Result<Self, Error> {
        for _ in 0..CLAIM_TRIES {
            match Self::try_claim(store, node).await {
                Err(error) if error.is_retryable() => {}
                claimed => return claimed.map_err(|error| refusal(&error)),
            }
        }
        Err(Error::new(
            ErrorCode::Busy,
            "another node is claiming the same slots",
        ))
    }

    async fn try_claim<S: Store>(store: &S, node: &str) -> Result<Self, StoreError> {
        let mut txn = store.begin().await?;
        let key = keys::node::key(node);
        let before = txn.get(&key, Read::Conflict).await?;
        let before = before
            .map(|value| keys::node::decode(&key, &value))
            .transpose()?;
        let incarnation = Incarnation(before.map_or(1, |row| row.incarnation.0 + 1));
        let row = NodeRow {
            incarnation,
            beat: 0,
            fenced: false,
            reaches_bus: true,
        };
        txn.set(key, keys::node::encode(&row));
        let mut epochs = Vec::with_capacity(usize::from(SLOTS));
        for slot in (0..SLOTS).filter_map(Slot::new) {
            let key = keys::owner::key(slot);
            let owner = txn.get(&key, Read::Conflict).await?;
            let owner = owner
                .map(|value| keys::owner::decode(&key, &value))
                .transpose()?;
            let epoch = Epoch(owner.map_or(1, |row| row.epoch.0 + 1));
            let row = OwnerRow {
                node: node.to_owned(),
                incarnation,
                epoch,
            };
            txn.set(key, keys::owner::encode(&row));
            epochs.push(epoch);
        }
        let claimed_at = txn.commit().await?.stamp;
        Ok(Self {
            node: node.to_owned(),
            incarnation,
            epochs,
            claimed_at,
        })
    }

    /// The epoch under which this node holds a slot.
    #[must_use]
    pub fn epoch(&self, slot: Slot) -> Epoch {
        self.epochs[usize::from(slot.number())]
    }

    /// This run of the node.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// The commit of the claim: after everything that earlier incarnations wrote.
    #[must_use]
    pub const fn claimed_at(&self) -> Stamp {
        self.claimed_at
    }

    /// Whether a slot's row says that this incarnation of this node holds it, under its epoch.
    #[must_use]
    pub fn is_held(&self, slot: Slot, row: Option<&OwnerRow>) -> bool {
        row.is_some_and(|row| {
            row.node == self.node
                && row.incarnation == self.incarnation
                && row.epoch == self.epoch(slot)
        })
    }
}
