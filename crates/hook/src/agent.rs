//! The token that an agent of this machine speaks with where nobody gave it one: its project's own.
//!
//! Owns where such a token lies, when it counts no more, that another one is made then, and whom all of them make whoever has
//! one. The administrator's token makes it, and is used for nothing else: whatever an agent asks for, it asks for as an agent.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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
/// What the name of a file ends with that is not put in its place yet.
const NEW: &str = "new";
/// A file that was not put in its place for so long is that of a process that died.
const LEFT_AFTER: Duration = Duration::from_secs(60);
/// Files that are looked at for such ones.
const LOOKED_AT_MAX: usize = 1_024;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read, or is none.
    #[error(transparent)]
    Settings(#[from] settings::Error),
    /// The server did not make one.
    #[error("the server makes no token for an agent")]
    Talk(#[from] talk::Error),
    /// It cannot be kept, or not be taken away.
    #[error("the token of agents at {} cannot be written", path.display())]
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

/// A project's own token.
#[derive(Debug)]
pub struct Own {
    /// The token.
    pub token: String,
    /// Whom it makes whoever has it: the same for each token that is made for the project's agents by one administrator's, since
    /// the server takes all of them for one principal.
    pub by: String,
    /// Why it could not be kept, where it could not: it is used all the same.
    pub unkept: Option<Error>,
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

/// The token of agents of the project that `scope` lies in; none where it lies in none, or where this machine has no
/// administrator's token. It covers that project, counts for a week, and is made anew a day before.
///
/// # Errors
/// [`Error`]
pub fn token(local: Local<'_>, scope: &Scope) -> Result<Option<Own>, Error> {
    let Some(project) = scope.at_level(Level::Project) else {
        return Ok(None);
    };
    let Some(admin) = token_of(&local.data.join("admin.token"))? else {
        return Ok(None);
    };
    let by = short_hash(&admin);
    let principal = short_hash(&format!("agent {ID} of {project}, made by {by}"));
    let own = |token: String, unkept| Own {
        token,
        by: principal.clone(),
        unkept,
    };
    let path = file(local.data, &project);
    let at = now();
    let kept = kept(&path)?.filter(|kept| kept.counts(&by, at));
    if let Some(kept) = kept.as_ref().filter(|kept| kept.lasts(at)) {
        return Ok(Some(own(kept.token.clone(), None)));
    }
    match made(local, &project, &admin, at) {
        Ok((token, expires_ms)) => {
            let new = Kept {
                token,
                expires_ms,
                by,
            };
            let unkept = keep(&path, &new).err();
            let unkept = unkept.map(|source| Error::Kept { path, source });
            Ok(Some(own(new.token, unkept)))
        }
        // The one that there is counts for a while yet.
        Err(_) if kept.is_some() => Ok(kept.map(|kept| own(kept.token, None))),
        Err(error) => Err(error.into()),
    }
}

/// Takes a project's token away that the server does not know any more: the next question makes another one. One that somebody
/// put in its place meanwhile stays.
///
/// # Errors
/// [`Error::Settings`] or [`Error::Kept`]
pub fn forget(data: &Path, scope: &Scope, token: &str) -> Result<(), Error> {
    let Some(project) = scope.at_level(Level::Project) else {
        return Ok(());
    };
    let path = file(data, &project);
    if kept(&path)?.is_none_or(|kept| kept.token != token) {
        return Ok(());
    }
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Kept { path, source })
        }
        _ => Ok(()),
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
    let beside = path.with_extension(format!("{}.{NEW}", std::process::id()));
    if let Some(folder) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(folder)?;
        sweep(folder);
    }
    let written = written(&beside, kept).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn written(beside: &Path, kept: &Kept) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE)
        .open(beside)?;
    file.write_all(&serde_json::to_vec(kept)?)
}

/// Takes away what processes left that died before they put it in its place. That it stays costs a few bytes alone.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.take(LOOKED_AT_MAX).flatten() {
        let path = entry.path();
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let is_left = written.is_ok_and(|at| {
            SystemTime::now()
                .duration_since(at)
                .is_ok_and(|age| age > LEFT_AFTER)
        });
        if is_left && path.extension().is_some_and(|end| end == NEW) {
            let _ = fs::remove_file(path);
        }
    }
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

    fn own(data: &Path, address: &Address, scope: &str) -> Result<Option<Own>, Error> {
        let local = Local {
            data,
            address,
            connect_ms: 1_000,
            deadline: Deadline::after_ms(5_000),
        };
        token(local, &Scope::parse(scope).unwrap())
    }

    fn ask(data: &Path, address: &Address, scope: &str) -> Result<Option<String>, Error> {
        let own = own(data, address, scope)?;
        Ok(own.map(|own| own.token))
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
    #[test]
    fn whoever_has_any_token_of_the_projects_agents_is_one_principal() {
        let data = tempfile::tempdir().unwrap();
        let (address, _asked) = minting();
        let made = |admin: &str, scope: &str| {
            fs::write(data.path().join("admin.token"), admin).unwrap();
            let scope = Scope::parse(scope).unwrap();
            let _ = fs::remove_file(file(data.path(), &scope));
            own(data.path(), &address, scope.as_str()).unwrap().unwrap()
        };
        let first = made("slk_admin", "org/a/project/b");
        let renewed = made("slk_admin", "org/a/project/b");
        assert_ne!(first.token, renewed.token);
        assert_eq!(first.by, renewed.by);
        assert_ne!(first.by, made("slk_admin", "org/a/project/c").by);
        assert_ne!(first.by, made("slk_other", "org/a/project/b").by);
        // Read back it says the same.
        let read = own(data.path(), &nowhere(), "org/a/project/b/worktree/w");
        assert_eq!(
            read.unwrap().unwrap().by,
            made("slk_other", "org/a/project/b").by
        );
    }

    #[test]
    fn a_token_that_a_server_does_not_know_is_forgotten_and_another_one_stays() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("admin.token"), "slk_admin\n").unwrap();
        let (address, _asked) = minting();
        let (task, project) = ("org/a/project/b/worktree/c/task/d", "org/a/project/b");
        let scope = Scope::parse(task).unwrap();
        let first = ask(data.path(), &address, project).unwrap().unwrap();
        forget(data.path(), &scope, "slk_another").unwrap();
        let kept = ask(data.path(), &nowhere(), project).unwrap();
        assert_eq!(kept.as_ref(), Some(&first));
        for _ in 0..2 {
            forget(data.path(), &scope, &first).unwrap();
        }
        assert!(ask(data.path(), &nowhere(), project).is_err());
        let second = ask(data.path(), &address, project).unwrap();
        assert_eq!(second.as_deref(), Some("slk_agent1"));
    }

    #[test]
    fn a_token_that_cannot_be_kept_is_used_and_what_others_left_goes() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("admin.token"), "slk_admin\n").unwrap();
        let (address, _asked) = minting();
        let project = "org/a/project/b";
        let path = file(data.path(), &Scope::parse(project).unwrap());
        let folder = path.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        let left = folder.join("x.7.new");
        let fresh = folder.join("x.8.new");
        fs::write(&left, "{").unwrap();
        fs::write(&fresh, "{").unwrap();
        let old = SystemTime::now() - LEFT_AFTER * 2;
        let file = fs::File::options().append(true).open(&left).unwrap();
        file.set_modified(old).unwrap();
        // A folder stands in its place that no file replaces, and that is no token.
        let beside = path.with_extension(format!("{}.{NEW}", std::process::id()));
        fs::create_dir_all(beside.join("full")).unwrap();
        let own = own(data.path(), &address, project).unwrap().unwrap();
        assert_eq!(own.token, "slk_agent0");
        assert!(matches!(own.unkept, Some(Error::Kept { .. })));
        assert!(!left.exists() && fresh.exists());
    }
}
