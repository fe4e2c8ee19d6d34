//! From the bytes of a file to what they say.
//!
//! Owns parsing within bounds, and the walk over the syntax tree. It must not know any language: what a node means is said by
//! `rules`. It is a function of language and bytes, reads no clock, and never calls itself: input may be nested as it likes.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use sillok_core::decision;
use tree_sitter::{Node, ParseOptions, Parser, Point, Tree, TreeCursor};

use crate::file_index::{Call, FileCut, FileIndex, Fingerprint, Import, Order, Symbol, SymbolId};
use crate::language::Language;
use crate::limits::{
    CALLS_MAX, FILE_BYTES_MAX, IMPORTS_MAX, NAME_BYTES_MAX, NESTING_MAX, PARSE_TURN_BYTES,
    PARSE_TURNS_MIN, QUALIFIED_BYTES_MAX, SYMBOLS_MAX,
};
use crate::rules::{Declared, Found, Inside, Role, Rules, Site};
use crate::{manifest, signature};

/// Why nothing is known of a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It has more bytes than are read.
    #[error("a file of {bytes} bytes is not read: the most is {FILE_BYTES_MAX}")]
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// The parser took more steps than its bytes are worth.
    #[error("the parser did not come to an end within its bound")]
    TooSlow,
    /// A grammar that the parser does not take.
    #[error("the parser does not take the grammar: {0}")]
    Grammar(#[from] tree_sitter::LanguageError),
}

/// What the bytes of a file say: the same for the same bytes, on every machine.
///
/// Syntax errors and invalid UTF-8 are no error: what stands beside them is read, and `has_errors` says so.
///
/// # Errors
/// [`Error::TooLarge`] over [`FILE_BYTES_MAX`], [`Error::TooSlow`] for what is made to take the parser long.
pub fn index(language: Language, bytes: &[u8]) -> Result<FileIndex, Error> {
    let length = bytes.len() as u64;
    if length > FILE_BYTES_MAX {
        return Err(Error::TooLarge { bytes: length });
    }
    let Some(rules) = Rules::of(language) else {
        return Ok(manifest::read(language, bytes));
    };
    let tree = parse(language, bytes)?;
    Ok(Walk::new(language, bytes).run(&tree, rules))
}

fn parse(language: Language, bytes: &[u8]) -> Result<Tree, Error> {
    let grammar = language.grammar().expect("what has rules has a grammar");
    let mut parser = Parser::new();
    parser.set_language(&grammar)?;
    let mut turns_left = PARSE_TURNS_MIN + bytes.len() as u64 / PARSE_TURN_BYTES;
    let mut progress = |_: &tree_sitter::ParseState| {
        turns_left = turns_left.saturating_sub(1);
        if turns_left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let mut read = |at: usize, _: Point| bytes.get(at..).unwrap_or_default();
    let options = ParseOptions::new().progress_callback(&mut progress);
    parser
        .parse_with_options(&mut read, None, Some(options))
        .ok_or(Error::TooSlow)
}

/// A declaration that the walk is in.
struct Open {
    depth: usize,
    /// Its place among the symbols; none for what only lends its name, such as an `impl`.
    symbol: Option<u32>,
    inside: Inside,
    /// Bytes of the qualified name before it was opened.
    name_bytes: usize,
    /// The first byte of its body.
    body: Option<(u32, u32)>,
    /// What tells what lies in it from what lies in another one of its name.
    tag: Option<String>,
}

/// The callee, what stands before it, the caller.
type CallKey = (Box<str>, Option<Box<str>>, Option<u32>);

struct Walk<'a> {
    language: Language,
    source: &'a [u8],
    found: Found,
    symbols: Vec<Symbol>,
    /// Each call once, with the first line on which it stands.
    calls: BTreeMap<CallKey, u32>,
    imports: Vec<Import>,
    comments: Vec<(u32, u32)>,
    open: Vec<Open>,
    name: String,
    /// How many symbols of one kind, name and tag there were.
    seen: BTreeMap<[u8; 32], u32>,
    cut: FileCut,
}

impl<'a> Walk<'a> {
    fn new(language: Language, source: &'a [u8]) -> Self {
        Self {
            language,
            source,
            found: Found::default(),
            symbols: Vec::new(),
            calls: BTreeMap::new(),
            imports: Vec::new(),
            comments: Vec::new(),
            open: Vec::new(),
            name: String::new(),
            seen: BTreeMap::new(),
            cut: FileCut::default(),
        }
    }

    fn run(mut self, tree: &Tree, rules: &Rules) -> FileIndex {
        let root = tree.root_node();
        let mut cursor = root.walk();
        // To ask a node for its parent is to search for it from the root.
        let mut parents: Vec<Node<'_>> = Vec::new();
        loop {
            let node = cursor.node();
            self.enter(rules, node, &parents);
            if cursor.goto_first_child() {
                parents.push(node);
                continue;
            }
            if !self.leave(&mut cursor, &mut parents) {
                break;
            }
        }
        self.end(&root)
    }

    /// Goes to the next node that was not entered yet, and closes what lies behind. False at the end.
    fn leave(&mut self, cursor: &mut TreeCursor<'_>, parents: &mut Vec<Node<'_>>) -> bool {
        loop {
            self.close(parents.len());
            if cursor.goto_next_sibling() {
                return true;
            }
            if !cursor.goto_parent() {
                return false;
            }
            parents.pop();
        }
    }

    fn enter<'t>(&mut self, rules: &Rules, node: Node<'t>, parents: &[Node<'t>]) {
        match rules.role(node) {
            Role::Nothing => {}
            Role::Comment => self.comments.push(range(node)),
            Role::Declares(declare) => {
                let site = self.site(node, parents);
                if let Some(declared) = declare(&site) {
                    self.declare(&site, declared, parents.len());
                }
            }
            Role::Reads(read) => {
                let site = self.site(node, parents);
                read(&site, &mut self.found);
                self.take_found();
            }
        }
    }

    fn site<'t>(&self, node: Node<'t>, parents: &[Node<'t>]) -> Site<'t, 'a> {
        let modules = self.open.iter().filter(|open| open.inside == Inside::File);
        Site {
            node,
            source: self.source,
            inside: self.open.last().map_or(Inside::File, |open| open.inside),
            modules: modules.count(),
            parent: parents.last().copied(),
        }
    }

    fn declare(&mut self, site: &Site<'_, '_>, declared: Declared<'_>, depth: usize) {
        if declared.name.is_empty() {
            return;
        }
        let own = cut(&declared.name, NAME_BYTES_MAX);
        let is_too_long = self.name.len() + own.len() > QUALIFIED_BYTES_MAX;
        if is_too_long || self.open.len() >= NESTING_MAX || self.symbols.len() >= SYMBOLS_MAX {
            self.cut.symbols += u32::from(declared.kind.is_some());
            return;
        }
        if declared.lies_elsewhere {
            self.found.module(site, &self.name, &declared.name);
            self.take_found();
        }
        let name_bytes = self.name.len();
        if !self.name.is_empty() {
            self.name.push_str(self.language.separator());
        }
        self.name.push_str(own);
        // What decisions cannot name is no node of any graph, and a key must not be one.
        let node = decision::Node::symbol(&self.name, None);
        if node.map_or(true, |node| node.holds_secret()) {
            self.name.truncate(name_bytes);
            self.cut.names += u32::from(declared.kind.is_some());
            return;
        }
        let inside = declared.inside(site.inside);
        let symbol = declared.kind.map(|kind| {
            let kind = if inside == Inside::Method {
                crate::SymbolKind::Method
            } else {
                kind
            };
            let (from, to) = range(site.node);
            self.symbols.push(Symbol {
                id: SymbolId::from_bytes([0; 16]),
                kind,
                name: self.name.as_str().into(),
                lines: lines(site.node),
                bytes: (from, to),
                signature: Box::default(),
                fingerprint: signature::unknown(),
                parent: self.open.iter().rev().find_map(|open| open.symbol),
            });
            place(self.symbols.len() - 1)
        });
        if let Some(symbol) = symbol {
            self.name_symbol(symbol);
        }
        self.open.push(Open {
            depth,
            symbol,
            inside: if inside == Inside::Method {
                Inside::Function
            } else {
                inside
            },
            name_bytes,
            body: declared.body.map(range),
            tag: declared.tag,
        });
    }

    /// Gives a symbol its id: of what it and what it lies in are called, and of how many are called so before it.
    fn name_symbol(&mut self, at: u32) {
        let symbol = &mut self.symbols[at as usize];
        let mut hasher = blake3::Hasher::new();
        let names = [
            self.language.family_name(),
            symbol.kind.name(),
            &symbol.name,
        ];
        let tags = self.open.iter().filter_map(|open| open.tag.as_deref());
        for part in names.into_iter().chain(tags) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let before = self.seen.entry(*hasher.finalize().as_bytes()).or_default();
        hasher.update(&before.to_le_bytes());
        *before += 1;
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        symbol.id = SymbolId::from_bytes(id);
    }

    /// Ends what was opened at this depth: its comments are known by now.
    fn close(&mut self, depth: usize) {
        let Some(open) = self.open.pop_if(|open| open.depth == depth) else {
            return;
        };
        self.name.truncate(open.name_bytes);
        let Some(symbol) = open.symbol else {
            return;
        };
        let symbol = &mut self.symbols[symbol as usize];
        let (from, to) = symbol.bytes;
        let head_to = open.body.map_or(to, |(body, _)| body.clamp(from, to));
        let text = signature::text(self.source, (from, head_to), &self.comments);
        symbol.fingerprint = Fingerprint {
            signature: signature::fingerprint(&text),
            body: open
                .body
                .map(|body| signature::of_body(self.language, self.source, body)),
        };
        symbol.signature = signature::shown(&text).into();
    }

    fn take_found(&mut self) {
        let caller = self.open.iter().rev().find_map(|open| open.symbol);
        for (callee, qualifier, line) in self.found.calls.drain(..) {
            let key = (callee, qualifier, caller);
            if self.calls.len() >= CALLS_MAX && !self.calls.contains_key(&key) {
                self.cut.calls += 1;
                continue;
            }
            self.calls.entry(key).or_insert(line);
        }
        for import in self.found.imports.drain(..) {
            if self.imports.len() >= IMPORTS_MAX {
                self.cut.imports += 1;
                continue;
            }
            self.imports.push(import);
        }
    }

    fn end(mut self, root: &Node<'_>) -> FileIndex {
        self.imports.sort_unstable();
        self.imports.dedup_by(|later, first| {
            let same = (&later.module, &later.name, &later.alias)
                == (&first.module, &first.name, &first.alias);
            same && later.declares == first.declares
        });
        let calls = self
            .calls
            .into_iter()
            .map(|((callee, qualifier, caller), line)| Call {
                callee,
                qualifier,
                caller,
                line,
            })
            .collect();
        FileIndex {
            language: self.language,
            lines: line_count(self.source),
            package: self.found.package,
            symbols: self.symbols,
            imports: self.imports,
            calls,
            has_errors: root.has_error(),
            cut: FileCut {
                imports: self.cut.imports + self.found.cut,
                ..self.cut
            },
            order: Order::default(),
        }
        .ordered()
    }
}

/// First byte of a node, and the one behind its last.
pub(crate) fn range(node: Node<'_>) -> (u32, u32) {
    (place(node.start_byte()), place(node.end_byte()))
}

fn place(at: usize) -> u32 {
    u32::try_from(at).expect("a file has fewer bytes than its bound")
}

fn lines(node: Node<'_>) -> (u32, u32) {
    let first = place(node.start_position().row) + 1;
    let end = node.end_position();
    // What ends at the beginning of a line does not stand on it.
    let last = place(end.row) + u32::from(end.column > 0);
    (first, last.max(first))
}

fn line_count(source: &[u8]) -> u32 {
    let breaks = source.iter().filter(|byte| **byte == b'\n').count();
    let open = source.last().is_some_and(|byte| *byte != b'\n');
    place(breaks) + u32::from(open)
}

/// The beginning of a text, in whole characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
