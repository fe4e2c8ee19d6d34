//! What is declared, included and called in C and C++.
//!
//! Owns the tables of their grammars' node kinds, and the way from a declaration to its name, which stands in the middle of its
//! type. It must not know in which folder a header lies.

use tree_sitter::Node;

use crate::file_index::SymbolKind;

use super::{Declared, Found, Inside, Role, Site};

macro_rules! table {
    ($($row:expr,)*) => {
        &[
            ("comment", Role::Comment),
            ("function_definition", Role::Declares(function)),
            ("declaration", Role::Declares(declaration)),
            ("struct_specifier", Role::Declares(|site| with_body(site, SymbolKind::Struct))),
            ("union_specifier", Role::Declares(|site| with_body(site, SymbolKind::Union))),
            ("enum_specifier", Role::Declares(|site| with_body(site, SymbolKind::Enum))),
            ("type_definition", Role::Declares(type_definition)),
            ("preproc_def", Role::Declares(|site| site.named(SymbolKind::Macro))),
            ("preproc_function_def", Role::Declares(|site| site.named(SymbolKind::Macro))),
            ("preproc_include", Role::Reads(include)),
            ("call_expression", Role::Reads(call)),
            $($row,)*
        ]
    };
}

pub(super) const C: &[(&str, Role)] = table![];

pub(super) const CPP: &[(&str, Role)] = table![
    (
        "class_specifier",
        Role::Declares(|site| with_body(site, SymbolKind::Class))
    ),
    ("namespace_definition", Role::Declares(namespace)),
    ("field_declaration", Role::Declares(member)),
    (
        "alias_declaration",
        Role::Declares(|site| site.value(SymbolKind::TypeAlias))
    ),
    (
        "concept_definition",
        Role::Declares(|site| site.named(SymbolKind::Interface))
    ),
    ("new_expression", Role::Reads(new)),
];

/// What may stand before a name that is called.
const NAMES: &[&str] = &[
    "identifier",
    "this",
    "field_expression",
    "qualified_identifier",
    "namespace_identifier",
];

/// The declarator in which another one stands.
fn inner(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "function_declarator" | "pointer_declarator" | "array_declarator" | "init_declarator" => {
            node.child_by_field_name("declarator")
        }
        "reference_declarator" | "parenthesized_declarator" | "attributed_declarator" => {
            let mut cursor = node.walk();
            node.named_children(&mut cursor).find(|child| {
                child.kind().ends_with("declarator") || child.kind().ends_with("identifier")
            })
        }
        _ => None,
    }
}

/// The name that a declarator gives, and whether it is that of a function.
fn declared(site: &Site<'_, '_>, declarator: Node<'_>) -> Option<(String, bool)> {
    let mut is_function = false;
    let mut through = Some(declarator);
    let name = site.innermost(declarator, |node| inner(node));
    for _ in 0..crate::limits::DECLARATORS_MAX {
        let Some(node) = through else {
            break;
        };
        // A pointer to a function is no function: the innermost one counts.
        match node.kind() {
            "function_declarator" => is_function = true,
            "pointer_declarator" | "parenthesized_declarator" => is_function = false,
            _ => {}
        }
        through = inner(node);
    }
    let is_name = name.kind().ends_with("identifier")
        || matches!(
            name.kind(),
            "operator_name" | "destructor_name" | "template_function"
        );
    is_name.then(|| (path(site, name), is_function))
}

/// A qualified name without what it is generic over.
fn path(site: &Site<'_, '_>, name: Node<'_>) -> String {
    let text = site.text(name);
    let mut plain = String::with_capacity(text.len());
    let mut depth = 0_u32;
    let is_operator = text.contains("operator");
    for character in text.chars().filter(|character| !character.is_whitespace()) {
        match character {
            '<' if !is_operator => depth += 1,
            '>' if !is_operator => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(character),
            _ => {}
        }
    }
    plain
}

fn function<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let (name, _) = declared(site, site.field("declarator")?)?;
    let is_method = name.contains("::");
    let body = site.field("body");
    Some(Declared {
        is_method,
        ..Declared::new(SymbolKind::Function, name, body)
    })
}

/// A prototype anywhere but in code, or a variable.
fn declaration<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    if site.inside == Inside::Function {
        return None;
    }
    let (name, is_function) = declared(site, site.field("declarator")?)?;
    let kind = if is_function {
        SymbolKind::Function
    } else {
        SymbolKind::Variable
    };
    Some(Declared::new(kind, name, None))
}

/// A function that a class declares. What it holds is part of its body.
fn member<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let (name, is_function) = declared(site, site.field("declarator")?)?;
    is_function.then(|| Declared::new(SymbolKind::Method, name, None))
}

fn with_body<'t>(site: &Site<'t, '_>, kind: SymbolKind) -> Option<Declared<'t>> {
    let body = site.field("body")?;
    let name = path(site, site.field("name")?);
    Some(Declared::new(kind, name, Some(body)))
}

fn type_definition<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let declarator = site.field("declarator")?;
    let (name, _) = declared(site, declarator)?;
    let of = site.field("type");
    let body = of.and_then(|of| of.child_by_field_name("body"));
    let is_bare = of.is_some_and(|of| of.child_by_field_name("name").is_none());
    let kind = match of.map_or("", |of| of.kind()) {
        "struct_specifier" if is_bare => SymbolKind::Struct,
        "union_specifier" if is_bare => SymbolKind::Union,
        "enum_specifier" if is_bare => SymbolKind::Enum,
        _ => return Some(Declared::new(SymbolKind::TypeAlias, name, None)),
    };
    Some(Declared::new(kind, name, body))
}

fn namespace<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let name = path(site, site.field("name")?);
    Some(Declared::new(SymbolKind::Module, name, site.field("body")))
}

/// A header of the system keeps its angle brackets.
fn include(site: &Site<'_, '_>, found: &mut Found) {
    let Some(path) = site.field("path") else {
        return;
    };
    match path.kind() {
        "string_literal" => found.import(site, &site.unquoted(path), None, None),
        "system_lib_string" => found.import(site, &site.text(path), None, None),
        _ => {}
    }
}

fn call(site: &Site<'_, '_>, found: &mut Found) {
    if let Some(function) = site.field("function") {
        called(site, found, function);
    }
}

fn new(site: &Site<'_, '_>, found: &mut Found) {
    if let Some(of) = site.field("type") {
        called(site, found, of);
    }
}

fn called(site: &Site<'_, '_>, found: &mut Found, function: Node<'_>) {
    match function.kind() {
        "identifier"
        | "type_identifier"
        | "template_function"
        | "template_type"
        | "qualified_identifier" => {
            let path = path(site, function);
            match path.rsplit_once("::") {
                Some((before, name)) => found.call(site, Some(before), name),
                None => found.call(site, None, &path),
            }
        }
        "field_expression" => {
            let function = site.at(function);
            let before = function
                .field("argument")
                .map(|argument| site.qualifier(argument, NAMES));
            let Some(name) = function.field("field") else {
                return;
            };
            found.call(site, Some(&before.unwrap_or_default()), &path(site, name));
        }
        _ => {}
    }
}
