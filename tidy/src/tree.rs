//! The files that the checks read: tracked by git, or untracked and not ignored.
//!
//! Owns reading and lexing; it judges nothing, except a Rust file that does not lex.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::config::Config;
use crate::source::Source;
use crate::{Error, Finding};

/// A text file.
#[derive(Debug)]
pub struct File {
    /// Path relative to the root, with forward slashes.
    pub path: String,
    /// Its content. Files that are not UTF-8 are not in the tree, unless they end in `.rs`.
    pub text: String,
}

/// The tree, read once for all checks.
#[derive(Debug)]
pub struct Tree {
    /// All text files, sorted by path.
    pub files: Vec<File>,
    /// The Rust files among them, lexed.
    pub sources: Vec<Source>,
    /// Rust files that could not be read as Rust.
    pub broken: Vec<Finding>,
}

impl Tree {
    /// Lists the tree at `root` with git, and reads what the configuration does not skip.
    ///
    /// # Errors
    /// When git fails, or a listed file exists and cannot be read.
    pub fn read(root: &Path, config: &Config) -> Result<Self, Error> {
        let mut tree = Self {
            files: Vec::new(),
            sources: Vec::new(),
            broken: Vec::new(),
        };
        for path in list(root)?.into_iter().filter(|path| !config.skips(path)) {
            let full = root.join(&path);
            // A file deleted from the work tree stays listed until the deletion is staged; a
            // submodule or a link to a folder is no file.
            if !full.is_file() {
                continue;
            }
            let bytes = std::fs::read(&full).map_err(|source| Error::Read {
                path: full.display().to_string(),
                source,
            })?;
            tree.add(path, bytes);
        }
        tree.mark_test_modules();
        Ok(tree)
    }

    /// The file at `path`, if the tree has it.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) {
        let is_rust = path.ends_with(".rs");
        let Ok(text) = String::from_utf8(bytes) else {
            if is_rust {
                self.broken.push(Finding::new(path, 1, "is not UTF-8"));
            }
            return;
        };
        if is_rust {
            match Source::lex(&path, &text) {
                Ok(source) => self.sources.push(source),
                Err(finding) => self.broken.push(finding),
            }
        }
        self.files.push(File { path, text });
    }

    /// `#[cfg(test)] mod name;` makes tests of files elsewhere: of `name.rs`, and all below `name/`.
    fn mark_test_modules(&mut self) {
        let stems: BTreeSet<String> = self
            .sources
            .iter()
            .flat_map(Source::test_module_stems)
            .collect();
        for source in &mut self.sources {
            let is_test = stems.iter().any(|stem| {
                source
                    .path
                    .strip_prefix(stem.as_str())
                    .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            });
            if is_test {
                source.mark_as_test();
            }
        }
    }
}

fn list(root: &Path) -> Result<BTreeSet<String>, Error> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .output()
        .map_err(|error| Error::Git(error.to_string()))?;
    if !output.status.success() {
        return Err(Error::Git(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect())
}
