//! What is known of one file, whatever it is called and wherever it lies.
//!
//! Owns the form of symbols, imports and calls. It must not know paths: files with equal bytes share one index.

use core::fmt;

use serde::{Deserialize, Serialize};
use sillok_core::fingerprint::ContentHash;

use crate::language::Language;

/// What a symbol is called, wherever its file lies: of the kind, the qualified name, what tells several of one name apart,
/// and of those its place among them. So it stays when a body, a signature or the path of the file changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SymbolId([u8; 16]);

impl SymbolId {
    /// The id with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The id that is written as 32 hexadecimal digits in small letters; none for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 16];
        let digits = text.as_bytes();
        if digits.len() != 32 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for SymbolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SymbolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What kind of thing a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolKind {
    /// A function that belongs to no type.
    Function,
    /// A function of a type.
    Method,
    /// A class.
    Class,
    /// A structure or a record.
    Struct,
    /// An enumeration.
    Enum,
    /// A union.
    Union,
    /// An interface, a trait, a concept.
    Interface,
    /// A name for another type.
    TypeAlias,
    /// A constant.
    Constant,
    /// A variable or a field that is no constant by its form.
    Variable,
    /// A module or a namespace.
    Module,
    /// A macro.
    Macro,
}

impl SymbolKind {
    /// Its name in small letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Struct => "struct",
            Self::Enum => "enum",
            Self::Union => "union",
            Self::Interface => "interface",
            Self::TypeAlias => "type_alias",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Module => "module",
            Self::Macro => "macro",
        }
    }

    /// Whether functions in it are methods.
    #[must_use]
    pub const fn is_type(self) -> bool {
        matches!(
            self,
            Self::Class | Self::Struct | Self::Enum | Self::Union | Self::Interface
        )
    }
}

/// What a symbol's text was: two symbols are the same as long as these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Of the whole signature without its comments, word by word.
    pub signature: ContentHash,
    /// Of the body with its comments, word by word; none where there is no body.
    pub body: Option<ContentHash>,
}

/// A named piece of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// See [`SymbolId`].
    pub id: SymbolId,
    /// What it is.
    pub kind: SymbolKind,
    /// Its name with those of what it lies in, such as `Client::read`.
    pub name: Box<str>,
    /// First and last line, counted from 1.
    pub lines: (u32, u32),
    /// Its first byte, and the byte behind its last one.
    pub bytes: (u32, u32),
    /// What stands before its body, without comments, with single spaces; cut where it is long, and the fingerprint is not.
    pub signature: Box<str>,
    /// Of signature and body.
    pub fingerprint: Fingerprint,
    /// The place in [`FileIndex::symbols`] of what it lies in.
    pub parent: Option<u32>,
}

impl Symbol {
    /// Its name without what it lies in.
    #[must_use]
    pub fn own_name(&self, language: Language) -> &str {
        own_name(&self.name, language)
    }
}

/// The last part of a qualified name.
#[must_use]
pub fn own_name(name: &str, language: Language) -> &str {
    name.rsplit_once(language.separator())
        .map_or(name, |(_, own)| own)
}

/// One thing that a file takes from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Import {
    /// Where from, as the language writes it: `crate::store`, `./client`, `..models`, `net/http`, `lib/list.h`.
    pub module: Box<str>,
    /// What of it: a name, `*` for all, none for the module itself.
    pub name: Option<Box<str>>,
    /// What it is called here, where that is another name.
    pub alias: Option<Box<str>>,
    /// Its line, counted from 1.
    pub line: u32,
    /// Whether it declares a module that lies in a file of its own, as `mod client;` does.
    pub declares: bool,
}

impl Import {
    /// What it is called in its file.
    pub(crate) fn local_name(&self) -> &str {
        let name = self.alias.as_deref().or(self.name.as_deref());
        name.unwrap_or_else(|| self.module.rsplit(['/', ':']).next().unwrap_or_default())
    }
}

/// One piece of code that calls something; several equal calls are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Call {
    /// The name that is called.
    pub callee: Box<str>,
    /// What stands before it: `Client` in `Client::read()`, `self` in `self.read()`; none for a bare name.
    pub qualifier: Option<Box<str>>,
    /// The place in [`FileIndex::symbols`] of the code that calls; none for what lies in no symbol.
    pub caller: Option<u32>,
    /// The first line on which it stands, counted from 1.
    pub line: u32,
}

/// How much of a file is not said, because of a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCut {
    /// Symbols over the bound of a file, or that lie too deep.
    pub symbols: u32,
    /// Imports over the bound of a file, and parts of them.
    pub imports: u32,
    /// Calls over the bound of a file.
    pub calls: u32,
    /// Symbols with names that nothing else can say, such as a module that is called `@a/b`, or that hold a key. What lies in
    /// one is named without it.
    pub names: u32,
}

/// What the bytes of a file say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIndex {
    /// The language as which it was read.
    pub language: Language,
    /// Its last line, counted from 1; 0 for a file without bytes.
    pub lines: u32,
    /// The package that it says it belongs to (Go, Java), or the name that a manifest gives.
    pub package: Option<Box<str>>,
    /// In the order in which they begin.
    pub symbols: Vec<Symbol>,
    /// In order, each once.
    pub imports: Vec<Import>,
    /// In order of the callee, each once.
    pub calls: Vec<Call>,
    /// Whether the parser met what it could not read: what is known is what it made of the rest.
    pub has_errors: bool,
    /// What was left out.
    pub cut: FileCut,
    /// Not stored: it follows from the rest.
    #[serde(skip)]
    pub(crate) order: Order,
}

/// Places in the order in which names are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Of symbols, by their own names.
    symbols: Vec<u32>,
    /// Of imports, by what they are called in the file.
    imports: Vec<u32>,
    /// Different names that are declared, and different ones that are called.
    names: usize,
}

impl FileIndex {
    /// A file of which nothing is said.
    #[must_use]
    pub fn empty(language: Language) -> Self {
        Self {
            language,
            lines: 0,
            package: None,
            symbols: Vec::new(),
            imports: Vec::new(),
            calls: Vec::new(),
            has_errors: false,
            cut: FileCut::default(),
            order: Order::default(),
        }
    }

    /// The same, with its names in the order in which they are looked up.
    pub(crate) fn ordered(mut self) -> Self {
        let own = |place: u32| self.symbols[place as usize].own_name(self.language);
        let local = |place: u32| self.imports[place as usize].local_name();
        let mut symbols: Vec<u32> = (0..).zip(&self.symbols).map(|(place, _)| place).collect();
        symbols.sort_unstable_by_key(|place| (own(*place), *place));
        let mut imports: Vec<u32> = (0..).zip(&self.imports).map(|(place, _)| place).collect();
        imports.sort_unstable_by_key(|place| (local(*place), *place));
        let declared = symbols.chunk_by(|one, other| own(*one) == own(*other));
        let called = self.calls.chunk_by(|one, other| one.callee == other.callee);
        self.order = Order {
            names: declared.count() + called.count(),
            symbols,
            imports,
        };
        self
    }

    /// The places of the symbols with this own name, in order.
    pub(crate) fn symbols_called(&self, own: &str) -> &[u32] {
        let name = |place: u32| {
            let symbol = self.symbols.get(place as usize);
            symbol.map_or("", |symbol| symbol.own_name(self.language))
        };
        equal(&self.order.symbols, own, name)
    }

    /// The places of the imports that are called this in the file, in order.
    pub(crate) fn imports_called(&self, local: &str) -> &[u32] {
        let name = |place: u32| {
            let import = self.imports.get(place as usize);
            import.map_or("", Import::local_name)
        };
        equal(&self.order.imports, local, name)
    }

    /// Different names that are declared, and different ones that are called.
    pub(crate) const fn names_count(&self) -> usize {
        self.order.names
    }

    /// The symbols with this qualified name, in order.
    pub fn symbols_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Symbol> {
        self.symbols
            .iter()
            .filter(move |symbol| &*symbol.name == name)
    }

    /// The symbol with this id.
    #[must_use]
    pub fn symbol(&self, id: SymbolId) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.id == id)
    }

    /// The calls of this name.
    #[must_use]
    pub fn calls_of(&self, callee: &str) -> &[Call] {
        let from = self.calls.partition_point(|call| &*call.callee < callee);
        let to = self.calls.partition_point(|call| &*call.callee <= callee);
        self.calls.get(from..to).unwrap_or_default()
    }

    /// About how many bytes of memory it takes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let text = |text: &Option<Box<str>>| {
            text.as_ref()
                .map_or(0, |text| text.len() + ALLOCATION_BYTES)
        };
        let symbols = self
            .symbols
            .iter()
            .map(|symbol| {
                size_of::<Symbol>()
                    + symbol.name.len()
                    + symbol.signature.len()
                    + 2 * ALLOCATION_BYTES
            })
            .sum::<usize>();
        let imports = self
            .imports
            .iter()
            .map(|import| {
                size_of::<Import>()
                    + import.module.len()
                    + ALLOCATION_BYTES
                    + text(&import.name)
                    + text(&import.alias)
            })
            .sum::<usize>();
        let calls = self
            .calls
            .iter()
            .map(|call| {
                size_of::<Call>() + call.callee.len() + ALLOCATION_BYTES + text(&call.qualifier)
            })
            .sum::<usize>();
        let order = size_of::<u32>() * (self.symbols.len() + self.imports.len());
        size_of::<Self>() + symbols + imports + calls + order + text(&self.package)
    }
}

/// Those of ordered places that have a name.
fn equal<'f>(places: &'f [u32], name: &str, of: impl Fn(u32) -> &'f str) -> &'f [u32] {
    let from = places.partition_point(|place| of(*place) < name);
    let to = places.partition_point(|place| of(*place) <= name);
    places.get(from..to).unwrap_or_default()
}

/// What an allocator takes for itself, about.
const ALLOCATION_BYTES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_nothing_else_is() {
        let id = SymbolId::from_bytes(core::array::from_fn(|at| u8::try_from(at * 17).unwrap()));
        assert_eq!(SymbolId::parse(&id.to_string()), Some(id));
        for other in ["", "00", &"g".repeat(32), &"A".repeat(32), &"0".repeat(33)] {
            assert_eq!(SymbolId::parse(other), None, "{other}");
        }
    }

    #[test]
    fn names_are_found_without_a_look_at_all() {
        let source = "from a import x as y\nimport b\nclass A:\n    def f(self): g()\nclass B:\n    def f(self): g()\n";
        let file = crate::index(Language::Python, source.as_bytes()).unwrap();
        let named = |own: &str| -> Vec<&str> {
            let places = file.symbols_called(own).iter();
            places.map(|at| &*file.symbols[*at as usize].name).collect()
        };
        assert_eq!((named("f"), named("A")), (vec!["A.f", "B.f"], vec!["A"]));
        assert!(named("A.f").is_empty() && named("g").is_empty());
        let imported = |local: &str| -> Vec<&str> {
            let places = file.imports_called(local).iter();
            places
                .map(|at| &*file.imports[*at as usize].module)
                .collect()
        };
        assert_eq!((imported("y"), imported("b")), (vec!["a"], vec!["b"]));
        assert!(imported("x").is_empty());
        // `f`, `A`, `B`, and the call of `g`.
        assert_eq!(file.names_count(), 4);
    }

    #[test]
    fn the_own_name_is_the_last_part() {
        assert_eq!(own_name("a::b::c", Language::Rust), "c");
        assert_eq!(own_name("a.b", Language::Python), "b");
        assert_eq!(own_name("a", Language::Go), "a");
    }
}
