//! What is declared, imported and called in Rust.
//!
//! Owns the table of the grammar's node kinds. It must not know in which file a module lies.

use tree_sitter::Node;

use crate::file_index::SymbolKind;
use crate::limits::{IMPORT_PARTS_MAX, NAME_BYTES_MAX};

use super::{Declared, Found, Role, Site};

pub(super) const TABLE: &[(&str, Role)] = &[
    ("line_comment", Role::Comment),
    ("block_comment", Role::Comment),
    (
        "function_item",
        Role::Declares(|site| site.named(SymbolKind::Function)),
    ),
    (
        "function_signature_item",
        Role::Declares(|site| site.named(SymbolKind::Function)),
    ),
    (
        "struct_item",
        Role::Declares(|site| site.named(SymbolKind::Struct)),
    ),
    (
        "union_item",
        Role::Declares(|site| site.named(SymbolKind::Union)),
    ),
    (
        "enum_item",
        Role::Declares(|site| site.named(SymbolKind::Enum)),
    ),
    (
        "trait_item",
        Role::Declares(|site| site.named(SymbolKind::Interface)),
    ),
    (
        "type_item",
        Role::Declares(|site| site.value(SymbolKind::TypeAlias)),
    ),
    (
        "const_item",
        Role::Declares(|site| site.value(SymbolKind::Constant)),
    ),
    (
        "static_item",
        Role::Declares(|site| site.value(SymbolKind::Variable)),
    ),
    (
        "macro_definition",
        Role::Declares(|site| site.named(SymbolKind::Macro)),
    ),
    ("mod_item", Role::Declares(module)),
    ("impl_item", Role::Declares(implementation)),
    ("use_declaration", Role::Reads(uses)),
    ("extern_crate_declaration", Role::Reads(extern_crate)),
    ("call_expression", Role::Reads(call)),
    ("macro_invocation", Role::Reads(macro_call)),
    ("token_tree", Role::Reads(tokens)),
];

/// What may stand before a name that is called.
const NAMES: &[&str] = &[
    "identifier",
    "self",
    "super",
    "crate",
    "scoped_identifier",
    "field_expression",
    "type_identifier",
];

/// A module whose code stands here, or in a file of its own.
fn module<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let declared = site.named(SymbolKind::Module)?;
    Some(Declared {
        lies_elsewhere: declared.body.is_none(),
        ..declared
    })
}

/// The name of the type without what it is generic over; what it implements tells two functions of one name apart.
fn implementation<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let name = type_name(site, site.field("type")?);
    Some(Declared {
        kind: None,
        name,
        is_method: false,
        tag: site
            .field_text("trait")
            .map(|of| of.split_whitespace().collect()),
        body: site.field("body"),
        lies_elsewhere: false,
    })
}

fn type_name(site: &Site<'_, '_>, node: Node<'_>) -> String {
    let inner = site.at(node).innermost(node, |node| match node.kind() {
        "generic_type" | "reference_type" | "pointer_type" => node.child_by_field_name("type"),
        "scoped_type_identifier" => node.child_by_field_name("name"),
        _ => None,
    });
    site.text(inner).split_whitespace().collect()
}

/// A tree of names, one import for each leaf.
fn uses(site: &Site<'_, '_>, found: &mut Found) {
    let Some(argument) = site.field("argument") else {
        return;
    };
    let mut open = vec![(argument, String::new())];
    let mut parts_left = IMPORT_PARTS_MAX;
    while let Some((node, before)) = open.pop() {
        if parts_left == 0 || before.len() > NAME_BYTES_MAX {
            found.cut += 1;
            continue;
        }
        parts_left -= 1;
        let site = site.at(node);
        let field = |name: &str| site.field_text(name).unwrap_or_default();
        match node.kind() {
            "scoped_use_list" => {
                let path = joined(&before, &field("path"));
                open.extend(site.field("list").map(|list| (list, path)));
            }
            "use_list" => {
                let mut cursor = node.walk();
                let named = node.named_children(&mut cursor);
                open.extend(
                    named
                        .filter(|it| !it.is_extra())
                        .map(|part| (part, before.clone())),
                );
            }
            "use_as_clause" => leaf(
                &site,
                found,
                &joined(&before, &field("path")),
                Some(&field("alias")),
            ),
            "use_wildcard" => {
                let path = node
                    .named_child(0)
                    .map(|path| site.text(path))
                    .unwrap_or_default();
                let path = outside_of(&joined(&before, &path), site.modules);
                found.import(&site, &path, Some("*"), None);
            }
            "self" => leaf(&site, found, &before, None),
            _ => leaf(&site, found, &joined(&before, &site.text(node)), None),
        }
    }
}

fn joined(before: &str, path: &str) -> String {
    let path: String = path.split_whitespace().collect();
    match (before.is_empty(), path.is_empty()) {
        (true, _) => path,
        (_, true) => before.to_owned(),
        _ => format!("{before}::{path}"),
    }
}

/// Within a module that stands in the same file, `super` is that file, or what is around it.
fn outside_of(path: &str, modules: usize) -> String {
    let (mut rest, mut left) = (path, modules);
    while left > 0 {
        let Some(outer) = rest.strip_prefix("super") else {
            break;
        };
        if !outer.is_empty() && !outer.starts_with("::") {
            break;
        }
        rest = outer.trim_start_matches("::");
        left -= 1;
    }
    if left == modules || rest == "super" || rest.starts_with("super::") {
        return rest.to_owned();
    }
    joined("self", rest)
}

fn leaf(site: &Site<'_, '_>, found: &mut Found, path: &str, alias: Option<&str>) {
    let path = outside_of(path, site.modules);
    match path.rsplit_once("::") {
        Some((module, name)) => found.import(site, module, Some(name), alias),
        None => found.import(site, &path, None, alias),
    }
}

fn extern_crate(site: &Site<'_, '_>, found: &mut Found) {
    if let Some(name) = site.field_text("name") {
        found.import(site, &name, None, site.field_text("alias").as_deref());
    }
}

fn call(site: &Site<'_, '_>, found: &mut Found) {
    let Some(function) = site.field("function") else {
        return;
    };
    let function = site.innermost(function, |node| match node.kind() {
        "generic_function" => node.child_by_field_name("function"),
        _ => None,
    });
    called(site, found, function);
}

fn macro_call(site: &Site<'_, '_>, found: &mut Found) {
    if let Some(name) = site.field("macro") {
        called(site, found, name);
    }
}

fn called(site: &Site<'_, '_>, found: &mut Found, function: Node<'_>) {
    let (before, name) = match function.kind() {
        "identifier" => return found.call(site, None, &site.text(function)),
        "scoped_identifier" => ("path", "name"),
        "field_expression" => ("value", "field"),
        _ => return,
    };
    let function = site.at(function);
    let Some(name) = function.field_text(name) else {
        return;
    };
    let qualifier = function.field(before).map(|before| qualifier(site, before));
    found.call(site, Some(&qualifier.unwrap_or_default()), &name);
}

/// What stands before a name, without what it is generic over.
fn qualifier(site: &Site<'_, '_>, node: Node<'_>) -> String {
    let node = site.at(node).innermost(node, |node| match node.kind() {
        "generic_type" | "bracketed_type" => node
            .child_by_field_name("type")
            .or_else(|| node.named_child(0)),
        _ => None,
    });
    site.qualifier(node, NAMES)
}

/// What a macro is given is no syntax yet: a name before a parenthesis is taken for a call.
fn tokens(site: &Site<'_, '_>, found: &mut Found) {
    let mut cursor = site.node.walk();
    // The last three tokens before the one at hand, the newest first.
    let mut last: [Option<Node<'_>>; 4] = [None; 4];
    for token in site.node.children(&mut cursor) {
        if token.kind() == "token_tree" && site.source.get(token.start_byte()) == Some(&b'(') {
            token_call(site, found, last);
        }
        last = [Some(token), last[0], last[1], last[2]];
    }
}

fn token_call(site: &Site<'_, '_>, found: &mut Found, last: [Option<Node<'_>>; 4]) {
    let Some(name) = last[0].filter(|name| name.kind() == "identifier") else {
        return;
    };
    let before = last[1].map_or("", |before| before.kind());
    let qualifier = match before {
        "fn" => return,
        "::" | "." => Some(
            last[2]
                .map(|node| site.qualifier(node, NAMES))
                .unwrap_or_default(),
        ),
        // A macro within a macro.
        _ => None,
    };
    found.call(&site.at(name), qualifier.as_deref(), &site.text(name));
}
