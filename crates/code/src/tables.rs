//! In which files a name is declared, called or imported.
//!
//! Owns the tables, and the numbers that stand for files in them. It must not know what a name means where: whoever
//! looks one up reads the file.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::file_index::FileIndex;
use crate::language::Language;
use crate::work_tree::ImportEdge;

/// What stands for a file of one work tree, as long as it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileNumber(u32);

impl FileNumber {
    const FIRST: Self = Self(0);
    const LAST: Self = Self(u32::MAX);

    pub(crate) fn of(index: usize) -> Self {
        Self(u32::try_from(index).expect("files are fewer than their bound"))
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Pairs of a name, as a hash, and a file. Two names of one hash are told apart by whoever reads the files.
#[derive(Debug, Default)]
struct Postings(BTreeSet<(u64, FileNumber)>);

impl Postings {
    fn of(&self, name: &str) -> impl Iterator<Item = FileNumber> {
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
#[derive(Debug, Default)]
pub(crate) struct Tables {
    defines: Postings,
    calls: Postings,
    file_names: Postings,
    packages: BTreeMap<(Language, Box<str>), BTreeSet<FileNumber>>,
    /// What is imported, and by whom.
    imported: BTreeSet<(FileNumber, FileNumber)>,
}

impl Tables {
    /// The files that may declare a symbol whose last name is this.
    pub(crate) fn defining(&self, own_name: &str) -> impl Iterator<Item = FileNumber> {
        self.defines.of(own_name)
    }

    /// The files that may call something of this name.
    pub(crate) fn calling(&self, callee: &str) -> impl Iterator<Item = FileNumber> {
        self.calls.of(callee)
    }

    /// The files that may have this name, in whichever folder.
    pub(crate) fn with_name(&self, file_name: &str) -> impl Iterator<Item = FileNumber> {
        self.file_names.of(file_name)
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

    /// The files with an import that means this one.
    pub(crate) fn importing(&self, number: FileNumber) -> impl Iterator<Item = FileNumber> {
        self.imported
            .range((number, FileNumber::FIRST)..=(number, FileNumber::LAST))
            .map(|(_, importing)| *importing)
    }

    pub(crate) fn list_path(&mut self, number: FileNumber, path: &str) {
        self.file_names.change(file_name(path), number, true);
    }

    pub(crate) fn unlist_path(&mut self, number: FileNumber, path: &str) {
        self.file_names.change(file_name(path), number, false);
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

    pub(crate) fn list_imports(&mut self, number: FileNumber, edges: &[ImportEdge]) {
        let pairs = edges.iter().map(|edge| (edge.target, number));
        self.imported.extend(pairs);
    }

    pub(crate) fn unlist_imports(&mut self, number: FileNumber, edges: &[ImportEdge]) {
        for edge in edges {
            self.imported.remove(&(edge.target, number));
        }
    }
}

fn file_name(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit('/').take(1)
}
