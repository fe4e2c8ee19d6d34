//! Why a server does not start, or ends.

use std::net::SocketAddr;
use std::path::PathBuf;

/// A failed start, or a failure while serving.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is not usable.
    #[error(transparent)]
    Config(#[from] crate::config::Error),
    /// Another process owns the data directory.
    #[error("the data directory {} is in use by another process: one directory has one server", path.display())]
    Locked {
        /// The data directory.
        path: PathBuf,
    },
    /// A newer build wrote the data directory.
    #[error(
        "the data directory {} has format {found}, and this build reads up to {supported}: use a newer build; \
         nothing was changed",
        path.display()
    )]
    NewerFormat {
        /// The data directory.
        path: PathBuf,
        /// What stands there.
        found: u32,
        /// What this build reads.
        supported: u32,
    },
    /// The store cannot be opened.
    #[error("the store in {} cannot be opened", path.display())]
    Store {
        /// The data directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: sillok_store::Error,
    },
    /// The operating system gives no thread.
    #[error("no thread can be started")]
    Threads(#[source] std::io::Error),
    /// The FoundationDB cluster does not answer.
    #[error("the FoundationDB cluster of {} does not answer", cluster_file.display())]
    Cluster {
        /// The file that names the cluster.
        cluster_file: PathBuf,
        /// Why.
        #[source]
        source: sillok_store::Error,
    },
    /// The cluster file names no cluster, or the client library is not the one that is wanted.
    #[error("FoundationDB cannot be used with the cluster file {}", cluster_file.display())]
    ClusterFile {
        /// The file that should name the cluster.
        cluster_file: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What is stored on the FoundationDB cluster is not for this build.
    #[error("the installation {installation} on the FoundationDB cluster cannot be opened")]
    Installation {
        /// The name of the installation.
        installation: String,
        /// Why.
        #[source]
        source: sillok_store::Error,
    },
    /// The index cannot be opened.
    #[error("the index in {} cannot be opened; it can be removed, and is then built again", path.display())]
    Index {
        /// Its directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file of the data directory cannot be used.
    #[error("{doing} {}", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// A file of the data directory does not hold what it should.
    #[error("{} does not hold {expected}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
    },
    /// Something lies where a backup was to be restored to.
    #[error(
        "{} is not empty: a backup is restored into a directory of its own; nothing was changed",
        path.display()
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// A restore into the directory is under way, or was cut off.
    #[error(
        "a restore into {} is under way or was cut off: restore it again; nothing was changed",
        path.display()
    )]
    HalfRestored {
        /// The directory.
        path: PathBuf,
    },
    /// A backup was not restored.
    #[error("the backup {} is not restored; nothing of it was kept", path.display())]
    Restore {
        /// The backup.
        path: PathBuf,
        /// Why.
        #[source]
        source: sillok_actors::restore::Error,
    },
    /// The node does not start, or a task of the operator failed.
    #[error(transparent)]
    Node(#[from] sillok_core::Error),
    /// NATS cannot be used as it is configured. That no server answers is no reason.
    #[error("NATS cannot be used")]
    Nats(#[from] sillok_bus_nats::ConnectError),
    /// Another process runs under this node's name in the cluster, so that this one had to end.
    #[error("another process runs as node {name}: each node has a name of its own")]
    Replaced {
        /// The name.
        name: String,
    },
    /// Nothing is heard of the other nodes any more, so that this one could be handed no command.
    #[error("nothing is heard of the other nodes any more")]
    Unheard(#[from] sillok_bus_nats::server::ListenError),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}
