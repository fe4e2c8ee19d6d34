//! Where a conversation works: its work tree, its worktree, and the task that it reads and writes in.
//!
//! Owns how a conversation becomes a task. It looks at directories, and must not start a program for that.

use std::path::{Component, Path, PathBuf};

use sillok_core::limits::SEGMENT_CHARS_MAX;
use sillok_core::scope::{Level, Scope};

use crate::client::Client;
use crate::limits::PARENTS_MAX;
use crate::settings::read_bounded;
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
    /// What a further one of its repository is called.
    linked: Option<String>,
}

/// What a `.git` says of the directory that it lies in.
enum Kind {
    /// The repository's own work tree.
    Own,
    /// A further one, with the name that git has for it: one of a kind in its repository.
    Linked(String),
    /// That of a submodule, which belongs to the work tree around it.
    Submodule,
}

impl WorkTree {
    /// The work tree that a directory lies in. A submodule that lies in none is one itself.
    fn around(directory: &Path) -> Option<Self> {
        let mut submodule = None;
        for root in directory.ancestors().take(PARENTS_MAX) {
            let linked = match kind_of(root) {
                None => continue,
                Some(Kind::Own) => None,
                Some(Kind::Linked(name)) => Some(name),
                Some(Kind::Submodule) => {
                    submodule.get_or_insert(root);
                    continue;
                }
            };
            let root = root.to_owned();
            return Some(Self { root, linked });
        }
        let root = submodule?.to_owned();
        Some(Self { root, linked: None })
    }

    /// What its scope is called.
    fn name(&self) -> String {
        self.linked.as_deref().map_or(MAIN.to_owned(), segment)
    }
}

fn kind_of(root: &Path) -> Option<Kind> {
    let git = root.join(".git");
    let metadata = std::fs::metadata(&git).ok()?;
    if !metadata.is_file() {
        return Some(Kind::Own);
    }
    let folder = || {
        let name = root.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let text = read_bounded(&git).ok().flatten().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let leads = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("gitdir:"));
    let leads = Path::new(leads.unwrap_or_default().trim());
    let parts: Vec<_> = leads.components().map(Component::as_os_str).collect();
    // What lies before the repository's own folder is a person's to name.
    let mut inside = parts
        .iter()
        .skip_while(|part| !part.to_string_lossy().ends_with(".git"));
    Some(match parts.as_slice() {
        [.., before, kept, name] if *kept == "worktrees" && *before != "modules" => {
            Kind::Linked(name.to_string_lossy().into_owned())
        }
        _ if inside.any(|part| *part == "modules") => Kind::Submodule,
        _ => Kind::Linked(folder()),
    })
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

    #[test]
    fn work_trees_of_one_folder_name_are_told_apart_by_the_name_that_git_has_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str, git: &str| {
            let tree = folder.path().join(path);
            std::fs::create_dir_all(&tree).unwrap();
            std::fs::write(tree.join(".git"), git).unwrap();
            place("org/a/project/b", Some(&tree)).unwrap().home
        };
        let one = at("1/api", "gitdir: /home/p/api/.git/worktrees/api\n");
        let other = at("2/api", "gitdir: /home/p/api/.git/worktrees/api1\n");
        assert_eq!(one.name(), "api");
        assert_eq!(other.name(), "api1");
        // Of a submodule, a further work tree is one, too; and what leads nowhere known goes by its folder.
        let of_module = "gitdir: /home/p/api/.git/modules/lib/worktrees/lib2\n";
        assert_eq!(at("3/lib", of_module).name(), "lib2");
        assert_eq!(at("4/api", "gitdir: ../elsewhere\n").name(), "api");
        assert_eq!(at("5/api", "").name(), "api");
        assert_eq!(at("6/api", "gitdir: /modules/api.git\n").name(), "api");
    }

    #[test]
    fn a_submodule_belongs_to_the_work_tree_around_it() {
        let folder = tempfile::tempdir().unwrap();
        let module = folder.path().join("vendor/lib");
        std::fs::create_dir_all(module.join("src")).unwrap();
        std::fs::write(
            module.join(".git"),
            "gitdir: ../../.git/modules/vendor/lib\n",
        )
        .unwrap();
        let at = || place("org/a/project/b", Some(&module.join("src"))).unwrap();
        // Alone, as where the repository around it is gone, it is one itself.
        assert_eq!(at().root.as_deref(), Some(module.as_path()));
        std::fs::create_dir_all(folder.path().join(".git")).unwrap();
        let inside = at();
        assert_eq!(inside.home.name(), MAIN);
        assert_eq!(inside.root.as_deref(), Some(folder.path()));
        let file = module.join("src/a.rs");
        assert_eq!(
            inside.relative(&file.to_string_lossy()),
            "vendor/lib/src/a.rs"
        );
        std::fs::remove_dir(folder.path().join(".git")).unwrap();
        let linked = "gitdir: /home/p/api/.git/worktrees/fix\n";
        std::fs::write(folder.path().join(".git"), linked).unwrap();
        assert_eq!(at().home.name(), "fix");
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
