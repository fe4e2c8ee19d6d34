//! What is known of all work trees.
//!
//! Owns which contents are kept, and what a look at a work tree changes. Several work trees share what is equal in
//! them. It must not know how files are read, and takes no time: who asks for a look carries it out (see `scan`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::limits::INDEX_BYTES_MAX;
use crate::read::{FileHash, Unread};
use crate::scan::{Contents, FileState, Plan, Scanned};
use crate::settle::Resolved;
use crate::walk::WalkOptions;
use crate::work_tree::WorkTree;

/// Why what a look found is not put in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such work tree by now.
    #[error("there is no work tree {0}")]
    NoTree(Box<str>),
    /// Another look was put in since it was planned: it is to be taken again.
    #[error("the work tree {0} was looked at by another meanwhile")]
    Stale(Box<str>),
}

/// What a look changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Paths that are new, in order; not those that a file was renamed to.
    pub added: Vec<Arc<str>>,
    /// Paths whose bytes are others by now, in order.
    pub changed: Vec<Arc<str>>,
    /// Paths that are gone, in order; not those that a file was renamed from.
    pub removed: Vec<Arc<str>>,
    /// Paths that are gone, each with the new one that has its bytes, where there is just one of both.
    pub renamed: Vec<(Arc<str>, Arc<str>)>,
    /// Files that were read for it.
    pub read: usize,
    /// Files that were parsed for it.
    pub parsed: usize,
    /// Places that were looked at to find what imports mean.
    pub looked_up: usize,
}

impl Changes {
    /// Whether nothing is other than it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.changed.is_empty()
            && self.removed.is_empty()
            && self.renamed.is_empty()
    }
}

/// What is known of all work trees that were named.
#[derive(Debug)]
pub struct CodeIndex {
    contents: Arc<Contents>,
    bytes: usize,
    bytes_max: usize,
    /// Whoever asks of one keeps it as it is, while looks are put in.
    trees: BTreeMap<Box<str>, Arc<WorkTree>>,
}

impl Default for CodeIndex {
    fn default() -> Self {
        Self::with_contents(Contents::new())
    }
}

impl CodeIndex {
    /// An index of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An index that knows contents, such as those of a cache, and no work tree.
    pub(crate) fn with_contents(contents: Contents) -> Self {
        Self {
            bytes: contents.values().map(|file| file.heap_bytes()).sum(),
            contents: Arc::new(contents),
            bytes_max: INDEX_BYTES_MAX,
            trees: BTreeMap::new(),
        }
    }

    /// Says how many bytes of memory what is known may take, about: [`INDEX_BYTES_MAX`] where nobody says so.
    pub const fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Names a work tree, of which nothing is known until a look at it is put in. One of that name is forgotten, unless it has
    /// the same root and options.
    pub fn add_tree(&mut self, name: &str, root: &Path, options: WalkOptions) {
        let known = self.trees.get(name);
        if known.is_some_and(|tree| tree.root() == root && *tree.options() == options) {
            return;
        }
        self.remove_tree(name);
        let tree = WorkTree::new(root.to_owned(), options);
        self.trees.insert(name.into(), Arc::new(tree));
    }

    /// Forgets a work tree, and what no other one has.
    pub fn remove_tree(&mut self, name: &str) {
        if let Some(tree) = self.trees.remove(name) {
            let files = Arc::unwrap_or_clone(tree).into_files();
            self.forget(files.into_values().collect());
        }
    }

    /// Begins a work tree anew, where putting in a look came to no end: nothing is known of it but its name.
    pub(crate) fn reset_tree(&mut self, name: &str) {
        if let Some(tree) = self.trees.get_mut(name) {
            let anew = WorkTree::new(tree.root().to_owned(), tree.options().clone());
            *tree = Arc::new(anew);
        }
    }

    /// What is known of a work tree.
    #[must_use]
    pub fn tree(&self, name: &str) -> Option<&WorkTree> {
        self.trees.get(name).map(|tree| &**tree)
    }

    /// The same, to be kept as it is now.
    pub(crate) fn snapshot(&self, name: &str) -> Option<Arc<WorkTree>> {
        self.trees.get(name).cloned()
    }

    /// The work trees with files, or imports of files, for which there was no room.
    pub(crate) fn short_of_room(&self) -> Vec<Box<str>> {
        let has_none = |state: &FileState| state.content.as_ref().err() == Some(&Unread::NoRoom);
        self.trees
            .iter()
            .filter(|(_, tree)| {
                tree.imports().is_short_of_room() || tree.files().values().any(has_none)
            })
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// The names of all work trees, in order.
    pub fn trees(&self) -> impl Iterator<Item = &str> {
        self.trees.keys().map(AsRef::as_ref)
    }

    /// Different contents that are known.
    #[must_use]
    pub fn contents_count(&self) -> usize {
        self.contents.len()
    }

    /// About how many bytes of memory what is known takes: of contents, and of the paths that they lie at.
    #[must_use]
    pub fn content_bytes(&self) -> usize {
        self.bytes
            + self
                .trees
                .values()
                .map(|tree| tree.heap_bytes())
                .sum::<usize>()
    }

    /// What a look at a work tree needs to know; none where there is no such tree. It is cheap, and holds nothing up.
    #[must_use]
    pub fn plan(&self, name: &str) -> Option<Plan> {
        let tree = self.trees.get(name)?;
        Some(Plan {
            tree: name.into(),
            generation: tree.generation(),
            root: tree.root().to_owned(),
            options: tree.options().clone(),
            files: Arc::clone(tree.files()),
            contents: Arc::clone(&self.contents),
            bytes: self.content_bytes(),
            bytes_max: self.bytes_max,
        })
    }

    /// Puts in what a look found, and resolves all imports that may mean something else by it.
    ///
    /// # Errors
    /// [`Error`]; nothing is changed then.
    pub fn apply(&mut self, scanned: Scanned) -> Result<Changes, Error> {
        let name = scanned.tree.clone();
        let mut changes = self.put_in(scanned)?;
        while let Some(resolved) = self.resolve(&name) {
            changes.looked_up += resolved.looked_up;
            self.put_resolved(&name, resolved);
        }
        Ok(changes)
    }

    /// Resolves some of the imports of a work tree that wait; none where none does. It changes nothing yet.
    pub(crate) fn resolve(&self, name: &str) -> Option<Resolved> {
        let tree = self.trees.get(name)?;
        (!tree.imports().is_settled()).then(|| tree.resolve())
    }

    /// Puts in what was resolved.
    pub(crate) fn put_resolved(&mut self, name: &str, resolved: Resolved) {
        let bytes_max = self
            .bytes_max
            .saturating_sub(self.bytes + self.others(name));
        if let Some(tree) = self.trees.get_mut(name) {
            Arc::make_mut(tree).put_resolved(resolved, bytes_max);
        }
    }

    /// Whether no import of a work tree waits.
    pub(crate) fn is_settled(&self, name: &str) -> bool {
        let tree = self.trees.get(name);
        tree.is_none_or(|tree| tree.imports().is_settled())
    }

    /// About how many bytes of memory the other work trees take.
    fn others(&self, name: &str) -> usize {
        let others = self.trees.iter().filter(|(other, _)| ***other != *name);
        others.map(|(_, tree)| tree.heap_bytes()).sum()
    }

    /// Puts in what a look found, and leaves imports to wait that may mean something else by it. What leaves goes first, so that
    /// there is a place for what comes.
    ///
    /// # Errors
    /// [`Error`]; nothing is changed then.
    pub(crate) fn put_in(&mut self, mut scanned: Scanned) -> Result<Changes, Error> {
        let others = self.others(&scanned.tree);
        let Some(tree) = self.trees.get_mut(&scanned.tree) else {
            return Err(Error::NoTree(scanned.tree));
        };
        if tree.generation() != scanned.generation {
            return Err(Error::Stale(scanned.tree));
        }
        let tree = Arc::make_mut(tree);
        let mut changes = Changes {
            read: scanned.read,
            parsed: scanned.parsed,
            ..Changes::default()
        };
        let (mut former, mut went, mut come) = (Vec::new(), Vec::new(), Vec::new());
        for path in gone(tree, &scanned) {
            if let Some(before) = tree.remove(&path) {
                went.push((path, hash_of(&before)));
                former.push(before);
            }
        }
        let contents = Arc::make_mut(&mut self.contents);
        let files_max = tree.options().files_max;
        for (path, mut state) in core::mem::take(&mut scanned.files) {
            if tree.len() >= files_max && tree.number(&path).is_none() {
                scanned.walked.passed.files += 1;
                continue;
            }
            share(contents, &mut self.bytes, &mut state);
            let path: Arc<str> = path.into();
            let hash = hash_of(&state);
            match tree.put(&path, state) {
                None => come.push((path, hash)),
                Some(before) => {
                    if hash_of(&before) != hash {
                        changes.changed.push(path);
                    }
                    former.push(before);
                }
            }
        }
        match scanned.only {
            None => tree.looked_at_whole(&scanned.walked),
            Some(_) => tree.looked_at_part(&scanned.walked),
        }
        tree.looked_at(self.bytes_max.saturating_sub(self.bytes + others));
        renames(come, went, &mut changes);
        self.forget(former);
        Ok(changes)
    }

    /// Forgets the contents that no work tree has, such as those of a cache that are gone. To be called when each tree was
    /// looked at.
    pub fn prune(&mut self) {
        let contents = Arc::make_mut(&mut self.contents);
        contents.retain(|_, file| Arc::strong_count(file) > 1);
        self.bytes = contents.values().map(|file| file.heap_bytes()).sum();
    }

    /// Drops what files had, and the contents that nobody has any more.
    fn forget(&mut self, states: Vec<FileState>) {
        let mut keys = BTreeSet::new();
        for state in states {
            if let Ok((hash, _)) = state.content {
                keys.insert((hash, state.language));
            }
        }
        let contents = Arc::make_mut(&mut self.contents);
        for key in keys {
            let is_last = contents
                .get(&key)
                .is_some_and(|file| Arc::strong_count(file) == 1);
            if is_last && let Some(file) = contents.remove(&key) {
                self.bytes = self.bytes.saturating_sub(file.heap_bytes());
            }
        }
    }
}

/// Two files with equal bytes have one index.
fn share(contents: &mut Contents, bytes: &mut usize, state: &mut FileState) {
    let Ok((hash, file)) = &mut state.content else {
        return;
    };
    let known = contents.entry((*hash, state.language)).or_insert_with(|| {
        *bytes += file.heap_bytes();
        Arc::clone(file)
    });
    *file = Arc::clone(known);
}

fn hash_of(state: &FileState) -> Option<FileHash> {
    state.content.as_ref().ok().map(|(hash, _)| *hash)
}

/// What was known and was not found where it was looked for.
fn gone(tree: &WorkTree, scanned: &Scanned) -> Vec<Arc<str>> {
    // A walk that was cut says nothing of what it did not come to: that was asked for path by path.
    if scanned.walked.is_cut {
        return scanned.gone.clone();
    }
    let found: BTreeSet<&str> = scanned
        .walked
        .files
        .iter()
        .map(|(path, _)| path.as_ref())
        .collect();
    let everything = BTreeSet::from([PathBuf::new()]);
    let asked_for = scanned.only.as_ref().unwrap_or(&everything);
    let mut gone: Vec<Arc<str>> = asked_for
        .iter()
        .filter_map(|path| path.to_str())
        .flat_map(|path| tree.at_or_below(path))
        .filter(|path| !found.contains(&***path))
        .cloned()
        .collect();
    gone.sort_unstable();
    gone.dedup();
    gone
}

/// Tells what was renamed from what came and what went.
fn renames(
    come: Vec<(Arc<str>, Option<FileHash>)>,
    went: Vec<(Arc<str>, Option<FileHash>)>,
    changes: &mut Changes,
) {
    let mut of: HashMap<FileHash, [Vec<Arc<str>>; 2]> = HashMap::new();
    for (place, paths) in [&went, &come].into_iter().enumerate() {
        for (path, hash) in paths {
            if let Some(hash) = hash {
                of.entry(*hash).or_default()[place].push(Arc::clone(path));
            }
        }
    }
    let pair = |hash: &Option<FileHash>| match hash.and_then(|hash| of.get(&hash)) {
        Some([from, to]) => match (from.as_slice(), to.as_slice()) {
            ([from], [to]) => Some((Arc::clone(from), Arc::clone(to))),
            _ => None,
        },
        None => None,
    };
    for (path, hash) in come {
        match pair(&hash) {
            Some(pair) => changes.renamed.push(pair),
            None => changes.added.push(path),
        }
    }
    let removed = went.into_iter().filter(|(_, hash)| pair(hash).is_none());
    changes.removed.extend(removed.map(|(path, _)| path));
    changes.added.sort_unstable();
    changes.changed.sort_unstable();
    changes.renamed.sort_unstable();
}
