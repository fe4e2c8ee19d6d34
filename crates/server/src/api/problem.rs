//! The body of a refusal, after RFC 9457, with the parts that a program acts on.

use serde::{Deserialize, Serialize};
use sillok_core::error::{self, Details, Error, ErrorCode};
use sillok_core::id::{CommandId, EntryId, Seq};
use utoipa::ToSchema;

use super::schema;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A URI that names the kind of refusal.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind of refusal, for a person.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What was wrong this time, for a person.
    pub detail: String,
    /// The kind of refusal, for a program.
    #[schema(value_type = schema::ErrorCode)]
    pub code: ErrorCode,
    /// What the caller should do about it.
    pub advice: String,
    /// The permission rule that denied it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What a stale write collided with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<Current>,
    /// After how many milliseconds to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The limit that was passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The command that was refused: a retry names it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::CommandId>)]
    pub command_id: Option<CommandId>,
}

/// What a stale write collided with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Current {
    /// The version that a write must name now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The entry that now heads the line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EntryId>)]
    pub entry: Option<EntryId>,
    /// The scope's last position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Seq>)]
    pub seq: Option<Seq>,
}

/// A limit that was passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limit {
    /// Its name.
    pub name: String,
    /// At most so many.
    pub value: u64,
}

impl Problem {
    /// The body for an error, under the HTTP status that it is sent with.
    #[must_use]
    pub fn new(error: &Error, status: u16, command_id: Option<CommandId>) -> Self {
        let code = error.code;
        let details = error.details.as_deref();
        Self {
            kind: format!("https://sillok.dev/errors/{code}"),
            title: code.as_str().replace('_', " "),
            status,
            detail: error.message.clone(),
            code,
            advice: code.advice().to_owned(),
            rule: details.and_then(|details| details.rule.clone()),
            current: details
                .and_then(|details| details.current)
                .map(Current::from),
            retry_after_ms: error.retry_after_ms(),
            limit: details
                .and_then(|details| details.limit.clone())
                .map(|(name, value)| Limit { name, value }),
            command_id,
        }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let details = Details {
            rule: problem.rule,
            current: problem.current.map(error::Current::from),
            retry_after_ms: problem.retry_after_ms,
            limit: problem.limit.map(|limit| (limit.name, limit.value)),
        };
        let details = (details != Details::default()).then(|| Box::new(details));
        Self {
            details,
            ..Self::new(problem.code, problem.detail)
        }
    }
}

impl From<error::Current> for Current {
    fn from(current: error::Current) -> Self {
        Self {
            version: current.version,
            entry: current.entry,
            seq: current.seq,
        }
    }
}

impl From<Current> for error::Current {
    fn from(current: Current) -> Self {
        Self {
            version: current.version,
            entry: current.entry,
            seq: current.seq,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_carries_every_part_of_an_error_there_and_back() {
        let current = error::Current {
            version: Some(4),
            entry: Some(EntryId::from_bytes([7; 16])),
            seq: None,
        };
        for error in [
            Error::forbidden("entries/org", "no"),
            Error::conflict("stale", current),
            Error::busy("later", 250),
            Error::too_large("record bytes", 8, 9),
            Error::new(ErrorCode::NotFound, "gone"),
        ] {
            let text = serde_json::to_string(&Problem::new(&error, 400, None)).unwrap();
            let problem: Problem = serde_json::from_str(&text).unwrap();
            assert_eq!(Error::from(problem), error);
        }
    }
}
