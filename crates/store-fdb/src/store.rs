//! Opening an installation, and beginning transactions on it.

use std::sync::Arc;

use foundationdb::options::{DatabaseOption, TransactionOption};
use foundationdb::{Database, Transaction};
use sillok_store::{Error, Store};

use crate::config::LIFETIME_MS;
use crate::{FdbConfig, FdbTxn, OpenError, error, header, network, stamps};

/// A store over FoundationDB. A clone is another handle on the same one.
#[derive(Clone)]
pub struct FdbStore(Arc<Shared>);

/// What all transactions of a store need.
pub(crate) struct Shared {
    database: Database,
    /// How long a transaction may take in all, in ms from its creation.
    timeout_ms: i32,
    /// What every key of the installation begins with.
    pub(crate) prefix: Vec<u8>,
    /// What every stamp of the store begins with.
    pub(crate) generation: u16,
    /// The generation as stamps show it.
    stamps_generation: u32,
}

impl Shared {
    /// A transaction that has not begun to read.
    pub(crate) fn transaction(&self) -> Result<Transaction, Error> {
        self.database.create_trx().map_err(error::of_begin)
    }

    /// Gives a transaction that has begun the time that it may take.
    pub(crate) fn give_time(&self, txn: &Transaction) -> Result<(), Error> {
        let timeout = TransactionOption::Timeout(self.timeout_ms);
        txn.set_option(timeout).map_err(error::of_begin)
    }

    /// A key of the installation as the cluster has it.
    pub(crate) fn key(&self, key: &[u8]) -> Vec<u8> {
        [self.prefix.as_slice(), key].concat()
    }
}

impl FdbStore {
    /// Opens an installation, and makes it first where there is none.
    ///
    /// # Errors
    /// What is wrong with the client library or the cluster file; of the store `Unavailable` when the
    /// cluster does not answer in time, `NewerFormat`, `LayoutMismatch`, `Corrupt`.
    pub async fn open(config: &FdbConfig) -> Result<Self, OpenError> {
        network::start()?;
        let path = config.cluster_file.to_string_lossy();
        let database = Database::from_path(&path).map_err(error::of_open)?;
        let ms = |ms: u32| i32::try_from(ms).unwrap_or(i32::MAX);
        // Left to itself the library waits for ever for a cluster that does not answer.
        for option in [
            DatabaseOption::TransactionTimeout(ms(config.begin_timeout_ms)),
            DatabaseOption::TransactionRetryLimit(0),
        ] {
            database.set_option(option).map_err(error::of_open)?;
        }
        // The library looks at the file when it is asked for something first.
        let first = database.create_trx().map_err(error::of_open)?;
        first.get_read_version().await.map_err(error::of_open)?;
        let mut shared = Shared {
            database,
            timeout_ms: ms(config.begin_timeout_ms.saturating_add(LIFETIME_MS)),
            prefix: config.installation.prefix(),
            generation: 0,
            stamps_generation: 0,
        };
        let (generation, version) = header::load_or_create(&shared, &config.layout).await?;
        shared.generation = generation;
        shared.stamps_generation = stamps::through(generation, version).generation;
        Ok(Self(Arc::new(shared)))
    }
}

impl Store for FdbStore {
    type Txn = FdbTxn;

    async fn begin(&self) -> Result<FdbTxn, Error> {
        FdbTxn::begin(Arc::clone(&self.0)).await
    }

    fn generation(&self) -> u32 {
        self.0.stamps_generation
    }
}
