//! Rows: the one mapping from what the rules produce to what the store keeps.
//!
//! Owns which row each change of the view lies in. Commits write by it, rebuilds write by it, and
//! audits compare with it, so the three can never disagree. It must not know when a row is written,
//! nor what a commit reads.

use sillok_core::chain::StoredEvent;
use sillok_core::command::{CommandRecord, ScopeRow};
use sillok_core::id::{EntryId, Seq};
use sillok_core::scope::Scope;
use sillok_core::slot::Slot;
use sillok_core::state::Change;
use sillok_store::keys::outbox::OutboxRow;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Read, Txn};

mod decision;
mod evidence;
mod failure;
mod trajectory;

/// A scope with what its keys need of it, hashed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The scope.
    pub scope: Scope,
    /// Its form in keys.
    pub key: ScopeKey,
    /// The slot that it lies in.
    pub slot: Slot,
}

impl Place {
    /// The place of `scope`.
    #[must_use]
    pub fn of(scope: &Scope) -> Self {
        Self {
            scope: scope.clone(),
            key: ScopeKey::of(scope),
            slot: Slot::of(scope),
        }
    }
}

/// A row of the view as a change leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value; none when there is no such row any more.
    pub value: Option<Vec<u8>>,
}

impl Row {
    fn holding(key: Vec<u8>, value: Vec<u8>) -> Self {
        Self {
            key,
            value: Some(value),
        }
    }
}

/// The row that a change of the scope at `place` leads to.
#[must_use]
pub fn row_of(place: &Place, change: &Change) -> Row {
    let scope = &place.key;
    match change {
        Change::Task(task) => Row::holding(keys::task::key(scope), keys::task::encode(task)),
        Change::Head(head) => {
            Row::holding(keys::head::key(scope, head.id), keys::head::encode(head))
        }
        Change::Version(version) => Row::holding(
            keys::version::key(scope, version.entry, version.number),
            keys::version::encode(version),
        ),
        Change::Located(entry) => Row::holding(
            keys::location::key(*entry),
            keys::location::encode(&place.scope),
        ),
        Change::ByHash(content, entry) => {
            let value = entry.as_ref().map(keys::by_hash::encode);
            Row {
                key: keys::by_hash::key(scope, content),
                value,
            }
        }
        Change::Verification(verification) => Row::holding(
            keys::verification::key(scope, verification.id),
            keys::verification::encode(verification),
        ),
        Change::ApproachFailed(_) | Change::ApproachErased(_) => failure::row_of(place, change),
        Change::TrajectoryStored(_) | Change::TrajectoryErased(..) => {
            trajectory::row_of(place, change)
        }
        Change::JobAdded(job) => Row::holding(
            keys::job::key(place.slot, job.verification),
            keys::job::encode(job),
        ),
        Change::JobRemoved(verification) => Row {
            key: keys::job::key(place.slot, *verification),
            value: None,
        },
        Change::Mark {
            source,
            verification,
            report,
        } => Row::holding(
            keys::mark::key(&ScopeKey::of(source), *verification),
            keys::mark::encode(report),
        ),
        Change::Token(hash, token) => {
            Row::holding(keys::token::key(hash), keys::token::encode(token))
        }
        Change::Report(report) => Row::holding(
            keys::report::key(scope, report.entry, &ScopeKey::of(&report.task)),
            keys::report::encode(report),
        ),
        Change::Review(review) => Row::holding(
            keys::review::key(scope, review.id),
            keys::review::encode(review),
        ),
        Change::Decision(_)
        | Change::DecisionVersion(_)
        | Change::DecisionListed { .. }
        | Change::DecisionClaim { .. }
        | Change::RelatedTo { .. }
        | Change::RelationRenamed { .. }
        | Change::RelationDeclared(_) => decision::row_of(scope, change),
        Change::Evidence(_) | Change::Anchor(_) | Change::AnchorListed { .. } => {
            evidence::row_of(scope, change)
        }
    }
}

/// Writes the row that a change of the scope at `place` leads to.
///
/// What became of the attempts at a promotion goes with its job: no event tells of it, so it is no row of
/// the view, but it says nothing once the job is gone.
pub fn write_change(txn: &mut impl Txn, place: &Place, change: &Change) {
    if let Change::JobRemoved(verification) = change {
        txn.clear(keys::attempt::key(place.slot, *verification));
    }
    write(txn, row_of(place, change));
}

/// Writes a row, or clears it.
pub fn write(txn: &mut impl Txn, row: Row) {
    match row.value {
        Some(value) => txn.set(row.key, value),
        None => txn.clear(row.key),
    }
}

/// Writes where the chain of a scope ends.
pub fn write_scope(txn: &mut impl Txn, place: &Place, row: &ScopeRow) {
    assert_eq!(
        row.scope, place.scope,
        "a scope's row is stored under its own key"
    );
    txn.set(keys::scope::key(&place.key), keys::scope::encode(row));
}

/// Writes an event.
pub fn write_event(txn: &mut impl Txn, place: &Place, seq: Seq, event: &StoredEvent) {
    assert!(seq > Seq::ZERO, "events are counted from 1");
    txn.set(
        keys::event::key(&place.key, seq),
        keys::event::encode(event),
    );
}

/// Writes what the command with this key led to.
pub fn write_command(txn: &mut impl Txn, key: Vec<u8>, record: &CommandRecord) {
    txn.set(key, keys::command::encode(record));
}

/// Writes that a commit appended the events from `first` to `last`, which changed `entries`.
pub fn write_outbox(
    txn: &mut impl Txn,
    place: &Place,
    first: Seq,
    last: Seq,
    entries: Vec<EntryId>,
) {
    assert!(
        first > Seq::ZERO && first <= last,
        "a commit with a row in the outbox has events"
    );
    let row = OutboxRow {
        scope: place.scope.clone(),
        first,
        last,
        entries,
    };
    txn.set_stamped(keys::outbox::prefix(place.slot), keys::outbox::encode(&row));
}

/// Reads one row and decodes it; none when it is absent.
///
/// # Errors
/// What the store answers; `Corrupt` when the row does not decode.
pub async fn read<V>(
    txn: &mut impl Txn,
    key: &[u8],
    decode: impl FnOnce(&[u8], &[u8]) -> Result<V, sillok_store::Error>,
) -> Result<Option<V>, sillok_store::Error> {
    let value = txn.get(key, Read::Snapshot).await?;
    value.map(|value| decode(key, &value)).transpose()
}
