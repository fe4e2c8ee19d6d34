//! What the nodes of a syntax tree mean, as one table a language.
//!
//! Owns what a rule is given and what it gives. It must not know how the tree is walked, nor what becomes of what is found.

use std::borrow::Cow;
use std::sync::OnceLock;

use tree_sitter::Node;

use crate::file_index::{Import, SymbolKind};
use crate::language::Language;
use crate::limits::{DECLARATORS_MAX, NAME_BYTES_MAX, TEXT_BYTES_MAX};

mod c;
mod ecma;
mod go;
mod java;
mod python;
mod rust;

/// What the walk does at a node of some kind.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// It goes on.
    Nothing,
    /// It notes that signatures do not hold this.
    Comment,
    /// Something is declared here, or not, as the node says.
    Declares(for<'t, 'a> fn(&Site<'t, 'a>) -> Option<Declared<'t>>),
    /// Something is imported, called, or said of the whole file.
    Reads(for<'t, 'a> fn(&Site<'t, 'a>, &mut Found)),
}

/// What a declaration lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// A file, a module, a namespace.
    File,
    /// A type, or what gives functions to one.
    Type,
    /// The code of a function.
    Function,
    /// Nothing lies in this: it is a function of a type.
    Method,
}

/// A node, and where it is met.
#[derive(Clone, Copy)]
pub(crate) struct Site<'t, 'a> {
    pub(crate) node: Node<'t>,
    pub(crate) source: &'a [u8],
    pub(crate) inside: Inside,
    /// Modules of the same file that it lies in.
    pub(crate) modules: usize,
    /// The node that it is a child of; none for the root.
    pub(crate) parent: Option<Node<'t>>,
}

/// What a node declares.
pub(crate) struct Declared<'t> {
    /// None where it is no symbol, and lends its name to those in it.
    pub(crate) kind: Option<SymbolKind>,
    pub(crate) name: String,
    /// Its name is of a function that belongs to a type, wherever it stands.
    pub(crate) is_method: bool,
    /// What tells it from others of its kind and name, such as the trait of an `impl`.
    pub(crate) tag: Option<String>,
    pub(crate) body: Option<Node<'t>>,
    /// Its code lies in a file of its own.
    pub(crate) lies_elsewhere: bool,
}

impl<'t> Declared<'t> {
    pub(crate) fn new(kind: SymbolKind, name: String, body: Option<Node<'t>>) -> Self {
        Self {
            kind: Some(kind),
            name,
            is_method: false,
            tag: None,
            body,
            lies_elsewhere: false,
        }
    }

    /// What is declared in it lies in this.
    pub(crate) fn inside(&self, around: Inside) -> Inside {
        match self.kind {
            None => Inside::Type,
            Some(kind) if kind.is_type() => Inside::Type,
            Some(SymbolKind::Module) => Inside::File,
            Some(SymbolKind::Method) => Inside::Method,
            Some(SymbolKind::Function) if self.is_method || around == Inside::Type => {
                Inside::Method
            }
            Some(_) => Inside::Function,
        }
    }
}

/// What was read at a node.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) imports: Vec<Import>,
    /// The name that is called, what stands before it, the line.
    pub(crate) calls: Vec<(Box<str>, Option<Box<str>>, u32)>,
    pub(crate) package: Option<Box<str>>,
    /// Parts of imports that were left out.
    pub(crate) cut: u32,
}

impl Found {
    pub(crate) fn call(&mut self, site: &Site<'_, '_>, qualifier: Option<&str>, callee: &str) {
        if callee.is_empty() || callee.len() > NAME_BYTES_MAX {
            return;
        }
        self.calls
            .push((callee.into(), qualifier.map(Into::into), site.line()));
    }

    /// A module that lies in a file of its own, and is declared within those of `around`.
    pub(crate) fn module(&mut self, site: &Site<'_, '_>, around: &str, name: &str) {
        let module = match around {
            "" => "self".to_owned(),
            _ => format!("self::{around}"),
        };
        self.import(site, &module, Some(name), None);
        if let Some(import) = self.imports.last_mut() {
            import.declares = true;
        }
    }

    pub(crate) fn import(
        &mut self,
        site: &Site<'_, '_>,
        module: &str,
        name: Option<&str>,
        alias: Option<&str>,
    ) {
        let longest = [Some(module), name, alias]
            .into_iter()
            .flatten()
            .map(str::len)
            .max()
            .unwrap_or(0);
        if module.is_empty() {
            return;
        }
        if longest > NAME_BYTES_MAX {
            self.cut += 1;
            return;
        }
        self.imports.push(Import {
            module: module.into(),
            name: name.map(Into::into),
            alias: alias.map(Into::into),
            line: site.line(),
            declares: false,
        });
    }
}

impl<'t, 'a> Site<'t, 'a> {
    /// The same at another node.
    pub(crate) const fn at(&self, node: Node<'t>) -> Self {
        Self { node, ..*self }
    }

    pub(crate) fn field(&self, name: &str) -> Option<Node<'t>> {
        self.node.child_by_field_name(name)
    }

    /// What a node says that is a name; nothing where it is too long for one. Bytes that are no UTF-8 are replaced.
    pub(crate) fn text(&self, node: Node<'_>) -> Cow<'a, str> {
        let range = node.byte_range();
        if range.len() > TEXT_BYTES_MAX {
            return Cow::Borrowed("");
        }
        String::from_utf8_lossy(self.source.get(range).unwrap_or_default())
    }

    pub(crate) fn field_text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.field(name).map(|node| self.text(node))
    }

    pub(crate) fn line(&self) -> u32 {
        u32::try_from(self.node.start_position().row).map_or(u32::MAX, |row| row + 1)
    }

    /// A symbol with what its fields `name` and `body` say.
    pub(crate) fn named(&self, kind: SymbolKind) -> Option<Declared<'t>> {
        let name = self.field_text("name")?.into_owned();
        Some(Declared::new(kind, name, self.field("body")))
    }

    /// The same of a value that is no code of a function.
    pub(crate) fn value(&self, kind: SymbolKind) -> Option<Declared<'t>> {
        if self.inside == Inside::Function {
            return None;
        }
        self.named(kind)
    }

    /// A name as it stands before what it qualifies; nothing for an expression that is no name.
    pub(crate) fn qualifier(&self, node: Node<'_>, names: &[&str]) -> String {
        let text = self.text(node);
        if !names.contains(&node.kind()) || text.len() > NAME_BYTES_MAX {
            return String::new();
        }
        text.split_whitespace().collect()
    }

    /// What a string literal holds.
    pub(crate) fn unquoted(&self, node: Node<'_>) -> String {
        let text = self.text(node);
        text.trim_matches(['"', '\'', '`']).to_owned()
    }

    /// Goes from node to node for as long as there is a next one.
    pub(crate) fn innermost(
        &self,
        from: Node<'t>,
        next: impl Fn(Node<'t>) -> Option<Node<'t>>,
    ) -> Node<'t> {
        let mut node = from;
        for _ in 0..DECLARATORS_MAX {
            let Some(inner) = next(node) else {
                break;
            };
            node = inner;
        }
        node
    }
}

/// The roles of the node kinds of one grammar, by the kind's number.
pub(crate) struct Rules {
    roles: Vec<Role>,
}

impl Rules {
    /// The rules of a language; none for a manifest.
    pub(crate) fn of(language: Language) -> Option<&'static Self> {
        static ALL: [OnceLock<Rules>; Language::ALL.len()] =
            [const { OnceLock::new() }; Language::ALL.len()];
        let table = table(language)?;
        let grammar = language.grammar()?;
        let rules = ALL[language as usize].get_or_init(|| Self::new(&grammar, table));
        Some(rules)
    }

    fn new(grammar: &tree_sitter::Language, table: &[(&str, Role)]) -> Self {
        let role = |id: u16| {
            let kind = grammar.node_kind_for_id(id);
            let is_named = grammar.node_kind_is_named(id);
            table
                .iter()
                .find(|(name, _)| is_named && kind == Some(name))
                .map_or(Role::Nothing, |(_, role)| *role)
        };
        let count = u16::try_from(grammar.node_kind_count()).unwrap_or(u16::MAX);
        Self {
            roles: (0..count).map(role).collect(),
        }
    }

    pub(crate) fn role(&self, node: Node<'_>) -> Role {
        self.roles
            .get(usize::from(node.kind_id()))
            .copied()
            .unwrap_or(Role::Nothing)
    }
}

const fn table(language: Language) -> Option<&'static [(&'static str, Role)]> {
    match language {
        Language::Rust => Some(rust::TABLE),
        Language::TypeScript => Some(ecma::TYPESCRIPT),
        Language::Tsx => Some(ecma::TSX),
        Language::JavaScript => Some(ecma::JAVASCRIPT),
        Language::Python => Some(python::TABLE),
        Language::Go => Some(go::TABLE),
        Language::Java => Some(java::TABLE),
        Language::C => Some(c::C),
        Language::Cpp => Some(c::CPP),
        Language::CargoManifest | Language::GoManifest | Language::NpmManifest => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_about_a_kind_that_its_grammar_has() {
        for language in Language::ALL {
            let Some(table) = table(language) else {
                continue;
            };
            let grammar = language.grammar().unwrap();
            for (kind, _) in table {
                assert_ne!(
                    grammar.id_for_node_kind(kind, true),
                    0,
                    "{language:?}: {kind}"
                );
            }
        }
    }
}
