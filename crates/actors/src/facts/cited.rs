//! Fetching what is cited: the texts of the audit log, as far as it takes to know whether they stand where a citation
//! says.
//!
//! Owns which rows are read for that. What they mean, `core` knows.

use sillok_core::chain::Broken;
use sillok_core::citation::Excerpt;
use sillok_core::commit::Presence;
use sillok_core::event::{Body, EventKind};
use sillok_core::facts::{RecordFact, Stretch};
use sillok_core::id::RecordId;
use sillok_core::{Error, ErrorCode};
use sillok_store::Txn;
use sillok_store::keys::{self, ScopeKey};

use super::{Unfetched, row};

/// As if no repository were at hand.
pub(super) const fn forget(presence: &mut Presence) {
    *presence = Presence::Unknown;
}

/// What stands at a position, for those who cite it as a whole.
pub(super) async fn record(txn: &mut impl Txn, id: &RecordId) -> Result<RecordFact, Unfetched> {
    Ok(RecordFact::of(text_event(txn, id).await?.as_ref()))
}

/// Whether a stretch of a text stands where an excerpt says. Of a text in chunks only those are read that it begins
/// and ends in.
pub(super) async fn stands(txn: &mut impl Txn, excerpt: &Excerpt) -> Result<bool, Unfetched> {
    let id = &excerpt.record;
    let bytes = match Stretch::of(excerpt, text_event(txn, id).await?.as_ref()) {
        Stretch::Known(stands) => return Ok(stands),
        Stretch::IfBegun(bytes) => bytes,
    };
    let scope = ScopeKey::of(&id.scope);
    for byte in bytes {
        let key = keys::chunk::key(&scope, byte.command, byte.number);
        let chunk = row(txn, key, keys::chunk::decode).await?;
        let chunk = chunk.ok_or_else(|| {
            Unfetched::Refused(Error::new(
                ErrorCode::Internal,
                format!("{id} lacks a chunk"),
            ))
        })?;
        if !byte.begins_character(&chunk) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The body of the event at a position, if it is one that holds a text.
async fn text_event(txn: &mut impl Txn, id: &RecordId) -> Result<Option<Body>, Unfetched> {
    let event = row(
        txn,
        keys::event::key(&ScopeKey::of(&id.scope), id.seq),
        keys::event::decode,
    )
    .await?;
    let Some(event) = event else {
        return Ok(None);
    };
    let broken = |error: Broken| {
        Unfetched::Refused(Error::new(ErrorCode::Internal, format!("{id}: {error}")))
    };
    let kind = event.decode_header().map_err(broken)?.kind;
    if !kind.is_record() && kind != EventKind::TaskOpened {
        return Ok(None);
    }
    event.decode_body().map_err(broken)
}
