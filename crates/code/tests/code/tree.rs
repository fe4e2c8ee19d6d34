//! A work tree on disk, and what an index says of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sillok_code::{Changes, CodeIndex, WalkOptions, WorkTree};

/// A folder that goes when it is dropped.
pub(crate) struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let full = self.root().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.root().join(path)).unwrap();
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let to = self.root().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(self.root().join(from), to).unwrap();
    }

    /// An index that looked at all of it, under the name `t`.
    pub(crate) fn index(&self) -> CodeIndex {
        let mut index = CodeIndex::new();
        look(&mut index, "t", self.root(), None);
        index
    }
}

/// Looks at a work tree, or at some paths of it, and puts in what is found.
pub(crate) fn look(
    index: &mut CodeIndex,
    name: &str,
    root: &Path,
    only: Option<BTreeSet<PathBuf>>,
) -> Changes {
    index.add_tree(name, root, WalkOptions::default());
    let plan = index.plan(name).unwrap();
    let scanned = plan.look(only, SystemTime::now()).unwrap();
    index.apply(scanned).unwrap()
}

pub(crate) fn paths(paths: &[&str]) -> BTreeSet<PathBuf> {
    paths.iter().map(PathBuf::from).collect()
}

/// All that an index says of a work tree, in order: files with hashes, imports, and what each call means.
pub(crate) fn said(tree: &WorkTree) -> Vec<String> {
    let mut said = Vec::new();
    for path in tree.paths() {
        let hash = tree.hash(path).map(|hash| hash.to_string());
        said.push(format!("{path} {hash:?} {:?}", tree.unread(path)));
        let Some(file) = tree.file(path) else {
            continue;
        };
        said.extend(
            file.symbols
                .iter()
                .map(|it| format!("  {} {} {:?}", it.id, it.name, it.lines)),
        );
        said.extend(
            tree.imports_of(path)
                .into_iter()
                .map(|it| format!("  {it:?}")),
        );
        for call in &file.calls {
            said.push(format!("  {call:?} {:?}", tree.meaning_of(path, call)));
        }
    }
    said
}
