//! Fetching why an entry left recall: the event that says it, by the time that the entry's head has of it.
//!
//! Owns finding it without reading all events: the times of a scope's events never go back.

use sillok_core::chain::{Broken, StoredEvent};
use sillok_core::event::{Body, EventKind};
use sillok_core::id::{EntryId, Seq};
use sillok_core::retention::Retirement;
use sillok_core::state::State;
use sillok_core::time::Timestamp;
use sillok_store::Txn;
use sillok_store::keys::{self, ScopeKey};

use super::{Unfetched, broken, row};
use crate::row_stream::RowStream;

/// Why an entry of the scope left recall, which happened `at` that time; none when no event says so.
pub(super) async fn retirement(
    txn: &mut impl Txn,
    state: &State,
    unstored: &[(Seq, StoredEvent)],
    entry: EntryId,
    at: Timestamp,
) -> Result<Option<Retirement>, Unfetched> {
    for (_, event) in unstored.iter().rev() {
        if let Some(why) = told(event, entry).map_err(broken)? {
            return Ok(Some(why));
        }
    }
    let scope = ScopeKey::of(state.scope());
    stored_retirement(txn, &scope, state.row().tip.seq, (entry, at)).await
}

/// The same of an entry and of the time that its head has of it, where the event is stored. The scope has no event behind
/// `tip`.
pub(crate) async fn stored_retirement(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    tip: Seq,
    (entry, at): (EntryId, Timestamp),
) -> Result<Option<Retirement>, Unfetched> {
    let before = before(txn, scope, tip, at).await?;
    let mut rows = RowStream::new(keys::event::range_after(scope, before));
    let mut found = None;
    while let Some((key, value)) = rows.next(txn).await? {
        let event = keys::event::decode(&key, &value)?;
        if event.decode_header().map_err(broken)?.time > at {
            break;
        }
        found = told(&event, entry).map_err(broken)?.or(found);
    }
    Ok(found)
}

/// The position in front of the first event of that time, or a later one.
async fn before(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    tip: Seq,
    at: Timestamp,
) -> Result<Seq, Unfetched> {
    let (mut earlier, mut later) = (0, tip.get() + 1);
    while earlier + 1 < later {
        let middle = earlier + (later - earlier) / 2;
        let key = keys::event::key(scope, Seq::new(middle));
        let event = row(txn, key, keys::event::decode).await?;
        let header = event.map(|event| event.decode_header());
        let header = header.transpose().map_err(broken)?;
        // What is not stored yet comes behind all that is.
        if header.is_some_and(|header| header.time < at) {
            earlier = middle;
        } else {
            later = middle;
        }
    }
    Ok(Seq::new(earlier))
}

/// Why an event says that the entry left recall, if it does.
fn told(event: &StoredEvent, entry: EntryId) -> Result<Option<Retirement>, Broken> {
    if event.decode_header()?.kind != EventKind::EntriesRetired {
        return Ok(None);
    }
    Ok(match event.decode_body()? {
        Some(Body::EntriesRetired { entries, why }) if entries.contains(&entry) => Some(why),
        _ => None,
    })
}
