//! Carrying an erasure out: what a commit destroys, beside the view, which follows from its events.
//!
//! Owns that nothing but headers is left: the bodies of events, the chunks of large texts, and in the records of commands
//! the hashes of what these wrote. It must not know what may be erased.

use std::collections::BTreeSet;

use sillok_core::chain::StoredEvent;
use sillok_core::command::CommandRecord;
use sillok_core::erasure::{ContentErased, KnownEvent};
use sillok_core::event::Body;
use sillok_core::facts::Facts;
use sillok_core::id::Seq;
use sillok_core::staging::Content;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Read, Txn};

use super::{Failure, failures};
use crate::protocol::Protocol;
use crate::rows::{self, Place};

/// What the erasures of a batch destroy.
#[derive(Default)]
pub(super) struct Erasing {
    /// Events without their content.
    events: Vec<(Seq, StoredEvent)>,
    /// Keys of chunks.
    chunks: Vec<Vec<u8>>,
    /// What is left of records of commands: no hash of what was erased.
    records: Vec<(Vec<u8>, CommandRecord)>,
}

impl Erasing {
    /// Adds what was decided from these facts. `records` are those that the batch writes itself.
    ///
    /// # Errors
    /// What the store answers.
    pub(super) async fn add(
        &mut self,
        txn: &mut impl Txn,
        scope: &ScopeKey,
        facts: &Facts,
        erased: &ContentErased,
        records: &mut [(Vec<u8>, CommandRecord)],
    ) -> Result<(), StoreError> {
        let mut commands = BTreeSet::new();
        for event in &erased.events {
            let known = known(facts, event.at.seq).expect("it was decided from that event");
            let bare = StoredEvent {
                header: known.stored.header.clone(),
                sealed: None,
            };
            self.events.push((event.at.seq, bare));
            if let Some(Content::Chunked {
                command,
                first,
                count,
                ..
            }) = known.body.as_ref().and_then(Body::content)
            {
                let numbers = *first..first + count;
                let keys = numbers.map(|number| keys::chunk::key(scope, *command, number));
                self.chunks.extend(keys);
            }
            let header = &known.header;
            commands.insert(keys::command::key(scope, &header.actor, header.command));
        }
        for key in commands {
            if let Some((_, record)) = records.iter_mut().find(|(own, _)| *own == key) {
                *record = record.rest();
                continue;
            }
            if let Some(value) = txn.get(&key, Read::Conflict).await? {
                let record = keys::command::decode(&key, &value)?.rest();
                self.records.push((key, record));
            }
        }
        Ok(())
    }

    /// After the transaction was begun anew: the records of the commands are those that were seen, and are so until
    /// the commit. Of events the scope's tip says it.
    ///
    /// # Errors
    /// `Again` when one changed.
    pub(super) async fn look_again(&self, txn: &mut impl Txn) -> Result<(), Failure> {
        for (key, record) in &self.records {
            let value = txn.get(key, Read::Conflict).await;
            let value = value.map_err(|error| Failure::of(&error))?;
            let stored = value.and_then(|value| keys::command::decode(key, &value).ok());
            if stored.as_ref().map(CommandRecord::rest).as_ref() != Some(record) {
                return Err(Failure::Again);
            }
        }
        Ok(())
    }

    /// Writes it.
    pub(super) fn write<P: Protocol>(&self, protocol: P, txn: &mut impl Txn, place: &Place) {
        for (seq, event) in &self.events {
            rows::write_event(txn, place, *seq, event);
        }
        for key in &self.chunks {
            txn.clear(key.clone());
        }
        for (key, record) in &self.records {
            if failures::is_forgotten(protocol, record) {
                rows::write_command(txn, key.clone(), record);
            }
        }
    }
}

/// An event that an erasure was decided from.
fn known(facts: &Facts, seq: Seq) -> Option<&KnownEvent> {
    let named = facts.events.get(&seq).and_then(Option::as_ref);
    let of_texts = facts.texts.iter().flat_map(|texts| &texts.events);
    named.or_else(|| of_texts.into_iter().find(|event| event.header.seq == seq))
}
