//! The files of each client, reading them, and replacing them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::Error;
use crate::client::Client;
use crate::limits::CONFIGURATION_BYTES_MAX;
use crate::settings::Environment;

/// The mode of a file that is made.
const MODE: u32 = 0o644;
/// Links that are followed from a configuration file to where it lies.
const LINKS_MAX: usize = 16;

/// Whose configuration it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// A person's, for all that they work on.
    User {
        /// Their home.
        home: PathBuf,
        /// Where the client's own folder lies, where it was moved.
        moved: Option<PathBuf>,
    },
    /// A project's, for all who work on it.
    Project {
        /// Its root.
        root: PathBuf,
    },
}

/// What a file holds of a client's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Hooks, in JSON.
    Hooks,
    /// MCP servers, in JSON.
    Servers,
    /// An MCP server as a section of TOML.
    Section,
}

impl Where {
    /// A person's configuration of a client, by the environment.
    ///
    /// # Errors
    /// [`Error::Nowhere`] where there is no home.
    pub fn of_user(client: Client, environment: Environment<'_>) -> Result<Self, Error> {
        let path = |name: &str| {
            let value = environment(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let moved = match client {
            Client::ClaudeCode => path("CLAUDE_CONFIG_DIR"),
            Client::Codex => path("CODEX_HOME"),
            Client::Cursor => None,
        };
        let home = path("HOME").ok_or(Error::Nowhere("there is no HOME to install to"))?;
        Ok(Self::User { home, moved })
    }
}

/// The files of a client's configuration that hold something of Sillok's.
#[must_use]
pub fn of(client: Client, place: &Where) -> Vec<(Part, PathBuf)> {
    let name = match client {
        Client::ClaudeCode => ".claude",
        Client::Codex => ".codex",
        Client::Cursor => ".cursor",
    };
    let (folder, claude_servers) = match place {
        Where::User { home, moved } => {
            let servers = moved.as_ref().unwrap_or(home).join(".claude.json");
            (moved.clone().unwrap_or_else(|| home.join(name)), servers)
        }
        Where::Project { root } => (root.join(name), root.join(".mcp.json")),
    };
    match client {
        Client::ClaudeCode => vec![
            (Part::Hooks, folder.join("settings.json")),
            (Part::Servers, claude_servers),
        ],
        Client::Codex => vec![
            (Part::Hooks, folder.join("hooks.json")),
            (Part::Section, folder.join("config.toml")),
        ],
        Client::Cursor => vec![
            (Part::Hooks, folder.join("hooks.json")),
            (Part::Servers, folder.join("mcp.json")),
        ],
    }
}

/// A file's text; nothing where there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    let failed = |source| Error::File {
        path: path.to_owned(),
        doing: "read",
        source,
    };
    let refused = |why: &str| Error::Form {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(CONFIGURATION_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > CONFIGURATION_BYTES_MAX {
        return Err(refused("it is too long"));
    }
    let text = String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8"))?;
    Ok(Some(text))
}

/// Puts a text in a file's place, or takes the file away. A link stays, and what it leads to is replaced.
pub(super) fn write(path: &Path, text: Option<&str>) -> Result<(), Error> {
    let failed = |source| Error::File {
        path: path.to_owned(),
        doing: "written",
        source,
    };
    let target = followed(path).map_err(failed)?;
    let Some(text) = text else {
        return fs::remove_file(&target).map_err(failed);
    };
    let mode = fs::metadata(&target).map(|found| found.permissions().mode() & 0o7777);
    let folder = target.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = folder.join(format!(".{name}.sillok.{}", std::process::id()));
    let written = replace(&beside, &target, text, mode.unwrap_or(MODE));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.map_err(failed)
}

fn replace(beside: &Path, target: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(beside)?;
    // The mode of a new file is narrowed by the process; that of one that is replaced stays.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(beside, target)
}

/// Where a path leads, link by link. The last one need not be there.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its links lead in a circle"))
}
