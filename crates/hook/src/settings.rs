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
use crate::speaker::Speaker;
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

/// Where the token is that was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedToken {
    /// It is this one.
    Given(String),
    /// It lies in this file, which is read where it is needed: what happened is written down without it.
    In(PathBuf),
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
    pub named_token: Option<NamedToken>,
    /// How long a hook may take.
    pub patience: Patience,
    /// Whether hooks do anything.
    pub enabled: bool,
    /// What of it is not usable, and counts as if it was not there: a line each.
    pub said: Vec<String>,
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
            (Some(path), _) => Some(NamedToken::In(path.clone())),
            (None, token) => token.map(NamedToken::Given),
        };
        let mut said = Vec::new();
        let mut number = |name, usual| number(name, &text, usual, &mut said);
        let patience = Patience {
            connect_ms: number("SILLOK_HOOK_CONNECT_MS", CONNECT_MS),
            answer_ms: number("SILLOK_HOOK_ANSWER_MS", ANSWER_MS),
            tool_answer_ms: number("SILLOK_HOOK_TOOL_ANSWER_MS", TOOL_ANSWER_MS),
        };
        Ok(Self {
            scope: scope.map_err(|error| Error::Scope(error.to_string()))?,
            configured_url: flags.url.clone().or_else(|| text("SILLOK_URL")),
            named_token,
            patience,
            enabled: text("SILLOK_HOOK").is_none_or(|value| value != "off"),
            data,
            said,
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

    /// Whom a server hears: whoever the named token is of; else, on this machine, an agent of the project.
    ///
    /// # Errors
    /// [`agent::Error`]
    pub fn speaker(&self, address: &Address, deadline: Deadline) -> Result<Speaker, agent::Error> {
        match &self.named_token {
            Some(NamedToken::Given(token)) => return Ok(Speaker::Named(token.clone())),
            Some(NamedToken::In(path)) => {
                let token = token_of(path)?.ok_or_else(|| Error::Form {
                    path: path.clone(),
                    expected: "there",
                })?;
                return Ok(Speaker::Named(token));
            }
            None => {}
        }
        let Some(scope) = self.scope.as_ref().filter(|_| address.is_loopback()) else {
            return Ok(Speaker::Nobody);
        };
        let local = Local {
            data: &self.data,
            address,
            connect_ms: self.patience.connect_ms,
            deadline,
        };
        let own = agent::token(local, scope)?;
        Ok(own.map_or(Speaker::Nobody, Speaker::Own))
    }
}

/// A variable that is set to something.
fn set(environment: Environment<'_>, name: &str) -> Option<OsString> {
    environment(name).filter(|value| !value.is_empty())
}

/// A number of milliseconds. One that is none costs no event: the usual one counts, and that is said.
fn number(
    name: &str,
    text: &dyn Fn(&str) -> Option<String>,
    usual: u64,
    said: &mut Vec<String>,
) -> u64 {
    let Some(text) = text(name) else {
        return usual;
    };
    let number: Option<u64> = text.trim().parse().ok();
    let number = number.filter(|ms| (1..=ANSWER_MS_MAX).contains(ms));
    number.unwrap_or_else(|| {
        said.push(format!(
            "{name} is no number of milliseconds from 1 to {ANSWER_MS_MAX}, and {usual} counts"
        ));
        usual
    })
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
