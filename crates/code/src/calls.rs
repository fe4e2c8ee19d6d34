//! From a call to the symbols that it may mean.
//!
//! Owns the order in which they are looked for: in the code around, in what is imported, in the package, in the work
//! tree. Types of values are not known: what is called on one is found by its name alone, and said to be uncertain.

use crate::file_index::{Call, FileIndex, Import, Symbol, SymbolKind};
use crate::language::Language;
use crate::limits::CANDIDATES_MAX;
use crate::resolve::place;
use crate::tables::FileNumber;
use crate::work_tree::{SymbolRef, WorkTree};

/// What a call may mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// In order; none where it is declared outside the work tree, or where too many have its name.
    pub symbols: Vec<SymbolRef>,
    /// Whether it means just that symbol. Otherwise it means one of them, or something outside the work tree.
    pub is_certain: bool,
    /// Whether so many symbols have the name that it says nothing.
    pub is_cut: bool,
}

/// How many more files may be looked into.
pub(crate) struct Budget(pub(crate) usize);

impl Budget {
    /// Takes one; false where there is none.
    pub(crate) const fn take(&mut self) -> bool {
        match self.0.checked_sub(1) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}

/// A symbol, by numbers.
pub(crate) type Place = (FileNumber, u32);

/// The same as [`Meaning`], by numbers.
#[derive(Default)]
pub(crate) struct Places {
    pub(crate) of: Vec<Place>,
    pub(crate) is_certain: bool,
    pub(crate) is_cut: bool,
}

/// What stands before a name that is called.
#[derive(Clone, Copy)]
enum Receiver<'c> {
    Nothing,
    /// What the code belongs to.
    Own,
    /// A type, a module, a package, or a variable.
    Named(&'c str),
    /// A value.
    Unknown,
}

impl<'c> Receiver<'c> {
    fn of(call: &'c Call) -> Self {
        match call.qualifier.as_deref() {
            None => Self::Nothing,
            Some("self" | "Self" | "this" | "cls" | "super") => Self::Own,
            Some(text) if text.is_empty() || is_value(text) => Self::Unknown,
            Some(text) => Self::Named(text),
        }
    }
}

fn is_value(text: &str) -> bool {
    ["self.", "this.", "this->", "cls."]
        .iter()
        .any(|start| text.starts_with(start))
}

impl WorkTree {
    /// What a call of the file at `path` may mean.
    #[must_use]
    pub fn meaning_of(&self, path: &str, call: &Call) -> Meaning {
        let Some(number) = self.number(path) else {
            return Meaning::default();
        };
        let found = self.places_of(number, call, &mut Budget(usize::MAX));
        let mut symbols: Vec<SymbolRef> =
            found.of.iter().filter_map(|at| self.named(*at)).collect();
        symbols.sort_unstable();
        Meaning {
            symbols,
            is_certain: found.is_certain,
            is_cut: found.is_cut,
        }
    }

    pub(crate) fn named(&self, (number, place): Place) -> Option<SymbolRef> {
        Some(SymbolRef {
            path: self.path(number)?.clone(),
            place,
        })
    }

    pub(crate) fn places_of(&self, number: FileNumber, call: &Call, budget: &mut Budget) -> Places {
        let Some(file) = self.file_at(number) else {
            return Places::default();
        };
        let mut look = Look {
            tree: self,
            number,
            file,
            call,
            budget,
        };
        let found = match Receiver::of(call) {
            Receiver::Nothing => look.bare(),
            Receiver::Own => look.own(),
            Receiver::Named(name) => look.qualified(name),
            Receiver::Unknown => look.method(),
        };
        found.with_bodies(self)
    }

    fn symbol_at(&self, (number, place): Place) -> Option<&Symbol> {
        self.file_at(number)?.symbols.get(place as usize)
    }
}

impl Places {
    fn certain(of: Vec<Place>) -> Self {
        Self {
            is_certain: of.len() == 1,
            is_cut: false,
            of,
        }
    }

    fn is_empty(&self) -> bool {
        self.of.is_empty() && !self.is_cut
    }

    fn or_else(self, next: impl FnOnce() -> Self) -> Self {
        if self.is_empty() { next() } else { self }
    }

    /// What is declared in one place and has its body in another is one thing.
    fn with_bodies(mut self, tree: &WorkTree) -> Self {
        let has_body = |at: &Place| {
            tree.symbol_at(*at)
                .is_some_and(|symbol| symbol.fingerprint.body.is_some())
        };
        if self.of.len() < 2 || !self.of.iter().any(has_body) {
            return self;
        }
        let names: Vec<_> = self.of.iter().map(|at| tree.symbol_at(*at)).collect();
        let is_one_name = names
            .windows(2)
            .all(|pair| pair[0].map(|it| &it.name) == pair[1].map(|it| &it.name));
        if is_one_name {
            self.of.retain(has_body);
            self.is_certain |= self.of.len() == 1;
        }
        self
    }
}

struct Look<'t, 'b> {
    tree: &'t WorkTree,
    number: FileNumber,
    file: &'t FileIndex,
    call: &'t Call,
    budget: &'b mut Budget,
}

impl<'t> Look<'t, '_> {
    fn language(&self) -> Language {
        self.file.language
    }

    fn joined(&self, before: &str, name: &str) -> String {
        format!("{before}{}{name}", self.language().separator())
    }

    /// The symbols of a file that a condition picks.
    fn in_file(&mut self, number: FileNumber, picks: impl Fn(&Symbol) -> bool) -> Vec<Place> {
        if !self.budget.take() {
            return Vec::new();
        }
        let symbols = self.tree.file_at(number).map(|file| &file.symbols);
        (0..)
            .zip(symbols.into_iter().flatten())
            .filter(|(_, symbol)| picks(symbol))
            .map(|(place, _)| (number, place))
            .collect()
    }

    /// Names of what the calling code lies in, the innermost first.
    fn around(&self) -> Vec<&'t str> {
        let caller = self.call.caller;
        let caller = caller.and_then(|place| self.file.symbols.get(place as usize));
        let separator = self.language().separator();
        let mut around = Vec::new();
        let mut name = caller.map_or("", |caller| &*caller.name);
        while !name.is_empty() {
            around.push(name);
            name = name.rsplit_once(separator).map_or("", |(outer, _)| outer);
        }
        around
    }

    fn bare(&mut self) -> Places {
        let callee = &*self.call.callee;
        let names = self.around().into_iter();
        let mut names: Vec<String> = names.map(|outer| self.joined(outer, callee)).collect();
        names.push(callee.to_owned());
        for name in names {
            let found = self.in_file(self.number, |symbol| *symbol.name == *name);
            if !found.is_empty() {
                return Places::certain(found);
            }
        }
        let found = self.imported(
            |import| local_name(import) == callee,
            |_, import| import.name.clone(),
        );
        found
            .or_else(|| self.brought_along(callee))
            .or_else(|| self.of_package(callee))
            .or_else(|| self.anywhere(|symbol| symbol.kind != SymbolKind::Method))
    }

    /// A function of the type that the code belongs to, in this file or another one.
    fn own(&mut self) -> Places {
        let callee = &*self.call.callee;
        for outer in self.around().into_iter().skip(1) {
            let name = self.joined(outer, callee);
            let found = self.in_file(self.number, |symbol| *symbol.name == *name);
            if !found.is_empty() {
                return Places::certain(found);
            }
        }
        let outer = self.around().into_iter().nth(1).map(str::to_owned);
        let elsewhere = outer.map(|outer| self.joined(&outer, callee));
        let found = elsewhere.map(|name| self.everywhere(|symbol| *symbol.name == *name));
        found.unwrap_or_default().or_else(|| self.method())
    }

    fn qualified(&mut self, qualifier: &str) -> Places {
        let callee = &*self.call.callee;
        let last = qualifier.rsplit(['.', ':']).next().unwrap_or(qualifier);
        let first = qualifier.split(['.', ':']).next().unwrap_or(qualifier);
        let name = self.joined(last, callee);
        let end = self.joined("", &name);
        let is_it = |symbol: &Symbol| *symbol.name == *name || symbol.name.ends_with(&end);
        let here = self.in_file(self.number, is_it);
        if !here.is_empty() {
            return Places::certain(here);
        }
        let is_meant = |import: &Import| {
            let local = local_name(import);
            local == first || local == qualifier
        };
        self.imported(is_meant, |_, _| Some(callee.into()))
            .or_else(|| self.by_path(qualifier))
            .or_else(|| self.everywhere(is_it))
            .or_else(|| self.method())
    }

    /// A name that a path of modules leads to, in the language in which any path may stand before a call.
    fn by_path(&mut self, qualifier: &str) -> Places {
        if self.language() != Language::Rust {
            return Places::default();
        }
        let import = Import {
            module: qualifier.into(),
            name: Some(self.call.callee.clone()),
            alias: None,
            line: self.call.line,
            declares: false,
        };
        let Some(path) = self.tree.path(self.number) else {
            return Places::default();
        };
        let targets = self.tree.resolver().targets(path, self.file, &import);
        let callee = &*self.call.callee;
        let mut found = Vec::new();
        for target in targets.files {
            found.extend(self.in_file(target, |symbol| *symbol.name == *callee));
        }
        Places::certain(found)
    }

    /// What imports mean that a condition picks, by the name that they have there.
    fn imported(
        &mut self,
        is_meant: impl Fn(&Import) -> bool,
        name: impl Fn(&FileIndex, &Import) -> Option<Box<str>>,
    ) -> Places {
        let mut found = Vec::new();
        let mut is_certain = true;
        for edge in self.tree.import_edges(self.number) {
            let import = self.file.imports.get(edge.import as usize);
            let Some(import) = import.filter(|import| is_meant(import)) else {
                continue;
            };
            let Some(name) = name(self.file, import) else {
                continue;
            };
            let language = self.language();
            let qualified = local_name(import).to_owned();
            let qualified = self.joined(&qualified, &name);
            let all = self.in_file(edge.target, |it| it.own_name(language) == &*name);
            let exact = |at: &Place| {
                self.tree
                    .symbol_at(*at)
                    .is_some_and(|it| it.name == name || *it.name == *qualified)
            };
            let some: Vec<Place> = all.iter().copied().filter(exact).collect();
            found.extend(if some.is_empty() { all } else { some });
            is_certain &= edge.is_certain;
        }
        found.sort_unstable();
        found.dedup();
        Places {
            is_certain: is_certain && found.len() == 1,
            ..Places::bounded(found)
        }
    }

    /// What imports of all names, and includes, bring along. What a header declares is linked with the one place that has
    /// its body.
    fn brought_along(&mut self, callee: &str) -> Places {
        let is_c = matches!(self.language(), Language::C | Language::Cpp);
        let brings = |import: &Import| is_c || import.name.as_deref() == Some("*");
        let found = self.imported(brings, |_, _| Some(callee.into()));
        if !is_c || found.is_empty() {
            return found;
        }
        let linked = self.everywhere(|symbol| symbol.fingerprint.body.is_some());
        if linked.is_certain { linked } else { found }
    }

    /// What other files of the package declare, where a package is what lies in one folder.
    fn of_package(&mut self, callee: &str) -> Places {
        if !matches!(self.language(), Language::Go | Language::Java) {
            return Places::default();
        }
        let folder = self.tree.path(self.number).map(|path| place::parent(path));
        let resolver = self.tree.resolver();
        let mut found = Vec::new();
        for (_, number) in folder.into_iter().flat_map(|it| resolver.in_folder(it)) {
            let file = self.tree.file_at(number);
            if file.is_some_and(|file| file.package == self.file.package) {
                found.extend(self.in_file(number, |symbol| *symbol.name == *callee));
            }
        }
        Places {
            is_certain: found.len() == 1,
            ..Places::bounded(found)
        }
    }

    /// Symbols of this name of the whole work tree, in a language that may reach them.
    fn everywhere(&mut self, picks: impl Fn(&Symbol) -> bool) -> Places {
        let callee = &*self.call.callee;
        let mut found = Vec::new();
        for number in self.tree.tables().defining(callee) {
            let language = self.tree.file_at(number).map(|file| file.language);
            if !language.is_some_and(|it| it.reaches(self.language())) {
                continue;
            }
            let own = |symbol: &Symbol| {
                language.is_some_and(|it| symbol.own_name(it) == callee) && picks(symbol)
            };
            found.extend(self.in_file(number, own));
            if found.len() > CANDIDATES_MAX || self.budget.0 == 0 {
                break;
            }
        }
        Places {
            is_certain: found.len() == 1,
            ..Places::bounded(found)
        }
    }

    /// The same for a name that may as well be declared outside the work tree, but in C, where all is linked.
    fn anywhere(&mut self, picks: impl Fn(&Symbol) -> bool) -> Places {
        let is_linked = matches!(self.language(), Language::C | Language::Cpp);
        let found = self.everywhere(picks);
        Places {
            is_certain: is_linked && found.is_certain,
            ..found
        }
    }

    /// Functions of types, for a value whose type is not known.
    fn method(&mut self) -> Places {
        let found = self.everywhere(|symbol| symbol.kind == SymbolKind::Method);
        Places {
            is_certain: false,
            ..found
        }
    }
}

impl Places {
    /// Not certain, and none where there are too many.
    fn bounded(mut of: Vec<Place>) -> Self {
        let is_cut = of.len() > CANDIDATES_MAX;
        if is_cut {
            of.clear();
        }
        Self {
            of,
            is_certain: false,
            is_cut,
        }
    }
}

/// What an import is called in its file.
fn local_name(import: &Import) -> &str {
    let name = import.alias.as_deref().or(import.name.as_deref());
    name.unwrap_or_else(|| import.module.rsplit(['/', ':']).next().unwrap_or_default())
}
