//! Rows of relations, read one after the other.
//!
//! Owns what a row has in common with the one before it. Must not know which rows a reader may see.

use sillok_core::decision::{DecisionName, Edge, NamedEdge, Node, RelationKind};
use sillok_core::id::DecisionId;
use sillok_core::scope::Scope;
use sillok_core::{Error as CoreError, ErrorCode};

use super::{At, FAMILY, NAMED, SHORT, To, WITHOUT_NAME, root_and_kind};
use crate::Error;
use crate::keys::codec;

/// A short row.
type Short<'a> = (&'a str, RelationKind, To<'a>, DecisionName);
/// An edge of a former row, its nodes as text.
type Former<'a> = (&'a str, RelationKind, &'a str);

/// Reads rows one after the other. What one has in common with the row before it, the node that they lie under and the scope of
/// their decisions, is not made anew.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The scope that the last edge came from.
    scope: Option<Scope>,
    /// The last scope that an edge led to and did not come from.
    other: Option<Scope>,
    /// For a scope that an edge came from, the last one around it that an edge led to, and how many names its path has.
    around: Option<(Scope, u8, Scope)>,
    /// What the last edge led to that was told as text, as it is written.
    to: Option<(String, Node)>,
}

impl Decoder {
    /// As [`decode`].
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn decode(&mut self, key: &[u8], value: &[u8]) -> Result<NamedEdge, Error> {
        let (root, _) = root_and_kind(key)?;
        self.read(key, root, value)
    }

    /// As [`decode`]; none of a relation whose key says a kind that is not wanted. Of such a row the value is not looked at.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn decode_wanted(
        &mut self,
        key: &[u8],
        value: &[u8],
        wants: impl FnOnce(RelationKind) -> bool,
    ) -> Result<Option<NamedEdge>, Error> {
        let (root, kind) = root_and_kind(key)?;
        if kind.is_some_and(|kind| !wants(kind)) {
            return Ok(None);
        }
        self.read(key, root, value).map(Some)
    }

    fn read(&mut self, key: &[u8], root: DecisionId, value: &[u8]) -> Result<NamedEdge, Error> {
        let formats = WITHOUT_NAME..=SHORT;
        let (edge, name) = match codec::open_any(FAMILY, formats, key, value)? {
            (WITHOUT_NAME, fields) => {
                let edge: Former<'_> = codec::decode_fields(FAMILY, key, fields)?;
                (self.former(edge), None)
            }
            (NAMED, fields) => {
                let (edge, name): (Former<'_>, DecisionName) =
                    codec::decode_fields(FAMILY, key, fields)?;
                (self.former(edge), Some(name))
            }
            (_, fields) => {
                let (scope, kind, to, name): Short<'_> = codec::decode_fields(FAMILY, key, fields)?;
                (self.short(scope, root, kind, to), Some(name))
            }
        };
        let edge = edge.map_err(|error: CoreError| {
            let reason = format!("the value does not decode: {error}");
            codec::corrupt(FAMILY, key, reason)
        })?;
        Ok(NamedEdge { edge, name })
    }

    fn short(
        &mut self,
        path: &str,
        root: DecisionId,
        kind: RelationKind,
        to: To<'_>,
    ) -> Result<Edge, CoreError> {
        let from = known(&mut self.scope, path)?;
        let to = match to {
            To::Decision(at, root) => Node::Decision {
                scope: self.scope_of(&at, &from, path)?,
                root,
            },
            To::Evidence(at, id) => Node::Evidence {
                scope: self.scope_of(&at, &from, path)?,
                id,
            },
            To::Place(text) => self.to(&text)?,
        };
        let from = Node::Decision { scope: from, root };
        Ok(Edge { from, kind, to })
    }

    fn scope_of<'a>(
        &mut self,
        at: &At<'a>,
        from: &Scope,
        path: &'a str,
    ) -> Result<Scope, CoreError> {
        if let (At::Around(names), Some((known, known_names, around))) = (at, &self.around)
            && names == known_names
            && from == known
        {
            return Ok(around.clone());
        }
        let found = match at.path(path) {
            Some(same) if same == path => from.clone(),
            Some(other) => known(&mut self.other, other)?,
            None => {
                let why = format!("no scope of that level lies around {path}");
                return Err(CoreError::new(ErrorCode::InvalidScope, why));
            }
        };
        if let At::Around(names) = at {
            self.around = Some((from.clone(), *names, found.clone()));
        }
        Ok(found)
    }

    fn former(&mut self, (from, kind, to): Former<'_>) -> Result<Edge, CoreError> {
        let from = Node::read(from, self.scope.as_ref())?;
        self.scope = from.scope().cloned();
        let to = self.to(to)?;
        Ok(Edge { from, kind, to })
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

/// The scope of that path: the one that is known, where it is that one.
fn known(last: &mut Option<Scope>, path: &str) -> Result<Scope, CoreError> {
    match last {
        Some(known) if known.as_str() == path => Ok(known.clone()),
        _ => Ok(last.insert(Scope::parse(path)?).clone()),
    }
}
