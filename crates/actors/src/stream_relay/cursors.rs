//! The rows of a relay: how far a slot was told to a stream, and how far its outbox was read for it.
//!
//! Owns their meaning. How far a slot was told is written only under the slot's owner; that a part of its
//! outbox holds nothing for a stream stays true whoever writes it. It must not know what a stream holds.

use sillok_bus::subject::stream_of;
use sillok_core::channel::Channel;
use sillok_core::slot::Slot;
use sillok_core::stamp::Stamp;
use sillok_store::keys::relay::{ReadRow, RelayRow};
use sillok_store::{Error as StoreError, Read, Store, Txn, keys};

/// What the rows of a slot say for a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// How far it was told; with the number 0, from where on it is told.
    pub(crate) told: Option<RelayRow>,
    /// Where the outbox holds nothing for the channel.
    pub(crate) void: Option<ReadRow>,
}

impl Kept {
    /// Up to where the channel's stream was told all that there is.
    pub(crate) fn told_through(&self) -> Stamp {
        let told = self.told.as_ref().map_or(Stamp::ZERO, |row| row.stamp);
        self.void.map_or(told, |void| passed(told, void))
    }
}

/// Where to read on behind a row of the outbox.
pub(crate) fn passed(read: Stamp, void: ReadRow) -> Stamp {
    if void.told <= read {
        read.max(void.read)
    } else {
        read
    }
}

/// What the rows of a slot say for a channel.
///
/// # Errors
/// What the store answered.
pub(crate) async fn kept(
    txn: &mut impl Txn,
    slot: Slot,
    channel: Channel,
) -> Result<Kept, StoreError> {
    let name = stream_of(channel);
    let told = row_at(txn, &keys::relay::key(slot, name), Read::Snapshot).await?;
    let void = void_at(txn, slot, channel).await?;
    let told = match told {
        None if channel == Channel::Log => start_of_log(txn, slot).await?,
        told => told,
    };
    Ok(Kept { told, void })
}

/// From where on the log of a slot is told that never was: behind what a version told with the events
/// that knew of no log. Such a version does not say how far it has read.
async fn start_of_log(txn: &mut impl Txn, slot: Slot) -> Result<Option<RelayRow>, StoreError> {
    if void_at(txn, slot, Channel::Events).await?.is_some() {
        return Ok(None);
    }
    let key = keys::relay::key(slot, stream_of(Channel::Events));
    let told = row_at(txn, &key, Read::Snapshot).await?;
    Ok(told.map(|row| start_at(row.stamp)))
}

const fn start_at(stamp: Stamp) -> RelayRow {
    RelayRow {
        created: 0,
        stamp,
        seq: 0,
    }
}

/// Writes down, once for each slot, that a version that knew of no log told all of it up to `told` with
/// the events: its log is told from there on.
///
/// # Errors
/// What the store answered.
pub(crate) async fn part<S: Store>(store: &S, slot: Slot, told: Stamp) -> Result<(), StoreError> {
    let mut txn = store.begin().await?;
    let log = keys::relay::key(slot, stream_of(Channel::Log));
    if row_at(&mut txn, &log, Read::Conflict).await?.is_none() {
        txn.set(log, keys::relay::encode(&start_at(told)));
    }
    let read = told;
    write_void(&mut txn, slot, Channel::Events, ReadRow { told, read });
    txn.commit().await.map(drop)
}

/// Writes how far a slot was told.
pub(crate) fn write_told(txn: &mut impl Txn, slot: Slot, channel: Channel, row: &RelayRow) {
    let key = keys::relay::key(slot, stream_of(channel));
    txn.set(key, keys::relay::encode(row));
}

/// Writes where a slot's outbox holds nothing for a channel.
pub(crate) fn write_void(txn: &mut impl Txn, slot: Slot, channel: Channel, void: ReadRow) {
    let key = keys::relay::read_key(slot, stream_of(channel));
    txn.set(key, keys::relay::encode_read(&void));
}

async fn void_at(
    txn: &mut impl Txn,
    slot: Slot,
    channel: Channel,
) -> Result<Option<ReadRow>, StoreError> {
    let key = keys::relay::read_key(slot, stream_of(channel));
    let value = txn.get(&key, Read::Snapshot).await?;
    value
        .map(|value| keys::relay::decode_read(&key, &value))
        .transpose()
}

async fn row_at(
    txn: &mut impl Txn,
    key: &[u8],
    read: Read,
) -> Result<Option<RelayRow>, StoreError> {
    let value = txn.get(key, read).await?;
    value
        .map(|value| keys::relay::decode(key, &value))
        .transpose()
}
