//! The store over FoundationDB, in a binary that was built with it (feature `fdb`).
//!
//! Owns how the configuration becomes the engine's, and what a binary without it answers.

#[cfg(feature = "fdb")]
pub(crate) use with::{check, open};
#[cfg(not(feature = "fdb"))]
pub(crate) use without::{check, open};

#[cfg(feature = "fdb")]
mod with {
    use sillok_core::{Error as CoreError, ErrorCode};
    use sillok_store::{AnyStore, Error as StoreError, Layout};
    use sillok_store_fdb::{FdbConfig, FdbStore, Installation, OpenError};

    use crate::Error;
    use crate::config::FoundationDbConfig;

    fn installation(config: &FoundationDbConfig) -> Result<Installation, CoreError> {
        let parsed = config.installation.parse();
        parsed.map_err(|error| {
            let why = format!("configuration foundationdb.installation: {error}");
            CoreError::new(ErrorCode::InvalidArgument, why)
        })
    }

    pub(crate) fn check(config: &FoundationDbConfig) -> Result<(), CoreError> {
        installation(config).map(drop)
    }

    pub(crate) async fn open(
        config: &FoundationDbConfig,
        layout: Layout,
    ) -> Result<AnyStore, Error> {
        let engine = FdbConfig {
            cluster_file: config.cluster_file.clone(),
            installation: installation(config)?,
            layout,
            begin_timeout_ms: config.begin_timeout_ms,
        };
        let cluster_file = config.cluster_file.clone();
        let store = FdbStore::open(&engine).await.map_err(|error| match error {
            OpenError::Store(source @ StoreError::Unavailable { .. }) => Error::Cluster {
                cluster_file,
                source,
            },
            OpenError::Store(source) => Error::Installation {
                installation: config.installation.clone(),
                source,
            },
            source @ (OpenError::ClusterFile(_) | OpenError::Library(_)) => Error::ClusterFile {
                cluster_file,
                source: source.into(),
            },
        })?;
        Ok(AnyStore::new(store))
    }
}

#[cfg(not(feature = "fdb"))]
mod without {
    use sillok_core::{Error as CoreError, ErrorCode};
    use sillok_store::{AnyStore, Layout};

    use crate::Error;
    use crate::config::FoundationDbConfig;

    /// Any binary shows a configuration; only one with FoundationDB runs with it.
    pub(crate) fn check(_: &FoundationDbConfig) -> Result<(), CoreError> {
        Ok(())
    }

    pub(crate) async fn open(_: &FoundationDbConfig, _: Layout) -> Result<AnyStore, Error> {
        let why = "configuration store.engine: this binary was built without FoundationDB, which takes \
                   the cargo feature `fdb`";
        Err(CoreError::new(ErrorCode::InvalidArgument, why).into())
    }
}

/// To be called before a process ends that opened a store, when nothing runs any more: the client
/// library of FoundationDB wants its network stopped before it is unloaded. Does nothing where none runs.
pub fn stop_network() {
    #[cfg(feature = "fdb")]
    sillok_store_fdb::stop_network();
}
