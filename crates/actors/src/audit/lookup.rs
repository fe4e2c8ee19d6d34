//! Looking for one event of a scope, where the row that should tell of it is damaged or has no key
//! to find it by.

use sillok_core::event::Body;
use sillok_core::id::VerificationId;
use sillok_core::token::TokenHash;
use sillok_core::verification::Verification;
use sillok_store::keys::{self, ScopeKey};
use sillok_store::{Error as StoreError, Txn};

use super::Stop;
use crate::row_stream::RowStream;
use crate::rows;

/// A verification as its scope recorded it. Where its row is damaged, its event speaks: the damage
/// belongs to that scope and is named there.
pub(super) async fn recorded(
    txn: &mut impl Txn,
    source: &ScopeKey,
    id: VerificationId,
) -> Result<Option<Verification>, Stop> {
    let key = keys::verification::key(source, id);
    match rows::read(txn, &key, keys::verification::decode).await {
        Ok(Some(verification)) if verification.id == id => return Ok(Some(verification)),
        Ok(_) | Err(StoreError::Corrupt { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let picked = |body: Body| match body {
        Body::VerificationRecorded(verification) if verification.id == id => Some(*verification),
        _ => None,
    };
    let found = find_event(txn, source, |body| match body {
        // What is left of one that was erased says where it goes still.
        Body::ContentErased(erased) => {
            let mut rests = erased.events.into_iter().map(|event| event.rest);
            rests.find_map(picked)
        }
        body => picked(body),
    });
    found.await
}

/// Whether a scope's events made a token.
pub(super) async fn minted(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    token: &TokenHash,
) -> Result<bool, Stop> {
    let found = find_event(txn, scope, |body| match body {
        Body::TokenMinted { hash, .. } if hash == *token => Some(()),
        _ => None,
    });
    Ok(found.await?.is_some())
}

/// Looks for an event among those that can be read.
async fn find_event<T>(
    txn: &mut impl Txn,
    scope: &ScopeKey,
    pick: impl Fn(Body) -> Option<T>,
) -> Result<Option<T>, Stop> {
    let mut events = RowStream::new(keys::event::range_of_scope(scope));
    while let Some((key, value)) = events.next(txn).await? {
        let body = keys::event::decode(&key, &value)
            .ok()
            .and_then(|event| event.decode_body().ok().flatten());
        if let Some(found) = body.and_then(&pick) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
