//! The closed set of errors that Sillok answers with, on every transport.
//!
//! Owns the codes and what each tells the caller to do. It must not know HTTP, exit codes or any
//! other way to carry an error.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{EntryId, Seq};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $advice:literal;)*) => {
        /// Why a request was not carried out. Closed: a transport maps every one of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $name)] $variant,)*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code's name on every transport.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What the caller should do about it.
            #[must_use]
            pub const fn advice(self) -> &'static str {
                match self { $(Self::$variant => $advice),* }
            }
        }
    };
}

codes! {
    /// A scope path has the wrong syntax.
    InvalidScope = "invalid_scope", "Correct the scope path: org/NAME[/project/NAME[/worktree/NAME[/task/NAME]]].";
    /// An id has the wrong syntax or version.
    InvalidId = "invalid_id", "Correct the id.";
    /// A field's value is not one that the command takes.
    InvalidArgument = "invalid_argument", "Correct the named field.";
    /// The request is not well-formed (JSON, query or header).
    InvalidRequest = "invalid_request", "Correct the form of the request.";
    /// Content is not valid UTF-8 text.
    InvalidContent = "invalid_content", "Send the content as UTF-8 text.";
    /// A promotion would not go strictly upward.
    InvalidPromotion = "invalid_promotion", "Name a target that is a wider scope holding the source.";
    /// A supersession would make a cycle, cross scopes, or join an entry to itself.
    InvalidSupersession = "invalid_supersession", "Name an active entry of the same scope and another line.";
    /// The task's status does not allow the command.
    InvalidState = "invalid_state", "Look at the task's status first.";
    /// A size or count is over its limit.
    TooLarge = "too_large", "Stay under the named limit.";
    /// The write needs a citation.
    CitationRequired = "citation_required", "Cite the source: a log record, test, commit, file or human.";
    /// A citation names something that does not exist or proves nothing.
    UnresolvableCitation = "unresolvable_citation", "Cite something that exists.";
    /// No valid token came with the request.
    Unauthenticated = "unauthenticated", "Send a valid token.";
    /// The principal may not do this here.
    Forbidden = "forbidden", "Ask a principal that the named rule allows.";
    /// The named thing does not exist, or is not visible.
    NotFound = "not_found", "Check the name.";
    /// The write expected another version than the current one.
    Conflict = "conflict", "Read the current version and decide again.";
    /// The command id was used before, with another body.
    CommandReused = "command_reused", "Use a new command id for a new command.";
    /// The command id is older than the log of answered commands.
    Expired = "expired", "Look at what is stored; send a new command if it is missing.";
    /// This node no longer owns the scope.
    Fenced = "fenced", "Send the same command again; another node owns the scope.";
    /// Too much is under way.
    Busy = "busy", "Send the same command again after the given time.";
    /// A quota of the organisation is used up.
    QuotaExceeded = "quota_exceeded", "Wait, or have the quota raised.";
    /// A part that the command needs cannot be reached.
    Unavailable = "unavailable", "Send the same command again later.";
    /// It is not known whether the command was carried out.
    OutcomeUnknown = "outcome_unknown", "Send the same command again with the same command id.";
    /// A defect of Sillok. Nothing was written.
    Internal = "internal", "Report it; nothing was written.";
    /// The cursor is of another history: the store was restored from a backup since it was given out.
    HistoryChanged = "history_changed", "Forget what was read so far, and read again from the start.";
}

impl ErrorCode {
    /// Whether it says nothing of the command: a store or a scope was out of reach, or there was no room,
    /// and the same command may go well later with nothing having been mended.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(
            self,
            Self::Busy
                | Self::QuotaExceeded
                | Self::Unavailable
                | Self::OutcomeUnknown
                | Self::Fenced
        )
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The state that a stale write collided with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Current {
    /// The version that a write must name now.
    pub version: Option<u64>,
    /// The entry that now heads the line, where it is another one than the one named.
    pub entry: Option<EntryId>,
    /// The scope's last sequence number, where that is what was expected.
    pub seq: Option<Seq>,
}

/// A refusal. Small to move: the rarely used parts are boxed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// What kind of refusal.
    pub code: ErrorCode,
    /// What was wrong, for a person.
    pub message: String,
    /// Further parts that a program can act on.
    pub details: Option<Box<Details>>,
}

/// The machine-readable parts of a refusal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// The permission rule that denied it, such as `control/record_verification`.
    pub rule: Option<String>,
    /// The current version, for `conflict`.
    pub current: Option<Current>,
    /// After how many milliseconds to try again, for `busy` and `quota_exceeded`.
    pub retry_after_ms: Option<u64>,
    /// The name of the limit and its value, for `too_large`.
    pub limit: Option<(String, u64)>,
}

impl Error {
    /// A refusal with a code and a message.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// A denial that names its rule.
    #[must_use]
    pub fn forbidden(rule: impl Into<String>, message: impl Into<String>) -> Self {
        let details = Details {
            rule: Some(rule.into()),
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::new(ErrorCode::Forbidden, message)
        }
    }

    /// A stale write, with what is current.
    #[must_use]
    pub fn conflict(message: impl Into<String>, current: Current) -> Self {
        let details = Details {
            current: Some(current),
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::new(ErrorCode::Conflict, message)
        }
    }

    /// A cursor of generation `given` does not count in a store of generation `current`.
    #[must_use]
    pub fn history_changed(given: u32, current: u32) -> Self {
        let message = format!(
            "the cursor is of generation {given} of the store, which is of generation {current}: it was \
             restored from a backup in between"
        );
        Self::new(ErrorCode::HistoryChanged, message)
    }

    /// A refusal for now.
    #[must_use]
    pub fn busy(message: impl Into<String>, retry_after_ms: u64) -> Self {
        Self::later(ErrorCode::Busy, message, retry_after_ms)
    }

    /// A refusal of what goes over an organisation's quota now.
    #[must_use]
    pub fn quota_exceeded(message: impl Into<String>, retry_after_ms: u64) -> Self {
        Self::later(ErrorCode::QuotaExceeded, message, retry_after_ms)
    }

    fn later(code: ErrorCode, message: impl Into<String>, retry_after_ms: u64) -> Self {
        let details = Details {
            retry_after_ms: Some(retry_after_ms),
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::new(code, message)
        }
    }

    /// A size or count over a limit of [`crate::limits`].
    #[must_use]
    pub fn too_large(what: &str, limit: u64, got: u64) -> Self {
        let details = Details {
            limit: Some((what.to_owned(), limit)),
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::new(
                ErrorCode::TooLarge,
                format!("{what} is {got}; at most {limit} is taken"),
            )
        }
    }

    /// The rule that denied it, if this is a denial.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.details.as_ref()?.rule.as_deref()
    }

    /// The state a stale write collided with, if this is a conflict.
    #[must_use]
    pub fn current(&self) -> Option<Current> {
        self.details.as_ref()?.current
    }

    /// After how many milliseconds to try again, if that is known.
    #[must_use]
    pub fn retry_after_ms(&self) -> Option<u64> {
        self.details.as_ref()?.retry_after_ms
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_distinct_name_and_advice() {
        let names: std::collections::BTreeSet<_> =
            ErrorCode::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        assert!(ErrorCode::ALL.iter().all(|c| c.advice().ends_with('.')));
    }

    #[test]
    fn a_code_serialises_as_its_name() {
        // The stored and the transported form must agree with `as_str`.
        for code in ErrorCode::ALL {
            let bytes = postcard::to_allocvec(code).unwrap();
            assert_eq!(postcard::from_bytes::<ErrorCode>(&bytes).unwrap(), *code);
        }
    }
}
