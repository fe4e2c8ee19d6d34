//! The command line of `sillok-hook`, read by hand: it starts once for each event of an agent.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::client::Client;

/// What `--help` prints.
pub const USAGE: &str = "\
Tells Sillok of an agent's event, which is read from standard input, and answers the agent.

Usage: sillok-hook <client> <event> [flags]     clients: claude-code, codex, cursor
       sillok-hook flush [flags]                hand over what waits for the server
       sillok-hook waiting [flags]              say what waits

Flags:
  --scope SCOPE       Scope of the work; otherwise SILLOK_SCOPE, or the data directory's default
  --url URL           Address of the server; otherwise SILLOK_URL, or the one that serves the data directory
  --token-file FILE   File with the token; otherwise SILLOK_TOKEN, or on this machine the administrator's
  --data DIR          Data directory; otherwise SILLOK_DATA, or the configured one
  --version, --help

An agent is never held up: with a server that is away, what happened is kept in DATA/hooks and handed over later.
For an agent the exit status is 0 whatever happens. SILLOK_HOOK=off makes every event do nothing.";

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Something happened to an agent.
    Event {
        /// Which agent.
        client: Client,
        /// What, by the client's own name for it.
        event: String,
        /// The event itself, where it comes as an argument and not on standard input.
        document: Option<String>,
    },
    /// Hand over what waits.
    Flush,
    /// Say what waits.
    Waiting,
    /// Say which version this is.
    Version,
    /// Say how it is used.
    Help,
}

/// Flags, as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// The scope of the work.
    pub scope: Option<String>,
    /// The server's address.
    pub url: Option<String>,
    /// The file with the token.
    pub token_file: Option<PathBuf>,
    /// The data directory.
    pub data: Option<PathBuf>,
}

/// Why a command line is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Something is missing, or there is too much.
    #[error("a client and an event are expected; see sillok-hook --help")]
    Form,
    /// No such flag.
    #[error("there is no flag {0}; see sillok-hook --help")]
    Flag(String),
    /// A flag without its value.
    #[error("{0} takes a value")]
    Value(&'static str),
    /// A client that is not known.
    #[error(transparent)]
    Client(#[from] crate::client::Unknown),
}

/// Reads a command line, without the program's name.
///
/// # Errors
/// [`Error`]
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<(Order, Flags), Error> {
    let mut flags = Flags::default();
    let mut words = Vec::new();
    let mut line = line.into_iter();
    while let Some(word) = line.next() {
        let text = word.to_string_lossy().into_owned();
        match text.as_str() {
            "--version" | "-V" => return Ok((Order::Version, flags)),
            "--help" | "-h" => return Ok((Order::Help, flags)),
            "--scope" => flags.scope = Some(text_of("--scope", line.next())?),
            "--url" => flags.url = Some(text_of("--url", line.next())?),
            "--token-file" => flags.token_file = Some(path_of("--token-file", line.next())?),
            "--data" => flags.data = Some(path_of("--data", line.next())?),
            other if other.starts_with("--") => return Err(Error::Flag(text)),
            _ => words.push(text),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let order = match words.as_slice() {
        ["flush"] => Order::Flush,
        ["waiting"] => Order::Waiting,
        [client, event] => event_of(client, event, None)?,
        [client, event, document] => event_of(client, event, Some(document))?,
        _ => return Err(Error::Form),
    };
    Ok((order, flags))
}

fn event_of(client: &str, event: &str, document: Option<&&str>) -> Result<Order, Error> {
    Ok(Order::Event {
        client: client.parse()?,
        event: event.to_owned(),
        document: document.map(|text| (*text).to_owned()),
    })
}

fn text_of(flag: &'static str, value: Option<OsString>) -> Result<String, Error> {
    let text = value.and_then(|value| value.into_string().ok());
    text.ok_or(Error::Value(flag))
}

fn path_of(flag: &'static str, value: Option<OsString>) -> Result<PathBuf, Error> {
    value.map(PathBuf::from).ok_or(Error::Value(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Order, Flags), Error> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn an_event_is_named_by_client_and_name_with_flags_anywhere() {
        let (order, flags) = read("--scope org/a claude-code SessionStart --data d").unwrap();
        let expected = Order::Event {
            client: Client::ClaudeCode,
            event: "SessionStart".to_owned(),
            document: None,
        };
        assert_eq!(order, expected);
        assert_eq!(flags.scope.as_deref(), Some("org/a"));
        assert_eq!(flags.data, Some(PathBuf::from("d")));
        assert_eq!(read("flush").unwrap().0, Order::Flush);
        assert_eq!(read("codex notify --version").unwrap().0, Order::Version);
    }

    #[test]
    fn what_is_no_command_line_is_named() {
        assert_eq!(read(""), Err(Error::Form));
        assert_eq!(read("claude-code"), Err(Error::Form));
        assert_eq!(
            read("codex Stop --fast"),
            Err(Error::Flag("--fast".to_owned()))
        );
        assert_eq!(read("codex Stop --url"), Err(Error::Value("--url")));
        assert!(matches!(read("emacs Stop"), Err(Error::Client(_))));
    }
}
