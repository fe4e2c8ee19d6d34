//! How files and symbols are named: as decisions name them.
//!
//! Owns that whatever is told can be asked for: an index lists no other paths and names (see `sillok_code`).

use sillok_code::{CodeNode, SymbolRef, WorkTree};
use sillok_core::decision::Node;

/// A file or a symbol as decisions name it.
pub(crate) fn node_of(tree: &WorkTree, node: &CodeNode) -> Node {
    match node {
        CodeNode::File(path) => Node::File {
            path: path.to_string(),
        },
        CodeNode::Symbol(at) => symbol_node(tree, at),
    }
}

pub(super) fn symbol_node(tree: &WorkTree, at: &SymbolRef) -> Node {
    let name = tree.symbol(at).map(|symbol| symbol.name.to_string());
    Node::Symbol {
        name: name.unwrap_or_default(),
        file: Some(at.path.to_string()),
    }
}
