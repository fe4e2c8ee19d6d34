//! What is declared, imported and called in Python.
//!
//! Owns the table of the grammar's node kinds. It must not know in which file a module lies.

use crate::file_index::SymbolKind;
use crate::limits::IMPORT_PARTS_MAX;

use super::{Declared, Found, Inside, Role, Site};

pub(super) const TABLE: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    (
        "function_definition",
        Role::Declares(|site| site.named(SymbolKind::Function)),
    ),
    (
        "class_definition",
        Role::Declares(|site| site.named(SymbolKind::Class)),
    ),
    ("assignment", Role::Declares(assignment)),
    ("import_statement", Role::Reads(import)),
    ("import_from_statement", Role::Reads(import_from)),
    ("call", Role::Reads(call)),
];

/// What may stand before a name that is called.
const NAMES: &[&str] = &["identifier", "attribute"];

/// A name that a module or a class gives to a value.
fn assignment<'t>(site: &Site<'t, '_>) -> Option<Declared<'t>> {
    let name = site.field("left")?;
    if site.inside == Inside::Function || name.kind() != "identifier" {
        return None;
    }
    let name = site.text(name).into_owned();
    let is_constant = !name.chars().any(char::is_lowercase);
    let kind = if is_constant {
        SymbolKind::Constant
    } else {
        SymbolKind::Variable
    };
    Some(Declared::new(kind, name, None))
}

fn import(site: &Site<'_, '_>, found: &mut Found) {
    let mut cursor = site.node.walk();
    let names = site.node.children_by_field_name("name", &mut cursor);
    for name in names.take(IMPORT_PARTS_MAX) {
        let part = site.at(name);
        let (path, alias) = match name.kind() {
            "aliased_import" => (part.field_text("name"), part.field_text("alias")),
            _ => (Some(part.text(name)), None),
        };
        found.import(
            site,
            &joined(&path.unwrap_or_default()),
            None,
            alias.as_deref(),
        );
    }
}

fn import_from(site: &Site<'_, '_>, found: &mut Found) {
    let Some(module) = site.field_text("module_name") else {
        return;
    };
    let module = joined(&module);
    let mut cursor = site.node.walk();
    for child in site.node.named_children(&mut cursor) {
        if child.kind() == "wildcard_import" {
            found.import(site, &module, Some("*"), None);
        }
    }
    let names = site.node.children_by_field_name("name", &mut cursor);
    for name in names.take(IMPORT_PARTS_MAX) {
        let part = site.at(name);
        let (path, alias) = match name.kind() {
            "aliased_import" => (part.field_text("name"), part.field_text("alias")),
            _ => (Some(part.text(name)), None),
        };
        let path = joined(&path.unwrap_or_default());
        found.import(site, &module, Some(&path), alias.as_deref());
    }
}

fn joined(path: &str) -> String {
    path.split_whitespace().collect()
}

fn call(site: &Site<'_, '_>, found: &mut Found) {
    let Some(function) = site.field("function") else {
        return;
    };
    match function.kind() {
        "identifier" => found.call(site, None, &site.text(function)),
        "attribute" => {
            let function = site.at(function);
            let before = function
                .field("object")
                .map(|object| site.qualifier(object, NAMES));
            let name = function.field_text("attribute").unwrap_or_default();
            found.call(site, Some(&before.unwrap_or_default()), &name);
        }
        _ => {}
    }
}
