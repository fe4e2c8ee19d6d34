//! What git ignores.
//!
//! Owns the files of rules from the repository around a work tree to the folder that a walk is in. A work tree holds what it
//! likes under their names: they are read within bounds, and only where they are files. It must not know what else is passed
//! over.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use crate::limits::{POINTER_BYTES_MAX, RULE_BYTES_MAX, RULE_FILE_BYTES_MAX, RULES_MAX};
use crate::open::Root;
use crate::read::{Unread, read_short};

/// What the files are called that say what lies beside them and is ignored.
pub(crate) const RULES_NAME: &str = ".gitignore";

/// The rules on the way of a walk. Their paths begin in the repository.
pub(crate) struct Ignored {
    /// What all files of rules of the repository lie below; none where it cannot be opened.
    repository: Option<Root>,
    /// The work tree in its repository; empty where it is all of it.
    base: PathBuf,
    /// What holds for all of the work tree, the weakest first.
    around: Vec<Gitignore>,
    /// The folders that the walk is in, from the root.
    open: Vec<(PathBuf, Option<Gitignore>)>,
    bytes_left: u64,
    unread: u64,
}

impl Ignored {
    /// The rules at the root of a work tree.
    pub(crate) fn new(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let repository = root.ancestors().find(|folder| is_repository(folder));
        let repository = repository.unwrap_or(&root).to_owned();
        let base = root.strip_prefix(&repository).unwrap_or(Path::new(""));
        let mut ignored = Self {
            base: base.to_owned(),
            repository: Root::at(&repository).ok(),
            around: Vec::new(),
            open: Vec::new(),
            bytes_left: RULE_BYTES_MAX,
            unread: 0,
        };
        ignored.of_user();
        ignored.of_repository(&repository);
        let mut above: Vec<PathBuf> = ignored
            .base
            .ancestors()
            .skip(1)
            .map(Path::to_owned)
            .collect();
        above.reverse();
        for folder in above {
            let rules = ignored.own_rules(&folder.join(RULES_NAME), &folder);
            ignored.around.extend(rules);
        }
        ignored.enter(Path::new(""));
        ignored
    }

    /// What the user has for all repositories.
    fn of_user(&mut self) {
        let path = gitconfig_excludes_path().and_then(|path| path.canonicalize().ok());
        if let Some(path) = path {
            let rules = self.rules(short(&path, self.bytes_here()), Path::new(""));
            self.around.extend(rules);
        }
    }

    /// What the repository has for all its work trees.
    fn of_repository(&mut self, repository: &Path) {
        let git = repository.join(".git");
        let is_pointer = std::fs::symlink_metadata(&git).is_ok_and(|git| git.is_file());
        let rules = if is_pointer {
            let read = match common_folder(&git) {
                Some(common) => short(&common.join("info/exclude"), self.bytes_here()),
                None => Err(Unread::NoFile),
            };
            self.rules(read, Path::new(""))
        } else {
            self.own_rules(Path::new(".git/info/exclude"), Path::new(""))
        };
        self.around.extend(rules);
    }

    /// Whether what lies at a path from the root is ignored. To be asked depth first: of a folder before what is in it, and of
    /// all that is in it before what comes next.
    pub(crate) fn holds(&mut self, path: &Path, is_folder: bool) -> bool {
        let folder = path.parent().unwrap_or(Path::new(""));
        while self.open.len() > 1 && self.open.last().is_some_and(|(open, _)| open != folder) {
            self.open.pop();
        }
        let inner = self
            .open
            .iter()
            .rev()
            .filter_map(|(_, rules)| rules.as_ref());
        let full = self.base.join(path);
        for rules in inner.chain(self.around.iter().rev()) {
            match rules.matched(&full, is_folder) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => break,
            }
        }
        if is_folder {
            self.enter(path);
        }
        false
    }

    /// Files of rules that were not read.
    pub(crate) const fn unread(&self) -> u64 {
        self.unread
    }

    fn enter(&mut self, folder: &Path) {
        let full = self.base.join(folder);
        let rules = self.own_rules(&full.join(RULES_NAME), &full);
        self.open.push((folder.to_owned(), rules));
    }

    fn bytes_here(&self) -> u64 {
        RULE_FILE_BYTES_MAX.min(self.bytes_left)
    }

    /// The rules of a file of the repository, for what lies in a folder of it.
    fn own_rules(&mut self, path: &Path, folder: &Path) -> Option<Gitignore> {
        let read = match &self.repository {
            Some(root) => read_short(root, path, self.bytes_here()),
            None => Err(Unread::Gone),
        };
        self.rules(read, folder)
    }

    /// The rules that were read. What is no rule says nothing.
    fn rules(&mut self, read: Result<Option<Vec<u8>>, Unread>, folder: &Path) -> Option<Gitignore> {
        let Ok(bytes) = read else {
            self.unread += 1;
            return None;
        };
        let bytes = bytes?;
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
        let mut builder = GitignoreBuilder::new(folder);
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let lines = text.split(|byte| *byte == b'\n');
        for line in lines.clone().take(RULES_MAX) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Ok(line) = core::str::from_utf8(line) {
                // One that cannot be read is none, as git has it.
                let _no_rule = builder.add_line(None, line);
            }
        }
        let built = builder.build().ok();
        if built.is_none() || lines.count() > RULES_MAX {
            self.unread += 1;
        }
        built.filter(|rules| !rules.is_empty())
    }
}

/// Whether git takes a folder for the root of a work tree. What is called `.git` may be anything.
fn is_repository(folder: &Path) -> bool {
    let git = std::fs::metadata(folder.join(".git"));
    git.is_ok_and(|git| git.is_dir() || git.is_file())
}

/// Where a repository keeps what all its work trees share, by the file that stands for it in one of them. Such a file may name
/// any folder: only one is believed that lies where git puts it and names the file in turn.
fn common_folder(pointer: &Path) -> Option<PathBuf> {
    let named = first_line(pointer)?;
    let own = pointer.parent()?.join(named.strip_prefix("gitdir: ")?);
    let own = own.canonicalize().ok()?;
    let common = own.join(first_line(&own.join("commondir"))?);
    let common = common.canonicalize().ok()?;
    let back = own.join(first_line(&own.join("gitdir"))?);
    let is_back = back.canonicalize().ok()? == pointer.canonicalize().ok()?;
    let is_placed = own.parent() == Some(&*common.join("worktrees"));
    (is_back && is_placed).then_some(common)
}

fn first_line(path: &Path) -> Option<String> {
    let text = String::from_utf8(short(path, POINTER_BYTES_MAX).ok()??).ok()?;
    text.lines().next().map(str::to_owned)
}

/// Reads a file that lies outside the repository.
fn short(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, Unread> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    match Root::at(folder) {
        Ok(folder) => read_short(&folder, Path::new(name), bytes_max),
        Err(_) => Ok(None),
    }
}
