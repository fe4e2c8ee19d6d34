//! Relations by their target: which active decisions point to a node.
//!
//! | key | value | mutability |
//! |---|---|---|
//! | `R`, [`NodeKey`] of the target (16), [`ScopePath`] of the decision (4 times 8), its [`DecisionId`] (16), [`KindKey`] (1, and the name of one that is declared) | [`NamedEdge`] | rewritten where the decision gets another rank or title, cleared when it is withdrawn or changed to one that does not say it |
//!
//! The other direction needs no row: a head says its own relations. Rows lie with their target, which may be
//! of another scope than the decision, or no decision at all: a file of one name is one node of every scope. So the
//! rows of a node lie by scope, and by the scopes around it: whoever reads what one scope says of a node, or that scope
//! and all inside it, reads one range, in which no row of any other scope lies. A row says the rank and the title of its
//! decision, so that of thousands that point to a node, more than anybody is told of, no head is read.
//!
//! A row is short, so that an engine keeps it beside its key and not apart, and thousands of them are read in one go: the root
//! of its decision stands in the key alone, of a scope around that of the decision its level is told, and ids are bytes and no
//! texts. That is format 3. Format 1 is the edge alone and format 2 the edge and the name, both ends as text. Nothing writes these any
//! more; a row in one of them stays until its decision gets another rank or title. Must not know which rows a reader may see.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sillok_core::decision::{Edge, NamedEdge, Node, RelationKind, RelationName};
use sillok_core::id::{DecisionId, EvidenceId};
use sillok_core::scope::{Level, Scope};

use super::{Family, codec};
use crate::{Error, KeyRange};

mod decoder;

pub use decoder::Decoder;

const FAMILY: Family = Family::Related;
/// The edge alone.
const WITHOUT_NAME: u8 = 1;
/// Behind that, what the decision is called.
const NAMED: u8 = 2;
/// The same without which decision it is, as the key says that.
const SHORT: u8 = 3;

/// A node inside a key: the first 16 bytes of the BLAKE3 hash of its text, so that keys have one
/// length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeKey([u8; Self::LEN]);

impl NodeKey {
    /// Bytes of a node inside a key.
    pub const LEN: usize = 16;

    /// The key of `node`.
    #[must_use]
    pub fn of(node: &Node) -> Self {
        Self(codec::short_hash(&node.to_string()))
    }

    /// The bytes that stand in keys.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

/// A scope inside a key, so that what lies inside it begins as it does: for each level, the widest first, the first 8 bytes
/// of the BLAKE3 hash of the path of the scope around it that has this level. Zeros for the levels that it does not have.
///
/// Two scopes may share a part by chance, or because somebody looked for a name that does. Then rows of the one lie in the
/// ranges of the other, so whoever reads them asks the edge whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScopePath([u8; Self::LEN]);

impl ScopePath {
    /// Bytes of a scope inside a key.
    pub const LEN: usize = Level::ALL.len() * Self::PART_LEN;
    /// Bytes of one level.
    const PART_LEN: usize = 8;

    /// The path of `scope`.
    #[must_use]
    pub fn of(scope: &Scope) -> Self {
        let mut path = [0; Self::LEN];
        let levels = scope.with_ancestors().into_iter().rev();
        for (part, around) in path.chunks_exact_mut(Self::PART_LEN).zip(levels) {
            part.copy_from_slice(&codec::short_hash(around.as_str())[..Self::PART_LEN]);
        }
        Self(path)
    }

    /// The path with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes that stand in keys.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// What the paths of `scope`, whose path this is, and of all inside it begin with.
    #[must_use]
    pub fn inside(&self, scope: &Scope) -> &[u8] {
        let levels = scope.with_ancestors().len();
        &self.0[..levels * Self::PART_LEN]
    }
}

/// The kind of a relation inside a key: its ordinal, and behind that the name of one that is declared.
///
/// Which way a declared one carries a change stands in the edge alone: of one name, a decision knows one declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KindKey {
    ordinal: u8,
    name: Option<RelationName>,
}

impl KindKey {
    /// The key of `kind`.
    #[must_use]
    pub fn of(kind: RelationKind) -> Self {
        Self {
            ordinal: kind.ordinal(),
            name: kind.declared().map(|kind| kind.name),
        }
    }

    /// The kind, where the key says all of it; none of one that is declared, which the edge says.
    #[must_use]
    pub fn built_in(&self) -> Option<RelationKind> {
        let mut kinds = RelationKind::BUILT_IN.iter();
        kinds.nth(usize::from(self.ordinal)).copied()
    }

    fn parse(mut reader: codec::KeyReader<'_>) -> Result<Self, Error> {
        let ordinal = reader.u8()?;
        if ordinal == RelationKind::DECLARED_ORDINAL {
            let name = Some(reader.relation_name_to_end()?);
            return Ok(Self { ordinal, name });
        }
        let kind = Self {
            ordinal,
            name: None,
        };
        if kind.built_in().is_none() {
            return Err(reader.corrupt("there is no such kind of relation"));
        }
        reader.end()?;
        Ok(kind)
    }
}

/// A key, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// What is pointed to.
    pub to: NodeKey,
    /// The scope of the decision that points to it.
    pub scope: ScopePath,
    /// The decision.
    pub root: DecisionId,
    /// The kind of the relation.
    pub kind: KindKey,
}

impl Key {
    /// Where `edge` lies; none of one that begins at no decision.
    #[must_use]
    pub fn of(edge: &Edge) -> Option<Self> {
        let Node::Decision { scope, root } = &edge.from else {
            return None;
        };
        Some(Self {
            to: NodeKey::of(&edge.to),
            scope: ScopePath::of(scope),
            root: *root,
            kind: KindKey::of(edge.kind),
        })
    }
}

/// The key of a relation.
#[must_use]
pub fn key(relation: &Key) -> Vec<u8> {
    let KindKey { ordinal, name } = &relation.kind;
    codec::build(
        FAMILY,
        &[
            relation.to.as_bytes(),
            relation.scope.as_bytes(),
            relation.root.as_bytes(),
            &[*ordinal],
            name.as_ref().map_or(&[], |name| name.as_str().as_bytes()),
        ],
    )
}

/// Takes a key apart.
///
/// # Errors
/// `Corrupt`.
pub fn parse(key: &[u8]) -> Result<Key, Error> {
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    let to = NodeKey(reader.array()?);
    let scope = ScopePath(reader.array()?);
    let root = DecisionId::from_bytes(reader.array()?);
    Ok(Key {
        to,
        scope,
        root,
        kind: KindKey::parse(reader)?,
    })
}

/// The decision that a key says, and the kind as [`KindKey::built_in`]. What it points to and the scope are not looked at.
pub(super) fn root_and_kind(key: &[u8]) -> Result<(DecisionId, Option<RelationKind>), Error> {
    const BEFORE: usize = NodeKey::LEN + ScopePath::LEN;
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    reader.skip(BEFORE)?;
    let root = DecisionId::from_bytes(reader.array()?);
    Ok((root, KindKey::parse(reader)?.built_in()))
}

/// The relations to a node that decisions of `scope` say, and of no other.
#[must_use]
pub fn range_from(node: &Node, scope: &Scope) -> KeyRange {
    range_of(node, ScopePath::of(scope).as_bytes())
}

/// The relations to a node that decisions of `scope` say, and of all that lies inside it.
#[must_use]
pub fn range_inside(node: &Node, scope: &Scope) -> KeyRange {
    range_of(node, ScopePath::of(scope).inside(scope))
}

fn range_of(node: &Node, path: &[u8]) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[NodeKey::of(node).as_bytes(), path]))
}

/// The stored form of `value`: format 3, and where it has no name, format 1.
///
/// # Panics
/// When the edge has a name and begins at no decision: there is no key for it.
#[must_use]
pub fn encode(value: &NamedEdge) -> Vec<u8> {
    let NamedEdge { edge, name } = value;
    let Some(name) = name else {
        return codec::encode(WITHOUT_NAME, edge);
    };
    let scope = edge.from.scope().filter(|_| edge.from.is_decision());
    let scope = scope.expect("a relation that is stored begins at a decision");
    codec::encode(SHORT, &(scope, edge.kind, To::of(&edge.to, scope), name))
}

/// Whether a row is of a format that is read and that [`encode`] gives no row with a name.
#[must_use]
pub fn is_former(value: &[u8]) -> bool {
    value.first() != Some(&SHORT)
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<NamedEdge, Error> {
    Decoder::default().decode(key, value)
}

/// What a relation leads to, as a short row says it.
#[derive(Serialize, Deserialize)]
enum To<'a> {
    Decision(#[serde(borrow)] At<'a>, DecisionId),
    Evidence(#[serde(borrow)] At<'a>, EvidenceId),
    /// A file or a symbol, as text.
    Place(#[serde(borrow)] Cow<'a, str>),
}

/// A scope, by that of the decision which has the relation.
#[derive(Serialize, Deserialize)]
enum At<'a> {
    /// That one or one around it, by how many names its path has.
    Around(u8),
    Elsewhere(&'a str),
}

impl<'a> To<'a> {
    fn of(to: &'a Node, from: &Scope) -> Self {
        match to {
            Node::Decision { scope, root } => Self::Decision(At::of(scope, from), *root),
            Node::Evidence { scope, id } => Self::Evidence(At::of(scope, from), *id),
            Node::File { .. } | Node::Symbol { .. } => Self::Place(Cow::Owned(to.to_string())),
        }
    }
}

impl<'a> At<'a> {
    fn of(scope: &'a Scope, from: &Scope) -> Self {
        if !scope.contains(from) {
            return Self::Elsewhere(scope.as_str());
        }
        let names = scope.as_str().split('/').count() / 2;
        Self::Around(u8::try_from(names).expect("a scope has four names at most"))
    }

    /// The path, where the decision is of `from`; none where that one has not so many names.
    fn path(&self, from: &'a str) -> Option<&'a str> {
        let names = match self {
            Self::Elsewhere(path) => return Some(*path),
            Self::Around(names) => usize::from(*names),
        };
        let ends = from.match_indices('/').map(|(at, _)| at);
        let mut ends = ends.chain([from.len()]).skip(1).step_by(2);
        names
            .checked_sub(1)
            .and_then(|skipped| ends.nth(skipped))
            .map(|end| &from[..end])
    }
}
