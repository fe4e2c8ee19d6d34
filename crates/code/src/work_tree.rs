//! What is known of one work tree: its files, what is declared and called where, and what is imported from where.
//!
//! Owns that all of it agrees with the files whenever a look was put in. It must not know how files are read, nor other trees.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::file_index::{FileIndex, Symbol, SymbolId};
use crate::limits::{EDGES_MAX, TARGETS_MAX};
use crate::read::{FileHash, Unread};
use crate::resolve::{Resolver, Targets, is_of_go_package, place};
use crate::scan::FileState;
use crate::tables::{FileNumber, IMPORTED_BYTES, Tables};
use crate::totals::Totals;
use crate::walk::{Passed, WalkOptions, Walked};

/// An import of a file, and a file that it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImportEdge {
    /// Its place among the imports of its file.
    pub(crate) import: u32,
    pub(crate) target: FileNumber,
    pub(crate) is_certain: bool,
    /// Whether all files of the package are meant that the target is the first of.
    pub(crate) is_package: bool,
}

/// Bytes of memory that an import of a file takes in its work tree, for each file that it means.
const EDGE_BYTES: usize = size_of::<ImportEdge>() + IMPORTED_BYTES;
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
    /// Of each file, by the places of its imports.
    imports: BTreeMap<FileNumber, Vec<ImportEdge>>,
    edges: usize,
    path_bytes: usize,
    totals: Totals,
    /// Files some of whose imports are not followed.
    short: BTreeSet<FileNumber>,
    /// Files whose imports are to be resolved again; all of them where paths came or went.
    unresolved: Vec<FileNumber>,
    is_all_unresolved: bool,
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
            imports: BTreeMap::new(),
            edges: 0,
            path_bytes: 0,
            totals: Totals::default(),
            short: BTreeSet::new(),
            unresolved: Vec::new(),
            is_all_unresolved: false,
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

    /// Files some of whose imports are not followed: they have more than is kept of a file, or there was no room.
    #[must_use]
    pub fn imports_cut(&self) -> usize {
        self.short.len()
    }

    /// About how many bytes of memory it takes, but for what is known of contents.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.path_bytes + self.tables.heap_bytes() + self.edges * size_of::<ImportEdge>()
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
        for edge in self.import_edges(number) {
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

    pub(crate) fn import_edges(&self, number: FileNumber) -> &[ImportEdge] {
        self.imports.get(&number).map_or(&[], Vec::as_slice)
    }

    /// The edges of one import of a file.
    pub(crate) fn edges_of(&self, number: FileNumber, import: u32) -> &[ImportEdge] {
        let edges = self.import_edges(number);
        let from = edges.partition_point(|edge| edge.import < import);
        let to = edges.partition_point(|edge| edge.import <= import);
        edges.get(from..to).unwrap_or_default()
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
        let edges = self.import_edges(importing).iter();
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
        let package = |state: &FileState| {
            let (_, file) = state.content.as_ref().ok()?;
            file.package.clone()
        };
        if let Some(before) = &before {
            self.is_all_unresolved |= package(before) != package(&state);
            self.unlist(number, path, before);
        } else {
            self.is_all_unresolved = true;
        }
        self.unresolved.push(number);
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
        self.unlist(number, path, &before);
        if let Some(place) = self.paths.get_mut(number.index()) {
            *place = None;
        }
        self.free.push(number);
        self.is_all_unresolved = true;
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

    /// Resolves the imports that may mean other files by now. To be called when all of a look was put in. The tree takes no
    /// more than `bytes_max` by it.
    pub(crate) fn settle(&mut self, bytes_max: usize) {
        self.generation += 1;
        let unresolved = core::mem::take(&mut self.unresolved);
        let unresolved: Vec<FileNumber> = if core::mem::take(&mut self.is_all_unresolved) {
            self.numbers.values().copied().collect()
        } else {
            unresolved
        };
        for number in unresolved {
            self.unlist_edges(number);
            let (mut edges, mut is_short) = self.resolved(number);
            if self.heap_bytes() + edges.len() * EDGE_BYTES > bytes_max {
                is_short |= !edges.is_empty();
                edges = Vec::new();
            }
            if is_short {
                self.short.insert(number);
            }
            self.edges += edges.len();
            self.tables.list_imports(number, &edges);
            self.imports.insert(number, edges);
        }
    }

    /// What the imports of a file mean, and whether that is more than is kept.
    fn resolved(&self, number: FileNumber) -> (Vec<ImportEdge>, bool) {
        let (Some(path), Some(file)) = (self.path(number), self.file_at(number)) else {
            return (Vec::new(), false);
        };
        let resolver = self.resolver();
        let mut edges = Vec::new();
        for (place, import) in (0..).zip(&file.imports) {
            let targets: Targets = resolver.targets(path, file, import);
            let (is_certain, is_package) = (targets.is_certain, targets.is_package);
            let files = targets.files.into_iter();
            let others = files.filter(|target| is_package || *target != number);
            edges.extend(others.map(|target| ImportEdge {
                import: place,
                target,
                is_certain,
                is_package,
            }));
            if edges.len() > EDGES_MAX {
                edges.truncate(EDGES_MAX);
                edges.shrink_to_fit();
                return (edges, true);
            }
        }
        edges.shrink_to_fit();
        (edges, false)
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
        self.unlist_edges(number);
        if let Ok((_, file)) = &before.content {
            self.tables.unlist(number, file);
        }
    }

    fn unlist_edges(&mut self, number: FileNumber) {
        self.short.remove(&number);
        if let Some(edges) = self.imports.remove(&number) {
            self.edges -= edges.len();
            self.tables.unlist_imports(number, &edges);
        }
    }
}
