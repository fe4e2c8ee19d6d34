//! A folder with files, and citations of them.
//!
//! Owns what the tests need to change files and to ask about them. It must not know what is expected.

use std::fs;
use std::path::{Path, PathBuf};

use sillok_core::citation::Citation;
use sillok_core::gate::{Judgement, Reason, Verdict};
use sillok_gate::{Budget, Gate, WorkTree, fingerprint};
use tempfile::TempDir;

pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn gate(&self) -> Gate {
        Gate::of(&WorkTree::at(self.root()).unwrap())
    }

    /// A citation of lines as they are now, or of the whole file.
    pub(crate) fn cite(&self, path: &str, lines: Option<(u32, u32)>) -> Citation {
        let tree = WorkTree::at(self.root()).unwrap();
        let print = fingerprint(&tree, path, lines).unwrap();
        file(path, lines, Some(print.to_string()))
    }
}

pub(crate) fn file(path: &str, lines: Option<(u32, u32)>, fingerprint: Option<String>) -> Citation {
    Citation::File {
        path: path.into(),
        lines,
        fingerprint,
    }
}

pub(crate) fn symbol(file: &str, name: &str, signature: &str) -> Citation {
    Citation::Symbol {
        id: "of another index".into(),
        name: name.into(),
        file: file.into(),
        signature: Some(signature.into()),
    }
}

/// What a gate says of one citation when it looks through everything.
pub(crate) fn judged(gate: &Gate, citation: &Citation) -> Judgement {
    let citations = [citation.clone()];
    let answer = gate.check(&[&citations], Budget::WHOLE);
    let checked = &answer.entries[0];
    let judgement = checked.judgements[0].clone().unwrap();
    assert_eq!(checked.verdict, judgement.verdict);
    judgement
}

pub(crate) fn told(gate: &Gate, citation: &Citation) -> (Verdict, Reason) {
    let judgement = judged(gate, citation);
    (judgement.verdict, judgement.reason)
}

/// A function of some lines that is like no other of another number.
pub(crate) fn function(number: u32) -> String {
    format!(
        "pub fn number_{number}(rows: &[Row]) -> u64 {{\n    rows.iter().map(Row::weight_{number}).sum()\n}}\n"
    )
}
