//! Relations: what a decision declares to depend on, to constrain, to validate and to rest on, and where it applies.
//!
//! Owns the nodes that they join and the text form of a node. Which relations may be declared is [`crate::decide`]'s; what
//! a change reaches over them is [`crate::impact`]'s.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};

use super::{Rank, RelationKind};
use crate::error::{Error, ErrorCode};
use crate::id::{DecisionId, EvidenceId};
use crate::limits::PLACE_BYTES_MAX;
use crate::scope::Scope;
use crate::secret::mask;

/// What a relation joins: a decision, a file, a symbol or evidence. As text, `decision:SCOPE#ROOT`, `file:PATH`,
/// `symbol:NAME@PATH`, `symbol:NAME` or `evidence:SCOPE#ID`; so it is stored and sent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Node {
    /// A decision.
    Decision {
        /// The scope that holds it.
        scope: Scope,
        /// Its root.
        root: DecisionId,
    },
    /// A file.
    File {
        /// Path from the root of the work tree, with `/` between its parts.
        path: String,
    },
    /// A named piece of code.
    Symbol {
        /// Its name.
        name: String,
        /// Path of the file that defines it, where that is told.
        file: Option<String>,
    },
    /// Evidence.
    Evidence {
        /// The scope that holds it.
        scope: Scope,
        /// Its id.
        id: EvidenceId,
    },
}

impl Node {
    /// A file.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` when the path does not lead downward from the root of the work tree.
    pub fn file(path: &str) -> Result<Self, Error> {
        let path = from_the_root(path)?;
        Ok(Self::File { path })
    }

    /// A named piece of code.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large` when the name is none, or the path does not lead downward from the root.
    pub fn symbol(name: &str, file: Option<&str>) -> Result<Self, Error> {
        check_symbol(name)?;
        Ok(Self::Symbol {
            name: name.to_owned(),
            file: file.map(from_the_root).transpose()?,
        })
    }

    /// Reads its text form. Where the scope in it is `known`, it is that very one: of the thousands of nodes that are read one
    /// after the other, most are of one scope.
    ///
    /// # Errors
    /// As [`FromStr`].
    pub fn read(text: &str, known: Option<&Scope>) -> Result<Self, Error> {
        let scope_of = |path: &str| match known {
            Some(known) if known.as_str() == path => Ok(known.clone()),
            _ => Scope::parse(path),
        };
        match text.split_once(':') {
            Some(("decision", named)) => {
                let (scope, root) = named
                    .rsplit_once('#')
                    .ok_or_else(|| invalid("a decision is named decision:SCOPE#ROOT"))?;
                Ok(Self::Decision {
                    scope: scope_of(scope)?,
                    root: root.parse()?,
                })
            }
            Some(("file", path)) => Self::file(path),
            Some(("symbol", named)) => match named.split_once('@') {
                Some((name, file)) => Self::symbol(name, Some(file)),
                None => Self::symbol(named, None),
            },
            Some(("evidence", named)) => {
                let (scope, id) = named
                    .rsplit_once('#')
                    .ok_or_else(|| invalid("evidence is named evidence:SCOPE#ID"))?;
                Ok(Self::Evidence {
                    scope: scope_of(scope)?,
                    id: id.parse()?,
                })
            }
            _ => Err(invalid(
                "a node is decision:SCOPE#ROOT, file:PATH, symbol:NAME@PATH, symbol:NAME or evidence:SCOPE#ID",
            )),
        }
    }

    /// The scope that holds it; none of a file or a symbol, which is of every scope.
    #[must_use]
    pub const fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Decision { scope, .. } | Self::Evidence { scope, .. } => Some(scope),
            Self::File { .. } | Self::Symbol { .. } => None,
        }
    }

    /// Whether it is a decision.
    #[must_use]
    pub const fn is_decision(&self) -> bool {
        matches!(self, Self::Decision { .. })
    }

    /// Bytes of its text form.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.to_string().len()
    }

    /// Whether it is a place with a secret in it.
    #[must_use]
    pub fn holds_secret(&self) -> bool {
        let is_secret = |text: &str| mask(text).count > 0;
        let (name, file) = match self {
            Self::Decision { .. } | Self::Evidence { .. } => return false,
            Self::File { path } => (path, None),
            Self::Symbol { name, file } => (name, file.as_deref()),
        };
        is_secret(name) || file.is_some_and(is_secret) || is_secret(&self.to_string())
    }

    /// Checks that the node is told as it would be read again.
    ///
    /// # Errors
    /// `invalid_argument` or `too_large`.
    pub fn check(&self) -> Result<(), Error> {
        let read: Self = self.to_string().parse()?;
        if read == *self {
            return Ok(());
        }
        Err(invalid(format!("{self} is read as {read}")))
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision { scope, root } => write!(f, "decision:{scope}#{root}"),
            Self::File { path } => write!(f, "file:{path}"),
            Self::Symbol {
                name,
                file: Some(file),
            } => write!(f, "symbol:{name}@{file}"),
            Self::Symbol { name, file: None } => write!(f, "symbol:{name}"),
            Self::Evidence { scope, id } => write!(f, "evidence:{scope}#{id}"),
        }
    }
}

impl FromStr for Node {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::read(text, None)
    }
}

impl TryFrom<String> for Node {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A relation, as the decision that it belongs to declares it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Relation {
    /// How they are related.
    pub kind: RelationKind,
    /// To what.
    pub to: Node,
}

impl Relation {
    /// The edge that it is when `from` declares it.
    #[must_use]
    pub fn edge_from(&self, from: Node) -> Edge {
        Edge {
            from,
            kind: self.kind,
            to: self.to.clone(),
        }
    }

    /// Whether the place that it leads to, or the name of its kind, has a secret in it.
    #[must_use]
    pub fn holds_secret(&self) -> bool {
        let kind = self.kind.declared();
        self.to.holds_secret() || kind.is_some_and(|kind| kind.name.holds_secret())
    }

    /// Bytes of its texts: of the node that it leads to, and of the name of its kind where that is declared.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let name = self.kind.declared();
        self.to.text_bytes() + name.map_or(0, |kind| kind.name.as_str().len())
    }
}

/// A relation between two nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Edge {
    /// The decision that declares it.
    pub from: Node,
    /// How they are related.
    pub kind: RelationKind,
    /// To what.
    pub to: Node,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.from, self.kind, self.to)
    }
}

/// What a decision is called and how strong it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionName {
    /// How strong it is.
    pub rank: Rank,
    /// What was decided, in a line.
    pub title: String,
}

/// A relation, with what the decision that declares it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedEdge {
    /// The relation.
    pub edge: Edge,
    /// What the decision is called, where that is known.
    pub name: Option<DecisionName>,
}

impl From<Edge> for NamedEdge {
    fn from(edge: Edge) -> Self {
        Self { edge, name: None }
    }
}

/// A path without `./` before it, each of whose parts names something.
fn from_the_root(path: &str) -> Result<String, Error> {
    let path = path.trim_start_matches("./");
    check_bytes("path bytes", path)?;
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    let is_odd = |c: char| c.is_control() || c == '\\';
    if !path.split('/').all(is_name) || path.contains(is_odd) {
        return Err(invalid(
            "a path leads downward from the root of the work tree, with / between its parts",
        ));
    }
    Ok(path.to_owned())
}

fn check_symbol(name: &str) -> Result<(), Error> {
    check_bytes("symbol name bytes", name)?;
    if name.trim().is_empty() || name.contains(|c: char| c.is_control() || c == '@') {
        return Err(invalid("a symbol's name is not empty, and has no @"));
    }
    Ok(())
}

fn check_bytes(what: &str, text: &str) -> Result<(), Error> {
    if text.len() <= PLACE_BYTES_MAX {
        return Ok(());
    }
    let (limit, got) = (PLACE_BYTES_MAX as u64, text.len() as u64);
    Err(Error::too_large(what, limit, got))
}

fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: &str = "0196f3a2-0000-7000-8000-000000000001";

    fn refused(text: &str) -> ErrorCode {
        text.parse::<Node>().unwrap_err().code
    }

    fn node() -> impl Strategy<Value = Node> {
        let path = "[a-z@#: .]{0,4}[a-z](/[a-z@#:][a-z.]{0,3}){0,3}";
        let name = "[A-Za-z_:#<>]{1,12}";
        let decision = any::<[u8; 16]>().prop_map(|root| Node::Decision {
            scope: Scope::parse("org/a/project/b").unwrap(),
            root: DecisionId::from_bytes(root),
        });
        let evidence = any::<[u8; 16]>().prop_map(|id| Node::Evidence {
            scope: Scope::parse("org/a/project/b/worktree/c/task/d").unwrap(),
            id: EvidenceId::from_bytes(id),
        });
        prop_oneof![
            decision,
            evidence,
            path.prop_map(|path| Node::file(&path).unwrap()),
            (name, proptest::option::of(path)).prop_map(|(name, file)| Node::symbol(
                &name,
                file.as_deref()
            )
            .unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn a_node_is_read_as_it_is_written(node in node()) {
            let text = node.to_string();
            prop_assert_eq!(node.text_bytes(), text.len());
            prop_assert_eq!(&text.parse::<Node>().unwrap(), &node);
            prop_assert_eq!(node.check(), Ok(()));
            // Whichever scope is known, it is the same node.
            for known in ["org/a/project/b", "org/a/project/b/worktree/c/task/d"] {
                let known = Scope::parse(known).unwrap();
                prop_assert_eq!(&Node::read(&text, Some(&known)).unwrap(), &node);
            }
            let stored = postcard::to_allocvec(&node).unwrap();
            prop_assert_eq!(&stored, &postcard::to_allocvec(&text).unwrap());
            prop_assert_eq!(postcard::from_bytes::<Node>(&stored).unwrap(), node);
        }

        #[test]
        fn any_text_is_a_node_or_refused_without_panic(
            kind in "(decision|file|symbol|evidence|)", text in ":?.{0,60}",
        ) {
            let text = format!("{kind}{text}");
            if let Ok(node) = text.parse::<Node>() {
                prop_assert_eq!(node.check(), Ok(()));
            }
        }
    }

    #[test]
    fn nodes_are_told_in_four_forms() {
        let read = |text: &str| text.parse::<Node>().unwrap();
        let root = ROOT.parse().unwrap();
        let scope = Scope::parse("org/a").unwrap();
        let evidence = Node::Evidence {
            scope: scope.clone(),
            id: ROOT.parse().unwrap(),
        };
        assert_eq!(read(&format!("evidence:org/a#{ROOT}")), evidence);
        let decision = Node::Decision { scope, root };
        assert_ne!(decision, evidence);
        assert_eq!(read(&format!("decision:org/a#{ROOT}")), decision);
        assert_eq!(read("file:./src/a.rs"), Node::file("src/a.rs").unwrap());
        let symbol = Node::symbol("a::b", Some("node_modules/@x/y.ts")).unwrap();
        assert_eq!(read("symbol:a::b@node_modules/@x/y.ts"), symbol);
        assert_eq!(read("symbol:a::b"), Node::symbol("a::b", None).unwrap());
        let sorted = [decision, Node::file("a").unwrap(), symbol, evidence];
        assert!(sorted.is_sorted());
    }

    #[test]
    fn what_leads_out_of_the_work_tree_or_nowhere_is_refused() {
        for path in [
            "", "./", "/a", "../a", "a/../b", "a//b", "a/", "a/./b", "a\\b", "a\nb",
        ] {
            assert_eq!(
                refused(&format!("file:{path}")),
                ErrorCode::InvalidArgument,
                "{path:?}"
            );
            assert_eq!(
                refused(&format!("symbol:x@{path}")),
                ErrorCode::InvalidArgument,
                "{path:?}"
            );
        }
        for text in [
            "",
            "a",
            "dir:a",
            "symbol:",
            "symbol: @a",
            "decision:org/a",
            "evidence:org/a",
            "evidence:",
        ] {
            assert_eq!(refused(text), ErrorCode::InvalidArgument, "{text:?}");
        }
        assert_eq!(
            refused(&format!("decision:org#{ROOT}")),
            ErrorCode::InvalidScope
        );
        assert_eq!(refused("decision:org/a#7"), ErrorCode::InvalidId);
        let above = format!("evidence:org#{ROOT}");
        assert_eq!(refused(&above), ErrorCode::InvalidScope);
        assert_eq!(refused("evidence:org/a#7"), ErrorCode::InvalidId);
        let long = "x".repeat(PLACE_BYTES_MAX + 1);
        for text in [
            format!("file:{long}"),
            format!("symbol:{long}"),
            format!("symbol:x@{long}"),
        ] {
            assert_eq!(refused(&text), ErrorCode::TooLarge);
        }
    }
}
