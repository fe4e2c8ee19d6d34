//! A session: what a command needs to speak to a server.
//!
//! Owns the choice of server and token. A command that reads, or has maintenance run, and finds no server running
//! starts one in its own process, on a free port, for as long as it lasts, and speaks HTTP to it all the same. Such a
//! server does what it is asked for, and nothing because it is night.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use reqwest::Url;
use sillok_core::scope::Scope;
use sillok_core::trace::{TRACEPARENT, TraceContext};

use crate::args::{Global, Within};
use crate::client::{Client, RetryPolicy, is_loopback};
use crate::data_directory::{DataDirectory, read_token};
use crate::failure::Failure;
use crate::local_server::{LOCK_PAUSE, LOCK_WAIT, LocalServer, NO_NIGHTS, NO_WORK_TREES};
use crate::output::{Output, note};

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
    if let Some(token) = &global.token {
        return Ok(Some(token.clone()));
    }
    if let Some(path) = &global.token_file {
        let token = read_token(path)?;
        let missing = || Failure::Config(format!("there is no token file {}", path.display()));
        return token.map(Some).ok_or_else(missing);
    }
    let stays_here = Url::parse(url).is_ok_and(|url| is_loopback(&url));
    if stays_here {
        data.admin_token()
    } else {
        Ok(None)
    }
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
}
