//! Backing up: what a backup holds of a store, read at one moment while others go on writing.
//!
//! Owns which rows are read, and in which order. The form is the store's (`sillok_store::backup`); it must
//! not know where the pieces go.

use std::collections::VecDeque;

use sillok_core::Error;
use sillok_core::slot::{SLOT_HASH, SLOTS};
use sillok_core::time::Timestamp;
use sillok_store::backup::{End, Hash, Head, Writer};
use sillok_store::keys::{Family, InBackup};
use sillok_store::{Store, Txn as _, header};

use crate::errors::refusal;
use crate::row_stream::RowStream;

/// A backup that is being read from a store. It holds one snapshot for as long as it lives: on the
/// embedded engine whatever was there at its beginning stays readable, and takes its space meanwhile.
pub struct Backup<S: Store> {
    state: State<S>,
    first: Option<Vec<u8>>,
    done: Option<(End, Hash)>,
}

enum State<S: Store> {
    Reading {
        txn: S::Txn,
        writer: Box<Writer>,
        families: VecDeque<RowStream>,
    },
    Ended,
}

impl<S: Store> Backup<S> {
    /// Begins a backup of every commit that was acknowledged before the call. `created` and `version` are
    /// told to whoever reads it.
    ///
    /// # Errors
    /// What the store answers.
    pub async fn begin(store: &S, created: Timestamp, version: &str) -> Result<Self, Error> {
        let txn = store.begin().await.map_err(|error| refusal(&error))?;
        let head = Head {
            store_format: header::FORMAT_VERSION,
            slot_count: u32::from(SLOTS),
            slot_hash: SLOT_HASH.to_owned(),
            generation: store.generation(),
            created,
            version: version.to_owned(),
        };
        let (writer, first) = Writer::begin(&head);
        let mut held: Vec<Family> = Family::ALL
            .iter()
            .copied()
            .filter(|family| family.in_backup() == InBackup::Held)
            .collect();
        held.sort_by_key(|family| family.letter());
        let families = held.iter().map(|family| RowStream::new(family.range()));
        Ok(Self {
            state: State::Reading {
                txn,
                writer: Box::new(writer),
                families: families.collect(),
            },
            first: Some(first),
            done: None,
        })
    }

    /// The next piece, about a megabyte; none behind the last one.
    ///
    /// # Errors
    /// What the store answers. What was handed out before is then no backup, and is refused as one.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let State::Reading {
            txn,
            writer,
            families,
        } = &mut self.state
        else {
            return Ok(None);
        };
        while let Some(family) = families.front_mut() {
            match family.next(txn).await.map_err(|error| refusal(&error))? {
                Some((key, value)) => {
                    if let Some(piece) = writer.row(&key, &value) {
                        return Ok(Some(piece));
                    }
                }
                None => drop(families.pop_front()),
            }
        }
        let State::Reading { txn, writer, .. } = core::mem::replace(&mut self.state, State::Ended)
        else {
            unreachable!("it was being read")
        };
        // A transaction that wrote nothing says which commit it saw last.
        let seen = txn.commit().await.map_err(|error| refusal(&error))?;
        let (piece, end, hash) = writer.end(seen.stamp);
        self.done = Some((end, hash));
        Ok(Some(piece))
    }

    /// What the backup holds, and the hash that names it, once the last piece was handed out.
    #[must_use]
    pub const fn done(&self) -> Option<&(End, Hash)> {
        self.done.as_ref()
    }
}
