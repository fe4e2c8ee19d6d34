//! The store over FoundationDB, in a binary that was built with it (feature `fdb`).
//!
//! Owns how the configuration becomes the engine's, and what a binary without it answers.

use sillok_core::{Error as CoreError, ErrorCode};
use sillok_store::{AnyStore, Layout};

use crate::Error;
use crate::config::FoundationDbConfig;

#[cfg(feature = "fdb")]
pub(crate) async fn open(config: &FoundationDbConfig, layout: Layout) -> Result<AnyStore, Error> {
    use sillok_store_fdb::{FdbConfig, FdbStore, NotAName};

    let refused = |error: NotAName| {
        let why = format!("configuration foundationdb.installation: {error}");
        CoreError::new(ErrorCode::InvalidArgument, why)
    };
    let engine = FdbConfig {
        cluster_file: config.cluster_file.clone(),
        installation: config.installation.parse().map_err(refused)?,
        layout,
        timeout_ms: config.timeout_ms,
    };
    let store = FdbStore::open(&engine)
        .await
        .map_err(|source| match source {
            sillok_store::Error::Unavailable { .. } => Error::Cluster {
                cluster_file: config.cluster_file.clone(),
                source,
            },
            source => Error::Installation {
                installation: config.installation.clone(),
                source,
            },
        })?;
    Ok(AnyStore::new(store))
}

#[cfg(not(feature = "fdb"))]
#[expect(clippy::unused_async, reason = "the same call as with the feature")]
pub(crate) async fn open(_: &FoundationDbConfig, _: Layout) -> Result<AnyStore, Error> {
    let why = "configuration store.engine: this binary was built without FoundationDB, which takes \
               the cargo feature `fdb`";
    Err(CoreError::new(ErrorCode::InvalidArgument, why).into())
}

/// To be called before a process ends that opened a store, when nothing runs any more: the client
/// library of FoundationDB wants its network stopped before it is unloaded. Does nothing where none runs.
pub fn stop_network() {
    #[cfg(feature = "fdb")]
    sillok_store_fdb::stop_network();
}
