//! From an import to the files that it means.
//!
//! Owns the rules of each language, as far as paths and names of packages follow them. It must not know symbols, and reads no
//! file: what a build is configured to do beside that is not known.

use core::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::file_index::{FileIndex, Import};
use crate::language::Language;
use crate::limits::{PACKAGES_MAX, TARGETS_MAX};
use crate::tables::{FileNumber, Tables};

pub(crate) use asked::Question;
pub(crate) use go::is_of_package as is_of_go_package;

mod asked;
mod c;
mod ecma;
mod go;
mod java;
pub(crate) mod place;
mod python;
mod rust;

/// The files that an import means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Targets {
    pub(crate) files: Vec<FileNumber>,
    /// Whether it means all of these. Otherwise it means one, and which is not known.
    pub(crate) is_certain: bool,
    /// Whether the file stands for all of the package that it is the first of.
    pub(crate) is_package: bool,
}

impl Targets {
    /// What lies outside the work tree, or is not known.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    pub(crate) fn one(file: FileNumber) -> Self {
        Self {
            files: vec![file],
            is_certain: true,
            is_package: false,
        }
    }

    /// All files of a package, by the first of them.
    pub(crate) fn package(first: FileNumber) -> Self {
        Self {
            is_package: true,
            ..Self::one(first)
        }
    }

    /// All of several files.
    pub(crate) fn all(files: impl Iterator<Item = FileNumber>) -> Self {
        Self {
            files: files.take(TARGETS_MAX).collect(),
            is_certain: true,
            is_package: false,
        }
    }

    /// One of several files.
    pub(crate) fn one_of(files: impl Iterator<Item = FileNumber>) -> Self {
        let files: Vec<FileNumber> = files.take(TARGETS_MAX).collect();
        Self {
            is_certain: files.len() == 1,
            is_package: false,
            files,
        }
    }
}

/// The place that stands for all imports of a file.
pub(crate) const OF_FILE: u32 = u32::MAX;

/// What paths and packages there are.
pub(crate) struct Resolver<'a> {
    numbers: &'a BTreeMap<Arc<str>, FileNumber>,
    paths: &'a [Option<Arc<str>>],
    tables: &'a Tables,
    looked_up: Cell<usize>,
    /// The import that asks; none where it need not be known what is asked for.
    import: Cell<Option<u32>>,
    asked: RefCell<BTreeSet<(u32, Question)>>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        numbers: &'a BTreeMap<Arc<str>, FileNumber>,
        paths: &'a [Option<Arc<str>>],
        tables: &'a Tables,
    ) -> Self {
        Self {
            numbers,
            paths,
            tables,
            looked_up: Cell::new(0),
            import: Cell::new(None),
            asked: RefCell::default(),
        }
    }

    /// Paths that were looked up by now.
    pub(crate) fn looked_up(&self) -> usize {
        self.looked_up.get()
    }

    /// The files that an import of the file at `path` means. What it asks for is kept under its place.
    pub(crate) fn targets_for(
        &self,
        place: u32,
        path: &str,
        file: &FileIndex,
        import: &Import,
    ) -> Targets {
        self.import.set(Some(place));
        let targets = self.targets(path, file, import);
        self.import.set(None);
        targets
    }

    /// What was asked for, by the places of imports.
    pub(crate) fn into_asked(self) -> BTreeSet<(u32, Question)> {
        self.asked.into_inner()
    }

    /// The files that an import of the file at `path` means.
    pub(crate) fn targets(&self, path: &str, file: &FileIndex, import: &Import) -> Targets {
        match file.language {
            Language::Rust => rust::targets(self, path, import),
            Language::TypeScript | Language::Tsx | Language::JavaScript => {
                ecma::targets(self, path, import)
            }
            Language::Python => python::targets(self, path, import),
            Language::Go => go::targets(self, import),
            Language::Java => java::targets(self, import),
            Language::C | Language::Cpp => c::targets(self, path, import),
            Language::CargoManifest | Language::GoManifest | Language::NpmManifest => {
                Targets::none()
            }
        }
    }

    /// Counts what is looked at, and keeps what is asked for.
    fn ask(&self, question: impl FnOnce() -> Question) {
        self.count(1);
        if let Some(import) = self.import.get() {
            self.asked.borrow_mut().insert((import, question()));
        }
    }

    fn count(&self, things: usize) {
        self.looked_up.set(self.looked_up.get() + things);
    }

    /// Asks what all imports of the file ask alike.
    fn for_all<T>(&self, ask: impl FnOnce() -> T) -> T {
        let import = self.import.get();
        self.import.set(import.and(Some(OF_FILE)));
        let answer = ask();
        self.import.set(import);
        answer
    }

    fn file(&self, path: &str) -> Option<FileNumber> {
        self.ask(|| Question::path(path));
        self.numbers.get(path).copied()
    }

    fn path_of(&self, number: FileNumber) -> Option<&'a str> {
        self.paths.get(number.index())?.as_deref()
    }

    /// The first of several paths that is a file.
    fn first<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Option<FileNumber> {
        paths.into_iter().find_map(|path| self.file(path))
    }

    /// The files of a package of Go: those of one folder, but for tests.
    pub(crate) fn go_package<'p>(
        &self,
        folder: &'p str,
    ) -> impl Iterator<Item = FileNumber> + use<'a, 'p> {
        let paths = self.paths;
        self.tables.go_package(folder).filter(move |number| {
            let path = paths.get(number.index()).and_then(Option::as_deref);
            path.is_some_and(|path| is_of_go_package(path) && place::parent(path) == folder)
        })
    }

    /// The folders of the manifests that give this name, in order.
    fn folders_of(&self, language: Language, name: &str) -> Vec<&'a str> {
        self.ask(|| Question::package(language, name));
        let tables = self.tables;
        let mut folders: Vec<&str> = tables
            .of_package(language, name)
            .take(PACKAGES_MAX)
            .filter_map(|number| self.path_of(number))
            .map(place::parent)
            .collect();
        self.count(folders.len());
        folders.sort_unstable();
        folders
    }
}
