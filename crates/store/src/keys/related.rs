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
//! Format 1 is the edge alone. Nothing writes it any more; a row in it stays until its decision gets another rank or title.
//! Must not know which of them a reader may see.

use sillok_core::Error as CoreError;
use sillok_core::decision::{DecisionName, Edge, NamedEdge, Node, RelationKind, RelationName};
use sillok_core::id::DecisionId;
use sillok_core::scope::{Level, Scope};

use super::{Family, codec};
use crate::{Error, KeyRange};

const FAMILY: Family = Family::Related;
/// The edge alone.
const WITHOUT_NAME: u8 = 1;
/// Behind that, what the decision is called.
const WHOLE: u8 = 2;

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

    /// The bytes that stand in keys.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
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
        let mut kinds = RelationKind::BUILT_IN.into_iter();
        kinds.find(|kind| kind.ordinal() == self.ordinal)
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

/// The kind that a key says, as [`KindKey::built_in`]. Nothing else of the key is looked at.
///
/// # Errors
/// `Corrupt`.
pub fn kind(key: &[u8]) -> Result<Option<RelationKind>, Error> {
    const BEFORE: usize = NodeKey::LEN + ScopePath::LEN + size_of::<DecisionId>();
    let mut reader = codec::KeyReader::new(FAMILY, key)?;
    reader.array::<BEFORE>()?;
    Ok(KindKey::parse(reader)?.built_in())
}

/// The relations to a node that decisions of `scope` say, and of no other.
#[must_use]
pub fn range_from(node: &Node, scope: &Scope) -> KeyRange {
    range_of(node, ScopePath::of(scope).as_bytes())
}

/// The relations to a node that decisions of `scope` say, and of all that lies inside it.
#[must_use]
pub fn range_inside(node: &Node, scope: &Scope) -> KeyRange {
    let levels = scope.with_ancestors().len();
    let path = ScopePath::of(scope);
    range_of(node, &path.as_bytes()[..levels * ScopePath::PART_LEN])
}

fn range_of(node: &Node, path: &[u8]) -> KeyRange {
    KeyRange::prefix(&codec::build(FAMILY, &[NodeKey::of(node).as_bytes(), path]))
}

/// The stored form of `value`.
#[must_use]
pub fn encode(value: &NamedEdge) -> Vec<u8> {
    match &value.name {
        Some(name) => codec::encode(WHOLE, &(&value.edge, name)),
        None => codec::encode(WITHOUT_NAME, &value.edge),
    }
}

/// The value stored under `key`.
///
/// # Errors
/// `Corrupt`.
pub fn decode(key: &[u8], value: &[u8]) -> Result<NamedEdge, Error> {
    Decoder::default().decode(key, value)
}

/// An edge as it is stored, its nodes as text.
type Stored<'a> = (&'a str, RelationKind, &'a str);

/// Reads rows one after the other. What one has in common with the row before it, the node that they lie under and the scope of
/// their decisions, is not made anew.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The scope that the last edge came from.
    scope: Option<Scope>,
    /// What the last edge led to, as it is written.
    to: Option<(String, Node)>,
}

impl Decoder {
    /// As [`decode`].
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn decode(&mut self, key: &[u8], value: &[u8]) -> Result<NamedEdge, Error> {
        let ((from, kind, to), name): (Stored<'_>, Option<DecisionName>) =
            match codec::open_any(FAMILY, WITHOUT_NAME..=WHOLE, key, value)? {
                (WITHOUT_NAME, fields) => (codec::decode_fields(FAMILY, key, fields)?, None),
                (_, fields) => {
                    let (edge, name) = codec::decode_fields(FAMILY, key, fields)?;
                    (edge, Some(name))
                }
            };
        let is_none = |error: CoreError| {
            let reason = format!("the value does not decode: {error}");
            codec::corrupt(FAMILY, key, reason)
        };
        let from = Node::read(from, self.scope.as_ref()).map_err(is_none)?;
        if self.scope.as_ref() != from.scope() {
            self.scope = from.scope().cloned();
        }
        let to = self.to(to).map_err(is_none)?;
        let edge = Edge { from, kind, to };
        Ok(NamedEdge { edge, name })
    }

    fn to(&mut self, text: &str) -> Result<Node, CoreError> {
        if let Some((known, node)) = &self.to
            && known == text
        {
            return Ok(node.clone());
        }
        let node = Node::read(text, self.scope.as_ref())?;
        self.to = Some((text.to_owned(), node.clone()));
        Ok(node)
    }
}
