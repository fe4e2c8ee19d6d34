//! The embedding space of what is stored.
//!
//! Vectors of two spaces are never compared: under another embedder, nothing that is stored would be found by its
//! meaning, and nothing would merge with it. So whoever starts a node asks first. It must not know embedders.

use sillok_core::entry::SpaceId;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, Family};
use sillok_store::{RangeOptions, Read, Store, Txn, key_range};

use crate::documents;
use crate::errors::refusal;

/// Entries that are read at once.
const PAGE_ROWS: usize = 64;
/// Entries that are looked at: those that were written while no embedder answered have no vector.
const ENTRIES_MAX: usize = 1_024;

/// The space of the first entry that has a vector; none where no entry has one, among those that are looked
/// at.
///
/// # Errors
/// What the store answered.
pub async fn of_entries<S: Store>(store: &S) -> Result<Option<SpaceId>, Error> {
    let mut range = Family::Head.range();
    for _ in 0..ENTRIES_MAX / PAGE_ROWS {
        let begun = store.begin().await;
        let mut txn = begun.map_err(|error| refusal(&error))?;
        let page = RangeOptions::first(PAGE_ROWS, Read::Snapshot);
        let rows = txn.range(&range, page).await;
        let rows = rows.map_err(|error| refusal(&error))?;
        let Some((last, _)) = rows.last() else {
            return Ok(None);
        };
        range.begin = key_range::successor(last);
        for (key, value) in &rows {
            let space = space_of(&mut txn, (key, value)).await;
            match space {
                Ok(None) => {}
                // What is damaged keeps nobody from the rest: the audit names it.
                Err(error) if error.code == ErrorCode::Internal => {
                    tracing::warn!(%error, "an entry's vector cannot be read");
                }
                found => return found,
            }
        }
    }
    Ok(None)
}

/// The space of an entry's vector, if it has one.
async fn space_of(
    txn: &mut impl Txn,
    (key, value): (&[u8], &[u8]),
) -> Result<Option<SpaceId>, Error> {
    let head = keys::head::decode(key, value).map_err(|error| refusal(&error))?;
    let text = documents::text_of(txn, &head).await?;
    Ok(text.embedding.map(|embedding| embedding.space))
}

/// Checks that an embedder of `space` can go on with what is stored.
///
/// # Errors
/// `invalid_argument` naming both spaces where it cannot, and what the store answered.
pub async fn check<S: Store>(store: &S, space: &SpaceId) -> Result<(), Error> {
    match of_entries(store).await? {
        Some(stored) if stored != *space => {
            let why = format!(
                "the stored vectors are of the space {stored}, and the configured embedder makes those of \
                 {space}: configure the embedder that made them, or begin with an empty store"
            );
            Err(Error::new(ErrorCode::InvalidArgument, why))
        }
        _ => Ok(()),
    }
}
