//! A server from start to end: listening, announcing itself, and stopping in order.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::serve::ListenerExt;
use prometheus_client::registry::Registry;
use sillok_actors::Node;
use sillok_bus_nats::server::ListenError;
use sillok_store::AnyStore;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::Error;
use crate::code::Code;
use crate::composition::{
    Connection, OpenData, connect, ensure_administrator, open_data_dir, open_shared, start_node,
};
use crate::config::{self, Config};
use crate::data_directory::{Announcement, ServerFile};
use crate::engine::Engine;
use crate::http::{self, App, router};
use crate::telemetry::Telemetry;

/// How often it is looked whether another process runs under the node's name.
const REPLACED_EVERY: Duration = Duration::from_millis(200);
/// What is left to the other nodes' last answers beyond their own time.
const SPARED: Duration = Duration::from_secs(1);

/// A server that listens. Requests wait until [`run`](Self::run) is called.
pub struct Server {
    config: Config,
    data: OpenData,
    node: Node<Engine>,
    listener: TcpListener,
    address: SocketAddr,
    /// Carries out what other nodes hand over, and hears their news.
    for_others: Option<JoinHandle<Result<(), ListenError>>>,
    /// Tells it that the node has ended.
    node_ended: watch::Sender<bool>,
    telemetry: Option<Telemetry>,
    /// The work trees that it tells of.
    code: Code,
    /// What `/metrics` shows.
    metrics: Registry,
    /// Taken back when the server ends.
    announcement: Announcement,
}

impl Server {
    /// Opens the data directory, starts the node and listens. Sets up the process's log where
    /// nobody has.
    ///
    /// # Errors
    /// [`Error::Locked`] and [`Error::NewerFormat`] at once, [`Error::Listen`], and what else stands
    /// in the way. Nothing runs then.
    pub async fn start(config: Config) -> Result<Self, Error> {
        crate::logging::start(&config.log)?;
        let data = open_data_dir(&config).await?;
        // What starting takes is not part of whatever starts a server.
        Box::pin(Self::start_with(config, data)).await
    }

    /// As [`start`](Self::start), as a node of a cluster: on a store that it shares with others.
    ///
    /// # Errors
    /// As [`start`](Self::start), and `invalid_argument` where what a cluster needs is not configured.
    pub async fn start_shared(config: Config, store: AnyStore) -> Result<Self, Error> {
        crate::logging::start(&config.log)?;
        let data = open_shared(&config, store).await?;
        // What starting takes is not part of whatever starts a server.
        Box::pin(Self::start_with(config, data)).await
    }

    async fn start_with(config: Config, mut data: OpenData) -> Result<Self, Error> {
        let telemetry = Telemetry::open(&config)?;
        data.ports.tracer = telemetry.as_ref().map(Telemetry::tracer);
        let mut metrics = http::metrics::registry();
        let connection = connect(&mut data, &config, &mut metrics).await?;
        ensure_administrator(&data, &config).await?;
        let code = follow(&data, &config).await?;
        let failed = |source| Error::Listen {
            address: config.server.address,
            source,
        };
        let listener = TcpListener::bind(config.server.address)
            .await
            .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let node = start_node(&data, &config).await?;
        node.register_metrics(&mut metrics);
        data.engine_calls.register(&mut metrics);
        if let Some(telemetry) = &telemetry {
            telemetry.counters().register(&mut metrics);
        }
        let (node_ended, ends) = watch::channel(false);
        let for_others =
            connection.map(|connection| listen(connection, &node, &config, &mut metrics, ends));
        let announcement = data.directory.announce(&ServerFile {
            url: url(address),
            address,
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })?;
        Ok(Self {
            config,
            data,
            node,
            listener,
            address,
            for_others,
            node_ended,
            telemetry,
            code,
            metrics,
            announcement,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base of its URLs.
    #[must_use]
    pub fn url(&self) -> String {
        url(self.address)
    }

    /// The file with the administrator's token.
    #[must_use]
    pub fn admin_token_file(&self) -> PathBuf {
        self.data.directory.admin_token_file(&self.config.server)
    }

    /// The node behind it, for who runs a server in its own process.
    #[must_use]
    pub const fn node(&self) -> &Node<Engine> {
        &self.node
    }

    /// Serves until `shutdown` completes: then takes no further connection, ends tails, finishes
    /// what is under way, and stops the node.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Replaced`] when it ended because another process took its name, and
    /// [`Error::Unheard`] when it could be handed nothing any more by the other nodes.
    pub async fn run(
        self,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), Error> {
        let Self {
            config,
            data,
            node,
            listener,
            mut for_others,
            node_ended,
            telemetry,
            code,
            metrics,
            announcement,
            ..
        } = self;
        let (stop, stopping) = watch::channel(false);
        let key = data.directory.token_key(&config.server)?;
        let app = App::new(
            node.clone(),
            data.store.clone(),
            &config,
            key,
            stopping.clone(),
            metrics,
            code,
        );
        let listener = listener.tap_io(|stream| {
            // Without it every small answer waits for the client's next packet.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection keeps its delay");
            }
        });
        let stopped = wait_for(stopping);
        let serving = axum::serve(listener, router(app)).with_graceful_shutdown(stopped);
        let mut serving = tokio::spawn(async move { serving.await });
        let ended = tokio::select! {
            biased;
            () = shutdown => Ok(()),
            () = replaced(&node) => Err(Error::Replaced {
                name: config.node.name,
            }),
            error = unheard(for_others.as_mut()) => Err(Error::Unheard(error)),
        };
        stop.send_replace(true);
        let patience = Duration::from_millis(config.server.shutdown_ms_max);
        if tokio::time::timeout(patience, &mut serving).await.is_err() {
            tracing::warn!("some connections did not end in time");
            serving.abort();
        }
        node.shutdown().await;
        // Until then it told who asked that the slot has another owner.
        node_ended.send_replace(true);
        // One that was not heard any more was waited for already.
        if let Some(for_others) = for_others
            && !matches!(ended, Err(Error::Unheard(_)))
        {
            fall_silent(for_others, config.nats.last_answers() + SPARED).await;
        }
        if let Some(telemetry) = telemetry {
            telemetry.close().await;
        }
        drop(announcement);
        ended
    }
}

/// Completes when another process runs under the node's name.
async fn replaced(node: &Node<Engine>) {
    while !node.is_replaced() {
        tokio::time::sleep(REPLACED_EVERY).await;
    }
}

/// Follows the work trees that the configuration names. Each is walked for that, on a thread that may wait.
async fn follow(data: &OpenData, config: &Config) -> Result<Code, Error> {
    let invalid = |error: sillok_core::Error| {
        let reason = error.message;
        Error::Config(config::Error::Invalid { reason })
    };
    let (config, cache) = (config.graph.clone(), data.directory.code());
    let following = tokio::task::spawn_blocking(move || Code::follow(&config, cache)).await;
    let code = following.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    code.map_err(invalid)
}

/// Carries out what other nodes hand over and hears their news, until the node `ends` and all is answered.
fn listen(
    connection: Connection,
    node: &Node<Engine>,
    config: &Config,
    metrics: &mut Registry,
    ends: watch::Receiver<bool>,
) -> JoinHandle<Result<(), ListenError>> {
    tokio::spawn(connection.listen(node, config, metrics, wait_for(ends)))
}

/// Waits until all is answered that other nodes handed over. What takes too long is left without an answer.
async fn fall_silent(mut listening: JoinHandle<Result<(), ListenError>>, patience: Duration) {
    match tokio::time::timeout(patience, &mut listening).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error))) => tracing::warn!(%error, "the other nodes were not heard to the end"),
        Ok(Err(panic)) => tracing::error!(%panic, "the other nodes were not heard to the end"),
        Err(_) => {
            tracing::warn!("commands of other nodes are left without an answer");
            listening.abort();
        }
    }
}

/// Completes when nothing is heard of the other nodes any more, for as long as there is no order to end: a node
/// that beats and can be handed nothing would keep its slots from all others.
async fn unheard(for_others: Option<&mut JoinHandle<Result<(), ListenError>>>) -> ListenError {
    let Some(listening) = for_others else {
        return std::future::pending().await;
    };
    match listening.await {
        Ok(Err(error)) => error,
        Ok(Ok(())) => ListenError::Closed("it ended".to_owned()),
        Err(panic) => ListenError::Closed(panic.to_string()),
    }
}

async fn wait_for(mut stopping: watch::Receiver<bool>) {
    // The sender is gone only when the server is.
    let _ = stopping.wait_for(|stop| *stop).await;
}

/// Starts a server and serves until `shutdown` completes.
///
/// # Errors
/// As [`Server::start`] and [`Server::run`].
pub async fn serve(
    config: Config,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    Server::start(config).await?.run(shutdown).await
}

/// The base of the URLs of a server that listens at an address, as a client on this machine uses it.
fn url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        std::net::IpAddr::V4(ip) if ip.is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        std::net::IpAddr::V6(ip) if ip.is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(path: &std::path::Path) -> Config {
        let mut config = Config::default();
        config.server.data = path.to_owned();
        config.server.address = "127.0.0.1:0".parse().unwrap();
        config.index.engine = config::IndexEngine::Exact;
        config
    }

    #[tokio::test]
    async fn a_server_announces_itself_serves_alone_and_lets_go_of_everything() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let server = Server::start(config(folder.path())).await.unwrap();
            assert!(matches!(
                Server::start(config(folder.path())).await,
                Err(Error::Locked { .. })
            ));
            let announced = std::fs::read(folder.path().join("server.json")).unwrap();
            let announced: ServerFile = serde_json::from_slice(&announced).unwrap();
            assert_eq!(
                (announced.address, announced.pid),
                (server.address(), std::process::id())
            );
            let token = std::fs::read_to_string(server.admin_token_file()).unwrap();
            let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
            let running = tokio::spawn(server.run(async move { stopped.await.unwrap() }));
            let client = reqwest::Client::new();
            let ask = |path: &str| {
                client
                    .get(format!("{}{path}", announced.url))
                    .bearer_auth(token.trim())
            };
            assert!(
                ask("/v1/status")
                    .send()
                    .await
                    .unwrap()
                    .status()
                    .is_success()
            );
            let mut tail = ask("/v1/tail?scope=*").send().await.unwrap();
            stop.send(()).unwrap();
            while tail.chunk().await.unwrap().is_some() {}
            running.await.unwrap().unwrap();
            assert!(!folder.path().join("server.json").exists());
            assert!(client.get(&announced.url).send().await.is_err());
            drop(client);
        }
    }

    #[tokio::test]
    async fn a_server_that_hears_nothing_of_the_others_ends_and_lets_go_of_everything() {
        let folder = tempfile::tempdir().unwrap();
        let failed = || Err(ListenError::Closed("the connection is gone".to_owned()));
        let listening = [
            tokio::spawn(async move { failed() }),
            tokio::spawn(async { Ok(()) }),
            tokio::spawn(async { panic!("a planted defect") }),
        ];
        for (listening, why) in listening.into_iter().zip(["gone", "ended", "panic"]) {
            let mut server = Server::start(config(folder.path())).await.unwrap();
            server.for_others = Some(listening);
            let ended = server.run(std::future::pending()).await;
            let Err(Error::Unheard(error)) = ended else {
                panic!("it went on until {ended:?}");
            };
            assert!(error.to_string().contains(why), "{error}");
            assert!(!folder.path().join("server.json").exists());
        }
        // An order to end is one, whatever is heard.
        let mut server = Server::start(config(folder.path())).await.unwrap();
        server.for_others = Some(tokio::spawn(async { Ok(()) }));
        server.run(std::future::ready(())).await.unwrap();
    }

    #[tokio::test]
    async fn the_last_answers_to_others_are_waited_for_no_longer_than_that() {
        let (held, dropped) = tokio::sync::oneshot::channel::<()>();
        let hangs = tokio::spawn(async move {
            let _held = held;
            std::future::pending().await
        });
        fall_silent(hangs, Duration::from_millis(50)).await;
        // It ended with that, and not in the background.
        assert!(dropped.await.is_err());
    }

    #[test]
    fn a_client_on_this_machine_can_use_the_announced_url() {
        assert_eq!(
            url("0.0.0.0:7411".parse().unwrap()),
            "http://127.0.0.1:7411"
        );
        assert_eq!(url("[::]:7411".parse().unwrap()), "http://[::1]:7411");
        assert_eq!(url("10.0.0.7:80".parse().unwrap()), "http://10.0.0.7:80");
    }
}
