//! What is declared, imported and called in Go.
//!
//! Owns the table of the grammar's node kinds. It must not know in which folder a package lies.

use tree_sitter::Node;

use crate::file_index::SymbolKind;

use super::{Declared, Found, Role, Site};

pub(super) const TABLE: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    (
        "function_declaration",
        Role::Declares(|site| site.named(SymbolKind::Function)),
    ),
    ("method_declaration", Role::Declares(method)),
    (
        "method_elem",
        Role::Declares(|site| site.named(SymbolKind::Method)),
    ),
    ("type_spec", Role::Declares(defined)),
    (
        "type_alias",
        Role::Declares(|site| site.value(SymbolKind::TypeAlias)),
    ),
    (
        "const_spec",
        Role::Declares(|site| site.value(SymbolKind::Constant)),
    ),
    (
        "var_spec",
        Role::Declares(|site| site.value(SymbolKind::Variable)),
    ),
    ("package_clause", Role::Reads(package)),
    ("import_spec", Role::Reads(import)),
    ("call_expression", Role::Reads(call)),
    ("type_conversion_expression", Role::Reads(conversion)),
];

/// What may stand before a name that is called.
const NAMES: &[&str] = &["identifier", "selector_expression", "package_identifier"];

/// The name of the receiver's type stands before that of the method.
fn method<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let name = site.field_text("name")?;
    let receiver = site.field("receiver").and_then(|list| list.named_child(0));
    let of = receiver
        .and_then(|parameter| parameter.child_by_field_name("type"))
        .map(|of| {
            let of = site.innermost(of, inner_type);
            site.text(of)
        });
    let name = of.map_or_else(|| name.to_string(), |of| format!("{of}.{name}"));
    Some(Declared::new(SymbolKind::Method, name, site.field("body")))
}

fn inner_type(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "pointer_type" | "parenthesized_type" => node.named_child(0),
        "generic_type" => node.child_by_field_name("type"),
        "qualified_type" => node.child_by_field_name("name"),
        _ => None,
    }
}

fn defined<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let name = site.field_text("name")?.into_owned();
    let of = site.field("type")?;
    let (kind, body) = match of.kind() {
        "struct_type" => (SymbolKind::Struct, Some(of)),
        "interface_type" => (SymbolKind::Interface, Some(of)),
        _ => (SymbolKind::TypeAlias, None),
    };
    Some(Declared::new(kind, name, body))
}

fn package(site: &Site<'_, '_>, found: &mut Found) {
    if let Some(name) = site.node.named_child(0) {
        found.package = Some(site.text(name).into());
    }
}

fn import(site: &Site<'_, '_>, found: &mut Found) {
    let Some(path) = site.field("path") else {
        return;
    };
    let path = site.unquoted(path);
    match site.field_text("name").as_deref() {
        Some(".") => found.import(site, &path, Some("*"), None),
        alias => found.import(site, &path, None, alias),
    }
}

fn call(site: &Site<'_, '_>, found: &mut Found) {
    let Some(function) = site.field("function") else {
        return;
    };
    let function = site.innermost(function, |node| match node.kind() {
        "parenthesized_expression" => node.named_child(0),
        "index_expression" => node.child_by_field_name("operand"),
        _ => None,
    });
    match function.kind() {
        "identifier" => found.call(site, None, &site.text(function)),
        "selector_expression" => {
            let function = site.at(function);
            let before = function
                .field("operand")
                .map(|operand| site.qualifier(operand, NAMES));
            let name = function.field_text("field").unwrap_or_default();
            found.call(site, Some(&before.unwrap_or_default()), &name);
        }
        _ => {}
    }
}

/// What is given types in brackets and a value reads the same, whether it is a function or a type.
fn conversion(site: &Site<'_, '_>, found: &mut Found) {
    let of = site.field("type").filter(|of| of.kind() == "generic_type");
    let Some(of) = of.and_then(|of| of.child_by_field_name("type")) else {
        return;
    };
    let named = site.at(of);
    match of.kind() {
        "type_identifier" => found.call(site, None, &site.text(of)),
        "qualified_type" => {
            let package = named.field_text("package").unwrap_or_default();
            let name = named.field_text("name").unwrap_or_default();
            found.call(site, Some(&package), &name);
        }
        _ => {}
    }
}
