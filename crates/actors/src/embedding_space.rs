//! The embedding space of what is stored, and which space a node can begin to search.
//!
//! Vectors of two spaces are never compared: under another embedder, nothing that is stored would be found by its
//! meaning, and nothing would merge with it. So whoever starts a node asks first. It must not know embedders.

use sillok_core::entry::SpaceId;
use sillok_core::{Error, ErrorCode};
use sillok_store::keys::{self, Family, space};
use sillok_store::{RangeOptions, Read, Store, Txn, key_range};

use crate::documents;
use crate::errors::refusal;
use crate::rows;

/// Entries that are read at once.
const PAGE_ROWS: usize = 64;
/// Entries that are looked at: those that were written while no embedder answered have no vector.
const ENTRIES_MAX: usize = 1_024;

/// A space that a node may search, with what its index says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The space.
    pub space: &'a SpaceId,
    /// Whether every entry has its vector in the node's index of it.
    pub is_whole: bool,
}

/// What a node begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// The wanted space is searched.
    Wanted,
    /// The previous one is searched, while the index of the wanted one is filled.
    Previous,
}

/// The space in which every entry has a vector that is at hand: the one to which the embedder was changed last, and
/// before any change that of the first entry which has a vector, among those that are looked at. None where none has.
///
/// # Errors
/// What the store answered.
pub async fn stored<S: Store>(store: &S) -> Result<Option<SpaceId>, Error> {
    let begun = store.begin().await;
    let mut txn = begun.map_err(|error| refusal(&error))?;
    let key = space::key(space::OF_ENTRIES);
    let reached = rows::read(&mut txn, &key, space::decode).await;
    match reached.map_err(|error| refusal(&error))? {
        Some(reached) => Ok(Some(reached)),
        None => of_events(store).await,
    }
}

/// The space of the first entry whose event has a vector.
async fn of_events<S: Store>(store: &S) -> Result<Option<SpaceId>, Error> {
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
    if head.is_erased() {
        return Ok(None);
    }
    let text = documents::text(txn, &head).await?;
    Ok(text.embedding.map(|embedding| embedding.space))
}

/// What a node begins with whose embedder is of the wanted space, on a store with vectors of the space `stored`. What it
/// knows of the previous space is asked for only where that matters.
///
/// # Errors
/// `invalid_argument` naming the spaces, where neither can be searched by what is stored.
pub fn begins<'a>(
    wanted: Known<'_>,
    stored: Option<&SpaceId>,
    previous: impl FnOnce() -> Result<Option<Known<'a>>, Error>,
) -> Result<Begins, Error> {
    let Some(stored) = stored.filter(|_| !wanted.is_whole) else {
        return Ok(Begins::Wanted);
    };
    let previous = previous()?.filter(|previous| previous.space != wanted.space);
    match previous {
        Some(previous) if previous.is_whole || previous.space == stored => Ok(Begins::Previous),
        _ if stored == wanted.space => Ok(Begins::Wanted),
        Some(previous) => Err(refused(format!(
            "the stored vectors are of the space {stored}, and embedder.previous makes those of {}: configure the \
             embedder that made them there",
            previous.space
        ))),
        None => Err(refused(format!(
            "the stored vectors are of the space {stored}, and the configured embedder makes those of {}: configure the \
             embedder that made them, too, as [embedder.previous], and they are made anew while it goes on serving; or \
             begin with an empty store",
            wanted.space
        ))),
    }
}

fn refused(why: String) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(name: &str) -> SpaceId {
        SpaceId(name.to_owned())
    }

    fn begin(
        wanted: (&str, bool),
        stored: Option<&str>,
        previous: Option<(&str, bool)>,
    ) -> Result<Begins, Error> {
        let (name, is_whole) = wanted;
        let (wanted, stored) = (space(name), stored.map(space));
        let previous = previous.map(|(name, is_whole)| (space(name), is_whole));
        let known = previous.as_ref().map(|(space, is_whole)| Known {
            space,
            is_whole: *is_whole,
        });
        begins(
            Known {
                space: &wanted,
                is_whole,
            },
            stored.as_ref(),
            || Ok(known),
        )
    }

    #[test]
    fn a_node_searches_what_it_can_and_changes_what_it_must() {
        for previous in [None, Some(("a", true)), Some(("b", true))] {
            assert_eq!(
                begin(("b", false), None, previous),
                Ok(Begins::Wanted),
                "nothing is stored"
            );
            assert_eq!(
                begin(("b", true), Some("a"), previous),
                Ok(Begins::Wanted),
                "it is filled"
            );
        }
        assert_eq!(
            begin(("b", false), Some("b"), None),
            Ok(Begins::Wanted),
            "as before"
        );
        assert_eq!(
            begin(("b", false), Some("a"), Some(("a", false))),
            Ok(Begins::Previous)
        );
        let elsewhere = begin(("b", false), Some("b"), Some(("a", true)));
        assert_eq!(elsewhere, Ok(Begins::Previous), "another node was faster");
        let lost = begin(("b", false), Some("b"), Some(("a", false)));
        assert_eq!(
            lost,
            Ok(Begins::Wanted),
            "neither is filled, and rows are at hand for one"
        );
    }

    #[test]
    fn what_nobody_can_search_is_refused_with_a_way_out() {
        let alone = begin(("b", false), Some("a"), None).unwrap_err();
        assert_eq!(alone.code, ErrorCode::InvalidArgument);
        assert!(
            alone.message.contains("space a") && alone.message.contains("[embedder.previous]"),
            "{alone}"
        );
        let same = begin(("b", false), Some("a"), Some(("b", true))).unwrap_err();
        assert!(same.message.contains("[embedder.previous]"), "{same}");
        let wrong = begin(("b", false), Some("a"), Some(("c", false))).unwrap_err();
        assert!(wrong.message.contains("those of c"), "{wrong}");
    }
}
