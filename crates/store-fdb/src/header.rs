//! What an installation says about itself, and its creation.
//!
//! Must not know what the rows mean: `sillok_store::header` does.

use std::collections::BTreeMap;
use std::io;

use foundationdb::RangeOption;
use sillok_store::header::{self, Layout};
use sillok_store::limits::RESERVED_FIRST_BYTE;
use sillok_store::{Error, KeyRange};

use crate::error;
use crate::store::Shared;

/// Nodes that create the same installation at once meet one another so often at most.
const TRIES_MAX: usize = 20;

/// The generation of an installation, made first where there is none, and a version of the cluster.
///
/// # Errors
/// `Unavailable`, and what [`header::check`] answers.
pub(crate) async fn load_or_create(store: &Shared, layout: &Layout) -> Result<(u16, u64), Error> {
    for _ in 0..TRIES_MAX {
        match load_or_create_once(store, layout).await {
            // Another node was faster, or this one was and does not know: the next look tells.
            Err(Error::Conflict | Error::TooOld | Error::OutcomeUnknown) => {}
            done => return done,
        }
    }
    let why = io::Error::other("the header was not written, however often that was tried");
    Err(Error::unavailable("creating the installation", why))
}

async fn load_or_create_once(store: &Shared, layout: &Layout) -> Result<(u16, u64), Error> {
    let txn = store.transaction()?;
    let failed = |error| error::of_read("reading the header", error);
    let version = txn.get_read_version().await;
    let version = version.map_err(error::of_begin)?.unsigned_abs();
    store.give_time(&txn)?;
    let own = KeyRange::prefix(&store.key(&[RESERVED_FIRST_BYTE]));
    let own = RangeOption::from((own.begin.to_vec(), own.end.to_vec()));
    let found = txn.get_range(&own, 1, false).await.map_err(failed)?;
    let rows: BTreeMap<Vec<u8>, Vec<u8>> = found
        .iter()
        .map(|pair| {
            (
                pair.key()[store.prefix.len()..].to_vec(),
                pair.value().to_vec(),
            )
        })
        .collect();
    if let Some(stored) = header::check(layout, |key| Ok(rows.get(key)))? {
        return Ok((narrow(stored)?, version));
    }
    let all = RangeOption {
        limit: Some(1),
        ..RangeOption::from((store.prefix.clone(), store.key(&[u8::MAX, u8::MAX])))
    };
    let others = txn.get_range(&all, 1, false).await.map_err(failed)?;
    if !others.is_empty() {
        return Err(header::missing());
    }
    let generation = narrow(layout.generation_at_creation)?;
    for (key, value) in header::rows(layout) {
        txn.set(&store.key(key), &value);
    }
    let committed = txn.commit().await;
    committed.map_err(|failed| error::of_commit(*failed, 0))?;
    Ok((generation, version))
}

/// A generation as it fits into a stamp.
fn narrow(generation: u32) -> Result<u16, Error> {
    generation.try_into().map_err(|_| Error::Corrupt {
        family: "store header",
        key: "generation".to_owned(),
        reason: format!("{generation} does not fit into 16 bits"),
    })
}
