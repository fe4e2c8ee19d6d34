//! The data directory that a command speaks about: which one, who serves it, and what it names as
//! its default scope.
//!
//! Owns `context.json`, and where imports keep how far they came. It must not know what else lies in the directory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sillok_core::scope::Scope;
use sillok_server::config::{Config, Layer};
use sillok_server::data_directory::{ServerFile, make_private};

use crate::args::Global;
use crate::failure::Failure;
use crate::settings;

/// How long a server may take to say that it lives.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(2);

/// What commands without flags go by. Written by `demo`, and by whoever likes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Context {
    /// The scope that reading commands look into.
    pub scope: Option<Scope>,
    /// In the default data directory: the directory that commands without `--data` speak about.
    pub data: Option<PathBuf>,
}

/// A data directory.
#[derive(Clone, Debug)]
pub struct DataDirectory {
    path: PathBuf,
}

impl DataDirectory {
    /// The directory that flags, environment or the configuration name; else the one that the
    /// default directory's context names; else the default one.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn resolve(global: &Global) -> Result<Self, Failure> {
        let loaded = settings::load(global, &[])?;
        let configured = Self {
            path: loaded.config.server.data,
        };
        if loaded.origin.get("server.data") != Some(&Layer::Default) {
            return Ok(configured);
        }
        let named = configured.context()?.data.filter(|path| path.is_dir());
        Ok(named.map_or(configured, |path| Self { path }))
    }

    /// Whether neither flags nor environment nor a configuration name a directory.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn is_default(global: &Global) -> Result<bool, Failure> {
        let loaded = settings::load(global, &[])?;
        Ok(loaded.origin.get("server.data") == Some(&Layer::Default))
    }

    /// The directory that nobody names.
    #[must_use]
    pub fn default_one() -> Self {
        Self {
            path: Config::default().server.data,
        }
    }

    /// The directory at a path.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where imports keep how far they came.
    #[must_use]
    pub fn imports(&self) -> PathBuf {
        self.path.join("imports")
    }

    /// Whether there is a directory that a server could open.
    #[must_use]
    pub fn holds_data(&self) -> bool {
        self.path.join("store").is_dir()
    }

    /// Its context; an empty one when it has none.
    ///
    /// # Errors
    /// [`Failure::Config`] when the file is not one.
    pub fn context(&self) -> Result<Context, Failure> {
        let path = self.path.join("context.json");
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Failure::Config(format!("{} is no context: {error}", path.display()))
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Context::default()),
            Err(source) => Err(Failure::Io {
                what: format!("{} cannot be read", path.display()),
                source,
            }),
        }
    }

    /// Writes its context, whole or not at all.
    ///
    /// # Errors
    /// [`Failure::Io`]
    pub fn set_context(&self, context: &Context) -> Result<(), Failure> {
        let what = || {
            format!(
                "{} cannot be written",
                self.path.join("context.json").display()
            )
        };
        let text = serde_json::to_string_pretty(context).expect("plain data is JSON");
        let draft = self
            .path
            .join(format!("context.json.{}.tmp", std::process::id()));
        make_private(&self.path).map_err(Failure::io(what()))?;
        std::fs::write(&draft, text + "\n").map_err(Failure::io(what()))?;
        std::fs::rename(&draft, self.path.join("context.json")).map_err(Failure::io(what()))
    }

    /// The administrator's token, if there is one.
    ///
    /// # Errors
    /// [`Failure::Config`] when it is there and cannot be read.
    pub fn admin_token(&self) -> Result<Option<String>, Failure> {
        read_token(&self.path.join("admin.token"))
    }

    /// The address of the server that serves it now; none when none answers.
    pub async fn server(&self) -> Option<String> {
        let bytes = std::fs::read(self.path.join("server.json")).ok()?;
        let file: ServerFile = serde_json::from_slice(&bytes).ok()?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .timeout(LIVENESS_TIMEOUT)
            .build()
            .ok()?;
        let answer = client
            .get(format!("{}/livez", file.url))
            .send()
            .await
            .ok()?;
        answer.status().is_success().then_some(file.url)
    }
}

/// A token out of a file; none when there is no such file.
///
/// # Errors
/// [`Failure::Config`] when it is there and cannot be read.
pub fn read_token(path: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::Config(format!(
            "{} cannot be read: {error}",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_context_is_written_and_read_and_a_broken_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDirectory::at(folder.path().join("new"));
        assert_eq!(data.context().unwrap(), Context::default());
        let context = Context {
            scope: Some(Scope::parse("org/a").unwrap()),
            data: None,
        };
        data.set_context(&context).unwrap();
        assert_eq!(data.context().unwrap(), context);
        assert_eq!(
            std::fs::read_dir(data.path()).unwrap().count(),
            1,
            "no draft is left"
        );
        std::fs::write(data.path().join("context.json"), "{\"scope\": \"no\"}").unwrap();
        assert!(matches!(data.context(), Err(Failure::Config(_))));
    }

    #[test]
    fn a_directory_made_for_a_context_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDirectory::at(folder.path().join("share/sillok"));
        data.set_context(&Context::default()).unwrap();
        for path in [data.path(), data.path().parent().unwrap()] {
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", path.display());
        }
    }

    #[test]
    fn a_flag_names_the_directory() {
        let global = Global {
            data: Some("/some/where".into()),
            ..Global::default()
        };
        assert_eq!(
            DataDirectory::resolve(&global).unwrap().path(),
            Path::new("/some/where")
        );
    }

    #[tokio::test]
    async fn a_server_file_whose_server_is_gone_names_no_server() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDirectory::at(folder.path());
        assert_eq!(data.server().await, None);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let url = format!("http://{address}");
        let file = ServerFile {
            url,
            address,
            pid: 1,
            version: "0".to_owned(),
        };
        std::fs::write(
            folder.path().join("server.json"),
            serde_json::to_vec(&file).unwrap(),
        )
        .unwrap();
        assert_eq!(data.server().await, None);
    }

    #[test]
    fn a_token_is_read_without_its_newline() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        assert_eq!(read_token(&path).unwrap(), None);
        std::fs::write(&path, "slk_1\n").unwrap();
        assert_eq!(read_token(&path).unwrap().as_deref(), Some("slk_1"));
    }
}
