//! What is known of one work tree: its files, what is declared and called where, and what is imported from where.
//!
//! Owns that all of it agrees with the files whenever a look was put in. It must not know how files are read, nor other trees.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file_index::{FileIndex, Symbol, SymbolId};
use crate::imports::{ImportEdge, Imports};
use crate::limits::TARGETS_MAX;
use crate::read::{FileHash, Unread};
use crate::resolve::{Question, Resolver, is_of_go_package, place};
use crate::scan::FileState;
use crate::settle::Resolved;
use crate::tables::{FileNumber, Tables};
use crate::totals::Totals;
use crate::walk::{Passed, WalkOptions, Walked};

/// Bytes of memory that a path takes beside its letters, about, but for the names in the tables.
pub(crate) const PATH_STATE_BYTES: usize = 256;

/// A symbol, by the file that it stands in and its place there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolRef {
    /// The file, as a path from the root of the work tree.
    pub path: Arc<str>,
    /// Its place among the symbols of the file.
    pub place: u32,
}

/// What is known of one work tree.
#[derive(Clone, Debug)]
pub struct WorkTree {
    root: PathBuf,
    options: WalkOptions,
    generation: u64,
    files: Arc<HashMap<Arc<str>, FileState>>,
    numbers: BTreeMap<Arc<str>, FileNumber>,
    paths: Vec<Option<Arc<str>>>,
    free: Vec<FileNumber>,
    tables: Tables,
    imports: Imports,
    path_bytes: usize,
    totals: Totals,
    passed: Passed,
    is_cut: bool,
}

impl WorkTree {
    pub(crate) fn new(root: PathBuf, options: WalkOptions) -> Self {
        Self {
            root,
            options,
            generation: 0,
            files: Arc::default(),
            numbers: BTreeMap::new(),
            paths: Vec::new(),
            free: Vec::new(),
            tables: Tables::default(),
            imports: Imports::default(),
            path_bytes: 0,
            totals: Totals::default(),
            passed: Passed::default(),
            is_cut: false,
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What of it is read.
    #[must_use]
    pub const fn options(&self) -> &WalkOptions {
        &self.options
    }

    /// How many looks were put in: another number says that something may be other than it was.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// What the last look at all of it passed over.
    #[must_use]
    pub const fn passed(&self) -> Passed {
        self.passed
    }

    /// Whether the last look at all of it ended at its bound.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// What its files come to.
    #[must_use]
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Files some of whose imports are not followed: they have more than is kept of a file, there was no room, or they wait.
    #[must_use]
    pub fn imports_cut(&self) -> usize {
        self.imports.cut()
    }

    /// About how many bytes of memory it takes, but for what is known of contents.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.path_bytes + self.tables.heap_bytes() + self.imports.heap_bytes()
    }

    /// The path of a file as it is listed; none where it is not.
    #[must_use]
    pub fn listed(&self, path: &str) -> Option<&Arc<str>> {
        let (path, _) = self.numbers.get_key_value(path)?;
        Some(path)
    }

    /// The paths of all files that are listed, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.numbers.keys()
    }

    /// How many files are listed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether no file is listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// What is known of a file; none where it is not listed, or could not be read.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&FileIndex> {
        let (_, file) = self.files.get(path)?.content.as_ref().ok()?;
        Some(file)
    }

    /// The hash of a file's bytes, as they were read.
    #[must_use]
    pub fn hash(&self, path: &str) -> Option<FileHash> {
        let (hash, _) = self.files.get(path)?.content.as_ref().ok()?;
        Some(*hash)
    }

    /// Why nothing is known of a file that is listed.
    #[must_use]
    pub fn unread(&self, path: &str) -> Option<Unread> {
        self.files.get(path)?.content.as_ref().err().copied()
    }

    /// A symbol.
    #[must_use]
    pub fn symbol(&self, symbol: &SymbolRef) -> Option<&Symbol> {
        self.file(&symbol.path)?.symbols.get(symbol.place as usize)
    }

    /// The symbol of a file with this id.
    #[must_use]
    pub fn symbol_with_id(&self, path: &str, id: SymbolId) -> Option<SymbolRef> {
        let (path, number) = self.numbers.get_key_value(path)?;
        let file = self.file_at(*number)?;
        let place = file.symbols.iter().position(|symbol| symbol.id == id)?;
        Some(SymbolRef {
            path: Arc::clone(path),
            place: u32::try_from(place).ok()?,
        })
    }

    /// The files that the imports of a file mean, as places of imports and paths, each with whether that is certain. In order.
    #[must_use]
    pub fn imports_of(&self, path: &str) -> Vec<(u32, Arc<str>, bool)> {
        let Some(number) = self.number(path) else {
            return Vec::new();
        };
        let mut imports = Vec::new();
        for edge in self.imports.edges(number) {
            let targets = self.targets_of(edge).filter(|target| *target != number);
            let paths = targets.filter_map(|target| self.path(target).cloned());
            imports.extend(paths.map(|path| (edge.import, path, edge.is_certain)));
        }
        imports.sort_unstable();
        imports
    }

    /// The paths of all files that are listed, in order, with what stands for them.
    pub(crate) fn numbered_paths(&self) -> impl Iterator<Item = (&Arc<str>, FileNumber)> {
        self.numbers.iter().map(|(path, number)| (path, *number))
    }

    /// The paths of the files that are listed at a path or below it.
    pub(crate) fn at_or_below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        self.numbers
            .range::<str, _>((Bound::Included(path), Bound::Unbounded))
            .map(|(listed, _)| listed)
            .take_while(move |listed| listed.starts_with(path))
            .filter(move |listed| {
                let rest = &listed[path.len()..];
                path.is_empty() || rest.is_empty() || rest.starts_with('/')
            })
    }

    pub(crate) const fn files(&self) -> &Arc<HashMap<Arc<str>, FileState>> {
        &self.files
    }

    pub(crate) fn into_files(self) -> HashMap<Arc<str>, FileState> {
        Arc::try_unwrap(self.files).unwrap_or_else(|shared| (*shared).clone())
    }

    pub(crate) const fn tables(&self) -> &Tables {
        &self.tables
    }

    pub(crate) fn number(&self, path: &str) -> Option<FileNumber> {
        self.numbers.get(path).copied()
    }

    pub(crate) fn path(&self, number: FileNumber) -> Option<&Arc<str>> {
        self.paths.get(number.index())?.as_ref()
    }

    pub(crate) fn file_at(&self, number: FileNumber) -> Option<&FileIndex> {
        self.file(self.path(number)?)
    }

    pub(crate) const fn imports(&self) -> &Imports {
        &self.imports
    }

    /// The files that an edge leads to.
    pub(crate) fn targets_of(
        &self,
        edge: &ImportEdge,
    ) -> impl Iterator<Item = FileNumber> + use<'_> {
        let alone = (!edge.is_package).then_some(edge.target);
        let path = self.path(edge.target).filter(|_| edge.is_package);
        let package = path.map(|path| self.resolver().go_package(place::parent(path)));
        let package = package.into_iter().flatten().take(TARGETS_MAX);
        alone.into_iter().chain(package)
    }

    /// What edges lead to that mean a file: it, or the first of its package where packages are imported as one.
    pub(crate) fn target_for(&self, number: FileNumber) -> FileNumber {
        let path = self.path(number).filter(|path| is_of_go_package(path));
        let package = path.map(|path| self.resolver().go_package(place::parent(path)));
        let first = package.and_then(|mut package| package.next());
        first.unwrap_or(number)
    }

    /// The edges of a file that lead to a target.
    pub(crate) fn edges_to(
        &self,
        importing: FileNumber,
        target: FileNumber,
    ) -> impl Iterator<Item = &ImportEdge> {
        let edges = self.imports.edges(importing).iter();
        edges.filter(move |edge| edge.target == target)
    }

    pub(crate) fn resolver(&self) -> Resolver<'_> {
        Resolver::new(&self.numbers, &self.paths, &self.tables)
    }

    /// Puts a file in, in the place of what was known of its path.
    pub(crate) fn put(&mut self, path: &Arc<str>, state: FileState) -> Option<FileState> {
        let number = self.numbers.get(path).copied();
        let number = number.unwrap_or_else(|| self.new_number(path));
        let before = Arc::make_mut(&mut self.files).insert(Arc::clone(path), state.clone());
        if let Some(before) = &before {
            if package(before) != package(&state) {
                self.answer_package(path, before);
                self.answer_package(path, &state);
            }
            self.unlist(number, path, before);
        } else {
            self.imports.answer(Question::of_path(path));
            self.answer_go_package(number, path);
            self.answer_package(path, &state);
        }
        self.imports.renew(number);
        self.tables.list_path(number, path);
        self.path_bytes += path.len() + PATH_STATE_BYTES;
        self.totals.add(&state);
        if let Ok((_, file)) = &state.content {
            self.tables.list(number, file);
        }
        before
    }

    /// Takes a file out.
    pub(crate) fn remove(&mut self, path: &str) -> Option<FileState> {
        let number = self.numbers.remove(path)?;
        let before = Arc::make_mut(&mut self.files).remove(path)?;
        self.imports.answer(Question::of_path(path));
        self.answer_go_package(number, path);
        self.answer_package(path, &before);
        self.unlist(number, path, &before);
        self.imports.remove(number);
        if let Some(place) = self.paths.get_mut(number.index()) {
            *place = None;
        }
        self.free.push(number);
        Some(before)
    }

    pub(crate) fn looked_at_whole(&mut self, walked: &Walked) {
        self.passed = walked.passed;
        self.is_cut = walked.is_cut;
    }

    pub(crate) fn looked_at_part(&mut self, walked: &Walked) {
        self.is_cut |= walked.is_cut;
        self.passed.files = self.passed.files.max(walked.passed.files);
    }

    /// Ends a look that was put in: finds the imports that may mean other files by now. The tree may take `bytes_max`.
    pub(crate) fn looked_at(&mut self, bytes_max: usize) {
        self.generation += 1;
        let free = bytes_max.saturating_sub(self.heap_bytes());
        self.imports.concern(free);
    }

    /// Puts in what imports mean that waited. The tree takes no more than `bytes_max` by it.
    pub(crate) fn put_resolved(&mut self, resolved: Resolved, bytes_max: usize) {
        for of_file in resolved.files {
            let others = self.path_bytes + self.tables.heap_bytes();
            self.imports.put(of_file, bytes_max.saturating_sub(others));
        }
    }

    /// Whoever imports the package of Go that a path belongs to means its first file.
    fn answer_go_package(&mut self, number: FileNumber, path: &str) {
        if !is_of_go_package(path) {
            return;
        }
        let folder = place::parent(path);
        let first = self.resolver().go_package(folder).next();
        if first.is_none_or(|first| number <= first) {
            self.imports.answer([Question::go_package(folder)]);
        }
    }

    fn answer_package(&mut self, path: &str, state: &FileState) {
        if let Some(package) = package(state) {
            let answered = Question::of_package(path, state.language, package);
            self.imports.answer(answered);
        }
    }

    fn new_number(&mut self, path: &Arc<str>) -> FileNumber {
        let number = self.free.pop().unwrap_or_else(|| {
            self.paths.push(None);
            FileNumber::of(self.paths.len() - 1)
        });
        self.paths[number.index()] = Some(Arc::clone(path));
        self.numbers.insert(Arc::clone(path), number);
        number
    }

    fn unlist(&mut self, number: FileNumber, path: &str, before: &FileState) {
        self.tables.unlist_path(number, path);
        self.path_bytes -= path.len() + PATH_STATE_BYTES;
        self.totals.take_off(before);
        if let Ok((_, file)) = &before.content {
            self.tables.unlist(number, file);
        }
    }
}

fn package(state: &FileState) -> Option<&str> {
    let (_, file) = state.content.as_ref().ok()?;
    file.package.as_deref()
}
