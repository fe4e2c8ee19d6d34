//! Tidiness as a test: what a compiler and clippy do not say about the source tree.
//!
//! Owns the checks behind `make tidy`. It reads files and the list of them that git gives; it must
//! not build, run or change anything, and knows nothing of what the crates do.

pub mod checks;
pub mod config;
pub mod source;
pub mod tree;

use std::fmt;
use std::path::Path;

use config::Config;
use tree::Tree;

/// One offence, at a place that an editor can jump to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path relative to the root of the tree, with forward slashes.
    pub path: String,
    /// Line, counted from 1.
    pub line: usize,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl Finding {
    /// A finding at `path:line`.
    pub fn new(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            line: line.max(1),
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Why the tree could not be checked at all. Offences are not errors: they are [`Finding`]s.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that must be readable is not.
    #[error("cannot read {path}")]
    Read {
        /// The file, as it was named to the operating system.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// `.config/tidy.toml` is not what [`Config`] describes.
    #[error("{path} does not parse")]
    Config {
        /// The file, relative to the root.
        path: String,
        /// The cause.
        source: Box<toml::de::Error>,
    },
    /// git could not list the tree.
    #[error("git ls-files failed: {0}")]
    Git(String),
}

/// What a run looked at and what it found.
#[derive(Debug)]
pub struct Report {
    /// How many files were read.
    pub files: usize,
    /// All offences, sorted by path and line.
    pub findings: Vec<Finding>,
}

/// Runs every check over the tree at `root`, which must hold [`config::PATH`].
///
/// # Errors
/// When git cannot list the tree, or a file or the configuration cannot be read.
pub fn run(root: &Path) -> Result<Report, Error> {
    let config = Config::read(root)?;
    let tree = Tree::read(root, &config)?;
    let mut findings = tree.broken.clone();
    findings.extend(checks::opening::check(&tree));
    findings.extend(checks::length::check(&tree, &config.limits));
    findings.extend(checks::direction::check(&tree, &config.direction));
    findings.extend(checks::constructs::check(&tree, &config));
    findings.extend(checks::determinism::check(&tree, &config.determinism));
    findings.extend(checks::words::check(&tree, &config));
    findings.extend(checks::invariants::check(&tree));
    findings.sort();
    findings.dedup();
    Ok(Report {
        files: tree.files.len(),
        findings,
    })
}
