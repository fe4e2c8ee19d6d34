//! The work trees whose source files the server follows.
//!
//! Owns which of them a scope is told of, and that what is not known yet is not taken for what is not there. It must not
//! know how files are read, nor what is asked of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sillok_code::WorkTree;
use sillok_code::follow::{FollowOptions, Follower, LookState};
use sillok_code::watch::WatchOptions;
use sillok_core::error::{Error, ErrorCode};
use sillok_core::scope::{Level, Scope};
use sillok_gate::Gate;

use crate::config::GraphConfig;

/// What a caller is told to wait while a work tree is looked at for the first time.
const RETRY_AFTER_MS: u64 = 1_000;

/// The work trees that are followed, until this is dropped.
#[derive(Debug, Default)]
pub struct Code {
    trees: BTreeMap<Scope, PathBuf>,
    /// What holds recalled entries against each of them.
    gates: BTreeMap<Scope, Arc<Gate>>,
    /// None where nothing is followed.
    follower: Option<Follower>,
}

impl Code {
    /// Follows the work trees that are configured. What is known of them is kept in `cache`. They are watched before this
    /// returns, and read afterwards, on threads of their own. One that is not there, or cannot be watched, is told as failed and
    /// tried again: it holds up no other.
    ///
    /// # Errors
    /// `invalid_argument` naming the key, where what is configured cannot be kept to.
    pub fn follow(config: &GraphConfig, cache: PathBuf) -> Result<Self, Error> {
        let trees = config.of_scopes()?;
        if trees.is_empty() || !config.enabled {
            return Ok(Self::default());
        }
        let gates = trees.iter();
        let gates = gates.map(|(scope, root)| (scope.clone(), Arc::new(Gate::at(root.clone()))));
        let gates = gates.collect();
        let named = trees.iter();
        let options = FollowOptions {
            trees: named
                .map(|(scope, root)| (scope.to_string(), root.clone()))
                .collect(),
            walk: config.walk()?,
            watch: WatchOptions {
                debounce: config.debounce(),
                ..WatchOptions::default()
            },
            cache: Some(cache),
            ..FollowOptions::default()
        };
        let follower = Follower::start(options).map_err(|error| unusable(&error.to_string()))?;
        Ok(Self {
            trees,
            gates,
            follower: Some(follower),
        })
    }

    /// What holds recalled entries against the work tree that whoever stands in `scope` is told of. Unless it is asked for, only
    /// where that is the one of a worktree: of those of a project nobody knows which one an asker has.
    pub(crate) fn gate(&self, scope: &Scope, asked: Option<bool>) -> Option<(&Path, &Arc<Gate>)> {
        let around = scope.with_ancestors();
        let nearest = around.iter().find(|at| self.trees.contains_key(*at))?;
        let is_own = nearest.level() == Level::Worktree;
        let (root, gate) = (self.trees.get(nearest)?, self.gates.get(nearest)?);
        asked.unwrap_or(is_own).then_some((root.as_path(), gate))
    }

    /// Reads what is known of the work tree that whoever stands in `scope` is told of: its own, or the nearest one around it.
    /// What is put in meanwhile is not seen.
    ///
    /// # Errors
    /// `not_found` where there is none, `busy` where it was not looked at yet or much changed just now, `unavailable` where it could not be, and what
    /// `read` answers.
    pub(crate) fn read<T>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&Seen<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.look(scope, |seen| {
            if seen.tree.generation() > 0 {
                return read(seen);
            }
            Err(nothing_known(seen.scope, seen.failed.as_deref()))
        })
    }

    /// As [`read`](Self::read), also where nothing is known of it.
    ///
    /// # Errors
    /// `not_found`, `busy` where it takes long to put in what changed, and what `read` answers.
    pub(crate) fn look<T>(
        &self,
        scope: &Scope,
        read: impl FnOnce(&Seen<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let around = scope.with_ancestors();
        let found = around.iter().find_map(|at| self.trees.get_key_value(at));
        let (Some((nearest, root)), Some(follower)) = (found, &self.follower) else {
            let why = format!(
                "no work tree of {scope} or of what is around it is followed: [graph] names them"
            );
            return Err(Error::new(ErrorCode::NotFound, why));
        };
        // In this order: what is known is not older than what is said of it.
        let status = follower.status(nearest.as_str());
        let Some(status) = status else {
            let why = format!("the work tree of {nearest} is not in the index");
            return Err(Error::new(ErrorCode::Internal, why));
        };
        let Some(tree) = follower.tree(nearest.as_str()) else {
            let why = format!("what changed in the work tree of {nearest} is put in");
            return Err(Error::busy(why, RETRY_AFTER_MS));
        };
        read(&Seen {
            scope: nearest,
            tree: &tree,
            is_partial: status.is_partial,
            failed: failed(&status.state, [tree.root(), root]),
            parsed: status.parsed_total as u64,
        })
    }
}

/// What is answered where no look was put in yet: that there will be one, or why there is none.
fn nothing_known(of: &Scope, failed: Option<&str>) -> Error {
    match failed {
        Some(failed) => {
            let why = format!("nothing is known of the work tree of {of}: {failed}");
            Error::new(ErrorCode::Unavailable, why)
        }
        None => {
            let why = format!("the work tree of {of} is read for the first time");
            Error::busy(why, RETRY_AFTER_MS)
        }
    }
}

/// Why nothing newer is known. Where the server has the work tree on its disk is for no caller.
fn failed(state: &LookState, roots: [&Path; 2]) -> Option<String> {
    match state {
        LookState::Waiting | LookState::Done => None,
        LookState::Failed(why) => {
            let without =
                |why: String, root: &Path| why.replace(&*root.to_string_lossy(), "its root");
            Some(roots.into_iter().fold(why.to_string(), without))
        }
        LookState::Ended => Some("its files are followed no more: a thread ended".to_owned()),
    }
}

impl Drop for Code {
    /// Leaves the look that is being taken to a thread of its own: a server that ends does not wait for it.
    fn drop(&mut self) {
        if let Some(follower) = self.follower.take() {
            // Where there is no thread, it is waited for.
            let left = std::thread::Builder::new().spawn(move || drop(follower));
            drop(left);
        }
    }
}

/// A work tree that somebody looks at.
pub(crate) struct Seen<'t> {
    /// The scope that it is the work tree of.
    pub(crate) scope: &'t Scope,
    pub(crate) tree: &'t WorkTree,
    /// Whether some of its folders are not watched.
    pub(crate) is_partial: bool,
    /// Why what is known is not that of the last look; none where it is.
    pub(crate) failed: Option<String>,
    /// Files that were parsed since the server began.
    pub(crate) parsed: u64,
}

fn unusable(why: &str) -> Error {
    let why = format!("configuration graph.work_trees: {why}");
    Error::new(ErrorCode::InvalidArgument, why)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::*;

    const WAIT: Duration = Duration::from_secs(30);

    fn scope(text: &str) -> Scope {
        Scope::parse(text).unwrap()
    }

    fn names(code: &Code, of: &str) -> Result<(String, Vec<String>), Error> {
        code.read(&scope(of), |seen| {
            let paths = seen.tree.paths().map(ToString::to_string).collect();
            Ok((seen.scope.to_string(), paths))
        })
    }

    fn config(trees: &[(&str, PathBuf)]) -> GraphConfig {
        let named = trees.iter();
        GraphConfig {
            work_trees: named
                .map(|(of, root)| ((*of).to_owned(), root.clone()))
                .collect(),
            ..GraphConfig::default()
        }
    }

    /// Waits until it is answered otherwise than that it is looked at.
    fn waited(code: &Code, of: &str) -> Result<(String, Vec<String>), Error> {
        let began = Instant::now();
        loop {
            match names(code, of) {
                Err(error) if error.code == ErrorCode::Busy => {}
                answered => return answered,
            }
            assert!(began.elapsed() < WAIT, "it is never looked at");
            sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn whoever_stands_in_a_scope_is_told_of_the_nearest_work_tree_around_it_and_of_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut trees = Vec::new();
        for (of, name) in [
            ("org/a/project/p", "p"),
            ("org/a/project/p/worktree/w", "w"),
        ] {
            let root = folder.path().join(name);
            fs::create_dir(&root).unwrap();
            fs::write(root.join(format!("{name}.py")), "def f():\n    pass\n").unwrap();
            trees.push((of, root));
        }
        let code = Code::follow(&config(&trees), folder.path().join("cache")).unwrap();
        for (of, _) in &trees {
            waited(&code, of).unwrap();
        }
        let tree = |of: &str, file: &str| Ok((of.to_owned(), vec![file.to_owned()]));
        for (of, found) in [
            ("org/a/project/p", tree("org/a/project/p", "p.py")),
            (
                "org/a/project/p/worktree/v",
                tree("org/a/project/p", "p.py"),
            ),
            (
                "org/a/project/p/worktree/w",
                tree("org/a/project/p/worktree/w", "w.py"),
            ),
            (
                "org/a/project/p/worktree/w/task/t",
                tree("org/a/project/p/worktree/w", "w.py"),
            ),
        ] {
            assert_eq!(names(&code, of), found, "{of}");
        }
        for of in ["org/a", "org/a/project/q", "org/b/project/p"] {
            assert_eq!(
                names(&code, of).unwrap_err().code,
                ErrorCode::NotFound,
                "{of}"
            );
        }
    }

    #[test]
    fn entries_are_held_against_the_work_tree_of_ones_own_worktree_and_another_where_that_is_asked()
    {
        let folder = tempfile::tempdir().unwrap();
        let trees = [
            ("org/a/project/p", "p"),
            ("org/a/project/p/worktree/w", "w"),
        ];
        let trees = trees.map(|(of, name)| (of, folder.path().join(name)));
        for (_, root) in &trees {
            fs::create_dir(root).unwrap();
        }
        let code = Code::follow(&config(&trees), folder.path().join("cache")).unwrap();
        let root = |of: &str, asked| {
            code.gate(&scope(of), asked)
                .map(|(root, _)| root.to_owned())
        };
        let (project, worktree) = (Some(trees[0].1.clone()), Some(trees[1].1.clone()));
        for (of, unless_said, asked) in [
            ("org/a/project/p/worktree/w/task/t", &worktree, &worktree),
            ("org/a/project/p/worktree/v/task/t", &None, &project),
            ("org/a/project/p", &None, &project),
            ("org/a/project/q/worktree/w", &None, &None),
        ] {
            assert_eq!(&root(of, None), unless_said, "{of}");
            assert_eq!(&root(of, Some(true)), asked, "{of}");
            assert_eq!(root(of, Some(false)), None, "{of}");
        }
    }

    #[test]
    fn a_work_tree_that_is_not_there_yet_is_unavailable_until_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = "org/a/project/p";
        let root = folder.path().join("later");
        let code = Code::follow(&config(&[(at, root.clone())]), folder.path().join("cache"));
        let code = code.unwrap();
        let refused = waited(&code, at).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert!(!refused.message.contains("later"), "{refused}");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a.py"), "").unwrap();
        let began = Instant::now();
        while waited(&code, at).map(|(_, found)| found) != Ok(vec!["a.py".to_owned()]) {
            assert!(began.elapsed() < WAIT, "it is never followed");
            sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn without_any_work_tree_nothing_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let cache = || folder.path().join("cache");
        let at = "org/a/project/p";
        let off = GraphConfig {
            enabled: false,
            ..config(&[(at, folder.path().to_owned())])
        };
        for nothing in [off, GraphConfig::default()] {
            let none = Code::follow(&nothing, cache()).unwrap();
            let found = none.look(&scope(at), |_| Ok(()));
            assert_eq!(found.unwrap_err().code, ErrorCode::NotFound);
        }
        assert!(!cache().exists());
    }

    #[test]
    fn the_folders_that_are_named_are_read_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        for path in ["src/a.py", "src/dist/b.py", "lib/c.py", "d.py"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "def f():\n    pass\n").unwrap();
        }
        let named = GraphConfig {
            watch: vec!["./src".to_owned()],
            ..config(&[("org/a/project/p", root)])
        };
        let code = Code::follow(&named, folder.path().join("cache")).unwrap();
        let (_, found) = waited(&code, "org/a/project/p").unwrap();
        assert_eq!(found, ["src/a.py"]);
    }

    #[test]
    fn what_cannot_be_looked_at_is_unavailable_and_not_busy_for_ever() {
        let failed = |state| failed(&state, [Path::new("/data/p"), Path::new("/srv/p")]);
        assert_eq!(failed(LookState::Waiting), None);
        assert_eq!(failed(LookState::Done), None);
        let of = scope("org/a/project/p");
        assert_eq!(nothing_known(&of, None).code, ErrorCode::Busy);
        let gone = failed(LookState::Failed("/data/p/a is gone".into()));
        assert_eq!(gone.as_deref(), Some("its root/a is gone"));
        for why in [gone, failed(LookState::Ended)] {
            let why = why.expect("it says why");
            let refused = nothing_known(&of, Some(&why));
            assert_eq!(refused.code, ErrorCode::Unavailable);
            assert!(refused.message.contains(&why), "{refused}");
        }
    }

    #[test]
    fn a_work_tree_that_goes_is_said_to_be_gone() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("tree");
        fs::create_dir(&root).unwrap();
        let at = "org/a/project/p";
        let code = Code::follow(&config(&[(at, root.clone())]), folder.path().join("cache"));
        let code = code.unwrap();
        waited(&code, at).unwrap();
        fs::remove_dir(&root).unwrap();
        let why = || code.look(&scope(at), |seen| Ok(seen.failed.clone()));
        let began = Instant::now();
        while why().unwrap().is_none() {
            assert!(began.elapsed() < WAIT, "it is never said");
            sleep(Duration::from_millis(10));
        }
    }
}
