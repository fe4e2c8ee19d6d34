//! In which files a name is declared, called or imported.
//!
//! Owns the tables, and the numbers that stand for files in them. It must not know what a name means where: whoever
//! looks one up reads the file.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::file_index::FileIndex;
use crate::language::Language;
use crate::resolve::{is_of_go_package, place};

/// Bytes of memory of a name in a file, about: a pair in a tree that is not full.
pub(crate) const POSTING_BYTES: usize = 24;
/// Names of a file that are listed whatever is in it: its own, and the folder of its package.
const PATH_NAMES: usize = 2;

/// Bytes that a path takes in the tables.
pub(crate) const PATH_BYTES: usize = PATH_NAMES * POSTING_BYTES;

/// Bytes that what a file says takes in the tables, for each path that it lies at.
pub(crate) const fn listed_bytes(file: &FileIndex) -> usize {
    file.names_count().saturating_mul(POSTING_BYTES)
}

/// What stands for a file of one work tree, as long as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileNumber(u32);

impl FileNumber {
    pub(crate) const FIRST: Self = Self(0);
    pub(crate) const LAST: Self = Self(u32::MAX);

    /// The one after it.
    pub(crate) fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    pub(crate) fn of(index: usize) -> Self {
        Self(u32::try_from(index).expect("files are fewer than their bound"))
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Pairs of a name, as a hash, and a file. Two names of one hash are told apart by whoever reads the files.
#[derive(Clone, Debug, Default)]
struct Postings(BTreeSet<(u64, FileNumber)>);

impl Postings {
    fn of(&self, name: &str) -> impl Iterator<Item = FileNumber> + use<'_> {
        let hash = hash(name);
        self.0
            .range((hash, FileNumber::FIRST)..=(hash, FileNumber::LAST))
            .map(|(_, number)| *number)
    }

    fn change<'a>(
        &mut self,
        names: impl Iterator<Item = &'a str>,
        number: FileNumber,
        is_in: bool,
    ) {
        for name in names {
            let pair = (hash(name), number);
            if is_in {
                self.0.insert(pair);
            } else {
                self.0.remove(&pair);
            }
        }
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// The tables of one work tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    defines: Postings,
    calls: Postings,
    file_names: Postings,
    go_packages: Postings,
    packages: BTreeMap<(Language, Box<str>), BTreeSet<FileNumber>>,
}

impl Tables {
    /// The files that may declare a symbol whose last name is this.
    pub(crate) fn defining(&self, own_name: &str) -> impl Iterator<Item = FileNumber> + use<'_> {
        self.defines.of(own_name)
    }

    /// The files that may call something of this name.
    pub(crate) fn calling(&self, callee: &str) -> impl Iterator<Item = FileNumber> + use<'_> {
        self.calls.of(callee)
    }

    /// The files that may have this name, in whichever folder.
    pub(crate) fn with_name(&self, file_name: &str) -> impl Iterator<Item = FileNumber> + use<'_> {
        self.file_names.of(file_name)
    }

    /// The files that may be of the package of Go that lies in this folder.
    pub(crate) fn go_package(&self, folder: &str) -> impl Iterator<Item = FileNumber> + use<'_> {
        self.go_packages.of(folder)
    }

    /// The files that say that they belong to a package, or manifests that give this name.
    pub(crate) fn of_package<'a>(
        &'a self,
        language: Language,
        package: &str,
    ) -> impl Iterator<Item = FileNumber> + use<'a> {
        let key: (Language, Box<str>) = (language, package.into());
        let files = self.packages.get(&key);
        files.into_iter().flatten().copied()
    }

    /// Whether a file is among those.
    pub(crate) fn is_of_package(
        &self,
        language: Language,
        package: &str,
        number: FileNumber,
    ) -> bool {
        let key: (Language, Box<str>) = (language, package.into());
        let files = self.packages.get(&key);
        files.is_some_and(|files| files.contains(&number))
    }

    /// About how many bytes of memory they take.
    pub(crate) fn heap_bytes(&self) -> usize {
        let postings = [
            &self.defines,
            &self.calls,
            &self.file_names,
            &self.go_packages,
        ];
        let postings: usize = postings.iter().map(|of| of.0.len()).sum();
        postings * POSTING_BYTES
    }

    pub(crate) fn list_path(&mut self, number: FileNumber, path: &str) {
        self.change_path(number, path, true);
    }

    pub(crate) fn unlist_path(&mut self, number: FileNumber, path: &str) {
        self.change_path(number, path, false);
    }

    fn change_path(&mut self, number: FileNumber, path: &str, is_in: bool) {
        let name = core::iter::once(place::name(path));
        self.file_names.change(name, number, is_in);
        let package = is_of_go_package(path).then(|| place::parent(path));
        self.go_packages.change(package.into_iter(), number, is_in);
    }

    pub(crate) fn list(&mut self, number: FileNumber, file: &FileIndex) {
        self.change(number, file, true);
        if let Some(package) = &file.package {
            let key = (file.language, package.clone());
            self.packages.entry(key).or_default().insert(number);
        }
    }

    pub(crate) fn unlist(&mut self, number: FileNumber, file: &FileIndex) {
        self.change(number, file, false);
        if let Some(package) = &file.package {
            let key = (file.language, package.clone());
            if let Some(files) = self.packages.get_mut(&key) {
                files.remove(&number);
                if files.is_empty() {
                    self.packages.remove(&key);
                }
            }
        }
    }

    fn change(&mut self, number: FileNumber, file: &FileIndex, is_in: bool) {
        let declared = file.symbols.iter().map(|it| it.own_name(file.language));
        self.defines.change(declared, number, is_in);
        let called = file.calls.iter().map(|call| &*call.callee);
        self.calls.change(called, number, is_in);
    }
}
