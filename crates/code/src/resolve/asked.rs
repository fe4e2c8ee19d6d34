//! What an import asks for on its way to what it means.
//!
//! Owns under what a question is filed, so that a path or a package that comes or goes finds the imports that it may be an answer
//! to. It must not know imports, nor answers.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::place;
use crate::language::Language;

/// A question, as a hash. Two of one hash are taken for one: an import is resolved once more than it must be then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Question(u32);

/// What is asked for.
#[derive(Hash)]
enum Asked<'q> {
    /// A module, by its last name: whichever folder it lies in, and whatever end its file has.
    Module(&'q str),
    /// The root of a crate, by its folder.
    CrateRoot(&'q str),
    FileName(&'q str),
    Package(Language, &'q str),
    Class(&'q str, &'q str),
    GoPackage(&'q str),
}

impl Question {
    fn of(asked: &Asked<'_>) -> Self {
        let mut hasher = DefaultHasher::new();
        asked.hash(&mut hasher);
        let [a, b, c, d, ..] = hasher.finish().to_le_bytes();
        Self(u32::from_le_bytes([a, b, c, d]))
    }

    /// Whether there is a file at this path. It is filed with others that the same names ask for.
    pub(crate) fn path(path: &str) -> Self {
        let (folder, name) = (place::parent(path), place::name(path));
        if is_crate_root(name) {
            return Self::of(&Asked::CrateRoot(folder));
        }
        let stem = name.split('.').next().unwrap_or_default();
        let is_folder = matches!(stem, "__init__" | "index" | "mod");
        let module = if is_folder { place::name(folder) } else { stem };
        Self::of(&Asked::Module(module))
    }

    /// Which files have this name.
    pub(crate) fn file_name(name: &str) -> Self {
        Self::of(&Asked::FileName(name))
    }

    /// Which files belong to a package, or say that they are its manifest.
    pub(crate) fn package(language: Language, package: &str) -> Self {
        Self::of(&Asked::Package(language, package))
    }

    /// Which files of a package of Java have the name of a class.
    pub(crate) fn class(package: &str, class: &str) -> Self {
        Self::of(&Asked::Class(package, class))
    }

    /// Which file is the first of the package of Go in this folder.
    pub(crate) fn go_package(folder: &str) -> Self {
        Self::of(&Asked::GoPackage(folder))
    }

    /// What a path is an answer to that comes or goes, but for packages.
    pub(crate) fn of_path(path: &str) -> [Self; 2] {
        [Self::path(path), Self::file_name(place::name(path))]
    }

    /// What the package of a file is an answer to.
    pub(crate) fn of_package(path: &str, language: Language, package: &str) -> [Self; 2] {
        [
            Self::package(language, package),
            Self::class(package, place::stem(path)),
        ]
    }
}

fn is_crate_root(name: &str) -> bool {
    matches!(name, "lib.rs" | "main.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_stand_for_one_another_is_one_question_and_what_may_not_is_another() {
        for (one, other) in [
            ("a/b.py", "c/b/__init__.pyi"),
            ("a/b.ts", "b/index.d.ts"),
            ("b.rs", "a/b/mod.rs"),
            ("a/lib.rs", "a/main.rs"),
        ] {
            assert_eq!(Question::path(one), Question::path(other), "{one} {other}");
        }
        for (one, other) in [
            ("a/b.py", "a/c.py"),
            ("a/src/lib.rs", "b/src/lib.rs"),
            ("a/mod.rs", "b/mod.rs"),
        ] {
            assert_ne!(Question::path(one), Question::path(other), "{one} {other}");
        }
        assert_ne!(Question::file_name("a"), Question::go_package("a"));
        let package = |of| Question::package(of, "a");
        assert_ne!(package(Language::Java), package(Language::GoManifest));
    }
}
