//! A server that shows who it is, and lets in only whom it knows: by certificate, nkey and credentials.
//!
//! Keys, certificates and JWTs are made here, anew in each test. A node whom a server does not let in
//! goes on trying, so that a server which is mended is enough: what is wrong is in its log.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::StreamExt as _;
use nkeys::KeyPair;
use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose,
};
use serde_json::{Value, json};
use sillok_bus_nats::{ConnectError, NatsConfig, connect};
use sillok_nats_server::NatsServer;
use tempfile::TempDir;
use tracing_subscriber::EnvFilter;

use super::config_of;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// An authority that vouches for certificates.
struct Authority {
    issuer: CertifiedIssuer<'static, rcgen::KeyPair>,
    /// Where it keeps what it makes.
    folder: TempDir,
}

/// The files of a certificate and its key.
struct Certificate {
    cert: PathBuf,
    key: PathBuf,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("it has no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "an authority of a test");
        let key = rcgen::KeyPair::generate().expect("the system has randomness");
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).expect("it can be signed"),
            folder: tempfile::tempdir().expect("a directory of its own"),
        }
    }

    /// The file with its own certificate.
    fn file(&self) -> PathBuf {
        self.write("ca.pem", &self.issuer.as_ref().pem())
    }

    /// A certificate for a server at 127.0.0.1, or for a client.
    fn certify(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Certificate {
        let names = vec!["127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("it is an address");
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        let key = rcgen::KeyPair::generate().expect("the system has randomness");
        let cert = params.signed_by(&key, &self.issuer);
        let cert = cert.expect("it can be signed");
        Certificate {
            cert: self.write(&format!("{name}.pem"), &cert.pem()),
            key: self.write(&format!("{name}.key"), &key.serialize_pem()),
        }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        written(self.folder.path(), name, text)
    }
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).expect("the folder is the test's");
    file
}

fn seed_of(user: &KeyPair) -> String {
    user.seed().expect("it was made with its seed")
}

/// A server that wants a client's certificate and the seed of one user, and what such a client has.
struct Secured {
    server: NatsServer,
    authority: Authority,
    client: Certificate,
    seed: PathBuf,
}

impl Secured {
    async fn start() -> Self {
        let authority = Authority::new();
        let shown = authority.certify("server", ExtendedKeyUsagePurpose::ServerAuth);
        let user = KeyPair::new_user();
        let settings = format!(
            "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}\n\
             authorization {{ users: [ {{ nkey: {} }} ] }}\n",
            shown.cert,
            shown.key,
            authority.file(),
            user.public_key(),
        );
        Self {
            server: NatsServer::start_with(&settings).await,
            client: authority.certify("client", ExtendedKeyUsagePurpose::ClientAuth),
            seed: authority.write("seed", &format!("{}\n", seed_of(&user))),
            authority,
        }
    }

    /// How a client that has everything reaches it.
    fn config(&self) -> NatsConfig {
        NatsConfig {
            nkey_seed_file: self.seed.clone(),
            ca_file: self.authority.file(),
            cert_file: self.client.cert.clone(),
            cert_key_file: self.client.key.clone(),
            tls_required: true,
            ..config_of(&self.server)
        }
    }
}

/// What this crate logs as a warning in this thread, for as long as it is kept.
pub(super) struct Log {
    written: Written,
    _kept: tracing::subscriber::DefaultGuard,
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(super) fn begin() -> Self {
        let written = Written::default();
        let writer = written.clone();
        let log = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("sillok_bus_nats=warn"))
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        Self {
            written,
            _kept: tracing::subscriber::set_default(log),
        }
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.written.0.lock().clone()).expect("a log is text")
    }
}

/// Publishes something and hears it.
async fn is_let_in(config: &NatsConfig) {
    let log = Log::begin();
    let client = connect(config, "test").await.expect("it can be used");
    let passing = async {
        let mut heard = client.subscribe("a.subject").await.expect("it is open");
        let sent = client.publish("a.subject", "a word".into()).await;
        sent.expect("it is open");
        heard.next().await.expect("it stays open")
    };
    let heard = tokio::time::timeout(PATIENCE, passing).await;
    let heard = heard.unwrap_or_else(|_| panic!("nothing comes: {}", log.text()));
    assert_eq!(&heard.payload[..], b"a word");
    assert_eq!(log.text(), "");
}

/// A client that is not let in does not wait for it, and says why.
async fn is_kept_out(config: &NatsConfig, why: &[&str]) {
    let log = Log::begin();
    let begun = Instant::now();
    let client = connect(config, "test").await.expect("it can be used");
    while !why.iter().any(|why| log.text().contains(why)) {
        assert!(begun.elapsed() < PATIENCE, "no {why:?} in {}", log.text());
        assert_ne!(client.connection_state(), State::Connected, "it was let in");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // It goes on trying, and does not say the same thing over and over.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_ne!(client.connection_state(), State::Connected, "it was let in");
    let text = log.text();
    let lines = text.lines().filter_map(|line| line.split_once("WARN"));
    let mut said: Vec<&str> = lines.map(|(_, said)| said).collect();
    assert!(
        said.iter().all(|said| said.contains("server=\"127.0.0.1:")),
        "{text}"
    );
    said.sort_unstable();
    said.dedup();
    assert_eq!(said.len(), text.lines().count(), "{text}");
}

#[tokio::test]
async fn who_has_certificate_and_seed_is_let_in() {
    let secured = Secured::start().await;
    is_let_in(&secured.config()).await;
    // The server says that it wants TLS, and a URL may say so too.
    let servers = secured.server.url().replace("nats://", "tls://");
    for config in [
        NatsConfig {
            tls_required: false,
            ..secured.config()
        },
        NatsConfig {
            servers,
            ..secured.config()
        },
    ] {
        is_let_in(&config).await;
    }
}

#[tokio::test]
async fn a_server_that_another_authority_vouches_for_is_not_believed() {
    let secured = Secured::start().await;
    let other = Authority::new();
    let config = NatsConfig {
        ca_file: other.file(),
        ..secured.config()
    };
    is_kept_out(&config, &["invalid peer certificate"]).await;
}

#[tokio::test]
async fn who_shows_no_certificate_or_one_of_another_authority_is_kept_out() {
    let secured = Secured::start().await;
    let none = NatsConfig {
        cert_file: PathBuf::new(),
        cert_key_file: PathBuf::new(),
        ..secured.config()
    };
    is_kept_out(&none, &["CertificateRequired", "BadCertificate"]).await;
    let other = Authority::new();
    let shown = other.certify("client", ExtendedKeyUsagePurpose::ClientAuth);
    let foreign = NatsConfig {
        cert_file: shown.cert,
        cert_key_file: shown.key,
        ..secured.config()
    };
    let why = ["UnknownCA", "BadCertificate", "DecryptError"];
    is_kept_out(&foreign, &why).await;
}

#[tokio::test]
async fn who_has_another_seed_or_none_is_kept_out() {
    let secured = Secured::start().await;
    let other = secured
        .authority
        .write("other", &seed_of(&KeyPair::new_user()));
    for seed in [other, PathBuf::new()] {
        let config = NatsConfig {
            nkey_seed_file: seed,
            ..secured.config()
        };
        is_kept_out(&config, &["authorization violation"]).await;
    }
    let config = NatsConfig {
        nkey_seed_file: secured.authority.write("no-seed", "SUNO"),
        ..secured.config()
    };
    is_kept_out(&config, &["failed signing nonce"]).await;
}

#[tokio::test]
async fn nothing_is_said_in_the_clear_to_a_server_without_tls_where_that_is_wanted() {
    let plain = NatsServer::start().await;
    is_let_in(&config_of(&plain)).await;
    let authority = Authority::new();
    let config = NatsConfig {
        ca_file: authority.file(),
        tls_required: true,
        ..config_of(&plain)
    };
    is_kept_out(&config, &["received corrupt message", "InvalidContentType"]).await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named_at_once() {
    let secured = Secured::start().await;
    let gone = secured.authority.folder.path().join("gone");
    let with = |change: fn(&mut NatsConfig, PathBuf)| {
        let mut config = secured.config();
        change(&mut config, gone.clone());
        config
    };
    for config in [
        with(|config, gone| config.ca_file = gone),
        with(|config, gone| config.cert_file = gone),
        with(|config, gone| config.cert_key_file = gone),
        with(|config, gone| config.nkey_seed_file = gone),
        with(|config, gone| config.credentials_file = gone),
    ] {
        match connect(&config, "test").await {
            Err(ConnectError::File { file, .. }) => assert_eq!(file, gone.display().to_string()),
            other => panic!("{other:?}"),
        }
    }
}

/// What one key says of another one, signed, as NATS writes it.
fn jwt(by: &KeyPair, of: &KeyPair, nats: &Value) -> String {
    let head = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let said = json!({
        "jti": of.public_key(),
        "iat": 1_700_000_000,
        "iss": by.public_key(),
        "sub": of.public_key(),
        "name": "test",
        "nats": nats,
    });
    let [head, said] = [head, said].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let text = format!("{head}.{said}");
    let signed = by.sign(text.as_bytes()).expect("it was made with its seed");
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signed))
}

/// A credentials file: what an account says of a user, and a seed.
fn credentials(account: &KeyPair, user: &KeyPair, seed: &KeyPair) -> String {
    let limits = json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 });
    format!(
        "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
        jwt(account, user, &limits),
        seed_of(seed),
    )
}

#[tokio::test]
async fn credentials_let_in_whom_an_account_of_the_server_vouches_for() {
    let operator = KeyPair::new_operator();
    let (account, system) = (KeyPair::new_account(), KeyPair::new_account());
    let operated = json!({ "type": "operator", "version": 2 });
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1,
    });
    let accounted = json!({ "type": "account", "version": 2, "limits": limits });
    // With JetStream a server of an operator wants an account of its own.
    let settings = format!(
        "operator: {}\nsystem_account: {1}\nresolver: MEMORY\nresolver_preload: {{ {1}: {2}, {3}: {4} }}\n",
        jwt(&operator, &operator, &operated),
        system.public_key(),
        jwt(&operator, &system, &accounted),
        account.public_key(),
        jwt(&operator, &account, &accounted),
    );
    let server = NatsServer::start_with(&settings).await;
    let folder = tempfile::tempdir().expect("a directory of its own");
    let with = |name: &str, text: &str| NatsConfig {
        credentials_file: written(folder.path(), name, text),
        ..config_of(&server)
    };
    let user = KeyPair::new_user();
    is_let_in(&with("right", &credentials(&account, &user, &user))).await;
    let stranger = KeyPair::new_account();
    let unknown = credentials(&stranger, &user, &user);
    is_kept_out(&with("unknown", &unknown), &["authorization violation"]).await;
    let stolen = credentials(&account, &user, &KeyPair::new_user());
    is_kept_out(&with("stolen", &stolen), &["authorization violation"]).await;
    let error = connect(&with("junk", "junk"), "test").await;
    let error = error.expect_err("it holds no credentials").to_string();
    assert!(error.contains("junk"), "{error}");
}
