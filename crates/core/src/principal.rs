//! Principals: who acts. A kind, an id, and the scopes that it covers, proven by a token.
//!
//! Owns the four kinds. It must not know what a kind may do: that is [`crate::permission`].

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::error::{Error, ErrorCode};
use crate::limits::PRINCIPAL_ID_CHARS_MAX;
use crate::scope::ScopePrefix;

/// The kinds of principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// A coding agent.
    Agent,
    /// The program that runs agents and judges their work.
    Orchestrator,
    /// A person.
    Human,
    /// Sillok itself.
    System,
}

impl PrincipalKind {
    /// All kinds, in the order of the permission tables.
    pub const ALL: [Self; 4] = [Self::Agent, Self::Orchestrator, Self::Human, Self::System];

    /// The kind's name in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Orchestrator => "orchestrator",
            Self::Human => "human",
            Self::System => "system",
        }
    }
}

impl fmt::Display for PrincipalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PrincipalKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| {
                Error::new(
                    ErrorCode::InvalidArgument,
                    "a principal is an agent, orchestrator, human or system",
                )
            })
    }
}

/// The name of a principal within its kind: 1 to 128 of `A-Za-z0-9._@-`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct PrincipalId(Arc<str>);

impl PrincipalId {
    /// Parses a principal's id.
    ///
    /// # Errors
    /// `invalid_id` when it is empty, too long or has another character.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let fits = !text.is_empty() && text.len() <= PRINCIPAL_ID_CHARS_MAX;
        let clean = text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'@' | b'-'));
        if fits && clean {
            Ok(Self(text.into()))
        } else {
            Err(Error::new(
                ErrorCode::InvalidId,
                format!("a principal id has 1 to {PRINCIPAL_ID_CHARS_MAX} of A-Z a-z 0-9 . _ @ -"),
            ))
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PrincipalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for PrincipalId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl Serialize for PrincipalId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Who acts, without what the token covers: what events remember.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// The kind of principal.
    pub kind: PrincipalKind,
    /// Its name within that kind.
    pub id: PrincipalId,
}

impl Actor {
    /// Sillok itself, carrying out what somebody authorised.
    #[must_use]
    pub fn system() -> Self {
        Self {
            kind: PrincipalKind::System,
            id: PrincipalId("sillok".into()),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.id)
    }
}

/// Who acts, and on what: what a verified token stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// Who acts.
    pub actor: Actor,
    /// The scopes that the token covers.
    pub prefix: ScopePrefix,
}

impl Principal {
    /// Sillok itself, covering everything.
    #[must_use]
    pub fn system() -> Self {
        Self {
            actor: Actor::system(),
            prefix: ScopePrefix::All,
        }
    }

    /// The kind of principal.
    #[must_use]
    pub const fn kind(&self) -> PrincipalKind {
        self.actor.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_checked() {
        assert!(PrincipalId::parse("agent-1@host").is_ok());
        for bad in ["", "a b", "ä", "a/b", &"x".repeat(129)] {
            assert!(PrincipalId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn kinds_parse_as_they_print() {
        for kind in PrincipalKind::ALL {
            assert_eq!(kind.to_string().parse::<PrincipalKind>().unwrap(), kind);
        }
        assert!("root".parse::<PrincipalKind>().is_err());
    }
}
