//! What git ignores.
//!
//! Owns the files of rules from the repository around a work tree to a folder of it. A work tree holds what it likes under their
//! names: they are read within bounds, and only where they are files. It must not know what else is passed over, nor who walks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use crate::limits::{POINTER_BYTES_MAX, RULE_BYTES_MAX, RULE_FILE_BYTES_MAX, RULES_MAX};
use crate::open::Root;
use crate::read::{Unread, read_short};

/// What the files are called that say what lies beside them and is ignored.
pub(crate) const RULES_NAME: &str = ".gitignore";

/// What is ignored in one folder: what its own file of rules says, and what those around it say.
#[derive(Clone, Debug, Default)]
pub struct Rules(Option<Arc<Layer>>);

#[derive(Debug)]
struct Layer {
    own: Gitignore,
    around: Rules,
}

impl Rules {
    /// The same with what is said nearer by.
    fn with(self, own: Option<Gitignore>) -> Self {
        match own {
            Some(own) => Self(Some(Arc::new(Layer { own, around: self }))),
            None => self,
        }
    }
}

/// The rules of a work tree. Their paths begin in the repository.
#[derive(Debug)]
pub struct Ignored {
    /// What all files of rules of the repository lie below; none where it cannot be opened.
    repository: Option<Root>,
    /// The work tree in its repository; empty where it is all of it.
    base: PathBuf,
    /// What holds at the root of the work tree.
    root: Rules,
    /// The folders that a walk is in, from the root.
    open: Vec<(PathBuf, Rules)>,
    bytes_left: u64,
    unread: u64,
}

impl Ignored {
    /// The rules of the work tree at a path.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let repository = root.ancestors().find(|folder| is_repository(folder));
        let repository = repository.unwrap_or(&root).to_owned();
        let base = root.strip_prefix(&repository).unwrap_or(Path::new(""));
        let mut ignored = Self {
            base: base.to_owned(),
            repository: Root::at(&repository).ok(),
            root: Rules::default(),
            open: Vec::new(),
            bytes_left: RULE_BYTES_MAX,
            unread: 0,
        };
        let of_user = ignored.of_user();
        let of_repository = ignored.of_repository(&repository);
        let mut rules = Rules::default().with(of_user).with(of_repository);
        let mut folders: Vec<PathBuf> = ignored.base.ancestors().map(Path::to_owned).collect();
        folders.reverse();
        for folder in folders {
            rules = rules.with(ignored.own_rules(&folder.join(RULES_NAME), &folder));
        }
        ignored.open.push((PathBuf::new(), rules.clone()));
        ignored.root = rules;
        ignored
    }

    /// What is ignored of what lies at the root.
    #[must_use]
    pub fn at_root(&self) -> Rules {
        self.root.clone()
    }

    /// What is ignored of what lies in a folder, by its path from the root and what holds around it.
    #[must_use]
    pub fn inside(&mut self, folder: &Path, around: &Rules) -> Rules {
        let full = self.base.join(folder);
        let own = self.own_rules(&full.join(RULES_NAME), &full);
        around.clone().with(own)
    }

    /// Whether what lies at a path from the root is ignored, by what holds in its folder: the nearest rule that says
    /// anything of it counts.
    #[must_use]
    pub fn is_ignored(&self, path: &Path, is_folder: bool, rules: &Rules) -> bool {
        let full = self.base.join(path);
        let mut rules = rules;
        while let Some(layer) = &rules.0 {
            match layer.own.matched(&full, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = &layer.around,
            }
        }
        false
    }

    /// What the user has for all repositories.
    fn of_user(&mut self) -> Option<Gitignore> {
        let path = gitconfig_excludes_path()?.canonicalize().ok()?;
        self.rules(short(&path, self.bytes_here()), Path::new(""))
    }

    /// What the repository has for all its work trees.
    fn of_repository(&mut self, repository: &Path) -> Option<Gitignore> {
        let git = repository.join(".git");
        let is_pointer = std::fs::symlink_metadata(&git).is_ok_and(|git| git.is_file());
        if is_pointer {
            let read = match common_folder(&git) {
                Some(common) => short(&common.join("info/exclude"), self.bytes_here()),
                None => Err(Unread::NoFile),
            };
            self.rules(read, Path::new(""))
        } else {
            self.own_rules(Path::new(".git/info/exclude"), Path::new(""))
        }
    }

    /// Whether what lies at a path from the root is ignored. To be asked depth first: of a folder before what is in it, and of
    /// all that is in it before what comes next.
    pub(crate) fn holds(&mut self, path: &Path, is_folder: bool) -> bool {
        let folder = path.parent().unwrap_or(Path::new(""));
        while self.open.len() > 1 && self.open.last().is_some_and(|(open, _)| open != folder) {
            self.open.pop();
        }
        let rules = self.open.last().map(|(_, rules)| rules.clone());
        let rules = rules.unwrap_or_default();
        if self.is_ignored(path, is_folder, &rules) {
            return true;
        }
        if is_folder {
            let inside = self.inside(path, &rules);
            self.open.push((path.to_owned(), inside));
        }
        false
    }

    /// Files of rules that were not read.
    pub(crate) const fn unread(&self) -> u64 {
        self.unread
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
#[must_use]
pub fn is_repository(folder: &Path) -> bool {
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
