//! What a hook goes by: the server, the token, the scope, and how long it may take.
//!
//! Owns the order in which flags, environment and files count, which is that of `sillok`: the same variables, files and data
//! directory. Nothing of it needs a server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sillok_core::scope::Scope;

use crate::agent::{self, Local};
use crate::arguments::Flags;
use crate::clock::Deadline;
use crate::limits::{ANSWER_MS, ANSWER_MS_MAX, CONNECT_MS, TOOL_ANSWER_MS};
use crate::talk::Address;

/// Bytes of a file that is read for settings.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The environment: a variable's value.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Why there are no settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file holds something else than it should.
    #[error("{} is not {expected}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What it should be.
        expected: &'static str,
    },
    /// A scope that is none.
    #[error("the scope is not usable: {0}")]
    Scope(String),
    /// A number that is none.
    #[error("{name} is no number of milliseconds from 1 to {ANSWER_MS_MAX}")]
    Number {
        /// The variable.
        name: &'static str,
    },
}

/// How long a hook may take, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect_ms: u64,
    /// For all that is said while an agent waits for an answer.
    pub answer_ms: u64,
    /// The same at a tool's hook.
    pub tool_answer_ms: u64,
}

/// What a hook goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The scope of the work, where one is named.
    pub scope: Option<Scope>,
    /// The data directory.
    pub data: PathBuf,
    /// The server's address, where one is configured.
    pub configured_url: Option<String>,
    /// The token that is named, where one is.
    pub named_token: Option<String>,
    /// How long a hook may take.
    pub patience: Patience,
    /// Whether hooks do anything.
    pub enabled: bool,
}

/// What stands in the data directory's `context.json`.
#[derive(Debug, Default, Deserialize)]
struct Context {
    scope: Option<String>,
    data: Option<PathBuf>,
}

/// What stands in `server.json` while a server serves.
#[derive(Debug, Deserialize)]
struct ServerFile {
    url: String,
}

impl Settings {
    /// What flags, environment and files say.
    ///
    /// # Errors
    /// [`Error`]
    pub fn resolve(flags: &Flags, environment: Environment<'_>) -> Result<Self, Error> {
        let text = |name: &str| set(environment, name).and_then(|value| value.into_string().ok());
        let data = data_directory(flags, environment)?;
        let scope = flags.scope.clone().or_else(|| text("SILLOK_SCOPE"));
        let scope = match scope {
            Some(scope) => Some(scope),
            None => context_of(&data)?.scope,
        };
        let scope = scope.map(|path| Scope::parse(&path)).transpose();
        let named_token = match (&flags.token_file, text("SILLOK_TOKEN")) {
            (Some(path), _) => Some(token_of(path)?.ok_or_else(|| Error::Form {
                path: path.clone(),
                expected: "there",
            })?),
            (None, token) => token,
        };
        Ok(Self {
            scope: scope.map_err(|error| Error::Scope(error.to_string()))?,
            configured_url: flags.url.clone().or_else(|| text("SILLOK_URL")),
            named_token,
            patience: Patience {
                connect_ms: number("SILLOK_HOOK_CONNECT_MS", &text, CONNECT_MS)?,
                answer_ms: number("SILLOK_HOOK_ANSWER_MS", &text, ANSWER_MS)?,
                tool_answer_ms: number("SILLOK_HOOK_TOOL_ANSWER_MS", &text, TOOL_ANSWER_MS)?,
            },
            enabled: text("SILLOK_HOOK").is_none_or(|value| value != "off"),
            data,
        })
    }

    /// The server's address: the configured one, or that of whoever serves the data directory; none where nobody does.
    #[must_use]
    pub fn url(&self) -> Option<String> {
        if let Some(url) = &self.configured_url {
            return Some(url.clone());
        }
        let bytes = read_bounded(&self.data.join("server.json")).ok()??;
        let file: ServerFile = serde_json::from_slice(&bytes).ok()?;
        Some(file.url)
    }

    /// The token for a server: the named one; else, on this machine, that of the project's agents.
    ///
    /// # Errors
    /// [`agent::Error`]
    pub fn token(
        &self,
        address: &Address,
        deadline: Deadline,
    ) -> Result<Option<String>, agent::Error> {
        let scope = self.scope.as_ref().filter(|_| address.is_loopback());
        let (None, Some(scope)) = (&self.named_token, scope) else {
            return Ok(self.named_token.clone());
        };
        let local = Local {
            data: &self.data,
            address,
            connect_ms: self.patience.connect_ms,
            deadline,
        };
        agent::token(local, scope)
    }
}

/// A variable that is set to something.
fn set(environment: Environment<'_>, name: &str) -> Option<OsString> {
    environment(name).filter(|value| !value.is_empty())
}

fn number(
    name: &'static str,
    text: &dyn Fn(&str) -> Option<String>,
    usual: u64,
) -> Result<u64, Error> {
    let Some(text) = text(name) else {
        return Ok(usual);
    };
    let number: Option<u64> = text.trim().parse().ok();
    let number = number.filter(|ms| (1..=ANSWER_MS_MAX).contains(ms));
    number.ok_or(Error::Number { name })
}

/// The data directory that flags, environment or the configuration name; else the one that the default directory's context
/// names; else the default one.
fn data_directory(flags: &Flags, environment: Environment<'_>) -> Result<PathBuf, Error> {
    let path = |name: &str| set(environment, name).map(PathBuf::from);
    let named = flags.data.clone();
    let named = named.or_else(|| path("SILLOK__SERVER__DATA"));
    if let Some(named) = named.or_else(|| path("SILLOK_DATA")) {
        return Ok(named);
    }
    if let Some(configured) = configured_data(environment)? {
        return Ok(configured);
    }
    let home = |below: &str| path("HOME").map(|home| home.join(below));
    let share = path("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let share = share.or_else(|| home(".local/share"));
    let usual = share.map_or_else(
        || PathBuf::from("sillok-data"),
        |share| share.join("sillok"),
    );
    let named = context_of(&usual)?.data.filter(|path| path.is_dir());
    Ok(named.unwrap_or(usual))
}

/// `server.data` of the configuration file, where there is one that sets it.
fn configured_data(environment: Environment<'_>) -> Result<Option<PathBuf>, Error> {
    let path = |name: &str| set(environment, name).map(PathBuf::from);
    let file = match path("SILLOK_CONFIG") {
        Some(file) => file,
        None => {
            let home = path("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
            let home = home.or_else(|| path("HOME").map(|home| home.join(".config")));
            match home.map(|home| home.join("sillok/config.toml")) {
                Some(file) => file,
                None => return Ok(None),
            }
        }
    };
    let Some(bytes) = read_bounded(&file)? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).ok();
    let table = text.and_then(|text| text.parse::<toml::Table>().ok());
    let table = table.ok_or(Error::Form {
        path: file,
        expected: "TOML",
    })?;
    let data = table.get("server").and_then(|server| server.get("data"));
    Ok(data.and_then(toml::Value::as_str).map(PathBuf::from))
}

fn context_of(data: &Path) -> Result<Context, Error> {
    let path = data.join("context.json");
    let Some(bytes) = read_bounded(&path)? else {
        return Ok(Context::default());
    };
    serde_json::from_slice(&bytes).map_err(|_| Error::Form {
        path,
        expected: "a context",
    })
}

pub(crate) fn token_of(path: &Path) -> Result<Option<String>, Error> {
    let Some(bytes) = read_bounded(path)? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).map_err(|_| Error::Form {
        path: path.to_owned(),
        expected: "a token",
    })?;
    Ok(Some(text.trim().to_owned()))
}

/// The bytes of a small file; none when there is no such file.
pub(crate) fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    use std::io::Read;
    let failed = |source| Error::File {
        path: path.to_owned(),
        source,
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests;
