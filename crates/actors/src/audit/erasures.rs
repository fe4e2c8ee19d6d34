//! What the erasures of a scope left of its events.
//!
//! Owns finding it: an event whose content is gone is told of by a later one. The first such event has all later ones
//! looked through, once. What they say is checked when they are folded themselves.

use std::collections::{BTreeMap, BTreeSet};

use sillok_core::chain::StoredEvent;
use sillok_core::erasure::{ContentErased, Erased};
use sillok_core::event::{Body, EventKind};
use sillok_core::id::Seq;
use sillok_store::{Error as StoreError, Txn, keys};

use crate::row_stream::RowStream;
use crate::rows::Place;

/// What is left of the events of one scope.
#[derive(Default)]
pub(crate) struct Erasures {
    /// By position; none before they are looked for.
    found: Option<BTreeMap<Seq, Erased>>,
    /// The events whose content was found to be gone.
    gone: BTreeSet<Seq>,
}

impl Erasures {
    /// What is left of an event; none where its content is there, or nothing says that it was erased.
    pub(crate) async fn of(
        &mut self,
        txn: &mut impl Txn,
        place: &Place,
        seq: Seq,
        event: &StoredEvent,
    ) -> Result<Option<&Erased>, StoreError> {
        if event.sealed.is_some() {
            return Ok(None);
        }
        self.gone.insert(seq);
        if self.found.is_none() {
            self.found = Some(find(txn, place, seq).await?);
        }
        Ok(self.found.as_ref().and_then(|found| found.get(&seq)))
    }

    /// The first of the events that an erasure names whose content is still there. All of them were read by then.
    pub(crate) fn left(&self, erased: &ContentErased) -> Option<Seq> {
        let mut named = erased.events.iter().map(|event| event.at.seq);
        named.find(|seq| !self.gone.contains(seq))
    }
}

/// What all erasures behind a position leave.
async fn find(
    txn: &mut impl Txn,
    place: &Place,
    after: Seq,
) -> Result<BTreeMap<Seq, Erased>, StoreError> {
    let mut rows = RowStream::new(keys::event::range_after(&place.key, after));
    let mut found = BTreeMap::new();
    while let Some((key, value)) = rows.next(txn).await? {
        // Whether an event holds is said when it is folded.
        let Ok(event) = keys::event::decode(&key, &value) else {
            continue;
        };
        let kind = event.decode_header().map(|header| header.kind);
        if kind != Ok(EventKind::ContentErased) {
            continue;
        }
        if let Ok(Some(Body::ContentErased(erased))) = event.decode_body() {
            found.extend(erased.events.into_iter().map(|one| (one.at.seq, one)));
        }
    }
    Ok(found)
}
