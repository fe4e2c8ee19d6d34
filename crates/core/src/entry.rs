//! Entries of the published store: tables, kinds, status, versions and heads.
//!
//! Owns what an entry is made of. It must not know how one comes to be: that is [`crate::decide`].

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use crate::citation::Citation;
use crate::error::{Error, ErrorCode};
use crate::fingerprint::ContentHash;
use crate::id::{EntryId, Seq, VerificationId};
use crate::limits::METADATA_BYTES_MAX;
use crate::principal::Actor;
use crate::reuse::Usage;
use crate::scope::Scope;
use crate::time::Timestamp;
use crate::trust::Trust;

mod binding;
mod detail;
mod kind;

pub use binding::Binding;
pub use detail::{Claim, ClaimHash, Detail, Episode, Skill};
pub use kind::Kind;

macro_rules! tables {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $kind:ident;)*) => {
        /// The table that an entry belongs to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Table { $($(#[$doc])* $variant,)* }

        impl Table {
            /// All tables, in the order of their stored ordinals, which never change.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The table's name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// How the table's entries age.
            #[must_use]
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind),* }
            }
        }
    };
}

tables! {
    /// Atomic facts; the default.
    Observations = "observations", Episodic;
    /// What a terminal showed when something went wrong.
    TerminalSnapshots = "terminal_snapshots", Episodic;
    /// One round of work.
    Iterations = "iterations", Episodic;
    /// What a quality check found.
    QaReports = "qa_reports", Episodic;
    /// What became of a task, with its critique.
    Episodes = "episodes", Episodic;
    /// A way of doing something that worked more than once.
    Skills = "skills", Knowledge;
    /// An approach with its record of outcomes.
    Patterns = "patterns", Knowledge;
    /// What the code is made of.
    CodeGraph = "code_graph", Knowledge;
    /// A trap to avoid.
    Gotchas = "gotchas", State;
    /// A conversation under way.
    Sessions = "sessions", State;
    /// A piece of work to be done.
    Tasks = "tasks", State;
    /// A larger aim that tasks serve.
    Stories = "stories", State;
}

impl Table {
    /// The table's stored ordinal.
    #[must_use]
    pub const fn ordinal(self) -> u8 {
        self as u8
    }

    /// Whether equal entries of this table merge. Episodes and states never do.
    #[must_use]
    pub const fn merges(self) -> bool {
        matches!(self, Self::Observations | Self::Patterns | Self::Skills)
    }

    /// Whether a new entry of this table is compared with what is close to it: it merges with what says the same, or, an
    /// episode, is linked to what is like it. Without its vector, what is close is not known.
    #[must_use]
    pub const fn is_compared(self) -> bool {
        self.merges() || matches!(self, Self::Episodes)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Table {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL
            .iter()
            .copied()
            .find(|table| table.as_str() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::ALL.iter().map(|table| table.as_str()).collect();
                Error::new(
                    ErrorCode::InvalidArgument,
                    format!("the tables are {}", names.join(", ")),
                )
            })
    }
}

/// How far an entry is trusted to be what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A draft: nothing stands behind it yet.
    Hypothesis,
    /// A recorded verification or a person stands behind it.
    Verified,
    /// Verified, and found helpful by several tasks.
    Published,
    /// Replaced by another entry.
    Deprecated,
    /// Taken out of recall.
    Archived,
}

impl Status {
    /// Whether recall may return entries of this status.
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Hypothesis | Self::Verified | Self::Published)
    }

    /// The status's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hypothesis => "hypothesis",
            Self::Verified => "verified",
            Self::Published => "published",
            Self::Deprecated => "deprecated",
            Self::Archived => "archived",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A JSON object, kept as the text in which it came.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Metadata(Box<str>);

impl Metadata {
    /// The text of the object.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the text of a JSON object whose syntax the edge has already checked.
    ///
    /// # Errors
    /// `too_large`, or `invalid_argument` when it is no object.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > METADATA_BYTES_MAX {
            return Err(Error::too_large(
                "metadata bytes",
                METADATA_BYTES_MAX as u64,
                text.len() as u64,
            ));
        }
        let trimmed = text.trim();
        if trimmed.starts_with('{') && trimmed.ends_with('}') {
            Ok(Self(trimmed.into()))
        } else {
            Err(Error::new(
                ErrorCode::InvalidArgument,
                "metadata is a JSON object",
            ))
        }
    }
}

impl Default for Metadata {
    fn default() -> Self {
        Self("{}".into())
    }
}

impl TryFrom<String> for Metadata {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::parse(&text)
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Names a space of embeddings: vectors of different spaces are never compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpaceId(pub String);

impl fmt::Display for SpaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A vector and the space it lies in. Normalised to length 1, or all zero for empty text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// The space.
    pub space: SpaceId,
    /// The coordinates, as many as the space has dimensions.
    pub values: Vec<f32>,
}

impl Embedding {
    /// Cosine of the angle to `other`; none when the two lie in different spaces.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> Option<f32> {
        let comparable = self.space == other.space && self.values.len() == other.values.len();
        comparable.then(|| {
            self.values
                .iter()
                .zip(&other.values)
                .map(|(a, b)| a * b)
                .sum()
        })
    }
}

/// One version of an entry's own text. Written once, never changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// The entry.
    pub entry: EntryId,
    /// 1 for the first.
    pub number: u64,
    /// The text that is searched.
    pub content: String,
    /// Its typed part.
    pub detail: Detail,
    /// Free metadata.
    pub metadata: Metadata,
    /// What it claims, if it declares that.
    pub claim: Option<Claim>,
    /// Hash of the normalised content.
    pub content_hash: ContentHash,
    /// Who wrote it.
    pub author: Actor,
    /// When.
    pub created_at: Timestamp,
}

/// How an entry came, and where it went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifecycle {
    /// The entry that this one replaced.
    pub supersedes: Option<EntryId>,
    /// The entry that replaced this one.
    pub superseded_by: Option<EntryId>,
    /// When it was replaced.
    pub deprecated_at: Option<Timestamp>,
    /// The commit from which it holds.
    pub valid_from_commit: Option<String>,
    /// The commit that ended it.
    pub valid_to_commit: Option<String>,
    /// Why it was replaced.
    pub contradiction_note: Option<String>,
}

/// A relation between two entries of one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// Close in meaning, but not close enough to be one.
    Similar,
    /// An episode that came before a similar one.
    Causal,
    /// The two cannot both hold.
    Contradicts,
}

/// One end of a relation between two entries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// How the two are related.
    pub kind: LinkKind,
    /// The other entry.
    pub to: EntryId,
    /// How sure that is, 0 to 1.
    pub weight: f64,
}

/// The head of an entry: what changes while its versions stay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The entry.
    pub id: EntryId,
    /// Where it lives.
    pub scope: Scope,
    /// Its table.
    pub table: Table,
    /// The number of the one active version.
    pub version: u64,
    /// The event that wrote the active version, and that holds its embedding.
    pub version_seq: Seq,
    /// Hash of the active version's content.
    pub content_hash: ContentHash,
    /// How far it is trusted to be what it says.
    pub status: Status,
    /// Whether it tells of something that failed. Such entries come up in searches for failures only.
    pub failure: bool,
    /// Confidence and what it rests on.
    pub trust: Trust,
    /// The first entry of its line of supersessions; itself when it replaced nothing.
    pub line: EntryId,
    /// On the first entry of a line: the entry that heads the line now.
    pub line_head: EntryId,
    /// How it came, and where it went.
    pub lifecycle: Lifecycle,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// Where it was true first.
    pub binding: Binding,
    /// Relations to other entries of the scope.
    pub links: Vec<Link>,
    /// How many tasks reported that it helped.
    pub reuse_count: u64,
    /// When it was last used.
    pub last_used: Option<Timestamp>,
    /// The promotion that published it, if one did.
    pub promotion: Option<VerificationId>,
    /// Who wrote it first.
    pub author: Actor,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its head last changed.
    pub updated_at: Timestamp,
    /// What tasks say of it.
    pub usage: Usage,
}

impl Head {
    /// Whether the entry's content was erased. Nothing brings it back.
    #[must_use]
    pub fn is_erased(&self) -> bool {
        self.content_hash == ContentHash::erased(self.id, self.version)
    }

    /// The later of creation and last validation: what age is counted from.
    #[must_use]
    pub fn age_from(&self) -> Timestamp {
        self.trust
            .last_validated
            .map_or(self.created_at, |validated| validated.max(self.created_at))
    }

    /// When a state was resolved; none while it holds, where another entry stands in its place, and for
    /// entries of other kinds.
    #[must_use]
    pub fn resolved_at(&self) -> Option<Timestamp> {
        let is_replaced = self.lifecycle.superseded_by.is_some();
        self.lifecycle
            .deprecated_at
            .filter(|_| self.table.kind() == Kind::State && !is_replaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_parse_and_ordinals_are_fixed() {
        for (ordinal, table) in Table::ALL.iter().enumerate() {
            assert_eq!(table.as_str().parse::<Table>().unwrap(), *table);
            assert_eq!(usize::from(table.ordinal()), ordinal);
        }
        assert_eq!(Table::Gotchas.ordinal(), 8);
    }

    #[test]
    fn kinds_follow_the_specification() {
        let of = |kind| Table::ALL.iter().filter(|t| t.kind() == kind).count();
        assert_eq!(
            (of(Kind::Episodic), of(Kind::Knowledge), of(Kind::State)),
            (5, 3, 4)
        );
    }

    #[test]
    fn vectors_of_two_spaces_are_never_compared() {
        let a = Embedding {
            space: SpaceId("a".into()),
            values: vec![1.0, 0.0],
        };
        let b = Embedding {
            space: SpaceId("b".into()),
            values: vec![1.0, 0.0],
        };
        assert_eq!(a.cosine(&b), None);
        assert_eq!(a.cosine(&a), Some(1.0));
    }

    #[test]
    fn metadata_is_an_object() {
        assert!(Metadata::parse("{\"a\":1}").is_ok());
        assert!(Metadata::parse("[1]").is_err());
        assert!(
            Metadata::parse(&format!("{{\"a\":\"{}\"}}", "x".repeat(METADATA_BYTES_MAX))).is_err()
        );
    }
}
