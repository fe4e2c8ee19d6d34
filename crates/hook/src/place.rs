//! Where a conversation works: its work tree, its worktree, and the task that it reads and writes in.
//!
//! Owns how a conversation becomes a task. It looks at directories, and must not start a program for that.

use std::path::{Component, Path, PathBuf};

use sillok_core::limits::SEGMENT_CHARS_MAX;
use sillok_core::scope::{Level, Scope};

use crate::client::Client;
use crate::limits::PARENTS_MAX;
use crate::spool::directory::short_hash;

/// The worktree of whoever works in a repository's own directory, or in none.
const MAIN: &str = "main";

/// Where a conversation works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The task that it writes to.
    pub task: Scope,
    /// The worktree of that task, or the task where that was named.
    pub home: Scope,
    /// The root of its work tree, where it has one; else the directory that it works in.
    pub root: Option<PathBuf>,
}

impl Place {
    /// Where a conversation of a client works, whose scope was named. Nothing where that is an organisation: it has no tasks.
    #[must_use]
    pub fn of(
        scope: &Scope,
        client: Client,
        session: &str,
        directory: Option<&Path>,
    ) -> Option<Self> {
        let tree = directory.and_then(WorkTree::around);
        let home = match scope.level() {
            Level::Org => return None,
            Level::Project => {
                let name = tree.as_ref().map_or(MAIN.to_owned(), WorkTree::name);
                scope.child(&name).ok()?
            }
            Level::Worktree | Level::Task => scope.clone(),
        };
        let task = match scope.level() {
            Level::Task => scope.clone(),
            _ => home.child(&segment(&format!("{client}-{session}"))).ok()?,
        };
        let root = tree.map(|tree| tree.root);
        Some(Self {
            task,
            home,
            root: root.or_else(|| directory.map(Path::to_owned)),
        })
    }

    /// A file's path from the root of the work tree, where it lies in it; else as it was named.
    #[must_use]
    pub fn relative(&self, file: &str) -> String {
        let path = Path::new(file);
        let inside = self
            .root
            .as_ref()
            .and_then(|root| path.strip_prefix(root).ok());
        let path = inside.unwrap_or(path);
        let plain = path.components().filter(|part| *part != Component::CurDir);
        plain.collect::<PathBuf>().to_string_lossy().into_owned()
    }
}

/// A work tree of git.
struct WorkTree {
    root: PathBuf,
    /// Whether it is a further one of its repository.
    linked: bool,
}

impl WorkTree {
    /// The work tree that a directory lies in.
    fn around(directory: &Path) -> Option<Self> {
        let above = directory.ancestors().take(PARENTS_MAX);
        let mut found = above.map(|root| (root, root.join(".git")));
        let (root, git) = found.find(|(_, git)| git.exists())?;
        Some(Self {
            root: root.to_owned(),
            linked: git.is_file(),
        })
    }

    /// What its scope is called.
    fn name(&self) -> String {
        if !self.linked {
            return MAIN.to_owned();
        }
        let name = self.root.file_name().unwrap_or_default();
        segment(&name.to_string_lossy())
    }
}

/// A name as a segment of a scope. Where something had to be changed in it, a hash keeps it apart from others.
#[must_use]
pub fn segment(name: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let is_one = name.chars().all(fits) && !matches!(name, "" | "." | "..");
    if is_one && name.len() <= SEGMENT_CHARS_MAX {
        return name.to_owned();
    }
    let hash = short_hash(name);
    let plain = name.chars().map(|one| if fits(one) { one } else { '-' });
    let plain: String = plain.take(SEGMENT_CHARS_MAX - hash.len() - 1).collect();
    format!("{plain}-{hash}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope(path: &str) -> Scope {
        Scope::parse(path).unwrap()
    }

    fn place(path: &str, directory: Option<&Path>) -> Option<Place> {
        Place::of(&scope(path), Client::ClaudeCode, "abc123", directory)
    }

    #[test]
    fn a_conversation_is_a_task_of_its_worktree() {
        let place = place("org/a/project/b/worktree/c", None).unwrap();
        assert_eq!(
            place.task.as_str(),
            "org/a/project/b/worktree/c/task/claude-code-abc123"
        );
        assert_eq!(place.home.as_str(), "org/a/project/b/worktree/c");
    }

    #[test]
    fn a_task_that_is_named_is_taken_and_an_organisation_has_none() {
        let named = "org/a/project/b/worktree/c/task/d";
        assert_eq!(place(named, None).unwrap().task.as_str(), named);
        assert_eq!(place("org/a", None), None);
    }

    #[test]
    fn of_a_project_each_linked_work_tree_is_a_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().join("api");
        let linked = folder.path().join("api fix");
        std::fs::create_dir_all(main.join(".git")).unwrap();
        std::fs::create_dir_all(linked.join("src")).unwrap();
        std::fs::write(linked.join(".git"), "gitdir: elsewhere\n").unwrap();
        let at = |directory: &Path| place("org/a/project/b", Some(directory)).unwrap();
        assert_eq!(at(&main).home.as_str(), "org/a/project/b/worktree/main");
        let further = at(&linked.join("src"));
        assert!(
            further.home.name().starts_with("api-fix-"),
            "{}",
            further.home
        );
        assert_eq!(further.root.as_deref(), Some(linked.as_path()));
        let file = linked.join("src/./a.rs");
        assert_eq!(further.relative(&file.to_string_lossy()), "src/a.rs");
        assert_eq!(further.relative("elsewhere/b.rs"), "elsewhere/b.rs");
    }

    proptest! {
        #[test]
        fn any_name_is_a_segment_and_two_that_differ_stay_apart(one in ".{0,200}", other in ".{0,200}") {
            let parent = scope("org/a/project/b");
            prop_assert!(parent.child(&segment(&one)).is_ok());
            prop_assert_eq!(one == other, segment(&one) == segment(&other));
        }
    }
}
