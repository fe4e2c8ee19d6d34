//! The token that an agent of this machine speaks with where nobody gave it one: its project's own.
//!
//! Owns where such a token lies, when it counts no more, and that another one is made then. The administrator's token makes it, and
//! is used for nothing else: whatever an agent asks for, it asks for as an agent.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sillok_core::limits::AGENT_TOKEN_LIFETIME_MS_MAX;
use sillok_core::scope::{Level, Scope};
use sillok_core::time::{DAY_MS, Timestamp};

use crate::clock::{Deadline, now};
use crate::settings::{self, read_bounded, token_of};
use crate::talk::{self, Address, Connection, Server};

/// Others than the owner neither enter the directory nor read what lies in it.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Whoever the records of such an agent name as their author.
const ID: &str = "agent";
/// A token that counts for less than this is replaced while it still counts.
const SPARED_MS: u64 = DAY_MS;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read, or is none.
    #[error(transparent)]
    Settings(#[from] settings::Error),
    /// The server did not make one.
    #[error("the server makes no token for an agent")]
    Talk(#[from] talk::Error),
    /// It cannot be kept.
    #[error("{} cannot be written", path.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A token as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    token: String,
    expires_ms: u64,
    /// The administrator's token that made it, which another store has another one of.
    by: String,
}

impl Kept {
    fn counts(&self, by: &str, at: Timestamp) -> bool {
        self.by == by && self.expires_ms > at.ms()
    }

    fn lasts(&self, at: Timestamp) -> bool {
        self.expires_ms > at.ms().saturating_add(SPARED_MS)
    }
}

/// What the server answers, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Minted {
    token: String,
}

/// The server of a data directory on this machine, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct Local<'a> {
    /// The data directory.
    pub data: &'a Path,
    /// Where its server listens.
    pub address: &'a Address,
    /// How long a connection may take, in ms.
    pub connect_ms: u64,
    /// Until when all of it may take.
    pub deadline: Deadline,
}

/// The token of agents of the project that `scope` lies in; none where it lies in none, or where this machine has no administrator's
/// token. It covers that project, counts for a week, and is made anew a day before.
///
/// # Errors
/// [`Error`]
pub fn token(local: Local<'_>, scope: &Scope) -> Result<Option<String>, Error> {
    let Some(project) = scope.at_level(Level::Project) else {
        return Ok(None);
    };
    let Some(admin) = token_of(&local.data.join("admin.token"))? else {
        return Ok(None);
    };
    let by = short_hash(&admin);
    let path = file(local.data, &project);
    let at = now();
    let kept = kept(&path)?.filter(|kept| kept.counts(&by, at));
    if let Some(kept) = kept.as_ref().filter(|kept| kept.lasts(at)) {
        return Ok(Some(kept.token.clone()));
    }
    match made(local, &project, &admin, at) {
        Ok((token, expires_ms)) => {
            let new = Kept {
                token,
                expires_ms,
                by,
            };
            keep(&path, &new).map_err(|source| Error::Kept { path, source })?;
            Ok(Some(new.token))
        }
        // The one that there is counts for a while yet.
        Err(_) if kept.is_some() => Ok(kept.map(|kept| kept.token)),
        Err(error) => Err(error.into()),
    }
}

/// Where the token of a project's agents lies.
fn file(data: &Path, project: &Scope) -> PathBuf {
    let name = format!("{}.json", short_hash(project.as_str()));
    data.join("agents").join(name)
}

fn short_hash(text: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("sillok 2026 agent token");
    hasher.update(text.as_bytes());
    hex::encode(&hasher.finalize().as_bytes()[..8])
}

/// What is kept there; nothing where that is no token, so that one is made in its place.
fn kept(path: &Path) -> Result<Option<Kept>, settings::Error> {
    let bytes = read_bounded(path)?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

fn made(
    local: Local<'_>,
    project: &Scope,
    admin: &str,
    at: Timestamp,
) -> Result<(String, u64), talk::Error> {
    let connection =
        Connection::open(local.address, Some(admin), local.connect_ms, local.deadline)?;
    let body = json!({
        "scope": project, "kind": "agent", "id": ID, "lifetime_s": AGENT_TOKEN_LIFETIME_MS_MAX / 1_000,
    });
    let minted: Minted = Server::new(connection).ask("/v1/tokens", &body)?;
    Ok((minted.token, at.ms() + AGENT_TOKEN_LIFETIME_MS_MAX))
}

/// Writes it whole: who reads at that moment has the former one.
fn keep(path: &Path, kept: &Kept) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(folder)?;
    }
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE)
        .open(&beside)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    fs::rename(beside, path)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// A server that makes tokens, each with the number of its request: its address, and what it was asked.
    fn minting() -> (Address, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (heard, hearing) = channel();
        std::thread::spawn(move || {
            for (place, stream) in listener.incoming().flatten().enumerate() {
                let mut stream = stream;
                let mut bytes = vec![0; 4_096];
                let mut come = String::new();
                while !come.ends_with('}') {
                    let read = stream.read(&mut bytes).unwrap();
                    come.push_str(&String::from_utf8_lossy(&bytes[..read]));
                }
                let body = format!("{{\"token\":\"slk_agent{place}\"}}");
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                stream
                    .write_all(format!("{head}{body}").as_bytes())
                    .unwrap();
                if heard.send(come).is_err() {
                    return;
                }
            }
        });
        (Address::parse(&url).unwrap(), hearing)
    }

    fn ask(data: &Path, address: &Address, scope: &str) -> Result<Option<String>, Error> {
        let local = Local {
            data,
            address,
            connect_ms: 1_000,
            deadline: Deadline::after_ms(5_000),
        };
        token(local, &Scope::parse(scope).unwrap())
    }

    /// An address at which nobody listens.
    fn nowhere() -> Address {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Address::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap()
    }

    #[test]
    fn a_project_has_one_token_of_an_agent_which_the_administrators_makes_once() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("admin.token"), "slk_admin\n").unwrap();
        let (address, asked) = minting();
        let task = "org/a/project/b/worktree/c/task/d";
        let first = ask(data.path(), &address, task).unwrap();
        assert_eq!(first.as_deref(), Some("slk_agent0"));
        let request = asked.recv().unwrap();
        assert!(request.contains("slk_admin"), "{request}");
        assert!(
            request.contains(r#""scope":"org/a/project/b""#)
                && request.contains(r#""kind":"agent""#),
            "{request}"
        );
        // From then on it is read, also where nobody listens.
        assert_eq!(
            ask(data.path(), &nowhere(), "org/a/project/b").unwrap(),
            first
        );
        let other = ask(data.path(), &address, "org/a/project/z").unwrap();
        assert_eq!(other.as_deref(), Some("slk_agent1"));
        let path = file(data.path(), &Scope::parse("org/a/project/b").unwrap());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[test]
    fn without_a_project_or_an_administrator_there_is_none() {
        let data = tempfile::tempdir().unwrap();
        let address = nowhere();
        let project = "org/a/project/b";
        assert_eq!(ask(data.path(), &address, project).unwrap(), None);
        fs::write(data.path().join("admin.token"), "slk_admin\n").unwrap();
        assert_eq!(ask(data.path(), &address, "org/a").unwrap(), None);
        let refused = ask(data.path(), &address, project);
        assert!(matches!(
            refused,
            Err(Error::Talk(talk::Error::Away { .. }))
        ));
    }

    #[test]
    fn a_token_is_replaced_before_it_ends_and_where_another_store_stands_behind_it() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("admin.token"), "slk_admin\n").unwrap();
        let (address, _asked) = minting();
        let scope = "org/a/project/b";
        let path = file(data.path(), &Scope::parse(scope).unwrap());
        let write = |left_ms: u64, admin: &str| {
            let kept = Kept {
                token: "slk_old".to_owned(),
                expires_ms: now().ms() + left_ms,
                by: short_hash(admin),
            };
            keep(&path, &kept).unwrap();
        };
        // Half a day is enough where no other can be had, and is replaced where one can.
        write(DAY_MS / 2, "slk_admin");
        let old = ask(data.path(), &nowhere(), scope).unwrap();
        assert_eq!(old.as_deref(), Some("slk_old"));
        assert_ne!(ask(data.path(), &address, scope).unwrap(), old);
        for (left_ms, admin) in [(0, "slk_admin"), (3 * DAY_MS, "slk_former")] {
            write(left_ms, admin);
            assert!(ask(data.path(), &nowhere(), scope).is_err(), "{admin}");
            assert_ne!(ask(data.path(), &address, scope).unwrap(), old);
        }
        fs::write(&path, "{").unwrap();
        assert_ne!(ask(data.path(), &address, scope).unwrap(), old);
    }
}
