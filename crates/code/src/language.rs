//! The languages that are read, and by which names of files they are told.
//!
//! Owns the grammars and the ends of names. It must not know what is looked for in a syntax tree (see `rules`).

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A language whose files are read, or a manifest that says under which name others import what lies beside it.
///
/// Its place in the list is stored in caches: what is new stands at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Language {
    /// Rust.
    Rust,
    /// TypeScript without JSX.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// JavaScript, with JSX or without.
    JavaScript,
    /// Python.
    Python,
    /// Go.
    Go,
    /// Java.
    Java,
    /// C.
    C,
    /// C++, and headers, which may be either.
    Cpp,
    /// `Cargo.toml`: the name of a crate.
    CargoManifest,
    /// `go.mod`: the path of a module.
    GoManifest,
    /// `package.json`: the name of a package.
    NpmManifest,
}

impl Language {
    /// All of them, in order.
    pub const ALL: [Self; 12] = [
        Self::Rust,
        Self::TypeScript,
        Self::Tsx,
        Self::JavaScript,
        Self::Python,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Cpp,
        Self::CargoManifest,
        Self::GoManifest,
        Self::NpmManifest,
    ];

    /// The language that a file of this name is written in; none where its files are not read.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.file_name()?.to_str()? {
            "Cargo.toml" => return Some(Self::CargoManifest),
            "go.mod" => return Some(Self::GoManifest),
            "package.json" => return Some(Self::NpmManifest),
            _ => {}
        }
        match path.extension()?.to_str()? {
            "rs" => Some(Self::Rust),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            "js" | "jsx" | "mjs" | "cjs" => Some(Self::JavaScript),
            "py" | "pyi" => Some(Self::Python),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            "c" => Some(Self::C),
            "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "ipp" | "inl" => {
                Some(Self::Cpp)
            }
            _ => None,
        }
    }

    /// Its name as people write it in small letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Go => "go",
            Self::Java => "java",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::CargoManifest => "cargo",
            Self::GoManifest => "go.mod",
            Self::NpmManifest => "npm",
        }
    }

    /// What stands between the parts of a qualified name.
    #[must_use]
    pub const fn separator(self) -> &'static str {
        match self {
            Self::Rust | Self::C | Self::Cpp => "::",
            _ => ".",
        }
    }

    /// Whether a name in one may mean a symbol in the other.
    #[must_use]
    pub fn reaches(self, other: Self) -> bool {
        self.family_name() == other.family_name()
    }

    /// What ids of symbols are of: a file may be taken for another language of its family.
    pub(crate) const fn family_name(self) -> &'static str {
        match self {
            Self::TypeScript | Self::Tsx | Self::JavaScript => "ecma",
            Self::C | Self::Cpp => "c",
            _ => self.name(),
        }
    }

    /// The grammar; none for a manifest.
    pub(crate) fn grammar(self) -> Option<tree_sitter::Language> {
        let grammar = match self {
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::C => tree_sitter_c::LANGUAGE,
            Self::Cpp => tree_sitter_cpp::LANGUAGE,
            Self::CargoManifest | Self::GoManifest | Self::NpmManifest => return None,
        };
        Some(grammar.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_its_name() {
        let of = |path: &str| Language::of_path(Path::new(path));
        assert_eq!(of("src/lib.rs"), Some(Language::Rust));
        assert_eq!(of("web/App.tsx"), Some(Language::Tsx));
        assert_eq!(of("include/a.h"), Some(Language::Cpp));
        assert_eq!(of("crates/code/Cargo.toml"), Some(Language::CargoManifest));
        for other in ["README.md", "rs", ".rs", "a.RS", "src", "other.toml", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn every_grammar_is_one_that_the_parser_takes() {
        let mut parser = tree_sitter::Parser::new();
        for language in Language::ALL {
            if let Some(grammar) = language.grammar() {
                parser.set_language(&grammar).unwrap();
            }
        }
    }
}
