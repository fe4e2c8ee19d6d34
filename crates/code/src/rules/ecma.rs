//! What is declared, imported and called in JavaScript and TypeScript.
//!
//! Owns the tables of their grammars' node kinds. It must not know in which file a module lies.

use tree_sitter::Node;

use crate::file_index::SymbolKind;
use crate::limits::IMPORT_PARTS_MAX;

use super::{Declared, Found, Inside, Role, Site};

macro_rules! table {
    ($($row:expr,)*) => {
        &[
            ("comment", Role::Comment),
            ("function_declaration", Role::Declares(|site| site.named(SymbolKind::Function))),
            ("generator_function_declaration", Role::Declares(|site| site.named(SymbolKind::Function))),
            ("class_declaration", Role::Declares(|site| site.named(SymbolKind::Class))),
            ("method_definition", Role::Declares(|site| site.named(SymbolKind::Method))),
            ("variable_declarator", Role::Declares(variable)),
            ("import_statement", Role::Reads(import)),
            ("export_statement", Role::Reads(export)),
            ("call_expression", Role::Reads(call)),
            ("new_expression", Role::Reads(new)),
            $($row,)*
        ]
    };
}

macro_rules! typed {
    ($($row:expr,)*) => {
        table![
            ("abstract_class_declaration", Role::Declares(|site| site.named(SymbolKind::Class))),
            ("interface_declaration", Role::Declares(|site| site.named(SymbolKind::Interface))),
            ("enum_declaration", Role::Declares(|site| site.named(SymbolKind::Enum))),
            ("type_alias_declaration", Role::Declares(|site| site.value(SymbolKind::TypeAlias))),
            ("method_signature", Role::Declares(|site| site.named(SymbolKind::Method))),
            ("abstract_method_signature", Role::Declares(|site| site.named(SymbolKind::Method))),
            ("function_signature", Role::Declares(|site| site.named(SymbolKind::Function))),
            ("internal_module", Role::Declares(module)),
            ("module", Role::Declares(module)),
            ("public_field_definition", Role::Declares(field)),
            ("import_require_clause", Role::Reads(require_clause)),
            $($row,)*
        ]
    };
}

pub(super) const JAVASCRIPT: &[(&str, Role)] = table![
    ("html_comment", Role::Comment),
    ("field_definition", Role::Declares(field)),
    ("jsx_opening_element", Role::Reads(element)),
    ("jsx_self_closing_element", Role::Reads(element)),
];

pub(super) const TYPESCRIPT: &[(&str, Role)] = typed![("html_comment", Role::Comment),];

pub(super) const TSX: &[(&str, Role)] = typed![
    ("html_comment", Role::Comment),
    ("jsx_opening_element", Role::Reads(element)),
    ("jsx_self_closing_element", Role::Reads(element)),
];

/// What may stand before a name that is called.
const NAMES: &[&str] = &[
    "identifier",
    "member_expression",
    "this",
    "super",
    "private_property_identifier",
];

/// A name that is given to a function or a class anywhere, or to another value outside functions.
fn variable<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let name = site
        .field("name")
        .filter(|name| name.kind() == "identifier")?;
    named_value(site, site.text(name).into_owned(), SymbolKind::Function)
}

/// The same of a field of a class.
fn field<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let name = site
        .field_text("name")
        .or_else(|| site.field_text("property"))?;
    named_value(site, name.into_owned(), SymbolKind::Method)
}

fn named_value<'t>(
    site: &Site<'t, '_>,
    name: String,
    function: SymbolKind,
) -> Option<Declared<'t>> {
    let value = site.field("value");
    let body = value.and_then(|value| value.child_by_field_name("body"));
    match value.map_or("", |value| value.kind()) {
        "arrow_function" | "function_expression" | "generator_function" => {
            Some(Declared::new(function, name, body))
        }
        "class" => Some(Declared::new(SymbolKind::Class, name, body)),
        _ if site.inside == Inside::Function => None,
        _ if name.chars().any(char::is_lowercase) => {
            Some(Declared::new(SymbolKind::Variable, name, None))
        }
        _ => Some(Declared::new(SymbolKind::Constant, name, None)),
    }
}

fn module<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let name = site.unquoted(site.field("name")?);
    Some(Declared::new(SymbolKind::Module, name, site.field("body")))
}

fn import(site: &Site<'_, '_>, found: &mut Found) {
    let Some(source) = site.field("source") else {
        return;
    };
    let source = site.unquoted(source);
    let mut cursor = site.node.walk();
    let clause = site
        .node
        .named_children(&mut cursor)
        .find(|child| child.kind() == "import_clause");
    let Some(clause) = clause else {
        return found.import(site, &source, None, None);
    };
    let mut cursor = clause.walk();
    for part in clause.named_children(&mut cursor).take(IMPORT_PARTS_MAX) {
        match part.kind() {
            "identifier" => found.import(site, &source, Some("default"), Some(&site.text(part))),
            "namespace_import" => {
                let alias = part.named_child(0).map(|name| site.text(name));
                found.import(site, &source, None, alias.as_deref());
            }
            "named_imports" => specifiers(site, found, part, &source),
            _ => {}
        }
    }
}

/// Names, each with another one where `as` gives it.
fn specifiers(site: &Site<'_, '_>, found: &mut Found, list: Node<'_>, source: &str) {
    let mut cursor = list.walk();
    for part in list.named_children(&mut cursor).take(IMPORT_PARTS_MAX) {
        let part = site.at(part);
        if let Some(name) = part.field("name") {
            let name = site.unquoted(name);
            let alias = part.field("alias").map(|alias| site.unquoted(alias));
            found.import(site, source, Some(&name), alias.as_deref());
        }
    }
}

/// What is handed on is imported.
fn export(site: &Site<'_, '_>, found: &mut Found) {
    let Some(source) = site.field("source") else {
        return;
    };
    let source = site.unquoted(source);
    let mut cursor = site.node.walk();
    let part = site
        .node
        .named_children(&mut cursor)
        .find(|child| matches!(child.kind(), "export_clause" | "namespace_export"));
    match part {
        Some(list) if list.kind() == "export_clause" => specifiers(site, found, list, &source),
        Some(space) => {
            let alias = space.named_child(0).map(|name| site.text(name));
            found.import(site, &source, None, alias.as_deref());
        }
        None => found.import(site, &source, Some("*"), None),
    }
}

fn require_clause(site: &Site<'_, '_>, found: &mut Found) {
    let Some(source) = site.field("source") else {
        return;
    };
    let alias = site.node.named_child(0).map(|name| site.text(name));
    found.import(site, &site.unquoted(source), None, alias.as_deref());
}

fn call(site: &Site<'_, '_>, found: &mut Found) {
    let Some(function) = site.field("function") else {
        return;
    };
    let text = site.text(function);
    if function.kind() == "import" || (function.kind() == "identifier" && text == "require") {
        let argument = site.field("arguments").and_then(|list| list.named_child(0));
        if let Some(source) = argument.filter(|argument| argument.kind() == "string") {
            let name = site
                .parent
                .filter(|parent| parent.kind() == "variable_declarator");
            let name = name.and_then(|parent| parent.child_by_field_name("name"));
            let alias = name.filter(|name| name.kind() == "identifier");
            let alias = alias.map(|alias| site.text(alias));
            found.import(site, &site.unquoted(source), None, alias.as_deref());
        }
        return;
    }
    called(site, found, function);
}

fn new(site: &Site<'_, '_>, found: &mut Found) {
    if let Some(constructor) = site.field("constructor") {
        called(site, found, constructor);
    }
}

/// An element with a capital letter, or one of a name space, is a component.
fn element(site: &Site<'_, '_>, found: &mut Found) {
    let Some(name) = site.field("name") else {
        return;
    };
    let is_component = site
        .text(name)
        .starts_with(|first: char| first.is_uppercase());
    if is_component || name.kind() == "member_expression" {
        called(site, found, name);
    }
}

fn called(site: &Site<'_, '_>, found: &mut Found, function: Node<'_>) {
    let function = site.innermost(function, |node| match node.kind() {
        "parenthesized_expression" | "non_null_expression" => node.named_child(0),
        _ => None,
    });
    match function.kind() {
        "identifier" => found.call(site, None, &site.text(function)),
        "member_expression" => {
            let function = site.at(function);
            let before = function
                .field("object")
                .map(|object| site.qualifier(object, NAMES));
            let name = function.field_text("property").unwrap_or_default();
            found.call(site, Some(&before.unwrap_or_default()), &name);
        }
        _ => {}
    }
}
