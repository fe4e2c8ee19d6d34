//! The composition root: which engines a server runs with, and in which order they start.
//!
//! Owns opening a data directory and filling the ports. It must not know HTTP.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use prometheus_client::registry::Registry;
use sillok_actors::audit::is_operators;
use sillok_actors::{Node, Ports};
use sillok_bus::Streams;
use sillok_bus::wire::{ClusterKey, RUN_BYTES};
use sillok_bus_nats::server::ListenError;
use sillok_bus_nats::{Client, Counts, Handler, NatsPeers, NatsStream, consumers};
use sillok_core::id::TokenId;
use sillok_core::limits::TOKEN_LIFETIME_MS_MAX;
use sillok_core::ports::{Calendar, Checkpoints, Clock};
use sillok_core::principal::{Actor, Principal, PrincipalId, PrincipalKind};
use sillok_core::scope::ScopePrefix;
use sillok_core::slot::{SLOT_HASH, SLOTS};
use sillok_core::token::{Token, hash_secret};
use sillok_store::fjall_store::OnFatal;
use sillok_store::key_range::successor;
use sillok_store::{
    AnyStore, Error as StoreError, FjallConfig, FjallStore, Layout, RangeOptions, Read, Store as _,
    Txn, keys,
};
use tokio::task::JoinSet;

use crate::Error;
use crate::beats::BeatThread;
use crate::checkpoints::CheckpointDirectory;
use crate::config::{Config, StoreConfig, StoreEngine};
use crate::data_directory::{DataDirectory, Lock};
use crate::engine::Engine;
use crate::metered::EngineCalls;
use crate::system::{SystemClock, rng_factory};
use crate::{engines, foundationdb, spaces};

/// The exit status of a process whose journal failed.
pub const EXIT_STORE_FAILED: i32 = 70;

/// How often the administrator's token is written before the start fails, and the wait between, in ms.
const WRITES_MAX: u32 = 20;
const WRITE_WAIT_MS: u64 = 50;

/// Tokens that are read at once.
const TOKENS_PAGE: usize = 1_000;

/// An opened data directory: nobody else has it until this is dropped.
pub struct OpenData {
    /// Its files.
    pub directory: DataDirectory,
    /// The store.
    pub store: Engine,
    /// What fills the ports.
    pub ports: Ports,
    /// What the calls of its engines came to.
    pub(crate) engine_calls: EngineCalls,
    /// Held where the store itself keeps no other process out of the directory.
    _lock: Option<Lock>,
    /// Where the node beats, if it is one among others.
    _beats: Option<BeatThread>,
    /// Sees to the durable consumers, for as long as it is held.
    consumers: JoinSet<()>,
}

/// Opens the data directory that a configuration names, and makes it first where there is none; and
/// the store, wherever that lies. Opening takes time when the index is large; it runs on threads that
/// may wait.
///
/// # Errors
/// [`Error::Locked`] at once when another process has it, [`Error::NewerFormat`] without a change,
/// [`Error::Config`] where what is stored is of another embedding space, and what else stands in the way.
pub async fn open_data_dir(config: &Config) -> Result<OpenData, Error> {
    match config.store.engine {
        StoreEngine::Embedded => open_aside(config, None).await,
        StoreEngine::FoundationDb => {
            config.check_shared()?;
            let store = foundationdb::open(&config.foundationdb, layout()).await?;
            open_shared(config, store).await
        }
    }
}

/// As [`open_data_dir`], for a node that shares its store with others: the directory holds nothing that
/// could not be had anew.
///
/// # Errors
/// [`Error::Locked`], and what else stands in the way.
pub async fn open_shared(config: &Config, store: AnyStore) -> Result<OpenData, Error> {
    config.check_shared()?;
    open_aside(config, Some(store)).await
}

/// As [`open_data_dir`], to read what is stored as it is: no index is opened and no embedder asked for, whatever space the
/// stored vectors are of.
///
/// # Errors
/// As [`open_data_dir`].
pub async fn open_to_read(config: &Config) -> Result<OpenData, Error> {
    match config.store.engine {
        StoreEngine::Embedded => open_as(config, None, Searched::Never).await,
        StoreEngine::FoundationDb => {
            config.check_shared()?;
            let store = foundationdb::open(&config.foundationdb, layout()).await?;
            open_as(config, Some(store), Searched::Never).await
        }
    }
}

/// Whether anybody searches what is opened.
#[derive(Clone, Copy)]
enum Searched {
    AsConfigured,
    Never,
}

async fn open_aside(config: &Config, shared: Option<AnyStore>) -> Result<OpenData, Error> {
    open_as(config, shared, Searched::AsConfigured).await
}

async fn open_as(
    config: &Config,
    shared: Option<AnyStore>,
    searched: Searched,
) -> Result<OpenData, Error> {
    let config = config.clone();
    let opened = tokio::task::spawn_blocking(move || open(&config, shared, searched)).await;
    opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

fn open(config: &Config, shared: Option<AnyStore>, searched: Searched) -> Result<OpenData, Error> {
    let directory = DataDirectory::create(&config.server.data)?;
    let (store, lock) = match shared {
        None => (Engine::Own(open_store(&directory, &config.store)?), None),
        Some(store) => (Engine::Shared(store), Some(directory.lock()?)),
    };
    let beats = lock.as_ref().map(|_| BeatThread::start()).transpose();
    let beats = beats.map_err(Error::Threads)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let engine_calls = EngineCalls::new(Arc::clone(&clock));
    let spaces = match searched {
        Searched::AsConfigured => {
            spaces::open(&directory.vectors(), config, &store, &engine_calls)?
        }
        Searched::Never => spaces::none(&engine_calls),
    };
    let calendar = config.maintenance.calendar()?;
    let calendar = calendar.map(|calendar| Arc::new(calendar) as Arc<dyn Calendar>);
    let checkpoints = checkpoints(&directory, config)?;
    let cognifier = engines::cognifier(config, Arc::clone(&clock))?;
    let ports = Ports {
        rng: rng_factory(),
        index: spaces.index,
        embedder: spaces.embedder,
        next: spaces.next,
        cognifier: engine_calls.of_cognifier(cognifier),
        git: engines::repositories(config)?,
        clock,
        peers: None,
        streams: None,
        calendar,
        checkpoints,
        tracer: None,
        beats: beats.as_ref().map(BeatThread::handle),
    };
    Ok(OpenData {
        directory,
        store,
        ports,
        engine_calls,
        _lock: lock,
        _beats: beats,
        consumers: JoinSet::new(),
    })
}

/// Where maintenance keeps the checkpoints that it signs, if the configuration wants that.
fn checkpoints(
    directory: &DataDirectory,
    config: &Config,
) -> Result<Option<Arc<dyn Checkpoints>>, Error> {
    let path = &config.maintenance.checkpoints;
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let key = directory.token_key(&config.server)?.checkpoint_key();
    let kept = config.maintenance.checkpoints_kept;
    let directory = CheckpointDirectory::new(path.clone(), kept, key);
    Ok(Some(Arc::new(directory)))
}

/// What a store is created with.
pub(crate) fn layout() -> Layout {
    Layout {
        generation_at_creation: 1,
        slot_count: u32::from(SLOTS),
        slot_hash: SLOT_HASH.to_owned(),
    }
}

/// How the embedded store at a path is opened.
pub(crate) fn embedded(
    path: PathBuf,
    layout: Layout,
    config: &StoreConfig,
    on_fatal: OnFatal,
) -> FjallConfig {
    FjallConfig {
        memtable_bytes_max: config.memtable_bytes_max,
        journal_bytes_max: config.journal_bytes_max,
        cache_bytes: config.cache_bytes,
        worker_threads: config.worker_threads,
        ..FjallConfig::new(path, layout, on_fatal)
    }
}

fn open_store(directory: &DataDirectory, config: &StoreConfig) -> Result<FjallStore, Error> {
    let fjall = embedded(directory.store(), layout(), config, Arc::new(end_process));
    let path = directory.path().to_owned();
    if directory.store_being_restored().exists() && !directory.store().exists() {
        return Err(Error::HalfRestored { path });
    }
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

/// Starts a node on an opened data directory.
///
/// # Errors
/// What the store or an engine answered.
pub async fn start_node(data: &OpenData, config: &Config) -> Result<Node<Engine>, Error> {
    Ok(Node::start(data.store.clone(), data.ports.clone(), config.node_config()).await?)
}

/// Fills the ports that reach beyond this process, where the configuration wants that. The connection to
/// the other nodes, if there are any, to listen on. What comes over it and counts for nothing is counted
/// in `metrics`.
///
/// # Errors
/// [`Error::Nats`].
pub async fn connect(
    data: &mut OpenData,
    config: &Config,
    metrics: &mut Registry,
) -> Result<Option<Connection>, Error> {
    if !config.nats.is_used() {
        return Ok(None);
    }
    let key = sillok_bus_nats::cluster_key(&config.nats).await?;
    let counts = Counts::default();
    counts.register(metrics);
    let node = &config.node.name;
    let client = sillok_bus_nats::connect_counting(&config.nats, node, &counts).await?;
    let stream = |channel| {
        NatsStream::new(client.clone(), &config.nats, key.clone(), channel).counting(counts.clone())
    };
    data.ports.streams = Some(Streams::new(|channel| Arc::new(stream(channel))));
    let consumers = consumers::keep(client.clone(), config.nats.clone(), key.clone());
    data.consumers.spawn(consumers);
    if !data.store.is_shared() {
        return Ok(None);
    }
    let peers = NatsPeers::new(client.clone(), &config.nats, key.clone()).counting(counts.clone());
    let run = peers.run();
    data.ports.peers = Some(Arc::new(peers));
    Ok(Some(Connection {
        client,
        key,
        run,
        counts,
    }))
}

/// A connection to the other nodes of a cluster, with its key.
pub struct Connection {
    client: Client,
    key: ClusterKey,
    run: [u8; RUN_BYTES],
    counts: Counts,
}

impl Connection {
    /// Carries out for a node what others hand over to it, and has it hear their news, until `ends` completes and
    /// what came before is answered, or the connection is closed for good. What comes is counted in `metrics`.
    ///
    /// # Errors
    /// Why nothing is heard any more.
    pub fn listen(
        self,
        node: &Node<Engine>,
        config: &Config,
        metrics: &mut Registry,
        ends: impl Future<Output = ()> + Send + 'static,
    ) -> impl Future<Output = Result<(), ListenError>> + Send + 'static {
        let serving = node.clone();
        let handler: Handler = Arc::new(move |submission, trace| {
            let node = serving.clone();
            Box::pin(async move { node.serve(submission, trace).await })
        });
        let server = sillok_bus_nats::Server::new(self.client, &config.nats, self.key, handler)
            .reading(config.cluster.wire_version())
            .counting(self.counts);
        server.register_metrics(metrics);
        let (name, node) = (config.node.name.clone(), node.clone());
        async move {
            tokio::select! {
                biased;
                served = server.clone().run(&name, ends) => served,
                heard = server.hear(self.run, |slots| node.hear(slots)) => heard,
            }
        }
    }
}

/// Whoever owns the disk: the administrator.
pub(crate) fn operator() -> Principal {
    Principal {
        actor: Actor {
            kind: PrincipalKind::Human,
            id: PrincipalId::parse("admin").expect("a literal of the right form"),
        },
        prefix: ScopePrefix::All,
    }
}

/// Makes sure that the administrator's token counts, and that no earlier one does: whoever owns the
/// disk replaces it by removing its file.
///
/// # Errors
/// [`Error::File`] or [`Error::Store`].
pub async fn ensure_administrator(data: &OpenData, config: &Config) -> Result<(), Error> {
    let secret = data.directory.admin_secret(&config.server)?;
    let mut tries = 0;
    loop {
        tries += 1;
        match write_administrator(&data.store, &secret, data.ports.clock.as_ref()).await {
            // Another node of the cluster does the same at this moment, or whether this one has done it
            // is not known: it is looked at again.
            Err(error) if tries < WRITES_MAX && may_come_again(&error) => {
                data.ports.clock.sleep(WRITE_WAIT_MS).await;
            }
            written => {
                return written.map_err(|source| Error::Store {
                    path: data.directory.path().to_owned(),
                    source,
                });
            }
        }
    }
}

fn may_come_again(error: &StoreError) -> bool {
    error.is_retryable() || matches!(error, StoreError::OutcomeUnknown)
}

async fn write_administrator(
    store: &Engine,
    secret: &str,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let hash = hash_secret(secret);
    let own_key = keys::token::key(&hash);
    let now = clock.now();
    let mut txn = store.begin().await?;
    let own = txn.get(&own_key, Read::Conflict).await?;
    let own = own.map(|value| keys::token::decode(&own_key, &value));
    if own
        .transpose()?
        .is_some_and(|token| token.principal_at(now).is_some())
    {
        // Written with it, every other one was revoked.
        return Ok(());
    }
    let mut range = keys::token::range_all();
    loop {
        let page = RangeOptions::first(TOKENS_PAGE, Read::Conflict);
        let known = txn.range(&range, page).await?;
        let is_last = known.len() < TOKENS_PAGE;
        for (key, value) in known {
            range.begin = successor(&key);
            let token = keys::token::decode(&key, &value)?;
            let known_hash = keys::token::parse(&key)?.hash;
            if is_operators(&known_hash, &token) && token.revoked_at.is_none() {
                let revoked_at = Some(now);
                let revoked = Token {
                    revoked_at,
                    ..token
                };
                txn.set(key, keys::token::encode(&revoked));
            }
        }
        if is_last {
            break;
        }
    }
    let Principal { actor, prefix } = operator();
    let token = Token {
        id: TokenId::of_hash(&hash),
        actor,
        prefix,
        expires: now.plus_ms(TOKEN_LIFETIME_MS_MAX),
        minted_by: Actor::system(),
        minted_at: now,
        revoked_at: None,
    };
    txn.set(own_key, keys::token::encode(&token));
    txn.commit().await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{IndexEngine, ServerConfig};

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
    async fn no_store_is_begun_beside_one_that_is_being_restored() {
        let folder = tempfile::tempdir().unwrap();
        let half = folder.path().join("store.restoring");
        std::fs::create_dir(&half).unwrap();
        let refused = open_data_dir(&config(folder.path())).await.err().unwrap();
        assert!(matches!(refused, Error::HalfRestored { .. }), "{refused}");
        let names = std::fs::read_dir(folder.path()).unwrap();
        assert_eq!(names.count(), 1, "a restore finds the directory empty");
        std::fs::remove_dir(&half).unwrap();
        assert!(open_data_dir(&config(folder.path())).await.is_ok());
    }

    #[tokio::test]
    async fn the_administrators_token_is_made_once_and_replaced_by_removing_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let data = open_data_dir(&config(folder.path())).await.unwrap();
        ensure_administrator(&data, &config(folder.path()))
            .await
            .unwrap();
        let first = data
            .directory
            .admin_secret(&ServerConfig::default())
            .unwrap();
        let made = token(&data, &first).await.unwrap();
        assert!(is_operators(&hash_secret(&first), &made) && made.revoked_at.is_none());
        ensure_administrator(&data, &config(folder.path()))
            .await
            .unwrap();
        assert_eq!(token(&data, &first).await.unwrap(), made);
        write_agents(&data, &made).await;
        std::fs::remove_file(data.directory.admin_token_file(&ServerConfig::default())).unwrap();
        ensure_administrator(&data, &config(folder.path()))
            .await
            .unwrap();
        let second = data
            .directory
            .admin_secret(&ServerConfig::default())
            .unwrap();
        assert!(token(&data, &first).await.unwrap().revoked_at.is_some());
        assert!(token(&data, &second).await.unwrap().revoked_at.is_none());
    }

    /// More tokens of others than are read at once, all before that of the operator.
    async fn write_agents(data: &OpenData, like: &Token) {
        let mut txn = data.store.begin().await.unwrap();
        for number in 0..=TOKENS_PAGE as u64 {
            let mut hash = [0; 32];
            hash[24..].copy_from_slice(&number.to_be_bytes());
            let token = Token {
                id: TokenId::of_hash(&hash),
                minted_by: operator().actor,
                ..like.clone()
            };
            txn.set(keys::token::key(&hash), keys::token::encode(&token));
        }
        txn.commit().await.unwrap();
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
