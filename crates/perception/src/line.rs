//! The line between a model's client and its endpoint: one call, counted in bytes, and cut where the answer
//! goes over its bound.
//!
//! genai 0.7 reads every body as a whole (`Response::text`), in its streaming calls too where an error or an
//! event without an end comes, and takes nothing but a `reqwest::Client`, whose answers nobody else can
//! count. So its client is pointed at a socket in a folder that only this process's user may enter, and what
//! stands behind the socket is here: it connects to the one host that is configured, speaks TLS with it where
//! that is wanted, and hands bytes on until there are too many. Nothing over the bound is ever held. Since the
//! socket leads to one host, no redirect and no proxy variable leads anywhere else; and no feature of TLS is
//! turned on in a `reqwest` that other crates share. A line serves one connection and ends with its call.
//!
//! Owns bytes. It must not know what a request says.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use reqwest::{Url, redirect};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

/// Bytes that are handed on at once.
const CHUNK_BYTES: usize = 16 << 10;

/// Where a line leads.
#[derive(Clone)]
pub(crate) struct Far {
    host: String,
    port: u16,
    /// How TLS is spoken with it; none where the endpoint is plain.
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Far {
    /// The end of a line that leads to `endpoint`, which is a URL of http or https.
    ///
    /// # Errors
    /// Why nobody can be trusted there.
    pub(crate) fn of(endpoint: &Url) -> Result<Self, String> {
        // The host of an IPv6 address stands in brackets in a URL, and without them elsewhere.
        let host = endpoint.host_str().unwrap_or_default();
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let port = endpoint.port_or_known_default().unwrap_or_default();
        let tls = (endpoint.scheme() == "https")
            .then(|| tls_with(&host))
            .transpose()?;
        Ok(Self { host, port, tls })
    }

    async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let plain = TcpStream::connect((self.host.as_str(), self.port)).await?;
        plain.set_nodelay(true)?;
        Ok(match &self.tls {
            None => Box::new(plain),
            Some((connector, name)) => Box::new(connector.connect(name.clone(), plain).await?),
        })
    }
}

fn tls_with(host: &str) -> Result<(TlsConnector, ServerName<'static>), String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err("speaks TLS, and this machine has no root certificates".to_owned());
    }
    with_roots(host, roots)
}

fn with_roots(
    host: &str,
    roots: RootCertStore,
) -> Result<(TlsConnector, ServerName<'static>), String> {
    let name =
        ServerName::try_from(host.to_owned()).map_err(|error| format!("has no name: {error}"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot be spoken with: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((TlsConnector::from(Arc::new(config)), name))
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A line for one call. It ends when it is dropped.
pub(crate) struct Line {
    socket: PathBuf,
    is_over: Arc<AtomicBool>,
    /// Whether the endpoint was reached, so that it may have been told something.
    is_connected: Arc<AtomicBool>,
    /// Why the endpoint was not reached, once that is known.
    unreached: Arc<OnceLock<String>>,
    task: JoinHandle<()>,
    /// Removed with the line.
    _folder: TempDir,
}

impl Line {
    /// Lays a line over which at most `bytes_max` bytes come back.
    ///
    /// # Errors
    /// The socket could not be made.
    pub(crate) fn lay(far: Far, bytes_max: usize) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("sillok")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let socket = folder.path().join("line");
        let listener = UnixListener::bind(&socket)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let is_connected = Arc::new(AtomicBool::new(false));
        let unreached = Arc::new(OnceLock::new());
        let (over, why) = (Arc::clone(&is_over), Arc::clone(&unreached));
        let connected = Arc::clone(&is_connected);
        // Whoever asked sees a connection that ended; why it did is noted beside it.
        let task = tokio::spawn(async move {
            let Ok((near, _)) = listener.accept().await else {
                return;
            };
            drop(listener);
            match far.connect().await {
                Ok(far) => {
                    connected.store(true, Ordering::Release);
                    drop(serve(near, far, bytes_max, &over).await);
                }
                Err(error) => why.set(error.to_string()).expect("it is set once"),
            }
        });
        Ok(Self {
            socket,
            is_over,
            is_connected,
            unreached,
            task,
            _folder: folder,
        })
    }

    /// A client whose requests take this line.
    ///
    /// # Errors
    /// There is none to be had.
    pub(crate) fn client(&self) -> Result<reqwest::Client, &'static str> {
        let web = reqwest::Client::builder()
            .unix_socket(self.socket.clone())
            .no_proxy()
            // The bound counts what comes over the line: it must not grow behind it.
            .no_gzip()
            .redirect(redirect::Policy::none())
            .http1_only()
            .pool_max_idle_per_host(0)
            .build();
        web.map_err(|_| "no HTTP client could be made")
    }

    /// Why the endpoint was not reached; none where it was, and while that is not known.
    pub(crate) fn unreached(&self) -> Option<&str> {
        self.unreached.get().map(String::as_str)
    }

    /// Whether the endpoint was reached: without that, nobody was told anything.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// Whether it was cut because too many bytes came.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
impl Far {
    /// The end of a line that speaks TLS with a port of this machine, and trusts nobody there.
    pub(crate) fn over_tls(port: u16) -> Self {
        let host = "127.0.0.1".to_owned();
        let tls = with_roots(&host, RootCertStore::empty()).expect("an address is a name");
        let tls = Some(tls);
        Self { host, port, tls }
    }
}

/// Hands bytes on, both ways, until one side ends or too many have come back.
async fn serve(
    near: UnixStream,
    far: Box<dyn Stream>,
    bytes_max: usize,
    is_over: &AtomicBool,
) -> io::Result<()> {
    let (mut near_in, mut near_out) = tokio::io::split(near);
    let (mut far_in, mut far_out) = tokio::io::split(far);
    let there = async {
        // Who asks may be done with asking before the answer has come, and who answers with listening: what
        // comes back is read to its end either way.
        if tokio::io::copy(&mut near_in, &mut far_out).await.is_ok() {
            far_out.shutdown().await.ok();
        }
        std::future::pending::<io::Result<()>>().await
    };
    let back = async {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut left = bytes_max;
        loop {
            let count = far_in.read(&mut chunk).await?;
            if count == 0 {
                return near_out.shutdown().await;
            }
            if count > left {
                is_over.store(true, Ordering::Release);
                return Ok(());
            }
            left -= count;
            near_out.write_all(&chunk[..count]).await?;
        }
    };
    tokio::select! {
        result = there => result,
        result = back => result,
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;

    async fn read_all(line: &Line) -> Vec<u8> {
        let mut near = UnixStream::connect(&line.socket).await.unwrap();
        near.write_all(b"ask").await.unwrap();
        let mut answer = Vec::new();
        // A line that is cut may end with an error; what came before it stays.
        drop(near.read_to_end(&mut answer).await);
        answer
    }

    async fn answering(answer: Vec<u8>) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut near, _) = listener.accept().await.unwrap();
            let mut ask = [0; 3];
            near.read_exact(&mut ask).await.unwrap();
            assert_eq!(&ask, b"ask");
            drop(near.write_all(&answer).await);
        });
        Url::parse(&url).unwrap()
    }

    #[tokio::test]
    async fn an_answer_up_to_the_bound_comes_back_and_one_over_it_is_cut() {
        let answer: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let far = Far::of(&answering(answer.clone()).await).unwrap();
        let line = Line::lay(far, answer.len()).unwrap();
        assert_eq!(read_all(&line).await, answer);
        assert!(!line.is_over());
        let far = Far::of(&answering(answer.clone()).await).unwrap();
        let line = Line::lay(far, answer.len() - 1).unwrap();
        let come = read_all(&line).await;
        assert!(come.len() < answer.len() && answer.starts_with(&come));
        assert!(line.is_over());
    }

    #[tokio::test]
    async fn the_socket_is_for_its_owner_alone_and_goes_with_the_line() {
        let far = Far::of(&Url::parse("http://127.0.0.1:1/").unwrap()).unwrap();
        let line = Line::lay(far, 1).unwrap();
        let folder = line.socket.parent().unwrap().to_owned();
        let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
        drop(line);
        assert!(!folder.exists());
    }

    #[tokio::test]
    async fn over_tls_only_whom_a_root_vouches_for_is_spoken_with() {
        let made = rcgen::generate_simple_self_signed(["models.test".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let Ok(mut near) = acceptor.accept(near).await else {
                    continue;
                };
                let mut ask = [0; 3];
                near.read_exact(&mut ask).await.unwrap();
                near.write_all(b"answer").await.unwrap();
                near.shutdown().await.unwrap();
            }
        });
        let mut trusted = RootCertStore::empty();
        trusted.add(made.cert.der().clone()).unwrap();
        let stranger = rcgen::generate_simple_self_signed(["models.test".to_owned()]).unwrap();
        let mut other = RootCertStore::empty();
        other.add(stranger.cert.der().clone()).unwrap();
        for (roots, answer) in [(trusted, b"answer".to_vec()), (other, Vec::new())] {
            let far = Far {
                host: "127.0.0.1".to_owned(),
                port,
                tls: Some(with_roots("models.test", roots).unwrap()),
            };
            let line = Line::lay(far, 1_000).unwrap();
            assert_eq!(read_all(&line).await, answer);
            assert_eq!(line.unreached().is_some(), answer.is_empty());
        }
    }
}
