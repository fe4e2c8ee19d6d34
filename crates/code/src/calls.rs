//! From a call to the symbols that it may mean.
//!
//! Owns the order in which they are looked for: in the code around, in what is imported, in the package, in the work
//! tree. Types of values are not known: what is called on one is found by its name alone, and said to be uncertain.

use crate::budget::Budget;
use crate::file_index::{Call, FileIndex, Import, Symbol, SymbolKind, own_name};
use crate::language::Language;
use crate::limits::{CANDIDATES_MAX, DEPENDENTS_LOOKUPS_MAX};
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
    /// Whether so many symbols have the name that it says nothing, or there are more places to look at than may be.
    pub is_cut: bool,
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
        let mut budget = Budget::new(DEPENDENTS_LOOKUPS_MAX, &|| false);
        let found = self.places_of(number, call, &mut budget);
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

    /// What a call may mean. Nothing is said of one where not all could be looked at.
    pub(crate) fn places_of(
        &self,
        number: FileNumber,
        call: &Call,
        budget: &mut Budget<'_>,
    ) -> Places {
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
        if budget.ended().is_some() {
            return Places {
                is_cut: true,
                ..Places::default()
            };
        }
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
            ..Self::bounded(of)
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

struct Look<'t, 'b, 'q> {
    tree: &'t WorkTree,
    number: FileNumber,
    file: &'t FileIndex,
    call: &'t Call,
    budget: &'b mut Budget<'q>,
}

impl<'t> Look<'t, '_, '_> {
    fn language(&self) -> Language {
        self.file.language
    }

    fn joined(&self, before: &str, name: &str) -> String {
        format!("{before}{}{name}", self.language().separator())
    }

    /// The symbols of a file that are called so, by their qualified name or the last part of it, and that a condition picks.
    fn in_file(
        &mut self,
        number: FileNumber,
        name: &str,
        picks: impl Fn(&Symbol) -> bool,
    ) -> Vec<Place> {
        let Some(file) = self.tree.file_at(number) else {
            return Vec::new();
        };
        let places = file.symbols_called(own_name(name, file.language));
        if !self.budget.take(1 + places.len()) {
            return Vec::new();
        }
        let is_it = |place: &&u32| file.symbols.get(**place as usize).is_some_and(&picks);
        let found = places.iter().filter(is_it);
        found.map(|place| (number, *place)).collect()
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
            let found = self.in_file(self.number, &name, |symbol| *symbol.name == *name);
            if !found.is_empty() {
                return Places::certain(found);
            }
        }
        let imports = self.file.imports_called(callee).iter().copied();
        self.imported(imports, |import| import.name.clone())
            .or_else(|| self.brought_along(callee))
            .or_else(|| self.of_package(callee))
            .or_else(|| self.anywhere(|symbol| symbol.kind != SymbolKind::Method))
    }

    /// A function of the type that the code belongs to, in this file or another one.
    fn own(&mut self) -> Places {
        let callee = &*self.call.callee;
        for outer in self.around().into_iter().skip(1) {
            let name = self.joined(outer, callee);
            let found = self.in_file(self.number, &name, |symbol| *symbol.name == *name);
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
        let here = self.in_file(self.number, callee, is_it);
        if !here.is_empty() {
            return Places::certain(here);
        }
        let whole = (first != qualifier).then_some(qualifier);
        let file = self.file;
        let names = [first].into_iter().chain(whole);
        let imports = names.flat_map(|name| file.imports_called(name).iter().copied());
        self.imported(imports, |_| Some(callee.into()))
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
        let resolver = self.tree.resolver();
        let targets = resolver.targets(path, self.file, &import);
        if !self.budget.take(resolver.looked_up()) {
            return Places::default();
        }
        let callee = &*self.call.callee;
        let mut found = Vec::new();
        for target in targets.files {
            found.extend(self.in_file(target, callee, |symbol| *symbol.name == *callee));
        }
        Places::certain(found)
    }

    /// What some imports mean, by the name that they have there.
    fn imported(
        &mut self,
        imports: impl Iterator<Item = u32>,
        name: impl Fn(&Import) -> Option<Box<str>>,
    ) -> Places {
        let tree = self.tree;
        let mut found = Vec::new();
        let mut is_certain = true;
        for place in imports {
            if !self.budget.take(1) {
                break;
            }
            let Some(import) = self.file.imports.get(place as usize) else {
                continue;
            };
            let Some(name) = name(import) else {
                continue;
            };
            let qualified = self.joined(import.local_name(), &name);
            for edge in tree.imports().edges_of(self.number, place) {
                for target in tree.targets_of(edge) {
                    found.extend(self.exact_or_all(target, &name, &qualified));
                }
                is_certain &= edge.is_certain;
            }
        }
        found.sort_unstable();
        found.dedup();
        Places {
            is_certain: is_certain && found.len() == 1,
            ..Places::bounded(found)
        }
    }

    /// The symbols of a file with an own name: those with just this name or this qualified one, where there are any.
    fn exact_or_all(&mut self, target: FileNumber, name: &str, qualified: &str) -> Vec<Place> {
        let tree = self.tree;
        let language = self.language();
        let all = self.in_file(target, name, |it| it.own_name(language) == name);
        let is_exact = |at: &Place| {
            let symbol = tree.symbol_at(*at);
            symbol.is_some_and(|it| *it.name == *name || *it.name == *qualified)
        };
        let exact: Vec<Place> = all.iter().copied().filter(is_exact).collect();
        if exact.is_empty() { all } else { exact }
    }

    /// What imports of all names, and includes, bring along. What a header declares is linked with the one place that has
    /// its body.
    fn brought_along(&mut self, callee: &str) -> Places {
        let file = self.file;
        let name = |_: &Import| Some(Box::<str>::from(callee));
        if !matches!(self.language(), Language::C | Language::Cpp) {
            let all = file.imports_called("*").iter().copied();
            return self.imported(all, name);
        }
        let includes = (0..).zip(&file.imports).map(|(place, _)| place);
        let found = self.imported(includes, name);
        if found.is_empty() {
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
        let tree = self.tree;
        let folder = tree.path(self.number).map(|path| place::parent(path));
        let mut found = Vec::new();
        for number in tree.tables().defining(callee) {
            if !self.budget.take(1) {
                break;
            }
            let is_beside = tree.path(number).map(|path| place::parent(path)) == folder;
            let file = tree.file_at(number).filter(|_| is_beside);
            if file.is_some_and(|file| file.package == self.file.package) {
                found.extend(self.in_file(number, callee, |symbol| *symbol.name == *callee));
            }
        }
        Places {
            is_certain: found.len() == 1,
            ..Places::bounded(found)
        }
    }

    /// Symbols of this name of the whole work tree, in a language that may reach them.
    fn everywhere(&mut self, picks: impl Fn(&Symbol) -> bool) -> Places {
        let tree = self.tree;
        let callee = &*self.call.callee;
        let mut found = Vec::new();
        for number in tree.tables().defining(callee) {
            if found.len() > CANDIDATES_MAX || !self.budget.take(1) {
                break;
            }
            let language = tree.file_at(number).map(|file| file.language);
            if !language.is_some_and(|it| it.reaches(self.language())) {
                continue;
            }
            let own = |symbol: &Symbol| {
                language.is_some_and(|it| symbol.own_name(it) == callee) && picks(symbol)
            };
            found.extend(self.in_file(number, callee, own));
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
