//! Why a command did not do its work, and the exit status that follows.
//!
//! Owns the mapping of every refusal to an exit status. It must not know how a failure is shown:
//! that is the binary's.

use std::path::PathBuf;

use sillok_core::ErrorCode;
use sillok_core::scope::Scope;
use sillok_server::api::Problem;

/// Exit status of a negative verdict or a refusal.
pub const EXIT_VERDICT: u8 = 1;
/// Exit status of wrong usage.
pub const EXIT_USAGE: u8 = 2;
/// Exit status when the same command may succeed later (`EX_TEMPFAIL`).
pub const EXIT_RETRY: u8 = 75;
/// Exit status of a bad configuration (`EX_CONFIG`).
pub const EXIT_CONFIG: u8 = 78;

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server refused.
    #[error("{}: {}", .0.title, .0.detail)]
    Refused(Box<Problem>),
    /// The server does not answer.
    #[error("{url} does not answer")]
    Unreachable {
        /// Its address.
        url: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// No server serves the data directory.
    #[error("no server serves {}", .data.display())]
    NoServer {
        /// The data directory.
        data: PathBuf,
    },
    /// A running server has the data directory that the command wants for itself.
    #[error("{} is in use by the server at {url}", .data.display())]
    InUse {
        /// The data directory.
        data: PathBuf,
        /// The server's address.
        url: String,
    },
    /// What answers does not speak as Sillok does.
    #[error("{url} answers in a way that this version does not understand: {what}")]
    Foreign {
        /// Its address.
        url: String,
        /// What is wrong with the answer.
        what: String,
    },
    /// A configuration, a token or a data directory is not usable.
    #[error("{0}")]
    Config(String),
    /// A flag's value is wrong, in a way that only shows later.
    #[error("{0}")]
    Usage(String),
    /// The command ran, and its verdict is no. Already printed.
    #[error("{0}")]
    Verdict(String),
    /// What was verified is recorded, and its promotion waits to be retried. Already printed.
    #[error("the promotion is not finished: {0}")]
    Unpublished(String),
    /// The command that was to be run could not be started.
    #[error("{command} cannot be started")]
    Start {
        /// Its name.
        command: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file is no recorded work, or cannot be read.
    #[error(transparent)]
    Session(#[from] sillok_sessions::Error),
    /// A file does not say what was imported of it before.
    #[error("{task} holds what the file does not say: it was written anew, or cut")]
    Rewritten {
        /// The task that holds what was imported.
        task: Scope,
    },
    /// The sample repository could not be made.
    #[error(transparent)]
    Sample(#[from] crate::demo::sample_repository::Error),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] crate::git::Error),
    /// A file or a stream failed.
    #[error("{what}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The server or the data directory failed in this very process.
    #[error(transparent)]
    Server(#[from] sillok_server::Error),
    /// A rule was not met.
    #[error(transparent)]
    Core(#[from] sillok_core::Error),
}

impl Failure {
    /// A failed file operation.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// The code of the refusal, if it is one.
    #[must_use]
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused(problem) => Some(problem.code),
            Self::Core(error) => Some(error.code),
            _ => None,
        }
    }

    /// Whether another server has the data directory.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Server(sillok_server::Error::Locked { .. }))
    }

    /// The exit status.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::Refused(problem) => exit_status_of(problem.code),
            Self::Core(error) => exit_status_of(error.code),
            Self::Unreachable { .. }
            | Self::NoServer { .. }
            | Self::InUse { .. }
            | Self::Unpublished(_) => EXIT_RETRY,
            Self::Config(_) => EXIT_CONFIG,
            Self::Server(error) => exit_status_of_server(error),
            Self::Usage(_) | Self::Session(_) | Self::Start { .. } => EXIT_USAGE,
            Self::Foreign { .. }
            | Self::Verdict(_)
            | Self::Sample(_)
            | Self::Git(_)
            | Self::Rewritten { .. }
            | Self::Io { .. } => EXIT_VERDICT,
        }
    }

    /// What the user should do about it, as far as that is known.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        match self {
            Self::Refused(problem) => Some(refusal_advice(problem)),
            Self::Core(error) => Some(error.code.advice().to_owned()),
            Self::Unreachable { .. } => Some(
                "Check the address, or that the server runs; then give the command again."
                    .to_owned(),
            ),
            Self::Unpublished(_) => {
                Some("Mend the cause; then retry it with `sillok verify retry`.".to_owned())
            }
            Self::InUse { .. } => {
                Some("End that server, or name another directory with --data.".to_owned())
            }
            Self::Server(sillok_server::Error::Locked { .. }) => {
                Some("Wait until the other process ends, or speak to it with --url.".to_owned())
            }
            Self::Rewritten { .. } => Some(
                "Import the file into another worktree with --into; what was imported stays as it was."
                    .to_owned(),
            ),
            Self::NoServer { .. } => {
                Some("Start one with `sillok serve`, or name one with --url.".to_owned())
            }
            _ => None,
        }
    }
}

fn refusal_advice(problem: &Problem) -> String {
    let mut advice = problem.advice.clone();
    if let Some(rule) = &problem.rule {
        advice += &format!(" The rule is {rule}.");
    }
    if let Some(current) = &problem.current {
        if let Some(entry) = current.entry {
            advice += &format!(" Current is entry {entry}.");
        }
        if let Some(version) = current.version {
            advice += &format!(" Its version is {version}.");
        }
    }
    if let Some(limit) = &problem.limit {
        advice += &format!(" The limit of {} is {}.", limit.name, limit.value);
    }
    advice
}

/// The exit status when a server does not start, or fails, in this process.
const fn exit_status_of_server(error: &sillok_server::Error) -> u8 {
    use sillok_server::Error as E;
    match error {
        E::Locked { .. } | E::Threads(_) | E::Cluster { .. } | E::Unheard(_) => EXIT_RETRY,
        // Somebody else runs under its name, and will when it is tried again.
        E::Replaced { .. } => EXIT_CONFIG,
        E::Config(_)
        | E::NewerFormat { .. }
        | E::ClusterFile { .. }
        | E::Installation { .. }
        | E::Foreign { .. }
        | E::File { .. }
        | E::Listen { .. }
        | E::Nats(_) => EXIT_CONFIG,
        E::NotEmpty { .. } | E::HalfRestored { .. } => EXIT_CONFIG,
        E::Restore { source, .. } => exit_status_of_restore(source),
        E::Store { .. } | E::Index { .. } => EXIT_VERDICT,
        E::Node(error) => exit_status_of(error.code),
    }
}

/// The exit status when a backup is not restored.
const fn exit_status_of_restore(error: &sillok_server::restore::Error) -> u8 {
    use sillok_server::restore::Error as E;
    match error {
        E::Backup(error) if error.is_newer() => EXIT_CONFIG,
        E::Store(_) | E::NoGeneration(_) => EXIT_CONFIG,
        E::NoSuchEvent { .. } | E::NothingByThen | E::ErasedSince { .. } => EXIT_USAGE,
        E::Backup(_) | E::Content(_) | E::Changed | E::Unsound(_) => EXIT_VERDICT,
        E::Core(error) => exit_status_of(error.code),
    }
}

/// The exit status of a refusal with this code.
#[must_use]
pub const fn exit_status_of(code: ErrorCode) -> u8 {
    use ErrorCode as C;
    match code {
        C::Busy | C::QuotaExceeded | C::Unavailable | C::OutcomeUnknown | C::Fenced => EXIT_RETRY,
        C::InvalidScope
        | C::InvalidId
        | C::InvalidArgument
        | C::InvalidRequest
        | C::InvalidContent
        | C::InvalidPromotion
        | C::InvalidSupersession
        | C::TooLarge
        | C::CitationRequired
        | C::UnresolvableCitation => EXIT_USAGE,
        C::InvalidState
        | C::Unauthenticated
        | C::Forbidden
        | C::NotFound
        | C::Conflict
        | C::CommandReused
        | C::Expired
        | C::HistoryChanged
        | C::Internal => EXIT_VERDICT,
    }
}

#[cfg(test)]
mod tests {
    use sillok_core::Error;
    use sillok_core::error::Current;

    use super::*;

    #[test]
    fn what_may_succeed_later_exits_with_75() {
        let retryable: Vec<&str> = ErrorCode::ALL
            .iter()
            .filter(|code| exit_status_of(**code) == EXIT_RETRY)
            .map(|code| code.as_str())
            .collect();
        assert_eq!(
            retryable,
            [
                "fenced",
                "busy",
                "quota_exceeded",
                "unavailable",
                "outcome_unknown"
            ]
        );
        assert_eq!(
            Failure::NoServer { data: "d".into() }.exit_status(),
            EXIT_RETRY
        );
        let locked = sillok_server::Error::Locked { path: "d".into() };
        assert_eq!(Failure::Server(locked).exit_status(), EXIT_RETRY);
    }

    #[test]
    fn refusals_wrong_usage_and_configuration_have_statuses_of_their_own() {
        assert_eq!(exit_status_of(ErrorCode::Forbidden), EXIT_VERDICT);
        assert_eq!(exit_status_of(ErrorCode::NotFound), EXIT_VERDICT);
        assert_eq!(exit_status_of(ErrorCode::InvalidScope), EXIT_USAGE);
        assert_eq!(Failure::Usage("u".into()).exit_status(), EXIT_USAGE);
        assert_eq!(Failure::Config("c".into()).exit_status(), EXIT_CONFIG);
        assert_eq!(Failure::Verdict("no".into()).exit_status(), EXIT_VERDICT);
        let newer = sillok_server::Error::NewerFormat {
            path: "d".into(),
            found: 9,
            supported: 1,
        };
        assert_eq!(Failure::Server(newer).exit_status(), EXIT_CONFIG);
    }

    #[test]
    fn advice_names_the_rule_and_what_is_current() {
        let refused = |error: &Error| Failure::Refused(Box::new(Problem::new(error, 403, None)));
        let forbidden = refused(&Error::forbidden("entries/project", "no"));
        assert!(forbidden.advice().unwrap().contains("entries/project"));
        let stale = Error::conflict(
            "stale",
            Current {
                version: Some(4),
                entry: None,
                seq: None,
            },
        );
        assert!(refused(&stale).advice().unwrap().contains("version is 4"));
    }
}
