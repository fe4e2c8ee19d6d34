//! The typed form of `.config/tidy.toml`: limits, words, edges.
//!
//! Owns the shape of the configuration; what each field forbids is said by the check that reads it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::Error;

/// Where the configuration lies, relative to the root of the tree.
pub const PATH: &str = ".config/tidy.toml";

/// Everything a maintainer may tune.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Files that no check reads: a path, or a folder with a closing slash.
    pub skip: Vec<String>,
    /// Bounds on length.
    pub limits: Limits,
    /// Names, without extension, that no source file and no folder below it may bear.
    pub names: Vec<String>,
    /// Words that no text file may contain.
    pub words: Vec<Word>,
    /// Module paths that a folder's code may not name.
    pub paths: Vec<PathRule>,
    /// Which crate may depend on which.
    pub direction: Direction,
    /// Where the deterministic clippy list must lie.
    pub determinism: Determinism,
}

/// Bounds on length, in lines.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Longest file, tests included.
    pub file_lines_max: usize,
    /// Longest file, counting only the lines outside test modules.
    pub code_lines_max: usize,
    /// Longest function, counting the lines between its braces.
    pub body_lines_max: usize,
}

/// A banned word. Matched as a whole word, with its letter case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// The word. One that opens with `/` is matched as the beginning of an absolute path.
    pub word: String,
    /// What to do instead; printed with each finding.
    pub instead: String,
}

/// A module path that code below certain folders may not name, outside its tests.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathRule {
    /// Two segments, such as `std::fs`.
    pub path: String,
    /// Path prefixes, relative to the root.
    pub below: Vec<String>,
    /// What to do instead; printed with each finding.
    pub instead: String,
}

/// Allowed edges between the crates of the workspace, by package name. `*` stands for all.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Edges for `[dependencies]` and `[build-dependencies]`. A crate must be listed to exist.
    pub allowed: BTreeMap<String, Vec<String>>,
    /// Further edges for `[dev-dependencies]`.
    pub allowed_dev: BTreeMap<String, Vec<String>>,
    /// Outside crates that a crate must not depend on, tests excepted.
    pub forbidden: BTreeMap<String, Vec<String>>,
}

/// The crates whose time, randomness and ids are arguments.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Determinism {
    /// Folders of those crates, relative to the root, without a closing slash.
    pub crates: Vec<String>,
    /// The clippy list that each of them must carry as its `clippy.toml`.
    pub list: String,
}

impl Config {
    /// Reads [`PATH`] below `root`.
    ///
    /// # Errors
    /// When the file is missing, or has a field that is unknown or of the wrong shape.
    pub fn read(root: &Path) -> Result<Self, Error> {
        let path = root.join(PATH);
        let text = std::fs::read_to_string(&path).map_err(|source| Error::Read {
            path: path.display().to_string(),
            source,
        })?;
        toml::from_str(&text).map_err(|source| Error::Config {
            path: PATH.to_owned(),
            source: Box::new(source),
        })
    }

    /// Whether no check reads `path`.
    pub fn skips(&self, path: &str) -> bool {
        self.skip.iter().any(|skip| {
            if skip.ends_with('/') {
                path.starts_with(skip.as_str())
            } else {
                path == skip
            }
        })
    }
}
