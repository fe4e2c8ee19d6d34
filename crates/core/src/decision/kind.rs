//! Kinds of relations: those that are built in, and those that a project or an organisation declares.
//!
//! Owns their names, what each leads to, and which way a declared one carries a change. Who declares one, and where it may
//! be used, is [`crate::decide`]'s.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use super::Node;
use crate::error::{Error, ErrorCode};
use crate::id::Seq;
use crate::limits::RELATION_NAME_BYTES_MAX;
use crate::principal::Actor;
use crate::secret::mask;
use crate::time::Timestamp;

/// How a decision is related to something. The order is that of the stored ordinals, which never change.
///
/// In JSON a kind that is built in is its name, and one that is declared is `{"DECLARED": {"name": …, "reach": …}}`. In
/// postcard both begin with the ordinal, which is all of the former.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RelationKind {
    /// It rests on the other decision.
    DependsOn,
    /// It limits what the other decision may say.
    Constrains,
    /// It confirms the other decision.
    Validates,
    /// It applies to a file or symbol.
    AppliesTo,
    /// It rests on evidence.
    RestsOn,
    /// It is related to the other decision as a project or an organisation declares.
    Declared(DeclaredKind),
}

impl RelationKind {
    /// The kinds that are built in, in the order of their ordinals.
    pub const BUILT_IN: [Self; 5] = [
        Self::DependsOn,
        Self::Constrains,
        Self::Validates,
        Self::AppliesTo,
        Self::RestsOn,
    ];

    /// The stored ordinal that all share which are declared.
    pub const DECLARED_ORDINAL: u8 = 5;

    /// The kind's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::DependsOn => "DEPENDS_ON",
            Self::Constrains => "CONSTRAINS",
            Self::Validates => "VALIDATES",
            Self::AppliesTo => "APPLIES_TO",
            Self::RestsOn => "RESTS_ON",
            Self::Declared(kind) => kind.name.as_str(),
        }
    }

    /// The stored ordinal. All that are declared share one.
    #[must_use]
    pub const fn ordinal(self) -> u8 {
        match self {
            Self::DependsOn => 0,
            Self::Constrains => 1,
            Self::Validates => 2,
            Self::AppliesTo => 3,
            Self::RestsOn => 4,
            Self::Declared(_) => Self::DECLARED_ORDINAL,
        }
    }

    /// What was declared of the kind; none where it is built in.
    #[must_use]
    pub const fn declared(self) -> Option<DeclaredKind> {
        match self {
            Self::Declared(kind) => Some(kind),
            _ => None,
        }
    }

    /// Whether the kind leads to `node`: to files and symbols it is `APPLIES_TO`, to evidence `RESTS_ON`, to decisions each
    /// of the others.
    #[must_use]
    pub const fn leads_to(self, node: &Node) -> bool {
        match self {
            Self::DependsOn | Self::Constrains | Self::Validates | Self::Declared(_) => {
                matches!(node, Node::Decision { .. })
            }
            Self::AppliesTo => matches!(node, Node::File { .. } | Node::Symbol { .. }),
            Self::RestsOn => matches!(node, Node::Evidence { .. }),
        }
    }
}

impl fmt::Display for RelationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RelationKind {
    type Err = Error;

    /// Takes the name of a kind that is built in, in letters of either case. Of one that is declared, the name alone does not
    /// tell its reach.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut kinds = Self::BUILT_IN.into_iter();
        let found = kinds.find(|kind| kind.as_str().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            let names = Self::BUILT_IN.each_ref().map(Self::as_str).join(", ");
            invalid(format!("the relations that are built in are {names}"))
        })
    }
}

/// A kind of relation that is declared, as those relations tell it that are of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeclaredKind {
    /// Its name.
    pub name: RelationName,
    /// Which way it carries a change.
    pub reach: Reach,
}

/// Which way a declared kind of relation carries a change. The order is that of the stored ordinals, which never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// From the decision to what it is related to.
    Forward,
    /// From that to the decision.
    Backward,
    /// Both ways.
    Both,
    /// Neither way.
    Neither,
}

impl Reach {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Forward, Self::Backward, Self::Both, Self::Neither];

    /// Its name in JSON and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Both => "both",
            Self::Neither => "neither",
        }
    }

    /// Whether a change of a decision reaches what it is related to.
    #[must_use]
    pub const fn carries_on(self) -> bool {
        matches!(self, Self::Forward | Self::Both)
    }

    /// Whether a change of what a decision is related to reaches the decision.
    #[must_use]
    pub const fn carries_back(self) -> bool {
        matches!(self, Self::Backward | Self::Both)
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Reach {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut all = Self::ALL.into_iter();
        all.find(|reach| reach.as_str() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            invalid(format!("a relation carries a change {names}"))
        })
    }
}

/// The name of a kind of relation that is declared: 1 to [`RELATION_NAME_BYTES_MAX`] of `A-Z 0-9 _`, a letter first, and
/// when it was declared, none that was built in, nor one of those that queries know between other things than decisions.
///
/// Behind its last byte are zeros, so that names lie in the order of their texts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct RelationName([u8; RELATION_NAME_BYTES_MAX]);

impl RelationName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0);
        let (name, _) = self.0.split_at(end.unwrap_or(self.0.len()));
        core::str::from_utf8(name).expect("a name has plain letters alone")
    }

    /// The name that `text` is, which was free when it was declared. What is taken since then stays readable.
    ///
    /// # Errors
    /// `invalid_argument` for what has not the form of a name.
    pub fn stored(text: &str) -> Result<Self, Error> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let begins = text.starts_with(|first: char| first.is_ascii_alphabetic());
        let fits = text.len() <= RELATION_NAME_BYTES_MAX;
        if !begins || !fits || !text.bytes().all(is_plain) {
            return Err(invalid(format!(
                "the name of a relation has 1 to {RELATION_NAME_BYTES_MAX} of A-Z 0-9 _, and begins with a letter"
            )));
        }
        let mut name = [0; RELATION_NAME_BYTES_MAX];
        for (to, from) in name.iter_mut().zip(text.bytes()) {
            *to = from.to_ascii_uppercase();
        }
        Ok(Self(name))
    }

    /// Checks that it may be declared.
    ///
    /// # Errors
    /// `invalid_argument` for one that is built in, or of something else that queries know.
    pub fn check_free(&self) -> Result<(), Error> {
        let text = self.as_str();
        if text.parse::<RelationKind>().is_ok() {
            return Err(invalid(format!("the relation {self} is built in")));
        }
        let taken = TAKEN.into_iter().find(|(_, names)| names.contains(&text));
        taken.map_or(Ok(()), |(of, _)| {
            let why = format!("{self} is a relation of {of}: a query could not tell them apart");
            Err(invalid(why))
        })
    }

    /// Whether it is a secret: some keys have letters and digits that a name has as well.
    #[must_use]
    pub fn holds_secret(&self) -> bool {
        mask(self.as_str()).count > 0
    }
}

impl FromStr for RelationName {
    type Err = Error;

    /// A name that may be declared. Takes letters of either case.
    fn from_str(text: &str) -> Result<Self, Error> {
        let name = Self::stored(text)?;
        name.check_free()?;
        Ok(name)
    }
}

impl TryFrom<String> for RelationName {
    type Error = Error;

    /// As [`RelationName::stored`].
    fn try_from(text: String) -> Result<Self, Error> {
        Self::stored(&text)
    }
}

impl fmt::Display for RelationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RelationName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RelationName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A kind of relation, as a project or an organisation declared it. It is never changed, and never taken back; only what it
/// means may be erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredRelation {
    /// Its name.
    pub name: RelationName,
    /// Which way it carries a change.
    pub reach: Reach,
    /// What it means, with secrets masked; empty once that was erased.
    pub meaning: String,
    /// Who declared it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// The event that declared it.
    pub seq: Seq,
}

impl DeclaredRelation {
    /// The kind, as those relations tell it that are of that kind.
    #[must_use]
    pub const fn kind(&self) -> DeclaredKind {
        DeclaredKind {
            name: self.name,
            reach: self.reach,
        }
    }

    /// Whether what it means was erased: none that was declared means nothing.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.meaning.is_empty()
    }
}

/// Names of relations that no decision declares, by what has them. Those of code are kept free for it.
const TAKEN: [(&str, &[&str]); 2] = [
    ("episodes", &["CAUSED", "TELLS"]),
    ("code", &["CALLS", "CONTAINS", "DEFINES", "IMPORTS"]),
];

fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests;
