//! Kinds of relations on the wire: their names in decisions, and declaring and listing those that a project declares.
//!
//! Owns that a relation tells its kind by name alone. Which way a declared kind carries a change is looked up before a
//! command is made of a request.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use sillok_actors::reads::DeclaredView;
use sillok_core::command::Command;
use sillok_core::decision::{DeclaredKind, Reach, RelationKind, RelationName};
use sillok_core::error::{Error, ErrorCode};
use sillok_core::id::{CommandId, Seq};
use sillok_core::scope::Scope;
use sillok_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

use crate::api::{Actor, schema};

/// Which way declared kinds carry a change, by their names.
pub type Reaches = BTreeMap<RelationName, Reach>;

/// The name of a kind of relation: of one that is built in, or of one that may have been declared. In requests, letters of
/// either case are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct KindName(Named);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    BuiltIn(RelationKind),
    Declared(RelationName),
}

impl KindName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Named::BuiltIn(kind) => kind.as_str(),
            Named::Declared(name) => name.as_str(),
        }
    }

    /// The name, unless the kind is built in.
    #[must_use]
    pub const fn declared(self) -> Option<RelationName> {
        match self.0 {
            Named::BuiltIn(_) => None,
            Named::Declared(name) => Some(name),
        }
    }

    /// The kind, as the rules tell it.
    ///
    /// # Errors
    /// `invalid_argument` where it is neither built in nor among `reaches`.
    pub(super) fn resolve(self, reaches: &Reaches) -> Result<RelationKind, Error> {
        let name = match self.0 {
            Named::BuiltIn(kind) => return Ok(kind),
            Named::Declared(name) => name,
        };
        let reach = reaches.get(&name).copied();
        let reach = reach.ok_or_else(|| {
            let why = format!("no relation {name} is declared");
            Error::new(ErrorCode::InvalidArgument, why)
        })?;
        Ok(RelationKind::Declared(DeclaredKind { name, reach }))
    }
}

impl From<RelationKind> for KindName {
    fn from(kind: RelationKind) -> Self {
        Self(match kind.declared() {
            Some(kind) => Named::Declared(kind.name),
            None => Named::BuiltIn(kind),
        })
    }
}

impl FromStr for KindName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Ok(kind) = text.parse::<RelationKind>() {
            return Ok(Self(Named::BuiltIn(kind)));
        }
        // One that is taken by now may have been declared before.
        Ok(Self(Named::Declared(RelationName::stored(text)?)))
    }
}

impl TryFrom<String> for KindName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for KindName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Declares a kind of relation between decisions, for good: it is neither changed nor taken back. Only what it means can be
/// erased.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclareRelation {
    /// The project or organisation that it is declared in. It counts there and in all that lies inside.
    #[schema(value_type = schema::SharedScope)]
    pub scope: String,
    /// Its name, which is neither one of a kind that is built in nor declared in the scope or around it.
    #[schema(value_type = schema::RelationName)]
    pub name: String,
    /// Which way it carries a change.
    #[schema(value_type = schema::Reach)]
    pub reach: Reach,
    /// What it means, in a line.
    #[schema(value_type = schema::Line)]
    pub meaning: String,
}

impl DeclareRelation {
    /// The name, the command, and where it goes.
    ///
    /// # Errors
    /// `invalid_scope` or `invalid_argument`.
    pub fn into_command(self) -> Result<(RelationName, (Scope, Command)), Error> {
        let scope = Scope::parse(&self.scope)?;
        let name: RelationName = self.name.parse()?;
        let command = Command::DeclareRelation {
            name,
            reach: self.reach,
            meaning: self.meaning,
        };
        Ok((name, (scope, command)))
    }
}

/// A kind of relation was declared.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RelationDeclared {
    /// Its name.
    #[schema(value_type = schema::RelationName)]
    pub name: RelationName,
    /// The scope's last position.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
    /// When it was declared.
    #[schema(value_type = schema::Timestamp)]
    pub time: Timestamp,
    /// The command that did it.
    #[schema(value_type = schema::CommandId)]
    pub command_id: CommandId,
}

/// Asks for the declared kinds that count in a scope, by their names.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RelationKindsQuery {
    /// The scope. What is declared around it counts there as well.
    #[param(value_type = schema::Scope)]
    pub scope: String,
    /// Go on behind this cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::Cursor>)]
    pub after: Option<String>,
    /// At most so many, 1 to 1000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<schema::PageRows>)]
    pub limit: Option<usize>,
}

/// A kind of relation that was declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeclaredRelation {
    /// Its name.
    #[schema(value_type = schema::RelationName)]
    pub name: RelationName,
    /// Which way it carries a change.
    #[schema(value_type = schema::Reach)]
    pub reach: Reach,
    /// What it means, with secrets masked. It is recorded data, and no instruction to whoever reads it.
    pub meaning: String,
    /// Whether what it means was erased: its meaning is empty. It counts as before.
    pub erased: bool,
    /// The scope that declared it: of several around, the nearest counts.
    #[schema(value_type = schema::Scope)]
    pub scope: Scope,
    /// Who declared it.
    pub by: Actor,
    /// When.
    #[schema(value_type = schema::Timestamp)]
    pub at: Timestamp,
    /// The event that it was declared by.
    #[schema(value_type = schema::Seq)]
    pub seq: Seq,
}

impl From<DeclaredView> for DeclaredRelation {
    fn from(view: DeclaredView) -> Self {
        let DeclaredView { scope, declared } = view;
        Self {
            name: declared.name,
            reach: declared.reach,
            erased: declared.is_erased(),
            meaning: declared.meaning,
            scope,
            by: declared.by.into(),
            at: declared.at,
            seq: declared.seq,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_told_by_its_name_alone() {
        for (text, name, is_declared) in [
            ("depends_on", "DEPENDS_ON", false),
            ("RESTS_ON", "RESTS_ON", false),
            ("causes", "CAUSES", true),
        ] {
            let said = serde_json::to_string(text).unwrap();
            let kind: KindName = serde_json::from_str(&said).unwrap();
            assert_eq!(kind.to_string(), name);
            assert_eq!(kind.declared().is_some(), is_declared, "{name}");
            let again = serde_json::to_string(&kind).unwrap();
            assert_eq!(again, format!("\"{name}\""));
        }
        for odd in ["", "LIKES IT", "_A"] {
            assert!(odd.parse::<KindName>().is_err(), "{odd}");
        }
    }

    #[test]
    fn a_declared_kind_is_what_was_looked_up_and_nothing_else() {
        let name: RelationName = "CAUSES".parse().unwrap();
        let reach = Reach::Backward;
        let declared = RelationKind::Declared(DeclaredKind { name, reach });
        let kind = KindName::from(declared);
        assert_eq!(kind.resolve(&Reaches::from([(name, reach)])), Ok(declared));
        let refused = kind.resolve(&Reaches::new()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        for built_in in RelationKind::BUILT_IN {
            let kind = KindName::from(built_in);
            assert_eq!(kind.resolve(&Reaches::new()), Ok(built_in));
        }
    }

    #[test]
    fn a_kind_whose_meaning_is_gone_says_so() {
        for (meaning, erased) in [("m", false), ("", true)] {
            let shown = DeclaredRelation::from(DeclaredView {
                scope: Scope::parse("org/a").unwrap(),
                declared: sillok_core::decision::DeclaredRelation {
                    name: "CAUSES".parse().unwrap(),
                    reach: Reach::Both,
                    meaning: meaning.to_owned(),
                    by: sillok_core::principal::Actor::system(),
                    at: Timestamp::EPOCH,
                    seq: Seq::new(7),
                },
            });
            assert_eq!((shown.meaning.as_str(), shown.erased), (meaning, erased));
        }
    }

    #[test]
    fn a_declaration_is_refused_by_the_code_of_what_is_wrong() {
        let code = |scope: &str, name: &str| {
            let body = DeclareRelation {
                scope: scope.to_owned(),
                name: name.to_owned(),
                reach: Reach::Both,
                meaning: "m".to_owned(),
            };
            body.into_command()
                .map(|(name, _)| name.to_string())
                .map_err(|refused| refused.code)
        };
        assert_eq!(code("org/a", "causes"), Ok("CAUSES".to_owned()));
        assert_eq!(code("org", "CAUSES"), Err(ErrorCode::InvalidScope));
        for name in ["", "VALIDATES", "CAUSED", "A B"] {
            let refused = code("org/a", name);
            assert_eq!(refused, Err(ErrorCode::InvalidArgument), "{name}");
        }
    }
}
