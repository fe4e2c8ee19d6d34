//! The composition root: which engines a server runs with, and in which order they start.
//!
//! Owns opening a data directory and filling the ports. It must not know HTTP.

use std::io::Write;
use std::sync::Arc;

use sillok_actors::audit::is_operators;
use sillok_actors::{Node, Ports};
use sillok_builtin::{ExactIndex, HashEmbedder, RuleCognifier};
use sillok_bus_nats::NatsStream;
use sillok_core::id::TokenId;
use sillok_core::limits::TOKEN_LIFETIME_MS_MAX;
use sillok_core::ports::{Clock, Embedder, VectorIndex};
use sillok_core::principal::{Actor, PrincipalId, PrincipalKind};
use sillok_core::scope::ScopePrefix;
use sillok_core::slot::{SLOT_HASH, SLOTS};
use sillok_core::token::{Token, hash_secret};
use sillok_store::{
    Error as StoreError, FjallConfig, FjallStore, Layout, RangeOptions, Read, Store as _, Txn, keys,
};
use sillok_vectors_lance::{LanceConfig, LanceIndex};

use crate::Error;
use crate::cognifying::Aside;
use crate::config::{Config, IndexEngine, StoreConfig};
use crate::data_directory::DataDirectory;
use crate::system::{SystemClock, rng_factory};

/// The store that a server runs on.
pub type Store = FjallStore;

/// The exit status of a process whose journal failed.
pub const EXIT_STORE_FAILED: i32 = 70;

/// Tokens that an operator may have in the store. More than anybody makes.
const TOKENS_READ_MAX: usize = 100_000;

/// An opened data directory: nobody else has it until this is dropped.
pub struct OpenData {
    /// Its files.
    pub directory: DataDirectory,
    /// The store.
    pub store: Store,
    /// What fills the ports.
    pub ports: Ports,
}

/// Opens the data directory that a configuration names, and makes it first where there is none.
/// Opening takes time when the index is large; it runs on threads that may wait.
///
/// # Errors
/// [`Error::Locked`] at once when another process has it, [`Error::NewerFormat`] without a change,
/// and what else stands in the way.
pub async fn open_data_dir(config: &Config) -> Result<OpenData, Error> {
    let config = config.clone();
    let opened = tokio::task::spawn_blocking(move || open(&config)).await;
    opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

fn open(config: &Config) -> Result<OpenData, Error> {
    let directory = DataDirectory::create(&config.server.data)?;
    let store = open_store(&directory, &config.store)?;
    let embedder: Arc<dyn Embedder> = Arc::new(HashEmbedder);
    let ports = Ports {
        clock: Arc::new(SystemClock::start()),
        rng: rng_factory(),
        index: open_index(&directory, config, embedder.as_ref())?,
        embedder,
        cognifier: Arc::new(Aside(RuleCognifier)),
        peers: None,
        stream: None,
    };
    Ok(OpenData {
        directory,
        store,
        ports,
    })
}

fn open_store(directory: &DataDirectory, config: &StoreConfig) -> Result<Store, Error> {
    let layout = Layout {
        generation_at_creation: 1,
        slot_count: u32::from(SLOTS),
        slot_hash: SLOT_HASH.to_owned(),
    };
    let fjall = FjallConfig {
        memtable_bytes_max: config.memtable_bytes_max,
        journal_bytes_max: config.journal_bytes_max,
        cache_bytes: config.cache_bytes,
        worker_threads: config.worker_threads,
        ..FjallConfig::new(directory.store(), layout, Arc::new(end_process))
    };
    let path = directory.path().to_owned();
    FjallStore::open(&fjall).map_err(|error| match error {
        StoreError::Locked { .. } => Error::Locked { path },
        StoreError::NewerFormat { found, supported } => Error::NewerFormat {
            path,
            found,
            supported,
        },
        source => Error::Store { path, source },
    })
}

/// Ends the process: what it wrote last may or may not be on the disk, so nothing may be
/// acknowledged any more. The next start reads what is there.
fn end_process(reason: &str) {
    // Standard error may be gone too; the status still tells.
    let _ = writeln!(
        std::io::stderr(),
        "sillok: the store failed, the process ends: {reason}"
    );
    std::process::exit(EXIT_STORE_FAILED);
}

fn open_index(
    directory: &DataDirectory,
    config: &Config,
    embedder: &dyn Embedder,
) -> Result<Arc<dyn VectorIndex>, Error> {
    match config.index.engine {
        IndexEngine::Exact => Ok(Arc::new(ExactIndex::new())),
        IndexEngine::Lance => {
            let lance = LanceConfig {
                index_cache_bytes: config.index.cache_bytes,
                metadata_cache_bytes: config.index.metadata_cache_bytes,
                threads: config.index.threads,
                ..LanceConfig::new(embedder.space(), embedder.dimensions())
            };
            let path = directory.vectors();
            let index = LanceIndex::open(path.clone(), lance).map_err(|source| Error::Index {
                path,
                source: Box::new(source),
            })?;
            Ok(Arc::new(index))
        }
    }
}

/// Starts a node on an opened data directory.
///
/// # Errors
/// What the store or an engine answered.
pub async fn start_node(data: &OpenData, config: &Config) -> Result<Node<Store>, Error> {
    Ok(Node::start(data.store.clone(), data.ports.clone(), config.node_config()).await?)
}

/// Fills the ports that reach beyond this process, where the configuration wants that.
///
/// # Errors
/// [`Error::Nats`].
pub async fn connect(data: &mut OpenData, config: &Config) -> Result<(), Error> {
    if !config.nats.is_used() {
        return Ok(());
    }
    let key = sillok_bus_nats::cluster_key(&config.nats).await?;
    let client = sillok_bus_nats::connect(&config.nats, &config.node.name).await?;
    data.ports.stream = Some(Arc::new(NatsStream::new(client, &config.nats, key)));
    Ok(())
}

/// Makes sure that the administrator's token counts, and that no earlier one does: whoever owns the
/// disk replaces it by removing its file.
///
/// # Errors
/// [`Error::File`] or [`Error::Store`].
pub async fn ensure_administrator(data: &OpenData) -> Result<(), Error> {
    let secret = data.directory.admin_secret()?;
    let failed = |source| Error::Store {
        path: data.directory.path().to_owned(),
        source,
    };
    write_administrator(&data.store, &secret, data.ports.clock.as_ref())
        .await
        .map_err(failed)
}

async fn write_administrator(
    store: &Store,
    secret: &str,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let hash = hash_secret(secret);
    let now = clock.now();
    let mut txn = store.begin().await?;
    let known = txn
        .range(
            &keys::token::range_all(),
            RangeOptions::first(TOKENS_READ_MAX, Read::Conflict),
        )
        .await?;
    let mut is_there = false;
    for (key, value) in known {
        let token = keys::token::decode(&key, &value)?;
        let known_hash = keys::token::parse(&key)?.hash;
        if known_hash == hash {
            is_there = token.principal_at(now).is_some();
        } else if is_operators(&known_hash, &token) && token.revoked_at.is_none() {
            txn.set(
                key,
                keys::token::encode(&Token {
                    revoked_at: Some(now),
                    ..token
                }),
            );
        }
    }
    if !is_there {
        let token = Token {
            id: TokenId::of_hash(&hash),
            actor: Actor {
                kind: PrincipalKind::Human,
                id: PrincipalId::parse("admin").expect("a literal of the right form"),
            },
            prefix: ScopePrefix::All,
            expires: now.plus_ms(TOKEN_LIFETIME_MS_MAX),
            minted_by: Actor::system(),
            minted_at: now,
            revoked_at: None,
        };
        txn.set(keys::token::key(&hash), keys::token::encode(&token));
    }
    txn.commit().await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(path: &std::path::Path) -> Config {
        let mut config = Config::default();
        config.server.data = path.to_owned();
        config.index.engine = IndexEngine::Exact;
        config
    }

    async fn token(data: &OpenData, secret: &str) -> Option<Token> {
        let key = keys::token::key(&hash_secret(secret));
        let value = data
            .store
            .begin()
            .await
            .unwrap()
            .get(&key, Read::Snapshot)
            .await
            .unwrap();
        value.map(|value| keys::token::decode(&key, &value).unwrap())
    }

    #[tokio::test]
    async fn the_administrators_token_is_made_once_and_replaced_by_removing_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let data = open_data_dir(&config(folder.path())).await.unwrap();
        ensure_administrator(&data).await.unwrap();
        let first = data.directory.admin_secret().unwrap();
        let made = token(&data, &first).await.unwrap();
        assert!(is_operators(&hash_secret(&first), &made) && made.revoked_at.is_none());
        ensure_administrator(&data).await.unwrap();
        assert_eq!(token(&data, &first).await.unwrap(), made);
        std::fs::remove_file(data.directory.admin_token_file()).unwrap();
        ensure_administrator(&data).await.unwrap();
        let second = data.directory.admin_secret().unwrap();
        assert!(token(&data, &first).await.unwrap().revoked_at.is_some());
        assert!(token(&data, &second).await.unwrap().revoked_at.is_none());
    }

    #[tokio::test]
    async fn a_second_owner_and_a_newer_format_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let data = open_data_dir(&config(folder.path())).await.unwrap();
        assert!(matches!(
            open_data_dir(&config(folder.path())).await,
            Err(Error::Locked { .. })
        ));
        drop(data);
        assert!(open_data_dir(&config(folder.path())).await.is_ok());
        let format = folder.path().join("store/FORMAT");
        let text = std::fs::read_to_string(&format).unwrap();
        std::fs::write(&format, text.replace('1', "9")).unwrap();
        let refused = open_data_dir(&config(folder.path())).await;
        assert!(matches!(
            refused,
            Err(Error::NewerFormat {
                found: 9,
                supported: 1,
                ..
            })
        ));
    }
}
