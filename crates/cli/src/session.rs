//! A session: what a command needs to speak to a server.
//!
//! Owns the choice of server and token. A command that reads, or has maintenance run, and finds no server running
//! starts one in its own process, on a free port, for as long as it lasts, and speaks HTTP to it all the same. Such a
//! server does what it is asked for, and nothing because it is night.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Instant;

use reqwest::Url;
use sillok_core::scope::{Level, Scope};
use sillok_core::trace::{TRACEPARENT, TraceContext};
use sillok_hook::agent::{self, Local};
use sillok_hook::clock::Deadline;
use sillok_hook::run::chain;
use sillok_hook::talk::Address;

use crate::args::{Global, Within};
use crate::client::{Client, RetryPolicy, is_loopback};
use crate::data_directory::{DataDirectory, read_token};
use crate::failure::Failure;
use crate::local_server::{LOCK_PAUSE, LOCK_WAIT, LocalServer, NO_NIGHTS, NO_WORK_TREES};
use crate::output::{Output, note};

/// How long the server may take to make a token for an agent, in ms.
const AGENT_TOKEN_MS: u64 = 5_000;

/// What a command wants of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To read: a server of its own will do.
    Read,
    /// To have maintenance run: a server of its own will do, until the run is over.
    Maintain,
    /// To write or to follow: a server must be running.
    Server,
}

impl Need {
    /// What a command does with a data directory that it opens itself; nothing where it must not.
    const fn directly(self) -> Option<&'static str> {
        match self {
            Self::Read => Some("reading"),
            Self::Maintain => Some("maintaining"),
            Self::Server => None,
        }
    }
}

/// What a command speaks to, and prints to.
#[derive(Debug)]
pub struct Session {
    /// The client.
    pub client: Client,
    /// Where it prints to.
    pub output: Output,
    data: DataDirectory,
    own_server: Option<LocalServer>,
}

impl Session {
    /// Finds or starts a server, and a token for it.
    ///
    /// # Errors
    /// [`Failure::NoServer`], or what is wrong with the configuration.
    pub async fn open(global: &Global, need: Need) -> Result<Self, Failure> {
        let data = DataDirectory::resolve(global)?;
        let (url, own_server) = match &global.url {
            Some(url) => (url.clone(), None),
            None => find_or_start(global, &data, need).await?,
        };
        let token = token(global, &data, &url)?;
        let client = Client::new(&url, token, RetryPolicy::default())?.within(of_process());
        Ok(Self {
            client,
            output: Output::new(global.json),
            data,
            own_server,
        })
    }

    /// The scope to look into: the one that was named, or the default one of the data directory.
    ///
    /// # Errors
    /// [`Failure::Usage`] when there is neither.
    pub fn scope(&self, within: &Within) -> Result<Scope, Failure> {
        if let Some(scope) = &within.scope {
            return Ok(scope.clone());
        }
        self.data.context()?.scope.ok_or_else(|| {
            Failure::Usage("no scope is named: pass --scope, or set SILLOK_SCOPE".to_owned())
        })
    }

    /// The data directory's folder, where there is one on this machine.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        Some(self.data.path()).filter(|path| path.is_dir())
    }

    /// Stops the server that was started for this session, if one was.
    ///
    /// # Errors
    /// What went wrong in the server.
    pub async fn close(self) -> Result<(), Failure> {
        match self.own_server {
            Some(server) => server.stop().await,
            None => Ok(()),
        }
    }
}

/// The trace that the environment says this process belongs to. What is no trace counts for nothing.
fn of_process() -> Option<TraceContext> {
    let variable = TRACEPARENT.to_ascii_uppercase();
    std::env::var(variable).ok()?.parse().ok()
}

/// The server that serves the data directory; else one of the command's own, where that will do.
async fn find_or_start(
    global: &Global,
    data: &DataDirectory,
    need: Need,
) -> Result<(String, Option<LocalServer>), Failure> {
    let free_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let started = Instant::now();
    loop {
        if let Some(url) = data.server().await {
            return Ok((url, None));
        }
        let Some(doing) = need.directly().filter(|_| data.holds_data()) else {
            return Err(Failure::NoServer {
                data: data.path().to_owned(),
            });
        };
        let more = [NO_NIGHTS, NO_WORK_TREES];
        match LocalServer::start_with(global, data.path(), free_port, &more).await {
            Ok(server) => {
                let path = data.path().display();
                note(&format!("no server is running: {doing} {path} directly"));
                return Ok((server.url().to_owned(), Some(server)));
            }
            // Another command is at it, or a server that has yet to say where it listens.
            Err(failure) if failure.is_locked() && started.elapsed() < LOCK_WAIT => {
                tokio::time::sleep(LOCK_PAUSE).await;
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// The token that the flags name, or the administrator's. That one never leaves this machine
/// unless it was asked for.
fn token(global: &Global, data: &DataDirectory, url: &str) -> Result<Option<String>, Failure> {
    if let Some(token) = named_token(global)? {
        return Ok(Some(token));
    }
    if stays_here(url) {
        data.admin_token()
    } else {
        Ok(None)
    }
}

/// The token that the flags name, if they name one.
fn named_token(global: &Global) -> Result<Option<String>, Failure> {
    if let Some(token) = &global.token {
        return Ok(Some(token.clone()));
    }
    let Some(path) = &global.token_file else {
        return Ok(None);
    };
    let missing = || Failure::Config(format!("there is no token file {}", path.display()));
    read_token(path)?.map(Some).ok_or_else(missing)
}

fn stays_here(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| is_loopback(&url))
}

/// A client that speaks as an agent.
#[derive(Clone, Debug)]
pub struct AgentClient {
    /// The client.
    pub client: Client,
    /// Where no token was named: that of the project.
    own: Option<OwnToken>,
}

/// A project's own token, as it lies in a data directory.
#[derive(Clone, Debug)]
struct OwnToken {
    data: PathBuf,
    scope: Scope,
    token: String,
}

impl AgentClient {
    /// Forgets the project's own token, which its server does not know any more. Whether it speaks with one, so that another one
    /// will be made.
    #[must_use]
    pub fn forget_token(&self) -> bool {
        let Some(own) = &self.own else {
            return false;
        };
        let forgotten = agent::forget(&own.data, &own.scope, &own.token);
        if let Err(error) = &forgotten {
            note(&chain(error));
        }
        forgotten.is_ok()
    }
}

/// A client that speaks as an agent of the project that `scope` lies in, with the token that the flags name or, on this machine,
/// with that project's own. It never speaks as the administrator, and starts no server.
///
/// # Errors
/// [`Failure::NoServer`], or why there is no token.
pub async fn client_of_agent(
    global: &Global,
    scope: Option<&Scope>,
) -> Result<AgentClient, Failure> {
    let data = DataDirectory::resolve(global)?;
    let url = match &global.url {
        Some(url) => url.clone(),
        None => find_or_start(global, &data, Need::Server).await?.0,
    };
    let (named, mut own) = (named_token(global)?, None);
    if named.is_none() && stays_here(&url) {
        own = agents_token(&data, &url, scope).await?;
    }
    let token = named.or_else(|| own.as_ref().map(|own| own.token.clone()));
    let client = Client::new(&url, token, RetryPolicy::default())?;
    Ok(AgentClient {
        client: client.within(of_process()),
        own,
    })
}

/// The token of agents of a project of this machine: see [`sillok_hook::agent`].
async fn agents_token(
    data: &DataDirectory,
    url: &str,
    scope: Option<&Scope>,
) -> Result<Option<OwnToken>, Failure> {
    if data.admin_token()?.is_none() {
        return Ok(None);
    }
    let scope = match scope {
        Some(scope) => Some(scope.clone()),
        None => data.context()?.scope,
    };
    let scope = scope.filter(|scope| scope.at_level(Level::Project).is_some());
    let scope = scope.ok_or_else(|| {
        let why = "there is no token for an agent: name the project whose agent speaks (--scope, or SILLOK_SCOPE), or a token (SILLOK_TOKEN)";
        Failure::Usage(why.to_owned())
    })?;
    let address = Address::parse(url).map_err(|error| Failure::Config(error.to_string()))?;
    let data = data.path().to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let local = Local {
            data: &data,
            address: &address,
            connect_ms: AGENT_TOKEN_MS,
            deadline: Deadline::after_ms(AGENT_TOKEN_MS),
        };
        let own = agent::token(local, &scope);
        own.map(|own| own.map(|own| (own, data, scope)))
    });
    let asked = asked.await.expect("it does not panic");
    let made = asked.map_err(|error| {
        Failure::Config(format!("there is no token for an agent: {}", chain(&error)))
    })?;
    Ok(made.map(|(own, data, scope)| {
        if let Some(error) = &own.unkept {
            note(&chain(error));
        }
        OwnToken {
            data,
            scope,
            token: own.token,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_administrators_token_is_not_sent_to_another_machine() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("admin.token"), "slk_admin\n").unwrap();
        let data = DataDirectory::at(folder.path());
        let global = Global::default();
        let token = |global: &Global, url| token(global, &data, url);
        assert_eq!(
            token(&global, "http://127.0.0.1:1").unwrap().as_deref(),
            Some("slk_admin")
        );
        assert_eq!(token(&global, "http://example.org").unwrap(), None);
        let named = Global {
            token: Some("slk_x".into()),
            ..Global::default()
        };
        assert_eq!(
            token(&named, "http://example.org").unwrap().as_deref(),
            Some("slk_x")
        );
        let missing = Global {
            token_file: Some(folder.path().join("none")),
            ..Global::default()
        };
        assert!(matches!(
            token(&missing, "http://127.0.0.1:1"),
            Err(Failure::Config(_))
        ));
    }

    #[tokio::test]
    async fn a_writing_command_needs_a_server_that_runs_and_others_need_data() {
        let folder = tempfile::tempdir().unwrap();
        let global = Global {
            data: Some(folder.path().into()),
            ..Global::default()
        };
        for need in [Need::Server, Need::Read, Need::Maintain] {
            let failure = Session::open(&global, need).await.unwrap_err();
            assert_eq!(failure.exit_status(), crate::failure::EXIT_RETRY);
        }
    }

    #[tokio::test]
    async fn an_agent_of_no_project_is_told_to_name_one() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("admin.token"), "slk_admin\n").unwrap();
        let global = Global {
            data: Some(folder.path().into()),
            url: Some("http://127.0.0.1:9".into()),
            ..Global::default()
        };
        for scope in [None, Some(Scope::parse("org/acme").unwrap())] {
            let failure = client_of_agent(&global, scope.as_ref()).await.unwrap_err();
            assert!(failure.to_string().contains("SILLOK_SCOPE"), "{failure}");
        }
        let secure = Global {
            url: Some("https://127.0.0.1:9".into()),
            ..global
        };
        let scope = Scope::parse("org/acme/project/api").unwrap();
        let failure = client_of_agent(&secure, Some(&scope)).await.unwrap_err();
        assert!(failure.to_string().contains("plain http"), "{failure}");
    }
}
