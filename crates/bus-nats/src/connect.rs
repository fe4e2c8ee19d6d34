//! Connecting to NATS.
//!
//! Owns how a connection is made and kept. A node starts and serves while nobody answers: what it has
//! to say then waits in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, Server};
use parking_lot::Mutex;
use sillok_bus::wire::ClusterKey;

use crate::config::{NatsConfig, named};
use crate::counts::Counts;

/// How often a connection is tried, and its other end looked at.
const PING_EVERY: Duration = Duration::from_secs(2);
/// Messages that wait for one of a node's listeners, at most. NATS lets them be as large as a part of a
/// command, and what comes while so many wait is lost, and counted.
const SUBSCRIPTION_MESSAGES: usize = 1_024;
/// The longest wait before a connection is tried again.
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Why there is no connection. That no server answers is no reason: it is tried again for ever.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A file that the configuration names cannot be used.
    #[error("{file}: {source}")]
    File {
        /// Its path.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file with the cluster's key holds something else.
    #[error("{file}: a key has 64 hexadecimal digits")]
    Key {
        /// Its path.
        file: String,
    },
    /// The servers, or what is said about TLS, cannot be used.
    #[error("{0}")]
    Refused(#[from] async_nats::ConnectError),
}

/// A connection, which may still be under way, and which comes back by itself. Why a server was not
/// reached, or did not let this node in, is in the log; it may do so later, when a certificate was made
/// anew, say.
///
/// # Errors
/// If the configuration cannot be used.
pub async fn connect(config: &NatsConfig, node: &str) -> Result<Client, ConnectError> {
    connect_counting(config, node, &Counts::default()).await
}

/// As [`connect`], counting what is dropped since it came too fast.
///
/// # Errors
/// As [`connect`].
pub async fn connect_counting(
    config: &NatsConfig,
    node: &str,
    counts: &Counts,
) -> Result<Client, ConnectError> {
    let mut options = options(node, counts);
    let files = [&config.ca_file, &config.cert_file, &config.cert_key_file];
    for file in files.into_iter().filter_map(named) {
        // They are read at each attempt, which would fail for ever.
        let read = tokio::fs::read(file).await;
        read.map_err(|source| unusable(file, source))?;
    }
    if let Some(file) = named(&config.credentials_file) {
        options = options
            .credentials_file(file)
            .await
            .map_err(|source| unusable(file, source))?;
    }
    if let Some(file) = named(&config.nkey_seed_file) {
        let seed = tokio::fs::read_to_string(file)
            .await
            .map_err(|source| unusable(file, source))?;
        options = options.nkey(seed.trim().to_owned());
    }
    if let Some(file) = named(&config.ca_file) {
        options = options.add_root_certificates(file.clone());
    }
    if let (Some(cert), Some(key)) = (named(&config.cert_file), named(&config.cert_key_file)) {
        options = options.add_client_certificate(cert.clone(), key.clone());
    }
    if config.tls_required {
        options = options.require_tls(true);
    }
    let servers: Vec<&str> = config.servers().collect();
    Ok(options.connect(servers).await?)
}

/// What holds for every connection.
fn options(node: &str, counts: &Counts) -> ConnectOptions {
    let mut options = ConnectOptions::new()
        .name(format!("sillok {node}"))
        .retry_on_initial_connect()
        .ping_interval(PING_EVERY)
        .connection_timeout(PING_EVERY)
        .max_reconnects(None)
        .subscription_capacity(SUBSCRIPTION_MESSAGES)
        .reconnect_delay_callback(|attempts| {
            let doubled = 1_u64 << attempts.min(10);
            Duration::from_millis(10 * doubled).min(RECONNECT_MAX)
        });
    let counts = counts.clone();
    options = options.event_callback(move |event| {
        if let Event::SlowConsumer(subscription) = event {
            counts.drops(subscription);
        }
        ready(())
    });
    let said = Mutex::default();
    // It is asked before each attempt, and leaves the choice to the client.
    options.reconnect_to_server_callback(move |servers, _| {
        say(&mut said.lock(), &servers);
        ready(None)
    })
}

/// Logs why servers were not reached, each reason once until the server was.
/// Their URLs may hold passwords, and are not repeated.
fn say(said: &mut BTreeMap<String, BTreeSet<String>>, servers: &[Server]) {
    for server in servers {
        let name = format!("{}:{}", server.addr.host(), server.addr.port());
        let Some(error) = &server.last_error else {
            said.remove(&name);
            continue;
        };
        // The same reason with another time in it, as that of a certificate that is over, is no new one.
        let reason = error.replace(|c: char| c.is_ascii_digit(), "");
        if said.entry(name.clone()).or_default().insert(reason) {
            tracing::warn!(
                server = name,
                error,
                "NATS is out of reach; it is tried again"
            );
        }
    }
}

/// The cluster's key, from the file that the configuration names.
///
/// # Errors
/// If the file cannot be read, or holds something else.
pub async fn cluster_key(config: &NatsConfig) -> Result<ClusterKey, ConnectError> {
    let file = &config.key_file;
    let text = tokio::fs::read_to_string(file)
        .await
        .map_err(|source| unusable(file, source))?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| ConnectError::Key {
        file: file.display().to_string(),
    })?;
    Ok(ClusterKey::new(&bytes))
}

fn unusable(file: &std::path::Path, source: std::io::Error) -> ConnectError {
    ConnectError::File {
        file: file.display().to_string(),
        source,
    }
}
