//! What is declared, imported and called in Java.
//!
//! Owns the table of the grammar's node kinds. It must not know in which file a class lies.

use tree_sitter::Node;

use crate::file_index::SymbolKind;

use super::{Declared, Found, Role, Site};

pub(super) const TABLE: &[(&str, Role)] = &[
    ("line_comment", Role::Comment),
    ("block_comment", Role::Comment),
    (
        "class_declaration",
        Role::Declares(|site| site.named(SymbolKind::Class)),
    ),
    (
        "record_declaration",
        Role::Declares(|site| site.named(SymbolKind::Struct)),
    ),
    (
        "enum_declaration",
        Role::Declares(|site| site.named(SymbolKind::Enum)),
    ),
    (
        "interface_declaration",
        Role::Declares(|site| site.named(SymbolKind::Interface)),
    ),
    (
        "annotation_type_declaration",
        Role::Declares(|site| site.named(SymbolKind::Interface)),
    ),
    (
        "method_declaration",
        Role::Declares(|site| site.named(SymbolKind::Method)),
    ),
    (
        "constructor_declaration",
        Role::Declares(|site| site.named(SymbolKind::Method)),
    ),
    (
        "compact_constructor_declaration",
        Role::Declares(|site| site.named(SymbolKind::Method)),
    ),
    ("field_declaration", Role::Declares(field)),
    ("package_declaration", Role::Reads(package)),
    ("import_declaration", Role::Reads(import)),
    ("method_invocation", Role::Reads(invocation)),
    ("object_creation_expression", Role::Reads(creation)),
];

/// What may stand before a name that is called.
const NAMES: &[&str] = &[
    "identifier",
    "field_access",
    "this",
    "super",
    "scoped_identifier",
];

/// The first name of a declaration of fields, with all of it as its signature.
fn field<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let declarator = site.field("declarator")?;
    let name = site.at(declarator).field_text("name")?.into_owned();
    let is_constant = !name.chars().any(char::is_lowercase);
    let kind = if is_constant {
        SymbolKind::Constant
    } else {
        SymbolKind::Variable
    };
    Some(Declared::new(kind, name, None))
}

fn path<'t>(node: Node<'t>) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .find(|child| matches!(child.kind(), "identifier" | "scoped_identifier"))
}

fn package(site: &Site<'_, '_>, found: &mut Found) {
    if let Some(path) = path(site.node) {
        let path: String = site.text(path).split_whitespace().collect();
        found.package = Some(path.into());
    }
}

fn import(site: &Site<'_, '_>, found: &mut Found) {
    let Some(path) = path(site.node) else {
        return;
    };
    let path: String = site.text(path).split_whitespace().collect();
    let mut cursor = site.node.walk();
    let is_all = site
        .node
        .named_children(&mut cursor)
        .any(|child| child.kind() == "asterisk");
    if is_all {
        return found.import(site, &path, Some("*"), None);
    }
    match path.rsplit_once('.') {
        Some((module, name)) => found.import(site, module, Some(name), None),
        None => found.import(site, &path, None, None),
    }
}

fn invocation(site: &Site<'_, '_>, found: &mut Found) {
    let before = site
        .field("object")
        .map(|object| site.qualifier(object, NAMES));
    let name = site.field_text("name").unwrap_or_default();
    found.call(site, before.as_deref(), &name);
}

/// What makes an object calls the class by its name.
fn creation(site: &Site<'_, '_>, found: &mut Found) {
    let Some(of) = site.field("type") else {
        return;
    };
    let of = site.innermost(of, |node| match node.kind() {
        "generic_type" => node.named_child(0),
        _ => None,
    });
    let of: String = site.text(of).split_whitespace().collect();
    match of.rsplit_once('.') {
        Some((outer, name)) => found.call(site, Some(outer), name),
        None => found.call(site, None, &of),
    }
}
