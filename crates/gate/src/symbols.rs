//! The symbols of a file, as far as the gate asks for them.
//!
//! Owns which symbols bear the name that is cited, and what is made of a file that cannot be parsed whole. It must not
//! know how files are parsed: that is `sillok-code`'s.

use std::path::Path;

use sillok_code::{FileIndex, Language, Symbol, SymbolId, read_source, signature};
use sillok_core::gate::{Named, Sight, Unread};

use crate::budget::Spending;

/// The symbols of a file.
#[derive(Debug)]
pub(crate) struct Symbols {
    index: FileIndex,
}

impl Symbols {
    /// Those of a file, where there is room to parse it.
    pub(crate) fn within(
        path: &Path,
        bytes: &[u8],
        spending: &mut Spending,
    ) -> Result<Self, Unread> {
        let is_known = Language::of_path(path).is_some();
        if is_known && !spending.takes_parsed(bytes.len()) {
            return Err(Unread::TooMany);
        }
        Self::of(path, bytes)
    }

    /// Those of a file with this path and these bytes.
    pub(crate) fn of(path: &Path, bytes: &[u8]) -> Result<Self, Unread> {
        let language = Language::of_path(path).ok_or(Unread::NoLanguage)?;
        match read_source(language, bytes) {
            Ok(index) => Ok(Self { index }),
            Err(sillok_code::Unread::TooLarge) => Err(Unread::TooLarge),
            // What takes too long, or what the reader breaks down on.
            Err(_) => Err(Unread::Unparsed),
        }
    }

    /// Those that bear a name: whole, or without what they lie in where the name says nothing of that.
    pub(crate) fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Symbol> {
        let language = self.index.language;
        let symbols = self.index.symbols.iter();
        symbols.filter(move |symbol| &*symbol.name == name || symbol.own_name(language) == name)
    }

    /// What is seen of a symbol that is cited by name and id, with its signature if one is.
    pub(crate) fn sight(&self, name: &str, id: &str, signature: Option<&str>) -> Sight {
        let by_id = SymbolId::parse(id).and_then(|id| self.index.symbol(id));
        let mut bearers = self.named(name).chain(by_id).peekable();
        if bearers.peek().is_none() {
            return if self.is_whole() {
                Sight::Symbol(Named::Nothing)
            } else {
                Sight::Unread(Unread::Unparsed)
            };
        }
        let is_same = bearers.any(|symbol| is_cited(symbol, signature));
        Sight::Symbol(if is_same { Named::Same } else { Named::Other })
    }

    /// Whether the parser made out all of it, so that what is not among the symbols is not in the file.
    pub(crate) fn is_whole(&self) -> bool {
        !self.index.has_errors && self.index.cut.symbols == 0
    }
}

/// Whether a symbol has the signature that is cited, if one is.
pub(crate) fn is_cited(symbol: &Symbol, signature: Option<&str>) -> bool {
    signature.is_none_or(|cited| signature::is_of(symbol, cited))
}
